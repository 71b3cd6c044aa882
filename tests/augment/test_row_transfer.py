"""The map from prototypes to rows: it recovers known maps, and draws what it should."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from piran.augment.prototypes import Prototypes
from piran.augment.row_transfer import (
    RowTransfer,
    drawn_documents,
    drawn_prototypes,
    fine_tuned,
)
from piran.errors import SettingError
from piran.types import BoolArray, FloatArray

N_DRAWS, N_LABELS, DIM = 40, 12, 5


def unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def known_map() -> tuple[FloatArray, FloatArray, FloatArray]:
    """A matrix, prototypes that are the same in each draw, and the rows it leads to."""
    random = np.random.default_rng(0)
    matrix = random.normal(size=(DIM, DIM))
    prototypes = unit(random.normal(size=(N_LABELS, DIM)))
    return matrix, np.broadcast_to(prototypes, (N_DRAWS, N_LABELS, DIM)), prototypes @ matrix.T


def test_the_exact_solver_recovers_a_known_linear_map() -> None:
    matrix, prototypes, rows = known_map()
    transfer = RowTransfer.fit(prototypes, rows, l2=0.0, solver="exact", seed=0)
    np.testing.assert_allclose(transfer.matrix, matrix, atol=1e-8)
    np.testing.assert_allclose(transfer.rows(prototypes)[0], rows, atol=1e-5)


def test_adam_comes_near_a_known_linear_map() -> None:
    matrix, prototypes, rows = known_map()
    transfer = RowTransfer.fit(np.tile(prototypes, (8, 1, 1)), rows, l2=0, solver="adam", seed=0)
    assert np.abs(transfer.matrix - matrix).mean() < 0.1 * np.abs(matrix).mean()


def test_the_exact_solver_agrees_with_scikit_learns_ridge_on_all_draws() -> None:
    random = np.random.default_rng(1)
    prototypes = unit(random.normal(size=(N_DRAWS, N_LABELS, DIM)))
    rows = random.normal(size=(N_LABELS, DIM))
    transfer = RowTransfer.fit(prototypes, rows, l2=0.01, solver="exact", seed=0)
    ridge = Ridge(alpha=0.01 * N_DRAWS * N_LABELS, fit_intercept=False)
    ridge.fit(prototypes.reshape(-1, DIM), np.tile(rows, (N_DRAWS, 1)))
    np.testing.assert_allclose(transfer.matrix, ridge.coef_, atol=1e-8)


def test_fewer_labels_than_dimensions_have_a_solution() -> None:
    _, prototypes, rows = known_map()
    transfer = RowTransfer.fit(prototypes[:, :3], rows[:3], l2=0.0, solver="exact", seed=0)
    np.testing.assert_allclose(transfer.rows(prototypes[0, :3]), rows[:3], atol=1e-5)


def test_prototypes_are_unit_vectors_along_means_of_a_few_documents() -> None:
    random = np.random.default_rng(2)
    instances = random.normal(size=(7, DIM))
    targets = csr_array(np.array([[1, 1]] * 2 + [[1, 0]] * 4 + [[0, 0]], dtype=np.float32))
    prototypes = Prototypes.of(instances, targets, np.array([0, 1]), n_documents=2)
    drawn = drawn_prototypes(prototypes, 50, random)
    assert drawn.shape == (50, 2, DIM)
    pairs = [unit(instances[[i, j]].mean(axis=0)) for i in range(6) for j in range(i)]
    nearest = np.abs(drawn[:, 0, None] - np.stack(pairs)).max(axis=2).min(axis=1)
    np.testing.assert_allclose(nearest, 0, atol=1e-12)
    assert len(np.unique(drawn[:, 0].round(9), axis=0)) > 5  # draws differ …
    np.testing.assert_allclose(drawn[:, 1] - unit(instances[:2].mean(axis=0)), 0, atol=1e-12)  # …


def test_drawn_documents_are_members_as_often_as_they_were_drawn() -> None:
    targets = csr_array(np.array([[1, 1]] * 2 + [[1, 0]] * 4 + [[0, 0]], dtype=np.float32))
    prototypes = Prototypes.of(np.zeros((7, DIM)), targets, np.array([0, 1]), n_documents=3)
    drawn = drawn_documents(prototypes, 40, np.random.default_rng(3))
    counts = np.bincount(drawn, minlength=7)
    assert counts.sum() == 40 * (3 + 2)  # the second label has but two
    assert counts[6] == 0
    assert counts[2:6].min() > 10
    assert (counts[:2] - 40).min() > 10  # in every draw of the second, and in half of the first


def tuned(rows: FloatArray, instances: FloatArray, targets: BoolArray, passes: int) -> FloatArray:
    return fine_tuned(
        rows,
        instances.astype(np.float32),
        csr_array(targets.astype(np.float32)),
        np.arange(len(instances)),
        n_passes=passes,
        learning_rate=0.1,
        batch_size=16,
        random=np.random.default_rng(0),
    )


def test_fine_tuning_fits_each_set_of_rows_to_the_documents_from_where_it_is() -> None:
    random = np.random.default_rng(4)
    instances = unit(random.normal(size=(200, DIM)))
    targets = instances @ random.normal(size=(DIM, N_LABELS)) > 0
    rows = random.normal(size=(3, N_LABELS, DIM)).astype(np.float32)
    np.testing.assert_array_equal(tuned(rows, instances, targets, 0), rows)
    result = tuned(rows, instances, targets, 20)
    assert ((instances @ result.mT > 0) == targets).mean() > 0.95
    # a set alone comes out as it does among others
    np.testing.assert_allclose(tuned(rows[1:2], instances, targets, 20)[0], result[1], atol=1e-3)


def test_a_solver_that_does_not_exist_is_refused() -> None:
    _, prototypes, rows = known_map()
    with pytest.raises(SettingError, match="must be one of exact, adam, got 'sgd'"):
        RowTransfer.fit(prototypes, rows, l2=0.0, solver="sgd", seed=0)
