"""Names for the array types that travel between the parts.

Sizes are named alike everywhere: ``n_documents``, ``n_labels``, ``n_pairs``, ``feature_dim``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

FloatArray = NDArray[np.floating[Any]]
"""Real numbers, float32 for instances and rows, float64 for moments."""
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
LabelMatrix = csr_array
"""Indicator of shape (n_documents, n_labels), float32, ones where a document has a label."""
LabelSet = tuple[str, ...]
LabelSets = Sequence[Sequence[str]]
Texts = Sequence[str]
