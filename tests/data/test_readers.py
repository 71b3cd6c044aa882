"""Documents survive every format, and odd but legal files are read."""

import gzip
import io
import json
import lzma
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from piran.data import Documents, read_documents, read_texts, write_documents
from piran.errors import DataError

FORMATS = ["jsonl", "json", "csv", "tsv", "parquet"]
COMPRESSIONS = ["", ".gz", ".xz"]
DOCUMENTS = Documents(
    ['Zwölf "Boxkämpfer"\n\tund mehr', "", "日本語 🎉\r\n\u2028x", " word" * 10_000],
    [("spiel", "c++"), (), ("facet::tag",), ("a b",)],
)
UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
LABELS = st.text(
    st.characters(exclude_categories=["Cs", "Z", "C"], exclude_characters=";"), min_size=1
)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("format_name", FORMATS)
def test_what_is_written_is_read(format_name: str, compression: str, tmp_path: Path) -> None:
    path = tmp_path / f"train.{format_name}{compression}"
    write_documents(DOCUMENTS, path)
    assert read_documents(path) == DOCUMENTS
    assert list(read_texts(path)) == DOCUMENTS.texts


@pytest.mark.parametrize("format_name", FORMATS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(UNICODE, st.lists(LABELS, unique=True)), min_size=1, max_size=5))
def test_any_text_survives(
    format_name: str, tmp_path: Path, rows: list[tuple[str, list[str]]]
) -> None:
    documents = Documents([text for text, _ in rows], [tuple(labels) for _, labels in rows])
    path = tmp_path / f"odd.{format_name}"
    write_documents(documents, path)
    assert read_documents(path) == documents


@pytest.mark.parametrize("format_name", ["jsonl", "json", "csv", "tsv"])
def test_the_same_documents_give_the_same_bytes(format_name: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.{format_name}.gz" for name in ("one", "two")]
    for path in paths:
        write_documents(DOCUMENTS, path)
    assert gzip.decompress(paths[0].read_bytes()) == gzip.decompress(paths[1].read_bytes())


def test_extensions_are_read_in_either_case(tmp_path: Path) -> None:
    path = tmp_path / "TRAIN.JSONL.GZ"
    write_documents(DOCUMENTS, path)
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert read_documents(path) == DOCUMENTS


@pytest.mark.parametrize("separator", [";", "|"])
def test_labels_that_a_cell_cannot_hold_are_refused_and_nothing_is_left(
    separator: str, tmp_path: Path
) -> None:
    labels = {";": "a;b", "|": " a"}[separator]
    with pytest.raises(DataError, match=r"cannot stand in one cell.* write .jsonl or .parquet"):
        write_documents(Documents(["x"], [(labels,)]), tmp_path / "train.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"text": "ä", "labels": ["x"], "id": 1}\r\n\r\n'),
        ("a.json", '{"data": [{"text": "ä", "labels": ["x"]}]}'),
        ("a.json", '[{"labels": ["x"], "text": "ä"}]'),
        ("a.csv", "id,text,labels\r\n1,ä,x\r\n\r\n"),
        ("a.tsv", "text\tlabels\nä\tx;\n"),
    ],
)
def test_files_with_and_without_a_byte_order_mark(
    name: str, content: str, mark: bytes, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(mark + content.encode())
    assert read_documents(path) == Documents(["ä"], [("x",)])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"text": "x", "labels": []}\n{"text": "x", "labels": null}\n'),
        ("a.csv", "text,labels\nx,\nx, ; ;\n"),
    ],
)
def test_documents_without_labels_are_legal(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    assert read_documents(tmp_path / name).label_sets == [(), ()]


def test_a_cell_may_run_over_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text,labels\n"one, ""two""\nthree",a; b ;a\n')
    assert read_documents(tmp_path / "a.csv") == Documents(['one, "two"\nthree'], [("a", "b")])


def test_fields_and_separator_are_the_callers(tmp_path: Path) -> None:
    fields: Any = {"text_field": "body", "label_field": "tags", "label_separator": "|"}
    (tmp_path / "a.csv").write_text("body,tags\nx,a;b|c\n")
    (tmp_path / "a.jsonl").write_text('{"body": "x", "tags": "a;b|c"}\n')
    for name in ("a.csv", "a.jsonl"):
        assert read_documents(tmp_path / name, **fields).label_sets == [("a;b", "c")]


def test_parquet_gives_nulls_as_no_labels_and_skips_other_columns(tmp_path: Path) -> None:
    table = pa.table({"text": ["x", "y"], "labels": [None, ["a", "a"]], "vector": [[0.1], [0.2]]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read_documents(tmp_path / "a.parquet") == Documents(["x", "y"], [(), ("a",)])


@pytest.mark.parametrize("separator", [",", "|"])
def test_a_file_that_seems_to_use_another_separator_is_reported(
    separator: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.tsv").write_text(f"text\tlabels\nx\ta{separator}b\ny\tc\nz\t\n")
    read_documents(tmp_path / "a.tsv")
    assert "no label cell contains ';', but 1 of 2 contain" in caplog.text
    assert f"--label-separator {separator!r}" in caplog.text


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (["a;b", "c,d"], {}),
        (["a", "b"], {}),
        (["", ""], {}),
        (["a,b", "c,d"], {"label_separator": ";"}),
    ],
)
def test_no_report_without_reason(
    cells: list[str], options: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.tsv").write_text("text\tlabels\n" + "".join(f"x\t{cell}\n" for cell in cells))
    read_documents(tmp_path / "a.tsv", **options)
    assert caplog.text == ""


def test_texts_come_one_a_line_and_empty_lines_count(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\n\ntwo \xc3\xa4")
    assert list(read_texts(tmp_path / "a.txt")) == ["one", "", "two ä"]


def test_texts_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("ä\nb\n".encode())))
    assert list(read_texts("-")) == ["ä", "b"]


def test_texts_need_no_labels_and_are_read_as_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"body": "one"}) + "\nnot JSON\n")
    texts = read_texts(path, text_field="body")
    assert next(texts) == "one"
    with pytest.raises(DataError, match=r"a.jsonl, line 2: expected one JSON object"):
        next(texts)


def test_compressed_files_are_really_compressed(tmp_path: Path) -> None:
    write_documents(DOCUMENTS, tmp_path / "a.jsonl.xz")
    lines = lzma.decompress((tmp_path / "a.jsonl.xz").read_bytes()).decode().splitlines()
    assert json.loads(lines[1]) == {"text": "", "labels": []}
