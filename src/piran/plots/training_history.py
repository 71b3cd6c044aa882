"""The course of training: what was recorded after each epoch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from piran.experiments.records import RunRecord
from piran.plots.style import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPOCH = "epoch"


@dataclass(frozen=True)
class HistoryCurve:
    """One recorded quantity."""

    name: str
    epochs: Sequence[float]
    values: Sequence[float]


def training_history_data(record: RunRecord) -> list[HistoryCurve]:
    """Return a curve for each quantity of the history, in the order of their first appearance."""
    names = dict.fromkeys(name for entry in record.history for name in entry if name != EPOCH)
    numbered = list(enumerate(record.history, start=1))
    return [
        HistoryCurve(
            name,
            [entry.get(EPOCH, number) for number, entry in numbered if name in entry],
            [entry[name] for entry in record.history if name in entry],
        )
        for name in names
    ]


def draw_training_history(rows: Sequence[HistoryCurve], ax: "Axes | None" = None) -> "Axes":
    """Draw the first curve on the left scale and the second, if any, on a scale of its own."""
    ax = axes_or_new(ax)
    scales = [ax, *([ax.twinx()] if len(rows) > 1 else [])]
    styles = (("vermilion", "o-"), ("blue", "s-"))
    for curve, scale, (colour, line) in zip(rows[:2], scales, styles, strict=False):
        name = curve.name.replace("_", " ")
        scale.plot(curve.epochs, curve.values, line, color=COLOURS[colour], markersize=4)
        scale.set_ylabel(name, color=COLOURS[colour])
    ax.set_xlabel("epoch")
    ax.locator_params(axis="x", integer=True)
    ax.grid(axis="x")
    for scale in scales[1:]:
        scale.spines["right"].set_visible(True)
    return ax
