"""TF-IDF of words and word pairs, reduced to a dense space: the encoder that takes seconds."""

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.extmath import randomized_svd

from piran.encoders.base import ENCODERS, Encoder, LabelledTexts, unit_instances
from piran.encoders.ngrams import NgramVectorizer
from piran.errors import ModelFolderError
from piran.progress import task
from piran.storage import load_state, save_state
from piran.types import FloatArray, Texts


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
            ngrams = NgramVectorizer(min_documents=self.min_documents, max_ngrams=self.max_words)
            counts = ngrams.fit_transform(train.texts)
            advance(1)
            n_components = min(self.n_components, *counts.shape)
            _, sizes, right = randomized_svd(
                counts, n_components, n_oversamples=20, n_iter=4, random_state=self.seed
            )
            # Directions beyond the rank of the counts have no size to be divided by
            sizes = np.maximum(sizes, 1e-6 * sizes[0]) ** self.damping
            self.directions_ = np.ascontiguousarray(right.T / sizes, dtype=np.float32)
            advance(2)
        self.ngrams_ = ngrams
        return self

    def encode(self, texts: Texts) -> FloatArray:
        """Project the texts and scale each to length one; a text without known words is all zeros."""
        self.require_fitted("directions_")
        return unit_instances(texts, self._projected, self.feature_dim)

    def _projected(self, texts: Texts) -> FloatArray:
        """Return the texts' vectors in the kept directions, (n_documents, feature_dim)."""
        return np.asarray(self.ngrams_.transform(texts) @ self.directions_)

    @property
    def feature_dim(self) -> int:
        """Number of directions kept."""
        self.require_fitted("directions_")
        return int(self.directions_.shape[1])

    @property
    def vocabulary_(self) -> list[str]:
        """Words and word pairs that count."""
        self.require_fitted("directions_")
        return self.ngrams_.vocabulary

    def save(self, folder: Path) -> None:
        """Write settings and vocabulary as JSON, weights and directions as safetensors."""
        self.require_fitted("directions_")
        state = {"settings": self.settings(), "vocabulary": self.ngrams_.vocabulary}
        arrays = {"idf": self.ngrams_.idf, "directions": self.directions_}
        save_state(folder, "encoder", state, arrays)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what :meth:`save` wrote."""
        state, arrays = load_state(folder, "encoder")
        try:
            encoder = cls(**state["settings"])
            encoder.ngrams_ = NgramVectorizer.restored(state["vocabulary"], arrays["idf"])
            encoder.directions_ = arrays["directions"]
            encoder.history_ = []
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFolderError(f"{folder} holds no TF-IDF encoder: {error}.") from error
        return encoder
