"""``piran evaluate``: a saved model against documents with known labels."""

import json
from typing import Annotated

import typer

from piran.cli.console import progress_shown
from piran.cli.options import (
    AsJson,
    Data,
    LabelField,
    LabelSeparator,
    Model,
    TextField,
    Threads,
)
from piran.data import load_corpus
from piran.errors import DataError


def evaluate(
    model: Model,
    data: Data,
    split: Annotated[
        str, typer.Option(metavar="train|validation|test", help="Which documents of DATA.")
    ] = "test",
    threads: Threads = None,
    text_field: TextField = "text",
    label_field: LabelField = "labels",
    label_separator: LabelSeparator = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a saved model; every figure is in percent but the counts.

    DATA of one file has no splits and is evaluated whole.

    For example:

    - `piran evaluate runs/demo debtags`

    - `piran evaluate runs/tickets new-tickets.csv --label-field tags --json`
    """
    from piran.encoders.instance_cache import instance_cache, user_cache_folder
    from piran.experiments.run import evaluate as evaluate_method
    from piran.methods import load_method
    from piran.training import set_threads

    set_threads(threads)
    method = load_method(model)
    with progress_shown(), instance_cache(user_cache_folder()):
        corpus = load_corpus(
            data,
            text_field=text_field,
            label_field=label_field,
            label_separator=label_separator,
        )
        is_whole = list(corpus.splits) == ["train"] and split == "test"
        documents = corpus.train if is_whole else corpus.splits.get(split)
        if documents is None:
            raise DataError(
                f"{data} has no split {split!r}, only {', '.join(corpus.splits)}; choose with --split."
            )
        metrics = evaluate_method(method, documents)
    if as_json:
        print(json.dumps({key: round(value, 4) for key, value in metrics.items()}, indent=1))
        return
    width = max(len(key) for key in metrics)
    for key, value in metrics.items():
        shown = f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
        print(f"{key:{width}}  {shown:>8}")
