"""Folds: every document in one, every label in as many as it has documents for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from piran.data.folds import even_folds
from piran.errors import SettingError


@st.composite
def label_matrices(draw: st.DrawFn) -> csr_array:
    """Draw which of up to 6 labels each of up to 40 documents has."""
    n_labels = draw(st.integers(1, 6))
    row = st.lists(st.booleans(), min_size=n_labels, max_size=n_labels)
    return csr_array(np.array(draw(st.lists(row, min_size=1, max_size=40)), dtype=np.float32))


@given(label_matrices(), st.integers(2, 5), st.integers(0, 99))
def test_every_document_gets_one_fold_and_the_rarest_label_an_even_share(
    targets: csr_array, n_folds: int, seed: int
) -> None:
    fold = even_folds(targets, n_folds, seed)
    assert fold.shape == (targets.shape[0],)
    assert set(fold.tolist()) <= set(range(n_folds))
    dense = targets.toarray() > 0
    counts = dense.sum(axis=0)
    rarest = int(np.argmin(counts))
    shares = np.bincount(fold[dense[:, rarest]], minlength=n_folds)
    assert shares.max() - shares.min() <= 1


def test_labels_of_two_documents_are_parted_and_folds_equally_large() -> None:
    random = np.random.default_rng(0)
    dense = np.zeros((300, 101), dtype=np.float32)
    dense[:, 100] = 1
    for label in range(100):
        dense[random.choice(300, 2, replace=False), label] = 1
    fold = even_folds(csr_array(dense), 3, seed=0)
    parted = [len(set(fold[dense[:, label] > 0].tolist())) == 2 for label in range(100)]
    # By chance 67; documents with several rare labels make some pairs impossible to part
    assert np.sum(parted) >= 95
    assert np.ptp(np.bincount(fold)) <= 2


def test_documents_without_a_label_fill_the_folds_evenly() -> None:
    fold = even_folds(csr_array(np.zeros((7, 3), dtype=np.float32)), 3, seed=0)
    assert sorted(np.bincount(fold).tolist()) == [2, 2, 3]


def test_the_seed_decides() -> None:
    targets = csr_array(np.ones((50, 1), dtype=np.float32))
    first = even_folds(targets, 3, seed=0)
    np.testing.assert_array_equal(even_folds(targets, 3, seed=0), first)
    assert not np.array_equal(even_folds(targets, 3, seed=1), first)


def test_one_fold_is_no_division() -> None:
    with pytest.raises(SettingError, match="at least 2 folds, got 1"):
        even_folds(csr_array(np.ones((4, 1), dtype=np.float32)), 1, seed=0)
