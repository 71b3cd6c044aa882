"""Many linear classifiers at once, held to scikit-learn's one at a time."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from piran.errors import SettingError
from piran.rows import LinearRows
from piran.training import linear_fit
from piran.training.linear_fit import OwnPositives, balanced_weights, fit_rows
from piran.types import FloatArray, LabelMatrix

L2 = 0.5


@pytest.fixture
def _tight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_fit, "TOLERANCE", 1e-12)


def documents(
    n_documents: int = 150, n_labels: int = 6, feature_dim: int = 8
) -> tuple[FloatArray, LabelMatrix]:
    """Instances away from the origin; labels of all frequencies, each on at least one document."""
    random = np.random.default_rng(0)
    targets = random.random((n_documents, n_labels)) < 0.5 / np.arange(1, n_labels + 1)
    targets[0] = True
    centres = random.normal(size=(n_labels, feature_dim))
    instances = 2.0 + targets @ centres + random.normal(size=(n_documents, feature_dim))
    return instances, csr_array(targets.astype(np.float32))


def scikit_rows(
    instances: FloatArray, targets: FloatArray, weight: FloatArray | None = None, l2: float = L2
) -> LinearRows:
    """The same objective in scikit-learn: C = 1/λ, the intercept not regularised."""
    fits = [
        LogisticRegression(C=1 / l2, tol=1e-10, max_iter=100_000).fit(instances, column, weight)
        for column in targets.T
    ]
    return LinearRows(
        np.concatenate([fit.coef_ for fit in fits]),
        np.concatenate([fit.intercept_ for fit in fits]),
    )


def objective(rows: LinearRows, instances: FloatArray, targets: LabelMatrix) -> FloatArray:
    """Σ BCE + λ/2 ‖w‖² of each label."""
    logits = rows.logits(instances)
    losses = np.logaddexp(0, logits) - targets.toarray() * logits
    return np.asarray(losses.sum(axis=0) + L2 / 2 * np.square(rows.rows).sum(axis=1))


def assert_same_rows(left: LinearRows, right: LinearRows, atol: float) -> None:
    np.testing.assert_allclose(left.rows, right.rows, atol=atol, rtol=0)
    np.testing.assert_allclose(left.bias, right.bias, atol=atol, rtol=0)


@pytest.mark.usefixtures("_tight")
def test_the_optimum_is_scikit_learns() -> None:
    instances, targets = documents()
    fitted = fit_rows(instances, targets, l2=L2)
    assert_same_rows(fitted, scikit_rows(instances, targets.toarray()), atol=1e-4)


def test_the_usual_tolerance_is_good_to_a_few_thousandths() -> None:
    instances, targets = documents()
    fitted = fit_rows(instances, targets, l2=L2)
    expected = scikit_rows(instances, targets.toarray())
    np.testing.assert_allclose(fitted.rows, expected.rows, atol=5e-3)
    np.testing.assert_allclose(
        fitted.probabilities(instances), expected.probabilities(instances), atol=1e-3
    )


def test_the_objective_is_as_near_its_minimum_as_promised_on_separable_labels() -> None:
    instances, targets = documents(n_documents=60, n_labels=20, feature_dim=30)
    expected = scikit_rows(instances, targets.toarray())
    is_told_apart = (expected.logits(instances) > 0) == (targets.toarray() == 1)
    assert is_told_apart.all()
    above = objective(fit_rows(instances, targets, l2=L2), instances, targets)
    above -= objective(expected, instances, targets)
    assert above.max() < 5 * linear_fit.TOLERANCE


@pytest.mark.parametrize("scale", [1e-2, 30.0])
def test_the_scale_of_the_features_does_not_matter(scale: float) -> None:
    instances, targets = documents()
    fitted = fit_rows(instances * scale, targets, l2=L2 * scale**2)
    np.testing.assert_allclose(
        fitted.logits(instances * scale),
        fit_rows(instances, targets, l2=L2).logits(instances),
        atol=0.02,
    )


def test_float32_instances_are_fitted_in_float32() -> None:
    instances, targets = documents()
    fitted = fit_rows(instances.astype(np.float32), targets, l2=L2)
    assert fitted.rows.dtype == np.float32
    assert_same_rows(fitted, scikit_rows(instances, targets.toarray()), atol=0.02)


@pytest.mark.usefixtures("_tight")
def test_own_positives_are_weighted_rows_of_their_label_alone() -> None:
    instances, targets = documents(n_labels=3)
    own = np.random.default_rng(1).normal(size=(3, 4, 8))
    fitted = fit_rows(instances, targets, l2=L2, own_positives=OwnPositives(own, weight=1.5))
    weight = np.concatenate([np.ones(len(instances)), np.full(4, 1.5)])
    for label in range(3):
        rows = np.concatenate([instances, own[label]])
        answers = np.concatenate([targets.toarray()[:, label], np.ones(4)])[:, None]
        expected = scikit_rows(rows, answers, weight)
        assert_same_rows(fitted[np.array([label])], expected, atol=1e-4)


@pytest.mark.usefixtures("_tight")
def test_documents_count_what_their_weights_say() -> None:
    instances, targets = documents(n_labels=3)
    counts = np.random.default_rng(1).exponential(size=targets.shape)
    fitted = fit_rows(instances, targets, l2=L2, weights=lambda columns: counts[:, columns])
    for label in range(3):
        column = targets.toarray()[:, [label]]
        expected = scikit_rows(instances, column, counts[:, label])
        assert_same_rows(fitted[np.array([label])], expected, atol=1e-4)


@pytest.mark.usefixtures("_tight")
def test_a_balance_of_one_is_scikit_learns_balanced_class_weight() -> None:
    instances, targets = documents(n_labels=3)
    weights = balanced_weights(targets, 1.0)
    fitted = fit_rows(instances, targets, l2=L2, weights=weights)
    for label in range(3):
        column = targets.toarray()[:, label]
        n_negative = float((column == 0).sum())
        # There a negative counts N / 2 n⁻ instead of 1
        model = LogisticRegression(
            C=2 * n_negative / len(column) / L2,
            class_weight="balanced",
            tol=1e-10,
            max_iter=100_000,
        ).fit(instances, column)
        expected = LinearRows(model.coef_, model.intercept_)
        assert_same_rows(fitted[np.array([label])], expected, atol=1e-4)


def test_without_balance_there_are_no_weights() -> None:
    _, targets = documents()
    assert balanced_weights(targets, 0.0) is None
    half = balanced_weights(targets, 0.5)
    assert half is not None
    n_positive = targets.toarray().sum(axis=0)
    largest = half(slice(1, 3)).max(axis=0)
    np.testing.assert_allclose(largest, (len(targets.toarray()) / n_positive - 1)[1:3] ** 0.5)


@pytest.mark.parametrize("balance", [-0.1, 1.1])
def test_a_balance_beyond_one_is_refused(balance: float) -> None:
    with pytest.raises(SettingError, match="balance must lie in 0 to 1"):
        balanced_weights(documents()[1], balance)


@pytest.mark.usefixtures("_tight")
def test_where_the_search_begins_does_not_change_the_optimum() -> None:
    instances, targets = documents()
    random = np.random.default_rng(2)
    start = LinearRows(5 * random.normal(size=(6, 8)), 5 * random.normal(size=6))
    fitted = fit_rows(instances, targets, l2=L2, start=start)
    assert_same_rows(fitted, fit_rows(instances, targets, l2=L2), atol=1e-4)


def test_a_start_at_the_optimum_stays_there() -> None:
    instances, targets = documents()
    optimum = fit_rows(instances, targets, l2=L2)
    again = fit_rows(instances, targets, l2=L2, start=optimum)
    assert_same_rows(again, optimum, atol=5e-3)


def test_labels_without_positives_score_zero() -> None:
    instances, _ = documents()
    empty = csr_array(np.zeros((len(instances), 2), dtype=np.float32))
    fitted = fit_rows(instances, empty, l2=L2)
    assert not fitted.probabilities(instances).any()
    assert not fitted.rows.any()


def test_a_start_without_positives_is_taken_up_again_from_the_prior() -> None:
    instances, targets = documents()
    never = LinearRows(np.zeros((6, 8)), np.full(6, -np.inf))
    assert_same_rows(
        fit_rows(instances, targets, l2=L2, start=never), fit_rows(instances, targets, l2=L2), 1e-6
    )


def test_own_positives_alone_make_a_label() -> None:
    instances, _ = documents()
    empty = csr_array(np.zeros((len(instances), 1), dtype=np.float32))
    own = OwnPositives(np.full((1, 5, 8), -4.0), weight=1.0)
    fitted = fit_rows(instances, empty, l2=L2, own_positives=own)
    assert fitted.probabilities(np.full((1, 8), -4.0))[0, 0] > 0.9
    assert fitted.probabilities(instances).max() < 0.1


def test_a_label_of_all_documents_is_given_to_all() -> None:
    instances, _ = documents()
    every = csr_array(np.ones((len(instances), 1), dtype=np.float32))
    assert fit_rows(instances, every, l2=L2).probabilities(instances).min() > 0.95


def test_more_labels_than_fit_at_once_get_the_rows_they_get_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instances, targets = documents(n_labels=7)
    own = OwnPositives(np.random.default_rng(3).normal(size=(7, 2, 8)), weight=1.0)
    start = LinearRows(np.full((7, 8), 0.1), np.zeros(7))
    together = fit_rows(instances, targets, l2=L2, start=start, own_positives=own)
    monkeypatch.setattr(linear_fit, "LABELS_AT_ONCE", 3)
    apart = fit_rows(instances, targets, l2=L2, start=start, own_positives=own)
    assert_same_rows(apart, together, atol=1e-6)


def test_more_labels_than_fit_at_once_are_all_fitted() -> None:
    instances, _ = documents()
    n_labels = linear_fit.LABELS_AT_ONCE + 3
    column = (instances[:, 0] > 2).astype(np.float32)
    fitted = fit_rows(instances, csr_array(np.tile(column[:, None], n_labels)), l2=L2)
    np.testing.assert_allclose(fitted.rows, np.tile(fitted.rows[0], (n_labels, 1)), atol=1e-6)


def test_no_labels_give_no_rows() -> None:
    instances, targets = documents()
    assert fit_rows(instances, targets[:, :0], l2=L2).rows.shape == (0, 8)


def test_read_only_arrays_are_fitted_as_others() -> None:
    instances, targets = documents()
    start = LinearRows(np.zeros((6, 8)), np.zeros(6))
    own = np.ones((6, 1, 8))
    for array in (instances, start.rows, start.bias, own):
        array.flags.writeable = False  # a memory-mapped file is
    fitted = fit_rows(instances, targets, l2=L2, start=start, own_positives=OwnPositives(own, 1.0))
    assert np.isfinite(fitted.rows).all()


@pytest.mark.parametrize("l2", [0.0, -1.0, float("nan")])
def test_an_l2_that_is_not_positive_is_refused(l2: float) -> None:
    with pytest.raises(SettingError, match="l2 must be above 0"):
        fit_rows(*documents(), l2=l2)


def hinge_objective(rows: LinearRows, instances: FloatArray, targets: LabelMatrix) -> FloatArray:
    """Σ max(0, 1 − y f)² + λ/2 ‖w‖² of each label."""
    signs = 2 * targets.toarray() - 1
    short = np.maximum(0, 1 - signs * rows.logits(instances))
    return np.asarray(np.square(short).sum(axis=0) + L2 / 2 * np.square(rows.rows).sum(axis=1))


@pytest.mark.usefixtures("_tight")
def test_the_squared_hinge_gives_scikit_learns_support_vector_machine() -> None:
    instances, targets = documents()
    fitted = fit_rows(instances, targets, l2=L2, loss="squared-hinge")
    # liblinear regularises the intercept as one more weight; a large constant makes that vanish
    machines = [
        LinearSVC(C=1 / L2, dual=False, tol=1e-10, intercept_scaling=1e3, max_iter=100_000).fit(
            instances, column
        )
        for column in targets.toarray().T
    ]
    expected = LinearRows(
        np.concatenate([machine.coef_ for machine in machines]),
        np.concatenate([machine.intercept_ for machine in machines]),
    )
    assert_same_rows(fitted, expected, atol=1e-3)
    ours, theirs = (hinge_objective(rows, instances, targets) for rows in (fitted, expected))
    assert (ours <= theirs + 1e-6).all()


@pytest.mark.usefixtures("_tight")
def test_own_positives_of_the_squared_hinge_count_as_documents_of_their_weight() -> None:
    instances, targets = documents(n_labels=1)
    own = np.random.default_rng(1).normal(size=(1, 5, instances.shape[1]))
    fitted = fit_rows(
        instances, targets, l2=L2, loss="squared-hinge", own_positives=OwnPositives(own, 2.0)
    )
    longer = np.concatenate([instances, own[0], own[0]])
    labels = csr_array(np.concatenate([targets.toarray(), np.ones((10, 1), dtype=np.float32)]))
    assert_same_rows(fitted, fit_rows(longer, labels, l2=L2, loss="squared-hinge"), atol=1e-4)


def test_an_unknown_loss_is_refused() -> None:
    instances, targets = documents()
    with pytest.raises(
        SettingError, match=r"row_loss must be one of logistic, squared-hinge, got 'hin"
    ):
        fit_rows(instances, targets, l2=L2, loss="hinge")


@pytest.mark.parametrize("loss", ["logistic", "squared-hinge"])
def test_the_gradient_of_the_expected_loss_is_that_of_its_value(loss: str) -> None:
    random = np.random.default_rng(3)
    root = random.normal(size=(4, 4))
    positives = linear_fit.OwnPositives(random.normal(size=(2, 3, 4)), 1.5, root @ root.T)
    own = linear_fit._Own.of(positives, slice(None), torch.float64)
    theta = torch.from_numpy(random.normal(size=(2, 5))).requires_grad_()
    value, gradient = own.value_and_gradient(theta.detach(), linear_fit.LOSSES[loss])
    for label, place in ((0, 0), (1, 3), (1, 4)):
        step = torch.zeros_like(theta)
        step[label, place] = 1e-6
        above, below = (
            own.value_and_gradient((theta + sign * step).detach(), linear_fit.LOSSES[loss])[0]
            for sign in (1, -1)
        )
        slope = (above - below)[label] / 2e-6
        assert float(gradient[label, place]) == pytest.approx(float(slope), rel=1e-4)
    assert (value > 0).all()


def test_the_expected_loss_is_the_mean_over_the_distribution() -> None:
    random = np.random.default_rng(4)
    root = 0.7 * random.normal(size=(3, 3))
    centre, weight = random.normal(size=3), random.normal(size=4)
    own = linear_fit._Own.of(
        linear_fit.OwnPositives(centre[None, None], 1.0, root @ root.T), slice(None), torch.float64
    )
    value, _ = own.value_and_gradient(torch.from_numpy(weight[None]), linear_fit.LOSSES["logistic"])
    logits = (centre + random.normal(size=(400_000, 3)) @ root.T) @ weight[:3] + weight[3]
    assert float(value[0]) == pytest.approx(np.logaddexp(0, -logits).mean(), rel=5e-3)
