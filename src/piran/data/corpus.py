"""Documents and corpora: texts with their label sets, in memory, and where they come from."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

from piran.data.labels import LabelSpace, held_out_rows
from piran.data.rows import FieldOptions, RowFields
from piran.errors import DataError
from piran.types import LabelSet

if TYPE_CHECKING:
    import pandas

CountRange = tuple[int, int | None]
"""The least and the most training documents of a label, both included; None: without an end."""
VALIDATION_NAMES = ("validation", "dev", "val")
"""What files and datasets call the validation split, in the order they are looked for."""


@dataclass(frozen=True)
class Documents:
    """Texts with their label sets; a document may have no labels, and a text may be empty.

    >>> documents = Documents(["a game", "a tool"], [("game", "game"), ()])
    >>> documents.label_sets
    [('game',), ()]
    """

    texts: list[str]
    label_sets: list[LabelSet]
    """One tuple per text, in the source's order, each label once."""

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.label_sets):
            raise DataError(
                f"Expected one label set per text, got {len(self.texts)} texts and "
                f"{len(self.label_sets)} label sets."
            )
        for number, labels in enumerate(self.label_sets):
            _check_label_set(labels, number)
        unique = [tuple(dict.fromkeys(labels)) for labels in self.label_sets]
        object.__setattr__(self, "label_sets", unique)

    def __len__(self) -> int:
        return len(self.texts)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Mapping[str, Any]],
        *,
        source: str = "rows",
        **fields: Unpack[FieldOptions],
    ) -> "Documents":
        """Read mappings such as ``{"text": …, "labels": […]}``; ``source`` names them in messages.

        >>> Documents.from_rows([{"body": "a game", "tags": "game|fun"}], text_field="body",
        ...                     label_field="tags", label_separator="|").label_sets
        [('game', 'fun')]
        """
        located = ((f"{source}, row {number}", row) for number, row in enumerate(rows, start=1))
        return cls.from_located_rows(located, RowFields(**fields))

    @classmethod
    def from_located_rows(cls, rows: Iterable[tuple[str, Any]], fields: RowFields) -> "Documents":
        """Read rows that come with the place they stand at, for messages."""
        texts: list[str] = []
        label_sets: list[LabelSet] = []
        for where, row in rows:
            texts.append(fields.text(row, where))
            label_sets.append(fields.labels(row, where))
        return cls(texts, label_sets)

    @classmethod
    def from_frame(
        cls, frame: "pandas.DataFrame", *, source: str = "frame", **fields: Unpack[FieldOptions]
    ) -> "Documents":
        """Read a pandas frame; a missing value in the label column is a document without labels."""
        names = RowFields(**fields)
        wanted = [name for name in (names.text_field, names.label_field) if name in frame.columns]
        if len(wanted) < 2:
            wanted = [str(name) for name in frame.columns]  # the message lists them all
        columns = [_without_missing(frame[name]) for name in wanted]
        rows = (dict(zip(wanted, values, strict=True)) for values in zip(*columns, strict=True))
        return cls.from_rows(rows, source=source, **fields)

    @classmethod
    def from_dataset(
        cls,
        dataset: Iterable[Mapping[str, Any]],
        *,
        source: str = "dataset",
        **fields: Unpack[FieldOptions],
    ) -> "Documents":
        """Read one split of a Hugging Face dataset; numbers of a ClassLabel become its names."""
        if isinstance(dataset, Mapping):
            raise DataError(
                f"{source}: expected one split, got a DatasetDict with {sorted(dataset)}; did you "
                "mean Corpus.from_dataset_dict(dataset) or dataset['train']?"
            )
        label_field = RowFields(**fields).label_field
        names = _class_names(dataset, label_field)
        rows = (_with_names(row, label_field, names) for row in dataset) if names else dataset
        return cls.from_rows(rows, source=source, **fields)

    def select(self, indices: Iterable[int]) -> "Documents":
        """Return the documents at ``indices``, in that order."""
        chosen = [int(index) for index in indices]
        return Documents(
            [self.texts[index] for index in chosen], [self.label_sets[index] for index in chosen]
        )


