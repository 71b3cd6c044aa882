"""L2-regularised linear classifiers of many labels at once, to convergence.

One-vs-rest problems share their instances, so one pass of two matrix products serves all labels. Each
label is its own convex problem with its own L-BFGS history and step length; labels that have converged
leave the pass. L-BFGS starts from the Hessian's shape that all labels share (``_Shape``), which takes a
quarter of the passes. The objective of label j, with weights w and an unregularised bias b, is

    Σ_i loss(w·rᵢ + b, yᵢⱼ)  +  v Σ_z loss(w·gⱼ_z + b, 1)  +  λ/2 ‖w‖²

where the second sum runs over positives of label j alone (its generated instances) and is optional. Each
of them may stand for a whole normal distribution about it. Its term is then the expected loss, an
integral over one dimension, as w·g is normal with variance wᵀΣw; Gauss-Hermite quadrature takes it. The
loss is the paper's, binary cross-entropy, or that of a support vector machine, max(0, 1 − margin)².
Pairs of a document and a label may count more or less than one.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from piran.errors import SettingError
from piran.rows import LinearRows
from piran.types import FloatArray, LabelMatrix

MAX_ITERATIONS = 200
TOLERANCE = 1e-5
"""A label is done when its objective is estimated to be so close to the minimum (in nats)."""
HISTORY = 8
LABELS_AT_ONCE = 256
"""Bounds the memory of one pass: O(n_documents · LABELS_AT_ONCE)."""


LOGISTIC = "logistic"
SQUARED_HINGE = "squared-hinge"

Weights = Callable[[slice], FloatArray]
"""What each document counts for some labels, (n_documents, n_columns), by their columns."""
_Loss = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From margins against the truth, which it may overwrite, to the losses and their slopes."""
N_NODES = 16
"""Of the quadrature: exact for polynomials up to the degree 31. With 8, rows are off by a few percent
where generations differ much."""
_History = deque[tuple[Tensor, Tensor]]
"""Steps and the changes of the gradient along them, oldest first, each (n_labels, feature_dim + 1)."""


@dataclass(frozen=True, eq=False)
class OwnPositives:
    """Additional positives that only their own label sees."""

    values: FloatArray
    """Shape (n_labels, n_own, feature_dim)."""
    weight: float
    """What one of them counts, a real document counting 1."""
    covariance: FloatArray | None = None
    """Σ, (feature_dim, feature_dim), of the normal distribution about each; None for the point itself."""


def fit_rows(
    instances: FloatArray,
    targets: LabelMatrix,
    *,
    l2: float,
    loss: str = LOGISTIC,
    start: LinearRows | None = None,
    own_positives: OwnPositives | None = None,
    weights: Weights | None = None,
) -> LinearRows:
    """Fit one row and bias a label.

    ``instances`` has shape (n_documents, feature_dim), ``targets`` (n_documents, n_labels). ``start`` is
    where the search begins; the optimum does not depend on it. Every document counts 1 for every label
    unless ``weights`` say otherwise. Labels without any positive get a zero row and a bias of −∞, hence
    the score 0.
    """
    if not l2 > 0:
        raise SettingError(f"l2 must be above 0, or separable labels have no optimum; got {l2}.")
    check_loss(loss)
    features = _tensor(instances)
    shape = _Shape.of(features, l2, loss)
    fitted = [
        _fit_chunk(shape, targets, columns, start, own_positives, weights)
        for columns in _chunks(targets.shape[1])
    ]
    theta = torch.cat([features.new_zeros(0, features.shape[1] + 1), *fitted]).numpy()
    return LinearRows(theta[:, :-1], theta[:, -1])


def balanced_weights(targets: LabelMatrix, balance: float) -> Weights | None:
    """Return weights by which the positives of a label count (negatives / positives) ** ``balance``.

    ``targets`` has shape (n_documents, n_labels). At 0, which needs no weights, a positive counts what a
    negative does; at 1 all positives together count what all negatives do.
    """
    check_balance(balance)
    if balance == 0:
        return None
    n_positive = np.maximum(np.asarray(targets.sum(axis=0)), 1.0)
    ratio = (np.maximum(targets.shape[0] - n_positive, 1.0) / n_positive) ** balance

    def weights(columns: slice) -> FloatArray:
        return np.where(targets[:, columns].toarray() > 0, ratio[columns], 1.0)

    return weights


def check_balance(balance: float) -> None:
    """Refuse what is neither 0, 1 nor between."""
    if not 0 <= balance <= 1:
        raise SettingError(f"balance must lie in 0 to 1, got {balance}.")


