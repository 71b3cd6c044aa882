"""A metric over a grid of two settings, as a heat map with its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from piran.experiments.names import metric_name
from piran.experiments.results import SystemRuns
from piran.experiments.sweeps import setting_name, value_name
from piran.plots.style import axes_or_new
from piran.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAP = "cividis"
"""Made to look alike to all eyes, and to keep its order in grey."""


@dataclass(frozen=True, eq=False)
class SettingGrid:
    """Means over seeds; NaN where a point has no run."""

    settings: tuple[str, str]
    """Of the rows and of the columns."""
    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    means: FloatArray
    """Shape (n_rows, n_columns)."""
    metric: str


def setting_grid_data(points: Sequence[SystemRuns], metric: str) -> SettingGrid:
    """Return the grid of a sweep over two settings."""
    first, second = points[0].point
    rows = tuple(dict.fromkeys(runs.point[first] for runs in points))
    columns = tuple(dict.fromkeys(runs.point[second] for runs in points))
    means = np.full((len(rows), len(columns)), np.nan)
    for runs in points:
        if runs.has(metric):
            place = rows.index(runs.point[first]), columns.index(runs.point[second])
            means[place] = runs.mean(metric).value
    return SettingGrid((first, second), rows, columns, means, metric)


def draw_setting_grid(grid: SettingGrid, ax: "Axes | None" = None) -> "Axes":
    """Draw the map, the best mean in bold unless all are the same."""
    ax = axes_or_new(ax)
    ax.pcolormesh(grid.means, cmap=MAP, edgecolors="white", linewidth=1)
    middle = (np.nanmin(grid.means) + np.nanmax(grid.means)) / 2
    best = f"{np.nanmax(grid.means):.1f}"
    is_flat = best == f"{np.nanmin(grid.means):.1f}"
    for row, column in np.argwhere(~np.isnan(grid.means)):
        value = grid.means[row, column]
        shown = f"{value:.1f}"
        ax.text(
            column + 0.5,
            row + 0.5,
            shown,
            ha="center",
            va="center",
            color="black" if value > middle else "white",  # the map goes from dark to light
            weight="bold" if shown == best and not is_flat else "normal",
        )
    for axis, values, setting in (
        (ax.yaxis, grid.rows, grid.settings[0]),
        (ax.xaxis, grid.columns, grid.settings[1]),
    ):
        axis.set_ticks([place + 0.5 for place in range(len(values))], list(map(value_name, values)))
        axis.set_label_text(setting_name(setting))
    ax.invert_yaxis()
    ax.set_title(f"{metric_name(grid.metric)}, %")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax
