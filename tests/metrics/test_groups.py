"""Means over head, tail and all labels."""

import numpy as np
import pytest

from piran.data.labels import LabelSpace
from piran.metrics.groups import group_f1, mean_over

LABELS = LabelSpace(
    ("a", "b", "c", "d", "e"),
    np.array([9, 5, 2, 1, 0]),
    np.array([False, False, True, True, False]),
)


def test_unseen_labels_count_in_macro_but_are_neither_head_nor_tail() -> None:
    means = group_f1(np.array([1.0, 0.5, 0.4, 0.0, 0.1]), LABELS, np.array([3, 3, 1, 0, 1]))
    assert means == pytest.approx(
        {"macro_f1": 0.4, "head_f1": 0.75, "tail_f1": 0.2, "tail_f1_present": 0.4}
    )


def test_an_empty_group_has_mean_zero() -> None:
    assert mean_over(np.array([1.0]), np.array([False])) == 0.0


def test_an_empty_label_space_has_macro_f1_zero() -> None:
    empty = LabelSpace((), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_))
    assert group_f1(np.zeros(0), empty, np.zeros(0, dtype=np.int64))["macro_f1"] == 0.0
