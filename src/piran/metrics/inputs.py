"""Checks of what enters a metric: an indicator of true labels and a table of scores."""

import numpy as np
from scipy.sparse import csr_array

from piran.errors import DataError
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix

Indicator = LabelMatrix | BoolArray | IntArray | FloatArray
"""True labels, sparse or dense, shape (n_documents, n_labels)."""


def checked_targets(
    targets: Indicator, scores: FloatArray, n_labels: int | None = None
) -> LabelMatrix:
    """Return ``targets`` as a sparse indicator without stored zeros, refusing what does not fit.

    Both arguments have shape (n_documents, n_labels).
    """
    if scores.ndim != 2 or targets.shape != scores.shape:
        raise DataError(
            f"targets and scores must have one shape (n_documents, n_labels), "
            f"got {tuple(targets.shape)} and {scores.shape}."
        )
    if n_labels is not None and scores.shape[1] != n_labels:
        raise DataError(f"scores must have {n_labels} columns (n_labels), got {scores.shape[1]}.")
    if np.isnan(scores).any():
        rows = np.flatnonzero(np.isnan(scores).any(axis=1))
        raise DataError(
            f"scores must be numbers, got NaN for {len(rows)} documents, first in row {rows[0]}."
        )
    indicator = csr_array(targets)
    if not indicator.data.all():
        indicator = indicator.copy()
        indicator.eliminate_zeros()
    return indicator
