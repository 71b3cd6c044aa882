"""The shared look of the figures."""

import sys

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from piran.errors import MissingExtraError
from piran.plots.style import COLOURS, INK, PANEL_SIZE, axes_or_new, new_figure


def test_new_axes_have_the_style_and_their_own_figure() -> None:
    ax = axes_or_new(None)
    assert isinstance(ax.figure, Figure)
    assert tuple(ax.figure.get_size_inches()) == PANEL_SIZE
    assert to_hex(ax.spines["left"].get_edgecolor()) == INK
    assert not ax.spines["top"].get_visible()


def test_given_axes_are_used() -> None:
    ax = new_figure((2.0, 1.0)).add_subplot()
    assert axes_or_new(ax) is ax


def test_colours_are_as_matplotlib_writes_them() -> None:
    assert all(to_hex(colour) == colour for colour in COLOURS.values())


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'piran\[plots\]'"):
        axes_or_new(None)
