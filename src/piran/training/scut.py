"""SCut with the fbr rule: a cut-off for each label's margin, found by cross-validation within it.

Yang (2001, SCut) takes for each label the cut-off with the best F1 on held-out documents; Fan and Lin
(2007) find it in every fold and take the mean, and guard rare labels, on whose few documents it would
be fitted: where the best F1 of a fold stays below a floor, *fbr*, the fold's cut-off is its highest
margin, so that next to nothing is predicted.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from piran.metrics.f1 import f1
from piran.progress import track
from piran.training.one_vs_rest import as_liblinear_reads, columns_of, fit_row
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix

N_FOLDS = 3


class Cut(NamedTuple):
    """The best cut-off of one label on some documents."""

    cut_off: float
    f1: float
    highest: float
    """The highest margin of all."""


@dataclass(frozen=True, eq=False)
class FoldCuts:
    """What the folds found, not a number where a fold had nothing to learn from.

    Each array has shape (n_folds, n_labels).
    """

    cut_offs: FloatArray
    f1: FloatArray
    highest: FloatArray

    def mean(self, fbr: float) -> FloatArray:
        """Return the mean cut-off of each label's folds, +∞ for a label without any, (n_labels,)."""
        cut_offs = np.where(self.f1 < fbr, self.highest, self.cut_offs)
        has_cut = np.isfinite(cut_offs)
        total = np.where(has_cut, cut_offs, 0.0).sum(axis=0)
        n_cuts = has_cut.sum(axis=0)
        return np.where(n_cuts > 0, total / np.maximum(n_cuts, 1), np.inf)


def cross_validated_cuts(
    features: csr_array,
    targets: LabelMatrix,
    classifier: Any,  # noqa: ANN401
    *,
    seed: int,
) -> FoldCuts:
    """Find each label's cut-offs in N_FOLDS folds, each scored by rows learned from the others.

    ``features`` has shape (n_documents, n_features), ``targets`` (n_documents, n_labels).
    """
    found = np.full((3, N_FOLDS, targets.shape[1]), np.nan)
    features = as_liblinear_reads(features)
    folds = np.random.default_rng(seed).permutation(features.shape[0]) % N_FOLDS
    for label, is_true in track(columns_of(targets), "Cutting", targets.shape[1]):
        own_folds = _with_dealt_positives(folds, is_true)
        for fold in range(N_FOLDS):
            held_out = own_folds == fold
            if not is_true[~held_out].any() or not held_out.any():
                continue
            row = fit_row(features[~held_out], is_true[~held_out], classifier)
            margins = features[held_out] @ row.weights + row.bias
            found[:, fold, label] = best_cut(margins, is_true[held_out])
    return FoldCuts(*found)


def _with_dealt_positives(folds: IntArray, is_true: BoolArray) -> IntArray:
    """Return the folds with the label's documents dealt out evenly, so that each has its share."""
    positives = np.flatnonzero(is_true)
    by_fold = positives[np.argsort(folds[positives], kind="stable")]
    dealt = folds.copy()
    dealt[by_fold] = np.arange(len(by_fold)) % N_FOLDS
    return dealt


def best_cut(margins: FloatArray, is_true: BoolArray) -> Cut:
    """Return the cut-off with the best F1, halfway between two margins; the highest of equals.

    Without a document of the label, its F1 is 0 and the cut-off the highest margin.
    """
    order = np.argsort(-margins, kind="stable")
    values = margins[order]
    hits = np.cumsum(is_true[order], dtype=np.int64)
    reached = f1(hits, np.arange(1, len(values) + 1), hits[-1])
    reached[:-1][values[:-1] == values[1:]] = 0.0  # one cannot cut between equals
    best = int(reached.argmax())
    lower = values[min(best + 1, len(values) - 1)]
    cut_off = (values[best] + lower) / 2 if reached[best] > 0 else values[0]
    return Cut(float(cut_off), float(reached[best]), float(values[0]))
