"""Cells in processes on this machine, several at a time."""

import multiprocessing
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from piran.experiments.cells import CellFailure, Outcome, ProcessDiedError
from piran.experiments.engines.base import Observer, Task, check_counts
from piran.experiments.engines.worker import Ended, Message, work
from piran.training.runtime import prepare_environment

SECONDS_TO_END = 5.0


class LocalEngine:
    """Runs tasks in ``jobs`` processes, which outlive their tasks, so that libraries load once.

    ``threads`` is for each process; by default one if there are several processes, else as torch
    likes. A process that dies takes no more than its own cell along.
    """

    def __init__(self, jobs: int = 1, threads: int | None = None) -> None:
        check_counts(jobs=jobs, threads=threads)
        self.jobs = jobs
        self.threads = 1 if threads is None and jobs > 1 else threads

    def run(self, tasks: Sequence[Task], observer: Observer) -> None:
        """Run all tasks; those that share a stage 1 are kept from waiting for each other."""
        waiting = list(tasks)
        with self._workers(min(self.jobs, len(waiting))) as workers:
            while waiting or any(worker.task for worker in workers):
                for worker in workers:
                    if worker.task is None and waiting:
                        task = _next_task(waiting, worker, workers)
                        waiting.remove(task)
                        worker.give(task)
                        observer.started(task.cell)
                busy = {worker.connection: worker for worker in workers if worker.task}
                for connection in wait(list(busy)):
                    self._listen(busy[connection], observer)  # type: ignore[index]

    def n_at_once(self) -> int:
        """Return the number of processes."""
        return self.jobs

    def _listen(self, worker: "_Worker", observer: Observer) -> None:
        """Pass on one message of a worker; if it has died, write down why and start another."""
        task = worker.task
        assert task is not None  # only workers with a task are listened to
        message = worker.receive()
        if message is None:
            error = ProcessDiedError(_cause_of_death(worker.exit_code()))
            outcome = Outcome(CellFailure.of(task.cell, error, time.monotonic() - worker.since))
            outcome.write(task.folder)
            message = Ended(True, outcome.message)
            worker.end()
            worker.start(self.threads)
        if isinstance(message, Ended):
            worker.task = None
            observer.ended(task.cell, has_failed=message.has_failed, message=message.message)
        else:
            observer.progressed(task.cell, message.description, message.share)

    @contextmanager
    def _workers(self, n_workers: int) -> Iterator[list["_Worker"]]:
        prepare_environment()
        workers = [_Worker() for _ in range(n_workers)]
        try:
            for worker in workers:
                worker.start(self.threads)
            yield workers
        finally:
            for worker in workers:
                worker.end()


class _Worker:
    """A process and the task it is at."""

    connection: Connection
    _process: BaseProcess

    def __init__(self) -> None:
        self.task: Task | None = None
        self.dataset: str | None = None
        """Of the last task; its corpus is in the process's memory."""
        self.since = 0.0

    def start(self, n_threads: int | None) -> None:
        # Not fork: torch and OpenMP do not survive it
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, n_threads), daemon=True)
        self._process.start()
        theirs.close()  # so that the death of the process ends our waiting

    def give(self, task: Task) -> None:
        self.task, self.dataset, self.since = task, task.cell.dataset, time.monotonic()
        with suppress(BrokenPipeError):  # it has died; receive() will find out
            self.connection.send(task)

    def receive(self) -> Message | None:
        """Return the next message, None if the process has died."""
        try:
            message: Message = self.connection.recv()
        except (EOFError, ConnectionResetError):
            return None
        return message

    def exit_code(self) -> int | None:
        """Wait for a process that has closed its connection and return its exit code."""
        self._process.join(SECONDS_TO_END)
        return self._process.exitcode

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.connection.close()
        if self.task is not None:
            self._process.terminate()
        self._process.join(SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _next_task(waiting: Sequence[Task], worker: _Worker, workers: Sequence[_Worker]) -> Task:
    """Choose a task: of the dataset at hand, and of a seed at which no other process is training."""
    running = {
        (other.task.cell.dataset, other.task.cell.seed)
        for other in workers
        if other.task is not None
    }

    def rank(task: Task) -> tuple[bool, bool]:
        cell = task.cell
        return cell.dataset != worker.dataset, (cell.dataset, cell.seed) in running

    if worker.dataset is None:
        return min(waiting, key=lambda task: rank(task)[1])
    return min(waiting, key=rank)


def _cause_of_death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name
        reason = " (the system does so when memory runs out)" if name == "SIGKILL" else ""
        return f"The process was ended by {name}{reason}."
    return f"The process ended with exit code {exit_code}."
