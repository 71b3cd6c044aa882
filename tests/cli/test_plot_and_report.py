"""``piran plot`` and ``piran report``: files from records."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from made_suite import comparison_records, write_made_suite
from piran.cli.main import app
from piran.errors import PiranError


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_made_suite(tmp_path / "runs" / "made", comparison_records())


def test_plot_writes_two_files_a_figure_into_the_suites_folder(suite: Path) -> None:
    result = run("plot", suite, "--figure", "wins")
    assert result.exit_code == 0, result.output
    names = [Path(line).name for line in result.stdout.split()]
    assert names == ["wins-and-losses.svg", "wins-and-losses.png"]
    assert all((suite / "figures" / name).is_file() for name in names)


def test_plot_takes_other_formats_and_folders(suite: Path, tmp_path: Path) -> None:
    run("plot", suite, "--figure", "labels", "--format", "pdf", "--out", tmp_path / "here")
    assert (tmp_path / "here" / "labels-mine.pdf").read_bytes().startswith(b"%PDF")


def test_plot_names_the_nearest_figure(suite: Path) -> None:
    result = run("plot", suite, "--figure", "labls")
    assert isinstance(result.exception, PiranError)
    assert "Unknown figure 'labls'. Did you mean 'labels'?" in str(result.exception)


def test_plot_says_if_there_is_nothing_to_draw(suite: Path) -> None:
    result = run("plot", suite, "--figure", "sensitivity")
    assert isinstance(result.exception, PiranError)
    assert "has no finished cells for these figures yet" in str(result.exception)


def test_report_writes_the_page_of_a_suite(suite: Path) -> None:
    result = run("report", suite)
    assert result.stdout.strip() == str(suite / "report.html")
    assert "<h2>Significance</h2>" in (suite / "report.html").read_text()


def test_report_writes_the_page_of_a_run(suite: Path, tmp_path: Path) -> None:
    result = run("report", suite / "mine" / "piran" / "seed-0", "--out", tmp_path / "run.html")
    assert result.exit_code == 0, result.output
    assert "PIRAN on mine" in (tmp_path / "run.html").read_text()
