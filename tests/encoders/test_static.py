"""Means of word vectors, rare words counting more than common ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from piran.encoders.base import LabelledTexts
from piran.encoders.static import COMMON_SHARE, StaticEncoder
from piran.encoders.transformer import TransformerEncoder
from piran.errors import ModelFolderError, NotFittedError, SettingError
from tiny_transformer import write_tiny_transformer

TEXTS = ["red apple", "red pear tree", "green apple", "red tree"]
TRAIN = LabelledTexts(TEXTS, csr_array(np.ones((len(TEXTS), 1), dtype=np.float32)))
VECTORS = {"red": [1.0, 0.0], "apple": [0.0, 1.0], "pear": [0.0, 2.0], "tree": [1.0, 1.0]}


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    lines = [f"{word} {first} {second}\n" for word, (first, second) in VECTORS.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def fitted(source: Path, **settings: Any) -> StaticEncoder:
    return StaticEncoder(embeddings=str(source), min_count=1, **settings).fit(TRAIN)


def test_an_instance_is_the_weighted_mean_of_its_words(glove: Path) -> None:
    # 9 words in train: red 3, apple 2
    red, apple = (COMMON_SHARE / (COMMON_SHARE + share) for share in (3 / 9, 2 / 9))
    expected = np.array([red, apple]) / np.hypot(red, apple)
    np.testing.assert_allclose(fitted(glove).encode(["red apple"])[0], expected, atol=1e-6)


def test_a_text_without_known_words_is_all_zeros(glove: Path) -> None:
    assert not fitted(glove).encode(["unheard of", ""]).any()
    assert fitted(glove).encode([]).shape == (0, 2)


def test_unknown_words_and_order_change_nothing(glove: Path) -> None:
    first, second = fitted(glove).encode(["red pear tree", "tree unheard red, pear"])
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_words_far_down_a_long_text_count(glove: Path) -> None:
    near, far = fitted(glove).encode(["apple", "unheard " * 5000 + "apple"])
    np.testing.assert_allclose(near, far, atol=1e-6)


def test_it_is_the_same_after_loading(glove: Path, tmp_path: Path) -> None:
    encoder = fitted(glove)
    (tmp_path / "saved").mkdir()
    encoder.save(tmp_path / "saved")
    glove.unlink()
    again = StaticEncoder.load(tmp_path / "saved")
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
    (tmp_path / "saved" / "tokenizer.json").unlink()
    with pytest.raises(ModelFolderError, match=r"tokenizer.json is missing"):
        StaticEncoder.load(tmp_path / "saved")


def test_vectors_can_come_from_a_transformer_that_reads_each_word_once(tmp_path: Path) -> None:
    tiny = write_tiny_transformer(tmp_path / "tiny")
    encoder = StaticEncoder(model=str(tiny), min_count=1, device="cpu").fit(TRAIN)
    alone = TransformerEncoder(model=str(tiny), device="cpu").fit(TRAIN).encode(["apple"])[0]
    np.testing.assert_allclose(encoder.encode(["apple"])[0], alone, atol=1e-5)
    assert encoder.outside_parts()


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="StaticEncoder is not fitted"):
        StaticEncoder().encode(["red"])
    with pytest.raises(SettingError, match="embedding_dim must be at least 1, got 0"):
        StaticEncoder(embeddings="skipgram", embedding_dim=0).fit(TRAIN)
