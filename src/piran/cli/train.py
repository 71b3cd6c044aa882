"""``piran train``: from documents to a saved model, a run record and a page."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from piran.cli.console import progress_shown, say
from piran.cli.options import (
    AsJson,
    Data,
    LabelField,
    LabelSeparator,
    Seed,
    Tail,
    TextField,
    Threads,
    parse_tail,
)
from piran.data import load_corpus

Out = Annotated[
    Path,
    typer.Option(metavar="DIR", help="Folder of the run: model/, record.json and report.html."),
]


def train(
    data: Data,
    out: Out,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="What learns, for example piran or linear.")
    ] = "piran",
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="quick|balanced|best",
            help="A named set of settings: quick (the paper's method on TF-IDF, for a first look in "
            "seconds), balanced (a frozen transformer, exact words and label texts, minutes; without "
            "the extra [transformers] the same on TF-IDF), best (the transformer fine-tuned, up to an "
            "hour or two). Else balanced.",
        ),
    ] = None,
    encoder: Annotated[
        str,
        typer.Option(
            metavar="auto|NAME",
            help="What reads the texts: tfidf, static, transformer (frozen), finetuned (a "
            "transformer that is trained), hybrid (several), bilstm, or what the preset says.",
        ),
    ] = "auto",
    tail: Tail = "auto",
    hold_out: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION", help="Set aside so much of DATA to test on, for example 0.2."
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    device: Annotated[
        str | None, typer.Option(metavar="cpu|cuda", help="Where networks are trained.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any setting, for example l2=0.3; repeat."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--no-resume",
            help="Go on after the last epoch of the same training, if one was stopped, or begin anew.",
        ),
    ] = True,
    text_field: TextField = "text",
    label_field: LabelField = "labels",
    label_separator: LabelSeparator = None,
    as_json: AsJson = False,
) -> None:
    """Train on documents, evaluate on their test split, and keep model, record and page in a folder.

    For example:

    - `piran train debtags --out runs/debtags`

    - `piran train tickets.csv --label-field tags --hold-out 0.2 --out runs/tickets`

    - `piran train my-folder --encoder bilstm --seed 1 --set embeddings=skipgram --out runs/lstm`

    - `piran train debtags --encoder finetuned --set max_epochs=3 --out runs/finetuned`
    """
    from piran.encoders.instance_cache import instance_cache, user_cache_folder
    from piran.experiments.run import check_out, run
    from piran.experiments.settings import (
        build_method,
        choose_preset,
        parse_assignments,
        resolved_settings,
    )
    from piran.training import set_threads
    from piran.training.checkpoint import FOLDER, checkpoints

    check_out(out)
    set_threads(threads)
    given = {**parse_assignments(assignments or []), **_given(device=device)}
    named = given.get("encoder") if encoder == "auto" else encoder
    choice = choose_preset(method, preset=preset, encoder=named)
    if choice.reason:
        say(choice.reason)
    settings = resolved_settings(
        method, preset=choice.name, encoder=choice.encoder, assignments=given
    )
    learner = build_method(method, {**settings, "seed": seed, **_given(tail=parse_tail(tail))})
    cache = user_cache_folder()
    with (
        progress_shown(),
        instance_cache(cache),
        checkpoints(cache and cache / FOLDER, is_resumed=resume, tell=say),
    ):
        corpus = load_corpus(
            data,
            text_field=text_field,
            label_field=label_field,
            label_separator=label_separator,
        )
        if hold_out is not None:
            corpus = corpus.with_test_split(hold_out, seed)
        say(f"{corpus.name}: {len(corpus.train):,} training documents; training {method} …")
        record = run(corpus, learner, out)
    show_run(record, out, as_json=as_json)


def show_run(record: Any, out: Path, *, as_json: bool) -> None:  # noqa: ANN401
    """Print what a run gave: its record's path and scores as JSON, or a table."""
    from piran.cli.summary import print_summary
    from piran.experiments.records import RECORD_NAME
    from piran.experiments.run import REPORT

    if as_json:
        scores = record.scores if record.systems else {}
        print(json.dumps({"record": str(out / RECORD_NAME), **scores}, indent=1))
        return
    print_summary(record)
    print(f"model   {out / 'model'}\nrecord  {out / RECORD_NAME}\npage    {out / REPORT}")


def _given(**values: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return what was given at all."""
    return {name: value for name, value in values.items() if value is not None}
