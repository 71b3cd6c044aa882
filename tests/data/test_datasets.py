"""Corpora by name and by path."""

import json
from pathlib import Path

import pytest

from piran.data import DATASETS, Corpus, Documents, load_corpus, write_documents
from piran.data.datasets import write_corpus
from piran.errors import DataError, UnknownNameError

DOCUMENTS = Documents(["one", "two"], [("a", "b"), ("a",)])


@pytest.fixture(scope="module")
def debtags() -> Corpus:
    return load_corpus("debtags")


def folder_with(tmp_path: Path, *names: str) -> Path:
    for name in names:
        write_documents(DOCUMENTS, tmp_path / name)
    return tmp_path


def test_debtags_comes_with_the_package(debtags: Corpus) -> None:
    assert debtags.test is not None
    assert (len(debtags.train), len(debtags.test), len(debtags.label_names)) == (8988, 2206, 528)
    assert debtags.validation is None
    assert debtags.checksum().startswith("6626b21d37404fb4")


def test_debtags_has_350_tail_labels_and_describes_524(debtags: Corpus) -> None:
    assert debtags.label_space().is_tail.sum() == 350
    assert len(debtags.label_descriptions) == 524
    assert debtags.label_descriptions["interface::commandline"] == "Command Line"
    assert set(debtags.label_descriptions) <= set(debtags.label_names)


def test_no_document_of_debtags_is_in_both_splits(debtags: Corpus) -> None:
    assert debtags.test is not None
    assert not set(debtags.train.texts) & set(debtags.test.texts)


@pytest.mark.parametrize("name", list(DATASETS))
def test_every_card_is_complete_and_says_where_the_data_are(name: str) -> None:
    card = DATASETS[name]
    assert card.name == name
    assert all([card.title, card.description, card.source, card.licence, card.citation])
    assert card.is_embedded != bool(card.layout and card.reader)


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "debtags"])
def test_a_bare_name_without_data_says_how_to_get_them(name: str) -> None:
    message = f"The data of {name} do not come with piran; get them from .* folder called {name}"
    with pytest.raises(DataError, match=message) as caught:
        load_corpus(name)
    assert DATASETS[name].layout[0] in str(caught.value)


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "debtags"])
def test_every_card_reads_plain_files_and_gives_its_tail(name: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path / name.upper(), "train.jsonl.xz", "test.jsonl.xz")
    for corpus in (load_corpus(folder), load_corpus(name, folder=folder)):
        assert (corpus.train, corpus.test, corpus.tail) == (
            DOCUMENTS,
            DOCUMENTS,
            DATASETS[name].tail,
        )


def test_a_folder_in_the_working_directory_is_found_by_a_dataset_s_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder_with(tmp_path / "reuters90", "train.csv")
    monkeypatch.chdir(tmp_path)
    assert load_corpus("reuters90").train == DOCUMENTS


@pytest.mark.parametrize("validation", ["dev.csv", "val.parquet.gz", "validation.json", "DEV.TSV"])
def test_a_folder_may_mix_formats_and_names_of_validation(validation: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "train.jsonl", "test.json.xz", validation)
    (folder / "notes.txt").write_text("not read")
    corpus = load_corpus(folder)
    assert corpus.validation == DOCUMENTS
    assert (corpus.name, corpus.tail) == (tmp_path.name, None)


def test_the_working_directory_has_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder_with(tmp_path, "train.jsonl"))
    assert load_corpus(".").name == tmp_path.name


def test_one_file_is_train(tmp_path: Path) -> None:
    corpus = load_corpus(folder_with(tmp_path, "tickets.csv.gz") / "tickets.csv.gz")
    assert corpus == Corpus("tickets", DOCUMENTS)


def test_fields_are_passed_to_the_files(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("body,tags\nx,a|b\n")
    corpus = load_corpus(tmp_path, text_field="body", label_field="tags", label_separator="|")
    assert corpus.train == Documents(["x"], [("a", "b")])


def test_labels_json_gives_descriptions(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "train.jsonl")
    content = {"a": {"name": "first", "parents": []}, "b": {"name": None}}
    (folder / "labels.json").write_text(json.dumps(content))
    assert load_corpus(folder).label_descriptions == {"a": "first"}


def test_parents_tell_of_a_label_too(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "train.jsonl")
    content = {
        "a": {"name": "barge", "parents": ["b", "c", "unknown"]},
        "b": {"name": "vessel"},
        "c": {"name": "inland waterway transport"},
    }
    (folder / "labels.json").write_text(json.dumps(content))
    described = load_corpus(folder).label_descriptions
    assert described["a"] == "barge (vessel, inland waterway transport)"
    assert described["b"] == "vessel"


@pytest.mark.parametrize(
    "content",
    ["[]", "{", '{"a": "first"}', '{"a": {}}', '{"a": {"name": "first", "parents": 7}}'],
)
def test_a_wrong_labels_json_is_reported(content: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "train.jsonl")
    (folder / "labels.json").write_text(content)
    with pytest.raises(DataError, match=r'labels.json: expected {"label": {"name": "its name"}'):
        load_corpus(folder)


def test_a_folder_without_train_says_what_it_holds(tmp_path: Path) -> None:
    message = r"has no train file; expected train.jsonl \(or .json, .csv, .tsv, .parquet, each also"
    with pytest.raises(DataError, match=message + ".*got an empty folder"):
        load_corpus(tmp_path)
    with pytest.raises(DataError, match=message + r".*got a.csv, b.csv, c.csv, d.csv, e.csv and 1"):
        load_corpus(folder_with(tmp_path, *(f"{letter}.csv" for letter in "abcdef")))


def test_a_folder_called_like_a_dataset_also_names_the_published_files(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "aapd", "test.jsonl")
    with pytest.raises(
        DataError, match=r"or the published files of aapd \(text_train, label_train"
    ):
        load_corpus(folder)


def test_two_files_for_one_split_are_ambiguous(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "train.csv", "train.jsonl")
    with pytest.raises(DataError, match=r"several files for one split: train.csv, train.jsonl"):
        load_corpus(folder)


def test_a_path_that_is_not_there() -> None:
    with pytest.raises(DataError, match=r"no/such.csv does not exist; expected a file, a folder"):
        load_corpus("no/such.csv")


def test_a_misspelt_name_gets_a_suggestion() -> None:
    with pytest.raises(
        UnknownNameError, match=r"Unknown dataset 'debtag'.* Did you mean 'debtags'"
    ):
        load_corpus("debtag")


def test_the_folder_of_a_named_dataset_must_exist(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="is not a folder; expected the folder with the files of aapd"
    ):
        load_corpus("aapd", folder=tmp_path / "nowhere")


def test_what_is_written_as_a_folder_is_loaded(tmp_path: Path) -> None:
    corpus = Corpus(
        "mine", DOCUMENTS, DOCUMENTS, DOCUMENTS, label_descriptions={"a": "first\nletter"}
    )
    files = write_corpus(corpus, tmp_path / "mine", "parquet")
    assert list(files) == ["train", "validation", "test"]
    loaded = load_corpus(tmp_path / "mine")
    assert loaded.checksum() == corpus.checksum()
    assert loaded.label_descriptions == {"a": "first letter"}
