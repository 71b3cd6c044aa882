"""``piran bench``: the command around a suite."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from piran.cli.live import shortened
from piran.cli.main import app
from piran.errors import PiranError

SUITE = """
description = "One cell, and one that cannot work"
data = ["debtags"]
seeds = 1

[[cells]]
method = "piran"
settings = { encoder = "tfidf", n_components = 4, min_documents = 1, tail = 1, n_generated = 3 }

[[cells]]
method = "piran"
name = "broken"
settings = { encoder = "tfidf", min_documents = 1000, tail = 1 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "mine").mkdir()
    rows = [f'{{"body": "apple pear {n}", "labels": ["fruit"]}}' for n in range(8)]
    rows += ['{"body": "hammer apple", "labels": ["tool", "fruit"]}'] * 3
    for split in ("train", "test"):
        (tmp_path / "mine" / f"{split}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return tmp_path


def run(folder: Path, *options: str) -> Result:
    command = ["bench", str(folder / "small.toml"), "--data", str(folder / "mine")]
    command += ["--text-field", "body", "--out", str(folder / "runs"), *options]
    return CliRunner().invoke(app, command)


def test_a_dry_run_says_what_would_be_run(folder: Path) -> None:
    result = run(folder, "--dry-run", "--seeds", "2", "--json")
    assert result.exit_code == 0, result.output
    state = json.loads(result.stdout)
    assert (state["n_cells"], state["n_waiting"], state["datasets"]) == (4, 4, ["mine"])
    assert not (folder / "runs").exists()


def test_a_failed_cell_is_told_and_left_alone_the_next_time(folder: Path) -> None:
    first = run(folder)
    assert isinstance(first.exception, PiranError)
    assert "1 of 2 cells failed; the others are done" in str(first.exception)
    assert "done: piran on mine, seed 0" in first.stderr
    assert "FAILED: broken on mine, seed 0 (DataError: No word occurs" in first.stderr
    assert "1 of 2 cells finished" in first.stdout
    again = run(folder)
    assert "1 failed before and are left alone (--retry-failed runs them again)" in again.stderr
    assert "FAILED" not in again.stderr


def test_a_long_message_is_one_line_and_shows_that_it_goes_on() -> None:
    assert shortened("one\n two") == "one two"
    assert shortened("word " * 100).endswith("word …")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "slurm"], "--engine must be one of local, ray, got 'slurm'"),
        (["--address", "auto"], "--address is for --engine ray"),
        (["--only", "pirn"], "has no cell or sweep 'pirn'. Did you mean 'piran'?"),
        (["--seeds", "0"], "--seeds must be at least 1, got 0"),
    ],
)
def test_wrong_options_are_explained(folder: Path, options: list[str], message: str) -> None:
    result = run(folder, *options)
    assert isinstance(result.exception, PiranError)
    assert message in str(result.exception)
