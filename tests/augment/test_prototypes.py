"""Prototypes of tail labels as they are drawn; their moments are held to in test_equations."""

from itertools import combinations

import numpy as np
import pytest
from labelled import labelled

from piran.errors import SettingError


def test_a_drawn_prototype_is_the_mean_of_distinct_documents_of_its_label() -> None:
    corpus = labelled()
    drawn = corpus.prototypes(3).sample(0, 40, np.random.default_rng(0))
    own = corpus.instances[corpus.documents_of(3)]
    possible = np.array([own[list(rows)].mean(axis=0) for rows in combinations(range(9), 3)])
    for prototype in drawn:
        assert np.isclose(possible, prototype).all(axis=1).any()


def test_drawn_prototypes_differ() -> None:
    drawn = labelled().prototypes(3).sample(0, 40, np.random.default_rng(0))
    assert len(np.unique(drawn.round(9), axis=0)) > 20  # of 84 possible ones


@pytest.mark.parametrize(("position", "label_id"), [(1, 4), (2, 5)])
def test_a_label_with_fewer_documents_uses_all_of_them(position: int, label_id: int) -> None:
    corpus = labelled()
    drawn = corpus.prototypes(5).sample(position, 4, np.random.default_rng(0))
    expected = corpus.instances[corpus.documents_of(label_id)].mean(axis=0)
    np.testing.assert_allclose(drawn, np.tile(expected, (4, 1)))


def test_the_mean_of_many_draws_is_the_expected_prototype() -> None:
    prototypes = labelled().prototypes(2)
    drawn = prototypes.sample(0, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0), prototypes.means()[0], atol=0.03)


def test_documents_take_turns_where_they_are_drawn_evenly() -> None:
    corpus = labelled()
    own = corpus.instances[corpus.documents_of(3)]  # nine documents
    drawn = corpus.prototypes(1).sample_evenly(0, 21, np.random.default_rng(0))
    is_own = (drawn[:, None] == own).all(axis=2)  # (21, 9)
    assert is_own.any(axis=1).all()
    assert sorted(is_own[:9].sum(axis=0)) == sorted(is_own[9:18].sum(axis=0)) == [1] * 9
    assert is_own.sum(axis=0).max() == 3
    # Nine documents are two prototypes of four a round, with no document in both
    pairs = corpus.prototypes(4).sample_evenly(0, 2, np.random.default_rng(0))
    rest = own.sum(axis=0) - 4 * pairs.sum(axis=0)
    assert np.isclose(own, rest).all(axis=1).any()


def test_drawn_evenly_a_label_with_few_documents_uses_all_of_them() -> None:
    prototypes = labelled().prototypes(5)
    drawn = prototypes.sample_evenly(1, 3, np.random.default_rng(0))
    np.testing.assert_allclose(drawn, np.tile(prototypes.means()[1], (3, 1)))


def test_the_counts_are_those_of_the_tail_labels() -> None:
    assert labelled().prototypes().counts.tolist() == [9, 2, 1]


def test_a_prototype_of_no_documents_is_refused() -> None:
    with pytest.raises(SettingError, match="n_prototype_documents must be at least 1, got 0"):
        labelled().prototypes(0)
