"""Means over groups of labels: all, head, tail, and the tail labels that occur in test.

Unseen labels count in "all" but are neither head nor tail. The mean over an empty group is 0, so
that a table never has a hole; the counts of labels beside it tell why.
"""

from piran.data.labels import LabelSpace
from piran.types import BoolArray, FloatArray, IntArray


def mean_over(values: FloatArray, members: BoolArray) -> float:
    """Return the mean of the members' values, 0 if there are none; both of shape (n_labels,)."""
    chosen = values[members]
    return float(chosen.mean()) if len(chosen) else 0.0


def group_f1(label_f1: FloatArray, labels: LabelSpace, n_true: IntArray) -> dict[str, float]:
    """Return macro, head and tail F1 from the F1 and the number of test documents of each label."""
    return {
        "macro_f1": float(label_f1.mean()) if len(labels) else 0.0,
        "head_f1": mean_over(label_f1, labels.is_head),
        "tail_f1": mean_over(label_f1, labels.is_tail),
        "tail_f1_present": mean_over(label_f1, labels.is_tail & (n_true > 0)),
    }