def check_loss(loss: str) -> None:
    """Refuse a loss that is not known."""
    if loss not in LOSSES:
        raise SettingError(f"row_loss must be one of {', '.join(LOSSES)}, got {loss!r}.")


def _logistic(against: Tensor) -> tuple[Tensor, Tensor]:
    """Binary cross-entropy, Equation (5), of logits times −1 where the label is true."""
    return softplus(against), torch.sigmoid_(against)


def _squared_hinge(against: Tensor) -> tuple[Tensor, Tensor]:
    """Loss of support vector machines: nothing beyond a margin of 1 on the right side."""
    short = against.add_(1).clamp_(min=0)
    return short.square(), short.mul_(2)


LOSSES: dict[str, _Loss] = {LOGISTIC: _logistic, SQUARED_HINGE: _squared_hinge}


def _tensor(array: FloatArray) -> Tensor:
    """Share the array's memory, or copy it where it is read-only, which torch does not support."""
    return torch.as_tensor(np.require(array, requirements=["C", "W"]))


def _chunks(n_labels: int) -> Iterator[slice]:
    for first in range(0, n_labels, LABELS_AT_ONCE):
        yield slice(first, min(first + LABELS_AT_ONCE, n_labels))


def _fit_chunk(
    shape: "_Shape",
    targets: LabelMatrix,
    columns: slice,
    start: LinearRows | None,
    own_positives: OwnPositives | None,
    weights: Weights | None,
) -> Tensor:
    """Return (n_chunk, feature_dim + 1): rows with their bias last."""
    dtype = shape.features.dtype
    dense = torch.as_tensor(targets[:, columns].toarray()).to(dtype)  # (n_documents, n_chunk)
    signs = dense.mul_(-2).add_(1)  # −1 where a document has the label
    own = None if own_positives is None else _Own.of(own_positives, columns, dtype)
    counts = None if weights is None else _tensor(weights(columns)).to(dtype)
    problem = _Problem(shape, signs, own, counts)
    theta = problem.start(None if start is None else start[columns])
    theta = _minimise(problem, theta)
    has_positive = problem.positive_weight() > 0
    theta[~has_positive] = 0.0
    theta[~has_positive, -1] = -torch.inf
    return theta


@dataclass(frozen=True, eq=False)
class _Shape:
    """The instances, and what the Hessians of all labels have in common.

    Label j's is Xᵀ Dⱼ X + λI with Dⱼ = diag(p(1 − p)). With p the same for all documents it is diagonal
    in the eigenvectors of the centred XᵀX, the bias then standing apart; that is a good guess of it. For
    the squared hinge Dⱼ is 2 where a margin falls short of 1 and 0 elsewhere; the same guess serves.
    """

    features: Tensor
    """Shape (n_documents, feature_dim)."""
    l2: float
    loss: str
    mean: Tensor
    """Mean document, (feature_dim,)."""
    values: Tensor
    """Eigenvalues of Σᵢ (rᵢ − mean)(rᵢ − mean)ᵀ, (feature_dim,)."""
    vectors: Tensor
    """Their eigenvectors as columns, (feature_dim, feature_dim)."""

    @classmethod
    def of(cls, features: Tensor, l2: float, loss: str) -> "_Shape":
        mean = features.mean(dim=0)
        gram = (features.T @ features).double() - len(features) * torch.outer(mean, mean).double()
        values, vectors = torch.linalg.eigh(gram)
        dtype = features.dtype
        return cls(features, l2, loss, mean, values.clamp(min=0).to(dtype), vectors.to(dtype))

    def divide(self, gradient: Tensor, curvature: Tensor) -> Tensor:
        """Return the guessed inverse Hessian times ``gradient``, both (n_labels, feature_dim + 1).

        ``curvature`` is the p(1 − p) of each label, (n_labels, 1).
        """
        bias = gradient[:, -1:]
        rotated = (gradient[:, :-1] - bias * self.mean) @ self.vectors  # (n_labels, feature_dim)
        weight = (rotated / (curvature * self.values + self.l2)) @ self.vectors.T
        bias = bias / (curvature * len(self.features)) - (weight @ self.mean)[:, None]
        return torch.cat([weight, bias], dim=1)


