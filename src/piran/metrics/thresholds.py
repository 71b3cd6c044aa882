"""Cut-offs that turn scores into label sets, and the search for the best on validation documents.

A label is predicted where ``score >= cut-off``. Cut-offs lie strictly above 0, so a score of 0, the
score of an unseen label, is never a prediction. Keep cut-offs in float64: rounded, one could slip
past the score that it lies beside.

The searches are exact: F1 can only peak just below the score of a true label, so those scores are
the candidates, and all of them are tried. The cut-off is set halfway to the next lower score, as
the score itself would sit on the edge. Of equally good cut-offs the highest wins.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from piran.errors import SettingError
from piran.metrics.f1 import f1
from piran.metrics.inputs import checked_targets
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix

DEFAULT_CUT_OFF = 0.5
BLOCK_SIZE = 2_000_000
"""Scores looked at together; bounds the memory of a search."""

Objective = Literal["micro_f1", "macro_f1"]
Numbers = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Thresholds:
    """One cut-off per label and the name of the policy that chose them."""

    values: FloatArray
    """Strictly above 0, shape (n_labels,)."""
    policy: str

    def __post_init__(self) -> None:
        if not (np.isfinite(self.values) & (self.values > 0)).all():
            lowest, highest = self.values.min(), self.values.max()
            raise SettingError(f"Cut-offs must be finite and above 0, got {lowest} to {highest}.")

    @classmethod
    def constant(cls, n_labels: int, cut_off: float = DEFAULT_CUT_OFF) -> "Thresholds":
        """Give every label the same cut-off."""
        return cls(np.full(n_labels, cut_off, dtype=np.float64), "constant")

    def predict(self, scores: FloatArray) -> BoolArray:
        """Return which labels are predicted, shape (n_documents, n_labels) like ``scores``."""
        return is_predicted(scores, self.values)

    def summary(self) -> dict[str, Any]:
        """Return the policy and where its values lie, as a run record keeps them."""
        if not len(self.values):
            return {"policy": self.policy}
        lowest, median, highest = np.quantile(self.values, [0.0, 0.5, 1.0]).tolist()
        return {"policy": self.policy, "lowest": lowest, "median": median, "highest": highest}


def is_predicted(scores: FloatArray, cut_offs: FloatArray | float) -> BoolArray:
    """Return which scores reach their label's cut-off: the one place that decides."""
    return np.asarray(scores >= cut_offs)


def tune_global(
    targets: LabelMatrix, scores: FloatArray, *, objective: Objective = "micro_f1"
) -> Thresholds:
    """Find the one cut-off for all labels with the best micro- or macro-F1.

    Where no true label has a score above 0 there is nothing to choose by, and it is 0.5.
    """
    best = _best_cut_off(checked_targets(targets, scores), scores, objective)
    return Thresholds(np.full(scores.shape[1], best or DEFAULT_CUT_OFF), "global")


def tune_groups(
    targets: LabelMatrix,
    scores: FloatArray,
    is_tail: BoolArray,
    *,
    tail_objective: Objective = "macro_f1",
) -> Thresholds:
    """Find one cut-off for the tail labels and one, by micro-F1, for all the others.

    A group in which no true label has a score above 0 takes the best one for all labels.
    """
    targets = checked_targets(targets, scores)
    values = np.empty(scores.shape[1])
    groups: tuple[tuple[BoolArray, Objective], ...] = (
        (~is_tail, "micro_f1"),
        (is_tail, tail_objective),
    )
    for members, objective in groups:
        best = _best_cut_off(targets[:, np.flatnonzero(members)], scores[:, members], objective)
        best = best or _best_cut_off(targets, scores, "micro_f1") or DEFAULT_CUT_OFF
        values[members] = best
    return Thresholds(values, "groups")


