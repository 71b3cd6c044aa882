"""Prototypes of tail labels (Section 3.3): the mean of q documents, drawn or in expectation."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, diags_array

from piran.errors import SettingError
from piran.types import FloatArray, IntArray, LabelMatrix


@dataclass(frozen=True, eq=False)
class Prototypes:
    """The tail labels' documents, and what is needed of prototypes made of ``n_documents`` of them.

    A prototype oʲ is the mean of q = min(n_documents, nⱼ) documents of tail label j, drawn without
    replacement (Equation 7). Labels must have at least one document.
    """

    instances: FloatArray
    """All documents, shape (n_documents, feature_dim)."""
    members: csc_array
    """Indicator (n_documents, n_tail) of the tail labels alone."""
    n_documents: int = 5

    @classmethod
    def of(
        cls, instances: FloatArray, targets: LabelMatrix, tail_ids: IntArray, n_documents: int
    ) -> "Prototypes":
        """Take the tail columns of ``targets`` (n_documents, n_labels)."""
        if n_documents < 1:
            raise SettingError(f"n_prototype_documents must be at least 1, got {n_documents}.")
        return cls(instances, csc_array(targets[:, tail_ids]), n_documents)

    @property
    def counts(self) -> IntArray:
        """Documents of each tail label, shape (n_tail,)."""
        return np.diff(self.members.indptr)

    def means(self) -> FloatArray:
        """E[oʲ], the mean of all documents of each tail label, shape (n_tail, feature_dim)."""
        sums = self.members.T @ self.instances.astype(np.float64)  # (n_tail, feature_dim)
        return np.asarray(sums / self.counts[:, None])

    def second_moment(self) -> FloatArray:
        """Mean over tail labels of E[oʲ oʲᵀ], exact under the drawing, (feature_dim, feature_dim).

        Drawing q of n without replacement, Cov(o) = (n − q) / (q (n − 1)) times the population
        covariance of the label's documents; it vanishes where all documents are used.
        """
        means = self.means()
        count = self.counts.astype(np.float64)
        drawn = np.minimum(self.n_documents, count)
        # Weight of Σᵢ (rᵢ − μ)(rᵢ − μ)ᵀ of each label: the 1/n of the population covariance included.
        spread = (count - drawn) / (drawn * np.maximum(count - 1, 1) * count)  # (n_tail,)
        document_weight = np.asarray(self.members @ spread)  # (n_documents,)
        used = np.flatnonzero(document_weight)
        rows = self.instances[used].astype(np.float64)
        total = rows.T @ (diags_array(document_weight[used]) @ rows)
        total += means.T @ (means * (1 - spread * count)[:, None])
        return np.asarray(total / len(count))

    def sample(self, tail: int, n_samples: int, random: np.random.Generator) -> FloatArray:
        """Draw prototypes of the tail label at position ``tail``, shape (n_samples, feature_dim)."""
        documents = self._documents_of(tail)
        n_drawn = min(self.n_documents, len(documents))
        if n_drawn == len(documents):
            return np.broadcast_to(
                self.instances[documents].mean(axis=0), (n_samples, self.instances.shape[1])
            )
        # The first q of a random order is a draw of q without replacement.
        order = random.random((n_samples, len(documents))).argpartition(n_drawn, axis=1)
        chosen = documents[order[:, :n_drawn]]  # (n_samples, q)
        return np.asarray(self.instances[chosen].mean(axis=1))  # (n_samples, feature_dim)

    def sample_evenly(self, tail: int, n_samples: int, random: np.random.Generator) -> FloatArray:
        """Draw as :meth:`sample` does, but take no document again before all had their turn."""
        documents = self._documents_of(tail)
        n_drawn = min(self.n_documents, len(documents))
        n_turns = len(documents) // n_drawn  # in which no document is taken twice
        n_rounds = -(-n_samples // n_turns)
        order = random.random((n_rounds, len(documents))).argsort(axis=1)[:, : n_turns * n_drawn]
        chosen = documents[order.reshape(-1, n_drawn)[:n_samples]]  # (n_samples, q)
        return np.asarray(self.instances[chosen].mean(axis=1))  # (n_samples, feature_dim)

    def _documents_of(self, tail: int) -> IntArray:
        return np.asarray(
            self.members.indices[self.members.indptr[tail] : self.members.indptr[tail + 1]]
        )
