"""Metrics of multi-label classification, each implemented once."""

from piran.metrics.evaluation import Evaluation, evaluate_scores
from piran.metrics.label_groups import GroupEvaluation
from piran.metrics.significance import Comparison, compare_runs
from piran.metrics.thresholds import (
    Thresholds,
    is_predicted,
    tune_both,
    tune_expected,
    tune_global,
    tune_groups,
    tune_per_label,
)

__all__ = [
    "Comparison",
    "Evaluation",
    "GroupEvaluation",
    "Thresholds",
    "compare_runs",
    "evaluate_scores",
    "is_predicted",
    "tune_both",
    "tune_expected",
    "tune_global",
    "tune_groups",
    "tune_per_label",
]
