"""TF-IDF vectors of words and word pairs, sparse: what linear models and the TF-IDF encoder read."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from piran.errors import DataError, NotFittedError
from piran.types import FloatArray, Texts

WORD = r"(?u)\w[\w+#'-]*"
"""A word may carry what tells C++ from C; a single letter is a word."""


class NgramVectorizer:
    """Learns which 1- and 2-grams count, and turns texts into rows of length one.

    A count n becomes 1 + log n, then is weighted with the n-gram's inverse document frequency. A text
    without known words is an empty row.

    Parameters
    ----------
    min_documents
        An n-gram must occur in so many training documents to count.
    max_ngrams
        The most frequent so many are kept.

    """

    def __init__(self, *, min_documents: int = 2, max_ngrams: int = 200_000) -> None:
        self.min_documents = min_documents
        self.max_ngrams = max_ngrams

    def fit_transform(self, texts: Texts) -> csr_array:
        """Learn n-grams and weights; return the texts' vectors, float32, (n_documents, n_ngrams)."""
        vectorizer = _vectorizer(min_df=self.min_documents, max_features=self.max_ngrams)
        try:
            vectors = vectorizer.fit_transform(texts)
        except ValueError as error:
            raise DataError(
                f"No word occurs in {self.min_documents} of the {len(texts)} training texts; "
                "give more texts, or set min_documents=1."
            ) from error
        self.vocabulary = [str(term) for term in vectorizer.get_feature_names_out()]
        self.idf: FloatArray = vectorizer.idf_.astype(np.float32)
        self._vectorizer = vectorizer
        return csr_array(vectors)

    def transform(self, texts: Texts) -> csr_array:
        """Return the texts' vectors, float32, (n_documents, n_ngrams)."""
        if not hasattr(self, "_vectorizer"):
            raise NotFittedError("NgramVectorizer is not fitted; call fit_transform(texts) first.")
        if not len(texts):
            return csr_array(np.zeros((0, len(self)), dtype=np.float32))
        return csr_array(self._vectorizer.transform(texts))

    def __len__(self) -> int:
        """Return the number of n-grams."""
        return len(self.vocabulary)

    @classmethod
    def restored(cls, vocabulary: list[str], idf: FloatArray) -> Self:
        """Return a fitted vectorizer with these n-grams and weights, one of each."""
        if len(vocabulary) != len(idf):
            raise ValueError(f"{len(vocabulary)} n-grams stand beside {len(idf)} weights")
        vectorizer = cls(max_ngrams=len(vocabulary))
        vectorizer.vocabulary, vectorizer.idf = vocabulary, idf
        vectorizer._vectorizer = _vectorizer(vocabulary=vocabulary)
        vectorizer._vectorizer.idf_ = idf.astype(np.float64)
        return vectorizer


def _vectorizer(**settings: Any) -> TfidfVectorizer:  # noqa: ANN401
    return TfidfVectorizer(
        ngram_range=(1, 2), token_pattern=WORD, sublinear_tf=True, dtype=np.float32, **settings
    )
