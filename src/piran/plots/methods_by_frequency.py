"""F1 by label frequency for all methods of a suite: who does what for rare labels."""

import re
from collections.abc import Sequence
from itertools import cycle, product
from typing import TYPE_CHECKING

import numpy as np

from piran.experiments.names import display_name
from piran.experiments.results import SystemRuns
from piran.plots.f1_by_frequency import FrequencyBin, f1_by_frequency_data
from piran.plots.style import AFTER, BEFORE, COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (8.4, 4.8)
MARKERS = "svD^<>Pp*hX"
OTHERS = [COLOURS[name] for name in ("green", "vermilion", "purple", "sky")]
"""Yellow is too pale for a thin line on paper."""
LINES = ("-", (0, (4, 2)), (0, (1, 1.5)))
"""When all colours are used, the next lines are dashed, then dotted."""
EDGES = (0, 1, 2, 3, 6, 11, 21, 51, 101, 301, 1001, 3001, 10_001, 100_001)
"""First training count of each bin; there is room for more than on the page of a run."""


def methods_by_frequency_data(systems: Sequence[SystemRuns]) -> list[FrequencyBin]:
    """Average the labels' F1 at 0.5 within bins of training count, then over seeds; rarest first."""
    by_system = {
        display_name(runs.name): [
            f1_by_frequency_data(record, [runs.system], at_half=True, edges=EDGES)
            for record in runs.records
        ]
        for runs in systems
    }
    shape = next(iter(by_system.values()))[0] if by_system else []
    return [
        FrequencyBin(
            row.first,
            row.last,
            row.n_labels,
            {
                name: float(np.mean([next(iter(seed[place].f1.values())) for seed in seeds]))
                for name, seeds in by_system.items()
            },
        )
        for place, row in enumerate(shape)
    ]


def draw_methods_by_frequency(
    rows: Sequence[FrequencyBin], main: str, ax: "Axes | None" = None
) -> "Axes":
    """Draw a line for each method from the rarest labels to the most frequent; ``main`` stands out."""
    ax = axes_or_new(ax, SIZE)
    places = list(range(len(rows)))
    looks = zip(cycle(MARKERS), cycle(product(LINES, OTHERS)), strict=False)
    for name in rows[0].f1 if rows else ():
        values = [row.f1[name] for row in rows]
        if name == main:
            ax.plot(places, values, "o-", color=AFTER, linewidth=2.8, label=name, zorder=3)
        elif name == f"{main}: No-Aug":
            ax.plot(places, values, "o--", color=BEFORE, linewidth=1.8, label=name)
        else:
            marker, (line, colour) = next(looks)
            ax.plot(
                places,
                values,
                marker=marker,
                color=colour,
                linestyle=line,
                linewidth=1.2,
                label=name,
                alpha=0.9,
            )
    ax.set_xticks(places, [f"{_short(row.name)}\n({row.n_labels:,})" for row in rows])
    ax.set_xlabel("training documents of a label (number of labels)")
    ax.set_ylabel("mean F1 at 0.5, %")
    ax.set_ylim(bottom=0)
    ax.grid(axis="y")
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),  # above: beside, long names would leave no room for the bins
        ncols=3,
        frameon=False,
        fontsize="small",
        handlelength=3,  # so that dashes can be told from a line
    )
    return ax


def _short(name: str) -> str:
    """Return a range of counts in thousands where it has them.

    >>> _short("101–300"), _short("301–1,000"), _short("10,001–100,000")
    ('101–300', '301–1k', '10k–100k')
    """
    return re.sub(r"(\d+),00[01]\b", r"\1k", name)
