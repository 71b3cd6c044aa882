"""A classifier by angle: what counts of an instance is its direction, not its length."""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize


class CosineClassifier(nn.Linear):
    """Logits s cos(r, w_j) + b_j, with one row w_j and one bias b_j a label.

    Without the bias every label would begin at a probability near one half.
    """

    scale: Tensor

    def __init__(
        self, feature_dim: int, n_labels: int, *, scale: float = 16.0, learns_scale: bool = False
    ) -> None:
        super().__init__(feature_dim, n_labels)
        self.scale = nn.Parameter(torch.tensor(scale), requires_grad=learns_scale)

    def cosines(self, instances: Tensor) -> Tensor:
        """Map (n_documents, feature_dim) to cosines (n_documents, n_labels)."""
        return normalize(instances, dim=1) @ normalize(self.weight, dim=1).T

    def logits(self, cosines: Tensor) -> Tensor:
        """Map cosines to logits, both (n_documents, n_labels)."""
        return self.scale * cosines + self.bias

    def forward(self, input: Tensor) -> Tensor:
        """Map instances (n_documents, feature_dim) to logits (n_documents, n_labels)."""
        return self.logits(self.cosines(input))
