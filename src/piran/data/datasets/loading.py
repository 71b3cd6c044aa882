"""A corpus by its dataset's name or by a path, whatever the files' format."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from piran.data.corpus import VALIDATION_NAMES, Corpus
from piran.data.datasets.base import DATASETS, DatasetCard
from piran.data.files import FORMATS, FileFormat, read_lines, read_text
from piran.data.readers import read_documents, rows_with_field, write_documents
from piran.data.rows import FieldOptions
from piran.errors import DataError, PiranError, UnknownNameError
from piran.registry import suggestion
from piran.storage import write_text_atomically

DESCRIPTION_FILE = "label_descriptions.tsv"
SPLIT_FILES = {"train": ("train",), "validation": VALIDATION_NAMES, "test": ("test",)}
"""File names without extension in which each split is looked for."""


def load_corpus(
    name_or_path: str | Path, *, folder: str | Path | None = None, **fields: Unpack[FieldOptions]
) -> Corpus:
    """Load a dataset by name, a folder with train, test and validation files, or one file as train.

    ``folder`` says where the files of a named dataset are. A folder called like a dataset, or one
    that holds files of its published format, is read and divided as that dataset's card says.
    ``fields`` are ``text_field``, ``label_field`` and ``label_separator``, for files of documents.
    """
    name = str(name_or_path)
    if folder is not None:
        return _from_folder(Path(folder), DATASETS[name], name, fields)
    embedded = DATASETS[name].embedded_folder if name in DATASETS else None
    if embedded is not None:
        return _from_folder(embedded, DATASETS[name], name, {})
    path = Path(name_or_path)
    if path.is_dir():
        resolved = path.resolve()  # so that "." has a name too
        return _from_folder(path, _card_of(resolved), resolved.name, fields)
    if path.is_file():
        return Corpus(FileFormat.of(path).stem, read_documents(path, **fields))
    raise _not_found(name)


def write_corpus(corpus: Corpus, folder: str | Path, format_name: str) -> dict[str, Path]:
    """Write each split into a file that :func:`load_corpus` finds; return the files by split.

    ``format_name`` is an extension such as "csv" or "jsonl.xz". Label descriptions go along.
    """
    files = {split: Path(folder) / f"{split}.{format_name}" for split in corpus.splits}
    for split, path in files.items():
        write_documents(corpus.splits[split], path)
    if corpus.label_descriptions:
        pairs = corpus.label_descriptions.items()
        lines = [f"{label}\t{' '.join(description.split())}\n" for label, description in pairs]
        write_text_atomically(Path(folder) / DESCRIPTION_FILE, "".join(lines))
    return files


def _card_of(folder: Path) -> DatasetCard | None:
    """Return the card that a folder's name, or else its files, speak for."""
    if folder.name.lower() in DATASETS:
        return DATASETS[folder.name.lower()]
    return next((DATASETS[name] for name in DATASETS if DATASETS[name].matches(folder)), None)


def _from_folder(folder: Path, card: DatasetCard | None, name: str, fields: FieldOptions) -> Corpus:
    """Read a folder: files of documents if there is one for train, else the card's format."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; expected the folder with the files of {name}.")
    tail = card.tail if card else None
    described = dict(card.label_descriptions) if card else {}
    files = {split: _split_file(folder, stems) for split, stems in SPLIT_FILES.items()}
    if files["train"] is not None:
        splits = {
            split: read_documents(path, **fields)
            for split, path in files.items()
            if path is not None
        }
        return replace(
            Corpus.from_splits(name, splits),
            tail=tail,
            label_descriptions=read_label_descriptions(folder) or described,
            test_subsets=_subsets(card, files["test"]),
            label_groups=dict(card.label_groups) if card else {},
        )
    if card and card.reader and card.matches(folder):
        corpus = card.reader(folder)
        return replace(
            corpus,
            name=name,
            tail=tail,
            label_descriptions=corpus.label_descriptions or described,
            label_groups=dict(card.label_groups),
        )
    wanted = f", or the published files of {card.name} ({', '.join(card.layout)})" if card else ""
    raise DataError(
        f"{folder} has no train file; expected train.jsonl (or .{', .'.join(FORMATS[1:])}, each "
        f"also .gz or .xz) and optionally test and dev{wanted}, got {_contents(folder)}."
    )


def _subsets(card: DatasetCard | None, test: Path | None) -> dict[str, list[int]]:
    """Return the subsets of the test documents that the card names and the file marks."""
    if card is None or test is None:
        return {}
    found = {name: rows_with_field(test, key) for name, key in card.subset_fields.items()}
    return {name: rows for name, rows in found.items() if rows}


def _split_file(folder: Path, stems: tuple[str, ...]) -> Path | None:
    """Return the one file of documents that is called by one of these names."""
    found = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file()
        and path.name.partition(".")[0].lower() in stems
        and path.name.lower().partition(".")[2].removesuffix(".gz").removesuffix(".xz") in FORMATS
    ]
    if len(found) > 1:
        raise DataError(
            f"{folder} has several files for one split: {', '.join(path.name for path in found)}; "
            "expected one, so remove or rename the others."
        )
    return found[0] if found else None


def read_label_descriptions(folder: Path) -> dict[str, str]:
    """Return what a folder says about its labels; nothing if it has no file about them.

    label_descriptions.tsv holds lines ``label<TAB>description``, labels.json
    ``{label: {"name": …, "parents": [label, …]}}``, parents being optional.
    """
    table = folder / DESCRIPTION_FILE
    if table.is_file():
        pairs = (line.rstrip("\r\n").partition("\t") for line in read_lines(table))
        return {label: description for label, _, description in pairs if description}
    names = folder / "labels.json"
    return read_label_names(names, "name") if names.is_file() else {}


def read_label_names(path: Path, key: str) -> dict[str, str]:
    """Return label → name from a JSON file ``{label: {key: name, "parents": [label, …], …}}``.

    The names of the parents, where given, stand behind a label's own in brackets: what a label belongs
    to tells of it too.
    """
    try:
        content = json.loads(read_text(path))
        names = {
            label: about[key] for label, about in content.items() if isinstance(about[key], str)
        }
        parents = {label: content[label].get("parents") or [] for label in names}
        known = {label: [names[up] for up in parents[label] if up in names] for label in names}
        return {
            label: f"{name} ({', '.join(known[label])})" if known[label] else name
            for label, name in names.items()
        }
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise DataError(
            f'{path}: expected {{"label": {{"{key}": "its name"}}, …}}, got something else '
            f"({error!r}); correct or remove the file."
        ) from error


def _contents(folder: Path, limit: int = 5) -> str:
    names = sorted(path.name for path in folder.iterdir())
    if not names:
        return "an empty folder"
    return ", ".join(names[:limit]) + (
        f" and {len(names) - limit} more" if len(names) > limit else ""
    )


def _not_found(name: str) -> PiranError:
    if name in DATASETS:
        card = DATASETS[name]
        return DataError(
            f"The data of {name} do not come with piran; get them from {card.source}, put them in "
            f"a folder called {name} ({', '.join(card.layout)}, or train.jsonl and test.jsonl) "
            "and give its path."
        )
    is_path = "/" in name or "\\" in name or "." in name
    if is_path:
        return DataError(
            f"{name} does not exist; expected a file, a folder or a dataset's name "
            f"({', '.join(DATASETS)})."
        )
    return UnknownNameError(
        f"Unknown dataset {name!r}, and no file or folder is called so. "
        f"{suggestion(name, list(DATASETS))}"
    )
