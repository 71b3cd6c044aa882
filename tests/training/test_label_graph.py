"""The label graph: edges, walks, and vectors in which labels that occur together are near."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from piran.errors import SettingError
from piran.training.label_graph import (
    Walks,
    cooccurrence,
    label_vectors,
    ppmi_vectors,
    random_walks,
    skipgram_loss,
    walk_pairs,
)

QUICK = Walks(n_walks=40, length=10)


def targets(rows: list[list[int]], n_labels: int) -> csr_array:
    dense = np.zeros((len(rows), n_labels), dtype=np.float32)
    for row, labels in enumerate(rows):
        dense[row, labels] = 1
    return csr_array(dense)


def two_communities() -> csr_array:
    """Labels 0–3 occur together and 4–7 do; one document joins them; label 8 stands alone."""
    random = np.random.default_rng(0)
    rows = [random.choice(4, size=2, replace=False) + 4 * (n % 2) for n in range(60)]
    return targets([*[row.tolist() for row in rows], [0, 4], [8], [8], []], n_labels=9)


def test_an_edge_weighs_the_documents_that_have_both_labels() -> None:
    graph = cooccurrence(targets([[0, 1], [0, 1, 2], [2], []], n_labels=4)).toarray()
    expected = [[0, 2, 1, 0], [2, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(graph, expected)


def test_walks_follow_edges_in_proportion_to_their_weight() -> None:
    graph = csr_array(np.array([[0.0, 3, 1], [3, 0, 0], [1, 0, 0]]))
    random = np.random.default_rng(1)
    walks = np.concatenate([random_walks(graph, 20, random) for _ in range(500)])
    steps = np.zeros((3, 3))
    np.add.at(steps, (walks[:, :-1].ravel(), walks[:, 1:].ravel()), 1)
    shares = steps / steps.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        shares, [[0.0, 0.75, 0.25], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], atol=0.02
    )
    np.testing.assert_array_equal(np.sort(walks[:3, 0]), [0, 1, 2])


def test_pairs_are_at_most_a_window_apart_in_both_orders() -> None:
    pairs = walk_pairs(np.array([[5, 6, 7, 8]]), window=2)
    found = sorted(map(tuple, pairs.tolist()))
    one_way = [(5, 6), (6, 7), (7, 8), (5, 7), (6, 8)]
    assert found == sorted(one_way + [(right, left) for left, right in one_way])


def test_the_skipgram_loss_agrees_with_numbers_worked_out_by_hand() -> None:
    logits, together = torch.tensor([[2.0, -1.0]]), torch.tensor([[1.0, 0.0]])
    loss = skipgram_loss(logits, together, torch.tensor([0.25, 0.75]), n_negatives=2)
    # σ(2 − log 2) for the pair; 0.5 of the negatives at σ(log 2 − 2), 1.5 at σ(log 2 + 1)
    pair, first, second = np.e**2 / (np.e**2 + 2), 2 / (np.e**2 + 2), 2 * np.e / (2 * np.e + 1)
    expected = -np.log(pair) - 0.5 * np.log(first) - 1.5 * np.log(second)
    assert float(loss) == pytest.approx(expected, rel=1e-6)


def within_and_between(vectors: Any) -> tuple[float, float]:
    cosines = vectors @ vectors.T
    within = [cosines[a, b] for a in range(8) for b in range(8) if a != b and a // 4 == b // 4]
    between = [cosines[a, b] for a in range(4) for b in range(4, 8)]
    return float(np.mean(within)), float(np.mean(between))


@pytest.mark.parametrize("kind", ["walks", "ppmi"])
def test_labels_that_occur_together_get_near_vectors(kind: str) -> None:
    vectors = label_vectors(kind, two_communities(), dim=4, seed=0, walks=QUICK)
    within, between = within_and_between(vectors)
    assert within > between + 0.5


def test_random_vectors_know_nothing_of_the_graph() -> None:
    vectors = label_vectors("random", two_communities(), dim=64, seed=0)
    within, between = within_and_between(vectors)
    assert abs(within - between) < 0.1


@pytest.mark.parametrize("kind", ["walks", "ppmi", "random"])
def test_every_label_has_a_unit_vector_and_a_seed_repeats_it(kind: str) -> None:
    first, second = (
        label_vectors(kind, two_communities(), dim=16, seed=3, walks=QUICK) for _ in range(2)
    )
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(first, second)
    other = label_vectors(kind, two_communities(), dim=16, seed=4, walks=QUICK)
    assert not np.allclose(first[8], other[8])  # the lone label's vector is drawn


def test_ppmi_vectors_rebuild_the_information_where_they_have_all_directions() -> None:
    graph = csr_array(np.array([[0.0, 4, 0], [4, 0, 1], [0, 1, 0]]))
    vectors = ppmi_vectors(graph, dim=3, seed=0)
    degree, total = np.array([4, 5, 1]), 10
    information = np.zeros((3, 3))
    information[0, 1] = information[1, 0] = np.log(4 * total / (degree[0] * degree[1]))
    information[1, 2] = information[2, 1] = np.log(1 * total / (degree[1] * degree[2]))
    left, strengths, _ = np.linalg.svd(information)
    np.testing.assert_allclose(np.abs(vectors), np.abs(left * np.sqrt(strengths)), atol=1e-9)


def test_a_corpus_without_any_pair_of_labels_still_gets_vectors() -> None:
    vectors = label_vectors("walks", targets([[0], [1], []], n_labels=3), dim=5, seed=0)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SettingError, match="must be one of walks, ppmi, random, got 'walk'"):
        label_vectors("walk", two_communities(), dim=4, seed=0)


def test_walks_that_cannot_be_taken_are_refused() -> None:
    with pytest.raises(SettingError, match="length must be at least 2, got 1"):
        Walks(length=1)
