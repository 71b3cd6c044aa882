"""Kernel ridge regression against scikit-learn, and leaving one out against really leaving it out."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.kernel_ridge import KernelRidge as ReferenceRidge

from piran.errors import DataError, SettingError
from piran.training import kernel_ridge as module
from piran.training.kernel_ridge import (
    DocumentFeatures,
    KernelRidge,
    document_kernel,
    inverse_diagonal,
)
from piran.types import BoolArray, FloatArray, LabelMatrix

L2, WIDTH = 0.5, 0.7


def made(n_documents: int, seed: int = 0) -> tuple[DocumentFeatures, LabelMatrix]:
    random = np.random.default_rng(seed)
    words = random.random((n_documents, 40)) * (random.random((n_documents, 40)) < 0.1)
    words[:, :2] = random.random((n_documents, 2))  # two words that nearly all documents have
    meaning = random.normal(size=(n_documents, 6))
    features = DocumentFeatures(csr_array(_unit(words)), _unit(meaning).astype(np.float32))
    targets = csr_array((random.random((n_documents, 3)) < [0.5, 0.2, 0.05]).astype(np.float32))
    return features, targets


def _unit(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def by_hand(left: DocumentFeatures, right: DocumentFeatures) -> FloatArray:
    words = left.words.toarray() @ right.words.toarray().T
    return np.asarray(words + np.exp((left.meaning @ right.meaning.T - 1) / WIDTH) + 1)


def nobody(features: DocumentFeatures) -> BoolArray:
    return np.zeros(len(features), dtype=np.bool_)


def everybody(features: DocumentFeatures) -> BoolArray:
    return np.ones(len(features), dtype=np.bool_)


def test_the_kernel_adds_words_meaning_and_a_constant() -> None:
    (left, _), (right, _) = made(7), made(9, seed=1)
    found = document_kernel(left, right, width=WIDTH)
    np.testing.assert_allclose(found, by_hand(left, right), rtol=1e-5)


def test_without_meaning_the_kernel_is_that_of_words() -> None:
    words = csr_array(np.array([[1.0, 0.0], [0.6, 0.8]]))
    features = DocumentFeatures(words, np.zeros((2, 0), dtype=np.float32))
    found = document_kernel(features, features, width=WIDTH)
    np.testing.assert_allclose(found, [[2, 1.6], [1.6, 2]], rtol=1e-6)


def test_margins_are_those_of_scikit_learn() -> None:
    (train, targets), (new, _) = made(60), made(20, seed=1)
    reference = ReferenceRidge(alpha=L2, kernel="precomputed")
    reference.fit(by_hand(train, train), 2 * targets.toarray() - 1)
    ridge, judged = KernelRidge.fit(train, targets, nobody(train), l2=L2, width=WIDTH)
    np.testing.assert_allclose(
        ridge.margins(new), reference.predict(by_hand(new, train)), atol=1e-4
    )
    assert judged.shape == (0, 3)


def test_leaving_a_document_out_is_exact() -> None:
    features, targets = made(40)
    is_judged = np.arange(40) % 3 == 1
    _, judged = KernelRidge.fit(features, targets, is_judged, l2=L2, width=WIDTH)
    for margins, document in zip(judged, np.flatnonzero(is_judged), strict=True):
        others = np.delete(np.arange(40), document)
        rest, _ = KernelRidge.fit(
            features[others], targets[others], nobody(features[others]), l2=L2, width=WIDTH
        )
        np.testing.assert_allclose(
            margins, rest.margins(features[document : document + 1])[0], atol=1e-4
        )


@pytest.mark.parametrize("n", [1, 4, 5, 11, 12])
def test_the_diagonal_of_the_inverse_is_found_block_by_block(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COLUMNS_AT_ONCE", 4)
    square = np.random.default_rng(n).normal(size=(n, n))
    matrix = square @ square.T + np.eye(n)
    factor = torch.from_numpy(np.linalg.cholesky(matrix).astype(np.float32))
    expected = np.diag(np.linalg.inv(matrix))
    np.testing.assert_allclose(inverse_diagonal(factor).numpy(), expected, rtol=1e-5)


def test_many_documents_are_solved_in_parts() -> None:
    features, targets = made(41)
    ridge, judged = KernelRidge.fit(
        features, targets, everybody(features), l2=L2, width=WIDTH, max_together=15
    )
    assert sorted(len(part.features) for part in ridge.parts) == [13, 14, 14]
    assert judged.shape == (41, 3)
    assert np.isfinite(judged).all()
    # The mean of three regressions, one of which has the document and is judged without it
    said = np.mean([KernelRidge([part], WIDTH).margins(features) for part in ridge.parts], axis=0)
    np.testing.assert_allclose(ridge.margins(features), said, atol=1e-5)
    assert np.abs(judged - said).max() > 0.01


def test_parts_do_not_hang_on_anything_but_the_seed() -> None:
    features, targets = made(30)

    def judged(seed: int) -> FloatArray:
        everyone = everybody(features)
        return KernelRidge.fit(features, targets, everyone, max_together=15, seed=seed)[1]

    np.testing.assert_array_equal(judged(0), judged(0))
    assert not np.allclose(judged(0), judged(1))


def test_a_label_without_documents_is_about_minus_one() -> None:
    features, targets = made(30)
    none = csr_array(np.hstack([targets.toarray(), np.zeros((30, 1), dtype=np.float32)]))
    ridge, _ = KernelRidge.fit(features, none, nobody(features))
    assert (ridge.margins(features)[:, 3] < -0.9).all()


@given(st.integers(1, 40), st.integers(0, 2**16))
def test_it_is_the_same_after_a_round_trip(n_documents: int, seed: int) -> None:
    features, targets = made(n_documents, seed)
    ridge, _ = KernelRidge.fit(features, targets, nobody(features))
    again = KernelRidge.from_arrays(ridge.arrays())
    np.testing.assert_array_equal(again.margins(features), ridge.margins(features))


def test_bad_input_is_refused() -> None:
    features, targets = made(5)
    with pytest.raises(SettingError, match="l2 and width must be above 0, got 0"):
        KernelRidge.fit(features, targets, nobody(features), l2=0.0)
    with pytest.raises(DataError, match="no document"):
        KernelRidge.fit(features[:0], targets[:0], nobody(features[:0]))
    with pytest.raises(DataError, match="5 documents stand beside meanings of 4"):
        DocumentFeatures(features.words, features.meaning[:4])
