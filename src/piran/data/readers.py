"""Documents from files and back: JSON lines, JSON, CSV, TSV and Parquet, plain, .gz or .xz."""

import csv
import io
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Unpack

import pyarrow as arrow
from pyarrow import parquet

from piran.data.corpus import Documents
from piran.data.files import (
    FileFormat,
    compression_of,
    decoded_lines,
    opened,
    read_lines,
    read_text,
)
from piran.data.rows import FieldOptions, RowFields, split_labels
from piran.errors import DataError
from piran.types import LabelSet

DEFAULT_LABEL_SEPARATOR = ";"
"""Between labels in a CSV or TSV cell."""
OTHER_SEPARATORS = (",", "|")
DELIMITERS = {"csv": ",", "tsv": "\t"}
PARQUET_BATCH = 4096
LocatedRows = Iterator[tuple[str, Any]]

logger = logging.getLogger(__name__)
csv.field_size_limit(2**31 - 1)  # the default of 131,072 characters cuts long documents off


def read_documents(path: str | Path, **fields: Unpack[FieldOptions]) -> Documents:
    """Read the documents of one file; its extension says the format."""
    path = Path(path)
    names = RowFields(**fields)
    is_table = FileFormat.of(path).format in DELIMITERS
    if is_table and names.label_separator is None:
        names = replace(names, label_separator=DEFAULT_LABEL_SEPARATOR)
    documents = Documents.from_located_rows(_rows(path, names), names)
    if not len(documents):
        raise DataError(
            f"{path} is empty: expected at least one document, got none; check the file."
        )
    if is_table and fields.get("label_separator") is None:
        _warn_of_another_separator(documents, path)
    return documents


def read_texts(path: str | Path, *, text_field: str = RowFields.text_field) -> Iterator[str]:
    """Yield texts one by one, without need of labels, from a file of any size.

    ``-`` (standard input) and .txt files hold one text a line; other files hold documents.
    """
    if str(path) == "-":
        yield from _stripped(decoded_lines(sys.stdin.buffer, "standard input"))
        return
    path = Path(path)
    if path.suffix.lower() == ".txt":
        yield from _stripped(read_lines(path))
        return
    # Naming the text twice lets a Parquet file give that one column.
    names = RowFields(text_field=text_field, label_field=text_field)
    for where, row in _rows(path, names):
        yield names.text(row, where)


def rows_with_field(path: str | Path, name: str) -> list[int]:
    """Return the places, from 0, of the rows of a JSON file that have a field of this name.

    In tables every row has every field, so there are none.
    """
    if FileFormat.of(Path(path)).format not in ("jsonl", "json"):
        return []
    rows = _rows(Path(path), RowFields())
    return [place for place, (_, row) in enumerate(rows) if isinstance(row, dict) and name in row]


def write_documents(documents: Documents, path: str | Path) -> None:
    """Write documents to a file, whole or not at all; its extension says the format."""
    path = Path(path)
    kind = FileFormat.of(path).format
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(
        f".partial-{path.name}"
    )  # the same extension, thus the same compression
    try:
        with opened(partial, "wb") as file:
            _WRITERS[kind](documents, file, str(path))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _stripped(lines: Iterable[str]) -> Iterator[str]:
    return (line.rstrip("\r\n") for line in lines)


def _rows(path: Path, names: RowFields) -> LocatedRows:
    """Yield the rows of a file, each with the place it stands at."""
    match FileFormat.of(path).format:
        case "jsonl":
            return _jsonl_rows(path)
        case "json":
            return _json_rows(path)
        case "parquet":
            return _parquet_rows(path, [names.text_field, names.label_field])
        case table:
            return _table_rows(path, DELIMITERS[table])


def _jsonl_rows(path: Path) -> LocatedRows:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(
                f'{where}: expected one JSON object such as {{"text": "…", "labels": ["…"]}}, got '
                f"something that is not JSON ({error}); correct or remove the line."
            ) from error
        yield where, row


def _json_rows(path: Path) -> LocatedRows:
    text = read_text(path)
    if not text.strip():
        return
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {error.lineno}: expected a JSON list of rows, got something that is not "
            f"JSON ({error}); for one object a line use the extension .jsonl."
        ) from error
    rows = content.get("data") if isinstance(content, dict) else content
    if not isinstance(rows, list):
        raise DataError(
            f'{path}: expected a list of rows or {{"data": [rows]}}, got one '
            f"{type(content).__name__}; for one object a line use the extension .jsonl."
        )
    for number, row in enumerate(rows, start=1):
        yield f"{path}, row {number}", row


