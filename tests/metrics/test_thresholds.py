"""Tuned cut-offs against every cut-off there is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from scored_documents import scored_documents
from sklearn.metrics import f1_score

from piran.errors import DataError, SettingError
from piran.metrics import thresholds as module
from piran.metrics.f1 import f1
from piran.metrics.thresholds import (
    Thresholds,
    expected_f1,
    tune_both,
    tune_expected,
    tune_global,
    tune_groups,
    tune_per_label,
)
from piran.types import BoolArray, FloatArray

SHAPE = (6, 4)
coarse = st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9, 1.0])
fine = st.floats(0, 1, allow_subnormal=True)
some_scores = arrays(np.float64, SHAPE, elements=coarse) | arrays(np.float64, SHAPE, elements=fine)
some_targets = arrays(np.bool_, SHAPE)


def label_f1(is_true: BoolArray, predicted: BoolArray) -> FloatArray:
    return f1((is_true & predicted).sum(axis=0), predicted.sum(axis=0), is_true.sum(axis=0))


def reached(
    is_true: BoolArray, scores: FloatArray, cut_off: FloatArray | float, objective: str
) -> float:
    predicted = np.asarray(scores >= cut_off)
    if objective == "macro_f1":
        return float(label_f1(is_true, predicted).mean()) if predicted.size else 0.0
    return float(f1((is_true & predicted).sum(), predicted.sum(), is_true.sum()))


def best_by_trying(is_true: BoolArray, scores: FloatArray, objective: str) -> float:
    tried = [reached(is_true, scores, cut, objective) for cut in np.unique(scores) if cut > 0]
    return max(tried, default=0.0)


@pytest.mark.parametrize("objective", ["micro_f1", "macro_f1"])
@given(is_true=some_targets, scores=some_scores)
def test_the_global_cut_off_is_the_best_there_is(
    objective: module.Objective, is_true: BoolArray, scores: FloatArray
) -> None:
    tuned = tune_global(csr_array(is_true), scores, objective=objective)
    best = best_by_trying(is_true, scores, objective)
    assert reached(is_true, scores, tuned.values, objective) == pytest.approx(best, abs=1e-11)


@given(is_true=some_targets, scores=some_scores)
def test_each_label_gets_the_best_cut_off_there_is(is_true: BoolArray, scores: FloatArray) -> None:
    fallback = Thresholds.constant(SHAPE[1], 0.3)
    tuned = tune_per_label(csr_array(is_true), scores, fallback=fallback, min_positives=1)
    for column in range(SHAPE[1]):
        best = best_by_trying(is_true[:, [column]], scores[:, [column]], "micro_f1")
        value = reached(is_true[:, [column]], scores[:, [column]], tuned.values[column], "micro_f1")
        assert value == pytest.approx(best, abs=1e-12)


@given(is_true=some_targets, scores=some_scores, is_tail=arrays(np.bool_, SHAPE[1]))
def test_each_group_gets_the_best_cut_off_there_is(
    is_true: BoolArray, scores: FloatArray, is_tail: BoolArray
) -> None:
    tuned = tune_groups(csr_array(is_true), scores, is_tail)
    for members, objective in ((~is_tail, "micro_f1"), (is_tail, "macro_f1")):
        truth, part = is_true[:, members], scores[:, members]
        value = reached(truth, part, tuned.values[members], objective)
        assert value == pytest.approx(best_by_trying(truth, part, objective), abs=1e-11)


@given(is_true=some_targets, scores=some_scores)
def test_the_tail_cut_off_is_the_best_for_the_sum_of_both(
    is_true: BoolArray, scores: FloatArray
) -> None:
    is_tail = np.array([False, False, True, True])
    tuned = tune_both(csr_array(is_true), scores, is_tail).values
    groups = tune_groups(csr_array(is_true), scores, is_tail).values
    np.testing.assert_array_equal(tuned[:2], groups[:2])

    def both(cut_off: float) -> float:
        cut_offs = np.where(is_tail, cut_off, groups)
        tail = reached(is_true[:, 2:], scores[:, 2:], cut_off, "macro_f1")
        return tail + reached(is_true, scores, cut_offs, "micro_f1")

    true_scores = scores[:, 2:][is_true[:, 2:] & (scores[:, 2:] > 0)]
    if len(true_scores):
        best = max(both(cut_off) for cut_off in true_scores)
        assert both(tuned[2]) == pytest.approx(best, abs=1e-11)
    else:
        np.testing.assert_array_equal(tuned, groups)


def test_expected_f1_by_hand() -> None:
    # Cutting after 0.8: 2 · 0.8 / (1 + 1.4); after 0.5: 2 · 1.3 / (2 + 1.4); after 0.1: 2.8 / 4.4
    probabilities = np.array([[0.1, 1.0, 0.0], [0.8, 0.0, 0.0], [0.5, 1.0, 0.0]])
    np.testing.assert_allclose(expected_f1(probabilities), [2.6 / 3.4, 1.0, 0.0])
    assert expected_f1(np.zeros((0, 2))).tolist() == [0, 0]


@given(arrays(np.float64, SHAPE, elements=st.floats(0.01, 1)))
def test_the_best_cut_off_is_half_of_the_expected_f1(probabilities: FloatArray) -> None:
    best = expected_f1(probabilities)
    taken = probabilities >= best / 2
    hits = np.where(taken, probabilities, 0).sum(axis=0)
    reached = 2 * hits / (taken.sum(axis=0) + probabilities.sum(axis=0))
    np.testing.assert_allclose(reached, best, rtol=1e-9)


def test_expected_f1_does_not_hang_on_how_many_labels_are_taken_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    probabilities = np.random.default_rng(0).random((50, 7))
    together = expected_f1(probabilities)
    monkeypatch.setattr(module, "BLOCK_SIZE", 1)
    np.testing.assert_array_equal(expected_f1(probabilities), together)


def test_a_tail_labels_cut_off_is_drawn_half_way_to_its_own() -> None:
    documents = scored_documents()
    scores, is_tail = documents.scores, documents.labels.is_tail
    both, expected = (
        tune(documents.targets, scores, is_tail) for tune in (tune_both, tune_expected)
    )
    assert expected.policy == "expected"
    np.testing.assert_array_equal(expected.values[~is_tail], both.values[~is_tail])
    own = expected_f1(scores)[is_tail] / 2
    np.testing.assert_allclose(expected.values[is_tail] ** 2, both.values[is_tail] * own)


def test_a_label_whose_scores_are_all_zero_keeps_the_common_cut_off() -> None:
    is_true, scores = np.eye(3, dtype=np.float32), 0.9 * np.eye(3)
    scores[:, 2] = 0
    is_tail = np.array([False, True, True])
    both, expected = (
        tune(csr_array(is_true), scores, is_tail) for tune in (tune_both, tune_expected)
    )
    assert expected.values[2] == both.values[2]


@given(is_true=some_targets, scores=some_scores)
@settings(max_examples=50)
def test_small_blocks_change_nothing(is_true: BoolArray, scores: FloatArray) -> None:
    targets = csr_array(is_true)
    fallback = Thresholds.constant(SHAPE[1])
    whole = [
        tune_global(targets, scores).values,
        tune_global(targets, scores, objective="macro_f1").values,
        tune_per_label(targets, scores, fallback=fallback, min_positives=1).values,
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_SIZE", 7)
        parts = [
            tune_global(targets, scores).values,
            tune_global(targets, scores, objective="macro_f1").values,
            tune_per_label(targets, scores, fallback=fallback, min_positives=1).values,
        ]
    assert np.array_equal(whole, parts)


def test_the_cut_off_lies_halfway_to_the_next_score() -> None:
    scores = np.array([[0.9], [0.6], [0.2]], dtype=np.float32)
    targets = csr_array(np.array([[1], [1], [0]]))
    fallback = Thresholds.constant(1)
    assert tune_global(targets, scores).values[0] == pytest.approx(0.4)
    tuned = tune_per_label(targets, scores, fallback=fallback, min_positives=1)
    assert tuned.values[0] == pytest.approx(0.4)


def test_of_equally_good_cut_offs_the_highest_wins() -> None:
    scores = np.array([[0.9], [0.8], [0.7], [0.6], [0.5], [0.4]])
    targets = csr_array(np.array([[1], [0], [0], [0], [1], [0]]))  # F1 2/3 after 1, 4/7 after 5
    assert tune_global(targets, scores).values[0] == pytest.approx(0.85)


def test_a_label_with_few_positives_keeps_the_fallback() -> None:
    documents = scored_documents()
    fallback = Thresholds.constant(len(documents.labels), 0.123)
    tuned = tune_per_label(documents.targets, documents.scores, fallback=fallback, min_positives=5)
    few = documents.is_true.sum(axis=0) < 5
    assert few.any()
    assert (tuned.values[few] == 0.123).all()
    assert (tuned.values[~few] != 0.123).all()


def test_without_any_positive_the_cut_off_is_a_half() -> None:
    scores = np.full((3, 2), 0.7)
    none = csr_array(np.zeros((3, 2)))
    assert tune_global(none, scores).values.tolist() == [0.5, 0.5]
    assert tune_groups(none, scores, np.array([False, True])).values.tolist() == [0.5, 0.5]


def test_a_group_without_positives_takes_the_cut_off_for_all_labels() -> None:
    scores = np.array([[0.8, 0.1], [0.2, 0.1]])
    targets = csr_array(np.array([[1, 0], [0, 0]]))
    tuned = tune_groups(targets, scores, np.array([False, True]))
    assert tuned.values.tolist() == [0.5, 0.5]
    assert tuned.policy == "groups"


def test_a_score_of_zero_is_never_a_prediction() -> None:
    scores = np.array([[0.0, 0.0], [0.0, 0.4]])
    targets = csr_array(np.array([[1, 1], [1, 1]]))
    fallback = Thresholds.constant(2)
    tuned = tune_per_label(targets, scores, fallback=fallback, min_positives=1)
    assert tuned.predict(scores).tolist() == [[False, False], [False, True]]
    assert tuned.values[0] == 0.5


def test_micro_tuning_equals_scikit_learn_at_its_best() -> None:
    documents = scored_documents()
    tuned = tune_global(documents.targets, documents.scores)
    best = max(
        f1_score(documents.is_true, documents.scores >= cut, average="micro", zero_division=0)
        for cut in np.linspace(0.01, 0.99, 99)
    )
    predicted = tuned.predict(documents.scores)
    assert f1_score(documents.is_true, predicted, average="micro") >= best


@pytest.mark.parametrize("cut_off", [0.0, -0.1, float("nan"), float("inf")])
def test_a_cut_off_must_be_finite_and_above_zero(cut_off: float) -> None:
    with pytest.raises(SettingError, match="finite and above 0"):
        Thresholds.constant(2, cut_off)


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(SettingError, match="micro_f1, macro_f1, got 'accuracy'"):
        tune_global(csr_array((1, 1)), np.ones((1, 1)), objective="accuracy")  # type: ignore[arg-type]


def test_shapes_must_agree() -> None:
    with pytest.raises(DataError, match=r"got \(3, 2\) and \(2, 2\)"):
        tune_global(csr_array((3, 2)), np.ones((2, 2)))


def test_the_summary_says_where_the_values_lie() -> None:
    summary = Thresholds(np.array([0.1, 0.2, 0.6]), "per-label").summary()
    assert summary == pytest.approx(
        {"policy": "per-label", "lowest": 0.1, "median": 0.2, "highest": 0.6}
    )
    assert Thresholds.constant(0).summary() == {"policy": "constant"}
