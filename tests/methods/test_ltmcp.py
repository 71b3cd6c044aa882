"""LTMCP: the tail labels' words are found by linear models where the network misses them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piran import LabelSpace, load_method
from piran.errors import DataError, ModelFolderError, SettingError
from piran.experiments.settings import build_method
from piran.methods.linear import LinearClassifier
from piran.methods.ltmcp import Ltmcp
from piran.types import BoolArray
from telling_words import one_telling_word

TRAIN, TEST = one_telling_word(0, n_of_tail=5), one_telling_word(1, n_of_tail=10)
QUICK: dict[str, Any] = {**Ltmcp.quick_settings, "max_epochs": 8, "device": "cpu", "tail": 8}


def fitted(**settings: object) -> Ltmcp:
    method = build_method("ltmcp", {**QUICK, **settings})
    assert isinstance(method, Ltmcp)
    return method.fit(TRAIN.texts, TRAIN.label_sets)


@pytest.fixture(scope="module")
def method() -> Ltmcp:
    return fitted()


@pytest.fixture(scope="module")
def without() -> Ltmcp:
    return fitted(tail_model="network")


def share_of_true(method: Ltmcp, labels: BoolArray) -> float:
    """Return the share of true labels among as many of the best-ranked pairs of these labels."""
    is_true = method.labels_.matrix(TEST.label_sets).toarray()[:, labels] > 0
    scores = method.predict_scores(TEST.texts)[:, labels]
    best = np.argsort(-scores, axis=None)[: is_true.sum()]
    return float(is_true.ravel()[best].mean())


def test_one_telling_word_is_enough_for_a_tail_label(method: Ltmcp, without: Ltmcp) -> None:
    tail = method.labels_.is_tail
    assert share_of_true(method, tail) > 0.9
    assert share_of_true(method, tail) > share_of_true(without, tail) + 0.3


def test_the_network_learns_the_head_labels(method: Ltmcp) -> None:
    assert share_of_true(method, method.labels_.is_head) > 0.9
    assert method.network_.network.classifier.out_features == 3
    assert 1 <= len(method.history_) <= 8


def test_tail_scores_are_the_probabilities_of_linear(method: Ltmcp) -> None:
    linear = LinearClassifier(tail=8).fit(TRAIN.texts, TRAIN.label_sets)
    tail = method.labels_.is_tail
    theirs = linear.svm_.margins(TEST.texts)[:, tail]
    np.testing.assert_allclose(method.svm_.margins(TEST.texts), theirs, atol=1e-3)


def test_a_refit_teaches_the_tail_but_not_the_network(method: Ltmcp) -> None:
    plain = fitted(refit=False)
    head, tail = method.labels_.is_head, method.labels_.is_tail
    ours, before = method.predict_scores(TEST.texts), plain.predict_scores(TEST.texts)
    np.testing.assert_array_equal(ours[:, head], before[:, head])
    assert not np.array_equal(ours[:, tail], before[:, tail])


def test_with_the_switch_off_there_is_only_the_network(without: Ltmcp, tmp_path: Path) -> None:
    assert without.network_.network.classifier.out_features == 11
    without.save(tmp_path / "model")
    assert not (tmp_path / "model" / "tail").exists()
    loaded = load_method(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.predict_scores(TEST.texts), without.predict_scores(TEST.texts)
    )


def test_a_loaded_method_gives_the_same_scores(method: Ltmcp, tmp_path: Path) -> None:
    method.save(tmp_path / "model")
    loaded = load_method(tmp_path / "model")
    texts = [*TEST.texts, ""]
    np.testing.assert_array_equal(loaded.predict_scores(texts), method.predict_scores(texts))
    assert loaded.predict(texts) == method.predict(texts)
    assert loaded.settings() == method.settings()


def test_a_folder_without_the_tail_is_refused(method: Ltmcp, tmp_path: Path) -> None:
    method.save(tmp_path / "model")
    (tmp_path / "model" / "tail" / "svm.safetensors").unlink()
    with pytest.raises(ModelFolderError, match=r"svm\.safetensors is missing"):
        load_method(tmp_path / "model")


def test_the_same_seed_gives_the_same_scores_alone_or_together(method: Ltmcp) -> None:
    texts = TEST.texts[:10]
    together = method.predict_scores(texts)
    np.testing.assert_array_equal(fitted().predict_scores(texts), together)
    alone = [method.predict_scores([text])[0] for text in texts]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_unseen_labels_score_zero_and_texts_may_be_empty() -> None:
    labels = LabelSpace.from_label_sets(TRAIN.label_sets, tail=8, extra_names=["omega"])
    method = Ltmcp(**{**QUICK, "max_epochs": 1})
    method.fit(["", *TRAIN.texts], [(), *TRAIN.label_sets], labels=labels)
    scores = method.predict_scores(["", TEST.texts[0]])
    assert not scores[:, labels.names.index("omega")].any()
    assert ((scores >= 0) & (scores <= 1)).all()


def test_without_tail_labels_the_network_learns_all() -> None:
    method = fitted(tail=0, max_epochs=1)
    assert method.network_.network.classifier.out_features == 11
    assert method.predict_scores(TEST.texts[:3]).shape == (3, 11)


def test_without_head_labels_there_is_advice() -> None:
    with pytest.raises(
        DataError, match=r"all labels are tail; set tail below 11, or use .* linear"
    ):
        fitted(tail=11)


def test_an_unknown_tail_model_is_refused() -> None:
    with pytest.raises(SettingError, match="tail_model must be one of svm, network, got 'tree'"):
        fitted(tail_model="tree")
