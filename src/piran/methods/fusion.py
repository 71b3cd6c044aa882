"""Several views of a document made one probability: weights and sigmoids from judged documents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from piran.data.labels import LabelSpace
from piran.errors import ModelFolderError
from piran.methods.views import DOCUMENTS, LABEL_TEXTS, LABEL_WORDS, OF_LABEL_TEXTS, ROWS, Margins
from piran.storage import load_state, save_state
from piran.training.calibration import MarginCalibration
from piran.training.companions import Companions, LearnedFrom
from piran.training.view_weights import fit_weights
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix

LEADING = (DOCUMENTS, ROWS, LABEL_TEXTS, LABEL_WORDS)
"""The first of these that there is has the weight 1."""
LEAST_PROBABILITY = 1e-7
"""Given to what happens though it was said to be impossible."""
TOLERATED = 1.005
"""By which the log-loss with companions may be estimated to rise, as the estimate is too high: on
held-out training documents of debtags it fell by half a percent where it was estimated to rise by a
thousandth. Where labels keep no company it is estimated to rise by far more."""
NOTHING_KNOWN = -1.0
"""Margin of a label without a training document: that of a document which clearly lacks a label."""

Judge = Callable[[Margins], FloatArray]
"""From the margins of documents that were learned from to probabilities, about as if they were new."""

COMPANIONS = "companions"
"""Labels that tell of each other, beside the views in a summary."""
_STATE_NAME = "fusion"
_SECOND = "second "


@dataclass(frozen=True, eq=False)
class Fusion:
    """What each view counts, for head and for tail labels, and the way from margins to probabilities.

    Likeness to documents leads where it is among the views, else the rows do: it has the weight 1. Rows
    beside it are first brought to its spread, as the scale of their margins hangs on their loss. The
    weights of the others are those with the least log-loss on documents that no view was learned from,
    for tail labels and for the rest (:mod:`piran.training.view_weights`).

    Of a label without a training document nothing is known but its text. So that alone counts, if views
    of texts are there, and tail labels tell how far texts of rare labels can be trusted.

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
        n_members: int = 1,
    ) -> "tuple[Fusion, Judge]":
        """Choose weights and fit probabilities to documents that no view was learned from.

        The rows of one member judge these documents; new ones are judged by the mean of ``n_members``.

        Returned is also what gives the probabilities of these very documents, about as if each had not
        been among them, whichever rows are among their margins.
        """
        weights = _weights(margins, targets, labels)
        weights[ROWS] *= gain_of_mean(n_members)
        fused = _fused(margins, weights)
        fusion = cls(weights, _calibrated(margins, weights, fused, targets, labels))
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

    def summary(self, labels: LabelSpace) -> dict[str, dict[str, float]]:
        """Return the weight of each view by group of labels, and the number of companions in each."""
        groups = {"head": labels.is_head, "tail": labels.is_tail, "unseen": labels.is_unseen}
        found: dict[str, dict[str, float]] = {
            view: {name: round(float(of[own][0]), 4) for name, own in groups.items() if own.any()}
            for view, of in self.weights.items()
        }
        if self.second_look is not None:
            own = self.second_look.companions.labels
            found[COMPANIONS] = {name: int(of[own].sum()) for name, of in groups.items()}
        return found

    @property
    def scores_unseen(self) -> bool:
        """Whether labels without a training document get a score: if there are texts to give it."""
        return any(self.weights[view][-1:].any() for view in OF_LABEL_TEXTS if view in self.weights)

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
        if _log_loss(after, is_true) >= TOLERATED * _log_loss(before[:, own], is_true):
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


def gain_of_mean(n_members: int) -> float:
    """Return how much more the mean of several members counts than what one of them says.

    If half of the spread of a member's margins, beside what the other views know, is its own and none of
    the label's, the best weight of one is v / (v + v), and that of the mean of m is v / (v + v / m). On
    training documents rows that counted more still, 2.5 times, had a higher log-loss on debtags and
    reuters90; F1 was a little higher on debtags, and lower on reuters90.
    """
    return 2 * n_members / (n_members + 1)


