"""Balanced clusters of labels."""

import numpy as np
import pytest

from piran.data.label_clusters import NO_LABEL, balanced_clusters, table_shape


@pytest.mark.parametrize(("n_labels", "n_clusters"), [(7, 3), (16, 4), (5, 5), (9, 1), (23, 6)])
def test_every_label_is_in_one_cluster_and_sizes_differ_by_one(
    n_labels: int, n_clusters: int
) -> None:
    features = np.random.default_rng(0).normal(size=(n_labels, 3))
    table = balanced_clusters(features, n_clusters, seed=0)
    assert table.shape == table_shape(n_labels, n_clusters)
    assert sorted(table[table != NO_LABEL]) == list(range(n_labels))
    sizes = (table != NO_LABEL).sum(axis=1)
    assert sizes.max() - sizes.min() <= 1


def test_similar_labels_come_together() -> None:
    generator = np.random.default_rng(1)
    groups = np.repeat(np.arange(8), 5)
    features = np.eye(8)[groups] + 0.05 * generator.normal(size=(40, 8))
    order = generator.permutation(40)
    table = balanced_clusters(features[order], 8, seed=0)
    assert all(len(set(groups[order][row])) == 1 for row in table)


def test_a_seed_decides_the_clusters() -> None:
    features = np.random.default_rng(2).normal(size=(30, 4))
    first, second, other = (balanced_clusters(features, 5, seed=seed) for seed in (0, 0, 1))
    assert (first == second).all()
    assert (first != other).any()


def test_labels_without_features_are_placed_too() -> None:
    table = balanced_clusters(np.zeros((6, 2)), 3, seed=0)
    assert sorted(table.ravel()) == list(range(6))
