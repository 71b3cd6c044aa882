"""Scored documents for the tests of the metrics."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from piran.data.labels import LabelSpace
from piran.types import BoolArray, FloatArray, LabelMatrix

N_TRAIN = 400


@dataclass(frozen=True)
class ScoredDocuments:
    labels: LabelSpace
    targets: LabelMatrix
    scores: FloatArray

    @property
    def is_true(self) -> BoolArray:
        return np.asarray(self.targets.toarray() > 0)


def scored_documents(n_documents: int = 60, seed: int = 7) -> ScoredDocuments:
    """Return documents, two of them without labels, over 12 labels: 4 head, 7 tail, 1 unseen.

    Label 10 is tail and has no document here.
    """
    random = np.random.default_rng(seed)
    counts = np.array([300, 150, 90, 60, 9, 8, 5, 3, 2, 1, 1, 0])
    is_tail = np.array([False] * 4 + [True] * 7 + [False])
    is_true = random.random((n_documents, 12)) < (counts + 20) / 400
    is_true[[3, 17]] = False
    is_true[:, 10] = False
    scores = np.clip(random.random((n_documents, 12)) * 0.6 + is_true * 0.3, 0.001, 0.999)
    labels = LabelSpace(tuple(f"label {i}" for i in range(12)), counts, is_tail)
    return ScoredDocuments(labels, csr_array(is_true.astype(np.float32)), scores)
