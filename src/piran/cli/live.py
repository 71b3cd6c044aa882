"""A suite as it runs: a live table on a terminal, a line a cell elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.table import Table

from piran.experiments.cells import Cell
from piran.experiments.watch import Row, RowName, SuiteWatch

REFRESHES_A_SECOND = 2
LINES_AROUND_ROWS = 5
"""Title, heading, its rule, what is not shown, and where the cursor stands."""
MAX_MESSAGE = 200
"""Letters of a message that are shown when a cell ends."""


class _LiveTable:
    """Renders the watch anew whenever the terminal asks, no higher than the terminal."""

    def __init__(self, watch: SuiteWatch) -> None:
        self._watch = watch

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names = shown_rows(self._watch, console.height - LINES_AROUND_ROWS)
        table = Table(
            title=summary_line(self._watch),
            title_justify="left",
            box=SIMPLE_HEAD,
            show_edge=False,
            padding=(0, 1, 0, 0),
            expand=True,
        )
        table.add_column("dataset")
        table.add_column("cell or sweep")
        table.add_column("done", justify="right")
        table.add_column("failed", justify="right")
        table.add_column("a cell", justify="right")
        table.add_column("now", ratio=1, no_wrap=True)
        last = ""
        for dataset, name in names:
            row = self._watch.rows[dataset, name]
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
        yield table
        n_hidden = len(self._watch.rows) - len(names)
        if n_hidden:
            yield f"and {n_hidden} more, for which the terminal is too low"


def shown_rows(watch: SuiteWatch, n_lines: int) -> list[RowName]:
    """Return the rows that so many lines have room for: those that run, those to come, those done."""
    if not watch.n_running and not watch.count("waiting"):  # the last picture stays, and may scroll
        return list(watch.rows)
    names = sorted(
        watch.rows, key=lambda name: (not watch.rows[name].running, not watch.rows[name].n_waiting)
    )
    shown: set[RowName] = set()
    for name in names:
        n_lines -= max(len(watch.rows[name].running), 1)
        if n_lines >= 0:
            shown.add(name)
    return [name for name in watch.rows if name in shown]


class _Lines:
    """Passes everything on to the watch and prints a line when a cell ends, or when it fails."""

    def __init__(self, watch: SuiteWatch, console: Console, *, only_failures: bool) -> None:
        self._watch = watch
        self._console = console
        self._only_failures = only_failures

    def started(self, cell: Cell) -> None:
        self._watch.started(cell)

    def progressed(self, cell: Cell, step: str, share: float | None) -> None:
        self._watch.progressed(cell, step, share)

    def ended(self, cell: Cell, *, has_failed: bool, message: str) -> None:
        self._watch.ended(cell, has_failed=has_failed, message=message)
        if self._only_failures and not has_failed:
            return
        what = "FAILED" if has_failed else "done"
        about = f" ({shortened(message)})" if message else ""
        line = f"{what}: {cell.title}{about}; {summary_line(self._watch)}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def suite_shown(watch: SuiteWatch) -> Iterator[_Lines]:
    """Give an observer for a suite; what it hears is shown on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(watch, console, only_failures=False)
        return
    with Live(_LiveTable(watch), console=console, refresh_per_second=REFRESHES_A_SECOND):
        yield _Lines(watch, console, only_failures=True)


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
