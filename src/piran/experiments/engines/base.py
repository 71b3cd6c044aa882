"""The contract of engines: tasks in, a file in each cell's folder out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from piran.data.corpus import Corpus
from piran.errors import SettingError
from piran.experiments.cells import Cell, DataSource, Outcome, perform
from piran.experiments.memory import forget_peak


@dataclass(frozen=True, eq=False)
class Task:
    """A cell to run and where its file and its stage 1 go."""

    cell: Cell
    folder: Path
    cache: Path


class Observer(Protocol):
    """Whoever watches a suite."""

    def started(self, cell: Cell) -> None:
        """Hear that a cell has begun."""

    def progressed(self, cell: Cell, step: str, share: float | None) -> None:
        """Hear what a cell is doing."""

    def ended(self, cell: Cell, *, has_failed: bool, message: str) -> None:
        """Hear that a cell is done, with why it failed or why training stopped."""


class Unobserved:
    """An observer that looks away."""

    def started(self, cell: Cell) -> None:
        """Do nothing."""

    def progressed(self, cell: Cell, step: str, share: float | None) -> None:
        """Do nothing."""

    def ended(self, cell: Cell, *, has_failed: bool, message: str) -> None:
        """Do nothing."""


class Engine(Protocol):
    """Whoever runs tasks."""

    def run(self, tasks: Sequence[Task], observer: Observer) -> None:
        """Run all tasks, each leaving its file; a task that fails does not stop the others."""

    def n_at_once(self) -> int:
        """Return how many tasks run at a time."""


def check_counts(**counts: int | None) -> None:
    """Refuse counts of processes or threads below 1; None stands for a default."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise SettingError(f"{name} must be at least 1, got {count}.")


def run_task(task: Task) -> Outcome:
    """Run one task in this process and return its outcome, not yet written."""
    forget_peak()
    return perform(task.cell, lambda: _corpus(task.cell.source, task.cell.checksum), task.cache)


@lru_cache(maxsize=1)
def _corpus(source: DataSource, checksum: str) -> Corpus:
    """Read a corpus, or return the one read last; its checksum tells whether it is still the same."""
    return source.load()
