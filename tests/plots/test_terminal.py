"""The label-frequency curve in characters."""

import pytest

from piran.plots.label_frequency import LabelFrequency
from piran.plots.terminal import HEAD_STYLE, TAIL_STYLE, terminal_curve


def test_the_highest_bar_fills_the_drawing_and_the_lowest_is_seen() -> None:
    lines = terminal_curve(LabelFrequency("", (1000, 1), 1), height=4).plain.splitlines()
    assert [line[12:] for line in lines[:-1]] == ["█ ", "█ ", "█ ", "█▁"]
    assert lines[0].startswith("     1,000 ┤")
    assert "head: 1 labels   tail: 1 labels" in lines[-1]


def test_head_and_tail_differ_in_style() -> None:
    styles = [str(span.style) for span in terminal_curve(LabelFrequency("", (9, 1), 1)).spans]
    assert set(styles) == {HEAD_STYLE, TAIL_STYLE}


@pytest.mark.parametrize("n_head", [0, 1, 2, 300, 4999, 5000])
@pytest.mark.parametrize("width", [14, 40, 100])
def test_many_labels_fit_into_the_width(n_head: int, width: int) -> None:
    counts = tuple(range(5000, 0, -1))
    lines = terminal_curve(LabelFrequency("", counts, n_head), width=width).plain.splitlines()
    assert {len(line) for line in lines[:-1]} == {width}


def test_a_corpus_without_labels_is_said_to_be_so() -> None:
    assert terminal_curve(LabelFrequency("", (), 0)).plain == "no label has a training document"
