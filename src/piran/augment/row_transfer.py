"""From prototypes to classifier rows (HTTN, Xiao et al. 2021).

A head label has a row learned from many documents, and prototypes of a few. The map T from one to the
other is learned on the head labels and then gives tail labels, which have prototypes alone, their rows.
These may then be fine-tuned on documents of the tail labels.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from piran.augment.prototypes import Prototypes
from piran.errors import SettingError
from piran.training.runtime import seeded
from piran.types import FloatArray, IntArray, LabelMatrix

SOLVERS = ("exact", "adam")
ADAM_LEARNING_RATE = 0.01
ADAM_EPOCHS = 8


def drawn_prototypes(
    prototypes: Prototypes, n_draws: int, random: np.random.Generator
) -> FloatArray:
    """Draw prototypes of every label and bring them to length 1: (n_draws, n_labels, feature_dim)."""
    drawn = np.stack(
        [prototypes.sample(label, n_draws, random) for label in range(len(prototypes.counts))],
        axis=1,
    )  # (n_draws, n_labels, feature_dim)
    lengths = np.linalg.norm(drawn, axis=2, keepdims=True)
    return np.asarray(drawn / np.maximum(lengths, 1e-12))


def drawn_documents(prototypes: Prototypes, n_draws: int, random: np.random.Generator) -> IntArray:
    """Return the indices of the documents of ``n_draws`` prototypes of every label, repeated as drawn.

    A label with many documents fills its draws with others each time, one with few with the same.
    """
    members = np.split(prototypes.members.indices, prototypes.members.indptr[1:-1])
    draws = [
        random.choice(documents, min(prototypes.n_documents, len(documents)), replace=False)
        for documents in members
        for _ in range(n_draws)
    ]
    return np.concatenate(draws).astype(np.int64)


def fine_tuned(
    rows: FloatArray,
    instances: FloatArray,
    targets: LabelMatrix,
    documents: IntArray,
    *,
    n_passes: int,
    learning_rate: float,
    batch_size: int,
    random: np.random.Generator,
) -> FloatArray:
    """Fit rows to documents, each set of them by itself, with Adam and binary cross-entropy.

    ``rows`` has shape (n_sets, n_labels, feature_dim), ``instances`` (n_documents, feature_dim),
    ``targets`` (n_documents, n_labels); ``documents`` are the indices that a pass goes through.
    """
    # One matrix, (n_sets · n_labels, feature_dim): a single product is faster than one for each set
    weight = torch.tensor(rows, dtype=torch.float32).flatten(0, 1).requires_grad_()
    optimizer = torch.optim.Adam([weight], lr=learning_rate, betas=(0.9, 0.99), fused=True)
    for _ in range(n_passes):
        order = random.permutation(documents)
        for first in range(0, len(order), batch_size):
            batch = order[first : first + batch_size]
            truth = torch.from_numpy(targets[batch].toarray().astype(np.float32))
            logits = torch.from_numpy(instances[batch]) @ weight.T  # (n_batch, n_sets · n_labels)
            optimizer.zero_grad()
            loss = binary_cross_entropy_with_logits(logits, truth.repeat(1, len(rows)))
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return np.asarray(weight.detach().numpy().reshape(rows.shape))


@dataclass(frozen=True, eq=False)
class RowTransfer:
    """The linear map T from a prototype to a row."""

    matrix: FloatArray
    """Shape (feature_dim, feature_dim)."""

    def rows(self, prototypes: FloatArray) -> FloatArray:
        """Map prototypes (..., feature_dim) to rows of the same shape."""
        return np.asarray(prototypes @ self.matrix.T, dtype=np.float32)

    @classmethod
    def fit(
        cls, prototypes: FloatArray, rows: FloatArray, *, l2: float, solver: str, seed: int
    ) -> "RowTransfer":
        """Fit T to the mean of ‖T o − w‖² over all draws and labels.

        ``prototypes`` has shape (n_draws, n_labels, feature_dim), ``rows`` (n_labels, feature_dim).
        ``exact`` solves for the minimum with ``l2`` · ‖T‖² added; ``adam`` takes one step a draw, as
        published, and stops before it fits what draws have in common by chance.
        """
        if solver not in SOLVERS:
            raise SettingError(
                f"transfer_solver must be one of {', '.join(SOLVERS)}, got {solver!r}."
            )
        if solver == "adam":
            return cls(_descend(prototypes, rows, seed))
        return cls(_solve(prototypes, rows, l2))


def _solve(prototypes: FloatArray, rows: FloatArray, l2: float) -> FloatArray:
    """Return argmin_T, (feature_dim, feature_dim)."""
    _, n_labels, feature_dim = prototypes.shape
    inputs = prototypes.reshape(-1, feature_dim).astype(np.float64)
    moment = inputs.T @ inputs / len(inputs)  # (feature_dim, feature_dim)
    means = prototypes.mean(axis=0, dtype=np.float64)  # (n_labels, feature_dim)
    cross = means.T @ rows.astype(np.float64) / n_labels  # (feature_dim, feature_dim)
    # lstsq and not solve: with l2 = 0 and few labels the moment has no inverse.
    solution = np.linalg.lstsq(moment + l2 * np.eye(feature_dim), cross, rcond=None)[0]
    return np.asarray(solution.T)


def _descend(prototypes: FloatArray, rows: FloatArray, seed: int) -> FloatArray:
    """Return T after ADAM_EPOCHS passes over the draws, (feature_dim, feature_dim)."""
    feature_dim = rows.shape[1]
    with seeded(seed):
        transfer = torch.nn.Linear(feature_dim, feature_dim, bias=False)
    optimizer = torch.optim.Adam(transfer.parameters(), lr=ADAM_LEARNING_RATE)
    target = torch.from_numpy(rows.astype(np.float32))
    for _ in range(ADAM_EPOCHS):
        for draw in torch.from_numpy(prototypes.astype(np.float32)):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(transfer(draw), target)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return transfer.weight.detach().numpy().astype(np.float64)
