"""What is wrong with a file, where, and what to do: one line each."""

import gzip
import lzma
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from piran.data import read_documents, read_texts, write_documents
from piran.data.corpus import Documents
from piran.errors import DataError

GOOD = '{"text": "x", "labels": ["a"]}\n'
BAD_CONTENTS = [
    ("a.jsonl", "", r"a.jsonl is empty: expected at least one document, got none"),
    ("a.json", " ", r"a.json is empty"),
    ("a.json", "[]", r"a.json is empty"),
    ("a.csv", "", r"a.csv is empty"),
    ("a.csv", "text,labels\n", r"a.csv is empty"),
    (
        "a.jsonl",
        GOOD + '{"txt": "x", "labels": []}\n',
        r"line 2: there is no field 'text'; the fields are 'txt', 'labels'. Did you mean 'txt'\? "
        "Name the right one with --text-field",
    ),
    (
        "a.csv",
        "text,tags\nx,a\n",
        r"line 2: there is no field 'labels'; the fields are 'text', 'tags'. Name the right one "
        "with --label-field",
    ),
    ("a.jsonl", "{}\n", r"the fields are none. Name"),
    ("a.jsonl", GOOD + "\n{'text': 1}\n", r"line 3: expected one JSON object .* not JSON \(Expect"),
    ("a.jsonl", GOOD + '["x", ["a"]]\n', r"line 2: expected an object .* got \['x', .* \(list\)"),
    ("a.jsonl", '{"text": 3, "labels": []}\n', r"line 1: .* must be a string, got 3 \(int\); put"),
    ("a.jsonl", '{"text": null, "labels": []}\n', r'got null; write "" for an empty text'),
    (
        "a.jsonl",
        '{"text": "x", "labels": ["a", 7]}\n',
        r"line 1: every label in the field 'labels' must be a string, got 7 \(int\); put it in",
    ),
    ("a.jsonl", '{"text": "x", "labels": [["a"]]}\n', r"got \['a'\] \(list\); write a list of str"),
    (
        "a.jsonl",
        '{"text": "x", "labels": "a;b"}\n',
        r"must be a list of strings, got the string 'a;b'; write \[.* --label-separator",
    ),
    ("a.jsonl", '{"text": "x", "labels": 7}\n', r"must be a list of strings, got 7 \(int\); write"),
    ("a.jsonl", '{"text": "x", "labels": {"a": 1}}\n', r"list of strings, got {'a': 1} \(dict\)"),
    ("a.json", '[{"text": "x", "labels": []}, 3]', r"a.json, row 2: expected an object"),
    ("a.json", '[\n{"text": "x",}]', r"a.json, line 2: expected a JSON list of rows, .* not JSON"),
    ("a.json", GOOD + GOOD, r"for one object a line use the extension .jsonl"),
    ("a.json", '{"rows": []}', r'expected a list of rows or {"data": \[rows\]}, got one dict'),
    ("a.json", "3", r"got one int"),
    ("a.csv", "text,labels\nx,a\none, two,a\n", r"line 3: expected 2 cells .*, got 3; put cells"),
    ("a.tsv", "text\tlabels\nx\n", r"line 2: expected 2 cells as in the header, got 1"),
    ("a.csv", 'text,labels\n"x" y,a\n', r"line 2: expected cells divided by ',', .* double the"),
    ("a.csv", 'text,labels\n"x,a\n', r"line 2: expected cells divided by .*unexpected end"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_CONTENTS)
def test_the_message_says_what_is_wrong(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        read_documents(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no.jsonl does not exist; check the path"):
        read_documents(tmp_path / "no.jsonl")


@pytest.mark.parametrize("name", ["a.xml", "a", "a.gz", "a.txt.gz", ".csv"])
def test_an_unknown_extension(name: str, tmp_path: Path) -> None:
    message = r"unknown extension; expected one of .jsonl, .json, .csv, .tsv, .parquet, each also"
    with pytest.raises(DataError, match=message):
        read_documents(tmp_path / name)
    with pytest.raises(DataError, match=message):
        write_documents(Documents(["x"], [()]), tmp_path / name)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").mkdir()
    with pytest.raises(DataError, match=r"a.jsonl cannot be opened: Is a directory"):
        read_documents(tmp_path / "a.jsonl")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_line_that_is_not_utf_8(name: str, tmp_path: Path) -> None:
    start = GOOD.encode() if name == "a.jsonl" else b"text,labels\n"
    (tmp_path / name).write_bytes(start + "Zwölf".encode("latin-1"))
    with pytest.raises(DataError, match=r"line 2: expected UTF-8 text, got the byte 0xf6 at pos"):
        read_documents(tmp_path / name)


def test_a_json_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]", encoding="utf-16")
    with pytest.raises(DataError, match=r"a.json: expected UTF-8 text, got the byte 0xff"):
        read_documents(tmp_path / "a.json")


DAMAGED = {
    "cut.jsonl.gz": gzip.compress(GOOD.encode() * 999)[:-20],
    "plain.jsonl.gz": GOOD.encode(),
    "flipped.jsonl.gz": gzip.compress(b"")[:10] + b"\xff" * 20,
    "cut.jsonl.xz": lzma.compress(GOOD.encode() * 999)[:-20],
    "plain.csv.xz": b"text,labels\n",
    "cut.parquet.gz": gzip.compress(b"PAR1" * 99)[:-9],
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_archive(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(DAMAGED[name])
    with pytest.raises(DataError, match=r"expected a whole .(gz|xz) file, got a damaged one"):
        read_documents(tmp_path / name)


@pytest.mark.parametrize("name", ["a.parquet", "a.parquet.gz"])
def test_a_damaged_parquet_file(name: str, tmp_path: Path) -> None:
    write_documents(Documents(["x"] * 99, [("a",)] * 99), tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()[:-30]
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(DataError, match=r"expected a Parquet file, got one that cannot be read"):
        read_documents(tmp_path / name)


def test_parquet_without_the_field_names_its_columns(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"text": ["x"], "label": [["a"]]}), tmp_path / "a.parquet")
    with pytest.raises(
        DataError, match=r"a.parquet, row 1: .* 'text', 'label'. Did you mean 'label'"
    ):
        read_documents(tmp_path / "a.parquet")


def test_parquet_with_numbers_for_labels(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"text": ["x"], "labels": [[3]]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"row 1: every label .* got 3 \(int\); put it in quotes"):
        read_documents(tmp_path / "a.parquet")


def test_many_fields_and_long_values_are_cut_in_messages(tmp_path: Path) -> None:
    cells = ",".join(f"f{number}" for number in range(40))
    (tmp_path / "a.csv").write_text(f"{cells}\n{cells}\n")
    with pytest.raises(DataError, match=r"'f11', … \(40 in all\)"):
        list(read_texts(tmp_path / "a.csv"))


def test_standard_input_and_text_files_must_be_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good\n\xff\n")
    with pytest.raises(DataError, match=r"a.txt, line 2: expected UTF-8"):
        list(read_texts(tmp_path / "a.txt"))
