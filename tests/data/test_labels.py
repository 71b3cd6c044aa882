"""The label space: columns by frequency, the division into head and tail, and the way back to names."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from piran.data import LabelSpace
from piran.data.labels import held_out_rows, tail_by_count
from piran.errors import DataError, SettingError

LABEL_SETS = [("b", "a"), ("b", "d"), ("b", "c", "c"), ("a",), (), ("e",)]
"""b on 3 documents, a on 2, c, d and e on 1 each; the c that stands twice counts once."""

label_sets = st.lists(st.lists(st.text(max_size=3), max_size=4), max_size=8)


def test_columns_run_from_frequent_to_rare_with_ties_by_name() -> None:
    space = LabelSpace.from_label_sets(LABEL_SETS)
    assert space.names == ("b", "a", "c", "d", "e")
    assert space.counts.tolist() == [3, 2, 1, 1, 1]
    assert len(space) == 5


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        (0, set()),
        (2, {"c", "d"}),  # of three labels that are equally rare, the first by name
        (4, {"a", "c", "d", "e"}),
        (5, {"a", "b", "c", "d", "e"}),
        (0.0, set()),
        (0.4, {"c", "d"}),
        (0.5, {"c", "d"}),  # 2.5 labels are rounded to the even number
        (0.99, {"a", "b", "c", "d", "e"}),
        (None, {"c", "d", "e"}),  # two thirds of five, rounded
    ],
)
def test_the_tail_is_a_number_a_fraction_or_two_thirds(
    tail: int | float | None, expected: set[str]
) -> None:
    space = LabelSpace.from_label_sets(LABEL_SETS, tail=tail)
    assert {space.names[column] for column in np.flatnonzero(space.is_tail)} == expected
    np.testing.assert_array_equal(space.is_head, ~space.is_tail)


@pytest.mark.parametrize("tail", [-1, 6])
def test_a_tail_of_more_labels_than_there_are_is_refused(tail: int) -> None:
    with pytest.raises(SettingError, match=f"tail must be between 0 and 5 .* got {tail}"):
        LabelSpace.from_label_sets(LABEL_SETS, tail=tail)


@pytest.mark.parametrize("tail", [-0.1, 1.0, 24.0, float("nan")])
def test_a_fraction_outside_of_zero_to_one_is_refused(tail: float) -> None:
    with pytest.raises(SettingError, match=r"below 1, got .* for a number of labels give a whole"):
        LabelSpace.from_label_sets(LABEL_SETS, tail=tail)


def test_labels_without_a_document_are_neither_head_nor_tail() -> None:
    space = LabelSpace.from_label_sets(LABEL_SETS, tail=5, extra_names=["z", "a", "y"])
    assert space.names[5:] == ("y", "z")
    assert space.is_unseen.tolist() == [False] * 5 + [True] * 2
    assert not space.is_tail[5:].any()
    assert not space.is_head[5:].any()


def test_no_documents_make_an_empty_space() -> None:
    space = LabelSpace.from_label_sets([])
    assert len(space) == 0
    assert space.matrix([(), ()]).shape == (2, 0)


def test_the_matrix_by_hand() -> None:
    matrix = LabelSpace.from_label_sets(LABEL_SETS).matrix([("c", "b", "c"), (), ("e",)])
    assert matrix.dtype == np.float32
    assert matrix.toarray().tolist() == [[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]]


def test_an_unknown_label_names_its_document_and_the_nearest_label() -> None:
    space = LabelSpace.from_label_sets([("editor", "game")])
    with pytest.raises(DataError) as error:
        space.matrix([("game",), ("editr",)])
    assert "Document 1 has the label 'editr'" in str(error.value)
    assert "Did you mean 'editor'?" in str(error.value)


@given(label_sets)
def test_label_sets_come_back_from_their_matrix(sets: list[list[str]]) -> None:
    space = LabelSpace.from_label_sets(sets)
    back = space.label_sets(space.matrix(sets))
    assert [set(labels) for labels in back] == [set(labels) for labels in sets]
    assert all(len(labels) == len(set(labels)) for labels in back)


@given(label_sets)
def test_counts_are_the_column_sums_and_never_rise(sets: list[list[str]]) -> None:
    space = LabelSpace.from_label_sets(sets)
    np.testing.assert_array_equal(space.counts, space.matrix(sets).sum(axis=0))
    assert (np.diff(space.counts) <= 0).all()


@given(label_sets, st.floats(0, 1, exclude_max=True))
def test_no_tail_label_is_more_frequent_than_a_head_label(
    sets: list[list[str]], tail: float
) -> None:
    space = LabelSpace.from_label_sets(sets, tail=tail)
    assert space.counts[space.is_tail].max(initial=0) <= space.counts[space.is_head].min(initial=99)


def test_dense_and_sparse_indicators_give_the_same_names_in_column_order() -> None:
    space = LabelSpace.from_label_sets(LABEL_SETS)
    indicator = np.array([[False, True, False, False, True], [False] * 5])
    assert space.label_sets(indicator) == [("a", "e"), ()]
    assert space.label_sets(csr_array(indicator)) == [("a", "e"), ()]


def test_stored_zeros_are_no_labels() -> None:
    space = LabelSpace.from_label_sets([("a", "b")])
    matrix = csr_array((np.array([0.0, 1.0]), ([0, 0], [0, 1])), shape=(1, 2))
    assert space.label_sets(matrix) == [("b",)]


def test_an_extended_space_keeps_its_columns_and_adds_unseen_ones() -> None:
    space = LabelSpace.from_label_sets(LABEL_SETS, tail=2)
    extended = space.extended(["z", "a", "f"])
    assert extended.names == (*space.names, "f", "z")
    assert extended.counts.tolist() == [3, 2, 1, 1, 1, 0, 0]
    assert extended.is_tail.tolist() == [*space.is_tail.tolist(), False, False]
    assert len(space) == 5


def test_a_space_comes_back_from_json() -> None:
    space = LabelSpace.from_label_sets([*LABEL_SETS, ("中文", 'a"b')], tail=3, extra_names=["z"])
    back = LabelSpace.from_json(json.loads(json.dumps(space.to_json())))
    assert back.names == space.names
    np.testing.assert_array_equal(back.counts, space.counts)
    np.testing.assert_array_equal(back.is_tail, space.is_tail)


def test_counts_in_any_order_have_their_tail_by_rarity_then_column() -> None:
    is_tail = tail_by_count(np.array([1, 9, 0, 1, 4, 1]), 2)
    assert is_tail.tolist() == [True, False, False, True, False, False]


@given(label_sets.filter(lambda sets: len(sets) > 1), st.floats(0.05, 0.95), st.integers(0, 99))
def test_holding_out_leaves_every_label_a_document_where_it_can(
    sets: list[list[str]], fraction: float, seed: int
) -> None:
    targets = LabelSpace.from_label_sets(sets).matrix(sets)
    held = held_out_rows(targets, fraction, seed)
    left = np.delete(targets.toarray(), held, axis=0)
    assert 1 <= len(held) <= max(1, round(fraction * len(sets)))
    assert len(left) >= 1
    if len(held) > 1:  # a single one may be drawn for want of any other
        assert left.any(axis=0).all()


def test_the_seed_decides_what_is_held_out() -> None:
    targets = csr_array(np.ones((50, 1), dtype=np.float32))
    first = held_out_rows(targets, 0.2, seed=0)
    assert len(first) == 10
    assert (np.diff(first) > 0).all()
    np.testing.assert_array_equal(held_out_rows(targets, 0.2, seed=0), first)
    assert not np.array_equal(held_out_rows(targets, 0.2, seed=1), first)


def test_one_document_is_held_out_even_where_every_label_has_only_one() -> None:
    assert held_out_rows(csr_array(np.eye(3, dtype=np.float32)), 0.9, seed=0).tolist() == [2]


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, float("nan")])
def test_a_fraction_to_hold_out_must_lie_between_0_and_1(fraction: float) -> None:
    with pytest.raises(SettingError, match="to hold out must lie between 0 and 1, got"):
        held_out_rows(csr_array(np.ones((4, 1), dtype=np.float32)), fraction, seed=0)
