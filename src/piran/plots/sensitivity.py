"""A metric along a sweep (the paper's Figures 4 and 5), with the spread over seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from piran.experiments.names import display_name, metric_name
from piran.experiments.results import SystemRuns
from piran.experiments.sweeps import setting_name, value_name
from piran.plots.style import AFTER, BEFORE, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_TICKS = 12
"""So many names fit side by side."""


@dataclass(frozen=True)
class SensitivityCurve:
    """One metric at the points of a sweep over one setting."""

    method: str
    """Of which the setting is."""
    setting: str
    metric: str
    values: tuple[float, ...]
    """Where the points stand: the setting's values, or 0, 1, … where those are no numbers or lie too
    close together for their names."""
    names: tuple[str, ...]
    """The setting's values as they are written."""
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    """0 for a single seed."""
    reference: float | None = None
    """The same metric without augmentation."""


def sensitivity_data(
    points: Sequence[SystemRuns], metric: str, reference: float | None = None
) -> SensitivityCurve:
    """Return the curve of a sweep over one setting; numbers are put into their order."""
    done = [runs for runs in points if runs.has(metric)]
    (setting,) = points[0].point
    is_number = all(type(runs.point[setting]) in (int, float) for runs in done)
    if is_number:
        done.sort(key=lambda runs: float(runs.point[setting]))
    values = [runs.point[setting] for runs in done]
    means = [runs.mean(metric) for runs in done]
    return SensitivityCurve(
        points[0].method,
        setting,
        metric,
        _places(values if is_number else []) or tuple(map(float, range(len(values)))),
        tuple(value_name(value) for value in values),
        tuple(mean.value for mean in means),
        tuple(mean.deviation or 0.0 for mean in means),
        reference,
    )


def _places(values: Sequence[float]) -> tuple[float, ...]:
    """Return where numbers in their order stand on an axis; nowhere if they do not all fit.

    >>> _places([10, 20, 30]), _places([0.001, 0.01, 0.1, 1.0])
    ((10.0, 20.0, 30.0), ())
    """
    gaps = [after - before for before, after in pairwise(values)]
    if gaps and min(gaps) * MAX_TICKS < values[-1] - values[0]:
        return ()
    return tuple(map(float, values))


def draw_sensitivity(curve: SensitivityCurve, ax: "Axes | None" = None) -> "Axes":
    """Draw the curve with a band of one standard deviation, and No-Aug as a dashed line."""
    ax = axes_or_new(ax)
    spread = list(zip(curve.means, curve.deviations, strict=True))
    low = [max(mean - deviation, 0.0) for mean, deviation in spread]  # no metric leaves 0 to 100
    high = [min(mean + deviation, 100.0) for mean, deviation in spread]
    ax.fill_between(curve.values, low, high, color=AFTER, alpha=0.2, linewidth=0)
    ax.plot(
        curve.values, curve.means, "o-", color=AFTER, markersize=5, label=display_name(curve.method)
    )
    if curve.reference is not None:
        ax.axhline(curve.reference, color=BEFORE, linestyle="--", linewidth=1.5, label="No-Aug")
        ax.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2, frameon=False)
    ax.set_xlabel(setting_name(curve.setting))
    ax.set_ylabel(f"{metric_name(curve.metric)}, %")
    ax.set_xticks(curve.values, curve.names)
    ax.grid(axis="y")
    return ax
