"""Cross-validated cut-offs: rare labels are found, 0.5 is the cut-off, ranking stays that of linear."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score

from piran import Documents, LabelSpace, load_method
from piran.errors import ModelFolderError, SettingError
from piran.experiments.settings import build_method
from piran.methods.base import Method
from piran.methods.linear import LinearClassifier
from piran.methods.linear_threshold import LinearThreshold
from piran.storage import save_state
from piran.types import FloatArray
from small_corpus import small_corpus, small_documents
from telling_words import seldom_telling

SMALL = small_corpus()
TRAIN, TEST = seldom_telling(0), seldom_telling(1, 1000)


@pytest.fixture(scope="module")
def method() -> LinearThreshold:
    return LinearThreshold(tail=20).fit(TRAIN.texts, TRAIN.label_sets)


@pytest.fixture(scope="module")
def linear() -> LinearClassifier:
    return LinearClassifier(tail=20).fit(TRAIN.texts, TRAIN.label_sets)


def macro_f1_at_half(method: Method) -> float:
    is_true = method.labels_.matrix(TEST.label_sets).toarray() > 0
    predicted = method.predict_scores(TEST.texts) >= 0.5
    return float(f1_score(is_true, predicted, average="macro", zero_division=0))


def test_rare_labels_that_are_never_likely_are_found(
    method: LinearThreshold, linear: LinearClassifier
) -> None:
    assert macro_f1_at_half(method) > macro_f1_at_half(linear) + 0.05
    assert macro_f1_at_half(method) > 0.33


def test_without_cross_validation_they_are_lost(method: LinearThreshold) -> None:
    plain = LinearThreshold(tail=20, has_cross_validation=False)
    plain.fit(TRAIN.texts, TRAIN.label_sets)
    assert macro_f1_at_half(plain) < macro_f1_at_half(method) - 0.1
    expected = plain.svm_.margins(TEST.texts) >= 0
    np.testing.assert_array_equal(plain.predict_scores(TEST.texts) >= 0.5, expected)


def test_cut_at_a_margin_of_zero_they_would_be_lost(method: LinearThreshold) -> None:
    assert (method.svm_.margins(TEST.texts) >= 0)[:, method.labels_.is_tail].mean() < 0.003
    assert (method.predict_scores(TEST.texts) >= 0.5)[:, method.labels_.is_tail].mean() > 0.01


def test_the_default_policy_is_the_cut_off_of_the_method(method: LinearThreshold) -> None:
    np.testing.assert_array_equal(method.thresholds_.values, 0.5)
    margins = method.svm_.margins(TEST.texts)
    expected = method.labels_.label_sets(margins >= method.cut_offs_)
    assert method.predict(TEST.texts) == expected
    assert any(expected)


def test_cut_offs_do_not_come_from_the_validation_documents() -> None:
    wrong = Documents(TEST.texts, [("frequent",)] * len(TEST))
    labels = LabelSpace.from_label_sets(TRAIN.label_sets, tail=20)
    first, second = (
        LinearThreshold(tail=20).fit(
            TRAIN.texts, TRAIN.label_sets, validation=validation, labels=labels
        )
        for validation in (TEST, wrong)
    )
    np.testing.assert_array_equal(first.cut_offs_, second.cut_offs_)


def by_margin(method: LinearThreshold) -> tuple[FloatArray, FloatArray]:
    """Return margins and scores of the test documents, each label's in the order of its margins."""
    margins, scores = method.svm_.margins(TEST.texts), method.predict_scores(TEST.texts)
    order = margins.argsort(axis=0)
    return np.take_along_axis(margins, order, 0), np.take_along_axis(scores, order, 0)


def test_scores_rise_with_the_margin_and_pass_one_half_at_the_cut_off(
    method: LinearThreshold,
) -> None:
    margins, scores = by_margin(method)
    assert (np.diff(scores, axis=0) >= 0).all()
    np.testing.assert_array_equal(scores >= 0.5, margins >= method.cut_offs_)


