"""PiranClassifier: both stages behind one contract."""

import json
from pathlib import Path

import numpy as np
import pytest

from piran import Documents, PiranClassifier, PiranHead
from piran.encoders.base import ENCODERS
from piran.encoders.tfidf import TfidfEncoder
from piran.errors import DataError, ModelFolderError, NotFittedError, SettingError
from piran.methods import load_method
from piran.methods.piran import HEAD_SETTINGS, OWN_SETTINGS
from small_corpus import TAIL, small_corpus, small_documents


@pytest.fixture(scope="module")
def fitted() -> PiranClassifier:
    train = small_documents(0)
    return PiranClassifier(tail=3, references=("no-aug",)).fit(train.texts, train.label_sets)


def test_it_finds_the_labels_of_new_documents(fitted: PiranClassifier) -> None:
    assert fitted.predict(["alpha1 alpha4 alpha7 noise1"]) == [("alpha",)]


def test_tail_labels_are_found_more_often_than_without_augmentation(
    fitted: PiranClassifier,
) -> None:
    test = small_corpus().test
    assert test is not None
    scores = fitted.system_scores(test.texts)
    is_true = fitted.labels_.matrix(test.label_sets).toarray() > 0
    tail = [fitted.labels_.names.index(name) for name in TAIL]
    found = {
        system: (values[:, tail] >= 0.5)[is_true[:, tail]].mean()
        for system, values in scores.items()
    }
    assert found["piran"] > found["no-aug"] + 0.2


def test_head_rows_are_those_of_stage_1(fitted: PiranClassifier) -> None:
    texts = small_documents(3).texts
    scores = fitted.system_scores(texts)
    head = fitted.labels_.is_head
    np.testing.assert_array_equal(scores["piran"][:, head], scores["no-aug"][:, head])
    assert not np.allclose(scores["piran"][:, ~head], scores["no-aug"][:, ~head])


def test_encoder_and_head_can_be_given_as_parts() -> None:
    train = small_documents(0)
    method = PiranClassifier(
        encoder=TfidfEncoder(n_components=10), head=PiranHead(l2=5.0, variant="no-aug"), tail=3
    ).fit(train.texts, train.label_sets)
    assert method.encoder_.feature_dim == 10
    assert method.settings()["l2"] == 5.0


def test_a_trained_encoder_keeps_its_rows_for_head_labels() -> None:
    train = small_documents(0)
    settings = {"encoder": "bilstm", "hidden_dim": 6, "embedding_dim": 6, "instance_dim": 5}
    method = PiranClassifier.from_settings({**settings, "max_epochs": 2, "tail": 3})
    method.fit(train.texts, train.label_sets)
    stage1 = method.encoder_.stage1_rows_
    assert stage1 is not None
    head = method.labels_.is_head
    np.testing.assert_array_equal(method.rows_.rows[head], stage1.rows[head])
    assert len(method.history_) == 2


def test_saved_and_loaded_it_gives_the_same_scores(fitted: PiranClassifier, tmp_path: Path) -> None:
    texts = small_documents(3).texts
    fitted.save(tmp_path / "model")
    loaded = load_method(tmp_path / "model")
    assert isinstance(loaded, PiranClassifier)
    np.testing.assert_array_equal(loaded.predict_scores(texts), fitted.predict_scores(texts))
    assert loaded.predict(texts) == fitted.predict(texts)


@pytest.mark.parametrize("name", ["model.json", "head.json", "encoder/encoder.json"])
def test_a_damaged_model_says_so(fitted: PiranClassifier, tmp_path: Path, name: str) -> None:
    fitted.save(tmp_path / "model")
    (tmp_path / "model" / name).write_text('{"format": 1', encoding="utf-8")
    with pytest.raises(ModelFolderError, match="damaged"):
        load_method(tmp_path / "model")


@pytest.mark.parametrize("name", ["model", "head", "encoder/encoder"])
def test_a_truncated_model_says_so(fitted: PiranClassifier, tmp_path: Path, name: str) -> None:
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / f"{name}.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelFolderError, match="cut short"):
        load_method(tmp_path / "model")


def test_a_model_of_a_newer_format_says_so(fitted: PiranClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(ModelFolderError, match="update piran"):
        load_method(tmp_path / "model")


def test_files_of_different_models_do_not_mix(fitted: PiranClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    train = small_documents(0)
    other = PiranClassifier(encoder=TfidfEncoder(n_components=5), tail=3)
    other.fit(train.texts, train.label_sets).save(tmp_path / "other")
    for suffix in ("json", "safetensors"):
        name = f"encoder/encoder.{suffix}"
        (tmp_path / "other" / name).replace(tmp_path / "model" / name)
    with pytest.raises(ModelFolderError, match="different models"):
        load_method(tmp_path / "model")


def test_an_unknown_policy_is_refused() -> None:
    train = small_documents(0)
    with pytest.raises(SettingError, match="per-label"):
        PiranClassifier(thresholds="best").fit(train.texts, train.label_sets)


def test_one_document_is_not_enough() -> None:
    with pytest.raises(DataError, match="at least 2 documents, got 1"):
        PiranClassifier().fit(["text"], [["label"]])


def test_documents_without_any_label_are_not_enough() -> None:
    with pytest.raises(DataError, match="None of the 2 training documents has a label"):
        PiranClassifier().fit(["one text", "two text"], [[], []])


def test_validation_documents_are_some_or_not_given() -> None:
    train = small_documents(0)
    with pytest.raises(DataError, match="no validation document; give some, or leave"):
        PiranClassifier().fit(train.texts, train.label_sets, validation=Documents([], []))


def test_predicting_before_fitting_says_what_to_do() -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        PiranClassifier().predict(["text"])


def test_ranked_predictions_are_the_predicted_labels_best_first(fitted: PiranClassifier) -> None:
    texts = small_documents(3).texts[:20]
    ranked = fitted.predict_ranked(texts)
    assert [set(row) for row in ranked] == [set(labels) for labels in fitted.predict(texts)]
    for row in ranked:
        assert list(row.values()) == sorted(row.values(), reverse=True)
    assert all(len(row) == 2 for row in fitted.predict_ranked(texts, top=2))


@pytest.mark.parametrize("name", list(ENCODERS))
def test_no_setting_of_an_encoder_is_called_like_one_of_the_head(name: str) -> None:
    own = set(ENCODERS[name]._get_param_names()) - {"seed"}
    assert not own & {*HEAD_SETTINGS, *OWN_SETTINGS}
