"""Likeness of documents to encoders that have learned from labels, beside those that have not."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge

from piran import PiranClassifier
from piran.encoders.base import unit_rows
from piran.encoders.bilstm import BiLstmEncoder
from piran.errors import SettingError
from piran.methods.views import LEARNED_L2, DocumentLikeness
from piran.training.kernel_ridge import WIDTH
from piran.types import FloatArray, LabelMatrix
from small_corpus import small_documents

L2 = 0.6
FREQUENT = np.array([0, 2])


def features(n_documents: int, seed: int) -> tuple[csr_array, FloatArray, FloatArray]:
    """Return words, meanings, and meanings as learned, of made-up documents."""
    random = np.random.default_rng(seed)
    words = unit_rows(random.random((n_documents, 7)) * (random.random((n_documents, 7)) < 0.5))
    meaning, learned = random.normal(size=(2, n_documents, 5))
    return csr_array(words), meaning.astype(np.float32), learned.astype(np.float32)


def made_targets(n_documents: int, n_labels: int, seed: int) -> LabelMatrix:
    is_true = np.random.default_rng(seed).random((n_documents, n_labels)) < 0.3
    return csr_array(is_true.astype(np.float32))


def fitted(
    words: csr_array,
    meaning: FloatArray,
    learned: FloatArray,
    targets: LabelMatrix,
    *,
    is_judged: bool = True,
) -> tuple[DocumentLikeness, FloatArray]:
    return DocumentLikeness.fit(
        words,
        meaning,
        targets,
        np.full(len(meaning), is_judged),
        max_together=100,
        seed=0,
        learned_instances=learned,
        frequent=FREQUENT,
    )


def test_for_frequent_labels_documents_are_alike_that_are_so_in_both_meanings() -> None:
    words, meaning, learned = features(40, seed=0)
    targets = made_targets(40, 4, seed=1)
    likeness, _ = fitted(words, meaning, learned, targets)
    new_words, new_meaning, *seen = [*features(6, seed=2), features(6, seed=3)[2]]

    def kernel(words_of: csr_array, *kinds: FloatArray) -> FloatArray:
        found = (words_of @ words.T).toarray() + 1
        product = np.ones(found.shape)
        for of, own in zip(kinds, (meaning, learned), strict=False):
            centre = own.mean(axis=0)
            cosines = unit_rows(of - centre) @ unit_rows(own - centre).T
            product *= np.exp((cosines - 1) / WIDTH)
        return np.asarray(found + product)

    signs = 2.0 * targets.toarray() - 1
    expected = np.empty((6, 4))
    plain = SklearnKernelRidge(alpha=L2, kernel="precomputed").fit(kernel(words, meaning), signs)
    expected[:] = plain.predict(kernel(new_words, new_meaning))
    both = SklearnKernelRidge(alpha=LEARNED_L2, kernel="precomputed")
    both.fit(kernel(words, meaning, learned), signs[:, FREQUENT])
    # Each encoder that has learned is asked, and the mean is taken
    said = [both.predict(kernel(new_words, new_meaning, own)) for own in seen]
    expected[:, FREQUENT] = np.mean(said, axis=0)
    found = likeness.margins(new_words, new_meaning, seen)
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert np.abs(said[0] - said[1]).max() > 0.01


def test_a_document_is_judged_as_if_it_had_not_been_there() -> None:
    words, meaning, learned = features(30, seed=4)
    for kind in (meaning, learned):  # the means are where they are without the first document
        kind -= kind[1:].mean(axis=0)
        kind[0] = 0
    targets = made_targets(30, 3, seed=5)
    _, judged = fitted(words, meaning, learned, targets)
    without, _ = fitted(words[1:], meaning[1:], learned[1:], targets[1:], is_judged=False)
    found = without.margins(words[:1], meaning[:1], [learned[:1]])
    np.testing.assert_allclose(judged[:1], found, atol=1e-4)


def trained(*, has_learned_likeness: bool) -> PiranClassifier:
    train = small_documents(0)
    method = PiranClassifier(
        encoder=BiLstmEncoder(**{**BiLstmEncoder.quick_settings, "max_epochs": 2}),
        tail=3,
        folds=2,
        views=("documents",),
        has_learned_likeness=has_learned_likeness,
    )
    return method.fit(train.texts, train.label_sets)


def test_a_classifier_asks_each_of_its_encoders(tmp_path: Path) -> None:
    method, texts = trained(has_learned_likeness=True), small_documents(1).texts
    assert method.blend_ is not None
    likeness = method.blend_.views.documents
    assert likeness is not None
    assert likeness.learned is not None
    np.testing.assert_array_equal(likeness.learned.labels, np.flatnonzero(method.labels_.is_head))
    asked = [member.encoder.encode(texts) for member in method.members_]
    assert len(asked) == 2
    scores = method.predict_scores(texts)
    plain = trained(has_learned_likeness=False).predict_scores(texts)
    is_head = method.labels_.is_head
    assert np.abs(scores - plain)[:, is_head].max() > 1e-3
    method.save(tmp_path / "model")
    again = PiranClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_scores(texts), scores, rtol=1e-5, atol=1e-7)


def test_encoders_that_learn_nothing_from_labels_give_no_likeness() -> None:
    train = small_documents(0)
    scores = [
        PiranClassifier(tail=3, folds=2, views=("documents",), has_learned_likeness=is_learned)
        .fit(train.texts, train.label_sets)
        .predict_scores(train.texts)
        for is_learned in (False, True)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])


@pytest.mark.parametrize(("folds", "views"), [(1, ["documents"]), (2, ["label-texts"])])
def test_learned_likeness_needs_documents_unknown_to_an_encoder(
    folds: int, views: list[str]
) -> None:
    train = small_documents(0)
    method = PiranClassifier(folds=folds, views=views, has_learned_likeness=True)
    with pytest.raises(SettingError, match="folds of at least 2"):
        method.fit(train.texts, train.label_sets)
