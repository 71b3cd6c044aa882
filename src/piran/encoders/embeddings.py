"""Word vectors to begin with: random, read from a file, or learned from the training texts."""

import gzip
import lzma
import zlib
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import torch

from piran.data.tokens import PAD_ID, UNKNOWN_ID
from piran.encoders.cache import kept_arrays
from piran.errors import DataError, MissingExtraError
from piran.training.runtime import seeded_generator
from piran.types import BoolArray, FloatArray, IntArray

RANDOM_SCALE = 0.1
"""Standard deviation of random vectors where no vector of a file sets the scale."""
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True, eq=False)
class FoundEmbeddings:
    """The vectors that a file has for the words of a vocabulary."""

    vectors: FloatArray
    """Shape (n_words, embedding_dim), float32; zeros where the file lacks the word."""
    is_found: BoolArray
    """Shape (n_words,)."""


def initial_embeddings(
    source: str,
    words: Sequence[str],
    *,
    dim: int,
    token_ids: Sequence[IntArray],
    seed: int,
) -> FloatArray:
    """Return vectors (n_words, embedding_dim) from ``random``, ``skipgram`` or the path of a file.

    A file brings its own ``embedding_dim``. ``token_ids`` are the training documents, from which
    skip-gram learns. The vector of padding is zero in every case.
    """
    generator = seeded_generator(seed)
    if source == "random":
        return random_embeddings(len(words), dim, generator)
    if source == "skipgram":
        return _kept_skipgram(token_ids, n_words=len(words), dim=dim, seed=seed)
    return fill_missing(read_embeddings(Path(source), words), generator)


def _kept_skipgram(
    token_ids: Sequence[IntArray], *, n_words: int, dim: int, seed: int
) -> FloatArray:
    """Learn vectors, or take those that another network has learned from the same documents."""
    lengths = np.array([len(document) for document in token_ids])
    together = np.concatenate([np.zeros(0, dtype=np.int64), *token_ids])
    kept = kept_arrays(
        "skipgram",
        [together, lengths, n_words, dim, seed],
        lambda: {"vectors": learn_skipgram(token_ids, n_words=n_words, dim=dim, seed=seed)},
    )
    return np.array(kept["vectors"])  # a copy that may be written to


def random_embeddings(
    n_words: int, dim: int, generator: torch.Generator, *, scale: float = RANDOM_SCALE
) -> FloatArray:
    """Return normal vectors (n_words, embedding_dim) of this deviation; padding is zero."""
    vectors = torch.randn(n_words, dim, generator=generator).numpy() * np.float32(scale)
    vectors[PAD_ID] = 0.0
    return np.asarray(vectors)


def fill_missing(found: FoundEmbeddings, generator: torch.Generator) -> FloatArray:
    """Give words that the file lacks a random vector.

    Published code draws them from U(-1, 1); here they are as large as the vectors that were found,
    so that an unknown word does not outweigh the known ones.
    """
    scale = float(found.vectors[found.is_found].std()) if found.is_found.any() else RANDOM_SCALE
    n_words, dim = found.vectors.shape
    filled = random_embeddings(n_words, dim, generator, scale=scale)
    filled[found.is_found] = found.vectors[found.is_found]
    return filled


def learn_skipgram(
    token_ids: Sequence[IntArray],
    *,
    n_words: int,
    dim: int,
    seed: int,
    window: int = 5,
    epochs: int = 5,
) -> FloatArray:
    """Learn vectors (n_words, embedding_dim) from documents by skip-gram with negative sampling.

    One worker, so that the same seed gives the same vectors. Unknown words are left out, hence the
    vector of ``[unk]`` is random, of the same scale as the learned ones.
    """
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise MissingExtraError(
            "Skip-gram embeddings need gensim; install it with: pip install 'piran[skipgram]'."
        ) from error
    sentences = [ids[ids != UNKNOWN_ID].tolist() for ids in token_ids]
    vectors = np.zeros((n_words, dim), dtype=np.float32)
    is_found = np.zeros(n_words, dtype=np.bool_)
    if any(sentences):
        model = Word2Vec(
            sentences,
            vector_size=dim,
            sg=1,
            window=window,
            epochs=epochs,
            min_count=1,
            workers=1,
            seed=seed,
        )
        rows = np.asarray(model.wv.index_to_key, dtype=np.int64)
        vectors[rows], is_found[rows] = model.wv.vectors, True
    return fill_missing(FoundEmbeddings(vectors, is_found), seeded_generator(seed))


