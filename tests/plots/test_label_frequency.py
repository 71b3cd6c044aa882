"""The label-frequency curve: its data, the figure and the drawing for a terminal."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from piran.data import LabelSpace
from piran.plots.label_frequency import (
    HEAD_COLOUR,
    TAIL_COLOUR,
    LabelFrequency,
    draw_label_frequency,
    label_frequency_data,
    save_label_frequency,
)

DATA = LabelFrequency("small", (100, 10, 9, 2, 1), 2)


def test_counts_run_from_head_to_tail_without_unseen_labels() -> None:
    label_sets = [("a", "b", "c"), ("a", "b"), ("a",)]
    space = LabelSpace.from_label_sets(label_sets, tail=1, extra_names=["never"])
    data = label_frequency_data(space, title="three")
    assert data == LabelFrequency("three", (3, 2, 1), 2)
    assert data.n_tail == 1


def test_the_figure_has_axes_in_words_and_a_log_scale() -> None:
    axes = draw_label_frequency(DATA)
    assert axes.get_yscale() == "log"
    assert axes.get_xlabel() == "label, from most to least frequent"
    assert axes.get_ylabel() == "training documents (log scale)"
    assert axes.get_title() == "small"


def test_head_and_tail_have_colours_of_their_own_and_a_line_between() -> None:
    head, tail, boundary = draw_label_frequency(DATA).get_lines()
    assert [to_hex(line.get_color()) for line in (head, tail)] == [HEAD_COLOUR, TAIL_COLOUR]
    assert np.asarray(head.get_ydata()).tolist() == [100, 10, 10], (
        "the last label has its width too"
    )
    assert np.asarray(head.get_xdata()).tolist() == [0.5, 1.5, 2.5]
    assert np.asarray(tail.get_xdata()).tolist() == [2.5, 3.5, 4.5, 5.5]
    assert np.asarray(boundary.get_xdata()).tolist() == [2.5, 2.5]


def test_there_may_be_no_tail_label() -> None:
    _, tail, _ = draw_label_frequency(LabelFrequency("head alone", (3, 2), 2)).get_lines()
    assert len(np.asarray(tail.get_ydata())) == 0


def test_the_legend_counts_the_labels() -> None:
    legend = draw_label_frequency(DATA).get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "head (2 labels)",
        "tail (3 labels)",
    ]


def test_axes_that_are_given_are_drawn_on() -> None:
    axes = Figure().add_subplot()
    assert draw_label_frequency(DATA, axes) is axes


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("b/a.png", b"\x89PNG")])
def test_the_extension_says_the_format(name: str, start: bytes, tmp_path: Path) -> None:
    save_label_frequency(DATA, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("data", [LabelFrequency("none", (), 0), LabelFrequency("one", (7,), 1)])
def test_few_labels_are_drawn_without_a_warning(data: LabelFrequency) -> None:
    axes = draw_label_frequency(data)
    assert axes.get_title() == data.title
