"""Attention of AttentionXML (You et al. 2019): each label looks at the words that matter to it."""

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from piran.encoders.networks import BiLstm, word_embedding

NUMBERS_AT_ONCE = 2**24
"""Numbers (64 MB of float32) that attention and what it reads take for the labels of one portion."""


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

    def __init__(self, state_dim: int, n_labels: int, *, hidden_dim: int) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.empty(n_labels, state_dim))
        self.hidden = nn.Linear(state_dim, hidden_dim)
        self.output = nn.Linear(hidden_dim, 1, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_labels))
        for weight in (self.queries, self.hidden.weight, self.output.weight):
            nn.init.xavier_uniform_(weight)

    def forward(self, states: Tensor, lengths: Tensor, label_ids: Tensor | None = None) -> Tensor:
        """Map states (n_documents, length, state_dim) to logits (n_documents, n_labels).

        ``label_ids`` (n_documents, n_candidates) chooses some labels for each document; the logits
        are then (n_documents, n_candidates).
        """
        mapped = self.hidden(states)  # (n_documents, length, hidden_dim)
        is_word = word_mask(states, lengths)
        chosen = torch.arange(len(self.bias)) if label_ids is None else label_ids
        portions = chosen.split(self._labels_at_once(mapped, label_ids is not None), dim=-1)
        logits = [self._portion(len(portions), states, mapped, is_word, ids) for ids in portions]
        return torch.cat(logits, dim=1)

    def attention(self, states: Tensor, lengths: Tensor, label_ids: Tensor) -> Tensor:
        """Return A (n_documents, length, n_labels) of these labels; it sums to 1 over words."""
        return self._attention(states, word_mask(states, lengths), label_ids)

    def _attention(self, states: Tensor, is_word: Tensor, label_ids: Tensor) -> Tensor:
        energies = states @ self.queries[label_ids].mT  # (n_documents, length, n_labels)
        return energies.masked_fill(~is_word, -torch.inf).softmax(dim=1)

    def _portion(self, n_portions: int, *arguments: Tensor) -> Tensor:
        if n_portions == 1 or not torch.is_grad_enabled():
            return self._logits(*arguments)
        logits: Tensor = checkpoint(
            self._logits, *arguments, use_reentrant=False, preserve_rng_state=False
        )
        return logits

    def _logits(self, states: Tensor, mapped: Tensor, is_word: Tensor, label_ids: Tensor) -> Tensor:
        attention = self._attention(states, is_word, label_ids)
        read = (attention.mT @ mapped).relu()  # (n_documents, n_labels, hidden_dim)
        return self.output(read).squeeze(2) + self.bias[label_ids]  # (n_documents, n_labels)

    def _labels_at_once(self, mapped: Tensor, has_candidates: bool) -> int:
        n_documents, length, hidden_dim = mapped.shape
        query_dim = self.queries.shape[1] if has_candidates else 0  # copied for each document
        return max(1, NUMBERS_AT_ONCE // (n_documents * (length + hidden_dim + query_dim)))


class SharedAttention(nn.Module):
    """One attention for all labels, and a row for each label: what remains without its idea."""

    def __init__(self, state_dim: int, n_labels: int, *, hidden_dim: int) -> None:
        super().__init__()
        self.query = nn.Linear(state_dim, 1, bias=False)
        self.hidden = nn.Linear(state_dim, hidden_dim)
        self.classifier = nn.Linear(hidden_dim, n_labels)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Map states (n_documents, length, state_dim) to logits (n_documents, n_labels)."""
        energies = self.query(states).masked_fill(~word_mask(states, lengths), -torch.inf)
        pooled = energies.softmax(dim=1).mT @ self.hidden(states)  # (n_documents, 1, hidden_dim)
        logits: Tensor = self.classifier(pooled.squeeze(1).relu())  # (n_documents, n_labels)
        return logits


def word_mask(states: Tensor, lengths: Tensor) -> Tensor:
    """Return where there are words and not padding: (n_documents, length, 1)."""
    positions = torch.arange(states.shape[1], device=states.device)
    return (positions < lengths[:, None])[:, :, None]
