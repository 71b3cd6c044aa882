"""The look that all figures share: colours for every eye, quiet axes, no global state.

Colours are those of Okabe and Ito, which stay apart for colour-blind readers. Figures are made
without pyplot, so drawing one leaves nothing behind and needs no display.
"""

from typing import TYPE_CHECKING, Any

from piran.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "green": "#009e73",
    "yellow": "#f0e442",
    "blue": "#0072b2",
    "vermilion": "#d55e00",
    "purple": "#cc79a7",
}
INK = "#24292f"
"""Text and axes."""
FAINT = "#c4c9cf"
"""Grid lines and whatever is only background."""
BEFORE = COLOURS["orange"]
AFTER = COLOURS["blue"]

PANEL_SIZE = (4.8, 3.6)
"""Inches; two stand side by side on a wide page, one fills a phone."""

_SETTINGS: dict[str, Any] = {
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "font.size": 10,
    "axes.titlesize": 11,
    "legend.frameon": False,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
}


def style_settings() -> dict[str, Any]:
    """Return the settings for ``matplotlib.rc_context``."""
    return dict(_SETTINGS)


def new_figure(size: tuple[float, float] = PANEL_SIZE) -> "Figure":
    """Return an empty figure of ``size`` inches in this style."""
    matplotlib = _matplotlib()
    with matplotlib.rc_context(_SETTINGS):
        figure: Figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
    return figure


def axes_or_new(ax: "Axes | None", size: tuple[float, float] = PANEL_SIZE) -> "Axes":
    """Return ``ax``, or the axes of a new figure in this style."""
    if ax is not None:
        return ax
    figure = new_figure(size)
    with _matplotlib().rc_context(_SETTINGS):
        return figure.add_subplot()


def _matplotlib() -> Any:  # noqa: ANN401 - a module
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise MissingExtraError(
            "Figures need matplotlib, which is not installed; run: pip install 'piran[plots]'"
        ) from error
    return matplotlib
