"""Several views of a document made one probability: weights and sigmoids from judged documents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from piran.data.labels import LabelSpace
from piran.errors import ModelFolderError
from piran.methods.views import DOCUMENTS, LABEL_TEXTS, ROWS, Margins
from piran.metrics import tune_both
from piran.metrics.f1 import F1Counts
from piran.storage import load_state, save_state
from piran.training.calibration import MarginCalibration
from piran.training.companions import Companions, LearnedFrom
from piran.types import BoolArray, FloatArray, LabelMatrix

CHOICES: dict[str, tuple[float, ...]] = {
    ROWS: (0.5, 0.0, 1.0, 2.0),
    LABEL_TEXTS: (0.5, 0.0, 1.0, 2.0),
}
"""Weights that a view may get beside the leading one; of equally good ones the first is taken."""
LEAST_PROBABILITY = 1e-7
"""Given to what happens though it was said to be impossible."""
NOTHING_KNOWN = -1.0
"""Margin of a label without a training document: that of a document which clearly lacks a label."""

Judge = Callable[[Margins], FloatArray]
"""From the margins of documents that were learned from to probabilities, about as if they were new."""

_STATE_NAME = "fusion"
_SECOND = "second "


@dataclass(frozen=True, eq=False)
class Fusion:
    """What each view counts, for head and for tail labels, and the way from margins to probabilities.

    Likeness to documents leads where it is among the views, else the rows do: it has the weight 1. Rows
    beside it are first brought to its spread, as the scale of their margins hangs on their loss. Weights
    are the best of a few, one view after the other, on documents that no view was learned from: for tail
    labels by the sum of their macro-F1 and the micro-F1 of all, for the others by their micro-F1.

    Of a label without a training document nothing is known but its text. So that alone counts, if texts
    are among the views, and tail labels tell how far texts of rare labels can be trusted.

    With companions, what the probabilities of frequent labels tell of each other is added to their
    margins, which become probabilities anew (:mod:`piran.training.companions`), unless that takes
    them away from the truth.
    """

    weights: dict[str, FloatArray]
    """By view, shape (n_labels,)."""
    calibration: MarginCalibration
    second_look: "SecondLook | None" = None

    @classmethod
    def fit(
        cls,
        margins: Margins,
        targets: LabelMatrix,
        labels: LabelSpace,
        *,
        has_companions: bool = False,
    ) -> "tuple[Fusion, Judge]":
        """Choose weights and fit probabilities to documents that no view was learned from.

        Returned is also what gives the probabilities of these very documents, about as if each had not
        been among them, whichever rows are among their margins.
        """
        seen = np.flatnonzero(~labels.is_unseen)
        known = {view: values[:, seen] for view, values in margins.items()}
        weights = {view: np.full(len(labels), float(view == LABEL_TEXTS)) for view in margins}
        best = _best_weights(known, targets[:, seen], labels.is_tail[seen])
        for view, values in best.items():
            weights[view][seen] = values
        fused = _fused(margins, weights)
        fusion = cls(weights, _calibrated(fused, margins, targets, labels))
        if not has_companions:
            return fusion, fusion.probabilities
        second_look, learned_from = SecondLook.fit(fusion.calibration, fused, targets, labels)
        if second_look is None:
            return fusion, fusion.probabilities
        fusion = cls(weights, fusion.calibration, second_look)
        return fusion, partial(fusion.probabilities, companions=learned_from)

    def probabilities(
        self, margins: Margins, companions: Companions | LearnedFrom | None = None
    ) -> FloatArray:
        """Return the probabilities of the labels, float32, (n_documents, n_labels).

        ``companions`` take the place of the fusion's own, if it has any.
        """
        fused = _fused(margins, self.weights)
        found = self.calibration.probabilities(fused)
        if self.second_look is None:
            return found
        return self.second_look.probabilities(fused, found, companions)

    @property
    def scores_unseen(self) -> bool:
        """Whether labels without a training document get a score: if there are texts to give it."""
        return LABEL_TEXTS in self.weights and bool(self.weights[LABEL_TEXTS][-1:].any())

    def save(self, folder: Path) -> None:
        """Write weights, sigmoids and companions."""
        arrays = {f"weight {view}": values for view, values in self.weights.items()}
        if self.second_look is not None:
            arrays |= self.second_look.arrays()
        save_state(folder, _STATE_NAME, {}, {**arrays, **self.calibration.arrays()})

    @classmethod
    def load(cls, folder: Path) -> "Fusion":
        """Read what :meth:`save` wrote."""
        arrays = load_state(folder, _STATE_NAME)[1]
        views = [name.removeprefix("weight ") for name in arrays if name.startswith("weight ")]
        try:
            calibration = MarginCalibration.from_arrays(arrays)
            second_look = SecondLook.from_arrays(arrays)
        except KeyError as error:
            raise ModelFolderError(f"{folder} lacks {error}; save the model again.") from error
        weights = {view: arrays[f"weight {view}"] for view in views}
        return cls(weights, calibration, second_look)


@dataclass(frozen=True, eq=False)
class SecondLook:
    """What frequent labels tell of each other, once their probabilities are known."""

    companions: Companions
    calibration: MarginCalibration
    """Of the companions alone."""

    @classmethod
    def fit(
        cls, first: MarginCalibration, fused: FloatArray, targets: LabelMatrix, labels: LabelSpace
    ) -> "tuple[SecondLook, LearnedFrom] | tuple[None, None]":
        """Learn from documents that ``fused`` (n_documents, n_labels) were not learned from.

        Nothing is returned if the probabilities of the first look are closer to the truth.
        """
        before = first.probabilities(fused)
        companions, learned_from = Companions.fit(fused, before, targets, ~labels.is_unseen)
        own, margins = companions.labels, learned_from.margins(fused, before)
        calibration = MarginCalibration.fit(margins, targets[:, own], labels.counts[own])
        after, is_true = calibration.probabilities(margins), targets[:, own].toarray() > 0
        if _log_loss(after, is_true) >= _log_loss(before[:, own], is_true):
            return None, None
        return cls(companions, calibration), learned_from

    def probabilities(
        self, fused: FloatArray, before: FloatArray, companions: Companions | LearnedFrom | None
    ) -> FloatArray:
        """Return the probabilities ``before`` with those of the companions found anew.

        All have the shape (n_documents, n_labels). ``companions`` None takes its own.
        """
        margins, found = (companions or self.companions).margins(fused, before), before.copy()
        found[:, self.companions.labels] = self.calibration.probabilities(margins)
        return found

    def arrays(self) -> dict[str, Any]:
        """Return what :meth:`from_arrays` rebuilds it from."""
        arrays = {**self.companions.arrays(), **self.calibration.arrays()}
        return {f"{_SECOND}{name}": array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "SecondLook | None":
        """Rebuild from :meth:`arrays`, None where there are none; a name that lacks is a KeyError."""
        own = {key.removeprefix(_SECOND): arrays[key] for key in arrays if key.startswith(_SECOND)}
        if not own:
            return None
        return cls(Companions.from_arrays(own), MarginCalibration.from_arrays(own))


def _log_loss(probabilities: FloatArray, is_true: BoolArray) -> float:
    """Return the sum of −log of what was given to the truth, of all documents and labels."""
    of_truth = np.where(is_true, probabilities, 1 - probabilities)
    return -float(np.log(np.maximum(of_truth, LEAST_PROBABILITY)).sum(dtype=np.float64))


def _calibrated(
    fused: FloatArray, margins: Margins, targets: LabelMatrix, labels: LabelSpace
) -> MarginCalibration:
    """Return the way from fused margins to probabilities; labels without documents borrow theirs."""
    seen, unseen = np.flatnonzero(~labels.is_unseen), np.flatnonzero(labels.is_unseen)
    maps = MarginCalibration.fit(fused[:, seen], targets[:, seen], labels.counts[seen])
    calibration = MarginCalibration.of_nothing(len(labels)).replaced(seen, maps)
    if LABEL_TEXTS in margins and len(unseen):
        rare = np.flatnonzero(labels.is_tail | labels.is_unseen)
        likeness, counts = margins[LABEL_TEXTS][:, rare], labels.counts[rare]
        by_text = MarginCalibration.fit(likeness, targets[:, rare], counts)
        calibration = calibration.replaced(unseen, by_text[np.isin(rare, unseen)])
    return calibration


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
