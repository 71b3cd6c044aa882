"""XML-CNN (Liu et al. 2017): convolutions over words, pooled by the part of the document they lie in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_max_pool1d

from piran.encoders.base import LabelledTexts
from piran.encoders.networks import begin_at_log_odds, word_embedding
from piran.encoders.text_network import NetworkSettings, TextNetwork
from piran.errors import SettingError
from piran.methods.base import METHODS, Method
from piran.types import FloatArray, Texts


class XmlCnnNetwork(nn.Module):
    """Word vectors, convolutions, dynamic max-pooling, a bottleneck, and a row for each label."""

    def __init__(
        self,
        embeddings: Tensor,
        n_labels: int,
        *,
        n_filters: int,
        filter_widths: Sequence[int],
        n_segments: int,
        hidden_dim: int,
        embedding_dropout: float,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embedding = word_embedding(embeddings)
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embeddings.shape[1], n_filters, width, padding=width - 1)
            for width in filter_widths
        )
        self.n_segments = n_segments
        self.bottleneck = nn.Linear(len(filter_widths) * n_filters * n_segments, hidden_dim)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(hidden_dim, n_labels)

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Map (n_documents, length) to logits (n_documents, n_labels)."""
        pooled = self.pooled(token_ids, lengths).flatten(1)  # (n_documents, channels * n_segments)
        hidden = self.dropout(self.bottleneck(pooled).relu())  # (n_documents, hidden_dim)
        logits: Tensor = self.classifier(hidden)  # (n_documents, n_labels)
        return logits

    def pooled(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Return the strongest response in each segment: (n_documents, channels, n_segments)."""
        words = self.embedding_dropout(self.embedding(token_ids))
        words = words.transpose(1, 2)  # (n_documents, embedding_dim, length)
        # A window ends at each word, so none of them reaches into the padding behind the last.
        windows = [layer(words)[:, :, : words.shape[2]] for layer in self.convolutions]
        responses = torch.cat(windows, dim=1)  # (n_documents, channels, length)
        # As ReLU keeps the order of numbers, it can wait until there are fewer of them.
        return dynamic_max_pool(responses, lengths, self.n_segments).relu()


def dynamic_max_pool(responses: Tensor, lengths: Tensor, n_segments: int) -> Tensor:
    """Return the maximum over each of ``n_segments`` equal parts of each document's own length.

    ``responses`` are (n_documents, channels, length). Part i of n words reaches from ⌊i n / p⌋ to
    ⌈(i+1) n / p⌉, so that none is empty where a document has fewer words than parts.
    """
    documents = zip(responses.unbind(0), lengths.tolist(), strict=True)
    return torch.stack(
        [adaptive_max_pool1d(document[:, :length], n_segments) for document, length in documents]
    )  # (n_documents, channels, n_segments)


@METHODS.register("xml-cnn")
@dataclass(kw_only=True, eq=False, repr=False)
class XmlCnn(NetworkSettings, Method):
    """XML-CNN: which phrase occurs, and in which part of the document.

    Convolutions run over words; the authors' code runs them over the numbers of the word vectors,
    against their paper, and scores worse. Sizes are those of later reproductions.

    Memory: five times the weights (gradient, two numbers of Adam, the best weights), most of which are
    ``n_words * embedding_dim`` word vectors; in a batch, about
    ``7 * n_documents * length * channels`` numbers, 0.1 GB for 64 documents of 130 words, and
    ``n_documents * n_labels``.
    """

    name: ClassVar[str] = "xml-cnn"
    quick_settings: ClassVar[Mapping[str, Any]] = {
        **NetworkSettings.quick_settings,
        "n_filters": 8,
        "hidden_dim": 16,
    }

    learning_rate: float = 2e-3
    """Of Adam. Validation micro-F1 after four epochs on 3,000 documents of debtags was 27.3 with 0.001
    and 31.8 with 0.002; after five on 4,000 it was 35.2 with 0.001 and 32.6 with 0.003."""
    patience: int = 5
    """As in later reproductions: on few documents the score may stand still for the first epochs."""
    n_filters: int = 128
    """Of each width."""
    filter_widths: Sequence[int] = (2, 4, 8)
    """Words under a filter."""
    n_segments: int = 8
    """Parts of a document in which the strongest response is kept; 1: only one in all."""
    hidden_dim: int = 512
    """Of the bottleneck between pooled responses and labels."""
    embedding_dropout: float = 0.25
    dropout: float = 0.5
    """Of the bottleneck."""

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        self._check()
        self.network_ = TextNetwork.begin(train.texts, self._build, settings=self)
        begin_at_log_odds(self.network_.network.classifier, train.targets)
        outcome = self.network_.fit(train, validation, settings=self)
        self.history_, self.stop_reason_ = outcome.history, outcome.stop_reason

    def _build(self, embeddings: Tensor) -> XmlCnnNetwork:
        return XmlCnnNetwork(
            embeddings,
            len(self.labels_),
            n_filters=self.n_filters,
            filter_widths=self.filter_widths,
            n_segments=self.n_segments,
            hidden_dim=self.hidden_dim,
            embedding_dropout=self.embedding_dropout,
            dropout=self.dropout,
        )

    def _scores(self, texts: Texts) -> FloatArray:
        return self.network_.scores(texts)

    def _save(self, folder: Path) -> None:
        self.network_.save(folder)

    def _load(self, folder: Path) -> None:
        self.network_ = TextNetwork.load(folder, self._build, settings=self)

    def settings(self) -> dict[str, Any]:
        """Return the flat table from which :meth:`from_settings` builds this method."""
        return {**super().settings(), "filter_widths": list(self.filter_widths)}

    def _check(self) -> None:
        if not self.filter_widths or min(self.filter_widths) < 1:
            raise SettingError(
                f"filter_widths must be numbers of words, for example [2, 4, 8], "
                f"got {self.filter_widths}."
            )
        for name in ("n_filters", "n_segments", "hidden_dim"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} must be at least 1, got {getattr(self, name)}.")
