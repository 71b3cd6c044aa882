"""Figures as SVG that stands inside a page and takes on its colours."""

import io
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from piran.errors import MissingExtraError
from piran.plots.style import COLOURS, FAINT, INK, PANEL_SIZE, new_figure, style_settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_VARIABLES = {INK: "currentColor", FAINT: "var(--faint)"} | {
    colour: f"var(--{name})" for name, colour in COLOURS.items()
}


def missing_reason() -> str | None:
    """Return why there can be no figures and what to do about it; None if there can."""
    try:
        new_figure()
    except MissingExtraError as error:
        return str(error)
    return None


def inline_svg(
    draw: Callable[["Axes"], object],
    *,
    description: str,
    size: tuple[float, float] = PANEL_SIZE,
) -> str:
    """Return what ``draw`` draws as an ``<svg>`` element; the same drawing gives the same text.

    ``description`` is read out instead of the picture. Colours become the page's variables, so that
    the figure follows a dark page.
    """
    figure = new_figure(size)
    import matplotlib  # after new_figure, which says what to install

    # The salt makes the names of the parts reproducible and different in each figure of a page.
    settings: Any = style_settings() | {"svg.hashsalt": description}
    with matplotlib.rc_context(settings):
        draw(figure.add_subplot())
        buffer = io.StringIO()
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", metadata=nothing)
    return _embedded(buffer.getvalue(), description)


def _embedded(svg: str, description: str) -> str:
    """Cut a stand-alone SVG file down to an element of a page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;]*; ", "", svg)  # the page's own
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # figure_1, axes_1: the same in every figure
    view = re.search(r'viewBox="[^"]*"', svg)
    opening = f'<svg {view[0] if view else ""} role="img" aria-label="{escape(description)}">'
    svg = re.sub(r"<svg[^>]*>", lambda _: opening, svg, count=1)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    return svg