def tune_both(targets: LabelMatrix, scores: FloatArray, is_tail: BoolArray) -> Thresholds:
    """Find cut-offs as :func:`tune_groups` does, but let the tail labels count what they cost the rest.

    The cut-off of the tail labels is the best for the sum of their macro-F1 and the micro-F1 of all
    labels. By macro-F1 alone labels with a document or two pull it so low that every document gets rare
    labels.
    """
    groups = tune_groups(targets, scores, is_tail)
    targets, tail = checked_targets(targets, scores), np.flatnonzero(is_tail)
    tail_targets, tail_scores = targets[:, tail], scores[:, tail]
    true_scores = tail_scores[tail_targets.nonzero()]
    candidates = np.unique(true_scores[true_scores > 0])  # (n_candidates,), ascending
    if not len(candidates):
        return Thresholds(groups.values, "both")
    others = np.flatnonzero(~is_tail)
    is_found = is_predicted(scores[:, others], groups.values[others])
    n_hits, n_predicted = is_found[targets[:, others].nonzero()].sum(), is_found.sum()
    tail_predicted = _from_above(_tally(tail_scores[tail_scores >= candidates[0]], candidates))
    tail_hits = _from_above(_tally(true_scores, candidates))
    micro = f1(n_hits + tail_hits, n_predicted + tail_predicted, np.asarray(targets.nnz))
    macro = _macro_curve(tail_targets, tail_scores, candidates) / len(tail)
    values = groups.values.copy()
    values[tail] = _cut_below(_highest_peak(micro + macro, candidates), tail_scores)
    return Thresholds(values, "both")


def tune_expected(targets: LabelMatrix, scores: FloatArray, is_tail: BoolArray) -> Thresholds:
    """Find cut-offs as :func:`tune_both` does, and draw each tail label half way to one of its own.

    The best cut-off of a label is half of the best F1 it can reach (Lipton, Elkan and Naryanaswamy 2014):
    low for labels that are hard to tell, high for easy ones. Which F1 that is, its own probabilities
    tell (:func:`expected_f1`), where a few true documents would tell little. Half way is the geometric
    mean, as probabilities and with them cut-offs differ by factors.
    """
    both = tune_both(targets, scores, is_tail)
    values, tail = both.values.copy(), np.flatnonzero(is_tail)
    own = expected_f1(scores[:, tail]) / 2
    values[tail] = np.where(own > 0, np.sqrt(values[tail] * own), values[tail])
    return Thresholds(values, "expected")


