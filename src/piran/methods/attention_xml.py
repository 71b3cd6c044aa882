"""AttentionXML (You et al. 2019): each label reads a document through an attention of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from piran.data.batches import Batch
from piran.data.label_clusters import NO_LABEL, balanced_clusters, table_shape
from piran.encoders.base import LabelledTexts
from piran.encoders.label_attention import LabelAttention, SharedAttention, WordStates
from piran.encoders.label_tree import LabelTree
from piran.encoders.text_network import NetworkSettings, TextNetwork
from piran.encoders.tfidf import TfidfEncoder
from piran.errors import SettingError
from piran.methods.base import METHODS, Method
from piran.training.loop import BatchLoss
from piran.training.losses import label_loss
from piran.types import FloatArray, IntArray, LabelMatrix, Texts

ATTENTIONS = ("label", "shared")
N_CLUSTERING_COMPONENTS = 100


class AttentionXmlNetwork(nn.Module):
    """States of the words, and what turns them into logits of the labels."""

    def __init__(
        self, words: WordStates, labels: LabelAttention | LabelTree | SharedAttention
    ) -> None:
        super().__init__()
        self.words = words
        self.labels = labels

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Map (n_documents, length) to logits (n_documents, n_labels)."""
        logits: Tensor = self.labels(self.words(token_ids, lengths), lengths)
        return logits


@METHODS.register("attention-xml")
@dataclass(kw_only=True, eq=False, repr=False)
class AttentionXml(NetworkSettings, Method):
    """AttentionXML: a BiLSTM, and for each label an attention of its own over its states.

    One network, not the authors' sum of three, with the weights of its best epoch, not their mean over
    many. Initial states of the LSTM are zero, and each label has a bias, which begins at its log-odds.
    Above ``max_flat_labels`` labels a shallow, wide tree bounds time and memory: labels of similar
    documents form clusters; clusters are scored first, and attention is paid only to the labels of the
    best clusters and, in training, to the labels of the document. The authors train one network for each
    level of such a tree; here one network learns both.

    Memory: five times the weights (gradient, two numbers of Adam, the best weights), which are
    ``n_words * embedding_dim`` and ``2 * hidden_dim * n_labels`` numbers; in a batch, some copies of
    ``n_documents * length * 2 * hidden_dim`` for the states and at most about 0.3 GB for attention,
    as labels are taken in portions. 20,000 labels train within 4 GB.
    """

    name: ClassVar[str] = "attention-xml"
    quick_settings: ClassVar[Mapping[str, Any]] = {
        **NetworkSettings.quick_settings,
        "hidden_dim": 8,
        "reading_dim": 8,
    }

    learning_rate: float = 2e-3
    """Of Adam, twice the authors': there are fewer steps on fewer documents."""
    batch_size: int = 32
    """About the authors' 40."""
    hidden_dim: int = 256
    """Of each direction of the BiLSTM."""
    reading_dim: int = 256
    """Of the layer that reads what a label has attended to, shared by all labels."""
    embedding_dropout: float = 0.2
    dropout: float = 0.5
    """Of the states of the words."""
    attention: str = "label"
    """``label``, or ``shared``: one attention for all labels."""
    max_flat_labels: int = 5_000
    """With more labels than this, they are divided into clusters."""
    cluster_size: int = 16
    """Labels of a cluster, at most."""
    n_best_clusters: int = 20
    """Clusters of a document whose labels are scored."""

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        self._check()
        build = self._builder(self._clusters(train) if self._has_tree() else None)
        self.network_ = TextNetwork.begin(train.texts, build, settings=self)
        self.network_.network.labels.begin_at_log_odds(train.targets)
        batch_loss = self._tree_loss(train.targets)
        outcome = self.network_.fit(train, validation, settings=self, batch_loss=batch_loss)
        self.history_, self.stop_reason_ = outcome.history, outcome.stop_reason

    def _scores(self, texts: Texts) -> FloatArray:
        return self.network_.scores(texts)

    def _save(self, folder: Path) -> None:
        self.network_.save(folder)

    def _load(self, folder: Path) -> None:
        clusters = None
        if self._has_tree():  # the table itself is among the weights
            clusters = np.full(table_shape(len(self.labels_), self._n_clusters()), NO_LABEL)
        self.network_ = TextNetwork.load(folder, self._builder(clusters), settings=self)

    def _builder(self, clusters: IntArray | None) -> Callable[[Tensor], AttentionXmlNetwork]:
        n_labels, state_dim = len(self.labels_), 2 * self.hidden_dim

        def labels() -> LabelAttention | LabelTree | SharedAttention:
            if self.attention == "shared":
                return SharedAttention(state_dim, n_labels, reading_dim=self.reading_dim)
            if clusters is None:
                return LabelAttention(state_dim, n_labels, reading_dim=self.reading_dim)
            return LabelTree(
                torch.from_numpy(clusters),
                state_dim,
                n_labels,
                reading_dim=self.reading_dim,
                n_best=self.n_best_clusters,
            )

        def build(embeddings: Tensor) -> AttentionXmlNetwork:
            words = WordStates(
                embeddings,
                hidden_dim=self.hidden_dim,
                embedding_dropout=self.embedding_dropout,
                dropout=self.dropout,
            )
            return AttentionXmlNetwork(words, labels())

        return build

    def _has_tree(self) -> bool:
        return self.attention == "label" and len(self.labels_) > self.max_flat_labels

    def _n_clusters(self) -> int:
        return -(-len(self.labels_) // self.cluster_size)

    def _clusters(self, train: LabelledTexts) -> IntArray:
        """Return clusters of labels whose documents have similar TF-IDF vectors."""
        encoder = TfidfEncoder(n_components=N_CLUSTERING_COMPONENTS, seed=self.seed).fit(train)
        features = train.targets.T @ encoder.encode(train.texts)  # (n_labels, feature_dim)
        norms = np.linalg.norm(features, axis=1, keepdims=True)
        features = features / np.where(norms > 0, norms, 1)
        return balanced_clusters(features, self._n_clusters(), seed=self.seed)

    def _tree_loss(self, targets: LabelMatrix) -> BatchLoss | None:
        """Return the loss of clusters and candidates; None where there is no tree."""
        tree = self.network_.network.labels
        if not isinstance(tree, LabelTree):
            return None
        of_clusters = label_loss(self, tree.sparse_cluster_targets(targets))
        of_labels = label_loss(self, targets)

        def of_batch(network: nn.Module, batch: Batch, targets: Tensor) -> Tensor:
            assert isinstance(network, AttentionXmlNetwork)
            states = network.words(batch.token_ids, batch.lengths)
            losses = tree.losses(states, batch.lengths, targets, of_clusters, of_labels)
            return losses.mean()

        return of_batch

    def _check(self) -> None:
        if self.attention not in ATTENTIONS:
            raise SettingError(
                f"attention must be one of {', '.join(ATTENTIONS)}, got {self.attention!r}."
            )
        for name in ("hidden_dim", "reading_dim", "cluster_size", "n_best_clusters"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} must be at least 1, got {getattr(self, name)}.")
