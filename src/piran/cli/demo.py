"""``piran demo``: the main job on the corpus that comes with the package."""

from pathlib import Path
from typing import Annotated

import typer

from piran.cli.console import progress_shown, say
from piran.cli.options import AsJson, Seed, Threads
from piran.cli.train import show_run
from piran.data import load_corpus

DATASET, PRESET = "debtags", "quick"


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the run.")] = Path(
        "runs/demo"
    ),
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Learn the embedded debtags corpus, rescue its rare labels, and write a page that shows it.

    The table sets PIRAN beside the same model without augmentation and beside two controls: tail rows
    retrained on the real documents, and on repetitions of them.

    Example: `piran demo --seed 1`
    """
    from piran.augment.variants import CONTROLS, NO_AUG
    from piran.experiments.run import check_out, run
    from piran.experiments.settings import build_method, resolved_settings
    from piran.training import set_threads

    check_out(out)
    set_threads(threads)
    chosen = {"references": [NO_AUG, *CONTROLS], "seed": seed}
    method = build_method(
        "piran", resolved_settings("piran", preset=PRESET, encoder=None, assignments=chosen)
    )
    with progress_shown():
        corpus = load_corpus(DATASET)
        say(
            f"{DATASET}: {len(corpus.train):,} Debian package descriptions, "
            f"{len(corpus.label_names):,} labels, most of them rare. Learning them takes a minute …"
        )
        record = run(corpus, method, out)
    show_run(record, out, as_json=as_json)
