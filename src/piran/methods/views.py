"""Other views of a document, beside its instance: documents like it, and its likeness to a label's text.

Rows on instances know meaning and miss rare words; a regression in the space of words and meaning
together knows both, and each training document; and a label that has a name or a description in words is
known a little before it has any document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from piran.data.labels import LabelSpace
from piran.encoders.base import Encoder, LabelledTexts, unit_rows
from piran.encoders.ngrams import NgramVectorizer
from piran.errors import ModelFolderError, SettingError
from piran.registry import suggestion
from piran.storage import load_state, save_state
from piran.training.kernel_ridge import DocumentFeatures, KernelRidge
from piran.types import BoolArray, FloatArray, LabelMatrix, Texts

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

_WORDS = "words"


@dataclass(frozen=True, eq=False)
class DocumentLikeness:
    """Kernel ridge regression on the words of documents and what they mean."""

    centre: FloatArray
    """Mean instance of the training documents, (feature_dim,)."""
    ridge: KernelRidge

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
    ) -> "tuple[DocumentLikeness, FloatArray]":
        """Learn from all documents; return also what is said of the judged ones without them."""
        centre = instances.mean(axis=0)
        features = DocumentFeatures(words, unit_rows(instances - centre))
        ridge, margins = KernelRidge.fit(
            features, targets, is_judged, max_together=max_together, seed=seed
        )
        return cls(centre, ridge), margins

    def margins(self, words: csr_array, instances: FloatArray) -> FloatArray:
        """Return about −1 to 1 for each document and label, (n_documents, n_labels)."""
        return self.ridge.margins(DocumentFeatures(words, unit_rows(instances - self.centre)))

    def save(self, folder: Path) -> None:
        """Write all arrays."""
        save_state(folder, DOCUMENTS, {}, {**self.ridge.arrays(), "centre": self.centre})

    @classmethod
    def load(cls, folder: Path) -> "DocumentLikeness":
        """Read what :meth:`save` wrote; what lacks is a KeyError."""
        arrays = load_state(folder, DOCUMENTS)[1]
        return cls(arrays["centre"], KernelRidge.from_arrays(arrays))


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
    ) -> "tuple[Views, Margins]":
        """Learn the named views from documents and their instances by ``encoder``.

        Also return what each says of the judged documents, (n_judged, n_labels), as if they had not been
        among those it learned from.
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
                )
            if LABEL_WORDS in names:
                shared_words = SharedWords.of(labels, ngrams)
                margins[LABEL_WORDS] = shared_words.margins(words[np.flatnonzero(is_judged)])
        if LABEL_TEXTS in names:
            likeness = LabelLikeness.of(instances, encoder.encode(labels.texts()))
            margins[LABEL_TEXTS] = likeness.margins(instances[is_judged])
        return cls(ngrams, like_documents, likeness, shared_words), margins

    def margins(self, texts: Texts, instances: FloatArray) -> Margins:
        """Return what each view says of the texts, (n_documents, n_labels) each."""
        found = {}
        if self.ngrams is not None:
            words = self.ngrams.transform(texts)
            if self.documents is not None:
                found[DOCUMENTS] = self.documents.margins(words, instances)
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
