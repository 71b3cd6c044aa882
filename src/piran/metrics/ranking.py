"""Ranking metrics, in the form the paper and the extreme-classification literature report them.

All of them look at the k best scores of a document. Conventions:

- equal scores keep column order, so the more frequent label comes first;
- P@k divides by k even where there are fewer than k labels in the space;
- RP@k (R-Precision, Chalkidis et al. 2019) divides by min(k, number of true labels) instead of k;
- nDCG@k discounts by rank and is normalised over min(k, number of true labels);
- a document without labels counts as 0 in all three, and enters the mean;
- PSP@k is Jain et al. (2016) divided by the best value that any ranking of the same documents has.
"""

from dataclasses import dataclass

import numpy as np

from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix

PROPENSITY_A = 0.55
PROPENSITY_B = 1.5


@dataclass(frozen=True)
class Ranking:
    """The best labels of each document and which of them are true."""

    columns: IntArray
    """Label columns from the best score down, shape (n_documents, depth)."""
    hits: BoolArray
    """Whether the document has that label, shape (n_documents, depth)."""
    n_true: IntArray
    """True labels of each document, shape (n_documents,)."""


def rank(is_true: BoolArray, scores: FloatArray, depth: int) -> Ranking:
    """Rank the labels of each document; both arguments have shape (n_documents, n_labels)."""
    columns = top_k(scores, depth)
    hits = np.take_along_axis(is_true, columns, axis=1)  # (n_documents, depth)
    return Ranking(columns, hits, is_true.sum(axis=1))


def top_k(scores: FloatArray, k: int) -> IntArray:
    """Return the columns of the k best scores, best first, equal scores in column order.

    The result has shape (n_documents, min(k, n_labels)).

    >>> top_k(np.array([[0.1, 0.7, 0.7, 0.2]]), 3).tolist()
    [[1, 2, 3]]
    """
    n_documents, n_labels = scores.shape
    k = min(k, n_labels)
    if k == 0:
        return np.zeros((n_documents, 0), dtype=np.int64)
    last = np.partition(scores, n_labels - k, axis=1)[:, n_labels - k, None]  # (n_documents, 1)
    above = scores > last
    level = scores == last
    room = k - above.sum(axis=1, dtype=np.int32, keepdims=True)  # (n_documents, 1)
    kept = above | (level & (np.cumsum(level, axis=1, dtype=np.int32) <= room))
    columns = np.nonzero(kept)[1].reshape(n_documents, k)  # in column order
    kept_scores = np.take_along_axis(scores, columns, axis=1)
    order = np.argsort(-kept_scores, axis=1, kind="stable")  # ties keep column order
    return np.asarray(np.take_along_axis(columns, order, axis=1))


def precision_at_k(ranking: Ranking, k: int) -> FloatArray:
    """Return the share of the first k places that are true labels, shape (n_documents,)."""
    return np.asarray(ranking.hits[:, :k].sum(axis=1) / k)


def r_precision_at_k(ranking: Ranking, k: int) -> FloatArray:
    """Return the share of the true labels, of k at most, in the first k places, (n_documents,)."""
    return np.asarray(ranking.hits[:, :k].sum(axis=1) / np.clip(ranking.n_true, 1, k))


def ndcg_at_k(ranking: Ranking, k: int) -> FloatArray:
    """Return the normalised discounted cumulative gain of each document, shape (n_documents,)."""
    discounts = 1.0 / np.log2(np.arange(k) + 2)  # (k,)
    hits = ranking.hits[:, :k]
    gained = hits @ discounts[: hits.shape[1]]  # (n_documents,)
    ideal = np.concatenate([[1.0], np.cumsum(discounts)])  # first: no label, nothing gained, 0 / 1
    return np.asarray(gained / ideal[np.minimum(ranking.n_true, k)])


def inverse_propensity(
    counts: IntArray, n_train_documents: int, *, a: float = PROPENSITY_A, b: float = PROPENSITY_B
) -> FloatArray:
    """Return 1/p of each label, Jain et al. (2016), shape (n_labels,).

    The factor log N - 1 would turn negative below three documents; it stops at 0 there.
    """
    scale = max(0.0, np.log(max(n_train_documents, 1)) - 1.0) * (b + 1.0) ** a
    return np.asarray(1.0 + scale * (np.asarray(counts, dtype=np.float64) + b) ** -a)


def propensity_gain(ranking: Ranking, inverse: FloatArray, k: int) -> float:
    """Return the numerator of PSP@k, summed over the documents."""
    weights = inverse[ranking.columns[:, :k]] * ranking.hits[:, :k]  # (n_documents, k)
    return float(weights.sum()) / k


def best_propensity_gain(targets: LabelMatrix, inverse: FloatArray, k: int) -> float:
    """Return the largest numerator of PSP@k that any ranking of these documents has."""
    lengths = np.diff(targets.indptr)
    rows = np.repeat(np.arange(targets.shape[0]), lengths)  # (n_true,) over all documents
    weights = inverse[targets.indices]
    sorted_weights = weights[np.lexsort((-weights, rows))]
    place = np.arange(len(rows)) - targets.indptr[rows]
    return float(sorted_weights[place < k].sum()) / k
