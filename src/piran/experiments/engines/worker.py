"""The other side of the local engine: a process that runs one task after another."""

import os
import signal
import threading
import time
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection

from piran.experiments.engines.base import run_task
from piran.process import keep_freed_memory
from piran.progress import watched_by
from piran.training.runtime import set_threads

SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(frozen=True)
class Step:
    """What the task is doing now."""

    description: str
    share: float | None


@dataclass(frozen=True)
class Ended:
    """The task is done and its file written."""

    has_failed: bool
    message: str


Message = Step | Ended


def work(connection: Connection, n_threads: int | None) -> None:
    """Run the tasks that come through the connection until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with_parent, daemon=True).start()
    set_threads(n_threads)
    keep_freed_memory()
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(Step("Starting", None))
        with watched_by(_Reporter(connection)):
            outcome = run_task(task)
        outcome.write(task.folder)
        connection.send(Ended(outcome.has_failed, outcome.message))


def _end_with_parent() -> None:
    """End this process when the suite's does, so that no cell is run by two suites at a time."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _Reporter:
    """A watcher that tells the suite's process, at most twice a second."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tasks: list[tuple[str, int | None, int]] = []  # description, total, done
        self._last = 0.0

    def start(self, description: str, total: int | None) -> int:
        self._tasks.append((description, total, 0))
        self._tell(len(self._tasks) - 1)
        return len(self._tasks) - 1

    def advance(self, task: int, steps: int) -> None:
        description, total, done = self._tasks[task]
        self._tasks[task] = (description, total, done + steps)
        self._tell(task)

    def describe(self, task: int, description: str) -> None:
        self._tasks[task] = (description, *self._tasks[task][1:])
        self._tell(task)

    def finish(self, task: int) -> None:
        """Say nothing; the next step will speak for itself."""

    def _tell(self, task: int) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_REPORTS:
            return
        self._last = now
        description, total, done = self._tasks[task]
        self._connection.send(Step(description, done / total if total else None))
