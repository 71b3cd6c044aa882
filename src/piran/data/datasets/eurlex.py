"""EUR-Lex: European Union laws and EuroVoc subjects, as extreme classification publishes them."""

from pathlib import Path

from piran.data.corpus import Corpus
from piran.data.datasets.base import DATASETS, DatasetCard
from piran.data.datasets.line_files import read_splits
from piran.data.labels import DEFAULT_TAIL_FRACTION

FILES = {
    "train": ("train_texts.txt", "train_labels.txt"),
    "test": ("test_texts.txt", "test_labels.txt"),
}


def read_eurlex(folder: Path) -> Corpus:
    """Read AttentionXML's release: train_texts.txt, train_labels.txt, and the same for test."""
    return Corpus.from_splits("eurlex", read_splits(folder, FILES))


CARD = DATASETS.register("eurlex")(
    DatasetCard(
        name="eurlex",
        title="EUR-Lex",
        description=(
            "About 19,000 documents of European Union law and some 3,900 EuroVoc subjects, in the "
            "split of the Extreme Classification Repository."
        ),
        source="https://github.com/yourh/AttentionXML (EUR-Lex)",
        licence="EUR-Lex texts: reuse permitted with acknowledgement (Decision 2011/833/EU)",
        citation=(
            "Loza Mencía and Fürnkranz, Efficient Pairwise Multilabel Classification for "
            "Large-Scale Problems in the Legal Domain, ECML PKDD 2008"
        ),
        tail=DEFAULT_TAIL_FRACTION,
        layout=("train_texts.txt", "train_labels.txt"),
        reader=read_eurlex,
    )
)