def test_predicted_labels_come_first_and_the_rest_stay_in_the_order_of_linear(
    method: LinearThreshold,
) -> None:
    scores = method.predict_scores(TEST.texts)
    probabilities = method.svm_.probabilities(TEST.texts)
    is_predicted = scores >= 0.5
    for group in (is_predicted, ~is_predicted):
        rank = np.where(group, probabilities, -1).argmax(axis=1)
        has_any = group.any(axis=1)
        best = np.where(group, scores, -1).max(axis=1)
        np.testing.assert_array_equal(scores[np.arange(len(TEST)), rank][has_any], best[has_any])


def precision_at_1(method: Method) -> float:
    is_true = method.labels_.matrix(TEST.label_sets).toarray() > 0
    best = method.predict_scores(TEST.texts).argmax(axis=1)
    return float(is_true[np.arange(len(TEST)), best].mean())


def test_ranking_is_not_given_up_for_the_cut_offs(
    method: LinearThreshold, linear: LinearClassifier
) -> None:
    assert precision_at_1(method) > precision_at_1(linear) - 0.02


def test_the_floor_keeps_rare_labels_back(method: LinearThreshold) -> None:
    strict = LinearThreshold(tail=20, fbr=1.0).fit(TRAIN.texts, TRAIN.label_sets)
    tail = method.labels_.is_tail
    assert (strict.cut_offs_[tail] >= method.cut_offs_[tail]).all()
    n_strict, n_predicted = (
        (each.predict_scores(TEST.texts)[:, tail] >= 0.5).sum() for each in (strict, method)
    )
    assert n_strict < n_predicted / 2


def test_a_loaded_method_gives_the_same_scores(method: LinearThreshold, tmp_path: Path) -> None:
    method.save(tmp_path / "model")
    loaded = load_method(tmp_path / "model")
    texts = [*TEST.texts, ""]
    np.testing.assert_array_equal(loaded.predict_scores(texts), method.predict_scores(texts))
    assert loaded.predict(texts) == method.predict(texts)


def test_the_same_seed_gives_the_same_scores_alone_or_together() -> None:
    train, texts = SMALL.train, small_documents(1).texts[:10]
    first, second = (LinearThreshold(tail=3).fit(train.texts, train.label_sets) for _ in range(2))
    np.testing.assert_array_equal(first.predict_scores(texts), second.predict_scores(texts))
    alone = [first.predict_scores([text])[0] for text in texts]
    np.testing.assert_array_equal(first.predict_scores(texts), alone)


def test_unseen_labels_empty_texts_and_documents_without_labels() -> None:
    documents = Documents(["", *SMALL.train.texts], [(), *SMALL.train.label_sets])
    labels = LabelSpace.from_label_sets(documents.label_sets, tail=3, extra_names=["omega"])
    method = LinearThreshold(tail=3).fit(documents.texts, documents.label_sets, labels=labels)
    scores = method.predict_scores(["", *documents.texts])
    assert not scores[:, labels.names.index("omega")].any()
    assert ((scores >= 0) & (scores <= 1)).all()
    np.testing.assert_array_equal(scores[0], scores[1])


@pytest.mark.parametrize("arrays", [{}, {"cut_offs": np.zeros(3)}])
def test_cut_offs_of_another_model_are_refused(
    method: LinearThreshold, tmp_path: Path, arrays: dict[str, FloatArray]
) -> None:
    method.save(tmp_path / "model")
    save_state(tmp_path / "model", "cuts", {}, arrays)
    with pytest.raises(ModelFolderError, match=r"cut-offs of shape \(\d,\), expected \(21,\)"):
        load_method(tmp_path / "model")


def test_a_floor_out_of_range_is_refused() -> None:
    method = build_method("linear-threshold", {"fbr": 1.5})
    with pytest.raises(SettingError, match=r"fbr must lie between 0 and 1, got 1\.5"):
        method.fit(TRAIN.texts, TRAIN.label_sets)
