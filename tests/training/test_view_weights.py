"""What several views count: the weights with the least log-loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from piran.training import view_weights
from piran.training.calibration import MIN_SCALE
from piran.training.view_weights import START, fit_weights
from piran.types import FloatArray, LabelMatrix

COUNTS = np.array([40, 20, 8, 3])


def made_views(
    *strengths: float, n_documents: int = 3000, seed: int = 0
) -> tuple[list[FloatArray], LabelMatrix]:
    """Return views whose weighted sum, times three, is the logit of the truth."""
    random = np.random.default_rng(seed)
    shape = (n_documents, len(COUNTS))
    views = [random.normal(size=shape).astype(np.float32) for _ in strengths]
    logits = 3 * sum(s * view for s, view in zip(strengths, views, strict=True)) - 2
    return views, csr_array((random.random(shape) < 1 / (1 + np.exp(-logits))).astype(np.float32))


def test_weights_are_about_those_of_a_logistic_regression() -> None:
    views, targets = made_views(1.0, 0.6, 0.2)
    pairs = np.column_stack([view.ravel() for view in views])
    model = LogisticRegression(C=np.inf).fit(pairs, targets.toarray().ravel() > 0)
    lead, *others = model.coef_[0]
    found = fit_weights(views[0], views[1:], targets, COUNTS)
    # Not the same, as margins are stretched before they become probabilities
    np.testing.assert_allclose(found, np.array(others) / lead, atol=0.08)


@pytest.mark.parametrize("strength", [0.0, -0.7])
def test_a_view_that_knows_nothing_or_the_contrary_does_not_count(strength: float) -> None:
    views, targets = made_views(1.0, strength)
    [weight] = fit_weights(views[0], views[1:], targets, COUNTS)
    assert 0 <= weight < 0.05


def test_without_evidence_a_view_counts_half() -> None:
    nothing = np.zeros((0, 4), dtype=np.float32)
    assert fit_weights(nothing, [nothing], csr_array(nothing), COUNTS).tolist() == [START]
    assert fit_weights(nothing, [], csr_array(nothing), COUNTS).tolist() == []
    views, targets = made_views(1.0, 0.0, n_documents=2)
    [weight] = fit_weights(views[0], views[1:], targets, COUNTS)
    assert abs(weight - START) < 0.5


def test_some_of_the_false_pairs_tell_about_what_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    views, targets = made_views(1.0, 0.6, 0.2)
    of_all = fit_weights(views[0], views[1:], targets, COUNTS)
    monkeypatch.setattr(view_weights, "MAX_FALSE_PAIRS", 4000)
    of_some = fit_weights(views[0], views[1:], targets, COUNTS)
    assert not np.array_equal(of_some, of_all)
    np.testing.assert_allclose(of_some, of_all, atol=0.08)
    np.testing.assert_array_equal(fit_weights(views[0], views[1:], targets, COUNTS), of_some)


@given(st.integers(0, 2**16))
def test_the_gradient_is_that_of_the_objective(seed: int) -> None:
    views, targets = made_views(1.0, 0.5, 0.5, n_documents=30, seed=seed)
    random = np.random.default_rng(seed)
    pairs = view_weights._Pairs.drawn(views[0], views[1:], targets, COUNTS, random)
    theta = random.normal(size=6) * 0.5 + [0.5, 0.5, 2.0, 0.0, 0.0, 0.0]
    direction = random.normal(size=6)
    value, gradient = pairs.objective(theta)
    step = 1e-2
    ahead, behind = (pairs.objective(theta + s * step * direction)[0] for s in (1, -1))
    assert (ahead - behind) / (2 * step) == pytest.approx(
        float(gradient @ direction), abs=0.02 * (1 + np.abs(gradient).max())
    )
    assert value > 0


def test_the_loss_is_the_one_worked_out_by_hand() -> None:
    leading = np.array([[1.0], [-1.0]], dtype=np.float32)
    other = np.array([[2.0], [0.0]], dtype=np.float32)
    targets = csr_array(np.array([[1.0], [0.0]], dtype=np.float32))
    random = np.random.default_rng(0)
    pairs = view_weights._Pairs.drawn(leading, [other], targets, np.array([1]), random)
    value, _ = pairs.objective(np.array([0.5, 2.0, 0.0, 0.0, 0.0]))
    scale = MIN_SCALE + 1.0  # margins have the standard deviation 1
    logit = 2 * (np.arcsinh((1 + 0.5 * 2 + 1) / scale) - np.arcsinh(1 / scale))
    no = -2 * np.arcsinh(1 / scale)  # a margin of −1
    expected = np.log1p(np.exp(-logit)) + np.log1p(np.exp(no))
    assert value == pytest.approx(expected, rel=1e-5)
