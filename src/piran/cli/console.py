"""What the command line shows while it works: progress bars on a terminal, nothing elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from piran.progress import watched_by


class _Bars:
    """A watcher that draws one bar a task."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def start(self, description: str, total: int | None) -> int:
        return int(self._progress.add_task(description, total=total))

    def advance(self, task: int, steps: int) -> None:
        self._progress.advance(TaskID(task), steps)

    def describe(self, task: int, description: str) -> None:
        self._progress.update(TaskID(task), description=description)

    def finish(self, task: int) -> None:
        self._progress.remove_task(TaskID(task))


@contextmanager
def progress_shown() -> Iterator[None]:
    """Show the progress of everything inside the block on standard error, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with (
        Progress(*columns, console=console, transient=True) as progress,
        watched_by(_Bars(progress)),
    ):
        yield


def say(message: str) -> None:
    """Tell the user something that is no result, on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, markup=False)
