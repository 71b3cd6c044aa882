"""Cells on a Ray cluster. What needs Ray itself is skipped where it is not installed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from suite_on_disk import SUITE, records_in, write_everything

from piran.errors import DataError, MissingExtraError, SettingError
from piran.experiments.cells import DataSource
from piran.experiments.config import read_suite
from piran.experiments.engines import InlineEngine, RayEngine
from piran.experiments.suite import Plan, plan_suite, run_suite

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs piran[distributed]")
# Ray warns of its own future changes
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")
BROKEN = """
[[cells]]
method = "piran"
name = "broken"
settings = { encoder = "tfidf", min_documents = 1000, tail = 1 }
"""


def plan_in(folder: Path, suite: str = SUITE) -> Plan:
    path = write_everything(folder, suite)
    source = DataSource(str(folder / "mine"))
    return plan_suite(read_suite(path), folder / "runs", sources=[source], seeds=1)


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'piran\[distributed\]'"):
        run_suite(plan_in(tmp_path), tmp_path / "runs", RayEngine())


def test_there_must_be_a_processor() -> None:
    with pytest.raises(SettingError, match="threads must be at least 1, got 0"):
        RayEngine(threads=0)


@needs_ray
def test_a_cluster_started_here_gives_the_same_records(tmp_path: Path) -> None:
    plan = plan_in(tmp_path, SUITE + BROKEN)
    standing = run_suite(plan, tmp_path / "runs", RayEngine(jobs=2))
    assert (standing.count("finished"), standing.count("failed")) == (2, 1)
    run_suite(plan, tmp_path / "alone", InlineEngine())
    there, here = (records_in(tmp_path / name) for name in ("runs", "alone"))
    assert {path: record.systems for path, record in there.items()} == {
        path: record.systems for path, record in here.items()
    }
    (error,) = (tmp_path / "runs").rglob("error.json")
    assert "No word occurs in 1000" in json.loads(error.read_text())["message"]


@pytest.fixture
def cluster() -> Iterator[str]:
    """Start a cluster as a user does, and return its address; it ends with the command."""
    address = f"127.0.0.1:{20_000 + os.getpid() % 10_000}"
    program, port = Path(sys.executable).with_name("ray"), address.partition(":")[2]
    start = [str(program), "start", "--head", "--block", "--port", port, "--num-cpus", "2"]
    start += ["--include-dashboard=false", "--disable-usage-stats"]
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout or ():
            if b"Ray runtime started" in line:
                break
        yield address
        process.terminate()


@needs_ray
def test_a_running_cluster_is_found_by_its_address(tmp_path: Path, cluster: str) -> None:
    plan = plan_in(tmp_path)
    engine = RayEngine(cluster)
    assert engine.n_at_once() == 2
    assert run_suite(plan, tmp_path / "runs", engine).count("finished") == 2


@needs_ray
def test_a_wrong_address_is_explained(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"No Ray cluster answers at '127\.0\.0\.1:1'"):
        run_suite(plan_in(tmp_path), tmp_path / "runs", RayEngine("127.0.0.1:1"))


@needs_ray
def test_a_cluster_that_has_ended_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")  # what "auto" finds
    with pytest.raises(DataError, match=r"No Ray cluster answers at 'auto'"):
        run_suite(plan_in(tmp_path), tmp_path / "runs", RayEngine("auto"))


@needs_ray
def test_more_threads_than_a_machine_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"threads must be at most \d+, .* got 100000"):
        run_suite(plan_in(tmp_path), tmp_path / "runs", RayEngine(threads=100_000))
