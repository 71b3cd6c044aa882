"""TF-IDF of words and word pairs, reduced to a dense space: the encoder that takes seconds."""

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.extmath import randomized_svd

from piran.encoders.base import ENCODERS, Encoder, LabelledTexts
from piran.errors import DataError, ModelFolderError
from piran.progress import task
from piran.storage import load_state, save_state
from piran.types import FloatArray, Texts

WORD = r"(?u)\w[\w+#'-]*"
"""A word may carry what tells C++ from C; a single letter is a word."""
TEXTS_AT_ONCE = 4096


@ENCODERS.register("tfidf")
class TfidfEncoder(Encoder):
    """Latent semantic analysis: TF-IDF vectors of 1- and 2-grams in their leading singular directions.

    Parameters
    ----------
    n_components
        Dimensions of an instance (fewer where the corpus has fewer).
    damping
        Each direction is divided by its singular value to this power: 0 is plain latent semantic
        analysis, in which a few topics outweigh what tells rare labels apart; 1 gives all the same
        weight.
    min_documents
        A word or word pair must occur in so many training documents to count.
    max_words
        The most frequent so many words and word pairs are kept.
    seed
        Of the randomised singular value decomposition.

    """

    name: ClassVar[str] = "tfidf"
    head_settings: ClassVar[dict[str, Any]] = {
        "l2": 0.1,
        "n_prototype_documents": 1,
        "n_generated": 30,
        # Damped directions vary alike, so 95 % of the variance takes most of them
        "max_directions": None,
    }

    def __init__(
        self,
        *,
        n_components: int = 600,
        damping: float = 0.5,
        min_documents: int = 2,
        max_words: int = 200_000,
        seed: int = 0,
    ) -> None:
        self.n_components = n_components
        self.damping = damping
        self.min_documents = min_documents
        self.max_words = max_words
        self.seed = seed

    def fit(self, train: LabelledTexts, validation: LabelledTexts | None = None) -> Self:
        """Learn words, weights and directions from the training texts; labels are not looked at."""
        self.history_ = []
        with task("TF-IDF", 3) as advance:
            vectorizer = self._vectorizer()
            try:
                counts = vectorizer.fit_transform(train.texts)
            except ValueError as error:
                raise DataError(
                    f"No word occurs in {self.min_documents} of the {len(train)} training texts; "
                    "give more texts, or set min_documents=1."
                ) from error
            advance(1)
            self.vocabulary_ = [str(term) for term in vectorizer.get_feature_names_out()]
            self.idf_ = vectorizer.idf_.astype(np.float32)
            n_components = min(self.n_components, *counts.shape)
            _, sizes, right = randomized_svd(
                counts, n_components, n_oversamples=20, n_iter=4, random_state=self.seed
            )
            # Directions beyond the rank of the counts have no size to be divided by
            sizes = np.maximum(sizes, 1e-6 * sizes[0]) ** self.damping
            self.directions_ = np.ascontiguousarray(right.T / sizes, dtype=np.float32)
            advance(2)
        self._vectorizer_ = vectorizer
        return self

    def encode(self, texts: Texts) -> FloatArray:
        """Project the texts and scale each to length one; a text without known words is all zeros."""
        self.require_fitted("directions_")
        blocks = [np.zeros((0, self.feature_dim), dtype=np.float32)]
        with task("Encoding", len(texts)) as advance:
            for first in range(0, len(texts), TEXTS_AT_ONCE):
                part = texts[first : first + TEXTS_AT_ONCE]
                dense = np.asarray(self._vectorizer_.transform(part) @ self.directions_)
                length = np.linalg.norm(dense, axis=1, keepdims=True)
                blocks.append((dense / np.where(length > 0, length, 1.0)).astype(np.float32))
                advance(len(part))
        return np.concatenate(blocks)

    @property
    def feature_dim(self) -> int:
        """Number of directions kept."""
        self.require_fitted("directions_")
        return int(self.directions_.shape[1])

    def save(self, folder: Path) -> None:
        """Write settings and vocabulary as JSON, weights and directions as safetensors."""
        self.require_fitted("directions_")
        state = {"settings": self.settings(), "vocabulary": self.vocabulary_}
        save_state(folder, "encoder", state, {"idf": self.idf_, "directions": self.directions_})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what :meth:`save` wrote."""
        state, arrays = load_state(folder, "encoder")
        try:
            encoder = cls(**state["settings"])
            encoder.vocabulary_ = state["vocabulary"]
            encoder.idf_, encoder.directions_ = arrays["idf"], arrays["directions"]
            encoder.history_ = []
            encoder._vectorizer_ = encoder._vectorizer(encoder.vocabulary_)
            encoder._vectorizer_.idf_ = encoder.idf_.astype(np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFolderError(f"{folder} holds no TF-IDF encoder: {error}.") from error
        return encoder

    def _vectorizer(self, vocabulary: list[str] | None = None) -> TfidfVectorizer:
        return TfidfVectorizer(
            ngram_range=(1, 2),
            token_pattern=WORD,
            sublinear_tf=True,
            min_df=self.min_documents,
            max_features=None if vocabulary else self.max_words,
            vocabulary=vocabulary,
            dtype=np.float32,
        )
