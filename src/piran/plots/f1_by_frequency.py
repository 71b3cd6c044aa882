"""F1 against label frequency: what each system makes of rare and of frequent labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from piran.experiments.records import RunRecord
from piran.plots.style import AFTER, BEFORE, COLOURS, FAINT, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGES = (0, 1, 2, 3, 6, 11, 21, 51, 101, 1001, 10_001, 100_001)
"""First training count of each bin; the last bin is open."""


@dataclass(frozen=True)
class FrequencyBin:
    """Labels with similar numbers of training documents."""

    first: int
    last: int | None
    """None: without an upper end."""
    n_labels: int
    f1: Mapping[str, float]
    """Mean F1 of these labels in percent, by system."""

    @property
    def name(self) -> str:
        """The range as a reader writes it: 1, 3–5, 1,001–10,000."""
        if self.last is None:
            return f"over {self.first - 1:,}"
        return f"{self.first:,}" if self.first == self.last else f"{self.first:,}–{self.last:,}"


def f1_by_frequency_data(
    record: RunRecord,
    systems: Sequence[str] | None = None,
    *,
    at_half: bool = False,
    edges: Sequence[int] = EDGES,
) -> list[FrequencyBin]:
    """Average the labels' F1 within bins of training count, rarest first; empty bins are left out.

    ``systems`` are names in the record, by default all; ``at_half`` takes the scores at 0.5 instead
    of those with the saved thresholds; ``edges`` are the first counts of the bins.
    """
    counts = np.asarray(record.labels.train_counts, dtype=np.int64)
    bins = np.searchsorted(edges, counts, side="right") - 1  # (n_labels,)
    scores = {name: record.systems[name] for name in systems or record.systems}
    f1 = {
        name: np.asarray(system.label_f1_at_half if at_half else system.label_f1)
        for name, system in scores.items()
    }
    return [
        FrequencyBin(
            edges[number],
            edges[number + 1] - 1 if number + 1 < len(edges) else None,
            int((bins == number).sum()),
            {name: float(values[bins == number].mean()) for name, values in f1.items()},
        )
        for number in np.unique(bins).tolist()
    ]


def draw_f1_by_frequency(rows: Sequence[FrequencyBin], ax: "Axes | None" = None) -> "Axes":
    """Draw one line per bin, the rarest labels on top, with a dot for each system.

    The first system is the point of departure; a bar joins it to the last.
    """
    ax = axes_or_new(ax)
    heights = [float(place) for place in range(len(rows))]
    systems = list(rows[0].f1) if rows else []
    if len(systems) > 1:
        starts, ends = ([row.f1[name] for row in rows] for name in (systems[0], systems[-1]))
        ax.hlines(heights, starts, ends, color=FAINT, linewidth=4, zorder=1)
    for name, colour in zip(systems, _colours(len(systems)), strict=True):
        values = [row.f1[name] for row in rows]
        ax.plot(values, heights, "o", color=colour, label=name, markersize=7)
    for height, row in zip(heights, rows, strict=True):
        ax.text(1.02, height, f"{row.n_labels:,}", transform=ax.get_yaxis_transform(), va="center")
    ax.text(1.02, 1.02, "labels", transform=ax.transAxes, va="bottom")
    _finish(ax, rows)
    return ax


def _colours(n_systems: int) -> list[str]:
    """Return a colour for each system: the last is the method, the one before all others No-Aug."""
    if n_systems == 1:
        return [AFTER]
    between = [COLOURS[name] for name in ("green", "purple", "sky", "vermilion", "yellow")]
    middle = (between * n_systems)[: max(n_systems - 2, 0)]
    return [BEFORE, *middle, AFTER][:n_systems]


def _finish(ax: "Axes", rows: Sequence[FrequencyBin]) -> None:
    ax.set_yticks(range(len(rows)), [row.name for row in rows])
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.set_xlim(left=-1.5)
    ax.set_xlabel("mean F1, %")
    ax.set_ylabel("training documents")
    ax.grid(axis="x")
    ax.tick_params(axis="y", length=0)
    if rows and len(rows[0].f1) > 1:
        ax.legend(
            loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, frameon=False, handletextpad=0.1
        )
