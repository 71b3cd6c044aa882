"""Folds: several fits of both stages, each judged by documents that it did not learn from."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piran import PiranClassifier
from piran.data.corpus import Documents
from piran.data.folds import even_folds
from piran.encoders.base import LabelledTexts
from piran.encoders.bilstm import BiLstmEncoder
from piran.encoders.tfidf import TfidfEncoder
from piran.errors import ModelFolderError, NotFittedError, SettingError
from piran.head import PiranHead
from piran.methods.base import Judged, chosen, joined
from piran.methods.members import mean_margins
from piran.types import FloatArray, LabelMatrix
from small_corpus import small_documents

TEXTS = small_documents(5).texts


def fitted(*views: str, folds: int = 3) -> PiranClassifier:
    train = small_documents(0)
    return PiranClassifier(tail=3, folds=folds, views=views).fit(train.texts, train.label_sets)


@pytest.fixture(scope="module")
def method() -> PiranClassifier:
    return fitted()


def test_scores_are_those_of_the_mean_margin(method: PiranClassifier) -> None:
    margins = [m.rows["piran"].logits(m.encoder.encode(TEXTS)) for m in method.members_]
    assert len(margins) == 3
    assert not np.allclose(margins[0], margins[1])
    expected = 1 / (1 + np.exp(-np.mean(margins, axis=0)))
    np.testing.assert_allclose(method.predict_scores(TEXTS), expected, rtol=1e-5)


def test_a_document_is_judged_by_an_encoder_and_rows_that_never_saw_it() -> None:
    train = small_documents(0)
    method = PiranClassifier(tail=3, folds=3, references=())
    documents, judged = _watched(method, train)
    fold = even_folds(documents.targets, 3, method.seed)
    for number in range(3):
        others = chosen(documents, np.flatnonzero(fold != number))
        alone = TfidfEncoder(seed=0).fit(others)
        instances = alone.encode(others.texts)
        head = method._new_head().fit(instances, others.targets, is_tail=method.labels_.is_tail)
        own = np.flatnonzero(fold == number)
        expected = head.predict_proba(alone.encode(chosen(documents, own).texts))
        np.testing.assert_allclose(judged.scores["piran"][own], expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("folds", [1, 2])
def test_relations_can_be_of_documents_that_the_encoder_has_not_learned_from(
    folds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int | None]] = []  # documents of each fit, and those relations are of
    fit = PiranHead.fit

    def watched(self: PiranHead, X: FloatArray, y: LabelMatrix, **given: Any) -> PiranHead:
        others = given["relations_of"]
        seen.append((len(X), None if others is None else len(others[0])))
        return fit(self, X, y, **given)

    monkeypatch.setattr(PiranHead, "fit", watched)
    train = small_documents(0)
    trained = BiLstmEncoder(**{**BiLstmEncoder.quick_settings, "max_epochs": 1})
    for encoder in (trained, "tfidf"):
        method = PiranClassifier(
            encoder=encoder, tail=3, folds=folds, refit=False, has_unseen_relations=True
        )
        method.fit(train.texts, train.label_sets)
    assert len(seen) == 2 * folds
    assert all(own + (unseen or 0) == len(train) for own, unseen in seen[:folds])
    assert [unseen for _, unseen in seen[folds:]] == [None] * folds  # learns nothing from labels


def test_all_documents_judge_unless_others_are_given() -> None:
    train, others = small_documents(0), small_documents(4)
    assert _watched(PiranClassifier(tail=3, folds=2), train)[1].targets.shape[0] == len(train)
    _, judged = _watched(PiranClassifier(tail=3, folds=2), train, others)
    expected = PiranClassifier(tail=3).fit(train.texts, train.label_sets).labels_
    wanted = expected.matrix(others.label_sets).toarray()
    np.testing.assert_array_equal(judged.targets.toarray(), wanted)


@pytest.mark.parametrize("views", [(), ("documents", "label-texts")])
def test_saved_and_loaded_it_gives_the_same_scores(tmp_path: Path, views: tuple[str, ...]) -> None:
    method = fitted(*views)
    method.save(tmp_path / "model")
    again = PiranClassifier.load(tmp_path / "model")
    assert len(again.members_) == 3
    np.testing.assert_allclose(again.predict_scores(TEXTS), method.predict_scores(TEXTS), rtol=1e-5)
    with pytest.raises(NotFittedError, match="fit it again"):
        _ = again.head_
    (tmp_path / "model" / "member-2" / "head.safetensors").unlink()
    with pytest.raises(ModelFolderError, match="member-2"):
        PiranClassifier.load(tmp_path / "model")


def test_epochs_of_all_encoders_are_numbered_on() -> None:
    train = small_documents(0)
    encoder = BiLstmEncoder(**{**BiLstmEncoder.quick_settings, "max_epochs": 2})
    method = PiranClassifier(encoder=encoder, tail=3, folds=2, views=("documents",))
    method.fit(train.texts, train.label_sets)
    assert [entry["epoch"] for entry in method.history_] == [1, 2, 3, 4]
    assert method.blend_ is not None
    assert isinstance(method.blend_.encoder, TfidfEncoder)
    weights = [m.encoder.stage1_rows_.rows for m in method.members_ if m.encoder.stage1_rows_]
    assert len(weights) == 2
    assert not np.allclose(weights[0], weights[1])


def test_a_member_that_knows_nothing_of_a_label_is_not_asked_about_it() -> None:
    said = [np.array([[1.0, -np.inf, -np.inf]]), np.array([[3.0, 2.0, -np.inf]])]
    np.testing.assert_array_equal(mean_margins(said), [[2.0, 2.0, -np.inf]])


def test_a_label_with_one_document_is_found_though_one_member_never_saw_it() -> None:
    train = small_documents(0)
    texts = [*train.texts, "omega1 omega2 omega3 omega4 omega1 omega2"]
    label_sets = [*train.label_sets, ("omega",)]
    encoder = TfidfEncoder(min_documents=1)
    method = PiranClassifier(encoder=encoder, tail=4, folds=3).fit(texts, label_sets)
    scores = method.predict_scores(["omega1 omega2 omega3 omega4", "alpha1 alpha2 alpha3"])
    omega = method.labels_.names.index("omega")
    assert scores[0, omega] > scores[1, omega] > 0


def test_no_fold_at_all_is_refused() -> None:
    with pytest.raises(SettingError, match="folds must be at least 1, got 0"):
        fitted(folds=0)


def _watched(
    method: PiranClassifier, train: Documents, others: Documents | None = None
) -> tuple[LabelledTexts, Judged]:
    """Return all documents in their order, and what was judged of them."""
    seen = []
    calibrate = method._calibrate

    def watched(train: LabelledTexts, held_out: LabelledTexts, *, is_slice: bool) -> Judged:
        judged = calibrate(train, held_out, is_slice=is_slice)
        seen.append((joined(train, held_out), judged))
        return judged

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "_calibrate", watched)
        method.fit(train.texts, train.label_sets, validation=others)
    return seen[0]
