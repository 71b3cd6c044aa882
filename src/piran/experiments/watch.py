"""What a suite is doing at a moment, in numbers: how far each row is and how long the rest will take."""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from piran.experiments.cells import Cell
from piran.experiments.suite import Standing

RowName = tuple[str, str]
"""Dataset, and cell or sweep."""


@dataclass
class Running:
    """A cell that is being run."""

    cell: Cell
    since: float
    step: str = ""
    share: float | None = None


@dataclass
class Row:
    """One cell or sweep on one dataset, over all its seeds and points."""

    n_cells: int = 0
    n_finished: int = 0
    n_failed: int = 0
    n_waiting: int = 0
    running: list[Running] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Of the cells that were finished while watched."""


class SuiteWatch:
    """An observer that keeps count. ``n_at_once`` cells are run at a time."""

    def __init__(
        self, standing: Standing, n_at_once: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rows: dict[RowName, Row] = defaultdict(Row)
        self.n_at_once = n_at_once
        self._clock = clock
        for cell, state in standing.states.items():
            row = self.rows[row_name(cell)]
            row.n_cells += 1
            row.n_waiting += state == "waiting"
            row.n_finished += state == "finished"
            row.n_failed += state == "failed"

    def started(self, cell: Cell) -> None:
        """Count a cell as running; one that failed before is given another chance."""
        row = self.rows[row_name(cell)]
        if row.n_waiting:
            row.n_waiting -= 1
        else:
            row.n_failed -= 1
        row.running.append(Running(cell, self._clock()))

    def progressed(self, cell: Cell, step: str, share: float | None) -> None:
        """Remember what a cell is doing; with its first word a new process has loaded its libraries."""
        for running in self.rows[row_name(cell)].running:
            if running.cell is cell:
                if not running.step:
                    running.since = self._clock()
                running.step, running.share = step, share

    def ended(self, cell: Cell, *, has_failed: bool, message: str) -> None:
        """Count a cell as done."""
        row = self.rows[row_name(cell)]
        running = next(running for running in row.running if running.cell is cell)
        row.running.remove(running)
        if has_failed:
            row.n_failed += 1
            return
        row.n_finished += 1
        row.seconds.append(self._clock() - running.since)

    def count(self, what: Literal["cells", "finished", "failed", "waiting"]) -> int:
        """Return a count over all rows."""
        return sum(getattr(row, f"n_{what}") for row in self.rows.values())

    @property
    def n_running(self) -> int:
        """Cells that are being run."""
        return sum(len(row.running) for row in self.rows.values())

    def seconds_left(self) -> float | None:
        """Estimate the time to the end from the cells finished so far; None as long as there are none.

        A row of which no cell is finished is taken to be as slow as the mean of all cells.
        """
        every = [seconds for row in self.rows.values() for seconds in row.seconds]
        if not every:
            return None
        total = 0.0
        for row in self.rows.values():
            seconds = _mean(row.seconds or every)
            total += row.n_waiting * seconds
            for running in row.running:
                total += max(seconds - (self._clock() - running.since), 0.0)
        return total / self.n_at_once


def row_name(cell: Cell) -> RowName:
    """Return the row that a cell belongs to."""
    return cell.dataset, cell.sweep or cell.name


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
