"""The paper's network (section 3.1), in parts: BiLSTM, attention, extractor, rows of the labels."""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from piran.data.tokens import PAD_ID
from piran.rows import LinearRows
from piran.types import IntArray, LabelMatrix


class BiLstm(nn.Module):
    """A bidirectional LSTM over padded documents, Equations (1) and (2); initial states are zero.

    Equal to ``nn.LSTM(bidirectional=True)`` over packed sequences, whose backward pass takes time
    quadratic in the length on a CPU. Here each direction is a plain LSTM; the backward one reads
    each document reversed, so that padding stands behind the words in both and never reaches them.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.forward_lstm = nn.LSTM(input_dim, hidden_dim)
        self.backward_lstm = nn.LSTM(input_dim, hidden_dim)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Map (length, n_documents, input_dim) to (length, n_documents, 2 hidden_dim).

        The output is zero at padded positions.
        """
        positions = torch.arange(len(words), device=words.device)[:, None]  # (length, 1)
        is_word = (positions < lengths)[:, :, None]  # (length, n_documents, 1)
        reversal = torch.where(is_word[:, :, 0], lengths - 1 - positions, positions)
        rightward = self.forward_lstm(words)[0]  # (length, n_documents, hidden_dim)
        leftward = self.backward_lstm(_reordered(words, reversal))[0]
        both = torch.cat([rightward, _reordered(leftward, reversal)], dim=2)
        return both.masked_fill(~is_word, 0.0)  # (length, n_documents, 2 hidden_dim)


def _reordered(states: Tensor, positions: Tensor) -> Tensor:
    """Return ``states`` (length, n_documents, dim) at ``positions`` (length, n_documents)."""
    return states.gather(0, positions[:, :, None].expand_as(states))


class MultiHeadAttention(nn.Module):
    """A = softmax(W₂ tanh(W₁ H)) and M = A Hᵀ, Equation (3); padding gets no weight at all."""

    def __init__(self, input_dim: int, attention_dim: int, n_heads: int) -> None:
        super().__init__()
        self.W1 = nn.Linear(input_dim, attention_dim, bias=False)
        self.W2 = nn.Linear(attention_dim, n_heads, bias=False)

    def weights(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return A (n_documents, n_heads, length), which sums to 1 over the words of a document."""
        energies = self.W2(torch.tanh(self.W1(states)))  # (length, n_documents, n_heads)
        positions = torch.arange(len(states), device=states.device)[:, None]  # (length, 1)
        is_padding = (positions >= lengths)[:, :, None]  # (length, n_documents, 1)
        masked = energies.masked_fill(is_padding, -torch.inf)
        attention: Tensor = masked.softmax(dim=0)
        return attention.permute(1, 2, 0)  # (n_documents, n_heads, length)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Map H (length, n_documents, input_dim) to M (n_documents, n_heads, input_dim)."""
        return self.weights(states, lengths) @ states.transpose(0, 1)


class SemanticExtractor(nn.Module):
    """From word numbers to instances r: embeddings, BiLSTM, attention, and f_a, a linear map."""

    def __init__(
        self,
        embeddings: Tensor,
        *,
        hidden_dim: int,
        attention_dim: int,
        n_heads: int,
        instance_dim: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = word_embedding(embeddings)
        self.dropout = nn.Dropout(dropout)
        self.bilstm = BiLstm(embeddings.shape[1], hidden_dim)
        self.attention = MultiHeadAttention(2 * hidden_dim, attention_dim, n_heads)
        self.aggregate = nn.Linear(n_heads * 2 * hidden_dim, instance_dim)

    def states(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Return H, Equation (2): (length, n_documents, 2 hidden_dim)."""
        words = self.dropout(self.embedding(token_ids.T))  # (length, n_documents, embedding_dim)
        states: Tensor = self.bilstm(words, lengths)
        return states

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Map (n_documents, length) to r (n_documents, instance_dim), Equation (3)."""
        heads = self.attention(self.states(token_ids, lengths), lengths)
        instances: Tensor = self.aggregate(heads.flatten(1))  # (n_documents, instance_dim)
        return instances


class ExtractorClassifier(nn.Module):
    """An extractor of instances and a row for each label on top: ŷ = W_a r, Equation (4)."""

    def __init__(self, extractor: nn.Module, classifier: nn.Linear) -> None:
        super().__init__()
        self.extractor = extractor
        self.classifier = classifier

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Map (n_documents, length) to logits (n_documents, n_labels)."""
        logits: Tensor = self.classifier(self.extractor(token_ids, lengths))
        return logits

    def rows(self) -> LinearRows:
        """Return the classifier's rows, with a bias of zeros if it has none."""
        rows = self.classifier.weight.detach().cpu().numpy().copy()
        bias: Tensor | None = self.classifier.bias
        if bias is None:
            return LinearRows(rows, np.zeros(len(rows), dtype=np.float32))
        return LinearRows(rows, bias.detach().cpu().numpy().copy())


def word_embedding(vectors: Tensor) -> nn.Embedding:
    """Return the layer of word vectors that begins at ``vectors`` (n_words, embedding_dim)."""
    n_words, embedding_dim = vectors.shape
    return nn.Embedding(n_words, embedding_dim, padding_idx=PAD_ID, _weight=vectors)


def word_embedding_of(network: nn.Module) -> nn.Embedding:
    """Return the word vectors of a network, which are its first layer of that kind."""
    return next(layer for layer in network.modules() if isinstance(layer, nn.Embedding))


class HasBias(Protocol):
    """A layer with a number for each label that is added to its logit."""

    @property
    def bias(self) -> Tensor:
        """Shape (n_labels,)."""


def begin_at_log_odds(layer: HasBias, targets: LabelMatrix) -> None:
    """Set a layer's bias, where it has one, to each label's log-odds in ``targets``.

    Rare labels then need not unlearn a probability of one half first.
    """
    bias: Tensor | None = layer.bias
    if bias is not None:
        with torch.no_grad():
            bias.copy_(log_odds(np.asarray(targets.sum(axis=0)).ravel(), targets.shape[0]))


def log_odds(counts: IntArray, n_documents: IntArray | int) -> Tensor:
    """Return the log-odds of labels with ``counts`` of ``n_documents`` documents: (n_labels,)."""
    odds = (counts + 0.5) / (n_documents - counts + 0.5)
    return torch.from_numpy(np.log(odds))
