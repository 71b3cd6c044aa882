"""What a suite is doing, counted."""

from pathlib import Path

import pytest
from tiny_suite import tiny_plan

from piran.cli.live import duration, shown_rows, summary_line
from piran.experiments.cells import Cell, State
from piran.experiments.suite import Standing
from piran.experiments.watch import SuiteWatch


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_sweeps_are_one_row_and_the_rest_is_estimated(tmp_path: Path) -> None:
    cells = tiny_plan(tmp_path).cells  # piran, plain, two points; then piran, plain
    clock = Clock()
    watch = SuiteWatch(Standing(dict.fromkeys(cells, "waiting")), 2, clock)
    assert list(watch.rows) == [("mine", "piran"), ("mine", "plain"), ("mine", "generations")]
    assert watch.seconds_left() is None
    watch.started(cells[0])
    watch.started(cells[1])
    clock.now += 3
    watch.progressed(cells[0], "Starting", None)  # until here its process was loading libraries
    watch.progressed(cells[1], "Training", 0.5)
    clock.now += 10
    watch.ended(cells[0], has_failed=False, message="")
    clock.now += 2
    # plain has run 12 of about 10 seconds; of the others 4 wait, 10 seconds each, on 2 processes
    assert watch.seconds_left() == pytest.approx(4 * 10 / 2)
    assert watch.rows["mine", "plain"].running[0].step == "Training"
    assert summary_line(watch) == "1 of 6 cells done, about 20 s left"


def test_a_failure_counts_and_can_be_tried_again(tmp_path: Path) -> None:
    cells = tiny_plan(tmp_path, seeds=1).cells[:2]
    watch = SuiteWatch(Standing({cells[0]: "failed", cells[1]: "finished"}), 1, Clock())
    assert (watch.count("failed"), watch.count("finished")) == (1, 1)
    watch.started(cells[0])
    assert (watch.count("failed"), watch.n_running) == (0, 1)
    watch.ended(cells[0], has_failed=True, message="DataError: no")
    assert summary_line(watch) == "1 of 2 cells done, 1 failed"


def test_a_low_terminal_shows_what_runs_then_what_waits(tmp_path: Path) -> None:
    piran, plain, *points = tiny_plan(tmp_path, seeds=1).cells
    states: dict[Cell, State] = {
        piran: "finished",
        plain: "waiting",
        **dict.fromkeys(points, "waiting"),
    }
    watch = SuiteWatch(Standing(states), 2, Clock())
    for cell in points:
        watch.started(cell)
    assert shown_rows(watch, 4) == [("mine", "piran"), ("mine", "plain"), ("mine", "generations")]
    assert shown_rows(watch, 3) == [("mine", "plain"), ("mine", "generations")]
    assert shown_rows(watch, 2) == [("mine", "generations")]
    watch.started(plain)
    for cell in (*points, plain):
        watch.ended(cell, has_failed=False, message="")
    assert len(shown_rows(watch, 1)) == 3, "at the end all of it may scroll by"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (12.3, "12 s"), (185, "3:05"), (3750, "1:02:30"), (90_000, "1 day, 1:00:00")],
)
def test_durations_are_said_as_people_do(seconds: float, text: str) -> None:
    assert duration(seconds) == text
