"""The vocabulary: which words there are, and texts as sequences of their numbers."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import NFKC, Lowercase
from tokenizers.normalizers import Sequence as NormalizerSequence
from tokenizers.pre_tokenizers import Split
from tokenizers.trainers import WordLevelTrainer

from piran.errors import ModelFolderError, SettingError
from piran.types import IntArray, Texts

PAD_ID = 0
"""Fills a batch up to its longest document; never the number of a word."""
UNKNOWN_ID = 1
"""Stands for every word that is not in the vocabulary, and for a text without any word."""
FILE_NAME = "tokenizer.json"

_PAD, _UNKNOWN = "[pad]", "[unk]"  # no word contains a bracket, so no text can spell them
_WORD = r"\p{L}[\p{L}\p{M}]*|\p{N}+"  # combining marks belong to their letter, as in Hindi
_TEXTS_AT_ONCE = 1000


class Vocabulary:
    """The words of a corpus, numbered from the most to the least frequent, ties by spelling.

    A text is brought to NFKC and lower case; its words are runs of letters and runs of digits. Only
    the last ``max_words`` of a text are kept, as in the paper. A text without a word becomes one
    unknown word, so that every document has at least one position to attend to.

    >>> vocabulary = Vocabulary.learn(["The cat sat.", "The CAT ran."])
    >>> vocabulary.words
    ('[pad]', '[unk]', 'cat', 'the', 'ran', 'sat')
    >>> [ids.tolist() for ids in vocabulary.encode(["the dog sat", ""])]
    [[3, 1, 5], [1]]
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        *,
        max_size: int = 500_000,
        min_count: int = 1,
        max_words: int = 500,
    ) -> "Vocabulary":
        """Take the ``max_size`` most frequent words that occur at least ``min_count`` times."""
        for name, value in [
            ("max_size", max_size),
            ("min_count", min_count),
            ("max_words", max_words),
        ]:
            if value < 1:
                raise SettingError(f"{name} must be at least 1, got {value}.")
        counting = _tokenizer(WordLevel(unk_token=_UNKNOWN))
        trainer = WordLevelTrainer(
            vocab_size=max_size, min_frequency=min_count, show_progress=False
        )
        counting.train_from_iterator(texts, trainer)
        learned = counting.get_vocab()
        words = [_PAD, _UNKNOWN, *sorted(learned, key=lambda word: learned[word])]
        numbers = {word: number for number, word in enumerate(words)}
        # Numbers given here, not as special tokens: those would be looked for inside the texts.
        tokenizer = _tokenizer(WordLevel(vocab=numbers, unk_token=_UNKNOWN))
        tokenizer.enable_truncation(max_words, direction="left")
        return cls(tokenizer)

    @property
    def words(self) -> tuple[str, ...]:
        """Every word in the order of its number; the first two are padding and unknown."""
        numbers = self._tokenizer.get_vocab()
        return tuple(sorted(numbers, key=lambda word: numbers[word]))

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def encode(self, texts: Texts) -> list[IntArray]:
        """Return the numbers of the words of each text: arrays of 1 to ``max_words`` entries."""
        return [
            np.asarray(encoding.ids or [UNKNOWN_ID], dtype=np.int32)
            for some in _portions(texts)
            for encoding in self._tokenizer.encode_batch_fast(some)
        ]

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json`` into an existing folder; the tokenizers library reads it too."""
        self._tokenizer.save(str(folder / FILE_NAME))

    @classmethod
    def load(cls, folder: Path) -> "Vocabulary":
        """Read what :meth:`save` wrote."""
        path = folder / FILE_NAME
        if not path.is_file():
            raise ModelFolderError(
                f"{path} is missing: {folder} is not a saved model, or not all of it was copied."
            )
        try:
            return cls(Tokenizer.from_file(str(path)))
        except Exception as error:  # the library raises nothing narrower
            raise ModelFolderError(f"{path} is damaged ({error}); save the model again.") from error


def _tokenizer(model: WordLevel) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = NormalizerSequence([NFKC(), Lowercase()])
    tokenizer.pre_tokenizer = Split(Regex(_WORD), behavior="removed", invert=True)
    return tokenizer


def _portions(texts: Texts) -> Iterator[Sequence[str]]:
    remaining = iter(texts)
    while some := list(islice(remaining, _TEXTS_AT_ONCE)):
        yield some
