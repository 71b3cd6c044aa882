"""``piran table``: the command around the tables."""

from pathlib import Path

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner, Result

from made_suite import comparison_records, write_made_suite
from piran.cli.main import app
from piran.errors import PiranError


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["table", *map(str, arguments)])


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_made_suite(tmp_path / "runs" / "made", comparison_records())


def test_without_options_the_papers_tables_are_printed(suite: Path) -> None:
    result = run(suite)
    assert result.exit_code == 0, result.output
    for title in ("Datasets", "Comparison on mine", "Significance", "Mean F1 on tail labels"):
        assert title in result.stdout
    assert "Cost" not in result.stdout


def test_one_table_as_markdown(suite: Path) -> None:
    printed = run(suite, "--table", "tail", "--format", "markdown").stdout
    assert printed.startswith("### Mean F1 on tail labels, at 0.5\n")
    assert "| PIRAN | **31.00 ± 1.00** |" in printed


def test_a_suite_under_runs_is_found_by_name(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suite.parent.parent)
    assert run("made", "--table", "cost", "--format", "csv").stdout.startswith("method,training s")


def test_tables_can_be_written_to_files(suite: Path, tmp_path: Path) -> None:
    result = run(suite, "--table", "all", "--format", "latex", "--out", tmp_path / "tables")
    assert result.exit_code == 0
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert {"comparison-on-mine.tex", "mean-f1-on-tail-labels-at-0-5.tex"} <= names
    assert len(names) == len(result.stdout.splitlines())


@pytest.mark.parametrize("width", [20, 80, 200])
def test_no_number_is_cut_on_a_narrow_terminal(
    suite: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = run(suite, "--table", "all").stdout
    assert "…" not in shown
    assert {"31.00", "±1.00"} <= set(shown.split())
    assert width == 20 or all(cell_len(line) <= width for line in shown.splitlines())


def test_several_tables_as_csv_are_told_apart_by_their_titles(suite: Path) -> None:
    shown = run(suite, "--table", "tail", "--table", "cost", "--format", "csv").stdout
    assert shown.startswith("# Mean F1 on tail labels, at 0.5\nmethod,mine,")
    assert "\n\n# Cost on mine\nmethod,training s" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--format", "word"],
            "--format must be one of terminal, markdown, latex, csv, got 'word'",
        ),
        (["--table", "tial"], "Unknown table 'tial'. Did you mean 'tail'?"),
        (["--table", "sensitivity"], "made has no finished cells with the numbers of these tables"),
    ],
)
def test_wrong_options_are_explained(suite: Path, options: list[str], message: str) -> None:
    result = run(suite, *options)
    assert isinstance(result.exception, PiranError)
    assert message in str(result.exception)
