"""Generations are streamed and depend on their own label alone; tail rows are refitted with them."""

from dataclasses import replace

import numpy as np
import pytest
from labelled import FEATURE_DIM, TAIL_IDS, labelled
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from piran.augment import Prototypes, adjust_tail_rows, tail
from piran.augment.tail import GenerationSource
from piran.errors import SettingError
from piran.rows import LinearRows
from piran.training import linear_fit
from piran.training.linear_fit import OwnPositives, fit_rows


@pytest.fixture(autouse=True)
def _fits_are_tight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_fit, "TOLERANCE", 1e-12)


def zero_rows(n_tail: int = 3) -> LinearRows:
    return LinearRows(np.zeros((n_tail, FEATURE_DIM)), np.zeros(n_tail))


def adjusted(source: GenerationSource | None, weight: float = 1.0) -> LinearRows:
    return adjust_tail_rows(
        zero_rows(), labelled().prototypes(), source, l2=0.5, generated_weight=weight
    )


def assert_same_rows(left: LinearRows, right: LinearRows, atol: float = 0.0) -> None:
    np.testing.assert_allclose(left.rows, right.rows, atol=atol, rtol=0)
    np.testing.assert_allclose(left.bias, right.bias, atol=atol, rtol=0)


def test_a_labels_generations_do_not_depend_on_its_company() -> None:
    source = labelled().source()
    together = source.generate(np.array([0, 1, 2]))
    assert together.shape == (3, 6, FEATURE_DIM)
    np.testing.assert_array_equal(source.generate(np.array([2, 0])), together[[2, 0]])


def test_generations_are_the_map_of_prototype_and_relation() -> None:
    source = labelled().source()
    generated = source.generate(np.array([2]))[0]  # a label of one document: one prototype
    assert source.relations is not None
    prototype = source.prototypes.means()[2]
    possible = (prototype + source.relations.values) @ source.generator.transfer.T
    for instance in generated:
        assert np.isclose(possible, instance).all(axis=1).any()


def test_the_seed_decides_the_generations() -> None:
    source, tail_ids = labelled().source(), np.array([0, 1])
    np.testing.assert_array_equal(source.generate(tail_ids), source.generate(tail_ids))
    other = replace(source, seed=5).generate(tail_ids)
    assert not np.array_equal(source.generate(tail_ids), other)


def test_without_relations_the_prototypes_are_repeated() -> None:
    source = labelled().source(has_relations=False)
    expected = source.prototypes.means()[1:]  # these labels have fewer documents than are drawn
    generated = source.generate(np.array([1, 2]))
    np.testing.assert_allclose(generated, np.repeat(expected[:, None], 6, axis=1))


def test_no_generations_are_refused() -> None:
    with pytest.raises(SettingError, match="n_generated must be at least 1, got 0"):
        labelled().source(n_generated=0)


def test_a_weight_of_zero_equals_retraining_on_the_real_documents() -> None:
    assert_same_rows(adjusted(labelled().source(), weight=0.0), adjusted(None), atol=1e-5)


def test_retraining_on_real_documents_is_the_logistic_regression_of_the_tail_labels() -> None:
    corpus = labelled()
    expected = fit_rows(corpus.instances, corpus.targets[:, corpus.tail_ids], l2=0.5)
    assert_same_rows(adjusted(None), expected, atol=1e-5)


def test_adjusted_rows_fit_real_documents_and_generations_of_their_own_label() -> None:
    corpus, source = labelled(), labelled().source()
    own = OwnPositives(source.generate(np.arange(3)), weight=2.0)
    members = corpus.targets[:, corpus.tail_ids]
    expected = fit_rows(corpus.instances, members, l2=0.5, own_positives=own)
    assert_same_rows(adjusted(source, weight=2.0), expected, atol=1e-5)


def test_generations_raise_the_score_of_their_own_label() -> None:
    source = labelled().source()
    generated = source.generate(np.arange(3))
    for label in range(3):
        before = adjusted(None).logits(generated[label])[:, label].mean()
        after = adjusted(source).logits(generated[label])[:, label].mean()
        assert after > before + 0.5


