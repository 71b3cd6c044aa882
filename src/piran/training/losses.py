"""Losses that weigh rare labels up or easy ones down, and the choice between them.

Each gives one number for each document and label from its logit z and its target y ∈ {0, 1}; training
minimises their sum over labels, mean over documents. With its neutral parameters each of them is
binary cross-entropy.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from piran.data.batches import Batch
from piran.errors import SettingError
from piran.registry import suggestion
from piran.training.loop import BatchLoss
from piran.types import FloatArray, LabelMatrix

LOSSES = ("bce", "focal", "class-balanced", "distribution-balanced")
ALL_LABELS = slice(None)


@dataclass(kw_only=True, eq=False, repr=False)
class LossSettings:
    """Which loss a network is trained on; an estimator that offers the choice inherits these."""

    loss: str = "bce"
    """One of :data:`LOSSES`: binary cross-entropy, or a loss for long tails."""
    focal_gamma: float = 2.0
    """How much focal and distribution-balanced loss play down what is nearly right; 0: not at all."""
    focal_alpha: float = 0.5
    """Weight of positives in those two, against 1 − α of negatives; 0.5: equal."""
    class_balanced_beta: float = 0.9999
    """0: all labels weigh the same; towards 1: inversely to the number of their documents."""
    rebalance_alpha: float = 0.1
    """Least weight in distribution-balanced loss; 0.5 with ``rebalance_beta`` 0: no weights."""
    rebalance_beta: float = 10.0
    """How steeply that weight rises."""
    rebalance_gamma: float = 0.9
    """Where it rises."""
    negative_scale: float = 2.0
    """λ of distribution-balanced loss: how much sooner negatives are left alone; 1: no sooner."""
    prior_share: float = 0.05
    """κ of distribution-balanced loss: share of a label's log-odds added to its logits in training."""


class LabelLoss(Protocol):
    """A loss of all labels, or of some labels of each document."""

    def __call__(
        self, logits: Tensor, targets: Tensor, label_ids: Tensor | slice = ALL_LABELS
    ) -> Tensor:
        """Return losses of the shape of ``logits`` and ``targets``, (n_documents, n_labels).

        Where only some labels of each document are looked at, these are (n_documents, n_candidates),
        and so are ``label_ids``, which say whose they are; all positives must be among them.
        """


class BinaryCrossEntropy:
    """−y log σ(z) − (1−y) log σ(−z), Equation (5) of the paper."""

    def __call__(
        self, logits: Tensor, targets: Tensor, label_ids: Tensor | slice = ALL_LABELS
    ) -> Tensor:
        """Return losses (n_documents, n_labels)."""
        return binary_cross_entropy_with_logits(logits, targets, reduction="none")


