"""The commands train, evaluate, predict and demo through the program itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from piran.cli.main import app
from piran.data.datasets import write_corpus
from piran.errors import DataError
from piran.experiments import settings
from piran.experiments.records import RunRecord
from piran.experiments.run import check_out
from piran.methods import METHODS, load_method
from piran.training.checkpoint import Checkpoint, Snapshot
from small_corpus import COUNTS, small_corpus

CONTRACT = [
    *(f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)),
    *("nDCG@3", "nDCG@5"),
    *(
        f"{name}_f1{suffix}"
        for name in ("micro", "macro", "head", "tail")
        for suffix in ("", "_at_0.5")
    ),
    *("n_documents", "n_labels", "n_tail_labels"),
]


def piran(*arguments: str | Path, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def program(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own, as a user does."""
    command = [sys.executable, "-m", "piran", *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "small"
    write_corpus(small_corpus(), folder, "jsonl")
    return folder


@pytest.fixture(scope="module")
def run_folder(data: Path) -> Path:
    out = data.parent / "run"
    piran("train", data, "--out", out, "--tail", "3", "--seed", "1")
    return out


def test_train_leaves_model_record_and_page(run_folder: Path) -> None:
    assert (run_folder / "model" / "model.json").is_file()
    assert "<svg" in (run_folder / "report.html").read_text(encoding="utf-8")
    record = RunRecord.read(run_folder)
    assert record.seed == 1
    assert set(record.labels.names) == set(COUNTS)
    assert set(record.systems) == {"piran", "no-aug"}


def test_train_prints_the_scores_of_the_contract_as_json(data: Path, tmp_path: Path) -> None:
    result = piran("train", data, "--out", tmp_path / "run", "--tail", "3", "--json")
    printed = json.loads(result.stdout)
    assert set(CONTRACT) <= set(printed)
    assert Path(printed["record"]).is_file()


class PowerCutError(Exception):
    """Ends a training in the middle."""


def test_a_training_that_was_stopped_goes_on_unless_told_otherwise(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIRAN_CACHE", str(tmp_path / "cache"))
    quick = {**METHODS["xml-cnn"].quick_settings, "max_epochs": 3}
    settings = [part for key, value in quick.items() for part in ("--set", f"{key}={value}")]
    command: list[str | Path] = [
        "train",
        data,
        "--method",
        "xml-cnn",
        "--out",
        tmp_path / "run",
        *settings,
    ]

    def stop(self: Checkpoint, snapshot: Snapshot) -> None:
        write(self, snapshot)
        raise PowerCutError

    write = Checkpoint.write
    for arguments, message in ((["--no-resume"], ""), ([], "Training goes on after epoch 1 of 3.")):
        monkeypatch.setattr(Checkpoint, "write", stop)
        with pytest.raises(PowerCutError):
            piran(*command, "--no-resume")
        monkeypatch.setattr(Checkpoint, "write", write)
        result = piran(*command, *arguments)
        assert message in result.stderr
        assert ("goes on" in result.stderr) == bool(message)
        record = RunRecord.read(tmp_path / "run")
        assert record.epochs_run == 3
        assert (record.times.get("fit_before", 0) > 0) == bool(message)
        assert not (tmp_path / "cache" / "checkpoints").exists()


def test_the_same_seed_gives_the_same_scores_twice(data: Path, tmp_path: Path) -> None:
    scores = []
    for name in ("first", "second"):
        out = tmp_path / name
        piran("train", data, "--out", out, "--tail", "3", "--seed", "4")
        scores.append(RunRecord.read(out).systems)
    assert scores[0] == scores[1]


def test_settings_reach_the_method(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    chosen = ("--set", "l2=2.5", "--set", "solver=adam", "--encoder", "tfidf")
    piran("train", data, "--out", out, "--tail", "0.5", *chosen)
    settings = RunRecord.read(out).settings
    assert (settings["l2"], settings["solver"], settings["tail"]) == (2.5, "adam", 0.5)


def test_the_bilstm_trains_from_the_command_line(data: Path, tmp_path: Path) -> None:
    small = [
        f"--set={setting}"
        for setting in ("hidden_dim=8", "embedding_dim=8", "instance_dim=8", "max_epochs=2")
    ]
    out = tmp_path / "run"
    piran("train", data, "--out", out, "--tail", "3", "--encoder", "bilstm", *small)
    record = RunRecord.read(out)
    assert record.settings["encoder"] == "bilstm"
    assert record.epochs_run == 2
    assert len(record.history) == 2


def test_training_without_a_test_split_saves_the_model(data: Path, tmp_path: Path) -> None:
    result = piran("train", data / "train.jsonl", "--out", tmp_path / "run", "--tail", "3")
    assert "no test split" in result.stdout
    assert load_method(tmp_path / "run").predict(["alpha1 alpha2"])


def test_evaluate_gives_what_training_gave(data: Path, run_folder: Path) -> None:
    printed = json.loads(piran("evaluate", run_folder, data, "--json").stdout)
    scores = RunRecord.read(run_folder).scores
    for key in CONTRACT:
        assert printed[key] == pytest.approx(scores[key], abs=1e-3)


def test_evaluate_counts_labels_the_model_does_not_know(run_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"text": "alpha1 alpha2", "labels": ["alpha", "unknown"]}\n')
    printed = json.loads(piran("evaluate", run_folder, path, "--json").stdout)
    assert printed["n_labels"] == len(COUNTS) + 1
    assert printed["micro_f1"] == pytest.approx(100 * 2 / 3, abs=1e-3)


def test_evaluate_names_the_splits_there_are(data: Path, run_folder: Path) -> None:
    with pytest.raises(DataError, match="train, test"):
        piran("evaluate", run_folder, data, "--split", "validation")


def test_predict_prints_a_json_line_for_each_text(run_folder: Path) -> None:
    result = piran("predict", run_folder, "-", "--top", "2", stdin="alpha1 alpha2\n\nbeta3 beta4\n")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(lines) == 3
    assert lines[0]["labels"][0] == "alpha"
    assert lines[2]["labels"][0] == "beta"
    assert list(lines[0]["scores"]) == lines[0]["labels"]
    assert len(lines[0]["labels"]) == 2


def test_predict_uses_the_saved_cut_offs(data: Path, run_folder: Path) -> None:
    result = piran("predict", run_folder, data / "test.jsonl")
    printed = [set(json.loads(line)["labels"]) for line in result.stdout.splitlines()]
    test = small_corpus().test
    assert test is not None
    assert printed == [set(labels) for labels in load_method(run_folder).predict(test.texts)]


def test_predict_streams(run_folder: Path) -> None:
    texts = "".join(f"alpha{number % 12}\n" for number in range(3000))
    assert len(piran("predict", run_folder, stdin=texts).stdout.splitlines()) == 3000


@pytest.mark.parametrize("command", ["demo", "train", "evaluate", "predict", "data"])
def test_every_command_explains_itself(command: str) -> None:
    result = piran(command, "--help")
    assert result.exit_code == 0
    assert "piran" in result.stdout


def test_an_earlier_run_is_replaced_but_not_another_folder(data: Path, run_folder: Path) -> None:
    with pytest.raises(DataError, match="not a run's"):
        piran("train", data, "--out", data, "--tail", "3")
    assert (data / "train.jsonl").is_file()
    check_out(run_folder)  # raises nothing


def test_progress_is_silent_when_nobody_watches(data: Path, tmp_path: Path) -> None:
    chosen = ("--tail", "3", "--preset", "quick", "--json")
    result = program("train", data, "--out", tmp_path / "run", *chosen)
    assert result.returncode == 0
    assert json.loads(result.stdout)
    assert result.stderr.count("\n") == 1  # the line that says what is trained


def test_train_says_which_preset_it_takes(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "is_available", lambda: False)
    out = tmp_path / "run"
    result = piran("train", data, "--out", out, "--tail", "3", "--preset", "balanced")
    assert (
        "Preset balanced on TF-IDF, as the transformer that balanced needs is not" in result.stderr
    )
    assert "pip install 'piran[transformers]'" in result.stderr
    taken = RunRecord.read(out).settings
    assert (taken["encoder"], taken["thresholds"]) == ("tfidf", "expected")
