"""One-vs-rest fits: scikit-learn's margins, small weights dropped, labels of no or all documents."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from piran.errors import DataError
from piran.training.one_vs_rest import (
    DOCUMENTS_AT_ONCE,
    SparseRows,
    fit_one_vs_rest,
    support_vector_machine,
)
from piran.types import LabelMatrix

N_DOCUMENTS, N_FEATURES, N_LABELS = 400, 150, 7


@pytest.fixture(scope="module")
def features() -> csr_array:
    """Return rows of length one, as TF-IDF vectors are."""
    random = np.random.default_rng(0)
    drawn = random.random((N_DOCUMENTS, N_FEATURES)) * (random.random((1, N_FEATURES)) + 0.1)
    drawn[random.random(drawn.shape) > 0.08] = 0
    length = np.linalg.norm(drawn, axis=1, keepdims=True)
    return csr_array((drawn / np.maximum(length, 1e-9)).astype(np.float32))


@pytest.fixture(scope="module")
def targets(features: csr_array) -> LabelMatrix:
    """Return labels of 2 to 130 documents that follow from the features, with some noise."""
    random = np.random.default_rng(1)
    scores = features @ random.normal(size=(N_FEATURES, N_LABELS))
    scores += 0.1 * random.normal(size=scores.shape)
    counts = [130, 60, 30, 15, 8, 4, 2]
    indicator = np.zeros(scores.shape, dtype=np.float32)
    for label, count in enumerate(counts):
        indicator[np.argsort(-scores[:, label])[:count], label] = 1
    return csr_array(indicator)


def svm(C: float = 1.0) -> LinearSVC:
    return support_vector_machine(C=C, seed=0)


@pytest.mark.parametrize("C", [0.1, 1.0, 5.0])
def test_margins_are_those_of_scikit_learn(
    features: csr_array, targets: LabelMatrix, C: float
) -> None:
    theirs = OneVsRestClassifier(LinearSVC(C=C, tol=1e-6, max_iter=10_000, random_state=3))
    theirs.fit(features, targets.toarray().astype(int))
    margins = fit_one_vs_rest(features, targets, svm(C)).margins(features)
    np.testing.assert_allclose(margins, theirs.decision_function(features), atol=1e-3)


def test_small_weights_are_dropped_and_margins_hardly_change(
    features: csr_array, targets: LabelMatrix
) -> None:
    full = fit_one_vs_rest(features, targets, svm())
    kept = fit_one_vs_rest(features, targets, svm(), weight_tolerance=0.05)
    assert 0 < kept.weights.nnz < full.weights.nnz
    assert np.abs(kept.weights.data).min() > 0.05
    # A row of length one with m n-grams cannot change by more than the root of m times the tolerance
    n_grams = np.diff(features.indptr)[:, None]
    change = np.abs(kept.margins(features) - full.margins(features))
    assert (change <= 0.05 * np.sqrt(n_grams) + 1e-6).all()


def test_labels_of_no_and_of_all_documents_have_a_constant_margin(features: csr_array) -> None:
    indicator = np.zeros((N_DOCUMENTS, 3), dtype=np.float32)
    indicator[:, 1], indicator[:5, 2] = 1, 1
    margins = fit_one_vs_rest(features, csr_array(indicator), svm()).margins(features)
    assert np.isneginf(margins[:, 0]).all()
    assert (margins[:, 1] == 1).all()
    assert np.isfinite(margins[:, 2]).all()


def test_the_same_seed_gives_the_same_rows(features: csr_array, targets: LabelMatrix) -> None:
    one, two = (fit_one_vs_rest(features, targets, svm()) for _ in range(2))
    np.testing.assert_array_equal(one.margins(features), two.margins(features))


def test_a_margin_does_not_depend_on_the_documents_around_it(
    features: csr_array, targets: LabelMatrix
) -> None:
    rows = fit_one_vs_rest(features, targets, svm())
    many = csr_array(features[np.arange(DOCUMENTS_AT_ONCE + 50) % N_DOCUMENTS])
    alone = [rows.margins(features[[document]])[0] for document in range(20)]
    np.testing.assert_array_equal(rows.margins(many)[:20], alone)
    last = (DOCUMENTS_AT_ONCE + 49) % N_DOCUMENTS
    np.testing.assert_array_equal(rows.margins(many)[-1], rows.margins(features[[last]])[0])


def test_rows_are_rebuilt_from_their_arrays(features: csr_array, targets: LabelMatrix) -> None:
    rows = fit_one_vs_rest(features, targets, svm(), weight_tolerance=0.01)
    again = SparseRows.from_arrays(rows.arrays())
    np.testing.assert_array_equal(again.margins(features), rows.margins(features))


def test_the_features_are_left_as_they_were(features: csr_array, targets: LabelMatrix) -> None:
    before = features.copy()
    fit_one_vs_rest(features, targets, svm())
    assert features.dtype == np.float32
    np.testing.assert_array_equal(features.toarray(), before.toarray())


def test_weights_and_bias_must_match() -> None:
    with pytest.raises(DataError, match=r"need a bias \(3,\), got \(2,\)"):
        SparseRows(csr_array(np.ones((4, 3), dtype=np.float32)), np.zeros(2))
