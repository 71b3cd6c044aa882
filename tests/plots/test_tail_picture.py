"""The picture of a tail label."""

import numpy as np
from small_record import small_record

from piran.plots.tail_picture import MAX_POINTS, draw_tail_picture, tail_picture_data


def test_groups_run_from_the_background_to_the_front() -> None:
    names = [group.name for group in tail_picture_data(small_record())]
    assert names == ["other documents", "generated", "training documents", "prototype"]


def test_many_points_are_thinned_evenly() -> None:
    generated = tail_picture_data(small_record())[1].points
    assert len(generated) == 400 <= MAX_POINTS
    assert generated[1][0] - generated[0][0] == generated[0][0] + 0.1 * 3


def test_a_record_without_a_picture_has_no_groups() -> None:
    assert tail_picture_data(small_record(picture=None)) == []


def test_each_group_is_drawn_and_named() -> None:
    rows = tail_picture_data(small_record())
    ax = draw_tail_picture(rows)
    assert [np.shape(group.get_offsets())[0] for group in ax.collections] == [1, 400, 2, 1]
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [group.name for group in rows]


def test_no_groups_give_empty_axes() -> None:
    assert not draw_tail_picture([]).collections
