"""AAPD: abstracts of computer science papers on arXiv and their subjects."""

from pathlib import Path

from piran.data.corpus import Corpus
from piran.data.datasets.base import DATASETS, DatasetCard
from piran.data.datasets.line_files import read_splits

FILES = {
    "train": ("text_train", "label_train"),
    "validation": ("text_val", "label_val"),
    "test": ("text_test", "label_test"),
}


def read_aapd(folder: Path) -> Corpus:
    """Read SGM's release: text_train and label_train, and the same for val and test."""
    return Corpus.from_splits("aapd", read_splits(folder, FILES))


CARD = DATASETS.register("aapd")(
    DatasetCard(
        name="aapd",
        title="arXiv Academic Paper Dataset",
        description="Abstracts of 55,840 computer science papers and their 54 arXiv subjects.",
        source="https://github.com/lancopku/SGM",
        licence="not stated by the release; abstracts are their authors'",
        citation=(
            "Yang et al., SGM: Sequence Generation Model for Multi-Label Classification, "
            "COLING 2018"
        ),
        tail=24,
        layout=("text_train", "label_train"),
        reader=read_aapd,
        subset_fields={"with raw text": "raw_text"},
    )
)
