"""The TF-IDF encoder: instances of length one, the same again after saving, for any text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from piran.encoders import LabelledTexts
from piran.encoders.base import TEXTS_AT_ONCE
from piran.encoders.ngrams import WORD
from piran.encoders.tfidf import TfidfEncoder
from piran.errors import DataError, ModelFolderError, NotFittedError

TEXTS = [
    "a fast editor for plain text",
    "an editor for source code in C++",
    "a compiler for C++ and C",
    "a library for plain text tables",
    "a game of chess with a fast engine",
    "chess clock and chess tables",
    "a fast compiler for games",
    "library of source code",
]


def labelled(texts: list[str]) -> LabelledTexts:
    return LabelledTexts(texts, csr_array(np.ones((len(texts), 1), dtype=np.float32)))


def fitted(*, n_components: int = 5, **settings: Any) -> TfidfEncoder:
    return TfidfEncoder(n_components=n_components, **settings).fit(labelled(TEXTS))


@pytest.fixture(scope="module")
def encoder() -> TfidfEncoder:
    return fitted()


def test_a_text_becomes_a_row_of_length_one(encoder: TfidfEncoder) -> None:
    instances = encoder.encode(TEXTS)
    assert instances.shape == (len(TEXTS), 5) == (len(TEXTS), encoder.feature_dim)
    assert instances.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(instances, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("damping", [0.0, 0.5, 1.0])
def test_instances_have_the_similarities_of_scikit_learns_lsa_once_damped(damping: float) -> None:
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2), token_pattern=WORD, sublinear_tf=True, min_df=2
    )
    svd = TruncatedSVD(5, algorithm="arpack", random_state=0)
    lsa = svd.fit_transform(vectorizer.fit_transform(TEXTS)) / svd.singular_values_**damping
    lsa /= np.linalg.norm(lsa, axis=1, keepdims=True)
    ours = fitted(damping=damping).encode(TEXTS)
    np.testing.assert_allclose(ours @ ours.T, lsa @ lsa.T, atol=1e-4)  # directions may be turned


def test_no_more_dimensions_are_made_than_the_corpus_has() -> None:
    assert fitted(n_components=400).feature_dim == len(TEXTS)


def test_directions_beyond_the_rank_of_the_texts_stay_finite() -> None:
    twice = labelled(["plain text"] * 4 + ["fast game"] * 4)
    instances = TfidfEncoder(damping=1.0).fit(twice).encode(["plain text", "fast game"])
    assert np.isfinite(instances).all()
    np.testing.assert_allclose(np.linalg.norm(instances, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("text", ["", "   \n", "zebra quagga", "!?…"])
def test_a_text_without_known_words_is_all_zeros(encoder: TfidfEncoder, text: str) -> None:
    instances = encoder.encode([text, TEXTS[0]])
    assert not instances[0].any()
    assert instances[1].any()


def test_unknown_words_change_nothing(encoder: TfidfEncoder) -> None:
    known = encoder.encode(["chess"])
    np.testing.assert_allclose(encoder.encode(["zebra chess quagga"]), known, atol=1e-6)


def test_no_texts_give_no_rows(encoder: TfidfEncoder) -> None:
    assert encoder.encode([]).shape == (0, 5)


def test_a_word_may_carry_what_tells_languages_apart() -> None:
    assert {"c", "c++"} <= set(fitted(min_documents=1).vocabulary_)


def test_rare_and_surplus_words_are_left_out() -> None:
    assert "clock" not in fitted(min_documents=2).vocabulary_
    assert "clock" in fitted(min_documents=1).vocabulary_
    assert len(fitted(min_documents=1, max_words=7).vocabulary_) == 7


def test_the_same_seed_gives_the_same_instances() -> None:
    np.testing.assert_array_equal(fitted(seed=3).encode(TEXTS), fitted(seed=3).encode(TEXTS))


def test_labels_are_not_looked_at(encoder: TfidfEncoder) -> None:
    other = LabelledTexts(TEXTS, csr_array(np.eye(len(TEXTS), dtype=np.float32)))
    again = clone(encoder).fit(other)
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))


def test_a_row_does_not_depend_on_the_texts_around_it(encoder: TfidfEncoder) -> None:
    many = TEXTS * (TEXTS_AT_ONCE // len(TEXTS) + 1)  # more than are encoded at once
    instances = encoder.encode(many)
    assert len(instances) == len(many) > TEXTS_AT_ONCE
    np.testing.assert_allclose(instances[-1], encoder.encode(TEXTS[-1:])[0], atol=1e-6)


def test_a_text_of_ten_thousand_words_is_encoded(encoder: TfidfEncoder) -> None:
    instance = encoder.encode(["chess " * 9_999 + "library"])
    np.testing.assert_allclose(np.linalg.norm(instance), 1.0, atol=1e-6)


@given(st.text(max_size=50))
def test_any_unicode_is_encoded(text: str) -> None:
    instance = UNICODE_ENCODER.encode([text])
    assert np.isfinite(instance).all()


UNICODE_ENCODER = TfidfEncoder(min_documents=1).fit(
    labelled(
        ["Ünïcödé ist schön", "中文 文本", "שלום עולם", "emoji 😀 only words", "e\u0301a \x00 0"]
    )
)


def test_words_of_every_script_are_known() -> None:
    assert {"ünïcödé", "中文", "שלום"} <= set(UNICODE_ENCODER.vocabulary_)


def test_a_loaded_encoder_gives_the_same_instances(encoder: TfidfEncoder, tmp_path: Path) -> None:
    encoder.save(tmp_path)
    loaded = TfidfEncoder.load(tmp_path)
    texts = [*TEXTS, "", "chess for C++"]
    np.testing.assert_array_equal(loaded.encode(texts), encoder.encode(texts))
    assert loaded.settings() == encoder.settings()


def test_a_saved_encoder_can_be_loaded_and_saved_again(
    encoder: TfidfEncoder, tmp_path: Path
) -> None:
    encoder.save(tmp_path / "one")
    TfidfEncoder.load(tmp_path / "one").save(tmp_path / "two")
    again = TfidfEncoder.load(tmp_path / "two")
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))


@pytest.mark.parametrize("change", [{"settings": {"colour": 1}}, {"settings": None}])
def test_a_folder_of_something_else_is_refused(
    encoder: TfidfEncoder, tmp_path: Path, change: dict[str, object]
) -> None:
    encoder.save(tmp_path)
    path = tmp_path / "encoder.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(ModelFolderError, match="holds no TF-IDF encoder"):
        TfidfEncoder.load(tmp_path)


@pytest.mark.parametrize("texts", [["", "  "], ["one", "two"], []])
def test_texts_without_a_word_to_learn_are_explained(texts: list[str]) -> None:
    with pytest.raises(DataError, match="give more texts, or set min_documents=1"):
        TfidfEncoder().fit(labelled(texts))


def test_an_encoder_that_is_not_fitted_says_so(tmp_path: Path) -> None:
    for action in (
        lambda: TfidfEncoder().encode(["text"]),
        lambda: TfidfEncoder().save(tmp_path),
        lambda: TfidfEncoder().feature_dim,
    ):
        with pytest.raises(NotFittedError, match="TfidfEncoder is not fitted; call fit"):
            action()
