"""Cells one after the other in this process: for Python users, and to look at an error where it is."""

from collections.abc import Sequence

from piran.experiments.engines.base import Observer, Task, run_task


class InlineEngine:
    """Runs tasks in the calling process."""

    def run(self, tasks: Sequence[Task], observer: Observer) -> None:
        """Run all tasks in their order."""
        for task in tasks:
            observer.started(task.cell)
            outcome = run_task(task)
            outcome.write(task.folder)
            observer.ended(task.cell, has_failed=outcome.has_failed, message=outcome.message)

    def n_at_once(self) -> int:
        """Return 1."""
        return 1
