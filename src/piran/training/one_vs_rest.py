"""One linear classifier a label on sparse vectors, fitted by liblinear and kept sparse.

liblinear's dual coordinate descent draws from one random generator for the whole process, so labels
are fitted one after the other: in threads the same seed would not give the same rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csc_array, csr_array
from sklearn import config_context
from sklearn.svm import LinearSVC

from piran.errors import DataError
from piran.progress import track
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix

TOLERANCE = 1e-3
"""Of liblinear's dual gradient. Margins are then within 3e-4 of the optimum; scikit-learn's default of
1e-4 takes a tenth longer."""
DOCUMENTS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A row and a bias a label, most weights zero: margins are ``features @ weights + bias``."""

    weights: csr_array
    """Rows of the labels as columns, float32, shape (n_features, n_labels)."""
    bias: FloatArray
    """Shape (n_labels,); −∞ for a label that is never given."""

    def __post_init__(self) -> None:
        if self.bias.shape != (self.weights.shape[1],):
            raise DataError(
                f"Weights of shape {self.weights.shape} need a bias ({self.weights.shape[1]},), "
                f"got {self.bias.shape}."
            )

    def margins(self, features: csr_array) -> FloatArray:
        """Return the decision values, float32, (n_documents, n_labels)."""
        margins = np.empty((features.shape[0], len(self.bias)), dtype=np.float32)
        for first in range(0, len(margins), DOCUMENTS_AT_ONCE):
            rows = slice(first, first + DOCUMENTS_AT_ONCE)
            margins[rows] = (features[rows] @ self.weights).toarray()
        margins += self.bias
        return margins

    def arrays(self) -> dict[str, Any]:
        """Return what :meth:`from_arrays` rebuilds these rows from."""
        return {
            "weights": self.weights.data,
            "weight_labels": self.weights.indices,
            "weight_starts": self.weights.indptr,
            "bias": self.bias,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Rebuild rows from :meth:`arrays`; a name that lacks is a KeyError."""
        parts = (arrays["weights"], arrays["weight_labels"], arrays["weight_starts"])
        shape = (len(arrays["weight_starts"]) - 1, len(arrays["bias"]))
        return cls(csr_array(parts, shape=shape), arrays["bias"])


class Row(NamedTuple):
    """The classifier of one label."""

    weights: FloatArray
    """Shape (n_features,)."""
    bias: float


def support_vector_machine(*, C: float, seed: int) -> LinearSVC:
    """Return a linear SVM with squared hinge loss, L2 regularisation and a regularised bias."""
    return LinearSVC(C=C, dual=True, tol=TOLERANCE, random_state=seed)


def fit_one_vs_rest(
    features: csr_array,
    targets: LabelMatrix,
    classifier: Any,  # noqa: ANN401
    *,
    weight_tolerance: float = 0.0,
) -> SparseRows:
    """Fit a linear classifier of scikit-learn to each label against the rest.

    ``features`` has shape (n_documents, n_features), ``targets`` (n_documents, n_labels). Weights whose
    size is at most ``weight_tolerance`` are dropped, each label's as soon as it is fitted, so memory is
    that of the features in float64 and of the weights kept, 8 bytes each. A label without a document
    has a bias of −∞; a label that every document has, one of 1.
    """
    rows = _KeptRows(features.shape[1], targets.shape[1])
    features = as_liblinear_reads(features)
    for label, is_true in track(columns_of(targets), "Training", targets.shape[1]):
        rows.put(label, fit_row(features, is_true, classifier), weight_tolerance)
    return rows.finished()


def as_liblinear_reads(features: csr_array) -> csr_array:
    """Return the features in the one form that liblinear takes without converting them each time."""
    converted: csr_array = features.astype(np.float64)
    converted.sort_indices()
    converted.indices = converted.indices.astype(np.int32, copy=False)
    converted.indptr = converted.indptr.astype(np.int32, copy=False)
    return converted


def columns_of(targets: LabelMatrix) -> Iterator[tuple[int, BoolArray]]:
    """Yield each label's number and which documents have it, (n_documents,)."""
    by_label = csc_array(targets)
    for label in range(targets.shape[1]):
        is_true = np.zeros(targets.shape[0], dtype=np.bool_)
        is_true[by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]] = True
        yield label, is_true


def fit_row(features: csr_array, is_true: BoolArray, classifier: Any) -> Row:  # noqa: ANN401
    """Fit one label; ``features`` are as :func:`as_liblinear_reads` returns them."""
    if is_true.all() or not is_true.any():
        bias = 1.0 if len(is_true) and is_true.all() else -np.inf
        return Row(np.zeros(features.shape[1]), bias)
    # The features were made here and are finite; checking them again for each label takes time
    with config_context(assume_finite=True, skip_parameter_validation=True):
        classifier.fit(features, is_true)
    return Row(classifier.coef_[0], float(classifier.intercept_[0]))


class _KeptRows:
    """Collects rows, keeping only the weights that matter."""

    def __init__(self, n_features: int, n_labels: int) -> None:
        self._n_features = n_features
        self._indices: list[IntArray] = [np.zeros(0, dtype=np.int32)]
        self._values: list[FloatArray] = [np.zeros(0, dtype=np.float32)]
        self._starts = np.zeros(n_labels + 1, dtype=np.int64)
        self._bias = np.full(n_labels, -np.inf, dtype=np.float32)

    def put(self, label: int, row: Row, tolerance: float) -> None:
        """Add the row of the next label."""
        kept = np.flatnonzero(np.abs(row.weights) > tolerance)
        self._indices.append(kept.astype(np.int32))
        self._values.append(row.weights[kept].astype(np.float32))
        self._starts[label + 1] = self._starts[label] + len(kept)
        self._bias[label] = row.bias

    def finished(self) -> SparseRows:
        by_label = csc_array(
            (np.concatenate(self._values), np.concatenate(self._indices), self._starts),
            shape=(self._n_features, len(self._bias)),
        )
        return SparseRows(by_label.tocsr(), self._bias)
