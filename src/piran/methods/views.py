"""Other views of a document, beside its instance: documents like it, and its likeness to a label's text.

Rows on instances know meaning and miss rare words; a regression in the space of words and meaning
together knows both, and each training document; and a label that has a name or a description in words is
known a little before it has any document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from piran.data.labels import LabelSpace
from piran.encoders.base import Encoder, LabelledTexts, unit_rows
from piran.encoders.ngrams import NgramVectorizer
from piran.errors import ModelFolderError, SettingError
from piran.registry import suggestion
from piran.storage import load_state, save_state
from piran.training.kernel_ridge import WIDTH, DocumentFeatures, KernelRidge
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix, Texts

ROWS = "rows"
DOCUMENTS = "documents"
LABEL_TEXTS = "label-texts"
LABEL_WORDS = "label-words"
VIEWS = (DOCUMENTS, LABEL_TEXTS, LABEL_WORDS)
"""What can stand beside the rows on instances."""
OF_WORDS = (DOCUMENTS, LABEL_WORDS)
"""Those that read the words of a document."""
OF_LABEL_TEXTS = (LABEL_TEXTS, LABEL_WORDS)
"""Those that know a label by its text, and so without any document of it."""

Margins = Mapping[str, FloatArray]
"""What each view says, (n_documents, n_labels), by its name; rows are one of them."""

LEARNED_L2 = 1.0
"""Of the regression on what encoders have learned. Like the rest of it chosen on training documents of
debtags and reuters90, each judged without itself: 0.6, as without them, is a little worse in micro-F1."""

_WORDS = "words"
_LEARNED = "learned "


@dataclass(frozen=True, eq=False)
class DocumentLikeness:
    """Kernel ridge regression on the words of documents and what they mean.

    Where an encoder has learned from labels, likeness of frequent labels' documents is likeness to it as
    well: it tells them apart better than it could before. Of rare labels it has seen too little.
    """

    centre: FloatArray
    """Mean instance of the training documents, (feature_dim,)."""
    ridge: KernelRidge
    learned: "LearnedLikeness | None" = None

    @classmethod
    def fit(
        cls,
        words: csr_array,
        instances: FloatArray,
        targets: LabelMatrix,
        is_judged: BoolArray,
        *,
        max_together: int,
        seed: int,
        learned_instances: FloatArray | None = None,
        frequent: IntArray | None = None,
    ) -> "tuple[DocumentLikeness, FloatArray]":
        """Learn from all documents; return also what is said of the judged ones without them.

        ``learned_instances`` are those of encoders that have learned from labels, but not from the
        document in question, and count for the labels ``frequent``.
        """
        centre = instances.mean(axis=0)
        meaning = unit_rows(instances - centre)
        ridge, margins = KernelRidge.fit(
            DocumentFeatures(words, meaning),
            targets,
            is_judged,
            max_together=max_together,
            seed=seed,
        )
        if learned_instances is None or frequent is None or not len(frequent):
            return cls(centre, ridge), margins
        learned_centre = learned_instances.mean(axis=0)
        both = side_by_side(meaning, unit_rows(learned_instances - learned_centre))
        learned_ridge, margins[:, frequent] = KernelRidge.fit(
            DocumentFeatures(words, both),
            targets[:, frequent],
            is_judged,
            l2=LEARNED_L2,
            width=WIDTH / 2,
            max_together=max_together,
            seed=seed,
        )
        learned = LearnedLikeness(learned_centre, learned_ridge, frequent)
        return cls(centre, ridge, learned), margins

    def margins(
        self, words: csr_array, instances: FloatArray, learned_instances: Sequence[FloatArray] = ()
    ) -> FloatArray:
        """Return about −1 to 1 for each document and label, (n_documents, n_labels).

        ``learned_instances`` are those of each encoder that has learned from labels, if that counts.
        """
        meaning = unit_rows(instances - self.centre)
        found = self.ridge.margins(DocumentFeatures(words, meaning))
        if self.learned is not None:
            said = [self.learned.margins(words, meaning, own) for own in learned_instances]
            found[:, self.learned.labels] = np.mean(said, axis=0)
        return found

    def save(self, folder: Path) -> None:
        """Write all arrays."""
        arrays = {**self.ridge.arrays(), "centre": self.centre}
        if self.learned is not None:
            arrays |= {f"{_LEARNED}{k}": array for k, array in self.learned.arrays().items()}
        save_state(folder, DOCUMENTS, {}, arrays)

    @classmethod
    def load(cls, folder: Path) -> "DocumentLikeness":
        """Read what :meth:`save` wrote; what lacks is a KeyError."""
        arrays = load_state(folder, DOCUMENTS)[1]
        own = {k.removeprefix(_LEARNED): arrays[k] for k in arrays if k.startswith(_LEARNED)}
        learned = LearnedLikeness.from_arrays(own) if own else None
        return cls(arrays["centre"], KernelRidge.from_arrays(arrays), learned)


@dataclass(frozen=True, eq=False)
class LearnedLikeness:
    """Likeness of documents to encoders that have learned from labels too, for some of the labels.

    Every training document stands here as an encoder sees it that did not learn from it, as new ones do.
    """

    centre: FloatArray
    """Mean instance of the training documents, (feature_dim,)."""
    ridge: KernelRidge
    labels: IntArray
    """Columns of the labels that it is about."""

    def margins(
        self, words: csr_array, meaning: FloatArray, learned_instances: FloatArray
    ) -> FloatArray:
        """Return about −1 to 1 for each document and its own labels, (n_documents, n_frequent)."""
        both = side_by_side(meaning, unit_rows(learned_instances - self.centre))
        return self.ridge.margins(DocumentFeatures(words, both))

    def arrays(self) -> dict[str, Any]:
        """Return what :meth:`from_arrays` rebuilds it from."""
        return {**self.ridge.arrays(), "centre": self.centre, "labels": self.labels}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "LearnedLikeness":
        """Rebuild from :meth:`arrays`; a name that lacks is a KeyError."""
        return cls(arrays["centre"], KernelRidge.from_arrays(arrays), arrays["labels"])


def side_by_side(meaning: FloatArray, learned: FloatArray) -> FloatArray:
    """Return two kinds of instances, each of length one, as one kind of length one.

    With half the width, the kernel of both is the product of their kernels: documents are alike if they
    are so in both.
    """
    return np.hstack([meaning, learned]) * np.float32(np.sqrt(0.5))


@dataclass(frozen=True, eq=False)
class LabelLikeness:
    """How much a document is like the text of each label, in the encoder's own space."""

    centre: FloatArray
    """Mean document, (feature_dim,)."""
    directions: FloatArray
    """From the mean label text to each label's, of length one, (n_labels, feature_dim)."""

    @classmethod
    def of(cls, instances: FloatArray, label_instances: FloatArray) -> "LabelLikeness":
        """Learn from the training instances and those of the labels' texts."""
        centred = label_instances - label_instances.mean(axis=0)
        return cls(instances.mean(axis=0), unit_rows(centred))

    def margins(self, instances: FloatArray) -> FloatArray:
        """Return the cosines between documents and labels, (n_documents, n_labels)."""
        return np.asarray(unit_rows(instances - self.centre) @ self.directions.T)

    def save(self, folder: Path) -> None:
        """Write both arrays."""
        save_state(folder, LABEL_TEXTS, {}, {"centre": self.centre, "directions": self.directions})

    @classmethod
    def load(cls, folder: Path) -> "LabelLikeness":
        """Read what :meth:`save` wrote; what lacks is a KeyError."""
        arrays = load_state(folder, LABEL_TEXTS)[1]
        return cls(arrays["centre"], arrays["directions"])


