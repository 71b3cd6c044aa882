"""Bad input: one clear line, exit code 1, and no folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from made_suite import comparison_records, write_made_suite
from piran.cli.main import main

GOOD: list[object] = [
    {"text": f"word{n} thing{n % 3}", "labels": ["a"] if n % 5 else ["a", "b"]} for n in range(20)
]


class Ended(NamedTuple):
    """How the program ended."""

    code: object
    stderr: str


Program = Callable[..., Ended]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Return a function that runs the program as a user does, in this process."""

    def run(*arguments: str | Path) -> Ended:
        monkeypatch.setattr("sys.argv", ["piran", *(str(argument) for argument in arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(ended.value.code, capsys.readouterr().err)

    return run


def written(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def bad_inputs() -> dict[str, tuple[str, bytes | list[object], tuple[str, ...], str]]:
    """Return name → (file name, content, further arguments, what the message says)."""
    return {
        "empty file": ("train.jsonl", b"", (), "empty"),
        "missing field": ("train.jsonl", [*GOOD, {"labels": ["a"]}], (), "line 21"),
        "bad row": ("train.jsonl", b'{"text": "x", "labels": []}\n{oops\n', (), "line 2"),
        "wrong extension": ("train.docx", b"words", (), ".docx"),
        "not text": ("train.jsonl", b"\xff\xfe\x00\x81\x00" * 50, (), "UTF-8"),
        "bare string": ("train.jsonl", [*GOOD, {"text": "x", "labels": "a"}], (), "'a'"),
        "no tail label": ("train.jsonl", GOOD, ("--tail", "0"), "no tail label"),
        "no head label": ("train.jsonl", GOOD, ("--tail", "2"), "no head label"),
        "one document": ("train.jsonl", GOOD[:1], ("--tail", "0"), "label"),
        "no labels": ("train.jsonl", [{"text": "x", "labels": []}] * 5, (), "label"),
        "bad tail": ("train.jsonl", GOOD, ("--tail", "many"), "--tail"),
        "unknown method": ("train.jsonl", GOOD, ("--method", "piram"), "'piran'"),
        "unknown setting": ("train.jsonl", GOOD, ("--set", "l3=1"), "l2"),
        "setting of a wrong type": ("train.jsonl", GOOD, ("--set", "l2=much"), "l2 must be"),
        "setting out of range": ("train.jsonl", GOOD, ("--tail", "1", "--set", "l2=-1"), "above 0"),
        "loss without minimum": (
            "train.jsonl",
            GOOD,
            (
                *("--tail", "1", "--preset", "quick"),
                *("--set", "diversity_weight=50", "--set", "min_documents=1"),
            ),
            "no minimum",
        ),
    }


@pytest.mark.parametrize("case", bad_inputs())
def test_bad_input_is_one_line_and_leaves_no_folder(
    case: str, tmp_path: Path, program: Program
) -> None:
    name, content, arguments, expected = bad_inputs()[case]
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        written(path, content)
    result = program("train", path, "--out", tmp_path / "out", *arguments)
    assert result.code == 1, result.stderr
    assert expected in result.stderr
    assert "Traceback" not in result.stderr
    errors = [line for line in result.stderr.splitlines() if line.startswith("piran: ")]
    assert len(errors) == 1
    assert {entry.name for entry in tmp_path.iterdir()} == {name}


def test_a_missing_file_says_so(tmp_path: Path, program: Program) -> None:
    result = program("train", tmp_path / "nowhere.jsonl", "--out", tmp_path / "out")
    assert result.code == 1
    assert "does not exist" in result.stderr
    assert not (tmp_path / "out").exists()


def test_wrong_usage_is_exit_code_2(tmp_path: Path, program: Program) -> None:
    assert program("train", "debtags").code == 2
    assert program("train", "debtags", "--out", tmp_path / "x", "--sed", "1").code == 2


def test_a_folder_that_is_no_model_says_so(tmp_path: Path, program: Program) -> None:
    result = program("predict", tmp_path, "-")
    assert result.code == 1
    assert "not a saved model" in result.stderr


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path, program: Program) -> None:
    suite = write_made_suite(tmp_path / "made", comparison_records())
    result = program("report", suite, "--out", tmp_path)
    assert (result.code, result.stderr) == (1, f"piran: Is a directory: {tmp_path}\n")
