"""Votes of neighbours: against a plain search, in blocks, with ties."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsClassifier

from piran.errors import SettingError
from piran.training import neighbours
from piran.training.neighbours import NeighbourVotes
from piran.types import FloatArray


def unit_vectors(n: int, dim: int, seed: int) -> FloatArray:
    vectors = np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def index(n_neighbours: int = 5, temperature: float = 0.1) -> NeighbourVotes:
    targets = csr_array((np.random.default_rng(1).random((40, 7)) < 0.3).astype(np.float32))
    return NeighbourVotes(unit_vectors(40, 6, seed=0), targets, n_neighbours, temperature)


def test_votes_are_those_of_scikit_learns_neighbours() -> None:
    votes, queries = index(), unit_vectors(9, 6, seed=2)
    reference = KNeighborsClassifier(
        n_neighbors=5,
        algorithm="brute",
        weights=lambda distances: np.exp(-(distances**2) / (2 * 0.1)),
    ).fit(votes.vectors, votes.targets.toarray())
    expected = np.column_stack([share[:, 1] for share in reference.predict_proba(queries)])
    np.testing.assert_allclose(votes.scores(queries), expected, atol=1e-5)


def test_two_neighbours_share_the_vote_by_their_distance() -> None:
    vectors = np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)
    votes = NeighbourVotes(vectors, csr_array(np.eye(3, dtype=np.float32)), 2, temperature=0.5)
    scores = votes.scores(np.array([[1.0, 0.0]], dtype=np.float32))
    near, far = np.exp(1 / 0.5), np.exp(0 / 0.5)
    np.testing.assert_allclose(scores[0], [near / (near + far), far / (near + far), 0], rtol=1e-6)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = unit_vectors(9, 6, seed=2)
    whole = index().scores(queries)
    monkeypatch.setattr(neighbours, "SIMILARITIES_AT_ONCE", 100)  # two queries at a time
    np.testing.assert_allclose(index().scores(queries), whole, atol=1e-6)


def test_all_documents_tied_with_the_last_neighbour_vote() -> None:
    vectors = np.array([[1, 0]] * 4, dtype=np.float32)
    votes = NeighbourVotes(vectors, csr_array(np.eye(4, dtype=np.float32)), 2, temperature=0.1)
    scores = votes.scores(np.array([[1.0, 0.0]], dtype=np.float32))
    np.testing.assert_allclose(scores, [[0.25] * 4])


def test_fewer_documents_than_neighbours_all_vote() -> None:
    few = NeighbourVotes(unit_vectors(3, 4, seed=0), csr_array(np.ones((3, 2))), 10, 0.1)
    np.testing.assert_allclose(few.scores(unit_vectors(2, 4, seed=1)), np.ones((2, 2)), atol=1e-6)


def test_no_queries_give_no_scores() -> None:
    assert index().scores(np.zeros((0, 6), dtype=np.float32)).shape == (0, 7)


@pytest.mark.parametrize(("n_neighbours", "temperature"), [(0, 0.1), (5, 0.0)])
def test_senseless_settings_are_refused(n_neighbours: int, temperature: float) -> None:
    with pytest.raises(SettingError, match=r"must be (at least 1|above 0), got 0"):
        index(n_neighbours, temperature)