def _table_rows(path: Path, delimiter: str) -> LocatedRows:
    reader = csv.reader(read_lines(path), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        for cells in reader:
            if not cells:  # a blank line
                continue
            where = f"{path}, line {reader.line_num}"
            if len(cells) != len(header):
                raise DataError(
                    f"{where}: expected {len(header)} cells as in the header, got {len(cells)}; "
                    f"put cells that contain {delimiter!r} or a line end in double quotes."
                )
            yield where, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: expected cells divided by {delimiter!r}, got a row "
            f"that cannot be split ({error}); double the quotes inside a quoted cell."
        ) from error


def _parquet_rows(path: Path, wanted: list[str]) -> LocatedRows:
    number = 0
    with opened(path) as file:
        source = (
            io.BytesIO(file.read()) if compression_of(path) else file
        )  # Parquet is read by seeking
        try:
            table = parquet.ParquetFile(source)
            known = set(table.schema_arrow.names)
            columns = list(dict.fromkeys(wanted)) if known.issuperset(wanted) else None
            for batch in table.iter_batches(PARQUET_BATCH, columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
        except (arrow.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(
                f"{path}: expected a Parquet file, got one that cannot be read ({reason}); write "
                "or copy it again."
            ) from error


def _warn_of_another_separator(documents: Documents, path: Path) -> None:
    """Say so when labels look as if another separator than the default stood between them."""
    labelled = [labels for labels in documents.label_sets if labels]
    if not labelled or any(len(labels) > 1 for labels in labelled):
        return
    for separator in OTHER_SEPARATORS:
        n_suspect = sum(separator in labels[0] for labels in labelled)
        if n_suspect >= len(labelled) / 4:
            logger.warning(
                "%s: no label cell contains %r, but %d of %d contain %r; if it divides labels, say "
                "--label-separator %r (label_separator).",
                *(path, DEFAULT_LABEL_SEPARATOR, n_suspect, len(labelled), separator, separator),
            )
            return


def _json_row(text: str, labels: LabelSet) -> str:
    return json.dumps({"text": text, "labels": labels}, ensure_ascii=False)


def _write_jsonl(documents: Documents, file: IO[bytes], name: str) -> None:
    for text, labels in zip(documents.texts, documents.label_sets, strict=True):
        file.write(f"{_json_row(text, labels)}\n".encode())


def _write_json(documents: Documents, file: IO[bytes], name: str) -> None:
    rows = map(_json_row, documents.texts, documents.label_sets)
    file.write(("[\n" + ",\n".join(rows) + "\n]\n").encode())


def _write_table(documents: Documents, file: IO[bytes], name: str, *, delimiter: str) -> None:
    line = io.StringIO(newline="")
    writer = csv.writer(
        line, delimiter=delimiter
    )  # ends lines by \r\n, so both get quoted in cells
    writer.writerow(["text", "labels"])
    for text, labels in zip(documents.texts, documents.label_sets, strict=True):
        writer.writerow([text, _joined(labels, name)])
        file.write(line.getvalue().encode())
        line.seek(0)
        line.truncate()
    file.write(line.getvalue().encode())


def _joined(labels: LabelSet, name: str) -> str:
    cell = DEFAULT_LABEL_SEPARATOR.join(labels)
    if split_labels(cell, DEFAULT_LABEL_SEPARATOR) != labels:
        raise DataError(
            f"{name}: the labels {list(labels)} cannot stand in one cell: expected labels without "
            f"{DEFAULT_LABEL_SEPARATOR!r} and blanks around them; write .jsonl or .parquet instead."
        )
    return cell


def _write_csv(documents: Documents, file: IO[bytes], name: str) -> None:
    _write_table(documents, file, name, delimiter=DELIMITERS["csv"])


def _write_tsv(documents: Documents, file: IO[bytes], name: str) -> None:
    _write_table(documents, file, name, delimiter=DELIMITERS["tsv"])


def _write_parquet(documents: Documents, file: IO[bytes], name: str) -> None:
    schema = arrow.schema([("text", arrow.string()), ("labels", arrow.list_(arrow.string()))])
    columns = {"text": documents.texts, "labels": [list(labels) for labels in documents.label_sets]}
    parquet.write_table(arrow.table(columns, schema=schema), file)


_WRITERS: dict[str, Callable[[Documents, IO[bytes], str], None]] = {
    "jsonl": _write_jsonl,
    "json": _write_json,
    "csv": _write_csv,
    "tsv": _write_tsv,
    "parquet": _write_parquet,
}