@dataclass(frozen=True)
class Corpus:
    """Documents in up to three splits, with what is known about their labels."""

    name: str
    train: Documents
    validation: Documents | None = None
    test: Documents | None = None
    tail: int | float | None = None
    """Tail labels as a number or fraction, as the dataset's card has it; None: two thirds."""
    label_descriptions: dict[str, str] = field(default_factory=dict)
    """A sentence or name for some of the labels; may be empty."""
    test_subsets: dict[str, list[int]] = field(default_factory=dict)
    """Test documents to report on apart as well, by name, as their places in ``test``."""
    label_groups: dict[str, CountRange] = field(default_factory=dict)
    """Labels to report on apart as well, by name, as the least and most training documents."""

    @classmethod
    def from_splits(cls, name: str, splits: Mapping[str, Documents]) -> "Corpus":
        """Put together a corpus from documents by split: train, validation, test."""
        return cls(name, splits["train"], splits.get("validation"), splits.get("test"))

    @classmethod
    def from_frames(
        cls,
        train: "pandas.DataFrame",
        *,
        validation: "pandas.DataFrame | None" = None,
        test: "pandas.DataFrame | None" = None,
        name: str = "frames",
        **fields: Unpack[FieldOptions],
    ) -> "Corpus":
        """Read pandas frames, one per split."""
        given = {"train": train, "validation": validation, "test": test}
        splits = {
            split: Documents.from_frame(frame, source=f"{split} frame", **fields)
            for split, frame in given.items()
            if frame is not None
        }
        return cls.from_splits(name, splits)

    @classmethod
    def from_dataset_dict(
        cls, datasets: Mapping[str, Any], *, name: str = "dataset", **fields: Unpack[FieldOptions]
    ) -> "Corpus":
        """Read a Hugging Face DatasetDict: train, and optionally validation (dev, val) and test."""
        if "train" not in datasets:
            raise DataError(
                f"{name}: expected a split 'train', got the splits {sorted(datasets)}; pass "
                "{'train': …, 'test': …}."
            )
        found = {"train": "train", "test": "test"} | {
            split: "validation" for split in reversed(VALIDATION_NAMES) if split in datasets
        }
        splits = {
            ours: Documents.from_dataset(datasets[theirs], source=f"{name} {theirs}", **fields)
            for theirs, ours in found.items()
            if theirs in datasets
        }
        return cls.from_splits(name, splits)

    @property
    def splits(self) -> dict[str, Documents]:
        """The splits there are, by name, in the order train, validation, test."""
        every = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: documents for name, documents in every.items() if documents is not None}

    @property
    def label_names(self) -> tuple[str, ...]:
        """All labels that occur in any split, by name."""
        return tuple(sorted(set(self._labels())))

    def label_space(self, tail: int | float | None = None) -> LabelSpace:
        """Count and divide the labels of train; those of the other splits get columns too.

        ``tail`` overrides the corpus's own figure.
        """
        return LabelSpace.from_label_sets(
            self.train.label_sets,
            tail=self.tail if tail is None else tail,
            extra_names=self._labels(),
            descriptions=self.label_descriptions,
        )

    def with_test_split(self, fraction: float, seed: int = 0) -> "Corpus":
        """Return the corpus with a share of its training documents set aside as test split.

        Documents are drawn such that no label loses its last training document.
        """
        if self.test is not None:
            raise DataError(
                f"{self.name} has a test split already; set documents aside only where there is none."
            )
        targets = self.label_space().matrix(self.train.label_sets)
        held = held_out_rows(targets, fraction, seed)
        kept = sorted(set(range(len(self.train))) - set(held.tolist()))
        return replace(self, train=self.train.select(kept), test=self.train.select(held))

    def checksum(self) -> str:
        """Return the SHA-256 of all texts and labels, in order, as hexadecimal digits."""
        digest = hashlib.sha256()
        for split, documents in self.splits.items():
            digest.update(f"{split}\n".encode())
            for text, labels in zip(documents.texts, documents.label_sets, strict=True):
                digest.update(json.dumps([text, labels]).encode("ascii") + b"\n")
        return digest.hexdigest()

    def _labels(self) -> Iterator[str]:
        for documents in self.splits.values():
            for labels in documents.label_sets:
                yield from labels


def _check_label_set(labels: object, number: int) -> None:
    if isinstance(labels, str):
        raise DataError(
            f"Label set {number} must be a sequence of strings, got the string {labels!r}; "
            f"write [{labels!r}]."
        )


def _without_missing(column: "pandas.Series[Any]") -> list[Any]:
    """Return the cells of a column with pandas' several missing values as None."""
    missing = column.isna()
    return [None if gone else cell for cell, gone in zip(column, missing, strict=True)]


def _class_names(dataset: object, label_field: str) -> list[str] | None:
    """Return the names behind a ClassLabel, or a list of them, without importing ``datasets``."""
    features = getattr(dataset, "features", None) or {}
    feature = features.get(label_field)
    names: list[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return names


def _with_names(row: Mapping[str, Any], label_field: str, names: list[str]) -> dict[str, Any]:
    """Return the row with class numbers replaced by names; a negative number means no class."""
    value = row[label_field]
    numbers = [] if value is None else [value] if isinstance(value, int) else value
    return {**row, label_field: [names[number] for number in numbers if number >= 0]}