@dataclass(frozen=True, eq=False)
class _Own:
    """Positives of their own label alone, as tensors."""

    values: Tensor
    """Shape (n_labels, n_own, feature_dim)."""
    weight: float
    covariance: Tensor | None

    @classmethod
    def of(cls, own: OwnPositives, columns: slice, dtype: torch.dtype) -> "_Own":
        values = _tensor(own.values[columns]).to(dtype)
        covariance = None if own.covariance is None else _tensor(own.covariance).to(dtype)
        return cls(values, own.weight, covariance)

    def total_weight(self) -> float:
        """Weight of all of a label together."""
        return self.weight * self.values.shape[1]

    def select(self, kept: Tensor) -> "_Own":
        return _Own(self.values[kept], self.weight, self.covariance)

    def value_and_gradient(self, theta: Tensor, loss_of: _Loss) -> tuple[Tensor, Tensor]:
        """Return their part of the objective (n_labels,) and of its gradient, like ``theta``."""
        weight, bias = theta[:, :-1], theta[:, -1]
        logits = torch.bmm(self.values, weight[:, :, None])[:, :, 0] + bias[:, None]
        if self.covariance is None:
            losses, slopes = loss_of(logits.neg_())
            value, pull = losses.sum(dim=1), -slopes  # (n_labels,), (n_labels, n_own)
        else:
            turned = weight @ self.covariance  # (n_labels, feature_dim)
            spread = (
                (weight * turned).sum(dim=1).clamp(min=1e-12).sqrt()
            )  # of the logits, (n_labels,)
            nodes, shares = _quadrature(logits.dtype)
            at_nodes = logits[:, :, None] + spread[:, None, None] * nodes  # (…, N_NODES)
            losses, slopes = loss_of(at_nodes.neg_())
            value = (losses @ shares).sum(dim=1)
            pull = -(slopes @ shares)
        gradient = torch.empty_like(theta)
        gradient[:, :-1] = torch.bmm(pull[:, None, :], self.values)[:, 0, :]
        gradient[:, -1] = pull.sum(dim=1)
        if self.covariance is not None:
            widening = -(slopes @ (shares * nodes)).sum(dim=1)  # by the spread, (n_labels,)
            gradient[:, :-1] += (widening / spread)[:, None] * turned
        return self.weight * value, self.weight * gradient


