"""Samplers of documents: labels alike, only documents that have them."""

import numpy as np
import torch
from scipy.sparse import csr_array

from piran.training.sampling import label_sampler


def test_every_label_is_drawn_alike_and_every_document_of_a_label_too() -> None:
    targets = np.zeros((1000, 3), dtype=np.float32)
    targets[:900, 0] = 1  # documents 900 to 997 have no label, and no document has label 2
    targets[998:, 1] = 1
    sample = label_sampler(csr_array(targets))
    generator = torch.Generator().manual_seed(0)
    drawn = np.concatenate([sample(generator) for _ in range(20)])
    assert len(drawn) == 20 * 1000
    counts = np.bincount(drawn, minlength=1000)
    assert not counts[900:998].any()
    np.testing.assert_allclose([counts[:900].sum(), counts[998:].sum()], 10_000, rtol=0.05)
    np.testing.assert_allclose(counts[998:], 5_000, rtol=0.06)


def test_the_state_of_the_generator_decides() -> None:
    sample = label_sampler(csr_array(np.eye(5, dtype=np.float32)))
    first, second = (sample(torch.Generator().manual_seed(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
