"""The results of suites: records read back, grouped by dataset and system, fit to be averaged.

Runs that did not converge are left out and counted. Runs are averaged only if nothing but the seed
differs between them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from piran.errors import DataError
from piran.experiments.cells import as_json, failure_in, finished_record
from piran.experiments.records import RECORD_NAME, RunRecord, SystemScores
from piran.experiments.settings import completed_settings
from piran.experiments.suite import DATASET_FILE, read_plan, read_statistics

NOT_CONVERGED = "not converged"


@dataclass(frozen=True)
class Mean:
    """A metric over seeds."""

    value: float
    deviation: float | None
    """Standard deviation over the seeds; None for one seed."""
    n_seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Mean":
        """Average the values of the seeds, of which there is at least one."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


@dataclass(frozen=True)
class SystemRuns:
    """One system on one dataset over its seeds: a cell's method, or one of its reference points."""

    cell: str
    method: str
    system: str
    """Its name in the records."""
    records: tuple[RunRecord, ...]
    """Converged ones, by seed."""
    n_not_converged: int = 0
    n_failed: int = 0
    n_unreadable: int = 0
    """Runs whose record is damaged."""
    point: Mapping[str, Any] = field(default_factory=dict)
    """Values of the varied settings, for a point of a sweep."""
    subset: str | None = None
    """The part of the test documents that the metrics are of; None: all."""
    group: str | None = None
    """The group of labels that the metrics are of; None: all."""

    @property
    def is_reference(self) -> bool:
        """Whether it is a reference point of the cell's method."""
        return self.system != self.method

    @property
    def name(self) -> str:
        """The cell's name; a reference point adds its own: piran[no-aug]."""
        return f"{self.cell}[{self.system}]" if self.is_reference else self.cell

    @property
    def seeds(self) -> list[int]:
        """Seeds of the records."""
        return [record.seed for record in self.records]

    def has(self, metric: str) -> bool:
        """Return whether there is a run, and every run has the metric."""
        runs = [self._metrics(record) for record in self.records]
        return bool(runs) and all(metric in metrics for metrics in runs)

    def values(self, metric: str) -> list[float]:
        """Return a metric of each seed."""
        return [self._metrics(record)[metric] for record in self.records]

    def _metrics(self, record: RunRecord) -> Mapping[str, float]:
        scores = record.systems[self.system]
        if self.subset is not None:
            return scores.subsets.get(self.subset, {})
        if self.group is not None:
            return scores.groups.get(self.group, {})
        return scores.metrics

    def mean(self, metric: str) -> Mean:
        """Return a metric over the seeds."""
        return Mean.of(self.values(metric))

    def reference(self, system: str) -> "SystemRuns":
        """Return the same runs seen from one of their reference points."""
        return replace(self, system=system)


@dataclass(frozen=True)
class DatasetResults:
    """All results on one dataset."""

    name: str
    statistics: Mapping[str, Any]
    """As in ``dataset.json``."""
    cells: tuple[SystemRuns, ...]
    """The cells' methods, in the order of the suite."""
    sweeps: Mapping[str, tuple[SystemRuns, ...]] = field(default_factory=dict)
    """The points of each sweep, in their order."""

    def cell(self, name: str) -> SystemRuns | None:
        """Return a cell by name, None if it has no results here."""
        return next((runs for runs in self.cells if runs.cell == name and runs.records), None)

    @property
    def subsets(self) -> list[str]:
        """Parts of the test documents that the records tell of."""
        return list(dict.fromkeys(name for scores in self._scores() for name in scores.subsets))

    @property
    def groups(self) -> list[str]:
        """Groups of labels that the records tell of."""
        return list(dict.fromkeys(name for scores in self._scores() for name in scores.groups))

    def _scores(self) -> Iterator[SystemScores]:
        for runs in self.cells:
            for record in runs.records:
                yield record.systems[runs.system]

    def systems(self, references: Sequence[str] = ()) -> list[SystemRuns]:
        """Return the cells that have results, each behind those of its named reference points."""
        found = []
        for runs in self.cells:
            if runs.records:
                known = runs.records[0].systems
                found += [runs.reference(name) for name in references if name in known]
                found.append(runs)
        return found


