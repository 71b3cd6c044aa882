"""The run record: everything that one run was and gave, as one JSON file.

Tables, figures and pages are views of records; none of them trains anything.
"""

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from piran.errors import DataError
from piran.storage import write_text_atomically

RECORD_FORMAT = 1
RECORD_NAME = "record.json"
REPORTED_PACKAGES = ("piran", "torch", "numpy", "scipy", "scikit-learn", "tokenizers")

Group = Literal["head", "tail", "unseen"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DatasetSummary(_Part):
    """What was read: enough to tell whether two runs saw the same data."""

    name: str
    checksum: str
    """SHA-256 over texts and labels of all splits, in order."""
    n_train: int
    n_validation: int
    n_test: int
    n_labels: int
    n_head_labels: int
    n_tail_labels: int
    n_unseen_labels: int


class LabelTable(_Part):
    """One row per label, as parallel lists in column order."""

    names: list[str]
    train_counts: list[int]
    test_counts: list[int]
    groups: list[Group]


class SystemScores(_Part):
    """What one system (the method, or one of its reference points) scored on the test split."""

    metrics: dict[str, float]
    """Flat, in percent: P@1 … nDCG@5, PSP@1 …, micro_f1 …, tail_f1_at_0.5 …, ECE …"""
    label_f1: list[float]
    """F1 of each label in percent, with the saved thresholds."""
    label_f1_at_half: list[float]
    """F1 of each label in percent, at 0.5."""
    subsets: dict[str, dict[str, float]] = {}
    """The metrics on parts of the test documents that the dataset's card names."""
    groups: dict[str, dict[str, float]] = {}
    """Metrics over groups of labels by frequency that the dataset's card names."""


class TailPicture(_Part):
    """One tail label's instances in two principal components, for the report's picture."""

    label: str
    prototype: tuple[float, float]
    real: list[tuple[float, float]]
    """Training documents of the label."""
    generated: list[tuple[float, float]]
    background: list[tuple[float, float]]
    """A sample of the other training documents."""
    held_out: list[tuple[float, float]] = []
    """Test documents of the label, where there are any: what the generations should cover."""


class RunRecord(_Part):
    """One run."""

    format: int = RECORD_FORMAT
    name: str
    created: str
    """UTC, ISO 8601."""
    method: str
    settings: dict[str, Any]
    """Resolved: every constructor argument, defaults included."""
    seed: int
    dataset: DatasetSummary
    versions: dict[str, str]
    times: dict[str, float]
    """Wall seconds of each step; keys ending in ``_cpu`` are CPU seconds."""
    peak_memory_mb: float
    history: list[dict[str, float]] = []
    """One entry per epoch of a trained network, empty elsewhere."""
    epochs_run: int | None = None
    stop_reason: str | None = None
    """Why training stopped; ``not converged`` if the best epoch was the last allowed one, and no
    schedule ended there."""
    labels: LabelTable
    thresholds: dict[str, Any]
    """The saved threshold policy and a summary of its values."""
    views: dict[str, dict[str, float]] = {}
    """What each view counts for head, tail and unseen labels, its margins as long as they are (those of
    rows are long, so that they count much with a small weight), and how many labels are companions."""
    systems: dict[str, SystemScores]
    """The method under its own name, then its reference points (``no-aug``, …)."""
    picture: TailPicture | None = None

    @property
    def scores(self) -> dict[str, float]:
        """The metrics of the method itself."""
        return self.systems[self.method].metrics

    def write(self, folder: Path) -> Path:
        """Write ``record.json`` into ``folder`` and return its path."""
        path = folder / RECORD_NAME
        write_text_atomically(path, self.to_json())
        return path

    def to_json(self) -> str:
        """Return the record as JSON, one line a field: short enough to keep, still fit for diffs."""
        fields = self.model_dump(mode="json")
        for scores in fields[
            "systems"
        ].values():  # most tail labels have an F1 of 0: write 0, not 0.0
            for key in ("label_f1", "label_f1_at_half"):
                scores[key] = [int(f1) if f1 == int(f1) else f1 for f1 in scores[key]]
        lines = [f"{json.dumps(name)}: {_compact(value)}" for name, value in fields.items()]
        return "{" + ",\n ".join(lines) + "}\n"

    @classmethod
    def read(cls, path: Path) -> "RunRecord":
        """Read a record from its file or from the folder that holds it."""
        file = path / RECORD_NAME if path.is_dir() else path
        try:
            return cls.model_validate(json.loads(file.read_text(encoding="utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            raise DataError(
                f"No run record at {file}; give a run's folder or its {RECORD_NAME}."
            ) from None
        except ValueError as error:
            reason = _first_of(error) if isinstance(error, ValidationError) else error
            raise DataError(
                f"{file} is not a run record of format {RECORD_FORMAT}: {reason}."
            ) from error


def _first_of(error: ValidationError) -> str:
    """Return the first of the errors and its place: labels.names: Field required."""
    first = error.errors()[0]
    return ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that can change a result."""
    versions = {"python": platform.python_version()}
    for package in REPORTED_PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
