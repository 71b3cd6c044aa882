"""How much each of several views of a document counts, judged by documents that none was learned from.

Views are added up with weights, and what they come to becomes a probability by the sigmoid that all
labels share (:mod:`piran.training.calibration`). Weights and sigmoid are found together, where the
log-loss is least: unlike F1, it also tells of labels that no cut-off could be chosen for, as they have
a document or two, and it has a gradient to follow.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from piran.training.calibration import (
    MIN_SCALE,
    POOLED_PRECISION,
    POOLED_START,
    stretch,
)
from piran.types import FloatArray, IntArray, LabelMatrix

START = 0.5
"""Weight of a view beside the leading one where there is no evidence."""
PRECISION = 1.0
"""Of a weight about that."""
MAX_FALSE_PAIRS = 2_000_000
"""Of a document and a label that it does not have; of more, so many are drawn and count for all."""
MAX_STEPS = 100


def fit_weights(
    leading: FloatArray,
    others: Sequence[FloatArray],
    targets: LabelMatrix,
    counts: IntArray,
    *,
    seed: int = 0,
) -> FloatArray:
    """Return the weight of each other view beside the leading one, whose is 1; none is below 0.

    Views and ``targets`` have shape (n_documents, n_labels), all views finite and of documents that they
    were not learned from; ``counts`` (n_labels,) are the training documents of each label.
    """
    if not others or not leading.size:
        return np.full(len(others), START)
    pairs = _Pairs.drawn(leading, others, targets, counts, np.random.default_rng(seed))
    n_others = len(others)
    found = minimize(
        pairs.objective,
        np.concatenate([np.full(n_others, START), POOLED_START]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n_others + [(None, None)] * len(POOLED_START),
        options={"maxiter": MAX_STEPS},
    )
    return np.asarray(found.x[:n_others])


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Documents and labels in pairs; arrays have shape (n_pairs,) but for ``others``."""

    leading: FloatArray
    others: FloatArray
    """(n_others, n_pairs)."""
    is_true: FloatArray
    stands_for: FloatArray
    """How many pairs each counts for."""
    scale: FloatArray
    """By which the margins of its label are stretched."""
    log_count: FloatArray

    @classmethod
    def drawn(
        cls,
        leading: FloatArray,
        others: Sequence[FloatArray],
        targets: LabelMatrix,
        counts: IntArray,
        random: np.random.Generator,
    ) -> "_Pairs":
        """Take all pairs that are true, and at most so many of the others."""
        is_true = (targets.toarray() > 0).ravel()
        n_true, n_pairs = int(is_true.sum()), len(is_true)
        drawn = np.arange(n_pairs)
        if n_pairs > MAX_FALSE_PAIRS:
            drawn = random.choice(n_pairs, MAX_FALSE_PAIRS, replace=False)
        false = drawn[~is_true[drawn]]
        chosen = np.concatenate([np.flatnonzero(is_true), false])
        label = chosen % targets.shape[1]
        scale = MIN_SCALE + leading.std(axis=0, dtype=np.float64)
        return cls(
            leading.ravel()[chosen],
            np.stack([view.ravel()[chosen] for view in others]),
            is_true[chosen].astype(np.float32),
            np.repeat([1.0, (n_pairs - n_true) / max(len(false), 1)], [n_true, len(false)]),
            scale[label].astype(np.float32),
            np.log(np.maximum(counts, 1.0))[label].astype(np.float32),
        )

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log posterior at these weights and this sigmoid, and its gradient."""
        n_others = len(self.others)
        weights, (slope, slope_by_count, offset, offset_by_count) = np.split(theta, [n_others])
        fused = self.leading + np.float32(weights) @ self.others  # (n_pairs,)
        inputs = stretch(fused, self.scale)
        steepness = np.float32(slope) + np.float32(slope_by_count) * self.log_count
        logits = steepness * inputs + np.float32(offset_by_count) * self.log_count
        logits += np.float32(offset)
        chances = 0.5 * (1.0 + np.tanh(0.5 * logits))
        lost = np.logaddexp(0.0, logits) - self.is_true * logits
        by_logit = (self.stands_for * (chances - self.is_true)).astype(np.float64)
        # d arcsinh(u / s) / du = 1 / √(s² + u²), where u = m + 1
        by_margin = by_logit * steepness / np.hypot(self.scale, fused + 1.0)
        by_slope = by_logit * inputs
        gradient = np.array(
            [
                *(self.others @ by_margin),
                by_slope.sum(),
                by_slope @ self.log_count,
                by_logit.sum(),
                by_logit @ self.log_count,
            ]
        )
        start = np.concatenate([np.full(n_others, START), POOLED_START])
        precision = np.repeat([PRECISION, POOLED_PRECISION], [n_others, len(POOLED_START)])
        away = theta - start
        value = float(self.stands_for @ lost) + 0.5 * float(precision @ away**2)
        return value, gradient + precision * away