def _log_loss(probabilities: FloatArray, is_true: BoolArray) -> float:
    """Return the sum of −log of what was given to the truth, of all documents and labels."""
    of_truth = np.where(is_true, probabilities, 1 - probabilities)
    return -float(np.log(np.maximum(of_truth, LEAST_PROBABILITY)).sum(dtype=np.float64))


def _weights(margins: Margins, targets: LabelMatrix, labels: LabelSpace) -> dict[str, FloatArray]:
    """Return the weights (n_labels,) of each view, the same within the head, the tail and the unseen."""
    weights: dict[str, FloatArray] = {view: np.zeros(len(labels)) for view in margins}
    of_texts = {view: margins[view] for view in OF_LABEL_TEXTS if view in margins}
    for members, judges, views in (
        (labels.is_head, labels.is_head, margins),
        (labels.is_tail, labels.is_tail, margins),
        (labels.is_unseen, labels.is_tail, of_texts),
    ):
        if views and members.any():
            found = _best_weights(views, targets, labels, np.flatnonzero(judges))
            for view, weight in found.items():
                weights[view][members] = weight
    return weights


def _best_weights(
    margins: Margins, targets: LabelMatrix, labels: LabelSpace, judges: IntArray
) -> dict[str, float]:
    """Return the weight of each view that is best for the labels ``judges``."""
    leading, *others = (view for view in LEADING if view in margins)
    unit = dict.fromkeys(others, 1.0)
    if ROWS in others:  # over all labels, as those of a group may be few
        unit[ROWS] = _spread(margins[leading], labels) / _spread(margins[ROWS], labels)
    found = fit_weights(
        _known(margins[leading][:, judges]),
        [np.float32(unit[view]) * _known(margins[view][:, judges]) for view in others],
        targets[:, judges],
        labels.counts[judges],
    )
    weights = {view: float(unit[view] * w) for view, w in zip(others, found, strict=True)}
    return {leading: 1.0, **weights}


def _calibrated(
    margins: Margins,
    weights: Mapping[str, FloatArray],
    fused: FloatArray,
    targets: LabelMatrix,
    labels: LabelSpace,
) -> MarginCalibration:
    """Return the way from fused margins to probabilities; labels without documents borrow theirs."""
    seen, unseen = np.flatnonzero(~labels.is_unseen), np.flatnonzero(labels.is_unseen)
    maps = MarginCalibration.fit(fused[:, seen], targets[:, seen], labels.counts[seen])
    calibration = MarginCalibration.of_nothing(len(labels)).replaced(seen, maps)
    if any(view in margins for view in OF_LABEL_TEXTS) and len(unseen):
        rare = np.flatnonzero(labels.is_tail | labels.is_unseen)
        # What is said of rare labels where their text alone counts
        known = {view: values[:, rare] for view, values in margins.items()}
        likeness = _fused(known, {view: values[unseen[:1]] for view, values in weights.items()})
        by_text = MarginCalibration.fit(likeness, targets[:, rare], labels.counts[rare])
        calibration = calibration.replaced(unseen, by_text[np.isin(rare, unseen)])
    return calibration


def _fused(margins: Margins, weights: Mapping[str, FloatArray]) -> FloatArray:
    """Return the weighted sum of the views, (n_documents, n_labels), float32."""
    total = np.zeros(margins[ROWS].shape, dtype=np.float32)
    for view, values in margins.items():
        if weights[view].any():
            total += weights[view].astype(np.float32) * _known(values)
    return total


def _known(margins: FloatArray) -> FloatArray:
    """Return margins with that of a clear no for labels of which nothing is known."""
    return np.where(np.isfinite(margins), margins, np.float32(NOTHING_KNOWN))


def _spread(margins: FloatArray, labels: LabelSpace) -> float:
    """Return the standard deviation of all finite margins of seen labels, 1 where they do not differ."""
    seen = margins[:, ~labels.is_unseen]
    return float(np.std(seen, where=np.isfinite(seen), dtype=np.float64)) or 1.0
