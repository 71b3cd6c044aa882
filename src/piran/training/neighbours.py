"""Votes of nearest neighbours: the labels of the most similar training documents, exactly."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from piran.errors import SettingError
from piran.types import FloatArray, LabelMatrix

SIMILARITIES_AT_ONCE = 4_000_000
"""Bounds the memory of a block of queries: 4 bytes each, a few times over."""
TIE = 1e-5
"""Similarities so close to the k-th are tied with it; rounding must not decide between them."""


@dataclass(frozen=True, eq=False)
class NeighbourVotes:
    """Training documents as unit vectors, with the labels they vote for.

    A neighbour at cosine c votes with weight exp(c / temperature), a Gaussian of its distance, and the
    votes are divided by the sum of the weights. All documents tied with the k-th neighbour vote.
    """

    vectors: FloatArray
    """Unit vectors, shape (n_documents, dim), float32."""
    targets: LabelMatrix
    """Shape (n_documents, n_labels)."""
    n_neighbours: int
    temperature: float

    def __post_init__(self) -> None:
        if self.n_neighbours < 1:
            raise SettingError(f"n_neighbours must be at least 1, got {self.n_neighbours}.")
        if not self.temperature > 0:
            raise SettingError(f"temperature must be above 0, got {self.temperature}.")

    def scores(self, queries: FloatArray) -> FloatArray:
        """Return the share of the vote for each label, in [0, 1]: (n_queries, n_labels), float32.

        ``queries`` are unit vectors (n_queries, dim).
        """
        scores = np.zeros((len(queries), self.targets.shape[1]), dtype=np.float32)
        for rows in self._blocks(len(queries)):
            votes = self.votes(queries[rows]) @ self.targets  # (n_block, n_labels)
            scores[rows] = votes.toarray()
        return np.minimum(scores, np.float32(1))  # shares of one sum may round to a little more

    def votes(self, queries: FloatArray) -> csr_array:
        """Return the weight of each document in each vote, (n_queries, n_documents); rows sum to 1."""
        n_documents = len(self.vectors)
        similarity = queries @ self.vectors.T  # (n_queries, n_documents)
        rank = max(n_documents - self.n_neighbours, 0)
        kth = np.partition(similarity, rank, axis=1)[:, rank, None]  # (n_queries, 1)
        rows, columns = np.nonzero(similarity >= kth - TIE)
        nearest = similarity.max(axis=1)
        closeness = (similarity[rows, columns] - nearest[rows]).astype(np.float64)
        weights = np.exp(closeness / self.temperature)
        sums = np.bincount(rows, weights, minlength=len(queries))
        shape = (len(queries), n_documents)
        return csr_array(((weights / sums[rows]).astype(np.float32), (rows, columns)), shape=shape)

    def _blocks(self, n_queries: int) -> Iterator[slice]:
        size = max(1, SIMILARITIES_AT_ONCE // len(self.vectors))
        for first in range(0, n_queries, size):
            yield slice(first, min(first + size, n_queries))
