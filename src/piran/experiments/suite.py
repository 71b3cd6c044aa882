"""Suites: the cells of dataset x method x settings x seed, run once each, whatever interrupts.

The folder of a suite holds ``suite.json`` (the plan, for tables and figures), a folder a dataset with
``dataset.json`` and the cells' folders, and ``stage1`` (the cache, which may be deleted at any time).
"""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from piran.data.corpus import Corpus
from piran.data.datasets import DATASETS
from piran.data.statistics import corpus_statistics
from piran.errors import DataError, PiranError, SettingError, UnknownNameError
from piran.experiments.cells import Cell, DataSource, State, cell_state
from piran.experiments.config import CellSpec, Settings, Suite, SweepSpec
from piran.experiments.engines.base import Engine, Observer, Task, Unobserved
from piran.experiments.sensitivity import Point, Statistics, point_settings, sweep_points
from piran.experiments.settings import build_method, resolved_settings
from piran.methods.base import METHODS
from piran.registry import suggestion
from piran.storage import write_text_atomically

PLAN_FILE = "suite.json"
DATASET_FILE = "dataset.json"
CACHE_FOLDER = "stage1"
PLAN_FORMAT = 1
MISSPELT = 0.8
"""Likeness of two names, of at most 1, from which on one is taken for the other misspelt; that of
debtags-train and debtags is 0.7."""


@dataclass(frozen=True)
class PlannedDataset:
    """A dataset of a suite: where it is and what it is like."""

    source: DataSource
    statistics: Statistics

    @property
    def name(self) -> str:
        """The corpus's name."""
        return str(self.statistics["name"])


@dataclass(frozen=True)
class Plan:
    """All cells of a suite, in the order in which they are begun."""

    suite: Suite
    datasets: tuple[PlannedDataset, ...]
    cells: tuple[Cell, ...]

    def selected(self, only: Sequence[str]) -> "list[Cell]":
        """Return the cells of some of the suite's cells and sweeps, by name; none named: all."""
        known = list(dict.fromkeys(cell.sweep or cell.name for cell in self.cells))
        for name in only:
            if name not in known:
                raise UnknownNameError(
                    f"Suite {self.suite.name} has no cell or sweep {name!r}. "
                    f"{suggestion(name, known)}"
                )
        return [cell for cell in self.cells if not only or (cell.sweep or cell.name) in only]


@dataclass(frozen=True)
class Standing:
    """How a suite stands."""

    states: Mapping[Cell, State]

    def count(self, state: State) -> int:
        """Return how many cells are in a state."""
        return sum(found == state for found in self.states.values())


def plan_suite(
    suite: Suite,
    folder: Path,
    *,
    sources: Sequence[DataSource] | None = None,
    seeds: int | None = None,
) -> Plan:
    """Work out all cells and check their settings, before anything is run.

    ``sources`` and ``seeds`` (a number N: 0 … N-1) take the place of the suite's own. ``folder`` is
    looked into for what is known about the datasets.
    """
    if folder.is_file():
        raise DataError(f"{folder} is a file; name a folder for the suite.")
    if seeds is not None:
        suite = _with_seeds(suite, seeds)
    wanted = sources or [DataSource(name) for name in suite.data]
    datasets = tuple(_planned_dataset(source, folder) for source in wanted)
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(names):
        raise DataError(f"Two of the datasets have one name ({', '.join(names)}); rename a folder.")
    _check_named_datasets(suite, names)
    cells = tuple(cell for dataset in datasets for cell in _cells_of(suite, dataset))
    _check_shared(suite, cells)
    return Plan(suite, datasets, cells)


def suite_standing(cells: Sequence[Cell], folder: Path) -> Standing:
    """Look up which cells are finished, failed or still waiting."""
    return Standing({cell: cell_state(cell, folder) for cell in cells})


