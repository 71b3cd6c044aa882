"""Several views of a document made one probability: weights and sigmoids from validation documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from piran.data.labels import LabelSpace
from piran.errors import ModelFolderError
from piran.methods.views import LABEL_TEXTS, ROWS, WORDS
from piran.metrics import tune_groups
from piran.metrics.f1 import F1Counts
from piran.storage import load_state, save_state
from piran.training.calibration import MarginCalibration
from piran.types import BoolArray, FloatArray, LabelMatrix

CHOICES: dict[str, tuple[float, ...]] = {
    WORDS: (1.0, 0.5, 2.0),
    LABEL_TEXTS: (0.5, 0.0, 1.0, 2.0),
}
"""Weights that a view may get, rows having 1; of equally good ones the first is taken."""
NOTHING_KNOWN = -1.0
"""Margin of a label without a training document: that of a document which clearly lacks a label."""

_STATE_NAME = "fusion"

Margins = Mapping[str, FloatArray]
"""Margins (n_documents, n_labels) by view, the rows' among them."""


@dataclass(frozen=True, eq=False)
class Fusion:
    """What each view counts, for head and for tail labels, and the way from margins to probabilities.

    Rows and words are averaged; likeness to a label's text is added to that, being a hint and no
    decision. Weights are the best of a few: for tail labels by macro-F1 on validation documents, for all
    others by micro-F1, each at its best cut-off.
    """

    weights: dict[str, FloatArray]
    """By view, shape (n_labels,)."""
    calibration: MarginCalibration

    @classmethod
    def fit(cls, margins: Margins, targets: LabelMatrix, labels: LabelSpace) -> "Fusion":
        """Choose weights and fit probabilities to documents that no view was learned from."""
        is_tail = labels.is_tail | labels.is_unseen
        weights = _best_weights(margins, targets, is_tail)
        fused = _fused(margins, weights)
        return cls(weights, MarginCalibration.fit(fused, targets, labels.counts))

    def probabilities(self, margins: Margins) -> FloatArray:
        """Return the probabilities of the labels, float32, (n_documents, n_labels)."""
        return self.calibration.probabilities(_fused(margins, self.weights))

    @property
    def scores_unseen(self) -> bool:
        """Whether labels without a training document get a score: if their texts count."""
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
    """Return the mean of the deciding views, and what label texts add, (n_documents, n_labels)."""
    total = np.zeros(margins[ROWS].shape, dtype=np.float32)
    share = np.zeros(len(weights[ROWS]), dtype=np.float32)
    for view, values in margins.items():
        if view == LABEL_TEXTS:
            continue
        known = np.where(np.isfinite(values), values, NOTHING_KNOWN)
        total += weights[view].astype(np.float32) * known
        share += weights[view].astype(np.float32)
    total /= share
    if LABEL_TEXTS in margins:
        total += weights[LABEL_TEXTS].astype(np.float32) * margins[LABEL_TEXTS]
    return total


def _best_weights(
    margins: Margins, targets: LabelMatrix, is_tail: BoolArray
) -> dict[str, FloatArray]:
    """Return the weights (n_labels,) of each view, the same within the tail and within the rest."""
    views = [view for view in margins if view != ROWS]
    best: list[tuple[float, ...]] = [(), ()]
    best_f1 = [-1.0, -1.0]
    for choice in product(*(CHOICES[view] for view in views)):
        given = _spread(views, (choice, choice), is_tail)
        reached = _group_f1(_fused(margins, given), targets, is_tail)
        for group, value in enumerate(reached):
            if value > best_f1[group]:
                best[group], best_f1[group] = choice, value
    return _spread(views, (best[0], best[1]), is_tail)


def _spread(
    views: list[str], by_group: tuple[tuple[float, ...], tuple[float, ...]], is_tail: BoolArray
) -> dict[str, FloatArray]:
    """Give each label the weights of its group: others first, tail second."""
    weights: dict[str, FloatArray] = {ROWS: np.ones(len(is_tail))}
    for view, other, tail in zip(views, *by_group, strict=True):
        weights[view] = np.where(is_tail, tail, other)
    return weights


def _group_f1(fused: FloatArray, targets: LabelMatrix, is_tail: BoolArray) -> tuple[float, float]:
    """Return micro-F1 of the other labels and macro-F1 of the tail, each at its best cut-off."""
    scores = 0.5 * (1.0 + np.tanh(fused))  # any increasing map to above 0 does
    predicted = tune_groups(targets, scores, is_tail).predict(scores)
    counts = F1Counts(int((~is_tail).sum()))
    is_true = targets.toarray() > 0
    counts.update(is_true[:, ~is_tail], predicted[:, ~is_tail])
    tail = F1Counts(int(is_tail.sum()))
    tail.update(is_true[:, is_tail], predicted[:, is_tail])
    return counts.micro_f1(), float(tail.label_f1().mean()) if is_tail.any() else 0.0
