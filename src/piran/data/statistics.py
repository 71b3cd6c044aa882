"""A corpus in numbers: the columns of the paper's Table 1, and how long the tail is."""

import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from piran.data.corpus import Corpus, Documents
from piran.data.labels import LabelSpace

WORD = re.compile(r"\w+")
PERCENTILES = (0, 10, 25, 50, 75, 90, 100)


@dataclass(frozen=True)
class LabelGroup:
    """Head or tail labels: how many, and how much of the training labels they account for."""

    n_labels: int
    share_of_labels: float
    """Fraction of all labels of the corpus."""
    share_of_occurrences: float
    """Fraction of the pairs of a training document and a label of it."""


@dataclass(frozen=True)
class CorpusStatistics:
    """What ``piran data show`` prints; the letters are those of the paper's Table 1."""

    name: str
    n_train: int
    """N."""
    n_validation: int
    n_test: int
    """M."""
    n_words: int
    """D: distinct words of the training texts, in lower case."""
    n_labels: int
    """L: labels that occur in any split."""
    labels_per_document: float
    """L̄: mean over the training documents."""
    documents_per_label: float
    """L̃: mean over the labels that have a training document."""
    words_per_train_document: float
    """W̄."""
    words_per_test_document: float
    """W̃; 0 without a test split."""
    documents_per_label_percentiles: dict[int, float]
    """Over the labels that have a training document."""
    n_documents_without_labels: dict[str, int]
    """By split."""
    n_labels_without_train_documents: int
    head: LabelGroup
    tail: LabelGroup
    checksum: str
    """Of all texts and labels; see :meth:`Corpus.checksum`."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values, head and tail at the top level: n_tail_labels, tail_share_of_…."""
        state = asdict(self)
        percentiles = self.documents_per_label_percentiles.items()
        state["documents_per_label_percentiles"] = {str(key): value for key, value in percentiles}
        for name in ("head", "tail"):
            group = state.pop(name)
            state[f"n_{name}_labels"] = group.pop("n_labels")
            state |= {f"{name}_{key}": value for key, value in group.items()}
        return state


def corpus_statistics(corpus: Corpus, label_space: LabelSpace | None = None) -> CorpusStatistics:
    """Count documents, words and labels; ``label_space`` divides them (default: the corpus's)."""
    space = corpus.label_space() if label_space is None else label_space
    vocabulary, n_train_words = _count_words(corpus.train)
    _, n_test_words = _count_words(corpus.test)
    seen = space.counts[~space.is_unseen]
    return CorpusStatistics(
        name=corpus.name,
        n_train=len(corpus.train),
        n_validation=len(corpus.validation or ()),
        n_test=len(corpus.test or ()),
        n_words=len(vocabulary),
        n_labels=len(space),
        labels_per_document=_ratio(int(seen.sum()), len(corpus.train)),
        documents_per_label=_ratio(int(seen.sum()), len(seen)),
        words_per_train_document=_ratio(n_train_words, len(corpus.train)),
        words_per_test_document=_ratio(n_test_words, len(corpus.test or ())),
        documents_per_label_percentiles=_percentiles(seen.tolist()),
        n_documents_without_labels={
            name: sum(not labels for labels in documents.label_sets)
            for name, documents in corpus.splits.items()
        },
        n_labels_without_train_documents=int(space.is_unseen.sum()),
        head=_group(space, is_tail=False),
        tail=_group(space, is_tail=True),
        checksum=corpus.checksum(),
    )


def _count_words(documents: Documents | None) -> tuple[set[str], int]:
    """Return the distinct words and the number of all words."""
    vocabulary: set[str] = set()
    n_words = 0
    for text in documents.texts if documents else ():
        words = WORD.findall(text.lower())
        vocabulary.update(words)
        n_words += len(words)
    return vocabulary, n_words


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _percentiles(counts: list[int]) -> dict[int, float]:
    if not counts:
        return dict.fromkeys(PERCENTILES, 0.0)
    values = np.percentile(counts, PERCENTILES)
    return {percent: float(value) for percent, value in zip(PERCENTILES, values, strict=True)}


def _group(space: LabelSpace, *, is_tail: bool) -> LabelGroup:
    mask = space.is_tail if is_tail else space.is_head
    n_labels = int(mask.sum())
    return LabelGroup(
        n_labels,
        _ratio(n_labels, len(space)),
        _ratio(int(space.counts[mask].sum()), int(space.counts.sum())),
    )