def run_suite(
    plan: Plan,
    folder: Path,
    engine: Engine,
    *,
    only: Sequence[str] = (),
    observer: Observer | None = None,
    retry_failed: bool = False,
) -> Standing:
    """Run the cells that are not finished and return how they stand afterwards.

    ``only`` names cells and sweeps to run; the others wait. Cells that failed before are left alone
    unless ``retry_failed``.
    """
    cells = plan.selected(only)
    write_plan(plan, folder)
    standing = suite_standing(cells, folder)
    wanted = ("waiting", "failed") if retry_failed else ("waiting",)
    cache = (folder / CACHE_FOLDER).absolute()
    tasks = [
        Task(cell, (folder / cell.folder).absolute(), cache)
        for cell, state in standing.states.items()
        if state in wanted
    ]
    engine.run(tasks, observer or Unobserved())
    return suite_standing(cells, folder)


def write_plan(plan: Plan, folder: Path) -> None:
    """Write what tables and figures need to know; datasets planned earlier stay in the plan."""
    for dataset in plan.datasets:
        text = json.dumps(dataset.statistics, ensure_ascii=False, indent=1)
        write_text_atomically(folder / dataset.name / DATASET_FILE, text + "\n")
    earlier = _earlier_datasets(plan.suite.name, folder)
    state = {
        "format": PLAN_FORMAT,
        "name": plan.suite.name,
        "description": plan.suite.description,
        "main": plan.suite.main_cell,
        "datasets": {**earlier, **{d.name: _plan_of(plan, d.name) for d in plan.datasets}},
    }
    text = json.dumps(state, ensure_ascii=False, indent=1)
    write_text_atomically(folder / PLAN_FILE, text + "\n")


def _earlier_datasets(suite: str, folder: Path) -> dict[str, Any]:
    if not (folder / PLAN_FILE).is_file():
        return {}
    earlier = read_plan(folder)
    if earlier["name"] != suite:
        raise DataError(
            f"{folder} holds the suite {earlier['name']!r}, not {suite!r}; give another --out."
        )
    return dict(earlier["datasets"])


