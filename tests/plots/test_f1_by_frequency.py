"""F1 against label frequency: the numbers and the drawing."""

import numpy as np
import pytest
from small_record import small_record

from piran.plots.f1_by_frequency import draw_f1_by_frequency, f1_by_frequency_data
from piran.plots.style import AFTER, BEFORE


def test_labels_are_averaged_within_bins_from_the_rarest() -> None:
    rows = f1_by_frequency_data(small_record(), ["no-aug", "piran"])
    assert [(row.name, row.n_labels) for row in rows] == [
        ("0", 1),
        ("1", 1),
        ("3–5", 2),
        ("6–10", 1),
        ("over 100,000", 1),
    ]
    assert [row.f1["no-aug"] for row in rows] == pytest.approx([0, 0, 20, 60, 91])
    assert [row.f1["piran"] for row in rows] == pytest.approx([0, 20, 40, 60, 90])


def test_scores_at_a_half_can_be_asked_for() -> None:
    rows = f1_by_frequency_data(small_record(), ["piran"], at_half=True)
    assert [row.f1["piran"] for row in rows] == pytest.approx([0, 10, 20, 30, 45])


def test_all_systems_are_taken_by_default() -> None:
    assert list(f1_by_frequency_data(small_record())[0].f1) == ["piran", "no-aug"]


def test_each_system_is_drawn_at_its_f1() -> None:
    rows = f1_by_frequency_data(small_record(), ["no-aug", "piran"])
    lines = draw_f1_by_frequency(rows).get_lines()
    assert [line.get_label() for line in lines] == ["no-aug", "piran"]
    assert [line.get_color() for line in lines] == [BEFORE, AFTER]
    drawn = [np.asarray(line.get_xdata()).tolist() for line in lines]
    assert drawn == [pytest.approx([0, 0, 20, 60, 91]), pytest.approx([0, 20, 40, 60, 90])]


def test_bins_and_their_sizes_are_written() -> None:
    ax = draw_f1_by_frequency(f1_by_frequency_data(small_record()))
    assert [tick.get_text() for tick in ax.get_yticklabels()][2] == "3–5"
    assert [text.get_text() for text in ax.texts] == ["1", "1", "2", "1", "1", "labels"]


@pytest.mark.parametrize("n_systems", [1, 2, 3, 9])
def test_any_number_of_systems_can_be_drawn(n_systems: int) -> None:
    scores = small_record().systems["piran"]
    record = small_record(systems={f"system {i}": scores for i in range(n_systems)})
    ax = draw_f1_by_frequency(f1_by_frequency_data(record))
    assert len(ax.get_lines()) == n_systems
    assert (ax.get_legend() is None) == (n_systems == 1)


def test_nothing_can_be_drawn_too() -> None:
    assert not draw_f1_by_frequency([]).get_lines()
