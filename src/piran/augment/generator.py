"""The instance generator (Section 3.3): g = W(o + c), with W learned exactly or by Adam."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csc_array, diags_array

from piran.augment.losses import (
    TransferMoments,
    TransferWeights,
    transfer_gradient,
)
from piran.errors import NoMinimumError, SettingError
from piran.types import BoolArray, FloatArray, LabelMatrix

ENERGY = 0.95
MAX_DIRECTIONS = 100


@dataclass(frozen=True, eq=False)
class InstanceGenerator:
    """A learned map W that turns prototype + relation into a new instance of a tail label."""

    transfer: FloatArray
    """W, shape (feature_dim, feature_dim)."""

    def generate(self, prototypes: FloatArray, relations: FloatArray) -> FloatArray:
        """Return g = W(o + c), Equation (8), for arrays of shape (…, feature_dim)."""
        return (prototypes + relations) @ self.transfer.T.astype(prototypes.dtype)

    @classmethod
    def identity(cls, feature_dim: int) -> "InstanceGenerator":
        """W = I: relations are added as they are (the ablation Aug-w/o-C)."""
        return cls(np.eye(feature_dim))

    @classmethod
    def exact(
        cls, moments: TransferMoments, directions: FloatArray, weights: TransferWeights
    ) -> "InstanceGenerator":
        """Solve for the W at which the gradient of the transfer loss is zero.

        The loss splits along P = Q Qᵀ. With A = α E[xxᵀ] − γ E[(c − c̄)(c − c̄)ᵀ],

            W = α P E[oxᵀ] A⁻¹ + α (I − P) E[oxᵀ] B⁻¹

        and B = α E[xxᵀ] + β V, where V is what L_var acts on: with V = E[xxᵀ], as published, the second
        term is α/(α + β) (I − P) E[oxᵀ] E[xxᵀ]⁻¹.
        Where the instances span only a part of the space, the inverse is the pseudo-inverse: nothing
        is said about directions in which there is no data, and W is zero there.
        """
        raise_without_minimum(moments, directions, weights)
        alpha, beta, gamma = weights.generation, weights.variance, weights.diversity
        inner = alpha * moments.input - gamma * moments.relation_spread
        inside = alpha * _divide(moments.prototype_input, inner)
        outer = alpha * moments.input + beta * moments.varied
        outside = alpha * _divide(moments.prototype_input, outer)
        return cls(outside + directions @ (directions.T @ (inside - outside)))

    @classmethod
    def adam(
        cls,
        moments: Iterable[TransferMoments],
        directions: FloatArray,
        weights: TransferWeights,
        *,
        n_steps: int = 3000,
        learning_rate: float = 0.01,
    ) -> "InstanceGenerator":
        """Minimise the transfer loss by Adam from W = I, as Algorithm 1 does.

        ``moments`` gives one set of moments a step: those of newly drawn prototypes, or the same ones
        again. The learning rate falls to zero along a cosine, or the last digits would keep moving.
        """
        transfer = np.eye(len(directions))
        first, second = np.zeros_like(transfer), np.zeros_like(transfer)
        for step, current in enumerate(islice(moments, n_steps), start=1):
            if step == 1:
                raise_without_minimum(current, directions, weights)
            gradient = transfer_gradient(transfer, current, directions, weights)
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            rate = learning_rate * 0.5 * (1 + np.cos(np.pi * (step - 1) / n_steps))
            scale = np.sqrt(second / (1 - 0.999**step)) + 1e-12
            transfer = transfer - rate * (first / (1 - 0.9**step)) / scale
        return cls(transfer)


def head_directions(
    instances: FloatArray,
    targets: LabelMatrix,
    is_head: BoolArray,
    n_directions: int | None = None,
    max_directions: int | None = MAX_DIRECTIONS,
) -> FloatArray:
    """Return Q: leading eigenvectors of the head labels' pooled covariance, Equation (12).

    Every (label, document) pair counts once, centred on the label's own prototype. Without
    ``n_directions`` the fewest eigenvectors are taken that hold 95 % of the variance, at most
    ``max_directions`` (None: as many as it takes); the paper's literal "top 100" spans the whole space
    at its own d = 100, and then L_var is zero.
    Shape (feature_dim, n_directions).
    """
    if n_directions is not None and n_directions < 0:
        raise SettingError(f"n_directions must not be negative, got {n_directions}.")
    values, vectors = eigh(_pooled_covariance(instances, targets, is_head))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]  # largest first
    if n_directions is None:
        energy = np.cumsum(values) / max(values.sum(), np.finfo(float).tiny)
        n_directions = min(int(np.searchsorted(energy, ENERGY)) + 1, max_directions or len(values))
    return np.asarray(vectors[:, : min(n_directions, len(values))])


def raise_without_minimum(
    moments: TransferMoments, directions: FloatArray, weights: TransferWeights
) -> None:
    """Raise :class:`NoMinimumError` if the transfer loss falls without end in some direction.

    L_div rewards spread inside the span of Q without limit; only L_gen holds it back. The loss has a
    minimum if α E[xxᵀ] − γ E[(c − c̄)(c − c̄)ᵀ] has no negative eigenvalue. α ≥ γ is always enough.
    """
    alpha, beta, gamma = weights.generation, weights.variance, weights.diversity
    hint = "Choose diversity_weight at most generation_weight (the paper: 0.1 and 1)."
    if alpha < 0 or beta < 0 or alpha + beta <= 0:
        raise NoMinimumError(
            "The transfer loss has no single minimum: generation_weight and variance_weight must not be "
            f"negative and not both zero, got {alpha} and {beta}. {hint}"
        )
    if directions.shape[1] == 0 or gamma <= 0:
        return
    curvature = alpha * moments.input - gamma * moments.relation_spread
    lowest = float(eigh(curvature, eigvals_only=True, subset_by_index=[0, 0])[0])
    if lowest < -1e-9 * float(np.trace(moments.input)):
        raise NoMinimumError(
            f"The transfer loss has no minimum: with generation_weight={alpha:g} and "
            f"diversity_weight={gamma:g} spreading the generated instances pays without limit "
            f"(lowest curvature {lowest:.3g}, expected at least 0). {hint}"
        )


def _pooled_covariance(
    instances: FloatArray, targets: LabelMatrix, is_head: BoolArray
) -> FloatArray:
    """Σ_b Σ_i (rᵢ − oᵇ)(rᵢ − oᵇ)ᵀ over head labels b and their documents i."""
    members = csc_array(targets[:, np.flatnonzero(is_head)])
    rows = instances.astype(np.float64)
    sums = members.T @ rows  # (n_head, feature_dim)
    counts = np.maximum(np.diff(members.indptr), 1)
    weight = np.asarray(members.sum(axis=1))  # head labels of each document
    return np.asarray(rows.T @ (diags_array(weight) @ rows) - (sums / counts[:, None]).T @ sums)


def _divide(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return numerator · denominator⁻¹ for a positive semi-definite denominator (pseudo-inverse)."""
    values, vectors = eigh(denominator)
    kept = values > len(values) * np.finfo(np.float64).eps * max(values[-1], 0.0)
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return ((numerator @ vectors) * inverse) @ vectors.T
