"""The transfer loss (Section 3.3), one equation a function, in the moments of what it sums over.

Each term of the paper is a sum over all (tail label j, head label b, pair z). As every generated instance
is linear in W, the sums are quadratic in W and need only d × d moments: nothing of size
n_tail · n_head · n_pairs is ever formed. Sums become means, which changes none of the ratios. Writing
x = oʲ + cᵇ_z for the input of the generator, g = W x.
"""

from dataclasses import dataclass

import numpy as np

from piran.augment.relations import Relations
from piran.types import FloatArray


@dataclass(frozen=True, eq=False)
class TransferMoments:
    """Means over all (j, b, z), each of shape (feature_dim, feature_dim)."""

    prototype: FloatArray
    """E[o oᵀ]"""
    prototype_input: FloatArray
    """E[o xᵀ]"""
    input: FloatArray
    """E[x xᵀ]"""
    relation_spread: FloatArray
    """E[(c − c̄ᵇ)(c − c̄ᵇ)ᵀ], the spread of relations around the mean of their head label"""
    varied: FloatArray
    """What L_var acts on: E[x xᵀ], or E[c cᵀ] where it is to leave the prototype alone"""

    @classmethod
    def of(
        cls,
        prototype_mean: FloatArray,
        prototype_moment: FloatArray,
        relations: Relations,
        *,
        is_variance_centred: bool = False,
    ) -> "TransferMoments":
        """Combine the moments of prototypes and relations; every pair (o, c) counts once.

        ``is_variance_centred`` lets L_var act on g − W o, the relation's part of an instance. As
        published it acts on g: then it also takes from the prototype what lies outside the span of Q,
        which is where labels differ, Q being the directions in which documents of a label do.
        """
        relation_mean = relations.mean()
        cross = np.outer(prototype_mean, relation_mean)  # E[o cᵀ]: o and c are paired all with all
        both = prototype_moment + cross + cross.T + relations.second_moment()
        return cls(
            prototype=prototype_moment,
            prototype_input=prototype_moment + cross,
            input=both,
            relation_spread=relations.within_label_covariance(),
            varied=relations.second_moment() if is_variance_centred else both,
        )


@dataclass(frozen=True)
class TransferWeights:
    """The trade-offs of Equation (13): α, β, γ in the paper's setting."""

    generation: float = 1.0
    """α, the weight of generation consistency."""
    variance: float = 1.0
    """β, the weight of variance consistency."""
    diversity: float = 0.1
    """γ, the weight of diversity."""


def generation_consistency(transfer: FloatArray, moments: TransferMoments) -> float:
    """L_gen, Equation (9): mean of ‖oʲ − gʲᵇ_z‖². ``transfer`` is W, (feature_dim, feature_dim)."""
    return float(
        np.trace(moments.prototype)
        - 2 * np.sum(transfer * moments.prototype_input)
        + np.sum((transfer @ moments.input) * transfer)
    )


def diversity_penalty(
    transfer: FloatArray, moments: TransferMoments, directions: FloatArray
) -> float:
    """L_div, Equation (10): minus the mean of ‖Qᵀgʲᵇ_z − (1/p) Σ_z Qᵀgʲᵇ_z‖².

    The prototype cancels in the difference, so only the relations' spread is left.
    ``directions`` is Q, shape (feature_dim, n_directions).
    """
    projected = directions.T @ transfer  # (n_directions, feature_dim)
    return -float(np.sum((projected @ moments.relation_spread) * projected))


def variance_consistency(
    transfer: FloatArray, moments: TransferMoments, directions: FloatArray
) -> float:
    """L_var, Equation (11): mean of ‖Q Qᵀ gʲᵇ_z − gʲᵇ_z‖², what lies outside the span of Q.

    Where the moments say so, of g − W o instead of g.
    """
    outside = transfer - directions @ (directions.T @ transfer)  # (feature_dim, feature_dim)
    return float(np.sum((outside @ moments.varied) * outside))


def transfer_loss(
    transfer: FloatArray, moments: TransferMoments, directions: FloatArray, weights: TransferWeights
) -> float:
    """L_transfer, Equation (13): α L_gen + β L_var + γ L_div."""
    return (
        weights.generation * generation_consistency(transfer, moments)
        + weights.variance * variance_consistency(transfer, moments, directions)
        + weights.diversity * diversity_penalty(transfer, moments, directions)
    )


def transfer_gradient(
    transfer: FloatArray, moments: TransferMoments, directions: FloatArray, weights: TransferWeights
) -> FloatArray:
    """Gradient of :func:`transfer_loss` with respect to W, shape (feature_dim, feature_dim)."""
    inside = directions @ (directions.T @ transfer)  # P W
    gradient = weights.generation * (transfer @ moments.input - moments.prototype_input)
    gradient += weights.variance * ((transfer - inside) @ moments.varied)
    gradient -= weights.diversity * (inside @ moments.relation_spread)
    return 2 * gradient
