"""Significance (Table 5 of the paper): the method against the strongest baseline, over seeds."""

from dataclasses import dataclass

from piran.experiments.names import display_name, metric_name
from piran.experiments.paper import COLUMNS, SIGNIFICANCE, TAIL_METRIC
from piran.experiments.results import DatasetResults, SuiteResults, SystemRuns
from piran.experiments.table_data import Row, Score, Table, left_out_notes
from piran.metrics import Comparison, compare_runs

F1_SCORE = COLUMNS[-1]
METRICS = (F1_SCORE, TAIL_METRIC)
NO_AUG = "no-aug"


@dataclass(frozen=True)
class Contest:
    """The main method and a rival on one dataset."""

    dataset: str
    main: SystemRuns
    rival: SystemRuns
    comparison: Comparison | None
    """None if either has fewer than two runs."""


def contests(results: SuiteResults, metric: str) -> list[Contest]:
    """Compare the main method with the strongest baseline and with No-Aug, on each dataset."""
    found: list[Contest] = []
    for dataset in results.datasets:
        main = dataset.cell(results.main)
        if main is not None and main.has(metric):
            found += [
                Contest(dataset.name, main, rival, _compared(main, rival, metric))
                for rival in _rivals(dataset, main, metric)
            ]
    return found


def _rivals(dataset: DatasetResults, main: SystemRuns, metric: str) -> list[SystemRuns]:
    baselines = [runs for runs in dataset.cells if runs.method != main.method and runs.has(metric)]
    rivals = [max(baselines, key=lambda runs: runs.mean(metric).value)] if baselines else []
    if NO_AUG in main.records[0].systems:
        rivals.append(main.reference(NO_AUG))
    return rivals


def _compared(first: SystemRuns, second: SystemRuns, metric: str) -> Comparison | None:
    if min(len(first.records), len(second.records)) < 2:
        return None
    return compare_runs(first.values(metric), second.values(metric))


def significance_tables(results: SuiteResults) -> list[Table]:
    """Table 5 of the paper for its F1-score, and the same for the F1 of the tail labels."""
    return [_table(results, metric) for metric in METRICS]


def _table(results: SuiteResults, metric: str) -> Table:
    found = contests(results, metric)
    seeds = sorted({seed for contest in found for seed in contest.main.seeds + contest.rival.seeds})
    rows: list[Row] = []
    for contest in found:
        rows += [
            _row(contest, contest.rival, metric, seeds),
            _row(contest, contest.main, metric, seeds),
        ]
    columns = (
        "dataset",
        "method",
        *(f"seed {seed}" for seed in seeds),
        "avg",
        "p pooled",
        "p Welch",
    )
    notes = [
        "Two-sided t-tests over the seeds, in the line of the method: with pooled variance as in the "
        "paper, and Welch's. The rival is the baseline with the best mean, then No-Aug.",
        *_missing_notes(found),
        *_paper_notes(results, metric),
        *left_out_notes(*(_runs_on(dataset, found) for dataset in results.datasets)),
    ]
    title = f"Significance, {metric_name(metric)}"
    return Table("significance", title, columns, tuple(rows), tuple(notes))


def _runs_on(dataset: DatasetResults, found: list[Contest]) -> list[SystemRuns]:
    """Return all that contend on a dataset."""
    here = [contest for contest in found if contest.dataset == dataset.name]
    return [runs for contest in here for runs in (contest.main, contest.rival)]


def _row(contest: Contest, runs: SystemRuns, metric: str, seeds: list[int]) -> Row:
    values = dict(zip(runs.seeds, runs.values(metric), strict=True))
    numbers = [Score(values[seed]) if seed in values else None for seed in seeds]
    p_values: tuple[str, str] = ("", "")
    if runs is contest.main and contest.comparison is not None:
        tests = (contest.comparison.pooled_p, contest.comparison.welch_p)
        p_values = (_p_text(tests[0]), _p_text(tests[1]))
    mean = Score(runs.mean(metric).value)
    return contest.dataset, display_name(runs.name), *numbers, mean, *p_values


def _p_text(p_value: float | None) -> str:
    """Return a p-value with the paper's five decimals; a smaller one in powers of ten."""
    if p_value is None:
        return "–"
    return f"{p_value:.5f}" if p_value >= 0.00001 else f"{p_value:.0e}"


def _missing_notes(found: list[Contest]) -> list[str]:
    """Say why some lines have no p-value."""
    comparisons = [contest.comparison for contest in found]
    notes = []
    if any(comparison is None for comparison in comparisons):
        notes.append("There is no p-value where the method or its rival has one run only.")
    if any(comparison is not None and comparison.pooled_p is None for comparison in comparisons):
        notes.append("–: the runs of neither vary, so there is no chance to test for.")
    return notes


def _paper_notes(results: SuiteResults, metric: str) -> list[str]:
    if metric != F1_SCORE:
        return []
    return [
        f"The paper on {dataset.name}: p = {theirs.p_value} against {display_name(theirs.baseline)}."
        for dataset in results.datasets
        if (theirs := SIGNIFICANCE.get(dataset.name)) is not None
    ]
