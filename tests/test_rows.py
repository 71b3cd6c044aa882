"""The linear classifier of all labels: Equations (4) and (15)."""

import numpy as np
import pytest

from piran.errors import DataError
from piran.rows import LinearRows

ROWS = LinearRows(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([0.0, -1.0, -np.inf]))


def test_logits_by_hand() -> None:
    logits = ROWS.logits(np.array([[3.0, 0.5], [0.0, 0.0]]))
    np.testing.assert_array_equal(logits, [[3.0, 0.0, -np.inf], [0.0, -1.0, -np.inf]])


def test_probabilities_are_the_sigmoid_of_the_logits() -> None:
    instances = np.array([[3.0, 0.5]])
    expected = [[1 / (1 + np.exp(-3.0)), 0.5, 0.0]]
    np.testing.assert_allclose(ROWS.probabilities(instances), expected, rtol=1e-12)


def test_probabilities_do_not_overflow() -> None:
    huge = ROWS[:1].probabilities(np.array([[1e30, 0.0], [-1e30, 0.0]]))
    np.testing.assert_array_equal(huge, [[1.0], [0.0]])


def test_some_labels_can_be_taken() -> None:
    some = ROWS[np.array([2, 0])]
    assert len(some) == 2
    np.testing.assert_array_equal(some.rows, [[1.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(some.bias, [-np.inf, 0.0])


def test_rows_are_replaced_in_a_copy() -> None:
    new = LinearRows(np.array([[7.0, 7.0]]), np.array([5.0]))
    replaced = ROWS.replaced(np.array([1]), new)
    np.testing.assert_array_equal(replaced.rows, [[1.0, 0.0], [7.0, 7.0], [1.0, 1.0]])
    np.testing.assert_array_equal(replaced.bias, [0.0, 5.0, -np.inf])
    assert ROWS.rows[1, 1] == 2.0
    assert ROWS.bias[1] == -1.0


def test_moved_rows_give_moved_instances_the_logits_of_before() -> None:
    instances, by = np.array([[3.0, 0.5], [0.0, 0.0]]), np.array([2.0, -1.0])
    np.testing.assert_allclose(ROWS.moved(by).logits(instances + by), ROWS.logits(instances))


@pytest.mark.parametrize(("rows", "bias"), [((2, 3), (3,)), ((2, 3), (2, 1)), ((6,), (6,))])
def test_shapes_that_do_not_fit_are_refused(rows: tuple[int, ...], bias: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"needs rows .* and bias .* got"):
        LinearRows(np.zeros(rows), np.zeros(bias))
