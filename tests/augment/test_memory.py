"""Stage 2 never forms the n_tail · n_head · n_pairs instances that the paper sums over."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from piran import PiranHead
from piran.augment import tail
from piran.augment.tail import GenerationSource
from piran.rows import LinearRows
from piran.training.linear_fit import LABELS_AT_ONCE
from piran.types import FloatArray, IntArray

N_DOCUMENTS, FEATURE_DIM, N_PAIRS, N_GENERATED = 1500, 30, 100, 20


def run_stage2(n_tail: int, n_head: int) -> None:
    """Fit a head whose stage 1 is given, so that only stage 2 is left to do."""
    random = np.random.default_rng(0)
    n_labels = n_head + n_tail
    targets = np.zeros((N_DOCUMENTS, n_labels), dtype=np.float32)
    for label in range(n_labels):
        targets[random.choice(N_DOCUMENTS, 20 if label < n_head else 2, replace=False), label] = 1
    instances = random.normal(size=(N_DOCUMENTS, FEATURE_DIM)).astype(np.float32)
    head = PiranHead(n_pairs=N_PAIRS, n_generated=N_GENERATED, l2=50.0)
    zeros = LinearRows(np.zeros((n_labels, FEATURE_DIM), dtype=np.float32), np.zeros(n_labels))
    sparse = csr_array(targets)
    del targets
    tracemalloc.reset_peak()
    head.fit(instances, sparse, stage1_rows=zeros, is_tail=np.arange(n_labels) >= n_head)
    assert head.transfer_ is not None


def peak_bytes(n_tail: int, n_head: int) -> int:
    """Most memory that numpy held at one time during stage 2."""
    tracemalloc.start()
    try:
        run_stage2(n_tail, n_head)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_linear_in_the_documents_the_labels_and_the_relations() -> None:
    n_tail, n_head = 300, 60
    at_once = LABELS_AT_ONCE * (N_GENERATED * FEATURE_DIM + N_DOCUMENTS)
    rows = N_DOCUMENTS + n_tail + n_head * N_PAIRS
    numbers = FEATURE_DIM**2 + rows * FEATURE_DIM + at_once
    materialised = n_tail * n_head * N_PAIRS * FEATURE_DIM * 4
    peak = peak_bytes(n_tail, n_head)
    assert peak < 8 * numbers  # two copies in float32, or one in float64
    assert peak < materialised / 20


def test_memory_does_not_grow_with_the_product_of_head_and_tail_labels() -> None:
    assert peak_bytes(400, 80) < 2.5 * peak_bytes(200, 40)  # the product is 4 times as large


def test_no_more_instances_are_generated_at_once_than_the_budget_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    generate = GenerationSource.generate

    def counted(self: GenerationSource, positions: IntArray) -> FloatArray:
        generated = generate(self, positions)
        sizes.append(generated.size)
        return generated

    monkeypatch.setattr(GenerationSource, "generate", counted)
    monkeypatch.setattr(tail, "NUMBERS_AT_ONCE", 30_000)
    run_stage2(200, 10)
    assert max(sizes) <= 30_000
    assert sum(sizes) == 200 * N_GENERATED * FEATURE_DIM
