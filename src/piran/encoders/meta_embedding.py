"""Dynamic meta-embedding (OLTR, Liu et al. 2019): instances joined with a memory of all labels.

The original stands on images and single labels. Here its spatial attention is left to the attention
over words, and each label has a bias of its own.
"""

import numpy as np
import torch
from torch import Tensor, nn

from piran.encoders.cosine import CosineClassifier
from piran.types import BoolArray, FloatArray, LabelMatrix

REACH = 10.0
NEAREST = 1e-3
"""Least distance that reachability divides by."""


class MetaEmbedding(nn.Module):
    """v = reach · (r + e ⊙ oM): an instance, what the memory M adds to it, and how near it is to M."""

    is_known: Tensor

    def __init__(self, feature_dim: int, n_labels: int) -> None:
        super().__init__()
        self.memory = nn.Parameter(torch.zeros(n_labels, feature_dim))
        """M: a centroid for each label."""
        self.hallucinator = nn.Linear(feature_dim, n_labels)
        self.selector = nn.Linear(feature_dim, feature_dim)
        self.register_buffer("is_known", torch.ones(n_labels, dtype=torch.bool))

    def begin(self, centroids: FloatArray, is_known: BoolArray, classifier: nn.Linear) -> None:
        """Start from the labels' mean instances and the rows of stage 1.

        Labels that are not known (no training document) take no part in the memory.
        """
        with torch.no_grad():
            self.memory.copy_(torch.from_numpy(centroids))
            self.is_known.copy_(torch.from_numpy(is_known))
            self.hallucinator.weight.copy_(classifier.weight)
            self.hallucinator.bias.copy_(classifier.bias)

    def coefficients(self, instances: Tensor) -> Tensor:
        """Return o, the share of each label's centroid: (n_documents, n_labels), rows sum to 1."""
        energies = self.hallucinator(instances).masked_fill(~self.is_known, -torch.inf)
        return torch.softmax(energies, dim=1)

    def distances(self, instances: Tensor) -> Tensor:
        """Return ‖r − M_j‖, (n_documents, n_labels); infinite for labels that are not known."""
        # Through matrix products a small distance would depend on the size of the batch.
        exact = torch.cdist(instances, self.memory, compute_mode="donot_use_mm_for_euclid_dist")
        return exact.masked_fill(~self.is_known, torch.inf)

    def reach(self, instances: Tensor) -> Tensor:
        """Return 10 / min_j ‖r − M_j‖, (n_documents, 1): large for what is like a label seen before."""
        nearest = self.distances(instances).amin(dim=1, keepdim=True)
        return REACH / nearest.clamp(min=NEAREST)

    def forward(self, instances: Tensor) -> Tensor:
        """Map r to v, both (n_documents, feature_dim)."""
        recalled = self.coefficients(instances) @ self.memory  # (n_documents, feature_dim)
        chosen = torch.tanh(self.selector(instances)) * recalled  # e ⊙ oM
        return self.reach(instances) * (instances + chosen)


class MetaEmbeddingNetwork(nn.Module):
    """Extractor, meta-embedding and a cosine classifier whose strength grows with ‖v‖.

    Logits are s · ‖v‖ / (1 + ‖v‖) · cos(v, w_j) + b_j; without a memory v is r itself.
    """

    def __init__(
        self, extractor: nn.Module, feature_dim: int, n_labels: int, *, has_memory: bool = True
    ) -> None:
        super().__init__()
        self.extractor = extractor
        self.has_memory = has_memory
        self.meta_embedding = MetaEmbedding(feature_dim, n_labels)
        self.classifier = CosineClassifier(feature_dim, n_labels)

    def logits(self, instances: Tensor) -> Tensor:
        """Map instances r (n_documents, feature_dim) to logits (n_documents, n_labels)."""
        joined = self.meta_embedding(instances) if self.has_memory else instances
        length = joined.norm(dim=1, keepdim=True)  # (n_documents, 1)
        return self.classifier.logits(length / (1 + length) * self.classifier.cosines(joined))

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Map (n_documents, length) to logits (n_documents, n_labels)."""
        return self.logits(self.extractor(token_ids, lengths))


def mean_instances(instances: FloatArray, targets: LabelMatrix) -> FloatArray:
    """Return each label's mean document, (n_labels, feature_dim); zero for labels without any."""
    counts = np.asarray(targets.sum(axis=0)).ravel()  # (n_labels,)
    sums = targets.T @ instances  # (n_labels, feature_dim)
    return np.asarray(sums / np.maximum(counts, 1)[:, None], dtype=np.float32)


def memory_loss(distances: Tensor, targets: Tensor, *, margin: float, repel: float) -> Tensor:
    """½ mean ‖r − M_y‖² over a document's labels, plus ``repel`` · max(0, margin − mean ‖r − M_k‖²).

    The first mean is over labels and then documents, the second over all labels that documents do not
    have. ``distances`` (n_documents, n_labels) are infinite where a label takes no part.
    """
    takes_part = torch.isfinite(distances)
    squared = distances.masked_fill(~takes_part, 0.0).square()
    positives = targets * takes_part  # (n_documents, n_labels)
    negatives = (1 - targets) * takes_part
    attract = (squared * positives).sum(dim=1) / positives.sum(dim=1).clamp(min=1)
    apart = (squared * negatives).sum() / negatives.sum().clamp(min=1)
    return 0.5 * attract.mean() + repel * torch.relu(margin - apart)
