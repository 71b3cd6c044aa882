"""PiranHead: a scikit-learn estimator that keeps scikit-learn's contract and rescues tail labels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from long_tailed import N_HEAD, N_LABELS, N_TAIL, LongTailed, long_tailed
from piran import PiranHead
from piran.errors import DataError, NoMinimumError, PiranError, SettingError, UnknownNameError
from piran.head import EXPECTED_FAILED_CHECKS, NoTailWarning
from piran.rows import LinearRows
from piran.types import FloatArray


@pytest.fixture(scope="module")
def data() -> LongTailed:
    return long_tailed(n_head_documents=60)


@pytest.fixture(scope="module")
def head(data: LongTailed) -> PiranHead:
    return PiranHead(tail=N_TAIL).fit(data.X, data.Y)


def expected_failures(estimator: PiranHead) -> dict[str, str]:
    return EXPECTED_FAILED_CHECKS


@pytest.mark.filterwarnings("ignore::piran.head.NoTailWarning")  # many checks have two classes
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # scikit-learn's own
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [PiranHead()], expected_failed_checks=expected_failures
)
def test_scikit_learns_own_checks_pass(estimator: PiranHead, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_it_works_in_a_pipeline(data: LongTailed) -> None:
    pipeline = make_pipeline(StandardScaler(), PiranHead(tail=N_TAIL)).fit(data.X, data.Y)
    assert pipeline.predict(data.X_test).shape == data.Y_test.shape


def test_grid_search_picks_among_its_settings(data: LongTailed) -> None:
    macro_f1 = make_scorer(f1_score, average="macro", zero_division=0)
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(
        PiranHead(tail=0.6), {"variant": ["no-aug", "complete"]}, scoring=macro_f1, cv=folds
    )
    search.fit(data.X, data.Y)
    assert search.best_params_ == {"variant": "complete"}


def test_a_clone_has_the_settings_and_nothing_learned(head: PiranHead) -> None:
    copy = clone(head)
    assert copy.get_params() == head.get_params()
    assert not hasattr(copy, "rows_")


def tail_f1(data: LongTailed, variant: str) -> float:
    predicted = PiranHead(tail=N_TAIL, variant=variant).fit(data.X, data.Y).predict(data.X_test)
    scores = f1_score(data.Y_test, predicted, average=None, zero_division=0)
    return float(scores[N_HEAD:].mean())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_rescues_tail_labels_that_vary_as_head_labels_do(seed: int) -> None:
    data = long_tailed(seed)
    complete = tail_f1(data, "complete")
    assert complete > tail_f1(data, "no-aug") + 0.3
    assert complete > tail_f1(data, "duplicate") + 0.05  # so it is more than re-balancing


def test_head_rows_are_untouched_and_tail_rows_are_not(head: PiranHead) -> None:
    before, after = head.stage1_rows_, head.rows_
    np.testing.assert_array_equal(after.rows[head.is_head_], before.rows[head.is_head_])
    np.testing.assert_array_equal(after.bias[head.is_head_], before.bias[head.is_head_])
    assert (after.rows[head.is_tail_] != before.rows[head.is_tail_]).any(axis=1).all()


def test_the_least_frequent_labels_are_tail(head: PiranHead) -> None:
    assert head.is_tail_.tolist() == [False] * N_HEAD + [True] * N_TAIL


def test_two_thirds_of_the_labels_are_tail_unless_told(data: LongTailed) -> None:
    assert PiranHead().fit(data.X, data.Y).is_tail_.sum() == N_LABELS * 2 // 3


def test_the_division_of_labels_can_be_given(data: LongTailed) -> None:
    is_tail = np.arange(N_LABELS) == 3
    assert PiranHead().fit(data.X, data.Y, is_tail=is_tail).is_tail_.tolist() == is_tail.tolist()


def test_rows_of_stage_1_can_be_given(data: LongTailed) -> None:
    rows = LinearRows(np.ones((N_LABELS, 30)), np.zeros(N_LABELS))
    fitted = PiranHead(tail=N_TAIL).fit(data.X, data.Y, stage1_rows=rows)
    np.testing.assert_array_equal(fitted.rows_.rows[:N_HEAD], rows.rows[:N_HEAD])
    assert not np.array_equal(fitted.rows_.rows[N_HEAD:], rows.rows[N_HEAD:])


def test_relations_can_be_those_of_other_documents(data: LongTailed, head: PiranHead) -> None:
    targets = csr_array(data.Y.astype(np.float32))
    own = PiranHead(tail=N_TAIL).fit(data.X, data.Y, relations_of=(data.X, targets))
    np.testing.assert_array_equal(own.rows_.rows, head.rows_.rows)
    wider = data.X.mean(axis=0) + 3 * (data.X - data.X.mean(axis=0))
    others = PiranHead(tail=N_TAIL).fit(data.X, data.Y, relations_of=(wider, targets))
    assert head.transfer_ is not None
    assert others.transfer_ is not None
    # W is a filter: what varies more among documents of a head label, it carries over less of
    assert np.linalg.norm(others.transfer_) < 0.8 * np.linalg.norm(head.transfer_)
    np.testing.assert_array_equal(others.stage1_rows_.rows, head.stage1_rows_.rows)


def test_a_balanced_stage_1_finds_more_of_the_rare_labels(data: LongTailed) -> None:
    plain, balanced = (
        PiranHead(tail=N_TAIL, variant="no-aug", balance=balance)
        .fit(data.X, data.Y)
        .predict(data.X)
        for balance in (0.0, 0.5)
    )
    assert balanced[:, N_HEAD:].sum() > plain[:, N_HEAD:].sum()


def test_generations_shared_by_all_labels_give_other_rows(
    data: LongTailed, head: PiranHead
) -> None:
    shared = PiranHead(tail=N_TAIL, generated_targets="together").fit(data.X, data.Y)
    np.testing.assert_array_equal(shared.rows_.rows[:N_HEAD], head.rows_.rows[:N_HEAD])
    assert not np.allclose(shared.rows_.rows[N_HEAD:], head.rows_.rows[N_HEAD:], atol=0.01)


def test_the_same_seed_gives_the_same_rows(data: LongTailed, head: PiranHead) -> None:
    again = PiranHead(tail=N_TAIL).fit(data.X, data.Y)
    np.testing.assert_array_equal(again.rows_.rows, head.rows_.rows)
    other = PiranHead(tail=N_TAIL, random_state=1).fit(data.X, data.Y)
    assert not np.array_equal(other.rows_.rows, head.rows_.rows)


def test_sparse_indicators_give_the_same_rows(data: LongTailed, head: PiranHead) -> None:
    sparse = PiranHead(tail=N_TAIL).fit(data.X, csr_array(data.Y))
    np.testing.assert_array_equal(sparse.rows_.rows, head.rows_.rows)


def test_adam_comes_close_to_the_exact_map(data: LongTailed, head: PiranHead) -> None:
    adam = PiranHead(tail=N_TAIL, solver="adam").fit(data.X, data.Y)
    assert adam.transfer_ is not None
    assert head.transfer_ is not None
    difference = np.linalg.norm(adam.transfer_ - head.transfer_) / np.linalg.norm(head.transfer_)
    assert difference < 0.1
    np.testing.assert_allclose(
        adam.predict_proba(data.X_test), head.predict_proba(data.X_test), atol=0.1
    )


def moved_and_not(data: LongTailed, *, is_centred: bool) -> tuple[FloatArray, FloatArray]:
    """Probabilities after learning from all instances as they are, and moved by a constant."""
    head = PiranHead(tail=N_TAIL, is_centred=is_centred)
    as_they_are = head.fit(data.X, data.Y).predict_proba(data.X_test)
    return as_they_are, head.fit(data.X + 0.3, data.Y).predict_proba(data.X_test + 0.3)


def test_moving_all_instances_changes_nothing_where_stage_2_is_centred(data: LongTailed) -> None:
    as_they_are, moved = moved_and_not(data, is_centred=True)
    np.testing.assert_allclose(moved, as_they_are, atol=0.01)


def test_moving_all_instances_matters_in_the_papers_literal_form(data: LongTailed) -> None:
    as_they_are, moved = moved_and_not(data, is_centred=False)
    assert np.abs(moved - as_they_are).max() > 0.05


def test_no_aug_is_stage_1_alone(data: LongTailed) -> None:
    fitted = PiranHead(tail=N_TAIL, variant="no-aug").fit(data.X, data.Y)
    assert fitted.rows_ is fitted.stage1_rows_
    assert fitted.transfer_ is None


@pytest.mark.parametrize(("tail", "missing"), [(0, "tail"), (N_LABELS, "head")])
def test_without_head_or_tail_labels_stage_1_stands_alone(
    data: LongTailed, tail: int, missing: str
) -> None:
    with pytest.warns(NoTailWarning, match=f"found no {missing} label among {N_LABELS}"):
        fitted = PiranHead(tail=tail).fit(data.X, data.Y)
    assert fitted.rows_ is fitted.stage1_rows_


def test_head_labels_without_a_pair_leave_retraining_on_real_documents() -> None:
    X, Y = np.eye(4), np.eye(4, dtype=int)
    fitted = PiranHead(tail=2).fit(X, Y)
    assert fitted.transfer_ is None
    real = PiranHead(tail=2, variant="retrain-on-real").fit(X, Y)
    np.testing.assert_array_equal(fitted.rows_.rows, real.rows_.rows)


def test_a_label_without_documents_is_neither_head_nor_tail_and_never_predicted(
    data: LongTailed,
) -> None:
    Y = np.column_stack([data.Y, np.zeros(len(data.Y), dtype=int)])
    fitted = PiranHead(tail=N_TAIL).fit(data.X, Y)
    assert not fitted.is_head_[-1]
    assert not fitted.is_tail_[-1]
    assert not fitted.predict_proba(data.X_test)[:, -1].any()


def test_a_label_is_predicted_from_a_probability_of_a_half(
    data: LongTailed, head: PiranHead
) -> None:
    probabilities = head.predict_proba(data.X_test)
    np.testing.assert_array_equal(head.predict(data.X_test), probabilities >= 0.5)


def test_float32_features_give_float32_rows(data: LongTailed) -> None:
    fitted = PiranHead(tail=N_TAIL).fit(data.X.astype(np.float32), data.Y)
    assert fitted.rows_.rows.dtype == np.float32


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused(data: LongTailed, value: float) -> None:
    X = data.X.copy()
    X[3, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        PiranHead().fit(X, data.Y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"variant": "complet"}, UnknownNameError, "Did you mean 'complete'"),
        ({"solver": "exacct"}, SettingError, "solver must be one of exact, adam, got 'exacct'"),
        ({"l2": 0.0}, SettingError, "l2 must be above 0"),
        ({"tail": 99}, SettingError, f"tail must be between 0 and {N_LABELS}"),
        ({"tail": 1.5}, SettingError, "tail as a fraction must be at least 0 and below 1"),
        ({"n_pairs": 0}, SettingError, "n_pairs must be at least 1"),
        ({"n_generated": 0}, SettingError, "n_generated must be at least 1"),
        ({"n_prototype_documents": 0}, SettingError, "n_prototype_documents must be at least 1"),
        ({"generated_weight": -1.0}, SettingError, "generated_weight must not be negative"),
        ({"balance": 2.0}, SettingError, "balance must lie in 0 to 1, got 2.0"),
        (
            {"generated_targets": "all"},
            SettingError,
            "generated_targets must be one of own, together",
        ),
        (
            {"generated_targets": "together", "generations": "expected"},
            SettingError,
            "set generated_targets to 'own'",
        ),
        ({"n_directions": -1}, SettingError, "n_directions must not be negative"),
        ({"diversity_weight": 50.0}, NoMinimumError, "Choose diversity_weight at most"),
    ],
)
def test_a_wrong_setting_is_explained(
    data: LongTailed, settings: dict[str, Any], error: type[PiranError], message: str
) -> None:
    with pytest.raises(error, match=message):
        PiranHead(**settings).fit(data.X, data.Y)


def test_an_indicator_of_other_numbers_is_refused(data: LongTailed) -> None:
    with pytest.raises(DataError, match="must be an indicator of 0 and 1; got values from 2 to 2"):
        PiranHead().fit(data.X, 2 * data.Y)


def test_another_number_of_rows_in_y_is_refused(data: LongTailed) -> None:
    with pytest.raises(DataError, match="give one row of labels for each"):
        PiranHead().fit(data.X, data.Y[:-1])
