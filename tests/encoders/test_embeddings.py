"""Word vectors: random, from files of every format, learned; damage is named."""

import gzip
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest

from piran.data.tokens import PAD_ID, UNKNOWN_ID
from piran.encoders.embeddings import (
    FoundEmbeddings,
    fill_missing,
    initial_embeddings,
    learn_skipgram,
    random_embeddings,
    read_embeddings,
)
from piran.errors import DataError, MissingExtraError
from piran.training.runtime import seeded_generator

WORDS = ["[pad]", "[unk]", "cat", "dog", "emu"]
CAT, DOG = [0.5, -1.0, 0.25], [1.5, 2.0, -3.0]
GLOVE = b"the 1 2 3\ncat 0.5 -1 0.25\ndog name@mail.com 9 9 9\ndog 1.5 2 -3\ncat 7 7 7\n"
WORD2VEC = b"2 3\ncat 0.5 -1 0.25 \ndog 1.5 2 -3 \n"


def binary(line_end: bytes = b"") -> bytes:
    vectors = [(b"the", [1.0, 2.0, 3.0]), (b"cat", CAT), (b"dog", DOG)]
    return b"3 3\n" + b"".join(
        word + b" " + np.array(vector, dtype="<f4").tobytes() + line_end for word, vector in vectors
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("glove.6B.3d.txt", GLOVE),
        ("word2vec.vec", WORD2VEC),
        ("vectors.bin", binary()),
        ("lines.bin", binary(b"\n")),
        ("glove.txt.gz", gzip.compress(GLOVE)),
        ("word2vec.txt.xz", lzma.compress(WORD2VEC)),
        ("vectors.bin.gz", gzip.compress(binary())),
        ("vectors.bin.xz", lzma.compress(binary(b"\n"))),
    ],
)
def test_every_format_gives_the_vectors_of_the_vocabulary(
    name: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    found = read_embeddings(tmp_path / name, WORDS)
    assert found.is_found.tolist() == [False, False, True, True, False]
    np.testing.assert_array_equal(found.vectors[2:], [CAT, DOG, [0, 0, 0]])
    assert found.vectors.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.txt", b"cat 1 2 3\ndog 1 2\n", r"v\.txt, line 2: expected a word and 3 numbers, got 2"),
        ("v.txt", b"4 3\ncat 1 2\n", "line 2: expected a word and 3 numbers, got 2"),
        ("v.txt", b"cat 1 x 3\n", "line 1: expected numbers, could not convert"),
        ("v.txt", b"cat 1 nan 3\n", "line 1: expected finite numbers"),
        ("v.txt", b"cat\n", "line 1: expected a word and some numbers, got 0"),
        ("v.txt", b"cat 1\n", "line 1: expected 'n_words embedding_dim', got b'cat 1'"),
        ("v.txt", b"the 1 2\n", "no vector for any of the 5 words"),
        ("v.bin", b"cat 1 2 3\n", "line 1: expected 'n_words embedding_dim'"),
        ("v.bin", binary()[:-2], "cut short: expected 3 words, as its first line says, got 2"),
        ("v.txt.gz", gzip.compress(GLOVE)[:-12], "cannot be read: .* Download it again"),
        ("v.txt.gz", GLOVE, "cannot be read"),
        ("v.txt.xz", lzma.compress(GLOVE)[:-9], "cannot be read"),
    ],
)
def test_damage_is_named_with_its_place(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_embeddings(tmp_path / name, WORDS)


def test_a_missing_file_names_the_choices(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no embeddings file .*; give 'random', 'skipgram' or"):
        read_embeddings(tmp_path / "none.txt", WORDS)


def test_random_vectors_repeat_with_their_seed_and_leave_padding_zero() -> None:
    first, second = (random_embeddings(400, 30, seeded_generator(1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not first[PAD_ID].any()
    assert first.std() == pytest.approx(0.1, rel=0.05)


def test_missing_words_are_as_large_as_those_found() -> None:
    vectors = np.zeros((500, 40), dtype=np.float32)
    vectors[2:100] = np.random.default_rng(0).normal(0, 0.7, (98, 40))
    is_found = np.arange(500) >= 2
    is_found[100:] = False
    filled = fill_missing(FoundEmbeddings(vectors, is_found), seeded_generator(0))
    np.testing.assert_array_equal(filled[2:100], vectors[2:100])
    assert filled[100:].std() == pytest.approx(0.7, rel=0.05)
    assert not filled[PAD_ID].any()


def documents() -> list[np.ndarray]:
    """Words 2 to 5 occur together, and 6 to 9 do; word 10 stands with unknown words."""
    generator = np.random.default_rng(0)
    groups = [generator.integers(low, low + 4, size=12) for low in [2, 6] * 150]
    return [*groups, np.array([10, UNKNOWN_ID, UNKNOWN_ID])]


def test_skipgram_brings_words_of_one_context_together() -> None:
    vectors = learn_skipgram(documents(), n_words=11, dim=8, seed=0, epochs=20)
    directions = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    likeness = directions @ directions.T
    assert likeness[2:6, 2:6].mean() > likeness[2:6, 6:10].mean() + 0.2
    assert vectors[UNKNOWN_ID].any()
    assert not vectors[PAD_ID].any()


def test_skipgram_repeats_with_its_seed() -> None:
    first, second = (learn_skipgram(documents(), n_words=11, dim=4, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_skipgram_of_unknown_words_only_is_random() -> None:
    vectors = learn_skipgram([np.array([UNKNOWN_ID])], n_words=2, dim=4, seed=0)
    assert vectors[UNKNOWN_ID].any()


def test_skipgram_without_gensim_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'piran\[skipgram\]'"):
        learn_skipgram([np.array([2])], n_words=3, dim=4, seed=0)


def test_the_source_chooses_the_vectors(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(GLOVE)
    shapes = [
        initial_embeddings(source, WORDS, dim=6, token_ids=[np.array([2, 3, 4])], seed=0).shape
        for source in ("random", "skipgram", str(path))
    ]
    assert shapes == [(5, 6), (5, 6), (5, 3)]
