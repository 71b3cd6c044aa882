"""EURLEX57K: European Union laws and EuroVoc concepts, with few- and zero-shot labels."""

import json
from collections.abc import Mapping
from pathlib import Path

from piran.data.corpus import Corpus, Documents
from piran.data.datasets.base import DATASETS, DatasetCard
from piran.data.datasets.loading import read_label_names
from piran.data.files import read_text
from piran.errors import DataError

FOLDERS = {"train": "train", "validation": "dev", "test": "test"}
SECTIONS = ("recitals", "main_body", "attachments")
LABEL_FILE = "EURLEX57K.json"


def read_eurlex57k(folder: Path) -> Corpus:
    """Read the release: folders train, dev and test with a JSON file for each document."""
    splits = {
        split: _read_split(folder / name)
        for split, name in FOLDERS.items()
        if (folder / name).is_dir()
    }
    corpus = Corpus.from_splits("eurlex57k", splits)
    labels = folder / LABEL_FILE
    if labels.is_file():
        corpus.label_descriptions.update(read_label_names(labels, "label"))
    return corpus


def _read_split(folder: Path) -> Documents:
    texts: list[str] = []
    label_sets: list[tuple[str, ...]] = []
    for path in sorted(folder.glob("*.json")):
        document = _read_document(path)
        texts.append(_text(document))
        label_sets.append(tuple(str(concept) for concept in document["concepts"]))
    return Documents(texts, label_sets)


def _read_document(path: Path) -> Mapping[str, list[str] | str]:
    try:
        document = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}: expected a JSON object, got something that is not JSON ({error}); get the "
            "file again."
        ) from error
    if not isinstance(document, dict) or not isinstance(document.get("concepts"), list):
        raise DataError(
            f"{path}: expected an object with header, recitals, main_body and the list concepts, "
            "got another; take only the release's own files."
        )
    return document


def _text(document: Mapping[str, list[str] | str]) -> str:
    """Join the sections as the release's own loader does; a section is a string or a list."""
    header = document.get("header") or document.get("title") or ""
    sections = [header, *(document.get(name) or "" for name in SECTIONS)]
    parts = [part for text in sections for part in ([text] if isinstance(text, str) else text)]
    return "\n".join(part.strip() for part in parts if part.strip())


CARD = DATASETS.register("eurlex57k")(
    DatasetCard(
        name="eurlex57k",
        title="EURLEX57K",
        description=(
            "57,000 European Union laws and 4,271 EuroVoc concepts; the tail are the concepts with "
            "1 to 50 training documents, and some have none."
        ),
        source="http://nlp.cs.aueb.gr/software_and_datasets/EURLEX57K",
        licence="CC BY-SA 4.0",
        citation=(
            "Chalkidis et al., Large-Scale Multi-Label Text Classification on EU Legislation, "
            "ACL 2019"
        ),
        tail=3369,
        layout=("train/*.json",),
        reader=read_eurlex57k,
        label_groups={"frequent": (51, None), "few": (1, 50), "zero": (0, 0)},
    )
)