def expected_f1(probabilities: FloatArray) -> FloatArray:
    """Return the best F1 that each label can expect of any cut-off, (n_labels,).

    If probabilities (n_documents, n_labels) are true, cutting after the k highest, which add up to h of
    all n, is expected to find h of n documents with k predictions: an F1 of about 2h / (k + n).
    """
    best = np.zeros(probabilities.shape[1])
    n_documents = len(probabilities)
    width = max(1, BLOCK_SIZE // max(n_documents, 1))
    ranks = np.arange(1, n_documents + 1)
    for first in range(0, len(best) if n_documents else 0, width):
        block = slice(first, first + width)
        highest_first = -np.sort(-probabilities[:, block], axis=0)  # (n_documents, width)
        hits = np.cumsum(highest_first, axis=0, dtype=np.float64)
        best[block] = f1(hits, ranks[:, None], hits[-1]).max(axis=0)
    return best


def tune_per_label(
    targets: LabelMatrix, scores: FloatArray, *, fallback: Thresholds, min_positives: int
) -> Thresholds:
    """Find the cut-off with the best F1 for each label that has enough validation documents.

    A label with fewer than ``min_positives`` true documents, or none of them with a score above 0,
    keeps the value of ``fallback``.
    """
    targets = checked_targets(targets, scores)
    values = np.array(fallback.values, dtype=np.float64)
    n_true = np.bincount(targets.indices, minlength=scores.shape[1])
    enough = np.flatnonzero(n_true >= max(min_positives, 1))
    for columns, block in _sorted_blocks(targets, scores, enough):
        best, found = block.best_cut_offs()
        values[columns[found]] = best[found]
    return Thresholds(values, "per-label")


@dataclass(frozen=True)
class _SortedScores:
    """Some labels' scores from the highest down and the F1 of cutting after each of them."""

    scores: FloatArray
    """Shape (n_columns, n_documents)."""
    f1: FloatArray
    """Meaningful after the last of equal scores, shape (n_columns, n_documents)."""

    def best_cut_offs(self) -> tuple[FloatArray, BoolArray]:
        """Return each label's best cut-off and whether any cut-off has an F1 above 0."""
        lower = np.zeros_like(self.scores)
        lower[:, :-1] = np.maximum(self.scores[:, 1:], 0.0)
        can_cut = (self.scores > lower) & (self.scores > 0)
        reached = np.where(can_cut, self.f1, 0.0)
        best = reached.argmax(axis=1)[:, None]  # (n_columns, 1), the first is the highest score
        cut_offs = _between(
            np.take_along_axis(lower, best, axis=1), np.take_along_axis(self.scores, best, axis=1)
        )
        return cut_offs[:, 0], np.take_along_axis(reached, best, axis=1)[:, 0] > 0


def _sorted_blocks(
    targets: LabelMatrix, scores: FloatArray, columns: IntArray
) -> Iterator[tuple[IntArray, _SortedScores]]:
    """Yield the columns in blocks of bounded size, each sorted by score."""
    by_column = csc_array(targets)
    width = max(1, BLOCK_SIZE // max(len(scores), 1))
    ranks = np.arange(1, len(scores) + 1)  # (n_documents,)
    for start in range(0, len(columns), width):
        block = columns[start : start + width]
        is_true = by_column[:, block].toarray().T > 0  # (n_columns, n_documents)
        values = np.ascontiguousarray(scores[:, block].T)
        order = np.argsort(-values, axis=1)
        hits = np.cumsum(np.take_along_axis(is_true, order, axis=1), axis=1, dtype=np.int32)
        values = np.take_along_axis(values, order, axis=1)
        yield block, _SortedScores(values, f1(hits, ranks, hits[:, -1:]))


def _best_cut_off(targets: LabelMatrix, scores: FloatArray, objective: Objective) -> float | None:
    """Return the best single cut-off, None if no true label has a score above 0."""
    if objective not in _CURVES:
        raise SettingError(f"objective must be one of {', '.join(_CURVES)}, got {objective!r}.")
    true_scores = scores[targets.nonzero()]
    candidates = np.unique(true_scores[true_scores > 0])  # (n_candidates,), ascending
    if not len(candidates):
        return None
    return _cut_below(
        _highest_peak(_CURVES[objective](targets, scores, candidates), candidates), scores
    )


def _highest_peak(curve: FloatArray, candidates: FloatArray) -> np.floating[Any]:
    """Return the highest of the candidates (ascending) at which the curve is highest."""
    # Rounded, so that sums added up in another order do not decide between equals.
    rounded = np.round(curve, 12)
    best: np.floating[Any] = candidates[len(rounded) - 1 - int(rounded[::-1].argmax())]
    return best


def _cut_below(score: np.floating[Any], scores: FloatArray) -> float:
    """Return the cut-off halfway between a score and the next lower one."""
    lower = np.max(scores, where=scores < score, initial=0.0)
    return float(_between(np.asarray(lower), np.asarray(score)))


def _micro_curve(targets: LabelMatrix, scores: FloatArray, candidates: FloatArray) -> FloatArray:
    """Return the micro-F1 of cutting just below each candidate, shape (n_candidates,)."""
    n_predicted = np.zeros(len(candidates), dtype=np.int64)
    height = max(1, BLOCK_SIZE // scores.shape[1])
    for start in range(0, len(scores), height):
        block = scores[start : start + height]
        n_predicted += _tally(block[block >= candidates[0]], candidates)
    hits = _tally(scores[targets.nonzero()], candidates)
    return f1(_from_above(hits), _from_above(n_predicted), np.asarray(targets.nnz))


def _macro_curve(targets: LabelMatrix, scores: FloatArray, candidates: FloatArray) -> FloatArray:
    """Return the sum of the labels' F1 for cutting just below each candidate, (n_candidates,).

    Going down the scores, each one changes its own label's F1; the changes are added up where they
    fall.
    """
    steps = np.zeros(len(candidates))
    for _, block in _sorted_blocks(targets, scores, np.unique(targets.indices)):
        changes = np.diff(block.f1, axis=1, prepend=0.0)
        steps += _tally(block.scores.ravel(), candidates, changes.ravel())
    return _from_above(steps)


_CURVES: dict[str, Callable[[LabelMatrix, FloatArray, FloatArray], FloatArray]] = {
    "micro_f1": _micro_curve,
    "macro_f1": _macro_curve,
}


def _tally(
    values: FloatArray, candidates: FloatArray, weights: FloatArray | None = None
) -> Numbers:
    """Count the values, or add up their weights, from each candidate to the next."""
    place = np.searchsorted(candidates, values, side="right")  # 0: below all candidates
    return np.asarray(np.bincount(place, weights, minlength=len(candidates) + 1)[1:])


def _from_above(tally: Numbers) -> Numbers:
    """Return the sums from each candidate upwards."""
    return np.asarray(np.cumsum(tally[::-1])[::-1])


def _between(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return a number above ``lower`` and at most ``upper``, the middle where there is one."""
    low, high = lower.astype(np.float64), upper.astype(np.float64)
    middle = low + (high - low) / 2
    return np.where(middle > low, middle, high)