def _quadrature(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return nodes and shares, (N_NODES,), of the mean over a standard normal distribution."""
    nodes, shares = np.polynomial.hermite_e.hermegauss(N_NODES)
    return torch.as_tensor(nodes, dtype=dtype), torch.as_tensor(shares / shares.sum(), dtype=dtype)


class _Problem:
    """The objective of a set of labels, its value and gradient.

    ``signs`` (n_documents, n_labels) is −1 where a document has the label and 1 elsewhere, so that the
    loss is one of sign · logit: no difference of large numbers, and no second matrix. ``counts``, of the
    same shape, is what each pair counts; None for 1.
    """

    def __init__(
        self, shape: _Shape, signs: Tensor, own: _Own | None, counts: Tensor | None
    ) -> None:
        self.shape, self.signs, self.own, self.counts = shape, signs, own, counts

    def positive_weight(self) -> Tensor:
        """Weight of all positives of each label, shape (n_labels,)."""
        own = 0.0 if self.own is None else self.own.total_weight()
        if self.counts is None:
            return 0.5 * (len(self.signs) - self.signs.sum(dim=0)) + own
        return 0.5 * (self.counts - self.counts * self.signs).sum(dim=0) + own

    def prior(self) -> Tensor:
        """Share of the positives among all that a label sees, strictly between 0 and 1, (n_labels,)."""
        own = 0.0 if self.own is None else self.own.total_weight()
        total = len(self.signs) if self.counts is None else self.counts.sum(dim=0)
        return (self.positive_weight() + 0.5) / (total + own + 1.0)

    def start(self, rows: LinearRows | None) -> Tensor:
        """Return (n_labels, feature_dim + 1): the given rows, or zeros with the prior as bias."""
        n_labels, feature_dim = self.signs.shape[1], self.shape.features.shape[1]
        theta = self.signs.new_zeros(n_labels, feature_dim + 1)
        theta[:, -1] = torch.logit(self.prior())
        if rows is not None:
            usable = torch.as_tensor(np.isfinite(rows.bias))
            theta[usable, :-1] = _tensor(rows.rows).to(theta.dtype)[usable]
            theta[usable, -1] = _tensor(rows.bias).to(theta.dtype)[usable]
        return theta

    def select(self, kept: Tensor) -> "_Problem":
        """Return the problem of the labels ``kept``, a mask or positions."""
        own = None if self.own is None else self.own.select(kept)
        counts = None if self.counts is None else self.counts[:, kept]
        return _Problem(self.shape, self.signs[:, kept], own, counts)

    def precondition(self, gradient: Tensor) -> Tensor:
        """Return about the Newton step against ``gradient`` (n_labels, feature_dim + 1)."""
        prior = self.prior()[:, None]
        return self.shape.divide(gradient, prior * (1 - prior))

    def value_and_gradient(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objective (n_labels,) and its gradient (n_labels, feature_dim + 1)."""
        weight, bias, features = theta[:, :-1], theta[:, -1], self.shape.features
        loss_of = LOSSES[self.shape.loss]
        against = torch.addmm(bias, features, weight.T).mul_(self.signs)  # (n_documents, n_labels)
        losses, slopes = loss_of(against)
        if self.counts is not None:
            losses, slopes = losses * self.counts, slopes * self.counts
        value = losses.sum(dim=0)
        residual = slopes.mul_(self.signs)  # (n_documents, n_labels)
        gradient = torch.empty_like(theta)
        torch.mm(residual.T, features, out=gradient[:, :-1])
        gradient[:, -1] = residual.sum(dim=0)
        if self.own is not None:
            own_value, own_gradient = self.own.value_and_gradient(theta, loss_of)
            value += own_value
            gradient += own_gradient
        value += 0.5 * self.shape.l2 * weight.square().sum(dim=1)
        gradient[:, :-1] += self.shape.l2 * weight
        return value, gradient


def _minimise(problem: _Problem, theta: Tensor) -> Tensor:
    """Run L-BFGS on every label until it is within TOLERANCE of its minimum."""
    result = theta.clone()
    active = torch.arange(len(theta))
    value, gradient = problem.value_and_gradient(theta)
    history: _History = deque(maxlen=HISTORY)
    for _ in range(MAX_ITERATIONS):
        direction = _lbfgs_direction(problem, gradient, history)
        kept = _distance_to_minimum(problem, gradient, direction) > TOLERANCE
        if not bool(kept.all()):
            result[active] = theta
            active, theta, value, gradient = active[kept], theta[kept], value[kept], gradient[kept]
            problem, direction = problem.select(kept), direction[kept]
            history = deque(((s[kept], y[kept]) for s, y in history), maxlen=HISTORY)
        if not len(active):
            break
        new_theta, new_value, new_gradient = _line_search(
            problem, theta, value, gradient, direction
        )
        history.append((new_theta - theta, new_gradient - gradient))
        theta, value, gradient = new_theta, new_value, new_gradient
    result[active] = theta
    return result


def _distance_to_minimum(problem: _Problem, gradient: Tensor, direction: Tensor) -> Tensor:
    """Estimate how far each objective is above its minimum, shape (n_labels,).

    It is half of gᵀH⁻¹g for a quadratic. The shared shape overrates the Hessian of a label whose
    documents are told apart with certainty, and the steps taken so far know it only where they went; so
    the larger of the two estimates counts.
    """
    by_shape = (gradient * problem.precondition(gradient)).sum(dim=1)
    by_history = -(gradient * direction).sum(dim=1)
    return 0.5 * torch.maximum(by_shape, by_history)


def _lbfgs_direction(problem: _Problem, gradient: Tensor, history: _History) -> Tensor:
    """Two-loop recursion for every label at once; pairs without curvature are passed over."""
    direction = -gradient
    coefficients = []
    for step, change in reversed(history):
        curvature = (step * change).sum(dim=1)
        scale = torch.where(curvature > 1e-10, 1.0 / curvature.clamp(min=1e-10), 0.0)
        coefficient = scale * (step * direction).sum(dim=1)
        direction = direction - coefficient[:, None] * change
        coefficients.append((scale, coefficient))
    direction = problem.precondition(direction)
    if history:
        step, change = history[-1]
        size = (change * problem.precondition(change)).sum(dim=1)
        gamma = ((step * change).sum(dim=1) / size.clamp(min=1e-20)).clamp(min=1e-8)
        direction = direction * torch.where(size > 0, gamma, 1.0)[:, None]
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
    candidate = theta + direction
    new_value, new_gradient = problem.value_and_gradient(candidate)
    for _ in range(20):
        # Written so that a step into overflow, where the value is not a number, counts as too long.
        fell = new_value <= value + 1e-4 * length * slope + noise
        long = torch.nonzero(~fell)[:, 0]
        if not len(long):
            break
        length[long] *= 0.5
        candidate[long] = theta[long] + length[long, None] * direction[long]
        shorter = problem.select(long).value_and_gradient(candidate[long])
        new_value[long], new_gradient[long] = shorter
    return candidate, new_value, new_gradient
