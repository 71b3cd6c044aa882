"""Texts and labels in two files, one document a line: the form of AAPD and of EUR-Lex."""

from collections.abc import Iterator
from pathlib import Path

from piran.data.corpus import Documents
from piran.data.files import read_lines
from piran.errors import DataError


def read_line_files(texts: Path, labels: Path) -> Documents:
    """Read one text a line and, in the other file, its labels, divided by blanks."""
    documents = [line.rstrip("\r\n") for line in read_lines(texts)]
    label_sets = [tuple(line.split()) for line in read_lines(labels)]
    if len(documents) != len(label_sets):
        raise DataError(
            f"{texts} and {labels} must have as many lines as each other, got {len(documents)} and "
            f"{len(label_sets)}; get both from one release."
        )
    return Documents(documents, label_sets)


def read_splits(folder: Path, names: dict[str, tuple[str, str]]) -> dict[str, Documents]:
    """Read the splits whose two files, a text and a label file for each, are in a folder."""
    return dict(_present(folder, names))


def _present(folder: Path, names: dict[str, tuple[str, str]]) -> Iterator[tuple[str, Documents]]:
    for split, (texts, labels) in names.items():
        if (folder / texts).is_file():
            yield split, read_line_files(folder / texts, folder / labels)
