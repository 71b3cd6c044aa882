"""``piran demo``: the main job on the corpus that comes with the package."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from piran.cli.console import progress_shown, say
from piran.cli.options import AsJson, Seed, Threads
from piran.cli.train import show_run
from piran.data import load_corpus

if TYPE_CHECKING:
    from piran.methods import Method

DATASET, PRESET = "debtags", "quick"
NEXT = (
    f"This was the preset {PRESET}: the paper's method on TF-IDF. The default of piran train takes a few "
    f"minutes and finds more of the rare labels: piran train {DATASET} --out runs/{DATASET}"
)


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
    from piran.experiments.run import check_out, run
    from piran.training import set_threads

    check_out(out)
    set_threads(threads)
    method = demo_method(seed)
    with progress_shown():
        corpus = load_corpus(DATASET)
        say(
            f"{DATASET}: {len(corpus.train):,} Debian package descriptions, "
            f"{len(corpus.label_names):,} labels, most of them rare. Learning them takes a minute …"
        )
        record = run(corpus, method, out)
    show_run(record, out, as_json=as_json)
    say(NEXT)


def demo_method(seed: int) -> "Method":
    """Return what the demo trains: the quick preset with No-Aug and both controls beside it."""
    from piran.augment.variants import CONTROLS, NO_AUG
    from piran.experiments.settings import build_method, resolved_settings

    chosen = {"references": [NO_AUG, *CONTROLS], "seed": seed}
    settings = resolved_settings("piran", preset=PRESET, encoder=None, assignments=chosen)
    return build_method("piran", settings)
