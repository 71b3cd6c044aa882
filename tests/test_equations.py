"""Equations (7) to (13) against literal sums, numbers worked out by hand and an independent solution."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array

from piran.augment.generator import InstanceGenerator
from piran.augment.losses import (
    TransferMoments,
    TransferWeights,
    diversity_penalty,
    generation_consistency,
    transfer_gradient,
    transfer_loss,
    variance_consistency,
)
from piran.augment.prototypes import Prototypes
from piran.augment.relations import Relations
from piran.types import FloatArray

WEIGHTS = TransferWeights(generation=1.3, variance=0.7, diversity=0.4)


@dataclass(frozen=True, eq=False)
class Case:
    """Prototypes o (n_tail, d), relations c (n_head, n_pairs, d), a map W (d, d), directions Q."""

    o: FloatArray
    c: FloatArray
    W: FloatArray
    Q: FloatArray

    @property
    def moments(self) -> TransferMoments:
        n_head, n_pairs, feature_dim = self.c.shape
        relations = Relations(
            self.c.reshape(-1, feature_dim), np.repeat(np.arange(n_head), n_pairs)
        )
        return TransferMoments.of(self.o.mean(axis=0), self.o.T @ self.o / len(self.o), relations)

    @property
    def n_terms(self) -> int:
        """Terms of the triple sum; the library takes means where the paper takes sums."""
        return int(len(self.o) * self.c.shape[0] * self.c.shape[1])


def drawn_case(n_tail: int = 3, n_head: int = 2, n_pairs: int = 4, feature_dim: int = 5) -> Case:
    random = np.random.default_rng(7)
    return Case(
        o=random.normal(size=(n_tail, feature_dim)),
        c=random.normal(size=(n_head, n_pairs, feature_dim)) + random.normal(size=feature_dim),
        W=random.normal(size=(feature_dim, feature_dim)),
        Q=np.linalg.qr(random.normal(size=(feature_dim, 2)))[0],
    )


def literal_sums(case: Case) -> tuple[float, float, float]:
    """L_gen, L_div and L_var as printed: loops over tail labels j, head labels b and pairs z."""
    gen = div = var = 0.0
    for o in case.o:
        for c in case.c:
            g = [case.W @ (o + c_z) for c_z in c]
            centre = sum(case.Q.T @ g_z for g_z in g) / len(g)
            for g_z in g:
                gen += float(np.sum((o - g_z) ** 2))
                div -= float(np.sum((case.Q.T @ g_z - centre) ** 2))
                var += float(np.sum((case.Q @ case.Q.T @ g_z - g_z) ** 2))
    return gen, div, var


def test_generation_consistency_is_equation_9() -> None:
    case = drawn_case()
    expected = literal_sums(case)[0] / case.n_terms
    assert generation_consistency(case.W, case.moments) == pytest.approx(expected)


def test_diversity_is_equation_10() -> None:
    case = drawn_case()
    expected = literal_sums(case)[1] / case.n_terms
    assert diversity_penalty(case.W, case.moments, case.Q) == pytest.approx(expected)


def test_variance_consistency_is_equation_11() -> None:
    case = drawn_case()
    expected = literal_sums(case)[2] / case.n_terms
    assert variance_consistency(case.W, case.moments, case.Q) == pytest.approx(expected)


def test_centred_variance_consistency_leaves_the_prototype_alone() -> None:
    case = drawn_case()
    n_head, n_pairs, feature_dim = case.c.shape
    c = case.c.reshape(-1, feature_dim)
    expected = np.mean([np.sum((case.Q @ case.Q.T @ case.W @ v - case.W @ v) ** 2) for v in c])
    for o in (case.o, case.o + 10):
        moments = TransferMoments.of(
            o.mean(axis=0),
            o.T @ o / len(o),
            Relations(c, np.repeat(np.arange(n_head), n_pairs)),
            is_variance_centred=True,
        )
        assert variance_consistency(case.W, moments, case.Q) == pytest.approx(expected)


def test_the_transfer_loss_is_equation_13() -> None:
    case = drawn_case()
    gen, div, var = literal_sums(case)
    expected = (1.3 * gen + 0.7 * var + 0.4 * div) / case.n_terms
    assert transfer_loss(case.W, case.moments, case.Q, WEIGHTS) == pytest.approx(expected)


def test_the_gradient_agrees_with_finite_differences() -> None:
    case = drawn_case()
    moments, shape = case.moments, case.W.shape

    def loss(flat: FloatArray) -> float:
        return transfer_loss(flat.reshape(shape), moments, case.Q, WEIGHTS)

    def gradient(flat: FloatArray) -> FloatArray:
        return transfer_gradient(flat.reshape(shape), moments, case.Q, WEIGHTS).ravel()

    assert check_grad(loss, gradient, case.W.ravel()) < 1e-5


CROSSING = Case(  # one tail label at (1, 0); one head label that varies along the second axis
    o=np.array([[1.0, 0.0]]),
    c=np.array([[[0.0, 1.0], [0.0, -1.0]]]),
    W=np.eye(2),
    Q=np.array([[0.0], [1.0]]),
)


def test_the_terms_by_hand_at_the_identity() -> None:
    # g = (1, ±1): each is 1 away from o, spreads by 1 along Q, and has 1 outside of Q.
    assert generation_consistency(CROSSING.W, CROSSING.moments) == pytest.approx(1.0)
    assert diversity_penalty(CROSSING.W, CROSSING.moments, CROSSING.Q) == pytest.approx(-1.0)
    assert variance_consistency(CROSSING.W, CROSSING.moments, CROSSING.Q) == pytest.approx(1.0)
    loss = transfer_loss(CROSSING.W, CROSSING.moments, CROSSING.Q, TransferWeights())
    assert loss == pytest.approx(1.0 + 1.0 - 0.1)


def test_the_minimum_by_hand_outside_of_the_directions() -> None:
    # The loss is 1 − 2a + a² + b² + c² + d² + (a² + b²) − 0.1 d² for W = [[a, b], [c, d]].
    generator = InstanceGenerator.exact(CROSSING.moments, CROSSING.Q, TransferWeights())
    np.testing.assert_allclose(generator.transfer, [[0.5, 0.0], [0.0, 0.0]], atol=1e-12)
    loss = transfer_loss(generator.transfer, CROSSING.moments, CROSSING.Q, TransferWeights())
    assert loss == pytest.approx(0.5)


def test_the_minimum_by_hand_inside_of_the_directions() -> None:
    # o = 2 and x = 2 ± 1 along Q: E[ox] = 4, E[xx] = 5, spread 1, so w = 4 / (5 − 0.1).
    along = Case(
        o=np.array([[2.0, 0.0]]),
        c=np.array([[[1.0, 0.0], [-1.0, 0.0]]]),
        W=np.eye(2),
        Q=np.array([[1.0], [0.0]]),
    )
    generator = InstanceGenerator.exact(along.moments, along.Q, TransferWeights())
    np.testing.assert_allclose(generator.transfer, [[40 / 49, 0.0], [0.0, 0.0]], atol=1e-12)


def test_a_generated_instance_by_hand() -> None:
    generator = InstanceGenerator(np.array([[0.0, 2.0], [1.0, 0.0]]))
    generated = generator.generate(np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]]))
    np.testing.assert_array_equal(generated, [[2.0, 4.0]])  # W (4, 1)


def test_the_exact_map_equals_the_solution_in_sums() -> None:
    """W = α P S_ox (α S_x − γ S̃)⁻¹ + α/(α + β) (I − P) S_ox S_x⁻¹, with sums instead of means."""
    case = drawn_case()
    n_head, n_pairs, feature_dim = case.c.shape
    n_tail, n_relations = len(case.o), n_head * n_pairs
    pool = case.c.reshape(-1, feature_dim)
    S_o, s_o, S_c, s_c = case.o.T @ case.o, case.o.sum(0), pool.T @ pool, pool.sum(0)
    S_x = n_relations * S_o + np.outer(s_o, s_c) + np.outer(s_c, s_o) + n_tail * S_c
    S_ox = n_relations * S_o + np.outer(s_o, s_c)
    centred = (case.c - case.c.mean(axis=1, keepdims=True)).reshape(-1, feature_dim)
    S_t = n_tail * centred.T @ centred
    P, alpha, beta, gamma = case.Q @ case.Q.T, 1.3, 0.7, 0.4
    expected = alpha * P @ S_ox @ np.linalg.inv(alpha * S_x - gamma * S_t)
    expected += alpha / (alpha + beta) * (np.eye(5) - P) @ S_ox @ np.linalg.inv(S_x)
    generator = InstanceGenerator.exact(case.moments, case.Q, WEIGHTS)
    np.testing.assert_allclose(generator.transfer, expected, atol=1e-10)


@pytest.mark.parametrize("n_drawn", [1, 2, 3, 4, 7])
def test_prototype_moments_equal_those_over_all_draws(n_drawn: int) -> None:
    """Equation (7): E[o] and E[ooᵀ] over every choice of q documents of each tail label."""
    instances = np.random.default_rng(3).normal(size=(9, 3))
    documents = [[0, 1, 2, 3], [3, 4, 5, 6, 7], [8]]
    targets = np.zeros((9, 3), dtype=np.float32)
    means, moments = [], []
    for label, members in enumerate(documents):
        targets[members, label] = 1
        draws = combinations(members, min(n_drawn, len(members)))
        o = np.array([instances[list(draw)].mean(axis=0) for draw in draws])
        means.append(o.mean(axis=0))
        moments.append(o.T @ o / len(o))
    prototypes = Prototypes.of(instances, csr_array(targets), np.arange(3), n_drawn)
    np.testing.assert_allclose(prototypes.means(), means, atol=1e-12)
    np.testing.assert_allclose(prototypes.second_moment(), np.mean(moments, axis=0), atol=1e-12)