@dataclass(frozen=True)
class SuiteResults:
    """The results of a suite, or of several taken together."""

    name: str
    description: str
    main: str
    """The cell that the others are compared with."""
    datasets: tuple[DatasetResults, ...]

    def runs(self) -> Iterator[tuple[str, SystemRuns]]:
        """Yield the cells and points of all datasets, with the dataset's name."""
        for dataset in self.datasets:
            for group in (dataset.cells, *dataset.sweeps.values()):
                for runs in group:
                    yield dataset.name, runs


def read_results(*folders: Path) -> SuiteResults:
    """Read the records of one or more suites; of datasets in several of them the cells are joined."""
    suites = [_read_suite_results(folder) for folder in folders]
    if not suites:
        raise DataError("There is no suite to read results of; give at least one folder.")
    merged: dict[str, DatasetResults] = {}
    for suite in suites:
        for dataset in suite.datasets:
            earlier = merged.get(dataset.name)
            merged[dataset.name] = dataset if earlier is None else _joined(earlier, dataset)
    return replace(
        suites[0],
        name=" + ".join(suite.name for suite in suites),
        datasets=tuple(merged.values()),
    )


def _read_suite_results(folder: Path) -> SuiteResults:
    plan = read_plan(folder)
    datasets = tuple(
        _read_dataset(folder / name, cells) for name, cells in plan["datasets"].items()
    )
    return SuiteResults(plan["name"], plan["description"], plan["main"], datasets)


def _read_dataset(folder: Path, cells: Sequence[Mapping[str, Any]]) -> DatasetResults:
    statistics = read_statistics(folder)
    methods: list[SystemRuns] = []
    sweeps: dict[str, list[SystemRuns]] = {}
    for cell in cells:
        runs = _read_runs(folder / cell["name"], cell)
        _check_alike(runs, folder, statistics["checksum"])
        group = methods if cell["sweep"] is None else sweeps.setdefault(cell["sweep"], [])
        group.append(runs)
    return DatasetResults(
        folder.name,
        statistics,
        tuple(methods),
        {name: tuple(points) for name, points in sweeps.items()},
    )


def _read_runs(folder: Path, cell: Mapping[str, Any]) -> SystemRuns:
    places = sorted(folder.glob("seed-*"), key=lambda place: int(place.name.removeprefix("seed-")))
    records = [record for record in map(finished_record, places) if record is not None]
    converged = tuple(record for record in records if record.stop_reason != NOT_CONVERGED)
    return SystemRuns(
        cell=cell["name"],
        method=cell["method"],
        system=cell["method"],
        records=converged,
        n_not_converged=len(records) - len(converged),
        n_failed=sum(failure_in(place) is not None for place in places),
        n_unreadable=sum((place / RECORD_NAME).is_file() for place in places) - len(records),
        point=cell["point"],
    )


def _check_alike(runs: SystemRuns, folder: Path, checksum: str) -> None:
    """Refuse to average what differs in more than the seed."""
    for record in runs.records:
        where = f"{folder / runs.cell}, seed {record.seed}"
        if record.dataset.checksum != checksum:
            raise DataError(
                f"{where}: the record is of other data than {DATASET_FILE} says; rerun it."
            )
        first, this = (_without_seed(r) for r in (runs.records[0], record))
        if as_json(first) != as_json(this):
            different = [key for key in this if this[key] != first.get(key)]
            raise DataError(
                f"{where}: {', '.join(different)} differ from seed {runs.records[0].seed}, so the two "
                "cannot be averaged; run the suite again."
            )


def _without_seed(record: RunRecord) -> dict[str, Any]:
    """Return the settings of a record but its seed, those that came after it at their defaults."""
    settings = completed_settings(record.method, record.settings)
    return {key: value for key, value in settings.items() if key != "seed"}


def _joined(first: DatasetResults, second: DatasetResults) -> DatasetResults:
    if first.statistics["checksum"] != second.statistics["checksum"]:
        raise DataError(f"The suites have different data under the name {first.name}.")
    names = [runs.cell for runs in (*first.cells, *second.cells)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"On {first.name} several suites have cells called {', '.join(twice)}.")
    return replace(
        first, cells=first.cells + second.cells, sweeps={**second.sweeps, **first.sweeps}
    )
