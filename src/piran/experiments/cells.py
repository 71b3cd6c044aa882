"""One cell of a suite: a method with settings and a seed on a dataset, and what became of it.

A cell leaves one file in its folder: ``record.json`` if it was run, ``error.json`` if it failed.
"""

import json
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from piran.data.corpus import Corpus
from piran.data.datasets import load_corpus
from piran.encoders.cache import stage1_cache
from piran.errors import DataError, PiranError
from piran.experiments.records import RECORD_NAME, RunRecord, package_versions
from piran.experiments.run import measure
from piran.experiments.settings import build_method, completed_settings
from piran.storage import write_text_atomically

ERROR_NAME = "error.json"
FROM_CACHE = "from_cache"
"""Key in the times of a record: seconds that cached parts of stage 1 took when they were made."""

State = Literal["waiting", "finished", "failed"]


@dataclass(frozen=True)
class DataSource:
    """Where a dataset is read from."""

    name_or_path: str
    text_field: str = "text"
    label_field: str = "labels"
    label_separator: str | None = None
    hold_out: float | None = None
    """Share of the training documents to test on, the same for all seeds; None: the test split."""

    def load(self) -> Corpus:
        """Read the corpus."""
        corpus = load_corpus(
            self.name_or_path,
            text_field=self.text_field,
            label_field=self.label_field,
            label_separator=self.label_separator,
        )
        return corpus if self.hold_out is None else corpus.with_test_split(self.hold_out)


@dataclass(frozen=True, eq=False)
class Cell:
    """What to run."""

    dataset: str
    """The dataset's name."""
    source: DataSource
    checksum: str
    """Of the dataset's texts and labels when the suite was planned."""
    name: str
    method: str
    settings: Mapping[str, Any]
    """Resolved: every setting of the method, the seed among them."""
    seed: int
    sweep: str | None = None
    """The sweep that it is a point of."""
    point: Mapping[str, Any] = field(default_factory=dict)
    """Values of the varied settings, for a point of a sweep."""

    @property
    def folder(self) -> Path:
        """Where its files are, in the suite's folder."""
        return Path(self.dataset) / self.name / f"seed-{self.seed}"

    @property
    def title(self) -> str:
        """Name, dataset and seed, for messages."""
        return f"{self.name} on {self.dataset}, seed {self.seed}"


class CellFailure(BaseModel):
    """What went wrong in a cell, as ``error.json`` keeps it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    created: str
    """UTC, ISO 8601."""
    method: str
    settings: dict[str, Any]
    seed: int
    dataset: str
    checksum: str
    error: str
    """Class of the error."""
    message: str
    traceback: list[str] = []
    """Lines of the traceback; none where the process itself came to an end."""
    seconds: float
    versions: dict[str, str]

    @classmethod
    def of(cls, cell: Cell, error: BaseException, seconds: float) -> "CellFailure":
        """Describe an error in a cell."""
        lines = traceback.format_exception(error)
        return cls(
            name=cell.name,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            method=cell.method,
            settings=dict(cell.settings),
            seed=cell.seed,
            dataset=cell.dataset,
            checksum=cell.checksum,
            error=type(error).__name__,
            message=str(error),
            traceback="".join(lines).splitlines() if error.__traceback__ else [],
            seconds=round(seconds, 3),
            versions=package_versions(),
        )


class ProcessDiedError(PiranError):
    """The process that ran a cell came to an end before the cell did."""


@dataclass(frozen=True)
class Outcome:
    """What running a cell gave: a record or a failure."""

    result: RunRecord | CellFailure

    @property
    def has_failed(self) -> bool:
        """Whether the cell failed."""
        return isinstance(self.result, CellFailure)

    @property
    def message(self) -> str:
        """What to tell about it in a line: why it failed, or why training stopped."""
        if isinstance(self.result, CellFailure):
            return f"{self.result.error}: {self.result.message}"
        return self.result.stop_reason or ""

    def write(self, folder: Path) -> None:
        """Write the one file into the cell's folder and take away the other."""
        if isinstance(self.result, CellFailure):
            text = self.result.model_dump_json(indent=1)
            write_text_atomically(folder / ERROR_NAME, text + "\n")
            (folder / RECORD_NAME).unlink(missing_ok=True)
        else:
            self.result.write(folder)
            (folder / ERROR_NAME).unlink(missing_ok=True)


def perform(cell: Cell, load: Callable[[], Corpus], cache: Path) -> Outcome:
    """Run a cell on what ``load`` gives; an error is an outcome too, as the other cells go on."""
    start = time.perf_counter()
    try:
        return Outcome(run_cell(cell, load(), cache))
    except Exception as error:
        return Outcome(CellFailure.of(cell, error, time.perf_counter() - start))


def run_cell(cell: Cell, corpus: Corpus, cache: Path) -> RunRecord:
    """Run a cell with the stage 1 that ``cache`` keeps, and return the record."""
    if corpus.checksum() != cell.checksum:
        raise DataError(
            f"The data of {cell.dataset} changed after the suite was planned; start it again."
        )
    method = build_method(cell.method, dict(cell.settings))
    with stage1_cache(cache) as savings:
        record = measure(corpus, method, name=cell.name)
    if not savings.n_found:
        return record
    times = {**record.times, FROM_CACHE: round(savings.seconds, 3)}
    return record.model_copy(update={"times": times})


def cell_state(cell: Cell, suite_folder: Path) -> State:
    """Return what has become of a cell; what was run with other settings or data does not count."""
    folder = suite_folder / cell.folder
    record = finished_record(folder)
    if record is not None and _is_of(cell, record, record.dataset.checksum):
        return "finished"
    failure = failure_in(folder)
    if failure is not None and _is_of(cell, failure, failure.checksum):
        return "failed"
    return "waiting"


def finished_record(folder: Path) -> RunRecord | None:
    """Return the record in a cell's folder; None if there is none, or none that can be read."""
    try:
        return RunRecord.read(folder / RECORD_NAME)
    except DataError:
        return None


def failure_in(folder: Path) -> CellFailure | None:
    """Return the failure in a cell's folder; None if there is none, or none that can be read."""
    try:
        return CellFailure.model_validate_json((folder / ERROR_NAME).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


def _is_of(cell: Cell, result: RunRecord | CellFailure, checksum: str) -> bool:
    wanted = (cell.method, cell.seed, cell.checksum)
    if wanted != (result.method, result.seed, checksum):
        return False
    # A cell's settings are all there are; those of an older record may lack some
    return as_json(cell.settings) == as_json(completed_settings(result.method, result.settings))


def as_json(settings: Mapping[str, Any]) -> str:
    """Return settings in the one form in which they can be compared."""
    return json.dumps(settings, sort_keys=True)