def read_plan(folder: Path) -> dict[str, Any]:
    """Read ``suite.json``: name, description and, by dataset, the cells in their order."""
    try:
        state = json.loads((folder / PLAN_FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            f"{folder} holds no suite (it has no {PLAN_FILE}); give the folder of a suite that "
            "piran bench has begun."
        ) from None
    except ValueError as error:
        raise DataError(
            f"{folder / PLAN_FILE} is damaged ({error}); run piran bench again."
        ) from error
    is_plan = isinstance(state, dict) and state.get("format") == PLAN_FORMAT
    if not is_plan or not {"name", "description", "main", "datasets"} <= state.keys():
        raise DataError(f"{folder / PLAN_FILE} is not a plan of format {PLAN_FORMAT}.")
    return dict(state)


def read_statistics(folder: Path) -> Statistics:
    """Read the ``dataset.json`` in the folder of a dataset."""
    path = folder / DATASET_FILE
    try:
        statistics = json.loads(path.read_text(encoding="utf-8"))
        return {**statistics, "checksum": str(statistics["checksum"])}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{path} cannot be read ({error}); run piran bench again.") from error


def _plan_of(plan: Plan, dataset: str) -> list[dict[str, Any]]:
    """Return the cells of a dataset, each once for all its seeds."""
    cells = {cell.name: cell for cell in plan.cells if cell.dataset == dataset}
    return [
        {"name": name, "method": cell.method, "sweep": cell.sweep, "point": dict(cell.point)}
        for name, cell in cells.items()
    ]


def _planned_dataset(source: DataSource, folder: Path) -> PlannedDataset:
    corpus = source.load()
    if corpus.test is None or not len(corpus.test):
        raise DataError(
            f"{source.name_or_path} has no test split, so there is nothing to score on; give a folder "
            "with a train and a test file, or set documents aside with --hold-out 0.2."
        )
    if Path(source.name_or_path).exists():  # relative paths are the caller's, not the workers'
        source = replace(source, name_or_path=str(Path(source.name_or_path).resolve()))
    return PlannedDataset(source, _statistics(corpus, folder / corpus.name))


def _statistics(corpus: Corpus, folder: Path) -> Statistics:
    """Return the statistics of a corpus, from the file if it is of the same texts and labels."""
    with suppress(DataError):
        known = read_statistics(folder)
        if known["checksum"] == corpus.checksum():
            return known
    return corpus_statistics(corpus).to_json()


def _cells_of(suite: Suite, dataset: PlannedDataset) -> Iterator[Cell]:
    """Yield the cells of a dataset: all of a seed before the next, so that tables fill evenly."""
    for number, seed in enumerate(suite.seeds):
        for spec in suite.cells:
            if _is_taken(spec, number):
                yield _cell(suite, spec, dataset, seed)
        for sweep in suite.sweeps:
            if _is_taken(sweep, number):
                yield from _points(suite, sweep, dataset, seed)


def _is_taken(spec: CellSpec | SweepSpec, number: int) -> bool:
    """Return whether a cell or sweep wants the seed of this number."""
    return spec.seeds is None or number < spec.seeds


def _points(suite: Suite, sweep: SweepSpec, dataset: PlannedDataset, seed: int) -> Iterator[Cell]:
    spec = suite.cell(sweep.cell)
    try:
        points = [
            (point, {**sweep.settings, **point_settings(point, dataset.statistics)})
            for point in sweep_points(sweep.vary_on(dataset.name), dataset.statistics)
        ]
    except PiranError as error:
        where = f"Suite {suite.name}, sweep {sweep.name} on {dataset.name}"
        raise SettingError(f"{where}: {error}") from error
    for point, settings in points:
        yield _cell(suite, spec, dataset, seed, more=settings, sweep=sweep, point=point)


def _cell(
    suite: Suite,
    spec: CellSpec,
    dataset: PlannedDataset,
    seed: int,
    *,
    more: Settings | None = None,
    sweep: SweepSpec | None = None,
    point: Point | None = None,
) -> Cell:
    values = ",".join(str(value) for value in (point or {}).values())
    name = f"{sweep.name}@{values}" if sweep else spec.title
    given = {**suite.settings, **spec.settings_on(dataset.name), **(more or {}), "seed": seed}
    try:
        given = {**_known(suite.shared, spec, given), **given}
        settings = resolved_settings(
            spec.method, preset=spec.preset, encoder=None, assignments=given
        )
        resolved = build_method(spec.method, settings).settings()
    except PiranError as error:
        raise SettingError(f"Suite {suite.name}, cell {name}: {error}") from error
    return Cell(
        dataset=dataset.name,
        source=dataset.source,
        checksum=str(dataset.statistics["checksum"]),
        name=name,
        method=spec.method,
        settings=resolved,
        seed=seed,
        sweep=sweep.name if sweep else None,
        point=point or {},
    )


def _known(shared: Settings, spec: CellSpec, given: Settings) -> Settings:
    """Return the shared settings that a cell's method knows."""
    known = METHODS[spec.method].setting_names(given)
    return {key: value for key, value in shared.items() if key in known}


def _check_named_datasets(suite: Suite, planned: Sequence[str]) -> None:
    """Refuse settings on a dataset whose name is nearly that of one there is: it is misspelt.

    Any other unknown name may be that of a folder which this run leaves out.
    """
    known = [*planned, *DATASETS]
    settings_on = [(cell.title, cell.on.keys()) for cell in suite.cells]
    settings_on += [(sweep.name, sweep.on.keys()) for sweep in suite.sweeps]
    for title, datasets in settings_on:
        for name in datasets:
            if name not in known and difflib.get_close_matches(name, known, cutoff=MISSPELT):
                raise SettingError(
                    f"Suite {suite.name}, {title}: settings on {name!r}, which is no dataset. "
                    f"{suggestion(name, known)}"
                )


def _check_shared(suite: Suite, cells: Sequence[Cell]) -> None:
    """Refuse a shared setting that no method knows: it is misspelt."""
    known = {setting for cell in cells for setting in cell.settings}
    for key in suite.shared:
        if key not in known:
            raise SettingError(
                f"Suite {suite.name}: no method knows the shared setting {key!r}. "
                f"{suggestion(key, sorted(known))}"
            )


def _with_seeds(suite: Suite, seeds: int) -> Suite:
    if seeds < 1:
        raise SettingError(f"--seeds must be at least 1, got {seeds}.")
    return suite.model_copy(update={"seeds": list(range(seeds))})
