"""Batches of documents of similar length, padded at the end."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from piran.data.tokens import PAD_ID
from piran.types import IntArray

_BATCHES_A_POOL = 50
"""Documents are sorted by length within pools of this many batches: little padding, much chance."""


class Batch(NamedTuple):
    """Some documents as one rectangle of word numbers."""

    token_ids: Tensor
    """Shape (n_documents, length), int64; padding stands at the end of each row."""
    lengths: Tensor
    """Words of each document, shape (n_documents,), int64, at least 1."""
    documents: Tensor
    """Which documents these are, shape (n_documents,), int64."""

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device; the documents' indices stay on the CPU."""
        return Batch(self.token_ids.to(device), self.lengths.to(device), self.documents)


def shuffled_batches(
    token_ids: Sequence[IntArray],
    *,
    batch_size: int,
    generator: torch.Generator,
    documents: IntArray | None = None,
) -> Iterator[Batch]:
    """Yield the documents of one epoch in random batches of similar length.

    The order depends only on the state of ``generator``, which moves on, so that the next epoch is
    shuffled anew. ``documents`` are the indices to take, all by default; they may repeat.
    """
    chosen = np.arange(len(token_ids)) if documents is None else np.asarray(documents)
    order = chosen[torch.randperm(len(chosen), generator=generator).numpy()]
    pool_size = batch_size * _BATCHES_A_POOL
    batches = [
        batch
        for start in range(0, len(order), pool_size)
        for batch in _cut(_by_length(token_ids, order[start : start + pool_size]), batch_size)
    ]
    for position in torch.randperm(len(batches), generator=generator).tolist():
        yield pad(token_ids, batches[position])


def sorted_batches(token_ids: Sequence[IntArray], *, batch_size: int) -> Iterator[Batch]:
    """Yield all documents in batches from the longest to the shortest.

    The longest first: if memory does not suffice, that shows at once.
    """
    order = _by_length(token_ids, np.arange(len(token_ids)))[::-1]
    for documents in _cut(order, batch_size):
        yield pad(token_ids, documents)


def pad(token_ids: Sequence[IntArray], documents: IntArray) -> Batch:
    """Return the batch of these documents, padded at the end to the longest of them."""
    lengths = np.array([len(token_ids[document]) for document in documents])
    padded = np.full((len(documents), lengths.max()), PAD_ID)
    for row, document in enumerate(documents):
        padded[row, : lengths[row]] = token_ids[document]
    indices = np.array(documents, dtype=np.int64)
    return Batch(torch.from_numpy(padded), torch.from_numpy(lengths), torch.from_numpy(indices))


def _by_length(token_ids: Sequence[IntArray], documents: IntArray) -> IntArray:
    lengths = [len(token_ids[document]) for document in documents]
    return np.asarray(documents[np.argsort(lengths, kind="stable")])


def _cut(documents: IntArray, batch_size: int) -> list[IntArray]:
    return [documents[at : at + batch_size] for at in range(0, len(documents), batch_size)]
