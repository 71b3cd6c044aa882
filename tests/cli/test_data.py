"""``piran data``: list, show, convert."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from piran.cli.data import app
from piran.cli.options import parse_tail
from piran.data import Documents, load_corpus, write_documents
from piran.errors import DataError, PiranError, SettingError

DOCUMENTS = Documents(["one two", "three", ""], [("a", "b"), ("a",), ()])


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, PiranError):
        raise result.exception
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split in ("train", "test"):
        write_documents(DOCUMENTS, tmp_path / "mine" / f"{split}.jsonl")
    return tmp_path / "mine"


def test_list_names_every_dataset() -> None:
    result = run("list")
    assert result.exit_code == 0
    for name in ("aapd", "debtags", "eurlex", "eurlex57k", "rcv1", "reuters90"):
        assert name in result.stdout


def test_list_as_json_gives_the_cards() -> None:
    cards = {card["name"]: card for card in json.loads(run("list", "--json").stdout)}
    assert cards["debtags"]["is_embedded"] is True
    assert cards["reuters90"]["tail"] == 60


def test_show_prints_tables_and_the_curve(folder: Path) -> None:
    printed = run("show", folder).stdout
    assert "training documents (N)" in printed
    assert "1 train, 1 test" in printed
    assert "head: 1 labels   tail: 1 labels" in printed
    assert re.search(r"labels without a training document\W+0\W", printed)


def test_show_as_json_prints_only_json(folder: Path) -> None:
    state = json.loads(run("show", folder, "--json").stdout)
    assert (state["name"], state["n_train"], state["n_labels"]) == ("mine", 3, 2)


@pytest.mark.parametrize(("tail", "expected"), [("auto", 1), ("2", 2), ("0", 0), ("0.5", 1)])
def test_tail_is_a_number_a_fraction_or_auto(tail: str, expected: int, folder: Path) -> None:
    state = json.loads(run("show", folder, "--json", "--tail", tail).stdout)
    assert state["n_tail_labels"] == expected


def test_a_wrong_tail_says_what_is_allowed(folder: Path) -> None:
    with pytest.raises(SettingError, match=r"--tail must be a number of labels .* got 'most'"):
        parse_tail("most")
    with pytest.raises(SettingError, match="tail must be between 0 and 2"):
        run("show", folder, "--tail", "-3")


def test_show_writes_a_figure(folder: Path, tmp_path: Path) -> None:
    run("show", folder, "--plot", tmp_path / "tail.svg")
    assert "<svg" in (tmp_path / "tail.svg").read_text()


def test_show_reads_other_fields(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("body,tags\nx,a|b\n")
    fields = ["--text-field", "body", "--label-field", "tags", "--label-separator", "|"]
    assert json.loads(run("show", tmp_path / "a.csv", "--json", *fields).stdout)["n_labels"] == 2


def test_show_help_has_examples() -> None:
    assert "piran data show debtags" in run("show", "--help").stdout


def test_a_missing_file_is_an_error_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist") as caught:
        run("show", tmp_path / "no.csv")
    assert "\n" not in str(caught.value)


def test_convert_writes_one_file(folder: Path, tmp_path: Path) -> None:
    result = run("convert", folder / "train.jsonl", tmp_path / "new" / "all.csv.gz")
    assert "train: 3 documents to" in result.stdout
    assert load_corpus(tmp_path / "new" / "all.csv.gz").train == DOCUMENTS


@pytest.mark.parametrize("options", [[], ["--format", "parquet"]])
def test_convert_writes_a_folder(options: list[str], folder: Path, tmp_path: Path) -> None:
    run("convert", folder, tmp_path / "new", *options)
    extension = options[1] if options else "jsonl"
    assert (tmp_path / "new" / f"train.{extension}").is_file()
    assert load_corpus(tmp_path / "new").checksum() == load_corpus(folder).checksum()


def test_several_splits_do_not_go_into_one_file(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"has the splits train, test; name a folder .* --format csv"
    ):
        run("convert", folder, tmp_path / "all.csv")


def test_an_unknown_format_lists_those_known(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"unknown extension; expected one of .jsonl, .json"):
        run("convert", folder, tmp_path / "new", "--format", "xml")
