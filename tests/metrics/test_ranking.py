"""Ranking metrics against numbers worked out by hand, scikit-learn and napkinXC."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from napkinxc import metrics as napkinxc
from scipy.sparse import csr_array
from scored_documents import N_TRAIN, scored_documents
from sklearn.metrics import ndcg_score

from piran.metrics import ranking
from piran.types import FloatArray

KS = (1, 3, 5)


def test_the_best_labels_come_first() -> None:
    assert ranking.top_k(np.array([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]]), 2).tolist() == [
        [1, 2],
        [0, 1],
    ]


def test_equal_scores_keep_column_order() -> None:
    scores = np.array([[0.0, 0.4, 0.0, 0.4, 0.4, 0.0]])
    assert ranking.top_k(scores, 2).tolist() == [[1, 3]]
    assert ranking.top_k(scores, 5).tolist() == [[1, 3, 4, 0, 2]]


def test_more_places_than_labels_give_all_labels() -> None:
    assert ranking.top_k(np.array([[0.1, 0.2]]), 5).tolist() == [[1, 0]]
    assert ranking.top_k(np.zeros((3, 0)), 5).shape == (3, 0)


@given(
    arrays(np.float32, (4, 7), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.integers(1, 9)
)
def test_top_k_is_the_start_of_a_stable_sort(scores: FloatArray, k: int) -> None:
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert np.array_equal(ranking.top_k(scores, k), expected)


def test_precision_divides_by_k_even_where_there_are_fewer_labels() -> None:
    ranked = ranking.rank(np.array([[True, True]]), np.array([[0.9, 0.8]]), 5)
    assert ranking.precision_at_k(ranked, 5).tolist() == [2 / 5]


def test_ndcg_by_hand() -> None:
    is_true = np.array([[True, False, True, False], [False, True, False, False]])
    scores = np.array([[0.9, 0.8, 0.7, 0.1], [0.9, 0.1, 0.2, 0.3]])
    ndcg = ranking.ndcg_at_k(ranking.rank(is_true, scores, 3), 3)
    gained, ideal = 1 + 1 / np.log2(4), 1 + 1 / np.log2(3)
    assert ndcg.tolist() == pytest.approx([gained / ideal, 0.0])


def test_a_document_without_labels_counts_as_zero() -> None:
    ranked = ranking.rank(np.array([[False, False]]), np.array([[0.9, 0.8]]), 3)
    assert ranking.precision_at_k(ranked, 1).tolist() == [0.0]
    assert ranking.ndcg_at_k(ranked, 3).tolist() == [0.0]


@pytest.mark.parametrize("k", KS)
def test_precision_and_ndcg_equal_napkinxc(k: int) -> None:
    documents = scored_documents()
    ranked = ranking.rank(documents.is_true, documents.scores, 5)
    targets = documents.is_true.astype(int)
    precision = napkinxc.precision_at_k(targets, documents.scores, k=5)[k - 1]
    ndcg = napkinxc.ndcg_at_k(targets, documents.scores, k=5)[k - 1]
    assert ranking.precision_at_k(ranked, k).mean() == pytest.approx(precision, abs=1e-12)
    assert ranking.ndcg_at_k(ranked, k).mean() == pytest.approx(ndcg, abs=1e-12)


@pytest.mark.parametrize("k", KS)
def test_ndcg_equals_scikit_learn(k: int) -> None:
    documents = scored_documents()
    ranked = ranking.rank(documents.is_true, documents.scores, 5)
    expected = ndcg_score(documents.is_true, documents.scores, k=k)
    assert ranking.ndcg_at_k(ranked, k).mean() == pytest.approx(expected, abs=1e-12)


def test_inverse_propensity_equals_napkinxc() -> None:
    counts = scored_documents().labels.counts
    training = (np.arange(N_TRAIN)[:, None] < counts).astype(int)
    expected = napkinxc.Jain_et_al_inverse_propensity(training)
    assert ranking.inverse_propensity(counts, N_TRAIN) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", KS)
def test_psp_equals_napkinxc(k: int) -> None:
    documents = scored_documents()
    inverse = ranking.inverse_propensity(documents.labels.counts, N_TRAIN)
    targets = documents.is_true.astype(int)
    expected = napkinxc.psprecision_at_k(targets, documents.scores, inverse, k=5)[k - 1]
    ranked = ranking.rank(documents.is_true, documents.scores, 5)
    gained = ranking.propensity_gain(ranked, inverse, k)
    best = ranking.best_propensity_gain(documents.targets, inverse, k)
    assert gained / best == pytest.approx(expected, abs=1e-12)


def test_a_rarer_label_weighs_more() -> None:
    inverse = ranking.inverse_propensity(np.array([100, 10, 1, 0]), 1000)
    assert (np.diff(inverse) > 0).all()


def test_propensities_of_a_tiny_training_set_do_not_fall_below_one() -> None:
    for n_documents in (0, 1, 2):
        assert ranking.inverse_propensity(np.array([1, 0]), n_documents).tolist() == [1.0, 1.0]


def test_the_best_gain_takes_the_rarest_labels_of_each_document() -> None:
    targets = csr_array(np.array([[1, 1, 1], [0, 0, 0], [1, 0, 0]]))
    inverse = np.array([1.0, 3.0, 2.0])
    assert ranking.best_propensity_gain(targets, inverse, 2) == pytest.approx((3 + 2 + 1) / 2)
