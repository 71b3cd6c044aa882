"""Calibration: probabilities that hold on new documents, for frequent labels and for rare ones."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from piran.training.calibration import MarginCalibration
from piran.types import FloatArray, IntArray

COUNTS = np.array([400, 200, *[20] * 38])
"""Training documents: two frequent labels, then rare ones with a handful of positives each."""
IS_RARE = COUNTS < 100


def probability(margins: FloatArray) -> FloatArray:
    """Return the true chances: odds grow with the distance of the margin from −1, more when rare."""
    scale = np.where(IS_RARE, 0.2, 0.6)
    logits = 3.0 * np.arcsinh((margins + 1) / scale) - np.where(IS_RARE, 6.0, 5.0)
    return np.asarray(1 / (1 + np.exp(-logits)))


def drawn(n_documents: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Draw margins, which crowd near −1 for rare labels, and labels with the true chances."""
    random = np.random.default_rng(seed)
    spread = np.where(IS_RARE, 0.15, 0.7)
    margins = -1 + spread * random.standard_t(4, size=(n_documents, len(COUNTS)))
    return margins, (random.random(margins.shape) < probability(margins)).astype(np.int64)


@pytest.fixture(scope="module")
def calibration() -> MarginCalibration:
    margins, is_true = drawn(700, seed=0)
    return MarginCalibration.fit(margins, csr_array(is_true.astype(np.float32)), COUNTS)


def calibration_error(probabilities: FloatArray, is_true: IntArray) -> float:
    """Return the mean distance of probability and share of true labels in ten bins from 0.02 up."""
    inside = probabilities > 0.02
    p, t = probabilities[inside], is_true[inside]
    bins = np.minimum((p * 10).astype(int), 9)
    counts = np.bincount(bins, minlength=10)
    gaps = np.abs(np.bincount(bins, p, 10) - np.bincount(bins, t, 10))
    return float(gaps.sum() / counts.sum())


@pytest.mark.parametrize("group", ["frequent", "rare"])
def test_probabilities_hold_on_new_documents(calibration: MarginCalibration, group: str) -> None:
    margins, is_true = drawn(20_000, seed=1)
    columns = IS_RARE if group == "rare" else ~IS_RARE
    calibrated = calibration.probabilities(margins)[:, columns]
    plain = 1 / (1 + np.exp(-2 * margins[:, columns]))
    assert calibration_error(calibrated, is_true[:, columns]) < 0.05
    assert calibration_error(plain, is_true[:, columns]) > 0.1


def test_high_margins_of_rare_labels_are_not_taken_for_certainty(
    calibration: MarginCalibration,
) -> None:
    grid = np.repeat([[-0.8], [-0.5], [0.0]], len(COUNTS), axis=1)
    found = calibration.probabilities(grid)[:, IS_RARE].mean(axis=1)
    np.testing.assert_allclose(found, probability(grid)[:, -1], atol=0.08)


def test_a_label_without_evidence_gets_the_probabilities_of_its_frequency() -> None:
    margins, is_true = drawn(700, seed=2)
    is_true[:, -1] = 0
    fitted = MarginCalibration.fit(margins, csr_array(is_true.astype(np.float32)), COUNTS)
    grid = np.repeat(np.linspace(-1.2, 0.2, 15)[:, None], len(COUNTS), axis=1)
    mean_of_rare = fitted.probabilities(grid)[:, IS_RARE].mean(axis=1)
    np.testing.assert_allclose(fitted.probabilities(grid)[:, -1], mean_of_rare, atol=0.1)
    assert fitted.probabilities(grid)[-1, -1] > 0.5


def test_a_frequent_label_gets_its_own_sigmoid() -> None:
    margins, is_true = drawn(3000, seed=3)
    is_true[:, 0] = np.random.default_rng(0).random(3000) < 0.3  # whatever the margin
    fitted = MarginCalibration.fit(margins, csr_array(is_true.astype(np.float32)), COUNTS)
    grid = np.repeat([[-1.5], [-1.0], [0.0]], len(COUNTS), axis=1)
    np.testing.assert_allclose(fitted.probabilities(grid)[:, 0], 0.3, atol=0.06)


def test_probabilities_rise_with_the_margin_even_against_the_evidence() -> None:
    margins = np.linspace(-1.5, 1, 200)[:, None].repeat(3, axis=1)
    falling = csr_array((margins < -0.5).astype(np.float32))
    fitted = MarginCalibration.fit(margins, falling, np.array([5, 50, 500]))
    assert (np.diff(fitted.probabilities(margins), axis=0) > 0).all()


def test_without_evidence_a_margin_of_zero_is_an_even_chance() -> None:
    nothing = np.zeros((0, 2))
    fitted = MarginCalibration.fit(nothing, csr_array(nothing), np.array([3, 4]))
    low, middle, high = fitted.probabilities(np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]))
    np.testing.assert_allclose(middle, 0.5)
    assert (low < 0.2).all()
    assert (high > 0.6).all()


def test_a_label_that_is_never_given_keeps_the_probability_zero() -> None:
    margins, is_true = drawn(100, seed=4)
    margins[:, 3] = -np.inf
    fitted = MarginCalibration.fit(margins, csr_array(is_true.astype(np.float32)), COUNTS)
    probabilities = fitted.probabilities(margins)
    assert (probabilities[:, 3] == 0).all()
    assert np.isfinite(probabilities).all()
    assert probabilities.dtype == np.float32
