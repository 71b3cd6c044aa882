"""The calibration error: right by hand, the same for any batches, near 0 for honest scores only."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scored_documents import scored_documents

from piran.data.labels import LabelSpace
from piran.metrics.calibration_error import CalibrationError
from piran.types import BoolArray, FloatArray

HEAD_TAIL_UNSEEN = LabelSpace(
    ("head", "tail", "unseen"), np.array([9, 1, 0]), np.array([False, True, False])
)
ONE_TAIL_LABEL = LabelSpace(("tail",), np.array([1]), np.array([True]))


def errors_of(
    is_true: BoolArray, scores: FloatArray, labels: LabelSpace = ONE_TAIL_LABEL, n_bins: int = 15
) -> dict[str, float]:
    error = CalibrationError(labels, n_bins=n_bins)
    error.update(is_true, scores)
    return error.errors()


def simulated(seed: int) -> tuple[BoolArray, FloatArray]:
    """Return 200,000 pairs that are true as often as their score says; most scores are tiny."""
    random = np.random.default_rng(seed)
    scores = random.random((200_000, 1)) ** 8
    return random.random(scores.shape) < scores, scores


def test_the_errors_worked_out_by_hand() -> None:
    is_true = np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 0, 0]]) > 0
    scores = np.array([[0.9, 0.02, 0.0], [0.7, 0.04, 0.0], [0.6, 0.08, 0.0], [0.2, 0.6, 0.0]])
    # Bins [0, 0.5) and [0.5, 1]. Head: 0.2 announced, none true; 2.2 announced, 2 true. Tail: 0.14
    # announced (0.08 of it from 0.05 on), 1 true; 0.6 announced, none true. Unseen: 0 announced, 1 true.
    assert errors_of(is_true, scores, HEAD_TAIL_UNSEEN, n_bins=2) == pytest.approx(
        {
            "ECE": (abs(0.34 - 2) + abs(2.8 - 2)) / 12,
            "ECE_head": (0.2 + 0.2) / 4,
            "ECE_tail": (0.86 + 0.6) / 4,
            "ECE_from_0.05": (abs(0.28 - 1) + abs(2.8 - 2)) / 6,
            "ECE_head_from_0.05": (0.2 + 0.2) / 4,
            "ECE_tail_from_0.05": (0.92 + 0.6) / 2,
        }
    )


def test_it_is_the_gap_of_mean_score_and_share_of_true_pairs_weighted_by_the_pairs() -> None:
    documents = scored_documents()
    members = documents.labels.is_tail
    is_true, scores = documents.is_true[:, members].ravel(), documents.scores[:, members].ravel()
    in_bin = np.digitize(scores, np.linspace(0, 1, 16)[1:-1])
    expected = sum(
        (in_bin == i).mean() * abs(scores[in_bin == i].mean() - is_true[in_bin == i].mean())
        for i in np.unique(in_bin)
    )
    errors = errors_of(documents.is_true, documents.scores, documents.labels)
    assert errors["ECE_tail"] == pytest.approx(expected)


def test_an_edge_belongs_to_the_bin_above_it_and_one_to_the_last() -> None:
    is_true, scores = np.array([[True], [False], [False]]), np.array([[1.0], [0.5], [0.25]])
    assert errors_of(is_true, scores, n_bins=2)["ECE"] == pytest.approx((0.5 + 0.25) / 3)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_score_on_the_floor_counts_as_above_it(kind: type[np.floating]) -> None:
    errors = errors_of(np.array([[False]]), np.array([[0.05]], dtype=kind))
    assert errors["ECE_from_0.05"] == pytest.approx(0.05)


@given(st.lists(st.integers(0, 60), max_size=8))
@settings(max_examples=30)
def test_any_batches_give_what_one_batch_gives(cuts: list[int]) -> None:
    documents = scored_documents()
    error = CalibrationError(documents.labels)
    for start, stop in pairwise([0, *sorted(cuts), 60]):
        error.update(documents.is_true[start:stop], documents.scores[start:stop])
    whole = errors_of(documents.is_true, documents.scores, documents.labels)
    assert error.errors() == pytest.approx(whole, abs=1e-12)


def test_scores_that_keep_their_word_have_an_error_near_zero() -> None:
    errors = errors_of(*simulated(seed=1))
    assert errors["ECE_tail"] < 0.003
    assert errors["ECE_tail_from_0.05"] < 0.01


def test_overconfident_scores_do_not() -> None:
    is_true, scores = simulated(seed=1)
    odds = (scores / (1 - scores)) ** 2
    overconfident = odds / (1 + odds)
    errors = errors_of(is_true, np.where(scores > 0.05, overconfident, scores))
    assert errors["ECE_tail"] > 0.02
    assert errors["ECE_tail_from_0.05"] > 0.08


def test_pairs_close_to_zero_hide_a_false_claim_from_the_plain_error_only() -> None:
    scores = np.array([[0.8]] * 5 + [[0.0]] * 9_995)
    errors = errors_of(np.zeros(scores.shape, dtype=np.bool_), scores)
    assert errors["ECE"] == pytest.approx(0.0004)
    assert errors["ECE_from_0.05"] == pytest.approx(0.8)


def test_labels_that_are_never_scored_show_in_the_plain_error_only() -> None:
    is_true = np.arange(100)[:, None] < 3
    assert errors_of(is_true, np.zeros((100, 1))) == pytest.approx({"ECE": 0.03, "ECE_tail": 0.03})


def test_no_pairs_have_no_error() -> None:
    assert CalibrationError(HEAD_TAIL_UNSEEN).errors() == {}


def test_one_score_that_is_no_probability_leaves_no_error() -> None:
    error = CalibrationError(ONE_TAIL_LABEL)
    for score in (0.5, 1.5, 0.5):
        error.update(np.array([[True]]), np.array([[score]]))
    assert error.errors() == {}


@given(
    arrays(np.bool_, (7, 3)),
    arrays(np.float32, (7, 3), elements=st.floats(0, 1, width=32)),
    st.integers(1, 20),
)
def test_errors_lie_between_zero_and_one(
    is_true: BoolArray, scores: FloatArray, n_bins: int
) -> None:
    errors = errors_of(is_true, scores, HEAD_TAIL_UNSEEN, n_bins)
    assert all(0 <= error <= 1 for error in errors.values())
