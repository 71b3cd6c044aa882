"""One tail label's instances, real and generated, in two principal components."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from piran.experiments.records import RunRecord
from piran.plots.style import COLOURS, FAINT, INK, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_POINTS = 500
"""Points of one kind that are drawn; of more, every so-manieth."""

Point = tuple[float, float]


@dataclass(frozen=True)
class PointGroup:
    """Points of one kind, drawn alike."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True)
class _Look:
    marker: str
    size: float
    colour: str
    edge: str = "none"
    opacity: float = 1.0


_LOOKS = {
    "other documents": _Look("o", 12, FAINT, opacity=0.8),
    "generated": _Look("o", 16, COLOURS["sky"], opacity=0.7),
    "test documents": _Look("D", 34, COLOURS["vermilion"], INK),
    "training documents": _Look("o", 52, COLOURS["blue"], INK),
    "prototype": _Look("*", 200, COLOURS["yellow"], INK),
}


def tail_picture_data(record: RunRecord) -> list[PointGroup]:
    """Return the record's points from the background to the front; empty without a picture."""
    picture = record.picture
    if picture is None:
        return []
    groups = [
        PointGroup("other documents", _thinned(picture.background)),
        PointGroup("generated", _thinned(picture.generated)),
        PointGroup("test documents", _thinned(picture.held_out)),
        PointGroup("training documents", _thinned(picture.real)),
        PointGroup("prototype", [picture.prototype]),
    ]
    return [group for group in groups if group.points]


def draw_tail_picture(rows: Sequence[PointGroup], ax: "Axes | None" = None) -> "Axes":
    """Scatter the groups on axes of one scale."""
    ax = axes_or_new(ax)
    for group in rows:
        look = _LOOKS[group.name]
        horizontal, vertical = zip(*group.points, strict=True)
        ax.scatter(
            horizontal,
            vertical,
            s=look.size,
            marker=look.marker,
            facecolor=look.colour,
            edgecolor=look.edge,
            linewidth=0.8,
            alpha=look.opacity,
            label=group.name,
        )
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel("first principal component")
    ax.set_ylabel("second principal component")
    ax.set_xticks([])
    ax.set_yticks([])
    if rows:
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(-0.04, 1.0),
            ncols=3,
            frameon=False,
            fontsize="small",
            handletextpad=0.0,
            columnspacing=0.8,
        )
    return ax


def _thinned(points: Sequence[Point]) -> list[Point]:
    step = -(-len(points) // MAX_POINTS) or 1
    return list(points[::step])
