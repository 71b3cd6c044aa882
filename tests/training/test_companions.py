"""Labels that come along, against scikit-learn, and leaving one out against really leaving it out."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from piran.training import companions
from piran.training.companions import L2, MIN_DOCUMENTS, Companions
from piran.types import BoolArray, FloatArray, LabelMatrix

ALL = np.ones(5, dtype=np.bool_)
FREQUENT = slice(0, 4)
"""The labels of :func:`made` that have enough documents."""


def made(n_documents: int = 120, seed: int = 0) -> tuple[FloatArray, FloatArray, LabelMatrix]:
    """Return margins, probabilities and targets of five labels; the last has too few documents."""
    random = np.random.default_rng(seed)
    is_true = random.random((n_documents, 5)) < [0.5, 0.3, 0.3, 0.2, 0.0]
    is_true[: MIN_DOCUMENTS - 1, 4] = True
    margins = (2 * is_true - 1 + random.normal(size=is_true.shape)).astype(np.float32)
    probabilities = (1 / (1 + np.exp(-2 * margins))).astype(np.float32)
    return margins, probabilities, csr_array(is_true.astype(np.float32))


def lacking(margins: FloatArray, targets: LabelMatrix) -> FloatArray:
    signs = 2 * targets.toarray()[:, FREQUENT] - 1
    centred = margins[:, FREQUENT] - margins[:, FREQUENT].mean(axis=0)
    slope = np.linalg.lstsq(centred.reshape(-1, 1), signs.ravel(), rcond=None)[0]
    return np.asarray(signs / slope - margins[:, FREQUENT])


def test_what_is_told_is_ridge_regression_without_its_intercept() -> None:
    margins, probabilities, targets = made()
    found, _ = Companions.fit(margins, probabilities, targets, ALL)
    lack = lacking(margins, targets)
    ridge = Ridge(alpha=L2).fit(probabilities[:, FREQUENT], lack)
    new_margins, new, _ = made(seed=1)
    np.testing.assert_array_equal(found.labels, [0, 1, 2, 3])
    expected = new_margins[:, FREQUENT] + ridge.predict(new[:, FREQUENT]) - lack.mean(axis=0)
    np.testing.assert_allclose(found.margins(new_margins, new), expected, atol=1e-5)


def test_a_document_learned_from_is_half_way_between_with_and_without_it() -> None:
    margins, probabilities, targets = made()
    found, learned_from = Companions.fit(margins, probabilities, targets, ALL)
    lack = lacking(margins, targets)
    another_system = made(seed=2)[:2]
    for own in (0, 7, 119):
        others = np.arange(len(margins)) != own
        ridge = Ridge(alpha=L2).fit(probabilities[others][:, FREQUENT], lack[others])
        for given, chances in ((margins, probabilities), another_system):
            told = ridge.predict(chances[own : own + 1, FREQUENT])[0] - lack.mean(axis=0)
            without_it = given[own, FREQUENT] + told
            expected = (found.margins(given, chances)[own] + without_it) / 2
            np.testing.assert_allclose(
                learned_from.margins(given, chances)[own], expected, atol=1e-4
            )


def test_the_scale_of_margins_does_not_matter() -> None:
    margins, probabilities, targets = made()
    found, _ = Companions.fit(margins, probabilities, targets, ALL)
    wide, _ = Companions.fit(8 * margins, probabilities, targets, ALL)
    np.testing.assert_allclose(
        wide.margins(8 * margins, probabilities),
        8 * found.margins(margins, probabilities),
        rtol=1e-4,
        atol=1e-4,
    )


def test_a_label_that_always_comes_along_is_raised_by_its_company() -> None:
    random = np.random.default_rng(0)
    is_leader = random.random(4000) < 0.3
    is_true = np.column_stack([is_leader, is_leader])
    clear = np.where(is_leader, 0.95, 0.05)
    probabilities = np.column_stack([clear, np.full(4000, 0.3)]).astype(np.float32)
    margins = np.column_stack([2 * clear - 1, np.full(4000, -0.4)]).astype(np.float32)
    targets = csr_array(is_true.astype(np.float32))
    found, _ = Companions.fit(margins, probabilities, targets, np.ones(2, dtype=np.bool_))
    chances = np.array([[0.95, 0.3], [0.05, 0.3]], dtype=np.float32)
    with_leader, without = found.margins(np.zeros((2, 2), dtype=np.float32), chances)[:, 1]
    assert with_leader > 0.2 > -0.2 > without


def test_an_unknown_label_takes_no_part() -> None:
    margins, probabilities, targets = made()
    is_known: BoolArray = np.arange(5) != 1
    found, _ = Companions.fit(margins, probabilities, targets, is_known)
    np.testing.assert_array_equal(found.labels, [0, 2, 3])


def test_only_the_most_frequent_labels_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(companions, "MAX_LABELS", 2)
    margins, probabilities, targets = made()
    most = np.sort(np.argsort(-np.asarray(targets.sum(axis=0)))[:2])
    found, _ = Companions.fit(margins, probabilities, targets, ALL)
    np.testing.assert_array_equal(found.labels, most)


def test_where_no_label_is_frequent_nothing_is_told() -> None:
    margins, probabilities, targets = made(5)
    found, learned_from = Companions.fit(margins, probabilities, targets, ALL)
    assert found.margins(margins, probabilities).shape == (5, 0)
    assert learned_from.margins(margins, probabilities).shape == (5, 0)


def test_companions_are_the_same_from_their_arrays() -> None:
    margins, probabilities, targets = made()
    found, _ = Companions.fit(margins, probabilities, targets, ALL)
    again = Companions.from_arrays(found.arrays())
    np.testing.assert_array_equal(
        again.margins(margins, probabilities), found.margins(margins, probabilities)
    )
