"""Cut-offs by cross-validation: the best cut by hand, the fbr rule, the mean over folds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import f1_score

from piran.training.one_vs_rest import support_vector_machine
from piran.training.scut import N_FOLDS, FoldCuts, best_cut, cross_validated_cuts
from piran.types import FloatArray


def cut(margins: list[float], is_true: list[int]) -> tuple[float, float, float]:
    return tuple(best_cut(np.array(margins), np.array(is_true, dtype=bool)))  # type: ignore[return-value]


def test_the_best_cut_by_hand() -> None:
    # After the third of these, 2 of 3 predictions are right and none is missing: F1 = 4/5
    assert cut([0.5, -0.2, -0.6, -1.0], [1, 0, 1, 0]) == pytest.approx((-0.8, 0.8, 0.5))
    # Two documents further down cost more than the second label gains
    assert cut([0.5, -0.2, -0.4, -0.6, -0.8], [1, 0, 0, 0, 1]) == pytest.approx((0.15, 2 / 3, 0.5))


def test_equal_margins_cannot_be_cut_apart() -> None:
    assert cut([0.5, 0.5, 0.5, -1.0], [1, 0, 0, 0]) == pytest.approx((-0.25, 0.5, 0.5))


def test_without_a_document_of_the_label_only_the_highest_margin_is_left() -> None:
    assert cut([-0.3, -0.9, -0.5], [0, 0, 0]) == pytest.approx((-0.3, 0.0, -0.3))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=12))
def test_no_other_cut_is_better(pairs: list[tuple[int, bool]]) -> None:
    margins = np.array([margin / 4 for margin, _ in pairs])
    is_true = np.array([true for _, true in pairs])
    found = best_cut(margins, is_true)
    if not is_true.any():
        assert found.f1 == 0
        return
    by_hand = [f1_score(is_true, margins >= value, zero_division=0) for value in margins]
    assert found.f1 == pytest.approx(max(by_hand))
    assert f1_score(is_true, margins >= found.cut_off) == pytest.approx(found.f1)


def folds(values: list[float]) -> FloatArray:
    return np.array(values)[:, None]


def test_the_mean_over_folds_heeds_the_floor() -> None:
    cuts = FoldCuts(folds([-0.5, -0.9, -0.4]), folds([0.6, 0.05, 0.3]), folds([0.2, 0.7, 0.1]))
    assert cuts.mean(0.0) == pytest.approx([-0.6])
    assert cuts.mean(0.1) == pytest.approx([(-0.5 + 0.7 - 0.4) / 3])
    assert cuts.mean(1.0) == pytest.approx([(0.2 + 0.7 + 0.1) / 3])


def test_folds_that_could_not_learn_are_left_out() -> None:
    nan = np.nan
    cuts = FoldCuts(folds([nan, -0.5, -0.7]), folds([nan, 0.5, 0.5]), folds([nan, 1.0, 1.0]))
    assert cuts.mean(0.1) == pytest.approx([-0.6])
    nothing = folds([nan, nan, nan])
    assert np.isposinf(FoldCuts(nothing, nothing, nothing).mean(0.1)).all()


def noisy_labels(counts: list[int], seed: int = 0) -> tuple[csr_array, csr_array]:
    """Each label has a feature of its own, which as many other documents have too."""
    random = np.random.default_rng(seed)
    n_documents = 240
    features = (random.random((n_documents, 60)) < 0.1).astype(np.float32)
    features[:, : len(counts)] = 0
    targets = np.zeros((n_documents, len(counts)), dtype=np.float32)
    for label, count in enumerate(counts):
        chosen = random.permutation(n_documents)[: 2 * count]
        features[chosen, label], targets[chosen[:count], label] = 2, 1
    length = np.linalg.norm(features, axis=1, keepdims=True)
    return csr_array(features / np.maximum(length, 1)), csr_array(targets)


def test_each_fold_has_its_share_of_a_rare_label() -> None:
    features, targets = noisy_labels([3] * 8)
    cuts = cross_validated_cuts(features, targets, support_vector_machine(C=1.0, seed=0), seed=0)
    assert (cuts.f1 > 0).all()


def test_cut_offs_lie_below_zero_where_margins_of_rare_labels_do() -> None:
    features, targets = noisy_labels([8, 8, 8])
    cuts = cross_validated_cuts(features, targets, support_vector_machine(C=1.0, seed=0), seed=0)
    assert cuts.f1.shape == (N_FOLDS, 3)
    assert (cuts.f1 > 0.3).all()
    assert (cuts.mean(0.1) < -0.1).all()


def test_labels_of_one_document_or_none() -> None:
    features, targets = noisy_labels([1, 2, 10])
    targets = csr_array(np.hstack([targets.toarray(), np.zeros((240, 1), dtype=np.float32)]))
    cuts = cross_validated_cuts(features, targets, support_vector_machine(C=1.0, seed=0), seed=0)
    n_learned = np.isfinite(cuts.cut_offs).sum(axis=0)
    assert n_learned.tolist() == [2, 3, 3, 0]  # the fold of an only document has nothing to learn
    means = cuts.mean(0.1)
    assert np.isfinite(means[:3]).all()
    assert np.isposinf(means[3])


def test_the_same_seed_gives_the_same_cut_offs() -> None:
    features, targets = noisy_labels([8, 5])
    one, two, other = (
        cross_validated_cuts(features, targets, support_vector_machine(C=1.0, seed=0), seed=seed)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.cut_offs, two.cut_offs)
    assert not np.array_equal(one.cut_offs, other.cut_offs)
