"""L2-regularised logistic regression for many labels at once, to convergence.

One-vs-rest problems share their instances, so one pass of two matrix products serves all labels. Each
label is its own convex problem with its own L-BFGS history and step length; labels that have converged
leave the pass. The objective of label j, with weights w and an unregularised bias b, is

    Σ_i BCE(w·rᵢ + b, yᵢⱼ)  +  v Σ_z BCE(w·gⱼ_z + b, 1)  +  λ/2 ‖w‖²

where the second sum runs over positives of label j alone (its generated instances) and is optional.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from piran.errors import SettingError
from piran.rows import LinearRows
from piran.types import FloatArray, LabelMatrix

MAX_ITERATIONS = 200
TOLERANCE = 0.02
"""Norm of the gradient at which a label is done; one document pulls with a force of at most ‖r‖."""
HISTORY = 8
LABELS_AT_ONCE = 256
"""Bounds the memory of one pass: O(n_documents · LABELS_AT_ONCE)."""


@dataclass(frozen=True, eq=False)
class OwnPositives:
    """Additional positives that only their own label sees."""

    values: FloatArray
    """Shape (n_labels, n_own, feature_dim)."""
    weight: float
    """What one of them counts, a real document counting 1."""


def fit_rows(
    instances: FloatArray,
    targets: LabelMatrix,
    *,
    l2: float,
    start: LinearRows | None = None,
    own_positives: OwnPositives | None = None,
) -> LinearRows:
    """Fit one row and bias a label.

    ``instances`` has shape (n_documents, feature_dim), ``targets`` (n_documents, n_labels). ``start`` is
    where the search begins; the optimum does not depend on it. Labels without any positive get a zero
    row and a bias of −∞, hence the score 0.
    """
    if not l2 > 0:
        raise SettingError(f"l2 must be above 0, or separable labels have no optimum; got {l2}.")
    features = torch.as_tensor(np.ascontiguousarray(instances))
    n_labels = targets.shape[1]
    fitted = [
        _fit_chunk(features, targets, columns, l2, start, own_positives)
        for columns in _chunks(n_labels)
    ]
    theta = torch.cat([features.new_zeros(0, features.shape[1] + 1), *fitted]).numpy()
    return LinearRows(theta[:, :-1], theta[:, -1])


def _chunks(n_labels: int) -> Iterator[slice]:
    for first in range(0, n_labels, LABELS_AT_ONCE):
        yield slice(first, min(first + LABELS_AT_ONCE, n_labels))


def _fit_chunk(
    features: Tensor,
    targets: LabelMatrix,
    columns: slice,
    l2: float,
    start: LinearRows | None,
    own_positives: OwnPositives | None,
) -> Tensor:
    """Return (n_chunk, feature_dim + 1): rows with their bias last."""
    dense = torch.as_tensor(targets[:, columns].toarray()).to(
        features.dtype
    )  # (n_documents, n_chunk)
    own, weight = None, 0.0
    if own_positives is not None:
        own = torch.as_tensor(own_positives.values[columns]).to(features.dtype)
        weight = own_positives.weight
    problem = _Problem(features, dense, l2, own, weight)
    theta = problem.start(None if start is None else start[columns])
    theta = _minimise(problem, theta)
    has_positive = problem.positive_weight() > 0
    theta[~has_positive] = 0.0
    theta[~has_positive, -1] = -torch.inf
    return theta


class _Problem:
    """The objective of a set of labels, its value and gradient."""

    def __init__(
        self, features: Tensor, targets: Tensor, l2: float, own: Tensor | None, own_weight: float
    ) -> None:
        self.features, self.targets, self.l2 = features, targets, l2
        self.own, self.own_weight = own, own_weight

    def positive_weight(self) -> Tensor:
        """Weight of all positives of each label, shape (n_labels,)."""
        n_own = 0 if self.own is None else self.own.shape[1]
        return self.targets.sum(dim=0) + self.own_weight * n_own

    def start(self, rows: LinearRows | None) -> Tensor:
        """Return (n_labels, feature_dim + 1): the given rows, or zeros with the prior as bias."""
        n_labels = self.targets.shape[1]
        theta = self.features.new_zeros(n_labels, self.features.shape[1] + 1)
        prior = ((self.positive_weight() + 0.5) / (len(self.features) + 1.0)).clamp(max=0.99)
        theta[:, -1] = torch.logit(prior)
        if rows is not None:
            usable = torch.as_tensor(np.isfinite(rows.bias))
            theta[usable, :-1] = torch.as_tensor(rows.rows).to(theta.dtype)[usable]
            theta[usable, -1] = torch.as_tensor(rows.bias).to(theta.dtype)[usable]
        return theta

    def select(self, kept: Tensor) -> "_Problem":
        """Return the problem of the labels where ``kept`` is true."""
        own = None if self.own is None else self.own[kept]
        return _Problem(self.features, self.targets[:, kept], self.l2, own, self.own_weight)

    def value_and_gradient(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objective (n_labels,) and its gradient (n_labels, feature_dim + 1)."""
        weight, bias = theta[:, :-1], theta[:, -1]
        logits = torch.addmm(bias, self.features, weight.T)  # (n_documents, n_labels)
        value = (softplus(logits) - self.targets * logits).sum(dim=0)
        residual = torch.sigmoid_(logits).sub_(self.targets)  # (n_documents, n_labels)
        gradient = torch.empty_like(theta)
        torch.mm(residual.T, self.features, out=gradient[:, :-1])
        gradient[:, -1] = residual.sum(dim=0)
        if self.own is not None:
            own_logits = torch.bmm(self.own, weight[:, :, None])[:, :, 0] + bias[:, None]
            value += self.own_weight * softplus(-own_logits).sum(dim=1)
            pull = -self.own_weight * torch.sigmoid(-own_logits)  # (n_labels, n_own)
            gradient[:, :-1] += torch.bmm(pull[:, None, :], self.own)[:, 0, :]
            gradient[:, -1] += pull.sum(dim=1)
        value += 0.5 * self.l2 * weight.square().sum(dim=1)
        gradient[:, :-1] += self.l2 * weight
        return value, gradient


