"""Labels that come along, against scikit-learn, and leaving one out against really leaving it out."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from piran.training import companions
from piran.training.companions import L2, MIN_DOCUMENTS, Companions
from piran.types import BoolArray, FloatArray, LabelMatrix

ALL = np.ones(5, dtype=np.bool_)


def made(n_documents: int = 120, seed: int = 0) -> tuple[FloatArray, FloatArray, LabelMatrix]:
    """Return probabilities, margins and targets of five labels; the last has too few documents."""
    random = np.random.default_rng(seed)
    is_true = random.random((n_documents, 5)) < [0.5, 0.3, 0.3, 0.2, 0.0]
    is_true[: MIN_DOCUMENTS - 1, 4] = True
    margins = (2 * is_true - 1 + random.normal(size=is_true.shape)).astype(np.float32)
    probabilities = (1 / (1 + np.exp(-2 * margins))).astype(np.float32)
    return probabilities, margins, csr_array(is_true.astype(np.float32))


def reference(
    probabilities: FloatArray, margins: FloatArray, targets: LabelMatrix, heard: int = 4
) -> Ridge:
    lacking = 2 * targets.toarray() - 1 - margins
    return Ridge(alpha=L2).fit(probabilities[:, :heard], lacking)


def test_shifts_are_those_of_ridge_regression_without_its_intercept() -> None:
    probabilities, margins, targets = made()
    found, _ = Companions.fit(probabilities, margins, targets, ALL)
    ridge = reference(probabilities, margins, targets)
    new = made(seed=1)[0]
    np.testing.assert_array_equal(found.heard, [0, 1, 2, 3])
    lacking = 2 * targets.toarray() - 1 - margins
    expected = ridge.predict(new[:, :4]) - lacking.mean(axis=0)
    np.testing.assert_allclose(found.shifts(new), expected, atol=1e-5)


def test_a_document_left_out_is_told_of_by_the_others_alone() -> None:
    probabilities, margins, targets = made()
    _, left_out = Companions.fit(probabilities, margins, targets, ALL)
    another_system = made(seed=2)[0]
    mean = (2 * targets.toarray() - 1 - margins).mean(axis=0)
    for own in (0, 7, 119):
        others = np.arange(len(margins)) != own
        ridge = reference(probabilities[others], margins[others], targets[others])
        for given in (probabilities, another_system):
            expected = ridge.predict(given[own : own + 1, :4])[0] - mean
            np.testing.assert_allclose(left_out.shifts(given)[own], expected, atol=1e-4)


def test_a_label_that_always_comes_along_is_raised_by_its_company() -> None:
    random = np.random.default_rng(0)
    is_leader = random.random(400) < 0.3
    is_true = np.column_stack([is_leader, is_leader])
    clear = np.where(is_leader, 0.95, 0.05)
    probabilities = np.column_stack([clear, np.full(400, 0.3)]).astype(np.float32)
    margins = np.column_stack([2 * clear - 1, np.full(400, -0.4)]).astype(np.float32)
    targets = csr_array(is_true.astype(np.float32))
    found, _ = Companions.fit(probabilities, margins, targets, np.ones(2, dtype=np.bool_))
    with_leader, without = found.shifts(np.array([[0.95, 0.3], [0.05, 0.3]], dtype=np.float32))
    assert with_leader[1] > 0.5 > 0 > without[1]


@pytest.mark.parametrize("hidden", [0, 3])
def test_an_unknown_label_neither_tells_nor_is_told_of(hidden: int) -> None:
    probabilities, margins, targets = made()
    is_known: BoolArray = np.arange(5) != hidden
    found, left_out = Companions.fit(probabilities, margins, targets, is_known)
    assert hidden not in found.heard
    assert not found.shifts(probabilities)[:, hidden].any()
    assert not left_out.shifts(probabilities)[:, hidden].any()


def test_only_the_most_frequent_labels_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(companions, "MAX_HEARD", 2)
    probabilities, margins, targets = made()
    most = np.sort(np.argsort(-np.asarray(targets.sum(axis=0)))[:2])
    np.testing.assert_array_equal(
        Companions.fit(probabilities, margins, targets, ALL)[0].heard, most
    )


def test_where_no_label_is_frequent_nothing_is_told() -> None:
    probabilities, margins, targets = made(5)
    found, left_out = Companions.fit(probabilities, margins, targets, ALL)
    assert not len(found.heard)
    assert not found.shifts(probabilities).any()
    assert np.isfinite(left_out.shifts(probabilities)).all()


def test_companions_are_the_same_from_their_arrays() -> None:
    probabilities, margins, targets = made()
    found, _ = Companions.fit(probabilities, margins, targets, ALL)
    again = Companions.from_arrays(found.arrays())
    np.testing.assert_array_equal(again.shifts(probabilities), found.shifts(probabilities))
