"""The map W: a minimum where there is one, an explanation where there is none, and Q of the heads."""

from collections.abc import Callable
from itertools import repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from piran.augment.generator import InstanceGenerator, head_directions
from piran.augment.losses import (
    TransferMoments,
    TransferWeights,
    transfer_gradient,
    transfer_loss,
    variance_consistency,
)
from piran.augment.relations import Relations
from piran.errors import NoMinimumError, SettingError
from piran.types import BoolArray, FloatArray, LabelMatrix

FEATURE_DIM = 6
N_TAIL = 2


def drawn_moments(
    seed: int = 0,
    relation_scale: float = 1.0,
    n_head: int = 5,
    *,
    is_variance_centred: bool = False,
) -> TransferMoments:
    """Two prototypes and ten relations of some head labels, whose mean is not zero."""
    random = np.random.default_rng(seed)
    prototypes = random.normal(size=(N_TAIL, FEATURE_DIM))
    values = relation_scale * random.normal(loc=0.3, size=(10, FEATURE_DIM))
    relations = Relations(values, np.arange(10) * n_head // 10)
    return TransferMoments.of(
        prototypes.mean(axis=0),
        prototypes.T @ prototypes / N_TAIL,
        relations,
        is_variance_centred=is_variance_centred,
    )


def centred_moments() -> TransferMoments:
    """Relations of two head labels whose means are opposite, so that all together have mean zero."""
    random = np.random.default_rng(1)
    prototypes = random.normal(size=(N_TAIL, FEATURE_DIM))
    half = random.normal(loc=1.0, size=(10, FEATURE_DIM))
    relations = Relations(np.concatenate([half, -half]), np.arange(20) // 10)
    return TransferMoments.of(
        prototypes.mean(axis=0), prototypes.T @ prototypes / N_TAIL, relations
    )


def drawn_directions(n_directions: int) -> FloatArray:
    random = np.random.default_rng(5)
    return np.linalg.qr(random.normal(size=(FEATURE_DIM, FEATURE_DIM)))[0][:, :n_directions]


@pytest.mark.parametrize("is_variance_centred", [False, True])
@pytest.mark.parametrize("n_directions", [0, 1, 3, FEATURE_DIM])
def test_the_gradient_is_zero_at_the_exact_map(
    n_directions: int, is_variance_centred: bool
) -> None:
    moments = drawn_moments(is_variance_centred=is_variance_centred)
    directions = drawn_directions(n_directions)
    generator = InstanceGenerator.exact(moments, directions, TransferWeights())
    gradient = transfer_gradient(generator.transfer, moments, directions, TransferWeights())
    np.testing.assert_allclose(gradient, 0.0, atol=1e-10)


def test_no_other_map_has_a_lower_loss() -> None:
    moments, directions, weights = drawn_moments(), drawn_directions(3), TransferWeights()
    exact = InstanceGenerator.exact(moments, directions, weights).transfer
    lowest = transfer_loss(exact, moments, directions, weights)
    random = np.random.default_rng(2)
    for scale in (1e-3, 0.1, 10.0):
        other = exact + scale * random.normal(size=exact.shape)
        assert transfer_loss(other, moments, directions, weights) > lowest


def test_adam_reaches_the_exact_map_on_the_same_moments() -> None:
    moments, directions, weights = drawn_moments(), drawn_directions(3), TransferWeights()
    exact = InstanceGenerator.exact(moments, directions, weights).transfer
    adam = InstanceGenerator.adam(repeat(moments), directions, weights).transfer
    assert np.linalg.norm(adam - exact) < 1e-4 * np.linalg.norm(exact)


def test_all_directions_leave_nothing_to_variance_consistency() -> None:
    moments, directions = drawn_moments(), drawn_directions(FEATURE_DIM)
    transfer = np.random.default_rng(3).normal(size=(FEATURE_DIM, FEATURE_DIM))
    assert variance_consistency(transfer, moments, directions) == pytest.approx(0.0, abs=1e-12)


def test_the_map_has_the_rank_of_the_prototypes_without_diversity() -> None:
    moments, weights = centred_moments(), TransferWeights(diversity=0.0)
    transfer = InstanceGenerator.exact(moments, drawn_directions(3), weights).transfer
    assert np.linalg.matrix_rank(transfer, tol=1e-9) == N_TAIL


def test_the_map_has_at_most_twice_that_rank_with_diversity() -> None:
    transfer = InstanceGenerator.exact(
        centred_moments(), drawn_directions(3), TransferWeights()
    ).transfer
    assert N_TAIL < np.linalg.matrix_rank(transfer, tol=1e-9) <= 2 * N_TAIL


def test_directions_without_data_get_nothing() -> None:
    """Instances that live in a plane: W is zero across it instead of arbitrarily large."""
    plane = np.eye(FEATURE_DIM)[:2]
    relations = Relations(np.array([[1.0, 2], [-2, 1], [1, 1]]) @ plane, np.zeros(3, dtype=int))
    prototype = np.array([1.0, 0.5]) @ plane
    moments = TransferMoments.of(prototype, np.outer(prototype, prototype), relations)
    transfer = InstanceGenerator.exact(moments, drawn_directions(3), TransferWeights()).transfer
    np.testing.assert_allclose(transfer[:, 2:], 0.0, atol=1e-12)
    assert np.abs(transfer).max() < 2


@given(
    seed=st.integers(0, 10_000),
    generation=st.floats(0.01, 100),
    share=st.floats(0, 1),
    variance=st.floats(0, 100),
    relation_scale=st.floats(1e-3, 1e3),
    n_head=st.integers(1, 5),
)
def test_diversity_up_to_generation_always_has_a_minimum(
    seed: int, generation: float, share: float, variance: float, relation_scale: float, n_head: int
) -> None:
    weights = TransferWeights(generation, variance, generation * share)
    moments, directions = drawn_moments(seed, relation_scale, n_head), drawn_directions(3)
    transfer = InstanceGenerator.exact(moments, directions, weights).transfer
    gradient = transfer_gradient(transfer, moments, directions, weights)
    size = np.linalg.norm(moments.input) * (generation + variance) * (1 + np.linalg.norm(transfer))
    assert np.linalg.norm(gradient) < 1e-7 * size
    at_zero = transfer_loss(np.zeros_like(transfer), moments, directions, weights)
    assert transfer_loss(transfer, moments, directions, weights) <= at_zero + 1e-9 * size


def exact_map(moments: TransferMoments, weights: TransferWeights) -> InstanceGenerator:
    return InstanceGenerator.exact(moments, drawn_directions(3), weights)


def adam_map(moments: TransferMoments, weights: TransferWeights) -> InstanceGenerator:
    return InstanceGenerator.adam(repeat(moments), drawn_directions(3), weights)


@pytest.mark.parametrize("solve", [exact_map, adam_map])
def test_too_much_diversity_is_explained(
    solve: Callable[[TransferMoments, TransferWeights], InstanceGenerator],
) -> None:
    with pytest.raises(NoMinimumError) as error:
        solve(drawn_moments(), TransferWeights(generation=0.5, diversity=20.0))
    message = str(error.value)
    assert "generation_weight=0.5 and diversity_weight=20" in message
    assert "spreading the generated instances pays without limit" in message
    assert "Choose diversity_weight at most generation_weight" in message


@pytest.mark.parametrize("weights", [TransferWeights(0, 0, 0), TransferWeights(-1, 2, 0)])
def test_weights_that_leave_nothing_to_minimise_are_refused(weights: TransferWeights) -> None:
    with pytest.raises(NoMinimumError, match="must not be negative and not both zero"):
        InstanceGenerator.exact(drawn_moments(), drawn_directions(3), weights)


def test_the_identity_adds_relations_as_they_are() -> None:
    generated = InstanceGenerator.identity(3).generate(np.ones((2, 3)), np.full((2, 3), 0.5))
    np.testing.assert_array_equal(generated, np.full((2, 3), 1.5))


def test_generations_keep_the_precision_of_the_instances() -> None:
    half = np.ones((2, 3), dtype=np.float32)
    assert InstanceGenerator(np.eye(3)).generate(half, half).dtype == np.float32


def labelled_instances() -> tuple[FloatArray, LabelMatrix, BoolArray]:
    """Forty documents of four labels, some with several; the last label is tail."""
    random = np.random.default_rng(8)
    targets = (random.random((40, 4)) < [0.6, 0.5, 0.4, 0.1]).astype(np.float32)
    scale = np.array([5.0, 3.0, 1.0, 0.4, 0.2, 0.1])
    instances = targets @ random.normal(size=(4, 6)) + scale * random.normal(size=(40, 6))
    return instances, csr_array(targets), np.array([True, True, True, False])


def head_covariance() -> FloatArray:
    """Equation (12), a head label at a time."""
    instances, targets, is_head = labelled_instances()
    total = np.zeros((6, 6))
    for label in np.flatnonzero(is_head):
        own = instances[targets.toarray()[:, label] == 1]
        total += np.cov(own.T, bias=True) * len(own)
    return total


def test_directions_are_the_leading_eigenvectors_of_the_head_covariance() -> None:
    directions = head_directions(*labelled_instances(), n_directions=4)
    values, vectors = np.linalg.eigh(head_covariance())
    overlap = np.abs(np.sum(directions * vectors[:, ::-1][:, :4], axis=0))  # signs are free
    assert values.min() > 0
    np.testing.assert_allclose(overlap, 1.0, atol=1e-9)


def test_directions_are_the_fewest_that_hold_95_percent() -> None:
    directions = head_directions(*labelled_instances())
    covariance = head_covariance()
    held = np.diag(directions.T @ covariance @ directions) / np.trace(covariance)
    assert held.sum() >= 0.95 > held[:-1].sum()


def test_directions_are_orthonormal() -> None:
    directions = head_directions(*labelled_instances(), n_directions=5)
    np.testing.assert_allclose(directions.T @ directions, np.eye(5), atol=1e-12)


def test_a_literal_number_of_directions_is_taken_as_far_as_there_are_so_many() -> None:
    assert head_directions(*labelled_instances(), n_directions=1).shape == (6, 1)
    assert head_directions(*labelled_instances(), n_directions=100).shape == (6, 6)


def test_a_negative_number_of_directions_is_refused() -> None:
    with pytest.raises(SettingError, match="n_directions must not be negative, got -1"):
        head_directions(*labelled_instances(), n_directions=-1)


def isotropic_instances() -> tuple[FloatArray, LabelMatrix, BoolArray]:
    """One head label that varies alike in 130 directions, so 95 % takes more than 100 of them."""
    instances = np.concatenate([np.eye(130), -np.eye(130)])
    return instances, csr_array(np.ones((260, 1), dtype=np.float32)), np.array([True])


def test_at_most_100_directions_are_taken_unless_the_bound_is_lifted() -> None:
    assert head_directions(*isotropic_instances()).shape == (130, 100)
    assert head_directions(*isotropic_instances(), max_directions=7).shape == (130, 7)
    assert head_directions(*isotropic_instances(), max_directions=None).shape == (130, 124)
