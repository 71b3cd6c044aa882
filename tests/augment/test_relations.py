"""The relation collector: pairs of distinct documents of one head label, and their moments."""

import numpy as np
import pytest
from labelled import HEAD_IDS, labelled
from scipy.sparse import csr_array

from piran.augment import RelationCollector, Relations
from piran.errors import SettingError


def test_every_relation_is_a_difference_of_two_documents_of_its_head_label() -> None:
    corpus = labelled()
    relations = corpus.relations()
    for value, label_id in zip(relations.values, relations.label_ids, strict=True):
        own = corpus.instances[corpus.documents_of(label_id)]
        differences = (own[:, None] - own[None]).reshape(-1, own.shape[1])
        different = np.any(differences != 0, axis=1)
        assert np.any(np.all(differences[different] == value, axis=1))


def test_every_head_label_gives_as_many_relations_as_asked() -> None:
    label_ids, counts = np.unique(labelled().relations(n_pairs=17).label_ids, return_counts=True)
    assert tuple(label_ids) == HEAD_IDS  # tail labels and the head label of one document give none
    assert set(counts) == {17}


def test_a_pair_of_documents_is_met_in_both_orders_and_never_with_itself() -> None:
    instances = np.array([[1.0], [3.0]])
    relations = RelationCollector(50).collect(
        instances, csr_array(np.ones((2, 1), dtype=np.float32)), np.array([True])
    )
    assert set(relations.values[:, 0]) == {-2.0, 2.0}


def test_all_ordered_pairs_are_equally_likely() -> None:
    instances = np.array([[0.0], [1.0], [10.0]])
    relations = RelationCollector(60_000).collect(
        instances, csr_array(np.ones((3, 1), dtype=np.float32)), np.array([True])
    )
    values, counts = np.unique(relations.values[:, 0], return_counts=True)
    assert list(values) == [-10, -9, -1, 1, 9, 10]
    np.testing.assert_allclose(counts / 60_000, 1 / 6, atol=0.01)


def test_the_seed_decides_the_pairs() -> None:
    corpus = labelled()
    np.testing.assert_array_equal(corpus.relations(seed=1).values, corpus.relations(seed=1).values)
    assert not np.array_equal(corpus.relations(seed=1).values, corpus.relations(seed=2).values)


def test_head_labels_of_one_document_give_no_relation() -> None:
    relations = RelationCollector(5).collect(
        np.eye(2), csr_array(np.eye(2, dtype=np.float32)), np.array([True, True])
    )
    assert len(relations) == 0
    assert relations.values.shape == (0, 2)


def test_no_pairs_are_refused() -> None:
    with pytest.raises(SettingError, match="n_pairs must be at least 1, got 0"):
        labelled().relations(n_pairs=0)


def test_relations_keep_the_precision_of_the_instances() -> None:
    corpus = labelled()
    relations = RelationCollector(3).collect(
        corpus.instances.astype(np.float32), corpus.targets, corpus.is_head
    )
    assert relations.values.dtype == np.float32


def test_mean_and_second_moment_equal_numpys() -> None:
    relations = labelled().relations()
    np.testing.assert_allclose(relations.mean(), np.mean(relations.values, axis=0))
    expected = np.einsum("zi,zj->ij", relations.values, relations.values) / len(relations)
    np.testing.assert_allclose(relations.second_moment(), expected)


def test_the_spread_is_taken_around_the_mean_of_each_label() -> None:
    relations = labelled().relations()
    total = np.zeros_like(relations.second_moment())
    for label_id in HEAD_IDS:
        own = relations.values[relations.label_ids == label_id]
        total += len(own) * np.cov(own.T, bias=True)
    np.testing.assert_allclose(relations.within_label_covariance(), total / len(relations))


def test_the_spread_by_hand() -> None:
    # Label 0: 1 and 3 around 2; label 1: 10 and 14 around 12. Squares 1 + 1 + 4 + 4 over 4 relations.
    relations = Relations(np.array([[1.0], [3.0], [10.0], [14.0]]), np.array([0, 0, 1, 1]))
    assert relations.within_label_covariance() == pytest.approx(2.5)


def test_moments_of_many_float32_relations_are_summed_in_float64() -> None:
    values = np.full((40_000, 1), 0.1, dtype=np.float32)  # more than one block of rows
    relations = Relations(values, np.zeros(40_000, dtype=np.int64))
    assert relations.second_moment()[0, 0] == pytest.approx(float(np.float32(0.1)) ** 2, rel=1e-12)