@dataclass(frozen=True, eq=False)
class SharedWords:
    """How far a document has the words of each label's text, the rarer the more."""

    label_words: csr_array
    """TF-IDF vectors of the labels' texts, (n_labels, n_ngrams)."""

    @classmethod
    def of(cls, labels: LabelSpace, ngrams: NgramVectorizer) -> "SharedWords":
        """Read the labels' texts, of which those n-grams count that documents have."""
        return cls(ngrams.transform(labels.texts()))

    def margins(self, words: csr_array) -> FloatArray:
        """Return the square roots of the cosines between documents and labels, (n_documents, n_labels).

        Of the root, since the first word that they share tells more than the second.
        """
        cosines = (words @ self.label_words.T).toarray()
        return np.asarray(np.sqrt(np.maximum(cosines, 0.0)))  # rounding may go below


@dataclass(frozen=True, eq=False)
class Views:
    """The views that a classifier has beside its rows."""

    ngrams: NgramVectorizer | None = None
    """Finds the words of documents, for the views that read them."""
    documents: DocumentLikeness | None = None
    likeness: LabelLikeness | None = None
    shared_words: SharedWords | None = None

    @classmethod
    def fit(
        cls,
        names: Sequence[str],
        documents: LabelledTexts,
        instances: FloatArray,
        is_judged: BoolArray,
        *,
        encoder: Encoder,
        labels: LabelSpace,
        max_together: int,
        seed: int,
        learned_instances: FloatArray | None = None,
    ) -> "tuple[Views, Margins]":
        """Learn the named views from documents and their instances by ``encoder``.

        ``learned_instances`` are what encoders that learned from labels, but not from the document, make
        of it; they count for the view of documents. Also return what each view says of the judged
        documents, (n_judged, n_labels), as if they had not been among those it learned from.
        """
        margins: dict[str, FloatArray] = {}
        ngrams = like_documents = likeness = shared_words = None
        if any(name in OF_WORDS for name in names):
            ngrams = NgramVectorizer()
            words = ngrams.fit_transform(documents.texts)
            if DOCUMENTS in names:
                like_documents, margins[DOCUMENTS] = DocumentLikeness.fit(
                    words,
                    instances,
                    documents.targets,
                    is_judged,
                    max_together=max_together,
                    seed=seed,
                    learned_instances=learned_instances,
                    frequent=np.flatnonzero(labels.is_head),
                )
            if LABEL_WORDS in names:
                shared_words = SharedWords.of(labels, ngrams)
                margins[LABEL_WORDS] = shared_words.margins(words[np.flatnonzero(is_judged)])
        if LABEL_TEXTS in names:
            likeness = LabelLikeness.of(instances, encoder.encode(labels.texts()))
            margins[LABEL_TEXTS] = likeness.margins(instances[is_judged])
        return cls(ngrams, like_documents, likeness, shared_words), margins

    def margins(
        self, texts: Texts, instances: FloatArray, learned_instances: Sequence[FloatArray] = ()
    ) -> Margins:
        """Return what each view says of the texts, (n_documents, n_labels) each.

        ``instances`` are the view encoder's; ``learned_instances`` those of each encoder that has learned
        from labels, where they count.
        """
        found = {}
        if self.ngrams is not None:
            words = self.ngrams.transform(texts)
            if self.documents is not None:
                found[DOCUMENTS] = self.documents.margins(words, instances, learned_instances)
            if self.shared_words is not None:
                found[LABEL_WORDS] = self.shared_words.margins(words)
        if self.likeness is not None:
            found[LABEL_TEXTS] = self.likeness.margins(instances)
        return found

    def save(self, folder: Path) -> None:
        """Write each view under a name of its own; n-grams as JSON, all else as safetensors."""
        if self.ngrams is not None:
            state, arrays = {"vocabulary": self.ngrams.vocabulary}, {"idf": self.ngrams.idf}
            save_state(folder, _WORDS, state, arrays)
        for view in (self.documents, self.likeness):
            if view is not None:
                view.save(folder)

    @classmethod
    def load(cls, folder: Path, names: Sequence[str], labels: LabelSpace) -> "Views":
        """Read the named views of these labels."""
        try:
            check_views(names)
            ngrams = shared_words = None
            if any(name in OF_WORDS for name in names):
                ngrams = _load_ngrams(folder)
                if LABEL_WORDS in names:
                    shared_words = SharedWords.of(labels, ngrams)
            return cls(
                ngrams,
                DocumentLikeness.load(folder) if DOCUMENTS in names else None,
                LabelLikeness.load(folder) if LABEL_TEXTS in names else None,
                shared_words,
            )
        except ModelFolderError:
            raise
        except SettingError as error:  # a view that an earlier version knew
            raise ModelFolderError(f"{folder} cannot be read: {error} Train it again.") from error
        except (KeyError, ValueError) as error:
            raise ModelFolderError(f"{folder} lacks {error}; save the model again.") from error


def check_views(names: Sequence[str]) -> None:
    """Refuse views that are not known."""
    for name in names:
        if name not in VIEWS:
            raise SettingError(f"Unknown view {name!r}. {suggestion(name, list(VIEWS))}")


def _load_ngrams(folder: Path) -> NgramVectorizer:
    state, arrays = load_state(folder, _WORDS)
    return NgramVectorizer.restored(state["vocabulary"], arrays["idf"])
