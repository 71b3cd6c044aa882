"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from piran.errors import SettingError

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A dataset's name (debtags), a folder with train and test files, or one file.",
    ),
]
Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A saved model's folder, or the --out folder of a run."),
]
TextField = Annotated[
    str, typer.Option(metavar="NAME", help="Field that holds the text, for example body.")
]
LabelField = Annotated[
    str, typer.Option(metavar="NAME", help="Field that holds the labels, for example tags.")
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help='What divides labels written as one string, for example "|". In CSV and TSV ";" if '
        "not given.",
    ),
]
Tail = Annotated[
    str,
    typer.Option(
        metavar="N|FRACTION|auto",
        help="Tail labels: a number (350), a fraction (0.5), or the dataset's own figure, "
        "else two thirds.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Of everything random, for example 1.")]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Threads to compute with, for example 2; else as many as cores."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]


def parse_tail(text: str) -> int | float | None:
    """Return what ``--tail`` means: a number of labels, a fraction, or None for auto."""
    if text == "auto":
        return None
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        raise SettingError(
            f"--tail must be a number of labels (350), a fraction (0.5) or auto, got {text!r}."
        ) from None
