"""The relation collector (Section 3.2): differences between pairs of documents of one head label."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array

from piran.errors import SettingError
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix


@dataclass(frozen=True, eq=False)
class Relations:
    """Relations of all head labels, the pairs of one label standing together."""

    values: FloatArray
    """Shape (n_relations, feature_dim)."""
    label_ids: IntArray
    """The head label's column behind each relation, shape (n_relations,), ascending."""

    def __len__(self) -> int:
        return len(self.values)

    def scaled(self, factor: float) -> "Relations":
        """Return the relations times a factor.

        Two documents differ by √2 times as much as one does from the label's mean: a factor of 1/√2
        gives relations the spread of documents.
        """
        return self if factor == 1 else Relations(self.values * factor, self.label_ids)

    def mean(self) -> FloatArray:
        """Mean relation, shape (feature_dim,)."""
        return np.asarray(self.values.mean(axis=0, dtype=np.float64))

    def second_moment(self) -> FloatArray:
        """Mean of c cᵀ, shape (feature_dim, feature_dim)."""
        return self._second_moment

    @cached_property
    def _second_moment(self) -> FloatArray:
        return _gram(self.values) / len(self)

    def within_label_covariance(self) -> FloatArray:
        """Mean of (c − c̄ᵇ)(c − c̄ᵇ)ᵀ, each relation centred on the mean of its own head label b."""
        return self._within_label_covariance

    @cached_property
    def _within_label_covariance(self) -> FloatArray:
        _, starts, counts = np.unique(self.label_ids, return_index=True, return_counts=True)
        sums = np.add.reduceat(
            self.values, starts, axis=0, dtype=np.float64
        )  # (n_head, feature_dim)
        return self._second_moment - (sums / counts[:, None]).T @ sums / len(self)


@dataclass(frozen=True)
class RelationCollector:
    """Draw ``n_pairs`` pairs of distinct documents of each head label and keep their differences."""

    n_pairs: int
    seed: int = 0

    def collect(self, instances: FloatArray, targets: LabelMatrix, is_head: BoolArray) -> Relations:
        """Collect c = r₁ − r₂ (Equation 6 of the paper).

        ``instances`` has shape (n_documents, feature_dim), ``targets`` (n_documents, n_labels),
        ``is_head`` (n_labels,). Head labels with a single document have no pair and give no relation.
        """
        if self.n_pairs < 1:
            raise SettingError(f"n_pairs must be at least 1, got {self.n_pairs}.")
        generator = np.random.default_rng(self.seed)
        columns = csc_array(targets)
        first, second, label_ids = [], [], []
        for label_id in np.flatnonzero(is_head):
            documents = columns.indices[columns.indptr[label_id] : columns.indptr[label_id + 1]]
            if len(documents) < 2:
                continue
            left, right = _distinct_pairs(len(documents), self.n_pairs, generator)
            first.append(documents[left])
            second.append(documents[right])
            label_ids.append(np.full(self.n_pairs, label_id))
        if not first:
            return Relations(instances[:0], np.zeros(0, dtype=np.int64))
        values = instances[np.concatenate(first)]
        values -= instances[np.concatenate(second)]
        return Relations(values, np.concatenate(label_ids))


def _distinct_pairs(
    n_documents: int, n_pairs: int, generator: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return positions of pairs whose two members differ, each shape (n_pairs,)."""
    left = generator.integers(n_documents, size=n_pairs)
    # Stepping 1 … n−1 places on from the first reaches every other document equally often.
    right = (left + generator.integers(1, n_documents, size=n_pairs)) % n_documents
    return left, right


def _gram(values: FloatArray) -> FloatArray:
    """Sum of v vᵀ over the rows, in float64, shape (feature_dim, feature_dim)."""
    total = np.zeros((values.shape[1], values.shape[1]))
    for start in range(0, len(values), 16384):  # a block at a time: no float64 copy of all rows
        block = values[start : start + 16384].astype(np.float64)
        total += block.T @ block
    return total
