"""The ablation as bars (the paper's Figure 3): stage 2 in parts, with the spread over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from piran.augment.variants import COMPLETE, CONTROLS
from piran.experiments.names import display_name, metric_name
from piran.experiments.results import SystemRuns
from piran.plots.style import AFTER, COLOURS, FAINT, INK, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM_FOR_NUMBERS = 1.3
"""The axis is so much longer than the longest bar."""


@dataclass(frozen=True)
class AblationBar:
    """One variant."""

    name: str
    mean: float
    deviation: float | None
    """None for a single seed."""
    is_control: bool
    is_whole: bool
    metric: str


def ablation_data(variants: Mapping[str, SystemRuns], metric: str) -> list[AblationBar]:
    """Return a bar for each variant, from the least to the whole."""
    bars = []
    for name, runs in variants.items():
        mean = runs.mean(metric)
        bars.append(
            AblationBar(
                display_name(name),
                mean.value,
                mean.deviation,
                name in CONTROLS,
                name == COMPLETE,
                metric,
            )
        )
    return bars


def draw_ablation(rows: Sequence[AblationBar], ax: "Axes | None" = None) -> "Axes":
    """Draw horizontal bars from 0 with error bars and the numbers beside them."""
    ax = axes_or_new(ax)
    heights = list(range(len(rows)))
    colours = [
        AFTER if row.is_whole else FAINT if row.is_control else COLOURS["sky"] for row in rows
    ]
    ax.barh(heights, [row.mean for row in rows], color=colours, height=0.7)
    longest = max((row.mean + (row.deviation or 0.0) for row in rows), default=1.0) or 1.0
    for height, row in zip(heights, rows, strict=True):
        spread = "" if row.deviation is None else f" ± {row.deviation:.1f}"
        place = row.mean + (row.deviation or 0.0) + 0.02 * longest
        ax.text(place, height, f"{row.mean:.1f}{spread}", va="center", fontsize="small")
        if row.deviation is not None:  # of one seed there is no spread to show
            ax.errorbar(
                row.mean, height, xerr=row.deviation, fmt="none", ecolor=INK, capsize=3, linewidth=1
            )
    ax.set_yticks(heights, [f"{row.name}*" if row.is_control else row.name for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(0, ROOM_FOR_NUMBERS * longest)
    metric = metric_name(rows[0].metric) if rows else ""
    has_control = any(row.is_control for row in rows)
    ax.set_xlabel(f"{metric}, %" + (" (* control)" if has_control else ""))
    ax.tick_params(axis="y", length=0)
    return ax
