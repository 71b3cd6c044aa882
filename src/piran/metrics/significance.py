"""Whether two systems differ by more than their seeds do."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_ind_from_stats

from piran.errors import DataError


@dataclass(frozen=True)
class Comparison:
    """Two systems over their runs, first minus second."""

    difference: float
    """Difference of the means."""
    pooled_p: float | None
    """Two-sided t-test with equal variances, as in the paper's Table 5; None without a spread."""
    welch_p: float | None
    """Two-sided t-test without equal variances; None without a spread."""


def compare_runs(first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Compare one metric of two systems, one value per seed.

    Where neither system varies at all (it has no randomness) a test has nothing to go by: both
    p-values are None.
    """
    if min(len(first), len(second)) < 2:
        raise DataError(
            f"A comparison needs 2 or more runs of each system, got {len(first)} and {len(second)}."
        )
    difference = float(np.mean(first) - np.mean(second))
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return Comparison(difference, None, None)
    pooled, welch = (_p_value(first, second, equal_variance) for equal_variance in (True, False))
    return Comparison(difference, pooled, welch)


def _p_value(first: Sequence[float], second: Sequence[float], equal_variance: bool) -> float:
    result = ttest_ind_from_stats(
        float(np.mean(first)),
        float(np.std(first, ddof=1)),
        len(first),
        float(np.mean(second)),
        float(np.std(second, ddof=1)),
        len(second),
        equal_var=equal_variance,
    )
    return float(result.pvalue)
