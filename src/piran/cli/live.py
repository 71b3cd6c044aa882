"""A suite as it runs: a live table on a terminal, a line a cell elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.live import Live
from rich.table import Table

from piran.experiments.cells import Cell
from piran.experiments.watch import Row, SuiteWatch

REFRESHES_A_SECOND = 2
MAX_MESSAGE = 200
"""Letters of a message that are shown when a cell ends."""


class _LiveTable:
    """Renders the watch anew whenever the terminal asks."""

    def __init__(self, watch: SuiteWatch) -> None:
        self._watch = watch

    def __rich__(self) -> Table:
        watch = self._watch
        table = Table(
            title=summary_line(watch), title_justify="left", caption_justify="left", expand=False
        )
        table.add_column("dataset")
        table.add_column("cell or sweep")
        table.add_column("done", justify="right")
        table.add_column("failed", justify="right")
        table.add_column("a cell", justify="right")
        table.add_column("now", min_width=22)
        last = ""
        for (dataset, name), row in watch.rows.items():
            failed = f"[red]{row.n_failed}[/red]" if row.n_failed else ""
            seconds = sum(row.seconds) / len(row.seconds) if row.seconds else None
            table.add_row(
                dataset if dataset != last else "",
                name,
                f"{row.n_finished}/{row.n_cells}",
                failed,
                "" if seconds is None else duration(seconds),
                _now(row),
            )
            last = dataset
        return table


class _Lines:
    """Passes everything on to the watch and prints a line when a cell ends."""

    def __init__(self, watch: SuiteWatch, console: Console) -> None:
        self._watch = watch
        self._console = console

    def started(self, cell: Cell) -> None:
        self._watch.started(cell)

    def progressed(self, cell: Cell, step: str, share: float | None) -> None:
        self._watch.progressed(cell, step, share)

    def ended(self, cell: Cell, *, has_failed: bool, message: str) -> None:
        self._watch.ended(cell, has_failed=has_failed, message=message)
        what = "FAILED" if has_failed else "done"
        about = f" ({shortened(message)})" if message else ""
        line = f"{what}: {cell.title}{about}; {summary_line(self._watch)}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def suite_shown(watch: SuiteWatch) -> Iterator[SuiteWatch | _Lines]:
    """Give an observer for a suite; what it hears is shown on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(watch, console)
        return
    with Live(_LiveTable(watch), console=console, refresh_per_second=REFRESHES_A_SECOND):
        yield watch


def summary_line(watch: SuiteWatch) -> str:
    """Say how far a suite is and how long the rest will take."""
    done, failed = watch.count("finished"), watch.count("failed")
    line = f"{done} of {watch.count('cells')} cells done"
    if failed:
        line += f", {failed} failed"
    left = watch.seconds_left()
    if watch.count("waiting") or watch.n_running:
        line += f", about {duration(left)} left" if left is not None else ""
    return line


def shortened(message: str) -> str:
    """Return a message as one line, and no longer than a few of them; error.json has all of it."""
    line = " ".join(message.split())
    return line if len(line) <= MAX_MESSAGE else f"{line[:MAX_MESSAGE].rstrip()} …"


def duration(seconds: float) -> str:
    """Return a time as a person says it: 0.4 s, 12 s, 3:05, 1:02:30."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    text = str(timedelta(seconds=round(seconds)))
    return text.removeprefix("0:").lstrip("0")


def _now(row: Row) -> str:
    """Say what the cells of a row are at."""
    parts = []
    for running in row.running:
        share = "" if running.share is None else f" {running.share:.0%}"
        step = f": {running.step}{share}" if running.step else ""
        point = ",".join(str(value) for value in running.cell.point.values())
        at = f" at {point}" if point else ""
        parts.append(f"seed {running.cell.seed}{at}{step}")
    return "\n".join(parts)
