"""The TF-IDF vectorizer: the vectors of scikit-learn, for any texts, before and after restoring."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from piran.encoders.ngrams import WORD, NgramVectorizer
from piran.errors import DataError, NotFittedError

TEXTS = ["a red apple", "a green apple", "a red red pear", "C++ and C", "C++ code"]


def test_vectors_are_those_of_scikit_learn() -> None:
    theirs = TfidfVectorizer(
        ngram_range=(1, 2), token_pattern=WORD, sublinear_tf=True, min_df=2
    ).fit_transform(TEXTS)
    vectorizer = NgramVectorizer()
    ours = vectorizer.fit_transform(TEXTS)
    assert {"red", "a red"} <= set(vectorizer.vocabulary)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), atol=1e-6)


def test_a_repeated_word_counts_with_its_logarithm() -> None:
    vectorizer = NgramVectorizer(min_documents=1)
    vectorizer.fit_transform(TEXTS)
    row = vectorizer.transform(["red red pear"]).toarray()[0]
    weights = row / vectorizer.idf  # back to counts, up to the length of the row
    red, pear = (vectorizer.vocabulary.index(word) for word in ("red", "pear"))
    assert weights[red] / weights[pear] == pytest.approx(1 + np.log(2), rel=1e-5)


def test_texts_without_known_words_are_empty_rows() -> None:
    vectorizer = NgramVectorizer()
    vectorizer.fit_transform(TEXTS)
    assert vectorizer.transform(["", "zebra"]).nnz == 0
    assert vectorizer.transform([]).shape == (0, len(vectorizer))


def test_a_restored_vectorizer_gives_the_same_vectors() -> None:
    vectorizer = NgramVectorizer(min_documents=1, max_ngrams=8)
    vectors = vectorizer.fit_transform(TEXTS)
    restored = NgramVectorizer.restored(vectorizer.vocabulary, vectorizer.idf)
    assert len(restored) == 8
    np.testing.assert_array_equal(restored.transform(TEXTS).toarray(), vectors.toarray())


def test_weights_must_match_the_ngrams() -> None:
    with pytest.raises(ValueError, match="2 n-grams stand beside 1 weights"):
        NgramVectorizer.restored(["a", "b"], np.ones(1, dtype=np.float32))


def test_texts_that_share_no_word_are_explained() -> None:
    with pytest.raises(DataError, match="No word occurs in 3 of the 5 training texts"):
        NgramVectorizer(min_documents=3).fit_transform(["a", "b", "c", "d", "e"])


def test_a_vectorizer_that_is_not_fitted_says_so() -> None:
    with pytest.raises(NotFittedError, match="call fit_transform"):
        NgramVectorizer().transform(["text"])
