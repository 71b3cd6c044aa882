"""Attention of AttentionXML (You et al. 2019): each label looks at the words that matter to it."""

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from piran.encoders.networks import BiLstm, begin_at_log_odds, word_embedding
from piran.types import LabelMatrix

NUMBERS_AT_ONCE = 2**24
"""Numbers (64 MB of float32) that attention and what it reads take for the labels of one portion."""

Labels = Tensor | slice
"""Some labels: a slice of all, or for each document its own (n_documents, n_candidates)."""
ALL_LABELS = slice(None)


class WordStates(nn.Module):
    """From word numbers to the states of a BiLSTM, with dropout before and behind."""

    def __init__(
        self, embeddings: Tensor, *, hidden_dim: int, embedding_dropout: float, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = word_embedding(embeddings)
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.bilstm = BiLstm(embeddings.shape[1], hidden_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Map (n_documents, length) to (n_documents, length, 2 hidden_dim)."""
        words = self.embedding_dropout(self.embedding(token_ids.T))
        states: Tensor = self.dropout(self.bilstm(words, lengths))
        return states.transpose(0, 1).contiguous()


class LabelAttention(nn.Module):
    """A logit for each label from the words that this label attends to.

    With states h_t of the words, label j has the query a_j and the bias b_j, all else is shared::

        A_jt = softmax over t of a_j · h_t,    logit_j = v · relu(Σ_t A_jt (W h_t + b)) + b_j

    which is the authors' network with a bias for each label. As attention sums to one, words can be
    mapped by W before they are summed: once for all labels. Labels are taken in portions of
    :data:`NUMBERS_AT_ONCE`; where there is more than one, a portion is computed again in the backward
    pass instead of being kept, so memory does not grow with n_labels * length.
    """

    def __init__(self, state_dim: int, n_labels: int, *, reading_dim: int) -> None:
        super().__init__()
        # Some four times as large as published (Xavier): labels that all begin with even attention are
        # slow to part. At 1.0 each would begin with one word that chance has chosen.
        self.queries = nn.Parameter(0.2 * torch.randn(n_labels, state_dim))
        self.hidden = nn.Linear(state_dim, reading_dim)
        self.output = nn.Linear(reading_dim, 1, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_labels))
        for weight in (self.hidden.weight, self.output.weight):
            nn.init.xavier_uniform_(weight)

    def forward(self, states: Tensor, lengths: Tensor, label_ids: Tensor | None = None) -> Tensor:
        """Map states (n_documents, length, state_dim) to logits (n_documents, n_labels).

        ``label_ids`` (n_documents, n_candidates) chooses some labels for each document; the logits
        are then (n_documents, n_candidates).
        """
        mapped = self.hidden(states)  # (n_documents, length, reading_dim)
        is_word = word_mask(states, lengths)
        portions = self._portions(mapped, label_ids)
        read = self._logits if len(portions) == 1 else self._forgetful_logits
        return torch.cat([read(states, mapped, is_word, labels) for labels in portions], dim=1)

    def begin_at_log_odds(self, targets: LabelMatrix) -> None:
        """Let each label begin at its probability in the training targets."""
        begin_at_log_odds(self, targets)

    def attention(self, states: Tensor, lengths: Tensor, labels: Labels = ALL_LABELS) -> Tensor:
        """Return A (n_documents, length, n_labels) of these labels; it sums to 1 over the words."""
        return self._attention(states, word_mask(states, lengths), labels)

    def _attention(self, states: Tensor, is_word: Tensor, labels: Labels) -> Tensor:
        energies = states @ self.queries[labels].mT  # (n_documents, length, n_labels)
        return energies.masked_fill(~is_word, -torch.inf).softmax(dim=1)

    def _logits(self, states: Tensor, mapped: Tensor, is_word: Tensor, labels: Labels) -> Tensor:
        attention = self._attention(states, is_word, labels)
        read = (attention.mT @ mapped).relu()  # (n_documents, n_labels, reading_dim)
        logits: Tensor = self.output(read).squeeze(2) + self.bias[labels]  # (n_documents, n_labels)
        return logits

    def _forgetful_logits(self, *arguments: Tensor | slice) -> Tensor:
        """Return the logits without keeping what the backward pass needs: it computes them again."""
        logits: Tensor = checkpoint(
            self._logits, *arguments, use_reentrant=False, preserve_rng_state=False
        )
        return logits

    def _portions(self, mapped: Tensor, label_ids: Tensor | None) -> list[Labels]:
        n_documents, length, reading_dim = mapped.shape
        if label_ids is None:
            n_labels = max(1, NUMBERS_AT_ONCE // (n_documents * (length + reading_dim)))
            return [slice(at, at + n_labels) for at in range(0, len(self.bias), n_labels)]
        query_dim = self.queries.shape[1]  # there is a copy of the queries for each document
        n_labels = max(1, NUMBERS_AT_ONCE // (n_documents * (length + reading_dim + query_dim)))
        return list(torch.split(label_ids, n_labels, dim=1))


class SharedAttention(nn.Module):
    """One attention for all labels, and a row for each label: what remains without its idea."""

    def __init__(self, state_dim: int, n_labels: int, *, reading_dim: int) -> None:
        super().__init__()
        self.query = nn.Linear(state_dim, 1, bias=False)
        self.hidden = nn.Linear(state_dim, reading_dim)
        self.classifier = nn.Linear(reading_dim, n_labels)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Map states (n_documents, length, state_dim) to logits (n_documents, n_labels)."""
        energies = self.query(states).masked_fill(~word_mask(states, lengths), -torch.inf)
        pooled = energies.softmax(dim=1).mT @ self.hidden(states)  # (n_documents, 1, reading_dim)
        logits: Tensor = self.classifier(pooled.squeeze(1).relu())  # (n_documents, n_labels)
        return logits

    def begin_at_log_odds(self, targets: LabelMatrix) -> None:
        """Let each label begin at its probability in the training targets."""
        begin_at_log_odds(self.classifier, targets)


def word_mask(states: Tensor, lengths: Tensor) -> Tensor:
    """Return where there are words and not padding: (n_documents, length, 1)."""
    positions = torch.arange(states.shape[1], device=states.device)
    return (positions < lengths[:, None])[:, :, None]
