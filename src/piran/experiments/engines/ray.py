"""Cells on a Ray cluster: one that is running, or one that is started here for the time of the suite."""

import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

from piran.data.corpus import Corpus
from piran.errors import DataError, MissingExtraError, SettingError
from piran.experiments.cells import CellFailure, Outcome, ProcessDiedError, perform
from piran.experiments.engines.base import Observer, Task, check_counts
from piran.experiments.memory import forget_peak
from piran.training.runtime import set_threads

SECONDS_TO_ANSWER = 10.0
NODE_CACHE = "piran-stage1"
"""Folder for stage 1, among the temporary files of a node that does not see the suite's folder."""


class RayEngine:
    """Runs tasks on all processors of a Ray cluster.

    Records come back to this process and are written here, and the corpus is sent along, so that the
    cluster's machines need piran but no shared folder. A suite that is stopped loses only the cells
    that were running.

    Parameters
    ----------
    address
        ``host:port`` or ``auto`` for a cluster that was started with ``ray start --head``; None starts
        one on this machine and ends it after the suite.
    jobs
        Most cells at a time; None for as many as there are processors.
    threads
        Processors of one cell.

    """

    def __init__(
        self, address: str | None = None, *, jobs: int | None = None, threads: int | None = None
    ) -> None:
        check_counts(jobs=jobs, threads=threads)
        self.address = address
        self.jobs = jobs
        self.threads = threads or 1

    def run(self, tasks: Sequence[Task], observer: Observer) -> None:
        """Run all tasks; no more are sent than can be run, so that what is shown is what is run."""
        if not tasks:
            return
        with self._connected() as ray:
            self._check_fit(ray)
            run_remotely = ray.remote(num_cpus=self.threads, max_retries=0)(_run_there)
            corpora: dict[tuple[Any, str], Any] = {}
            waiting = list(tasks)
            running: dict[Any, tuple[Task, float]] = {}
            while waiting or running:
                while waiting and len(running) < self._n_at_once(ray):
                    task = waiting.pop(0)
                    corpus = _sent_corpus(ray, task, corpora)
                    running[run_remotely.remote(task, corpus, self.threads)] = (
                        task,
                        time.monotonic(),
                    )
                    observer.started(task.cell)
                (done,), _ = ray.wait(list(running), num_returns=1)
                task, since = running.pop(done)
                outcome = _fetched(ray, done, task, since)
                outcome.write(task.folder)
                observer.ended(task.cell, has_failed=outcome.has_failed, message=outcome.message)

    def n_at_once(self) -> int:
        """Return how many cells the cluster can run at a time."""
        if self.address is None:  # one that is yet to be started takes all of this machine
            return self._fitting(os.cpu_count() or 1)
        with self._connected() as ray:
            return self._n_at_once(ray)

    def _n_at_once(self, ray: Any) -> int:  # noqa: ANN401 - a module
        """Count anew each time: machines may join and leave a cluster."""
        return self._fitting(int(ray.cluster_resources().get("CPU", 1)))

    def _check_fit(self, ray: Any) -> None:  # noqa: ANN401 - a module
        """Refuse cells that fit on no machine of the cluster; Ray would wait for one without a word."""
        largest = max(int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"])
        if self.threads > largest:
            raise SettingError(
                f"threads must be at most {largest}, the processors of the cluster's largest machine, "
                f"got {self.threads}."
            )

    def _fitting(self, n_processors: int) -> int:
        possible = max(1, n_processors // self.threads)
        return possible if self.jobs is None else min(possible, self.jobs)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Connect to the cluster, or start one; a connection that the caller has is left open.

        What Ray itself has to say is no result, so it goes to standard error.
        """
        ray = _import_ray()
        if ray.is_initialized():
            yield ray
            return
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if self.address is None:
            options["include_dashboard"] = False
        try:
            _check_answer(_found(self.address))
            ray.init(address=self.address or "local", **options)
        except (OSError, ValueError, RuntimeError) as error:  # ConnectionError is an OSError
            if self.address is None:
                raise DataError(f"No Ray cluster could be started here: {error}") from error
            raise DataError(
                f"No Ray cluster answers at {self.address!r} ({error}); start one with "
                "'ray start --head', or leave the address out to start one here."
            ) from error
        try:
            with redirect_stdout(sys.stderr):
                yield ray
        finally:
            ray.shutdown()


def _found(address: str | None) -> str | None:
    """Return the address that Ray finds for ``auto``: it may be that of a cluster long gone."""
    if address != "auto":
        return address
    from ray._private.services import canonicalize_bootstrap_address

    found: str | None = canonicalize_bootstrap_address(address)
    return found


def _check_answer(address: str | None) -> None:
    """Raise OSError if nobody listens at ``host:port``; Ray itself would try for minutes."""
    host, _, port = (address or "").rpartition("/")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER).close()


def _run_there(task: Task, corpus: Corpus, n_threads: int) -> Outcome:
    """Run a task on a machine of the cluster."""
    set_threads(n_threads)
    forget_peak()
    if not task.cache.parent.is_dir():  # the suite's folder is on another machine
        task = replace(task, cache=Path(tempfile.gettempdir()) / NODE_CACHE)
    return perform(task.cell, lambda: corpus, task.cache)


def _sent_corpus(ray: Any, task: Task, sent: dict[tuple[Any, str], Any]) -> Any:  # noqa: ANN401
    """Return the place of the task's corpus in the cluster's memory, where it is put once."""
    key = task.cell.source, task.cell.checksum
    if key not in sent:
        sent[key] = ray.put(task.cell.source.load())
    return sent[key]


def _fetched(ray: Any, done: Any, task: Task, since: float) -> Outcome:  # noqa: ANN401
    """Return the outcome of a task, also of one whose process or machine has died."""
    try:
        outcome: Outcome = ray.get(done)
    except ray.exceptions.RayError as error:
        died = ProcessDiedError(f"The process on the cluster came to an end: {error}")
        return Outcome(CellFailure.of(task.cell, died, time.monotonic() - since))
    return outcome


def _import_ray() -> Any:  # noqa: ANN401
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError(
            "The engine ray needs Ray, which is not installed; run: pip install 'piran[distributed]'"
        ) from error
    return ray
