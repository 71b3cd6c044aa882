"""``piran predict``: labels for texts, one line each, from a file or a stream of any size."""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from piran.cli.options import Model, TextField, Threads
from piran.data import read_texts
from piran.errors import SettingError

if TYPE_CHECKING:
    from piran.methods import Method

TEXTS_AT_ONCE = 256


def predict(
    model: Model,
    source: Annotated[
        str,
        typer.Argument(
            metavar="[FILE|-]",
            help="Texts: a .txt file or - (standard input) with one a line, or documents.",
        ),
    ] = "-",
    top: Annotated[
        int | None,
        typer.Option(metavar="K", help="The K best labels, whatever the model's cut-offs say."),
    ] = None,
    text_field: TextField = "text",
    threads: Threads = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON lines also when a person is watching.")
    ] = False,
) -> None:
    """Predict labels; one JSON line per text, `{"labels": […], "scores": {…}}`, best label first.

    On a terminal the lines are written for people unless `--json` is given.

    For example:

    - `echo "a chess engine with a board" | piran predict runs/demo`

    - `piran predict runs/demo new.jsonl --top 5 > labels.jsonl`
    """
    from piran.methods import load_method
    from piran.training import set_threads

    if top is not None and top < 1:
        raise SettingError(f"--top must be at least 1, got {top}.")
    set_threads(threads)
    method = load_method(model)
    is_readable = sys.stdout.isatty() and not as_json
    # A person who types wants an answer to each line
    size = 1 if source == "-" and sys.stdin.isatty() else TEXTS_AT_ONCE
    for ranked in predictions(method, read_texts(source, text_field=text_field), top, size):
        print(_readable(ranked) if is_readable else _json_line(ranked), flush=size == 1)


def predictions(
    method: "Method", texts: Iterable[str], top: int | None, texts_at_once: int = TEXTS_AT_ONCE
) -> Iterator[dict[str, float]]:
    """Yield for each text its labels with their scores, the best first."""
    stream = iter(texts)
    while block := list(islice(stream, texts_at_once)):
        yield from method.predict_ranked(block, top)


def _json_line(ranked: dict[str, float]) -> str:
    scores = {label: round(score, 6) for label, score in ranked.items()}
    return json.dumps({"labels": list(scores), "scores": scores}, ensure_ascii=False)


def _readable(ranked: dict[str, float]) -> str:
    return "  ".join(f"{label} {score:.2f}" for label, score in ranked.items()) or "(no label)"
