"""F1 from counts that add up over batches: per label, micro, and per document.

A label (or document) with neither a prediction nor a true label has F1 0, as in scikit-learn with
``zero_division=0``.
"""

import numpy as np

from piran.types import BoolArray, FloatArray, IntArray

Counts = IntArray | FloatArray
"""How many, or how many are expected."""


def f1(hits: Counts, n_predicted: Counts, n_true: Counts) -> FloatArray:
    """Return 2 hits / (predicted + true), 0 where both are 0; any one shape."""
    total = np.asarray(n_predicted) + np.asarray(n_true)
    return np.asarray(2.0 * np.asarray(hits) / np.maximum(total, 1))


class F1Counts:
    """Counts of one set of thresholds over the documents seen so far."""

    def __init__(self, n_labels: int) -> None:
        self.n_documents = 0
        self.hits = np.zeros(n_labels, dtype=np.int64)
        self.n_predicted = np.zeros(n_labels, dtype=np.int64)
        self.n_true = np.zeros(n_labels, dtype=np.int64)
        self._document_f1_sum = 0.0

    def update(self, is_true: BoolArray, is_predicted: BoolArray) -> None:
        """Add documents; both arguments have shape (n_documents, n_labels)."""
        is_hit = is_true & is_predicted
        self.n_documents += len(is_true)
        self.hits += is_hit.sum(axis=0)
        self.n_predicted += is_predicted.sum(axis=0)
        self.n_true += is_true.sum(axis=0)
        by_document = f1(is_hit.sum(axis=1), is_predicted.sum(axis=1), is_true.sum(axis=1))
        self._document_f1_sum += float(by_document.sum())

    def label_f1(self) -> FloatArray:
        """Return the F1 of each label over all documents, shape (n_labels,)."""
        return f1(self.hits, self.n_predicted, self.n_true)

    def micro_f1(self) -> float:
        """Return the F1 of all (document, label) decisions together."""
        return float(f1(self.hits.sum(), self.n_predicted.sum(), self.n_true.sum()))

    def example_f1(self) -> float:
        """Return the mean over documents of the F1 of their label sets."""
        return self._document_f1_sum / max(self.n_documents, 1)
