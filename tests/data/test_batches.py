"""Batches: every document once, of similar length, padded at the end, repeatable."""

import numpy as np
import pytest
import torch

from piran.data.batches import Batch, pad, shuffled_batches, sorted_batches
from piran.types import IntArray


@pytest.fixture(scope="module")
def token_ids() -> list[IntArray]:
    generator = np.random.default_rng(0)
    return [generator.integers(2, 50, size=length) for length in generator.integers(1, 80, 333)]


def epoch(token_ids: list[IntArray], generator: torch.Generator) -> list[Batch]:
    return list(shuffled_batches(token_ids, batch_size=8, generator=generator))


def documents(batches: list[Batch]) -> list[int]:
    return torch.cat([batch.documents for batch in batches]).tolist()


def test_an_epoch_has_every_document_once(token_ids: list[IntArray]) -> None:
    batches = epoch(token_ids, torch.Generator().manual_seed(1))
    assert sorted(documents(batches)) == list(range(333))
    assert max(len(batch.token_ids) for batch in batches) == 8


def test_rows_are_the_documents_padded_at_the_end(token_ids: list[IntArray]) -> None:
    for batch in epoch(token_ids, torch.Generator()):
        for row, length, document in zip(*batch, strict=True):
            assert row[:length].tolist() == token_ids[document].tolist()
            assert not row[length:].any()


def test_the_same_seed_gives_the_same_epochs_and_each_epoch_is_new(
    token_ids: list[IntArray],
) -> None:
    first, second = (torch.Generator().manual_seed(5) for _ in range(2))
    epochs = [documents(epoch(token_ids, first)) for _ in range(2)]
    assert epochs == [documents(epoch(token_ids, second)) for _ in range(2)]
    assert epochs[0] != epochs[1]


def test_little_of_a_batch_is_padding(token_ids: list[IntArray]) -> None:
    batches = epoch(token_ids, torch.Generator())
    n_places = sum(batch.token_ids.numel() for batch in batches)
    assert sum(int(batch.lengths.sum()) for batch in batches) > 0.9 * n_places


def test_chosen_documents_may_repeat(token_ids: list[IntArray]) -> None:
    batches = shuffled_batches(
        token_ids, batch_size=2, generator=torch.Generator(), documents=np.array([7, 7, 9])
    )
    assert sorted(documents(list(batches))) == [7, 7, 9]


def test_sorted_batches_run_from_long_to_short(token_ids: list[IntArray]) -> None:
    batches = list(sorted_batches(token_ids, batch_size=50))
    lengths = torch.cat([batch.lengths for batch in batches])
    assert sorted(documents(batches)) == list(range(333))
    assert (lengths.diff() <= 0).all()


def test_a_batch_moves_to_a_device_with_its_numbers() -> None:
    batch = pad([np.array([3, 4]), np.array([5])], np.array([1, 0])).to(torch.device("cpu"))
    assert batch.token_ids.tolist() == [[5, 0], [3, 4]]
    assert batch.token_ids.dtype == batch.lengths.dtype == batch.documents.dtype == torch.int64