def read_embeddings(path: Path, words: Sequence[str]) -> FoundEmbeddings:
    """Read the vectors of these words from a GloVe or word2vec file, holding no others in memory.

    ``.bin`` is word2vec's binary format, anything else text: one word and its numbers a line, with
    or without word2vec's first line "n_words embedding_dim". Each may be compressed (``.gz``,
    ``.xz``). Of a word that occurs twice the first vector counts.
    """
    if not path.is_file():
        raise DataError(
            f"There is no embeddings file {path}; give 'random', 'skipgram' or the path of a GloVe "
            "or word2vec file."
        )
    rows = {word.encode(): row for row, word in enumerate(words)}
    formats = [suffix for suffix in path.suffixes if suffix not in _OPENERS]
    read = _read_binary if formats[-1:] == [".bin"] else _read_text
    vectors: dict[int, FloatArray] = {}
    with _opened(path) as file:
        for word, vector in read(path, file, rows):
            vectors.setdefault(rows[word], vector)
    if not vectors:
        raise DataError(
            f"{path} has no vector for any of the {len(words)} words of the vocabulary."
        )
    return _stacked(vectors, len(words))


def _stacked(vectors: dict[int, FloatArray], n_words: int) -> FoundEmbeddings:
    dim = len(next(iter(vectors.values())))
    stacked = np.zeros((n_words, dim), dtype=np.float32)
    is_found = np.zeros(n_words, dtype=np.bool_)
    for row, vector in vectors.items():
        stacked[row], is_found[row] = vector, True
    return FoundEmbeddings(stacked, is_found)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain or compressed file for reading; damage met in the block is a DataError."""
    opener = _OPENERS.get(path.suffix, open)
    try:
        with cast(IO[bytes], opener(path, "rb")) as file:
            yield file
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}. Download it again.") from error


def _read_text(
    path: Path, file: IO[bytes], wanted: Container[bytes]
) -> Iterator[tuple[bytes, FloatArray]]:
    dim: int | None = None
    for number, line in enumerate(file, start=1):
        line = line.rstrip()
        n_numbers = line.count(b" ")
        if number == 1 and n_numbers == 1:
            dim = _header(path, line).dim
            continue
        dim = n_numbers if dim is None else dim
        if n_numbers < dim or dim == 0:
            raise DataError(
                f"{path}, line {number}: expected a word and {dim or 'some'} numbers, "
                f"got {n_numbers} numbers."
            )
        word, *numbers = line.split(b" ")
        # More fields than numbers: a word that contains spaces, which the vocabulary cannot have.
        if len(numbers) == dim and word in wanted:
            yield word, _parsed(path, number, numbers)


def _parsed(path: Path, line_number: int, numbers: list[bytes]) -> FloatArray:
    try:
        vector = np.array(numbers, dtype=np.float32)
    except ValueError as error:
        raise DataError(f"{path}, line {line_number}: expected numbers, {error}.") from None
    if not np.isfinite(vector).all():
        raise DataError(
            f"{path}, line {line_number}: expected finite numbers, got NaN or infinity."
        )
    return vector


def _read_binary(
    path: Path, file: IO[bytes], wanted: Container[bytes]
) -> Iterator[tuple[bytes, FloatArray]]:
    header = _header(path, file.readline())
    for number in range(1, header.n_words + 1):
        word = _word_before_space(file)
        values = file.read(4 * header.dim)
        if len(values) < 4 * header.dim:
            raise DataError(
                f"{path} is cut short: expected {header.n_words} words, as its first line says, "
                f"got {number - 1}. Download it again."
            )
        if word in wanted:
            yield word, np.frombuffer(values, dtype="<f4")


def _word_before_space(file: IO[bytes]) -> bytes:
    letters = bytearray()
    while (letter := file.read(1)) not in (b" ", b""):
        letters += letter
    return bytes(letters.lstrip(b"\n"))  # some writers end each vector with a line break


class _Header(NamedTuple):
    n_words: int
    dim: int


def _header(path: Path, line: bytes) -> _Header:
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields) or int(fields[1]) < 1:
        raise DataError(
            f"{path}, line 1: expected 'n_words embedding_dim', got {line[:40]!r}; "
            "is it a word2vec file?"
        )
    return _Header(int(fields[0]), int(fields[1]))
