"""Clusters of similar labels, all of the same size."""

import numpy as np

from piran.types import FloatArray, IntArray

NO_LABEL = -1
"""Fills up the row of a cluster that has one label fewer than the largest."""
_ROUNDS = 10


def balanced_clusters(features: FloatArray, n_clusters: int, *, seed: int) -> IntArray:
    """Divide labels into clusters whose sizes differ by at most one; similar ones come together.

    ``features`` are (n_labels, feature_dim). The labels are split in two again and again, each time by
    2-means with halves of fixed size. Returns the labels of each cluster, ascending, as rows of a
    table (n_clusters, largest cluster), filled up with :data:`NO_LABEL`.

    >>> features = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]])
    >>> sorted(balanced_clusters(features, 2, seed=0).tolist())
    [[0, 2], [1, 3]]
    """
    generator = np.random.default_rng(seed)
    waiting = [(np.arange(len(features)), n_clusters)]
    table = np.full(table_shape(len(features), n_clusters), NO_LABEL)
    row = 0
    while waiting:
        labels, n_parts = waiting.pop()
        if n_parts == 1:
            table[row, : len(labels)] = np.sort(labels)
            row += 1
            continue
        n_left = n_parts // 2
        is_left = _is_left(features[labels], len(labels) * n_left // n_parts, generator)
        waiting += [(labels[is_left], n_left), (labels[~is_left], n_parts - n_left)]
    return table


def table_shape(n_labels: int, n_clusters: int) -> tuple[int, int]:
    """Return the shape of the table of :func:`balanced_clusters`."""
    return n_clusters, -(-n_labels // n_clusters)


def _is_left(
    features: FloatArray, n_left: int, generator: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Split some labels in two by 2-means, ``n_left`` of them to the left."""
    left, right = features[generator.choice(len(features), size=2, replace=False)]
    is_left = np.zeros(len(features), dtype=np.bool_)
    for _ in range(_ROUNDS):
        before = is_left
        distance = ((features - left) ** 2).sum(1) - ((features - right) ** 2).sum(1)
        is_left = np.zeros(len(features), dtype=np.bool_)
        is_left[np.argsort(distance, kind="stable")[:n_left]] = True
        if (is_left == before).all():
            break
        left, right = features[is_left].mean(0), features[~is_left].mean(0)
    return is_left
