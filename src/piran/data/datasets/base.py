"""What a dataset's card says, and the registry of cards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from piran.data.corpus import Corpus, CountRange
from piran.registry import Registry


@dataclass(frozen=True)
class DatasetCard:
    """A dataset: what it is, whose it is, how its labels are divided and how its files are read."""

    name: str
    title: str
    description: str
    source: str
    """Where to get the data, as an address or a reference."""
    licence: str
    citation: str
    tail: int | float
    """Tail labels, as a number of labels or a fraction."""
    layout: tuple[str, ...] = ()
    """Glob patterns of files that a folder in the published format must hold."""
    reader: Callable[[Path], Corpus] | None = None
    """Reads a folder in the published format; None: only files of documents (train.jsonl.xz …)."""
    subset_fields: Mapping[str, str] = field(default_factory=dict)
    """Test documents to report on apart: the subset's name, and the field that marks its rows."""
    label_groups: Mapping[str, CountRange] = field(default_factory=dict)
    """Labels to report on apart: the group's name, least and most training documents."""
    label_descriptions: Mapping[str, str] = field(default_factory=dict)
    """What the labels mean, where the files do not say it themselves."""
    embedded_folder: Path | None = None
    """Folder inside the package, for a dataset that comes with it."""

    @property
    def is_embedded(self) -> bool:
        """Whether the data come with the package."""
        return self.embedded_folder is not None

    def matches(self, folder: Path) -> bool:
        """Return whether a folder holds the files of the published format."""
        return bool(self.layout) and all(any(folder.glob(pattern)) for pattern in self.layout)


DATASETS: Registry[DatasetCard] = Registry("dataset", "piran.data.datasets")
