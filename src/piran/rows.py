"""The linear classifier that every stage shares: one row and one bias a label."""

from dataclasses import dataclass

import numpy as np

from piran.errors import DataError
from piran.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class LinearRows:
    """W_a of the paper, Equation (4), with a bias: logits are ``instances @ rows.T + bias``."""

    rows: FloatArray
    """Shape (n_labels, feature_dim)."""
    bias: FloatArray
    """Shape (n_labels,); zeros where the classifier has none, −∞ for a label that is never given."""

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or self.bias.shape != self.rows.shape[:1]:
            raise DataError(
                "A linear classifier needs rows (n_labels, feature_dim) and bias (n_labels,), "
                f"got {self.rows.shape} and {self.bias.shape}."
            )

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, label_ids: slice | IntArray) -> "LinearRows":
        """Return the rows of some labels."""
        return LinearRows(self.rows[label_ids], self.bias[label_ids])

    def logits(self, instances: FloatArray) -> FloatArray:
        """Return (n_documents, n_labels)."""
        return np.asarray(instances @ self.rows.T + self.bias)

    def probabilities(self, instances: FloatArray) -> FloatArray:
        """Return sigmoid of the logits, Equation (4), (n_documents, n_labels)."""
        return sigmoid(self.logits(instances))

    def moved(self, by: FloatArray) -> "LinearRows":
        """Return the classifier that gives instances moved ``by`` (feature_dim,) the logits of before."""
        return LinearRows(self.rows, self.bias - self.rows @ by.astype(self.rows.dtype))

    def blended(self, other: "LinearRows", share: float) -> "LinearRows":
        """Return rows whose logits are those of ``other`` by this share, and these by the rest."""
        if share in (0.0, 1.0):  # −∞ times nothing would be no number
            return other if share else self
        rows = (1 - share) * self.rows + share * other.rows
        return LinearRows(rows, (1 - share) * self.bias + share * other.bias)

    def replaced(self, label_ids: IntArray, rows: "LinearRows") -> "LinearRows":
        """Return a copy with other rows for some labels: W_a = cat[W_head : Ŵ_tail], Equation (15)."""
        weight, bias = self.rows.copy(), self.bias.copy()
        weight[label_ids], bias[label_ids] = rows.rows, rows.bias
        return LinearRows(weight, bias)


def sigmoid(logits: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(−logits)), Equation (4)."""
    # tanh keeps the precision of both tails and cannot overflow
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)))
