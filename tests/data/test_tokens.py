"""The vocabulary: words, numbers, truncation, saving."""

from pathlib import Path

import pytest

from piran.data.tokens import PAD_ID, UNKNOWN_ID, Vocabulary
from piran.errors import ModelFolderError, SettingError


def ids(vocabulary: Vocabulary, *texts: str) -> list[list[int]]:
    return [numbers.tolist() for numbers in vocabulary.encode(texts)]


def test_words_run_from_frequent_to_rare_with_ties_by_spelling() -> None:
    vocabulary = Vocabulary.learn(["b a c", "c b", "c"])
    assert vocabulary.words == ("[pad]", "[unk]", "c", "b", "a")
    assert len(vocabulary) == 5


def test_the_order_of_texts_does_not_matter() -> None:
    texts = ["x y z", "z y", "w v u"]
    assert Vocabulary.learn(texts).words == Vocabulary.learn(texts[::-1]).words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, WORLD!", ["hello", "world"]),
        ("don't e-mail x_y", ["don", "t", "e", "mail", "x", "y"]),
        ("ipv6 2nd", ["ipv", "6", "2", "nd"]),
        ("ﬁne", ["fine"]),  # NFKC takes the ligature apart
        ("cafe\u0301", ["café"]),  # and puts letter and accent together
        ("हिन्दी", ["हिन्दी"]),  # vowel signs stay in their word
    ],
)
def test_words_are_lower_case_runs_of_letters_or_digits(text: str, words: list[str]) -> None:
    assert sorted(Vocabulary.learn([text]).words[2:]) == sorted(set(words))


def test_only_the_most_frequent_words_are_taken() -> None:
    assert Vocabulary.learn(["a a a b b c"], max_size=2).words[2:] == ("a", "b")


def test_words_below_the_minimum_count_are_unknown() -> None:
    vocabulary = Vocabulary.learn(["a a b"], min_count=2)
    assert ids(vocabulary, "a b a") == [[2, UNKNOWN_ID, 2]]


def test_the_last_words_of_a_long_text_are_kept() -> None:
    vocabulary = Vocabulary.learn(["a b c d"], max_words=2)
    assert ids(vocabulary, "a b c d") == ids(vocabulary, "c d")


@pytest.mark.parametrize("text", ["", "  \n", "!?"])
def test_a_text_without_words_is_one_unknown_word(text: str) -> None:
    assert ids(Vocabulary.learn(["a"]), text) == [[UNKNOWN_ID]]


def test_no_text_can_spell_padding() -> None:
    vocabulary = Vocabulary.learn(["[pad] [unk] pad"])
    assert PAD_ID not in ids(vocabulary, "[pad] [unk]")[0]
    assert ids(vocabulary, "[pad]") == ids(vocabulary, "pad")


def test_many_texts_keep_their_order() -> None:
    texts = [f"w{number}" for number in range(2500)]
    vocabulary = Vocabulary.learn(texts)
    words = vocabulary.words
    assert [words[numbers[1]] for numbers in vocabulary.encode(texts)] == [w[1:] for w in texts]


def test_a_corpus_without_words_has_an_empty_vocabulary() -> None:
    assert Vocabulary.learn(["", "..."]).words == ("[pad]", "[unk]")


def test_a_saved_vocabulary_encodes_alike(tmp_path: Path) -> None:
    vocabulary = Vocabulary.learn(["The cat sat on the mat"], max_words=3)
    vocabulary.save(tmp_path)
    loaded = Vocabulary.load(tmp_path)
    assert loaded.words == vocabulary.words
    assert ids(loaded, "a cat on the Mat", "") == ids(vocabulary, "a cat on the Mat", "")


def test_a_missing_or_damaged_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match=r"tokenizer\.json is missing"):
        Vocabulary.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelFolderError, match=r"tokenizer\.json is damaged"):
        Vocabulary.load(tmp_path)


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(SettingError, match="max_words must be at least 1, got 0"):
        Vocabulary.learn(["a"], max_words=0)
