"""The label-frequency curve in characters, for a terminal."""

import math
from collections.abc import Iterator

from rich.text import Text

from piran.plots.label_frequency import LabelFrequency

EIGHTHS = " ▁▂▃▄▅▆▇█"
HEAD_STYLE = "dodger_blue1"
TAIL_STYLE = "dark_orange"
AXIS_WIDTH = 10
"""Columns for the numbers at the left."""
FLOOR = 0.8
"""Lower end of the scale, so that a label with one document is seen."""


def terminal_curve(data: LabelFrequency, *, width: int = 80, height: int = 8) -> Text:
    """Draw training documents per label, most frequent first, on a log scale.

    A column stands for one label or, where they do not all fit, for the first of neighbours.
    """
    if not data.counts:
        return Text("no label has a training document")
    columns = list(_columns(data, max(width - AXIS_WIDTH - 2, 1)))
    top = max(data.counts)
    drawing = Text(no_wrap=True)
    for row in reversed(range(height)):
        value = FLOOR * (top / FLOOR) ** ((row + 1) / height)
        drawing.append(f"{value:>{AXIS_WIDTH},.0f} ┤")
        for count, style in columns:
            filled = height * math.log(count / FLOOR) / math.log(top / FLOOR) - row
            drawing.append(EIGHTHS[round(8 * min(max(filled, 0.0), 1.0))], style)
        drawing.append("\n")
    return drawing.append_text(_legend(data))


def _columns(data: LabelFrequency, width: int) -> Iterator[tuple[int, str]]:
    """Yield (documents, style) of each column; head and tail labels never share one."""
    n_columns = min(width, len(data.counts))
    n_head = round(n_columns * data.n_head / len(data.counts))
    n_head = min(max(n_head, min(data.n_head, 1)), n_columns - min(data.n_tail, 1))
    yield from _group(data.counts[: data.n_head], n_head, HEAD_STYLE)
    yield from _group(data.counts[data.n_head :], n_columns - n_head, TAIL_STYLE)


def _group(counts: tuple[int, ...], n_columns: int, style: str) -> Iterator[tuple[int, str]]:
    for column in range(n_columns):
        yield counts[column * len(counts) // n_columns], style


def _legend(data: LabelFrequency) -> Text:
    return Text.assemble(
        " " * (AXIS_WIDTH + 2),
        (f"head: {data.n_head:,} labels", HEAD_STYLE),
        "   ",
        (f"tail: {data.n_tail:,} labels", TAIL_STYLE),
        "   documents, log scale",
    )
