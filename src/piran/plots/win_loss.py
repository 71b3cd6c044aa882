"""Who beats whom: significant wins and losses of every method against every other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from piran.experiments.names import display_name
from piran.experiments.results import SuiteResults, SystemRuns
from piran.metrics import compare_runs
from piran.plots.style import axes_or_new
from piran.types import IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METRICS = ("P@1", "nDCG@5", "micro_f1_at_0.5", "macro_f1_at_0.5", "tail_f1_at_0.5")
LEVEL = 0.05
MAP = "PuOr"
"""From orange over white to purple: no eye confuses its ends."""


@dataclass(frozen=True, eq=False)
class WinLoss:
    """Counts over datasets and metrics, the most successful method first.

    Methods that could be compared with no other, as they have one run only, are left out.
    """

    names: tuple[str, ...]
    wins: IntArray
    """How often the row's method is significantly better than the column's, (n, n)."""
    contests: IntArray
    """How often they could be compared, (n, n)."""


def win_loss_data(
    results: SuiteResults, references: Sequence[str] = (), metrics: Sequence[str] = METRICS
) -> WinLoss:
    """Count the pairs of methods that differ at the 5 % level (pooled t-test), on all datasets."""
    systems = [dataset.systems(references) for dataset in results.datasets]
    names = list(dict.fromkeys(runs.name for group in systems for runs in group))
    wins = np.zeros((len(names), len(names)), dtype=np.int64)
    contests = np.zeros_like(wins)
    for group in systems:
        for first in group:
            for second in group:
                place = names.index(first.name), names.index(second.name)
                outcomes = [_is_better(first, second, metric) for metric in metrics]
                known = [outcome for outcome in outcomes if outcome is not None]
                wins[place] += sum(known)
                contests[place] += len(known) if first is not second else 0
    order = np.argsort(-(wins.sum(axis=1) - wins.sum(axis=0)), kind="stable")
    order = order[contests.sum(axis=1)[order] > 0]
    return WinLoss(
        tuple(display_name(names[place]) for place in order),
        wins[np.ix_(order, order)],
        contests[np.ix_(order, order)],
    )


def _is_better(first: SystemRuns, second: SystemRuns, metric: str) -> bool | None:
    """Return whether the first is significantly better; None if they cannot be compared."""
    if not (first.has(metric) and second.has(metric)):
        return None
    if min(len(first.records), len(second.records)) < 2:
        return None
    comparison = compare_runs(first.values(metric), second.values(metric))
    # Without any spread there is no chance involved, and the difference itself decides
    is_clear = comparison.pooled_p is None or comparison.pooled_p < LEVEL
    return comparison.difference > 0 and is_clear


def win_loss_size(n_names: int) -> tuple[float, float]:
    """Return inches that give every pair a square of readable size."""
    size = max(3.6, 0.55 * n_names + 1.8)
    return size, size


def draw_win_loss(data: WinLoss, ax: "Axes | None" = None) -> "Axes":
    """Draw a square a pair with "wins–losses" of the row's method, coloured by their balance."""
    ax = axes_or_new(ax, win_loss_size(len(data.names)))
    losses = data.wins.T
    balance = (data.wins - losses) / np.maximum(data.contests, 1)
    # Only the pale half of the map, on which black numbers can be read
    ax.pcolormesh(balance, cmap=MAP, vmin=-2, vmax=2, edgecolors="white", linewidth=1)
    for row, column in np.argwhere(data.contests > 0):
        text = f"{data.wins[row, column]}–{losses[row, column]}"
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", color="black")
    places = [place + 0.5 for place in range(len(data.names))]
    ax.set_xticks(places, data.names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(places, data.names)
    ax.set_ylabel("wins–losses of …")
    ax.set_xlabel("… against")
    ax.invert_yaxis()
    ax.set_aspect("equal")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax
