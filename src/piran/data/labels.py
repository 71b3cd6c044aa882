"""The label space: names, training counts, and the division into head and tail."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from piran.errors import DataError, SettingError
from piran.registry import suggestion
from piran.types import BoolArray, IntArray, LabelMatrix, LabelSet, LabelSets

DEFAULT_TAIL_FRACTION = 2 / 3
WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, eq=False)
class LabelSpace:
    """Labels in a fixed column order, each head, tail or unseen.

    Columns run from the most to the least frequent label in train, ties by name. A label without a
    training document is *unseen*: it keeps a column and counts in every score, but is neither head nor
    tail, as nothing can be learned or transferred for it.
    """

    names: tuple[str, ...]
    counts: IntArray
    """Training documents of each label, shape (n_labels,)."""
    is_tail: BoolArray
    """Shape (n_labels,)."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """What some labels mean, in words."""

    @classmethod
    def from_label_sets(
        cls,
        label_sets: LabelSets,
        *,
        tail: int | float | None = None,
        extra_names: Iterable[str] = (),
        descriptions: Mapping[str, str] | None = None,
    ) -> "LabelSpace":
        """Count the labels of the training documents and divide them.

        ``tail`` is a number of labels (int), a fraction of the seen labels (float below 1), or None for
        two thirds; the least frequent are taken, ties by name. ``extra_names`` are labels that are known
        to exist, with or without a training document.
        """
        counter = Counter(label for labels in label_sets for label in set(labels))
        seen = sorted(counter, key=lambda name: (-counter[name], name))
        unseen = sorted(set(extra_names) - counter.keys())
        counts = np.array([counter[name] for name in seen + unseen], dtype=np.int64)
        return cls(
            tuple(seen + unseen), counts, tail_by_count(counts, tail), dict(descriptions or {})
        )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def is_unseen(self) -> BoolArray:
        """Labels without a training document, shape (n_labels,)."""
        return np.asarray(self.counts == 0)

    @property
    def is_head(self) -> BoolArray:
        """Labels that are neither tail nor unseen, shape (n_labels,)."""
        return ~self.is_tail & ~self.is_unseen

    def matrix(self, label_sets: LabelSets) -> LabelMatrix:
        """Return the indicator (n_documents, n_labels) of these label sets; duplicates count once."""
        column = {name: index for index, name in enumerate(self.names)}
        rows: list[int] = []
        columns: list[int] = []
        for row, labels in enumerate(label_sets):
            for label in dict.fromkeys(labels):
                if label not in column:
                    raise DataError(
                        f"Document {row} has the label {label!r}, which is not in the label space of "
                        f"{len(self)} labels. {suggestion(label, list(self.names[:1000]))}"
                    )
                rows.append(row)
                columns.append(column[label])
        ones = np.ones(len(rows), dtype=np.float32)
        return csr_array((ones, (rows, columns)), shape=(len(label_sets), len(self)))

    def label_sets(self, indicator: LabelMatrix | BoolArray) -> list[LabelSet]:
        """Return the names behind each row of a dense or sparse (n_documents, n_labels) indicator."""
        matrix = csr_array(indicator)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        starts = matrix.indptr
        return [
            tuple(self.names[column] for column in matrix.indices[starts[row] : starts[row + 1]])
            for row in range(matrix.shape[0])
        ]

    def extended(self, names: Iterable[str]) -> "LabelSpace":
        """Return this space with unseen columns for names it lacks, at the end, by name."""
        new = sorted(set(names) - set(self.names))
        zeros = np.zeros(len(new), dtype=np.int64)
        return LabelSpace(
            self.names + tuple(new),
            np.concatenate([self.counts, zeros]),
            np.concatenate([self.is_tail, zeros.astype(np.bool_)]),
            self.descriptions,
        )

    def texts(self) -> list[str]:
        """Return each label in words: its name, and its description where there is one.

        A name without a letter, a number in a catalogue, say, is no word beside a description.

        >>> names, about = ["game::board-games", "3474"], {"3474": "international affairs"}
        >>> LabelSpace.from_label_sets([names], descriptions=about).texts()
        ['international affairs', 'game board games']
        """
        return [self._text(name) for name in self.names]

    def _text(self, name: str) -> str:
        words, about = " ".join(WORDS.findall(name)) or name, self.descriptions.get(name)
        if about is None:
            return words
        return f"{words}. {about}" if any(letter.isalpha() for letter in words) else about

    def to_json(self) -> dict[str, Any]:
        """Return plain lists, as stored in a saved model."""
        return {
            "names": list(self.names),
            "counts": self.counts.tolist(),
            "tail": np.flatnonzero(self.is_tail).tolist(),
            "descriptions": dict(self.descriptions),
        }

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> "LabelSpace":
        """Rebuild a space from :meth:`to_json`."""
        is_tail = np.zeros(len(state["names"]), dtype=np.bool_)
        is_tail[np.asarray(state["tail"], dtype=np.int64)] = True
        counts = np.asarray(state["counts"], dtype=np.int64)
        return cls(tuple(state["names"]), counts, is_tail, state["descriptions"])


def tail_by_count(counts: IntArray, tail: int | float | None) -> BoolArray:
    """Return which labels are tail, shape (n_labels,): the least frequent, ties by column.

    Columns of equal count stand in the order of their names in a :class:`LabelSpace`, so ties are
    broken by name there. Labels without a document are never tail.
    """
    seen = np.flatnonzero(counts > 0)
    by_rarity = seen[np.argsort(counts[seen], kind="stable")]
    is_tail = np.zeros(len(counts), dtype=np.bool_)
    is_tail[by_rarity[: tail_size(tail, len(seen))]] = True
    return is_tail


def tail_size(tail: int | float | None, n_seen: int) -> int:
    """Return how many of ``n_seen`` labels are tail for a number, a fraction or None."""
    if tail is None:
        tail = DEFAULT_TAIL_FRACTION
    if isinstance(tail, float):
        if not 0.0 <= tail < 1.0:
            raise SettingError(
                f"tail as a fraction must be at least 0 and below 1, got {tail}; "
                "for a number of labels give a whole number."
            )
        return round(tail * n_seen)
    if not 0 <= tail <= n_seen:
        raise SettingError(
            f"tail must be between 0 and {n_seen} (the labels with a training document), got {tail}."
        )
    return tail


def held_out_rows(targets: LabelMatrix, fraction: float, seed: int) -> IntArray:
    """Draw documents to hold out, ascending, such that no label loses its last other document.

    ``targets`` has shape (n_documents, n_labels). At least one document is drawn and one is left.
    """
    if not 0 < fraction < 1:
        raise SettingError(
            f"The fraction of documents to hold out must lie between 0 and 1, got {fraction}."
        )
    n_documents = targets.shape[0]
    wanted = max(1, round(fraction * n_documents))
    left = np.diff(csc_array(targets).indptr)
    held: list[int] = []
    for row in np.random.default_rng(seed).permutation(n_documents):
        columns = targets.indices[targets.indptr[row] : targets.indptr[row + 1]]
        if len(held) == wanted or len(held) == n_documents - 1:
            break
        if (left[columns] > 1).all():
            left[columns] -= 1
            held.append(int(row))
    # Where every label has one document only, the choice is between holding out nothing and this.
    return np.array(sorted(held or [n_documents - 1]), dtype=np.int64)
