"""What every network over words shares: its settings, and the network with its vocabulary.

A network method is one small file: an ``nn.Module`` that maps ``(token_ids, lengths)`` to logits,
and a method that inherits the settings and hands the rest to a :class:`TextNetwork`::

    @METHODS.register("mean-words")
    @dataclass(kw_only=True, eq=False, repr=False)
    class MeanWords(NetworkSettings, Method):
        '''Each label's row, on the mean of the word vectors.'''

        name: ClassVar[str] = "mean-words"
        learning_rate: float = 1e-2
        '''A default of its own, instead of the one of NetworkSettings.'''
        dropout: float = 0.1
        '''A setting of its own.'''

        def _build(self, embeddings: Tensor) -> MeanNetwork:
            return MeanNetwork(embeddings, len(self.labels_), dropout=self.dropout)

        def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
            self.network_ = TextNetwork.begin(train.texts, self._build, settings=self)
            begin_at_log_odds(self.network_.network.classifier, train.targets)
            outcome = self.network_.fit(train, validation, settings=self)
            self.history_, self.stop_reason_ = outcome.history, outcome.stop_reason

        def _scores(self, texts: Texts) -> FloatArray:
            return self.network_.scores(texts)

        def _save(self, folder: Path) -> None:
            self.network_.save(folder)

        def _load(self, folder: Path) -> None:
            self.network_ = TextNetwork.load(folder, self._build, settings=self)

The decorator writes the flat constructor, so scikit-learn's ``get_params`` and ``clone``, the types
of ``--set key=value`` and its check for unknown keys work as for any method, and no line
``self.x = x`` is needed. A method whose training differs (other targets, a sampler, parameter groups,
a loss of its own, hooks) calls :meth:`TextNetwork.train` with those parts; a second stage on the same
vocabulary is another ``TextNetwork(first.vocabulary, network)``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from piran.data.tokens import Vocabulary
from piran.encoders.base import LabelledTexts
from piran.encoders.embeddings import initial_embeddings
from piran.encoders.networks import word_embedding_of
from piran.errors import ModelFolderError
from piran.storage import load_state, save_state
from piran.training.loop import (
    BatchLoss,
    Hook,
    Score,
    TrainingLoop,
    TrainingOutcome,
    TrainingSet,
    apply_network,
)
from piran.training.losses import LossSettings, label_loss, loss_of_batches
from piran.training.runtime import choose_device, seeded
from piran.training.scoring import micro_f1_score
from piran.types import FloatArray, IntArray, Texts

Network = TypeVar("Network", bound=nn.Module)
Part = nn.Module
"""A network, or a part of one, that maps (token_ids, lengths) to something for each document."""


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkSettings(LossSettings):
    """Settings of every network over words; an estimator that has one inherits them."""

    quick_settings: ClassVar[Mapping[str, Any]] = {
        "embedding_dim": 8,
        "batch_size": 16,
        "max_epochs": 2,
        "learning_rate": 0.02,
    }
    """Settings under which a small corpus is learned in a second."""

    embeddings: str = "random"
    """``random``, ``skipgram`` (learned from the training texts; needs gensim) or the path of a GloVe
    or word2vec file, which then decides the dimension. Skip-gram was 2 points of validation micro-F1
    better than random with the BiLSTM on debtags."""
    embedding_dim: int = 300
    learning_rate: float = 3e-3
    """Of Adam."""
    batch_size: int = 64
    max_epochs: int = 20
    patience: int = 3
    """Epochs without a better micro-F1 on validation documents after which training stops."""
    clip_norm: float = 5.0
    """Gradients are scaled down to this norm."""
    max_words: int = 500
    """Words kept of a document, the last ones."""
    max_vocabulary: int = 500_000
    min_count: int = 2
    """Times a word must occur in train to be in the vocabulary. At 2, the words that occur once
    teach the network what an unknown word is."""
    device: str = "auto"
    seed: int = 0


class TextNetwork(Generic[Network]):
    """A network over words and the vocabulary it reads them with."""

    def __init__(self, vocabulary: Vocabulary, network: Network, *, batch_size: int = 64) -> None:
        self.vocabulary = vocabulary
        self.network = network
        self.batch_size = batch_size

    @classmethod
    def begin(
        cls, texts: Texts, build: Callable[[Tensor], Network], *, settings: NetworkSettings
    ) -> Self:
        """Learn the vocabulary of the training texts and build the network, not yet trained.

        ``build`` gets the initial word vectors (n_words, embedding_dim), and fixed random numbers.
        """
        vocabulary = Vocabulary.learn(
            texts,
            max_size=settings.max_vocabulary,
            min_count=settings.min_count,
            max_words=settings.max_words,
        )
        vectors = initial_embeddings(
            settings.embeddings,
            vocabulary.words,
            dim=settings.embedding_dim,
            token_ids=vocabulary.encode(texts) if settings.embeddings == "skipgram" else [],
            seed=settings.seed,
        )
        with seeded(settings.seed):
            network = build(torch.from_numpy(vectors))
        network.to(choose_device(settings.device))
        return cls(vocabulary, network, batch_size=settings.batch_size)

    def fit(
        self,
        train: LabelledTexts,
        validation: LabelledTexts | None,
        *,
        settings: NetworkSettings,
        batch_loss: BatchLoss | None = None,
        hooks: Sequence[Hook] = (),
    ) -> TrainingOutcome:
        """Train on the labels of ``train``; stop by micro-F1 on ``validation``, if it is given."""
        return self.train(
            TrainingSet(self.token_ids(train.texts), train.targets),
            settings=settings,
            score=None if validation is None else self.micro_f1_on(validation),
            batch_loss=batch_loss,
            hooks=hooks,
        )

    def train(
        self,
        documents: TrainingSet,
        *,
        settings: NetworkSettings,
        score: Score | None = None,
        batch_loss: BatchLoss | None = None,
        hooks: Sequence[Hook] = (),
        optimizer: torch.optim.Optimizer | None = None,
    ) -> TrainingOutcome:
        """Train on any targets, with the parts of :class:`TrainingLoop`.

        By default the loss is the one that the settings name, and the optimizer Adam.
        """
        loop = TrainingLoop(
            max_epochs=settings.max_epochs,
            patience=settings.patience,
            batch_size=settings.batch_size,
            clip_norm=settings.clip_norm,
            seed=settings.seed,
            batch_loss=batch_loss or loss_of_batches(label_loss(settings, documents.targets)),
            hooks=hooks,
        )
        optimizer = optimizer or self.adam(settings.learning_rate)
        outcome = loop.run(self.network, optimizer, documents, score)
        self.network.eval()
        return outcome

    def adam(self, learning_rate: float) -> torch.optim.Optimizer:
        """Return Adam over all weights that are to be trained."""
        weights = [weight for weight in self.network.parameters() if weight.requires_grad]
        return torch.optim.Adam(weights, lr=learning_rate, fused=True)

    def token_ids(self, texts: Texts) -> list[IntArray]:
        """Return the numbers of the words of each text."""
        return self.vocabulary.encode(texts)

    def micro_f1_on(self, documents: LabelledTexts) -> Score:
        """Return a score of networks: micro-F1 at probability 0.5 on these documents."""
        return micro_f1_score(self.token_ids(documents.texts), documents.targets)

    def apply(
        self, texts: Texts, part: Part | None = None, *, description: str = "Predicting"
    ) -> FloatArray:
        """Return the output of the network, or of a part of it, for each text: (n_documents, ...)."""
        return apply_network(
            self.network if part is None else part,
            self.token_ids(texts),
            batch_size=self.batch_size,
            description=description,
        )

    def scores(self, texts: Texts) -> FloatArray:
        """Return the probabilities behind the network's logits, (n_documents, n_labels)."""
        # tanh keeps the precision of both tails and cannot overflow
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * self.apply(texts))))

    def save(
        self, folder: Path, name: str = "network", state: Mapping[str, Any] | None = None
    ) -> None:
        """Write weights and vocabulary; ``name``.json also gets ``state``, for its owner to read."""
        weights = self.network.state_dict()
        arrays = {key: weight.cpu().numpy() for key, weight in weights.items()}
        own = {"embedding_dim": word_embedding_of(self.network).embedding_dim}
        save_state(folder, name, {**own, **(state or {})}, arrays)
        self.vocabulary.save(folder)

    @classmethod
    def load(
        cls,
        folder: Path,
        build: Callable[[Tensor], Network],
        *,
        settings: NetworkSettings,
        name: str = "network",
    ) -> Self:
        """Read what :meth:`save` wrote; ``build`` is the one that :meth:`begin` got."""
        state, arrays = load_state(folder, name)
        vocabulary = Vocabulary.load(folder)
        try:
            network = build(torch.empty(len(vocabulary), state["embedding_dim"]))
            network.load_state_dict({key: torch.from_numpy(array) for key, array in arrays.items()})
        except (KeyError, TypeError, RuntimeError) as error:
            raise ModelFolderError(
                f"The weights in {folder / name}.safetensors do not fit the settings beside them "
                f"({error}); save the model again."
            ) from error
        network.to(choose_device(settings.device)).eval()
        return cls(vocabulary, network, batch_size=settings.batch_size)
