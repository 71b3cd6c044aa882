"""Feature clouds (LEAP, Liu et al. 2020): tail instances spread in angle as far as head instances.

The angles between a label's documents and its centre vary much for a head label and little for a tail
label, of which there are few documents. In training every tail document is therefore turned away from
its label by a random angle that makes up for the difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from piran.training.loop import Hook, LoopState, apply_network
from piran.training.runtime import seeded_generator
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix

EPSILON = 1e-7
"""Keeps the slope of √(1 − cos²) finite."""


def widened_cosines(cosines: Tensor, angles: Tensor) -> Tensor:
    """Return cos(θ + a) from cos θ and a ≥ 0; where θ + a passes π it stays at −1.

    Written as cos θ cos a − sin θ sin a, whose slope is finite where that of arccos is not.
    """
    cos_a, sin_a = torch.cos(angles), torch.sin(angles)
    sines = torch.sqrt((1 - cosines.square()).clamp(min=0) + EPSILON)
    turned = cosines * cos_a - sines * sin_a
    is_past = (angles > torch.pi) | ((cos_a < -cosines) & (angles > 0))  # a > π − θ
    return torch.where(is_past, -torch.ones_like(turned), turned)


@dataclass(frozen=True, eq=False)
class AngleStatistics:
    """Where the documents of each label lie, as directions."""

    centres: FloatArray
    """Unit vectors (n_labels, feature_dim); zero for labels without a document."""
    variances: FloatArray
    """Variance of the angle between a label's documents and its centre, (n_labels,)."""

    @classmethod
    def of(
        cls,
        instances: FloatArray,
        targets: LabelMatrix,
        previous: "AngleStatistics | None" = None,
        momentum: float = 0.0,
    ) -> "AngleStatistics":
        """Measure instances (n_documents, feature_dim); ``previous`` counts ``momentum`` of the whole.

        A label with fewer than two documents has the variance 0.
        """
        directions = _unit(instances.astype(np.float64))
        centres = _unit(targets.T @ directions)  # (n_labels, feature_dim)
        if previous is not None:
            centres = _unit(momentum * previous.centres + (1 - momentum) * centres)
        entries = targets.tocoo()
        cosines = np.einsum("ed,ed->e", directions[entries.row], centres[entries.col])
        variances = _variances(np.arccos(cosines.clip(-1, 1)), entries.col, len(centres))
        statistics = cls(centres, variances)
        if previous is None:
            return statistics
        return replace(
            statistics, variances=momentum * previous.variances + (1 - momentum) * variances
        )

    def cloud_deviations(self, is_head: BoolArray, is_tail: BoolArray) -> FloatArray:
        """Return √max(σ_h² − σ_j², 0) for tail labels and 0 for others, (n_labels,).

        σ_h² is the mean variance of the head labels.
        """
        if not is_head.any():
            return np.zeros(len(self.variances))
        missing = np.maximum(self.variances[is_head].mean() - self.variances, 0)
        return np.where(is_tail, np.sqrt(missing), 0.0)


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))


def _variances(angles: FloatArray, labels: IntArray, n_labels: int) -> FloatArray:
    """Return the variance of the angles of each label, (n_labels,)."""
    counts = np.bincount(labels, minlength=n_labels)
    means = np.bincount(labels, angles, minlength=n_labels) / np.maximum(counts, 1)
    squares = np.bincount(labels, (angles - means[labels]) ** 2, minlength=n_labels)
    return np.asarray(squares / np.maximum(counts, 1))


class FeatureClouds(Hook):
    """Measures the angles before each epoch and draws clouds from what is missing to tail labels."""

    def __init__(
        self,
        extractor: nn.Module,
        token_ids: Sequence[IntArray],
        targets: LabelMatrix,
        groups: tuple[BoolArray, BoolArray],
        *,
        first_epoch: int,
        momentum: float,
        seed: int,
    ) -> None:
        self.extractor, self.token_ids, self.targets = extractor, token_ids, targets
        self.is_head, self.is_tail = groups
        self.first_epoch, self.momentum = first_epoch, momentum
        self.statistics: AngleStatistics | None = None
        self.deviations = torch.zeros(targets.shape[1])
        """Standard deviation of each label's cloud, (n_labels,); zero until ``first_epoch``."""
        # A generator of its own: dropout is the same with and without clouds.
        self._generator = seeded_generator(seed)

    def before_epoch(self, state: LoopState) -> None:
        """Measure the documents as the network sees them now."""
        if state.epoch < self.first_epoch:
            return
        instances = apply_network(self.extractor, self.token_ids, description="Measuring angles")
        self.statistics = AngleStatistics.of(
            instances, self.targets, self.statistics, self.momentum
        )
        deviations = self.statistics.cloud_deviations(self.is_head, self.is_tail)
        self.deviations = torch.from_numpy(deviations.astype(np.float32))

    def snapshot(self) -> dict[str, Tensor]:
        """Return what has been measured, and the state of the random numbers."""
        kept = {"deviations": self.deviations, "random": self._generator.get_state()}
        if self.statistics is not None:
            kept["centres"] = torch.from_numpy(self.statistics.centres)
            kept["variances"] = torch.from_numpy(self.statistics.variances)
        return kept

    def restore(self, snapshot: dict[str, Tensor]) -> None:
        """Take up what :meth:`snapshot` returned."""
        self.deviations = snapshot["deviations"]
        self._generator.set_state(snapshot["random"])
        self.statistics = None
        if "centres" in snapshot:
            centres, variances = snapshot["centres"].numpy(), snapshot["variances"].numpy()
            self.statistics = AngleStatistics(centres, variances)

    def angles(self, targets: Tensor) -> Tensor:
        """Draw |a| for each document's tail labels, and 0 elsewhere: (n_documents, n_labels)."""
        drawn = torch.randn(targets.shape, generator=self._generator).abs() * self.deviations
        return drawn.to(targets.device) * targets
