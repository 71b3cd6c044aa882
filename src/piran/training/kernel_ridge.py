"""Ridge regression of all labels at once in the space of a kernel over documents.

Two documents are alike by the words they share and by what they mean::

    k(a, b) = words_a · words_b  +  exp((cos(meaning_a, meaning_b) − 1) / width)  +  1

With targets T of ±1, the margins of a document x are k(x)ᵀ α where α = (K + λI)⁻¹ T. One Cholesky
factorisation serves every label, so a thousand labels cost hardly more than one. What the regression
would say of a training document had it not been among them is known exactly and for nothing::

    margin of i without i  =  T_i − α_i / [(K + λI)⁻¹]_ii

so that every document can judge the model, and none has to be held out for that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from scipy.sparse import csr_array

from piran.errors import DataError, SettingError
from piran.progress import track
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix

MAX_TOGETHER = 26_000
"""Documents solved for together: 2.7 GB of kernel, and time that grows with their cube. More are divided
at random into parts of equal size, whose margins are averaged (Zhang, Duchi and Wainwright 2013). Fewer
and larger parts are better, and slower: on validation documents of EURLEX57K two instead of three are
worth a point of micro-F1 and of tail F1."""
WIDTH = 0.6
"""Chosen, as the regularisation was, on folds of training documents of debtags and reuters90."""
QUERIES_AT_ONCE = 1024
COLUMNS_AT_ONCE = 512
FREQUENT = 1 / 16
"""Words in more than this share of the documents are multiplied as dense columns, which is faster."""


@dataclass(frozen=True, eq=False)
class DocumentFeatures:
    """What the kernel compares: rows of both have length one, or zero where there is nothing."""

    words: csr_array
    """TF-IDF vectors, shape (n_documents, n_words)."""
    meaning: FloatArray
    """Dense vectors, shape (n_documents, dim); dim may be 0."""

    def __post_init__(self) -> None:
        if self.words.shape[0] != len(self.meaning):
            raise DataError(
                f"Words of {self.words.shape[0]} documents stand beside meanings of "
                f"{len(self.meaning)}; give one row of each for every document."
            )

    def __len__(self) -> int:
        return len(self.meaning)

    def __getitem__(self, documents: slice | IntArray) -> "DocumentFeatures":
        return DocumentFeatures(self.words[documents], self.meaning[documents])


def document_kernel(left: DocumentFeatures, right: DocumentFeatures, *, width: float) -> FloatArray:
    """Return how alike documents are, (n_left, n_right), float32.

    It is made a block of rows at a time, so that nothing else of its size ever exists.
    """
    frequent, rare = _divided(right.words)
    frequent_right = right.words[:, frequent].toarray().astype(np.float32).T
    rare_right = right.words[:, rare].T.tocsr()
    meaning_right = right.meaning.astype(np.float32).T
    frequent_left, rare_left = left.words[:, frequent].tocsr(), left.words[:, rare].tocsr()
    kernel = np.empty((len(left), len(right)), dtype=np.float32)
    for first in range(0, len(left), QUERIES_AT_ONCE):
        rows = slice(first, first + QUERIES_AT_ONCE)
        block = kernel[rows]
        np.matmul(frequent_left[rows].toarray().astype(np.float32), frequent_right, out=block)
        block += (rare_left[rows] @ rare_right).toarray()
        if len(meaning_right):
            cosines = left.meaning[rows].astype(np.float32) @ meaning_right
            cosines -= 1
            cosines /= width
            block += np.exp(cosines, out=cosines)
        block += 1
    return kernel


@dataclass(frozen=True, eq=False)
class _Part:
    """Documents that were solved for together."""

    features: DocumentFeatures
    alpha: FloatArray
    """Shape (n_documents, n_labels), float32."""


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """A fitted regression: it keeps its documents.

    Memory: while it is fitted 4 bytes for each pair of two documents of a part (2.7 GB for 26,000), and
    12 for each pair of a document and a label; then 4 bytes for each pair of document and label, and the
    features.
    """

    parts: Sequence[_Part]
    width: float

    @classmethod
    def fit(
        cls,
        features: DocumentFeatures,
        targets: LabelMatrix,
        is_judged: BoolArray,
        *,
        l2: float = 0.6,
        width: float = WIDTH,
        max_together: int = MAX_TOGETHER,
        seed: int = 0,
    ) -> "tuple[Self, FloatArray]":
        """Solve for all labels; return the regression and what it says of some documents without them.

        ``targets`` has shape (n_documents, n_labels); ``is_judged`` (n_documents,) tells which documents'
        margins are wanted as they would be had the document not been learned from: (n_judged, n_labels).
        The defaults were chosen on folds of training documents of debtags and reuters90. From half to
        twice of them, micro-F1 there hardly moved, and F1 of the tail labels by a point or two.
        """
        if not (l2 > 0 and width > 0):
            raise SettingError(f"l2 and width must be above 0, got {l2} and {width}.")
        check_max_together(max_together)
        places = np.cumsum(is_judged) - 1  # of judged documents, in the margins returned
        margins = np.zeros((int(is_judged.sum()), targets.shape[1]), dtype=np.float32)
        groups = _random_groups(len(features), max_together, seed)
        parts: list[_Part] = []
        for members in track(groups, "Solving", len(groups)):
            # Those to be judged come last: their block of the factor then stands for itself
            members = members[np.argsort(is_judged[members], kind="stable")]
            n_own = int(is_judged[members].sum())
            part, own = _solved(features[members], targets[members], n_own, l2=l2, width=width)
            parts.append(part)
            margins[places[members[len(members) - n_own :]]] += own
            others = np.setdiff1d(np.flatnonzero(is_judged), members)
            margins[places[others]] += _margins(part, features[others], width)
        return cls(parts, width), margins / np.float32(len(parts))

    def margins(self, features: DocumentFeatures) -> FloatArray:
        """Return about −1 to 1 for each document and label, (n_documents, n_labels), float32."""
        total = np.zeros((len(features), self.parts[0].alpha.shape[1]), dtype=np.float32)
        for part in self.parts:
            total += _margins(part, features, self.width)
        return total / np.float32(len(self.parts))

    def arrays(self) -> dict[str, Any]:
        """Return what :meth:`from_arrays` rebuilds it from."""
        arrays: dict[str, Any] = {"width": np.array([self.width])}
        for number, part in enumerate(self.parts):
            words = part.features.words
            named = {
                "alpha": part.alpha,
                "meaning": part.features.meaning,
                "values": words.data,
                "columns": words.indices,
                "starts": words.indptr,
                "n_words": np.array([words.shape[1]]),
            }
            arrays |= {f"part{number} {name}": array for name, array in named.items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Rebuild from :meth:`arrays`; a name that lacks is a KeyError."""
        parts: list[_Part] = []
        while not parts or f"part{len(parts)} alpha" in arrays:
            named = {
                name: arrays[f"part{len(parts)} {name}"]
                for name in ("alpha", "meaning", "values", "columns", "starts", "n_words")
            }
            shape = (len(named["starts"]) - 1, int(named["n_words"][0]))
            words = csr_array((named["values"], named["columns"], named["starts"]), shape=shape)
            parts.append(_Part(DocumentFeatures(words, named["meaning"]), named["alpha"]))
        return cls(parts, float(arrays["width"][0]))


