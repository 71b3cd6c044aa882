"""``piran plot``: the results of a suite as figures."""

from pathlib import Path
from typing import Annotated

import typer

from piran.cli.table import Suites, suite_folder
from piran.errors import DataError, UnknownNameError
from piran.registry import suggestion


def plot(
    suites: Suites,
    figures: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="labels, frequency, ablation, sensitivity or wins; repeat. Without it, all.",
        ),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format", metavar="svg|png|pdf", help="Form of the files; repeat. Else svg and png."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of the files; else figures/ in the suite's folder."
        ),
    ] = None,
) -> None:
    """Draw the figures of a suite from its records and print the files' names.

    For example:

    - `piran plot runs/paper`

    - `piran plot paper --figure ablation --figure sensitivity --format pdf --out figures`
    """
    from piran.experiments.results import read_results
    from piran.plots.suite_figures import FORMATS, KINDS, save_figure, suite_figures

    for name in figures or ():
        if name not in KINDS:
            raise UnknownNameError(f"Unknown figure {name!r}. {suggestion(name, list(KINDS))}")
    folders = [suite_folder(suite) for suite in suites]
    found = suite_figures(read_results(*folders), figures or ())
    if not found:
        raise DataError(f"{folders[0]} has no finished cells for these figures yet.")
    for figure in found:
        for path in save_figure(figure, out or folders[0] / "figures", formats or FORMATS):
            print(path)