def test_rows_do_not_depend_on_how_many_labels_are_taken_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = labelled().source()
    together = adjusted(source)
    monkeypatch.setattr(tail, "NUMBERS_AT_ONCE", 1)  # one label at a time
    assert_same_rows(adjusted(source), together, atol=1e-6)


def test_shared_generations_are_soft_targets_of_the_labels_that_come_along() -> None:
    corpus, source = labelled(), labelled().source()
    members = corpus.targets[:, corpus.tail_ids].toarray()
    members[corpus.documents_of(5), 0] = 1.0  # so that label 3 always comes along with label 5
    targets = corpus.targets.toarray()
    targets[:, list(TAIL_IDS)] = members
    prototypes = Prototypes.of(corpus.instances, csr_array(targets), corpus.tail_ids, 3)
    source = replace(source, prototypes=prototypes)
    rows = adjust_tail_rows(
        zero_rows(), prototypes, source, l2=0.5, generated_weight=1.5, is_shared=True
    )
    generated = source.generate(np.arange(3)).reshape(-1, FEATURE_DIM)
    for label in range(3):
        of_label = [members[members[:, j] > 0, label].mean() for j in range(3)]
        share = np.repeat(np.array(of_label), source.n_generated)
        logits = LogisticRegression(C=2.0, tol=1e-10, max_iter=100_000).fit(
            np.concatenate([corpus.instances, generated, generated]),
            np.concatenate([members[:, label], np.ones_like(share), np.zeros_like(share)]),
            np.concatenate([np.ones(len(members)), 1.5 * share, 1.5 * (1 - share)]),
        )
        expected = LinearRows(logits.coef_, logits.intercept_)
        assert_same_rows(rows[np.array([label])], expected, atol=1e-4)


def test_the_rows_to_start_from_are_not_changed() -> None:
    start = zero_rows()
    adjust_tail_rows(
        start, labelled().prototypes(), labelled().source(), l2=0.5, generated_weight=1.0
    )
    assert not start.rows.any()
    assert not start.bias.any()


def test_a_negative_weight_is_refused() -> None:
    with pytest.raises(SettingError, match="generated_weight must not be negative, got -1"):
        adjusted(labelled().source(), weight=-1)


def test_expected_generations_are_the_limit_of_many() -> None:
    corpus, source = labelled(), labelled().source()
    assert source.relations is not None
    expected = replace(source, is_expected=True)
    mean, covariance = expected.generate(np.arange(3)), expected.covariance()
    assert covariance is not None
    half = np.random.default_rng(0).multivariate_normal(
        np.zeros(FEATURE_DIM), covariance, size=40_000
    )
    draws = np.concatenate([half, -half])  # their mean is that of the distribution
    many = (mean[:, :, None, :] + draws).reshape(3, -1, FEATURE_DIM)
    members = corpus.targets[:, corpus.tail_ids]
    own = OwnPositives(many, weight=2.0 / 80_000)
    limit = fit_rows(corpus.instances, members, l2=0.5, own_positives=own)
    assert_same_rows(adjusted(expected, weight=2.0), limit, atol=0.01)
    points = fit_rows(
        corpus.instances, members, l2=0.5, own_positives=OwnPositives(mean, weight=2.0)
    )
    assert np.abs(points.rows - limit.rows).max() > 0.1


def test_expected_generations_have_the_moments_of_drawn_ones() -> None:
    source = labelled().source(n_generated=20_000)
    expected = replace(source, is_expected=True)
    drawn, mean = source.generate(np.array([2]))[0], expected.generate(np.array([2]))[0]
    np.testing.assert_allclose(drawn.mean(axis=0), mean[0], atol=0.1)
    covariance = expected.covariance()
    assert covariance is not None
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.4)
    assert source.covariance() is None
    assert replace(expected, relations=None).covariance() is None