def check_max_together(max_together: int) -> None:
    """Refuse parts without documents."""
    if max_together < 1:
        raise SettingError(f"max_together must be at least 1, got {max_together}.")


def _random_groups(n_documents: int, max_together: int, seed: int) -> list[IntArray]:
    """Divide the documents at random into the fewest groups of equal size that are small enough."""
    if not n_documents:
        raise DataError("There is no document to learn from; give at least one.")
    n_groups = -(-n_documents // max_together)
    order = np.random.default_rng(seed).permutation(n_documents)
    return [np.sort(members) for members in np.array_split(order, n_groups)]


def _solved(
    features: DocumentFeatures, targets: LabelMatrix, n_judged: int, *, l2: float, width: float
) -> tuple[_Part, FloatArray]:
    """Solve for the labels of some documents; return also what the last ``n_judged`` are without them."""
    matrix = torch.from_numpy(document_kernel(features, features, width=width))
    matrix.diagonal().add_(l2)
    # Read by columns, as LAPACK does, a symmetric matrix is the same: the factor can take its place
    factor = matrix.mT
    torch.linalg.cholesky(factor, out=factor)
    signs = torch.from_numpy(
        2 * targets.toarray().astype(np.float32) - 1
    )  # (n_documents, n_labels)
    # Not cholesky_solve, which copies the factor
    half = torch.linalg.solve_triangular(factor, signs, upper=False)
    alpha = torch.linalg.solve_triangular(factor.mT, half, upper=True)
    if not n_judged:
        return _Part(features, alpha.numpy()), np.zeros((0, targets.shape[1]), dtype=np.float32)
    # The last block of the inverse of L Lᵀ is the inverse of that of the last block of L
    spread = inverse_diagonal(factor[-n_judged:, -n_judged:])[:, None]  # (n_judged, 1)
    without = signs[-n_judged:] - alpha[-n_judged:] / spread
    return _Part(features, alpha.numpy()), without.numpy()


def inverse_diagonal(factor: torch.Tensor) -> torch.Tensor:
    """Return the diagonal of (L Lᵀ)⁻¹, (n,), given L, lower triangular, (n, n).

    That is the sum of squares of each column of L⁻¹, which is found some columns at a time: half of the
    work of the whole inverse, and nothing of its size.
    """
    starts = range(0, len(factor), COLUMNS_AT_ONCE)
    blocks = [slice(start, start + COLUMNS_AT_ONCE) for start in starts]
    inverses = [_inverse_of_block(factor[block, block]) for block in blocks]
    found = torch.empty(len(factor))
    for number, block in enumerate(blocks):
        first = block.start
        # From the diagonal down: columns of L⁻¹ are zero above it
        columns = torch.empty(len(factor) - first, len(inverses[number]))
        columns[: len(inverses[number])] = inverses[number]
        for rows, inverse in zip(blocks[number + 1 :], inverses[number + 1 :], strict=True):
            own = slice(rows.start - first, rows.stop - first)
            before = factor[rows, first : rows.start] @ columns[: own.start]
            columns[own] = -(inverse @ before)
        found[block] = columns.square_().sum(dim=0)
    return found


def _inverse_of_block(block: torch.Tensor) -> torch.Tensor:
    inverse: torch.Tensor = torch.linalg.solve_triangular(block, torch.eye(len(block)), upper=False)
    return inverse


def _margins(part: _Part, features: DocumentFeatures, width: float) -> FloatArray:
    blocks: list[FloatArray] = [np.zeros((0, part.alpha.shape[1]), dtype=np.float32)]
    for first in range(0, len(features), QUERIES_AT_ONCE):
        queries = features[slice(first, first + QUERIES_AT_ONCE)]
        blocks.append(document_kernel(queries, part.features, width=width) @ part.alpha)
    return np.concatenate(blocks)


def _divided(words: csr_array) -> tuple[IntArray, IntArray]:
    """Divide words into those of many documents and the others."""
    counts = np.bincount(words.indices, minlength=words.shape[1])
    is_frequent = counts > FREQUENT * words.shape[0]
    return np.flatnonzero(is_frequent), np.flatnonzero(~is_frequent)
