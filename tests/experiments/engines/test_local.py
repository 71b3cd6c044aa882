"""Cells in processes: several at a time, and none that takes the others along."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from suite_on_disk import SLOW_SUITE, records_in, write_everything

from piran.errors import SettingError
from piran.experiments.cells import Cell, DataSource
from piran.experiments.config import read_suite
from piran.experiments.engines import InlineEngine, LocalEngine
from piran.experiments.suite import Plan, plan_suite, run_suite

in_proc = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")


def workers_of(process_id: int) -> list[Path]:
    """Return the processes in which a suite runs its cells, as folders that vanish when they end."""
    found = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
    folders = [Path("/proc", child) for child in found]
    return [folder for folder in folders if "spawn_main" in (folder / "cmdline").read_text()]


class Killer:
    """An observer that ends the process of the first cell that reports progress."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failed: list[str] = []
        self.n_steps = 0
        self._has_killed = False

    def started(self, cell: Cell) -> None:
        """Wait for what it reports."""

    def progressed(self, cell: Cell, step: str, share: float | None) -> None:
        self.n_steps += 1
        if not self._has_killed:
            self._has_killed = True
            for child in workers_of(os.getpid()):
                os.kill(int(child.name), signal.SIGKILL)

    def ended(self, cell: Cell, *, has_failed: bool, message: str) -> None:
        (self.failed if has_failed else self.done).append(cell.name)


def plan_in(folder: Path, *, seeds: int) -> Plan:
    suite = read_suite(write_everything(folder))
    return plan_suite(
        suite, folder / "runs", sources=[DataSource(str(folder / "mine"))], seeds=seeds
    )


def test_there_must_be_a_process() -> None:
    with pytest.raises(SettingError, match="jobs must be at least 1, got 0"):
        LocalEngine(0)
    with pytest.raises(SettingError, match="threads must be at least 1, got 0"):
        LocalEngine(1, threads=0)


def test_several_processes_compute_with_one_thread_each() -> None:
    assert LocalEngine(2).threads == 1
    assert LocalEngine(2, threads=3).threads == 3
    assert LocalEngine(1).threads is None


def test_two_processes_give_the_records_of_one(tmp_path: Path) -> None:
    plan = plan_in(tmp_path, seeds=2)
    run_suite(plan, tmp_path / "runs", LocalEngine(2))
    run_suite(plan, tmp_path / "alone", InlineEngine())
    there, here = (records_in(tmp_path / name) for name in ("runs", "alone"))
    assert len(there) == 4
    for path, record in there.items():
        assert record.systems == here[path].systems
        assert record.settings == here[path].settings


@in_proc
def test_a_killed_process_costs_one_cell(tmp_path: Path) -> None:
    plan = plan_in(tmp_path, seeds=2)
    killer = Killer()
    standing = run_suite(plan, tmp_path / "runs", LocalEngine(1), observer=killer)
    assert len(killer.failed) == 1
    assert standing.count("finished") == len(killer.done) == 3
    (error,) = (tmp_path / "runs").rglob("error.json")
    failure = json.loads(error.read_text())
    assert failure["error"] == "ProcessDiedError"
    assert failure["message"].startswith("The process was ended by SIGKILL")


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@in_proc
def test_a_killed_suite_goes_on_where_it_stopped(tmp_path: Path) -> None:
    suite, runs = write_everything(tmp_path, SLOW_SUITE), tmp_path / "runs"
    data = str(tmp_path / "mine")
    command = [sys.executable, "-m", "piran", "bench", str(suite), "--out", str(runs)]
    process = subprocess.Popen(
        [*command, "--data", data], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    wait_for(lambda: len(list(runs.rglob("record.json"))) >= 2)
    workers = workers_of(process.pid)
    assert workers
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not any(worker.exists() for worker in workers))  # they must end with it
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("record.json")}

    seeds = len(before) + 3
    assert seeds < 60, "it was to be killed long before its end"
    plan = plan_suite(read_suite(suite), runs, sources=[DataSource(data)], seeds=seeds)
    run_suite(plan, runs, InlineEngine())
    after = {path: path.stat().st_mtime_ns for path in runs.rglob("record.json")}
    assert len(after) == seeds
    assert {path: after[path] for path in before} == before