@dataclass(frozen=True, eq=False)
class FocalLoss:
    """2 α_t (1 − p_t)^γ (−log p_t), where p_t = σ(z), α_t = α for y = 1 and σ(−z), 1 − α for y = 0.

    Lin et al. 2017; the factor 2 makes α = 0.5 and γ = 0 neutral.
    """

    gamma: float
    alpha: float

    def __call__(
        self, logits: Tensor, targets: Tensor, label_ids: Tensor | slice = ALL_LABELS
    ) -> Tensor:
        """Return losses (n_documents, n_labels)."""
        losses = binary_cross_entropy_with_logits(logits, targets, reduction="none")
        return self.weight(logits, targets) * losses

    def weight(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return 2 α_t (1 − p_t)^γ, through which the gradient passes too."""
        alpha_t = targets * self.alpha + (1 - targets) * (1 - self.alpha)
        towards_error = logits * (1 - 2 * targets)  # 1 − p_t is its sigmoid
        return 2 * alpha_t * torch.exp(self.gamma * logsigmoid(towards_error))


@dataclass(frozen=True, eq=False)
class ClassBalancedLoss:
    """w_j times cross-entropy, with w_j ∝ (1−β) / (1−β^n_j) for a label of n_j documents, mean 1.

    Cui et al. 2019: (1−β^n)/(1−β) is the effective number of n documents that overlap. A label
    without a document weighs as much as one with one. β = 0 is neutral.
    """

    weights: Tensor
    """Shape (n_labels,)."""

    @classmethod
    def from_counts(cls, counts: Tensor, beta: float) -> "ClassBalancedLoss":
        """Weigh labels by their training documents, (n_labels,)."""
        weights = (1 - beta) / (1 - beta ** counts.double().clamp(min=1))
        return cls((weights / weights.mean()).float())

    def __call__(
        self, logits: Tensor, targets: Tensor, label_ids: Tensor | slice = ALL_LABELS
    ) -> Tensor:
        """Return losses (n_documents, n_labels)."""
        losses = binary_cross_entropy_with_logits(logits, targets, reduction="none")
        return self.weights.to(logits.device)[label_ids] * losses


@dataclass(frozen=True, eq=False)
class DistributionBalancedLoss:
    """w_j times a negative-tolerant focal loss; Wu et al. 2020, Huang et al. 2021.

    With n_j of n documents, w_j = α + σ(β (r_j − γ)) and r_j = (1/n_j) / Σ_k y_k/n_k undo that a
    document with frequent labels counts for its rare ones (r = 1 for a document without labels). With
    z' = z − κ log(n/n_j − 1), the rest is focal loss of z' for positives, and 1/λ of that of λz' for
    negatives. Neutral: α = 0.5 and β = 0, λ = 1, κ = 0, and neutral focal loss.
    """

    counts: Tensor
    """n_j, shape (n_labels,), at least 1."""
    prior: Tensor
    """−κ log(n/n_j − 1), shape (n_labels,)."""
    focal: FocalLoss
    alpha: float
    beta: float
    gamma: float
    negative_scale: float

    def __call__(
        self, logits: Tensor, targets: Tensor, label_ids: Tensor | slice = ALL_LABELS
    ) -> Tensor:
        """Return losses (n_documents, n_labels)."""
        shifted = logits + self.prior.to(logits.device)[label_ids]
        scale = targets + (1 - targets) * self.negative_scale  # λ for negatives, 1 for positives
        weights = self.rebalance_weight(targets, self.counts.to(logits.device)[label_ids])
        return weights / scale * self.focal(shifted * scale, targets)

    def rebalance_weight(self, targets: Tensor, counts: Tensor) -> Tensor:
        """Return w, (n_documents, n_labels)."""
        rates = 1 / counts
        repeats = (targets * rates).sum(dim=1, keepdim=True)  # (n_documents, 1)
        ratio = torch.where(repeats > 0, rates / repeats, torch.ones_like(repeats))
        return self.alpha + torch.sigmoid(self.beta * (ratio - self.gamma))


def label_loss(settings: LossSettings, targets: LabelMatrix | FloatArray) -> LabelLoss:
    """Return the loss that the settings name, for the labels of these training targets."""
    check_loss(settings)
    counts = torch.from_numpy(np.asarray(targets.sum(axis=0), dtype=np.float32).ravel())
    focal = FocalLoss(settings.focal_gamma, settings.focal_alpha)
    if settings.loss == "focal":
        return focal
    if settings.loss == "class-balanced":
        return ClassBalancedLoss.from_counts(counts, settings.class_balanced_beta)
    if settings.loss == "distribution-balanced":
        n_documents = targets.shape[0]
        known = counts.clamp(min=1, max=n_documents - 0.5)  # finite for labels of none and of all
        return DistributionBalancedLoss(
            counts=known,
            prior=-settings.prior_share * torch.log(n_documents / known - 1),
            focal=focal,
            alpha=settings.rebalance_alpha,
            beta=settings.rebalance_beta,
            gamma=settings.rebalance_gamma,
            negative_scale=settings.negative_scale,
        )
    return BinaryCrossEntropy()


def loss_of_batches(loss: LabelLoss) -> BatchLoss:
    """Return the loss of a batch for the training loop: summed over labels, mean over documents."""

    def of_batch(network: nn.Module, batch: Batch, targets: Tensor) -> Tensor:
        logits = network(batch.token_ids, batch.lengths)  # (n_documents, n_labels)
        return loss(logits, targets).sum() / len(targets)

    return of_batch


def check_loss(settings: LossSettings) -> None:
    """Refuse an unknown loss, and parameters out of range."""
    if settings.loss not in LOSSES:
        raise SettingError(
            f"Unknown loss {settings.loss!r}. {suggestion(settings.loss, [*LOSSES])}"
        )
    bounds = {
        "focal_gamma": (0.0, np.inf),
        "focal_alpha": (0.0, 1.0),
        "class_balanced_beta": (0.0, 1 - 1e-9),
        "negative_scale": (1e-3, np.inf),
    }
    for name, (least, most) in bounds.items():
        value = getattr(settings, name)
        if not least <= value <= most:
            raise SettingError(f"{name} must lie in {least:g} to {most:g}, got {value}.")
