"""Documents and corpora from rows, frames and Hugging Face datasets."""

from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest

from piran.data import Corpus, Documents
from piran.errors import DataError

ROWS = [{"text": "a game", "labels": ["game", "fun", "game"]}, {"text": "", "labels": []}]


def small_corpus(name: str = "small") -> Corpus:
    return Corpus(
        name,
        Documents(["one", "two", "three"], [("a",), ("a", "b"), ()]),
        test=Documents(["four"], [("c",)]),
    )


def test_a_label_counts_once_in_a_row_and_order_is_kept() -> None:
    documents = Documents.from_rows(ROWS)
    assert documents == Documents(["a game", ""], [("game", "fun"), ()])
    assert len(documents) == 2


def test_other_fields_are_read_by_name_and_split() -> None:
    rows = [{"body": "x", "tags": " a | b ||a", "id": 7}]
    fields: Any = {"text_field": "body", "label_field": "tags", "label_separator": "|"}
    assert Documents.from_rows(rows, **fields).label_sets == [("a", "b")]


def test_rows_are_counted_from_one_in_messages() -> None:
    with pytest.raises(DataError, match=r"mail, row 2: there is no field 'text'"):
        Documents.from_rows([ROWS[0], {"labels": []}], source="mail")


def test_texts_and_label_sets_must_pair_up() -> None:
    with pytest.raises(DataError, match="got 1 texts and 0 label sets"):
        Documents(["x"], [])


def test_a_string_is_no_label_set() -> None:
    wrong: Any = ["game"]
    with pytest.raises(DataError, match=r"Label set 0 .* got the string 'game'; write \['game'\]"):
        Documents(["x"], wrong)


def test_half_a_surrogate_pair_is_replaced() -> None:
    documents = Documents.from_rows([{"text": "cut \ud83d", "labels": ["\udc00"]}])
    assert documents == Documents(["cut \ufffd"], [("\ufffd",)])


def test_select_takes_documents_in_the_given_order() -> None:
    documents = Documents(["a", "b", "c"], [("x",), (), ("y",)])
    assert documents.select(np.array([2, 0])) == Documents(["c", "a"], [("y",), ("x",)])


def test_a_frame_may_hold_lists_arrays_sets_and_missing_values() -> None:
    cells: list[object] = [["a", "a"], np.array(["b"]), {"d", "c"}, None, float("nan")]
    frame = pd.DataFrame({"text": list("vwxyz"), "labels": pd.Series(cells, dtype=object)})
    assert Documents.from_frame(frame).label_sets == [("a",), ("b",), ("c", "d"), (), ()]


def test_a_frame_of_strings_is_split() -> None:
    frame = pd.DataFrame({"text": ["x", "y"], "labels": ["a;b", pd.NA]}, dtype="string")
    documents = Documents.from_frame(frame, label_separator=";")
    assert documents.label_sets == [("a", "b"), ()]


def test_a_missing_text_in_a_frame_is_an_error() -> None:
    frame = pd.DataFrame({"text": ["x", None], "labels": [["a"], ["b"]]})
    with pytest.raises(DataError, match=r'row 2: .* got null; write "" for an empty text'):
        Documents.from_frame(frame)


def test_a_frame_without_the_column_names_those_it_has() -> None:
    frame = pd.DataFrame({"texts": ["x"], "labels": [["a"]], "id": [1]})
    with pytest.raises(
        DataError, match=r"fields are 'texts', 'labels', 'id'. Did you mean 'texts'"
    ):
        Documents.from_frame(frame)


def test_numbers_of_a_class_label_become_names() -> None:
    names = datasets.ClassLabel(names=["cat", "dog"])
    features = datasets.Features({"text": datasets.Value("string"), "labels": datasets.List(names)})
    rows = {"text": ["x", "y", "z"], "labels": [[1, 0], [], None]}
    dataset = datasets.Dataset.from_dict(rows, features=features)
    assert Documents.from_dataset(dataset).label_sets == [("dog", "cat"), (), ()]


def test_a_single_class_label_is_one_label_and_minus_one_is_none() -> None:
    features = datasets.Features(
        {"text": datasets.Value("string"), "labels": datasets.ClassLabel(names=["cat", "dog"])}
    )
    dataset = datasets.Dataset.from_dict({"text": ["x", "y"], "labels": [1, -1]}, features=features)
    assert Documents.from_dataset(dataset).label_sets == [("dog",), ()]


def test_a_dataset_of_strings_is_read_as_it_is() -> None:
    assert Documents.from_dataset(datasets.Dataset.from_list(ROWS)) == Documents.from_rows(ROWS)


def test_a_dataset_dict_is_no_split() -> None:
    both = datasets.DatasetDict({"train": datasets.Dataset.from_list(ROWS)})
    with pytest.raises(DataError, match=r"\['train'\]; did you mean Corpus.from_dataset_dict"):
        Documents.from_dataset(both)


@pytest.mark.parametrize("validation", ["validation", "dev", "val"])
def test_a_dataset_dict_gives_a_corpus(validation: str) -> None:
    rows = datasets.Dataset.from_list(ROWS)
    corpus = Corpus.from_dataset_dict({"train": rows, validation: rows, "test": rows}, name="hub")
    assert (corpus.name, list(corpus.splits)) == ("hub", ["train", "validation", "test"])


def test_a_dataset_dict_needs_train() -> None:
    with pytest.raises(DataError, match=r"expected a split 'train', got the splits \['test'\]"):
        Corpus.from_dataset_dict({"test": datasets.Dataset.from_list(ROWS)})


def test_frames_give_a_corpus() -> None:
    corpus = Corpus.from_frames(pd.DataFrame(ROWS), test=pd.DataFrame(ROWS))
    assert list(corpus.splits) == ["train", "test"]
    assert corpus.validation is None


def test_labels_of_the_test_split_belong_to_the_label_space() -> None:
    corpus = small_corpus()
    space = corpus.label_space()
    assert corpus.label_names == ("a", "b", "c")
    assert space.names == ("a", "b", "c")
    assert space.is_unseen.tolist() == [False, False, True]


def test_the_corpus_has_a_tail_figure_that_an_argument_overrides() -> None:
    corpus = Corpus("x", Documents(["t"], [("a", "b", "c")]), tail=1)
    assert corpus.label_space().is_tail.sum() == 1
    assert corpus.label_space(2).is_tail.sum() == 2


def test_the_checksum_depends_on_texts_labels_and_splits_but_not_on_the_name() -> None:
    corpus = small_corpus()
    other = Corpus("other", corpus.train, validation=corpus.test)
    assert corpus.checksum() == small_corpus("renamed").checksum()
    assert corpus.checksum() != other.checksum()
    assert len(corpus.checksum()) == 64
