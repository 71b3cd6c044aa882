"""Metrics over a group of labels, against numbers worked out by hand."""

import numpy as np
import pytest

from piran.metrics import GroupEvaluation
from piran.metrics.ranking import r_precision_at_k, rank

TRUE = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]])
SCORES = np.array([[0.9, 0.2, 0.3, 0.6], [0.8, 0.1, 0.4, 0.7], [0.1, 0.6, 0.2, 0.3]])
MEMBERS = np.array([False, True, True, True])


def test_r_precision_divides_by_the_labels_there_are() -> None:
    ranked = rank(TRUE > 0, SCORES, 3)
    # ranks: a d c | a d c | b d c; true labels 2, 1, 1
    np.testing.assert_allclose(r_precision_at_k(ranked, 1), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(r_precision_at_k(ranked, 3), [0.5, 1.0, 0.0])


def test_a_document_without_labels_has_r_precision_0() -> None:
    ranked = rank(np.zeros((1, 3), dtype=bool), np.ones((1, 3)), 2)
    assert r_precision_at_k(ranked, 2).tolist() == [0.0]


@pytest.mark.parametrize("n_batches", [1, 3])
def test_a_group_is_cut_out_of_scores_and_labels(n_batches: int) -> None:
    evaluation = GroupEvaluation(MEMBERS, thresholds=np.full(4, 0.35), ks=(1, 2))
    for rows in np.array_split(np.arange(3), n_batches):
        evaluation.update(TRUE[rows], SCORES[rows])
    metrics = evaluation.metrics()
    # b c d of the first two documents, in their order d c b | d c b; the third has none of them
    assert (metrics["n_labels"], metrics["n_documents"]) == (3, 2)
    assert metrics["RP@1"] == 0.0
    assert metrics["P@2"] == pytest.approx(100 * (0 + 1 / 2) / 2)
    assert metrics["RP@2"] == pytest.approx(100 * (0 + 1) / 2)
    assert metrics["nDCG@2"] == pytest.approx(100 * (0 + 1 / np.log2(3)) / 2)
    # at 0.5 predicted: d, d, b, all wrong; at 0.35 also c of the second document, right
    assert metrics["micro_f1_at_0.5"] == 0.0
    assert metrics["micro_f1"] == pytest.approx(100 * 2 * 1 / (4 + 2))
    assert metrics["macro_f1"] == pytest.approx(100 / 3)


def test_a_group_without_labels_has_zeros() -> None:
    evaluation = GroupEvaluation(np.zeros(4, dtype=bool))
    evaluation.update(TRUE, SCORES)
    metrics = evaluation.metrics()
    assert metrics["n_labels"] == metrics["n_documents"] == metrics["micro_f1"] == 0
