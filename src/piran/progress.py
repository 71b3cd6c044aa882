"""Progress of long work, without any part of the library knowing who watches.

A library function wraps its loop in :func:`track` (or opens a :func:`task`). By default nobody watches
and nothing is printed; the command line installs a watcher with :func:`watched_by`.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Advance = Callable[[int], None]


class Watcher(Protocol):
    """Whoever shows progress: told when a task starts, advances and ends."""

    def start(self, description: str, total: int | None) -> int:
        """Begin a task of ``total`` steps (None: unknown) and return its number."""

    def advance(self, task: int, steps: int) -> None:
        """Count ``steps`` more steps of a task as done."""

    def describe(self, task: int, description: str) -> None:
        """Say anew what a task is at, in place of the description it began with."""

    def finish(self, task: int) -> None:
        """End a task, complete or not."""


class Task:
    """Work under way: called with a number of steps, it counts them as done."""

    def __init__(self, watcher: Watcher | None = None, number: int = 0) -> None:
        self._watcher = watcher
        self._number = number

    def __call__(self, steps: int) -> None:
        """Count steps as done."""
        if self._watcher is not None:
            self._watcher.advance(self._number, steps)

    def describe(self, description: str) -> None:
        """Say what the work is at now."""
        if self._watcher is not None:
            self._watcher.describe(self._number, description)


_watcher: ContextVar[Watcher | None] = ContextVar("piran_progress_watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Send the progress of everything inside the block to ``watcher``."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def task(description: str, total: int | None = None) -> Iterator[Task]:
    """Open a task, which is advanced by calling it with a number of steps."""
    watcher = _watcher.get()
    if watcher is None:
        yield Task()
        return
    number = watcher.start(description, total)
    try:
        yield Task(watcher, number)
    finally:
        watcher.finish(number)


def track(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items and advance by one after each."""
    with task(description, total) as advance:
        for item in items:
            yield item
            advance(1)
