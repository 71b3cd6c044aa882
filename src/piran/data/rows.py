"""One row of any source to a text and its labels, with messages that say where the row stands."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from piran.errors import DataError
from piran.registry import suggestion
from piran.types import LabelSet


class FieldOptions(TypedDict, total=False):
    """The keyword arguments by which every reader takes the names of its fields; see RowFields."""

    text_field: str
    label_field: str
    label_separator: str | None


@dataclass(frozen=True)
class RowFields:
    """Where a row keeps its text and its labels.

    ``label_separator`` splits labels that are written as one string; None: labels must be a list.
    """

    text_field: str = "text"
    label_field: str = "labels"
    label_separator: str | None = None

    def text(self, row: object, where: str) -> str:
        """Return the text of a row that stands at ``where`` ("train.jsonl, line 3")."""
        value = self._value(row, self.text_field, where)
        if isinstance(value, str):
            return well_formed(value)
        advice = 'write "" for an empty text' if _is_missing(value) else "put it in quotes"
        raise DataError(
            f"{where}: the field {self.text_field!r} must be a string, got {_shown(value)}; "
            f"{advice}, or name another field with --text-field (text_field)."
        )

    def labels(self, row: object, where: str) -> LabelSet:
        """Return the labels of a row; a missing value is a document without labels."""
        value = self._value(row, self.label_field, where)
        if _is_missing(value):
            return ()
        if isinstance(value, str):
            return self._split(value, where)
        if isinstance(value, set | frozenset):
            value = sorted(value, key=str)
        if hasattr(value, "tolist"):  # numpy and pandas arrays
            value = value.tolist()
        if not isinstance(value, list | tuple):
            raise DataError(
                f"{where}: the field {self.label_field!r} must be a list of strings, got "
                f'{_shown(value)}; write ["a", "b"], or [] for none.'
            )
        return tuple(self._label(label, where) for label in value)

    def _value(self, row: object, field: str, where: str) -> object:
        if not isinstance(row, Mapping):
            raise DataError(
                f"{where}: expected an object such as "
                f'{{"{self.text_field}": "…", "{self.label_field}": ["…"]}}, got {_shown(row)}.'
            )
        if field in row:
            return row[field]
        known = [str(name) for name in row]
        flag = "--text-field" if field == self.text_field else "--label-field"
        raise DataError(
            f"{where}: there is no field {field!r}; the fields are {_listed(known)}. "
            f"{_did_you_mean(field, known)}Name the right one with {flag}."
        )

    def _split(self, cell: str, where: str) -> LabelSet:
        if self.label_separator is None:
            raise DataError(
                f"{where}: the field {self.label_field!r} must be a list of strings, got the "
                f'string {_shown(cell)}; write ["a", "b"], or split strings with '
                '--label-separator ";" (label_separator).'
            )
        return split_labels(cell, self.label_separator)

    def _label(self, label: object, where: str) -> str:
        if isinstance(label, str):
            return well_formed(label)
        advice = "put it in quotes" if isinstance(label, int | float) else "write a list of strings"
        raise DataError(
            f"{where}: every label in the field {self.label_field!r} must be a string, got "
            f"{_shown(label)}; {advice}."
        )


def split_labels(cell: str, separator: str) -> LabelSet:
    """Split labels written as one string; blanks around them and empty ones are dropped."""
    return tuple(label for part in cell.split(separator) if (label := well_formed(part.strip())))


def well_formed(text: str) -> str:
    """Replace half surrogate pairs (a cut emoji in JSON), which nothing can encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _shown(value: object, limit: int = 40) -> str:
    """Return a value for a message: one line, its type when that helps, cut when long."""
    if value is None:
        return "null"
    text = repr(value)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text if isinstance(value, str) else f"{text} ({type(value).__name__})"


def _did_you_mean(field: str, known: list[str]) -> str:
    found = suggestion(field, known)
    return f"{found} " if found.startswith("Did you mean") else ""


def _listed(names: list[str], limit: int = 12) -> str:
    if not names:
        return "none"
    more = f", … ({len(names)} in all)" if len(names) > limit else ""
    return ", ".join(repr(name) for name in names[:limit]) + more
