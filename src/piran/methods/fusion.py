"""Several views of a document made one probability: weights and sigmoids from judged documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from piran.data.labels import LabelSpace
from piran.errors import ModelFolderError
from piran.methods.views import DOCUMENTS, LABEL_TEXTS, ROWS, Margins
from piran.metrics import tune_both
from piran.metrics.f1 import F1Counts
from piran.storage import load_state, save_state
from piran.training.calibration import MarginCalibration
from piran.types import BoolArray, FloatArray, LabelMatrix

CHOICES: dict[str, tuple[float, ...]] = {
    ROWS: (0.5, 0.0, 1.0, 2.0),
    LABEL_TEXTS: (0.5, 0.0, 1.0, 2.0),
}
"""Weights that a view may get beside the leading one; of equally good ones the first is taken."""
NOTHING_KNOWN = -1.0
"""Margin of a label without a training document: that of a document which clearly lacks a label."""

_STATE_NAME = "fusion"


@dataclass(frozen=True, eq=False)
class Fusion:
    """What each view counts, for head and for tail labels, and the way from margins to probabilities.

    Likeness to documents leads where it is among the views, else the rows do: it has the weight 1. Rows
    beside it are first brought to its spread, as the scale of their margins hangs on their loss. Weights
    are the best of a few, one view after the other, on documents that no view was learned from: for tail
    labels by the sum of their macro-F1 and the micro-F1 of all, for the others by their micro-F1.

    Of a label without a training document nothing is known but its text. So that alone counts, if texts
    are among the views, and tail labels tell how far texts of rare labels can be trusted.
    """

    weights: dict[str, FloatArray]
    """By view, shape (n_labels,)."""
    calibration: MarginCalibration

    @classmethod
    def fit(cls, margins: Margins, targets: LabelMatrix, labels: LabelSpace) -> "Fusion":
        """Choose weights and fit probabilities to documents that no view was learned from."""
        seen, unseen = np.flatnonzero(~labels.is_unseen), np.flatnonzero(labels.is_unseen)
        known = {view: values[:, seen] for view, values in margins.items()}
        best = _best_weights(known, targets[:, seen], labels.is_tail[seen])
        maps = MarginCalibration.fit(_fused(known, best), targets[:, seen], labels.counts[seen])
        calibration = MarginCalibration.of_nothing(len(labels)).replaced(seen, maps)
        weights = {view: np.full(len(labels), float(view == LABEL_TEXTS)) for view in margins}
        for view, values in best.items():
            weights[view][seen] = values
        if LABEL_TEXTS in margins and len(unseen):
            rare = np.flatnonzero(labels.is_tail | labels.is_unseen)
            likeness, counts = margins[LABEL_TEXTS][:, rare], labels.counts[rare]
            by_text = MarginCalibration.fit(likeness, targets[:, rare], counts)
            calibration = calibration.replaced(unseen, by_text[np.isin(rare, unseen)])
        return cls(weights, calibration)

    def probabilities(self, margins: Margins) -> FloatArray:
        """Return the probabilities of the labels, float32, (n_documents, n_labels)."""
        return self.calibration.probabilities(_fused(margins, self.weights))

    @property
    def scores_unseen(self) -> bool:
        """Whether labels without a training document get a score: if there are texts to give it."""
        return LABEL_TEXTS in self.weights and bool(self.weights[LABEL_TEXTS][-1:].any())

    def save(self, folder: Path) -> None:
        """Write weights and sigmoids."""
        arrays = {f"weight {view}": values for view, values in self.weights.items()}
        save_state(folder, _STATE_NAME, {}, {**arrays, **self.calibration.arrays()})

    @classmethod
    def load(cls, folder: Path) -> "Fusion":
        """Read what :meth:`save` wrote."""
        arrays = load_state(folder, _STATE_NAME)[1]
        views = [name.removeprefix("weight ") for name in arrays if name.startswith("weight ")]
        try:
            calibration = MarginCalibration.from_arrays(arrays)
        except KeyError as error:
            raise ModelFolderError(f"{folder} lacks {error}; save the model again.") from error
        return cls({view: arrays[f"weight {view}"] for view in views}, calibration)


def _fused(margins: Margins, weights: Mapping[str, FloatArray]) -> FloatArray:
    """Return the weighted sum of the views, (n_documents, n_labels), float32."""
    total = np.zeros(margins[ROWS].shape, dtype=np.float32)
    for view, values in margins.items():
        if weights[view].any():
            known = np.where(np.isfinite(values), values, NOTHING_KNOWN)
            total += weights[view].astype(np.float32) * known
    return total


def _best_weights(
    margins: Margins, targets: LabelMatrix, is_tail: BoolArray
) -> dict[str, FloatArray]:
    """Return the weights (n_labels,) of each view, the same within the tail and within the rest."""
    leading = DOCUMENTS if DOCUMENTS in margins else ROWS
    weights = {view: np.full(len(is_tail), float(view == leading)) for view in margins}
    for view, choices in CHOICES.items():
        if view not in margins or view == leading:
            continue
        scale = _spread(margins[leading]) / _spread(margins[view]) if view == ROWS else 1.0
        best, best_f1 = np.zeros((2, 1)), np.full((2, 1), -1.0)  # others first, tail second
        for choice in choices:
            weights[view] = np.full(len(is_tail), choice * scale)
            reached = np.array(_group_f1(_fused(margins, weights), targets, is_tail))[:, None]
            best = np.where(reached > best_f1, choice * scale, best)
            best_f1 = np.maximum(reached, best_f1)
        weights[view] = np.where(is_tail, best[1], best[0])
    return weights


def _spread(margins: FloatArray) -> float:
    """Return the standard deviation of all finite margins, 1 where they do not differ."""
    return float(np.std(margins, where=np.isfinite(margins), dtype=np.float64)) or 1.0


def _group_f1(fused: FloatArray, targets: LabelMatrix, is_tail: BoolArray) -> tuple[float, float]:
    """Return micro-F1 of the other labels, and macro-F1 of the tail with the micro-F1 of all added.

    Both at the cut-offs that :func:`~piran.metrics.tune_both` finds for such sums.
    """
    scores = 0.5 * (1.0 + np.tanh(fused))  # any increasing map to above 0 does
    predicted = tune_both(targets, scores, is_tail).predict(scores)
    is_true = targets.toarray() > 0
    reached = []
    for members in (~is_tail, is_tail, np.ones_like(is_tail)):
        counts = F1Counts(int(members.sum()))
        counts.update(is_true[:, members], predicted[:, members])
        reached.append(counts)
    others, tail, everything = reached
    tail_f1 = float(tail.label_f1().mean()) if is_tail.any() else 0.0
    return others.micro_f1(), tail_f1 + everything.micro_f1()