def _minimise(problem: _Problem, theta: Tensor) -> Tensor:
    """Run L-BFGS on every label until the norm of its gradient is below TOLERANCE."""
    result = theta.clone()
    active = torch.arange(len(theta))
    value, gradient = problem.value_and_gradient(theta)
    history: deque[tuple[Tensor, Tensor]] = deque(maxlen=HISTORY)
    for _ in range(MAX_ITERATIONS):
        kept = gradient.norm(dim=1) > TOLERANCE
        if not bool(kept.all()):
            result[active] = theta
            if not bool(kept.any()):
                break
            active, theta, value, gradient = active[kept], theta[kept], value[kept], gradient[kept]
            problem = problem.select(kept)
            history = deque(((s[kept], y[kept]) for s, y in history), maxlen=HISTORY)
        direction = _lbfgs_direction(gradient, history)
        new_theta, new_value, new_gradient = _line_search(
            problem, theta, value, gradient, direction
        )
        history.append((new_theta - theta, new_gradient - gradient))
        theta, value, gradient = new_theta, new_value, new_gradient
    result[active] = theta
    return result


def _lbfgs_direction(gradient: Tensor, history: deque[tuple[Tensor, Tensor]]) -> Tensor:
    """Two-loop recursion for every label at once; pairs without curvature are passed over."""
    direction = -gradient
    coefficients = []
    for step, change in reversed(history):
        curvature = (step * change).sum(dim=1)
        scale = torch.where(curvature > 1e-10, 1.0 / curvature.clamp(min=1e-10), 0.0)
        coefficient = scale * (step * direction).sum(dim=1)
        direction = direction - coefficient[:, None] * change
        coefficients.append((scale, coefficient))
    if history:
        step, change = history[-1]
        size = change.square().sum(dim=1)
        gamma = ((step * change).sum(dim=1) / size.clamp(min=1e-20)).clamp(min=1e-8)
        direction = direction * torch.where(size > 0, gamma, 1.0)[:, None]
    else:
        direction = direction / gradient.norm(dim=1, keepdim=True).clamp(min=1.0)
    for (step, change), (scale, coefficient) in zip(history, reversed(coefficients), strict=True):
        back = scale * (change * direction).sum(dim=1)
        direction = direction + (coefficient - back)[:, None] * step
    return direction


def _line_search(
    problem: _Problem, theta: Tensor, value: Tensor, gradient: Tensor, direction: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Halve the step of each label until its objective falls enough (Armijo); at most 20 times."""
    slope = (gradient * direction).sum(dim=1)
    uphill = slope >= 0
    direction = torch.where(uphill[:, None], -gradient, direction)
    slope = torch.where(uphill, -gradient.square().sum(dim=1), slope)
    length = torch.ones_like(value)
    # Rounding in a sum over n documents: below this, two values cannot be told apart.
    noise = 10 * torch.finfo(value.dtype).eps * value.abs()
    new_value, new_gradient = value, gradient
    for _ in range(20):
        candidate = theta + length[:, None] * direction
        new_value, new_gradient = problem.value_and_gradient(candidate)
        too_long = new_value > value + 1e-4 * length * slope + noise
        if not bool(too_long.any()):
            break
        length = torch.where(too_long, 0.5 * length, length)
    return candidate, new_value, new_gradient
