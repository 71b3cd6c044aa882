"""``piran bench``: a suite of methods, datasets, settings and seeds, resumed wherever it stopped."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from piran.cli.console import progress_shown, say
from piran.cli.options import AsJson, LabelField, LabelSeparator, TextField
from piran.errors import PiranError, SettingError

if TYPE_CHECKING:
    from piran.experiments.engines import Engine
    from piran.experiments.suite import Plan, Standing

ENGINES = ("local", "ray")
RUNS = Path("runs")


class CellsFailedError(PiranError):
    """Cells of a suite failed."""


def bench(
    suite: Annotated[
        str,
        typer.Argument(metavar="SUITE", help="A suite's name (paper) or a TOML file of your own."),
    ],
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATA",
            help="In place of the suite's datasets: a name (debtags) or a folder with train and "
            "test files; repeat for several.",
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", help="Run seeds 0 to N-1, for example 5.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Cells at a time, for example 2; else 1, or all processors of a Ray cluster.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", help="Threads of a cell; else 1 if cells run side by side."),
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="local|ray", help="Where cells run: here, or on a Ray cluster.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT|auto",
            help="With --engine ray: a cluster begun with ray start --head; else one is started here.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Run only this cell or sweep of the suite; repeat."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the records; else runs/ and the suite's name."),
    ] = None,
    retry_failed: Annotated[bool, typer.Option(help="Run cells again that failed before.")] = False,
    dry_run: Annotated[
        bool, typer.Option(help="Only say which cells there are and how they stand.")
    ] = False,
    hold_out: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            help="Set aside so much of the --data to test on, where they have no test split.",
        ),
    ] = None,
    text_field: TextField = "text",
    label_field: LabelField = "labels",
    label_separator: LabelSeparator = None,
    as_json: AsJson = False,
) -> None:
    """Run a suite of experiments; run the same command again to continue where it stopped.

    Finished cells are never repeated. A cell that fails leaves an error.json, and the others go on.
    Then: `piran table`, `piran plot` and `piran report`.

    For example:

    - `piran bench paper --data debtags --seeds 5 --jobs 2`

    - `piran bench my-suite.toml --only piran --dry-run`

    - `piran bench paper --engine ray --address auto`
    """
    from piran.experiments.cells import DataSource
    from piran.experiments.config import read_suite
    from piran.experiments.suite import plan_suite, run_suite, suite_standing
    from piran.experiments.watch import SuiteWatch

    described = read_suite(suite)
    folder = out or RUNS / described.name
    runner = _engine(engine, jobs, threads, address)
    fields = (text_field, label_field, label_separator, hold_out)
    sources = [DataSource(name, *fields) for name in data] if data else None
    with progress_shown():
        plan = plan_suite(described, folder, sources=sources, seeds=seeds)
    standing = suite_standing(plan.selected(only or ()), folder)
    _say_beginning(standing, folder, retry_failed=retry_failed)
    if not dry_run:
        from piran.cli.live import suite_shown

        try:
            with suite_shown(SuiteWatch(standing, runner.n_at_once())) as observer:
                standing = run_suite(
                    plan,
                    folder,
                    runner,
                    only=only or (),
                    observer=observer,
                    retry_failed=retry_failed,
                )
        except KeyboardInterrupt:
            say("Stopped. Run the same command again to go on.")
            raise
    _show(plan, standing, folder, as_json=as_json)
    if standing.count("failed") and not dry_run:
        raise CellsFailedError(
            f"{standing.count('failed')} of {len(standing.states)} cells failed; the others are done. "
            f"Read error.json in their folders under {folder}, then add --retry-failed."
        )


def _engine(name: str, jobs: int | None, threads: int | None, address: str | None) -> "Engine":
    from piran.experiments.engines import LocalEngine, RayEngine

    if name == "ray":
        return RayEngine(address, jobs=jobs, threads=threads)
    if name != "local":
        raise SettingError(f"--engine must be one of {', '.join(ENGINES)}, got {name!r}.")
    if address is not None:
        raise SettingError("--address is for --engine ray; leave it out with --engine local.")
    return LocalEngine(1 if jobs is None else jobs, threads)


def _say_beginning(standing: "Standing", folder: Path, *, retry_failed: bool) -> None:
    finished, failed = standing.count("finished"), standing.count("failed")
    text = f"{len(standing.states)} cells in {folder}: {finished} are finished"
    if failed:
        again = "run again" if retry_failed else "left alone (--retry-failed runs them again)"
        text += f", {failed} failed before and are {again}"
    say(f"{text}.")


def _show(plan: "Plan", standing: "Standing", folder: Path, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_summary(plan, standing, folder), indent=1))
        return
    for cell, state in standing.states.items():
        if state != "finished":
            print(f"{state}: {cell.title} ({folder / cell.folder})")
    print(f"{standing.count('finished')} of {len(standing.states)} cells finished in {folder}")


def _summary(plan: "Plan", standing: "Standing", folder: Path) -> dict[str, Any]:
    return {
        "suite": plan.suite.name,
        "folder": str(folder),
        "datasets": [dataset.name for dataset in plan.datasets],
        "n_cells": len(standing.states),
        **{f"n_{state}": standing.count(state) for state in ("finished", "failed", "waiting")},
        "cells": [
            {
                "dataset": cell.dataset,
                "name": cell.name,
                "seed": cell.seed,
                "state": state,
                "folder": str(folder / cell.folder),
            }
            for cell, state in standing.states.items()
        ],
    }
