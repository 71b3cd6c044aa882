"""The mean of word vectors: a transformer's knowledge of words at the price of a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from piran.data.tokens import UNKNOWN_ID, Vocabulary
from piran.encoders.base import ENCODERS, Encoder, LabelledTexts, unit_instances
from piran.encoders.embeddings import initial_embeddings
from piran.encoders.pretrained import DEFAULT_MODEL
from piran.encoders.transformer import TransformerEncoder
from piran.errors import ModelFolderError, SettingError
from piran.storage import load_state, save_state
from piran.types import FloatArray, IntArray, Texts

TRANSFORMER = "transformer"
COMMON_SHARE = 1e-3
"""A word with this share of all words counts half of what a rare one does (Arora et al. 2017)."""


@ENCODERS.register("static")
class StaticEncoder(Encoder):
    """The weighted mean of the vectors of a text's words, scaled to length one.

    A word counts a / (a + p), where p is its share of all training words: common words say little. With
    ``embeddings`` transformer, each word of the training texts is read once, alone, by a pretrained
    transformer; after that a text of any length costs one row of a table a word.

    Parameters
    ----------
    embeddings
        Where the vectors come from: ``transformer``, ``skipgram`` (learned from the training texts;
        needs gensim), or the path of a GloVe or word2vec file.
    model
        The transformer, as for the encoder ``transformer``.
    embedding_dim
        Of skip-gram vectors; a file or a transformer brings its own.
    max_vocabulary
        The most frequent so many words are known.
    min_count
        Times that a word must occur in train.
    device
        Of the transformer.
    seed
        Of skip-gram, and of vectors for words that a file lacks.

    """

    name: ClassVar[str] = "static"
    head_settings: ClassVar[dict[str, Any]] = {
        # As for TF-IDF; nothing was varied
        "l2": 0.1,
        "n_prototype_documents": 1,
        "n_generated": 30,
        "max_directions": None,
    }

    def __init__(
        self,
        *,
        embeddings: str = TRANSFORMER,
        model: str = DEFAULT_MODEL,
        embedding_dim: int = 300,
        max_vocabulary: int = 50_000,
        min_count: int = 2,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.embeddings = embeddings
        self.model = model
        self.embedding_dim = embedding_dim
        self.max_vocabulary = max_vocabulary
        self.min_count = min_count
        self.device = device
        self.seed = seed

    def fit(self, train: LabelledTexts, validation: LabelledTexts | None = None) -> Self:
        """Learn words and their frequency from the training texts, and get their vectors."""
        if self.embedding_dim < 1:
            raise SettingError(f"embedding_dim must be at least 1, got {self.embedding_dim}.")
        self.history_ = []
        vocabulary = Vocabulary.learn(
            train.texts,
            max_size=self.max_vocabulary,
            min_count=self.min_count,
            max_words=int(1e9),  # the whole text: a mean has no length
        )
        token_ids = vocabulary.encode(train.texts)
        weights = _word_weights(token_ids, len(vocabulary))
        vectors = self._vectors(train, vocabulary.words, token_ids)
        self.vocabulary_ = vocabulary
        self.vectors_ = (weights[:, None] * vectors).astype(np.float32)  # (n_words, feature_dim)
        return self

    def _vectors(
        self, train: LabelledTexts, words: Sequence[str], token_ids: Sequence[IntArray]
    ) -> FloatArray:
        """Return the vectors of the words, not yet weighted, (n_words, feature_dim)."""
        if self.embeddings != TRANSFORMER:
            return initial_embeddings(
                self.embeddings, words, dim=self.embedding_dim, token_ids=token_ids, seed=self.seed
            )
        transformer = TransformerEncoder(model=self.model, device=self.device)
        return transformer.fit(train).encode(words)

    def encode(self, texts: Texts) -> FloatArray:
        """Return the means, each of length one; a text without known words is all zeros."""
        self.require_fitted("vectors_")
        return unit_instances(texts, self._sums, self.feature_dim)

    def _sums(self, texts: Texts) -> FloatArray:
        """Return the sum of the weighted vectors of each text, (n_documents, feature_dim)."""
        counts = _counts(self.vocabulary_.encode(texts), len(self.vectors_))
        return np.asarray(counts @ self.vectors_)

    @property
    def feature_dim(self) -> int:
        """Numbers in a word's vector."""
        self.require_fitted("vectors_")
        return int(self.vectors_.shape[1])

    def outside_parts(self) -> list[str]:
        """Return the digest of the transformer that the vectors come from, if they do."""
        if self.embeddings != TRANSFORMER:
            return []
        return TransformerEncoder(model=self.model, device=self.device).outside_parts()

    def save(self, folder: Path) -> None:
        """Write settings, words and vectors: a saved model needs no transformer."""
        self.require_fitted("vectors_")
        save_state(folder, "encoder", {"settings": self.settings()}, {"vectors": self.vectors_})
        self.vocabulary_.save(folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what :meth:`save` wrote."""
        state, arrays = load_state(folder, "encoder")
        try:
            encoder = cls(**state["settings"])
            encoder.vectors_ = arrays["vectors"]
        except (KeyError, TypeError) as error:
            raise ModelFolderError(f"{folder} holds no static encoder: {error}.") from error
        encoder.vocabulary_ = Vocabulary.load(folder)
        if len(encoder.vocabulary_) != len(encoder.vectors_):
            raise ModelFolderError(
                f"{folder} has {len(encoder.vectors_)} vectors for {len(encoder.vocabulary_)} words; "
                "its files are of different models."
            )
        encoder.history_ = []
        return encoder


def _word_weights(token_ids: list[IntArray], n_words: int) -> FloatArray:
    """Return a / (a + p) of each word, 0 for padding and unknown words, (n_words,)."""
    counts = np.bincount(np.concatenate(token_ids), minlength=n_words).astype(np.float64)
    counts[: UNKNOWN_ID + 1] = 0.0
    weights = COMMON_SHARE / (COMMON_SHARE + counts / max(counts.sum(), 1.0))
    weights[: UNKNOWN_ID + 1] = 0.0
    return np.asarray(weights)


def _counts(token_ids: list[IntArray], n_words: int) -> csr_array:
    """Return how often each word stands in each text, (n_documents, n_words)."""
    lengths = [len(document) for document in token_ids]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ones = np.ones(int(starts[-1]), dtype=np.float32)
    return csr_array((ones, np.concatenate(token_ids), starts), shape=(len(lengths), n_words))
