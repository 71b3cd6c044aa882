"""Training documents of each label against its rank, as in the paper's Figure 1."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from piran.data.labels import LabelSpace
from piran.plots.style import COLOURS, INK, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEAD_COLOUR = COLOURS["blue"]
TAIL_COLOUR = COLOURS["vermilion"]


@dataclass(frozen=True)
class LabelFrequency:
    """Training documents per label, most frequent first; labels without any are left out."""

    title: str
    counts: tuple[int, ...]
    n_head: int
    """The first ``n_head`` labels are head, the others tail."""

    @property
    def n_tail(self) -> int:
        """Number of tail labels."""
        return len(self.counts) - self.n_head


def label_frequency_data(label_space: LabelSpace, *, title: str = "") -> LabelFrequency:
    """Return the counts in the order of the curve: head labels, then tail labels."""
    head = sorted(label_space.counts[label_space.is_head].tolist(), reverse=True)
    tail = sorted(label_space.counts[label_space.is_tail].tolist(), reverse=True)
    return LabelFrequency(title, tuple(head + tail), len(head))


def draw_label_frequency(data: LabelFrequency, ax: "Axes | None" = None) -> "Axes":
    """Draw the curve, head and tail in two colours, with a line where the tail begins."""
    axes = axes_or_new(ax)
    edges = [rank + 0.5 for rank in range(len(data.counts) + 1)]  # a label is a step of width 1
    for name, colour, first, last in (
        (f"head ({data.n_head:,} labels)", HEAD_COLOUR, 0, data.n_head),
        (f"tail ({data.n_tail:,} labels)", TAIL_COLOUR, data.n_head, len(data.counts)),
    ):
        ends = edges[first : last + 1]
        heights = [
            *data.counts[first:last],
            *data.counts[first:last][-1:],
        ]  # the last step has an end
        if heights:
            axes.fill_between(
                ends, heights, 0.8, step="post", color=colour, alpha=0.25, linewidth=0
            )
        axes.step(ends[: len(heights)], heights, where="post", color=colour, label=name)
    axes.axvline(data.n_head + 0.5, color=INK, linestyle="--", linewidth=1)
    axes.set(yscale="log", xlabel="label, from most to least frequent", title=data.title)
    axes.set_ylabel("training documents (log scale)")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(bottom=0.8)  # so that labels with one document are seen
    axes.set_xlim(0.5, max(len(data.counts), 1) + 0.5)
    axes.legend(frameon=False)
    return axes


def save_label_frequency(data: LabelFrequency, path: Path) -> None:
    """Draw the curve into a file; its extension (.svg, .png, .pdf) says the format."""
    axes = draw_label_frequency(data)
    figure = axes.get_figure(root=True)
    assert figure is not None  # an Axes drawn here always has one
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, facecolor="white")  # readable on dark pages too
