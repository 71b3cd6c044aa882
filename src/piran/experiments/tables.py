"""The paper's six tables from the records of a suite, and those that it leaves out."""

from collections.abc import Callable, Sequence

from piran.experiments import paper
from piran.experiments.ablation import ablation_table
from piran.experiments.cells import FROM_CACHE
from piran.experiments.names import display_name
from piran.experiments.results import DatasetResults, Mean, SuiteResults, SystemRuns
from piran.experiments.significance import significance_tables
from piran.experiments.sweeps import sweep_tables
from piran.experiments.table_data import (
    Entry,
    Row,
    Score,
    Table,
    left_out_notes,
    paper_note,
    seeds_note,
    with_best_marked,
)

CONTROLS = ("no-aug", "retrain-on-real", "duplicate")
"""Reference points that stand in every comparison."""
STATISTICS = {
    "N": "n_train",
    "M": "n_test",
    "D": "n_words",
    "L": "n_labels",
    "L̄": "labels_per_document",
    "L̃": "documents_per_label",
    "W̄": "words_per_train_document",
    "W̃": "words_per_test_document",
}
GROUPS = ("micro", "macro", "head", "tail")
F1_COLUMNS = {
    f"{group} {where}": f"{group}_f1{suffix}"
    for suffix, where in (("_at_0.5", "at 0.5"), ("", "tuned"))
    for group in GROUPS
}
RANKING_COLUMNS = {name: name for name in ("P@1", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")}
COMPARISON_COLUMNS = {
    "F1-score" if metric == "micro_f1_at_0.5" else metric: metric for metric in paper.COLUMNS
}
FULL_SET = (
    "The tail F1 is the mean over the tail labels of their F1 on all test documents; a label that is "
    "never predicted counts 0."
)


def datasets_table(results: SuiteResults) -> list[Table]:
    """Table 1 of the paper: the datasets in numbers."""
    rows: list[Row] = []
    for dataset in results.datasets:
        theirs = paper.STATISTICS.get(dataset.name, (None,) * len(STATISTICS))
        keys = zip(STATISTICS.values(), theirs, strict=True)
        rows.append((dataset.name, *(_statistic(dataset, key, figure) for key, figure in keys)))
    note = (
        "N training and M test documents, D distinct words in train, L labels, L̄ labels per document, "
        "L̃ documents per label, W̄ and W̃ words per training and per test document."
    )
    columns = ("dataset", *STATISTICS)
    return [Table("datasets", "Datasets", columns, tuple(rows), (note, *paper_note(rows)))]


def _statistic(dataset: DatasetResults, key: str, paper_figure: float | None) -> Score:
    digits = 0 if key.startswith("n_") else 2
    return Score(float(dataset.statistics[key]), paper=paper_figure, digits=digits)


def comparison_tables(results: SuiteResults) -> list[Table]:
    """Tables 2 to 4 of the paper: all methods and the controls, a table for each dataset."""
    note = "The paper's F1-score is the micro-F1 at 0.5."
    return [
        _metrics_table(
            "comparison", f"Comparison on {dataset.name}", dataset, COMPARISON_COLUMNS, note
        )
        for dataset in results.datasets
    ]


def f1_tables(results: SuiteResults) -> list[Table]:
    """F1 over all labels, head and tail labels, at 0.5 and at the cut-offs tuned on validation."""
    note = "Tuned: cut-offs chosen on validation documents, by the policy that each method saves."
    return [
        _metrics_table("f1", f"F1 on {dataset.name}", dataset, F1_COLUMNS, note)
        for dataset in results.datasets
    ]


def ranking_tables(results: SuiteResults) -> list[Table]:
    """Precision and its propensity-scored form, which weighs rare labels more."""
    note = "PSP@k as in Jain et al. (2016), divided by the best that is possible."
    return [
        _metrics_table("ranking", f"Ranking on {dataset.name}", dataset, RANKING_COLUMNS, note)
        for dataset in results.datasets
    ]


def _metrics_table(
    name: str, title: str, dataset: DatasetResults, columns: dict[str, str], note: str
) -> Table:
    systems = dataset.systems(CONTROLS)
    rows = with_best_marked(
        [
            (
                display_name(runs.name),
                *(_score(dataset.name, runs, key) for key in columns.values()),
            )
            for runs in systems
        ]
    )
    notes = (*seeds_note(rows), note, *_paper_notes(dataset, rows), *left_out_notes(dataset.cells))
    return Table(name, title, ("method", *columns), rows, notes)


def _score(dataset: str, runs: SystemRuns, metric: str) -> Entry:
    if not runs.has(metric):
        return None
    figure = None if runs.is_reference else paper.paper_score(dataset, runs.cell, metric)
    return Score.of(runs.mean(metric), figure)


def _paper_notes(dataset: DatasetResults, rows: Sequence[Row]) -> list[str]:
    """Explain the paper's figures, and in what its data differ from these."""
    notes = paper_note(rows)
    if notes:
        theirs, ours = int(paper.STATISTICS[dataset.name][0]), int(dataset.statistics["n_train"])
        if theirs != ours:
            notes.append(f"The paper trained on {theirs:,} documents, these runs on {ours:,}.")
    return notes


def tail_table(results: SuiteResults) -> list[Table]:
    """Table 6 of the paper: mean F1 over the tail labels, on all datasets."""
    by_dataset = {
        dataset.name: {runs.name: runs for runs in dataset.systems(CONTROLS)}
        for dataset in results.datasets
    }
    names = dict.fromkeys(name for systems in by_dataset.values() for name in systems)
    rows = with_best_marked(
        [
            (
                display_name(name),
                *(
                    _score(dataset, systems[name], paper.TAIL_METRIC) if name in systems else None
                    for dataset, systems in by_dataset.items()
                ),
            )
            for name in names
        ]
    )
    cells = [runs for dataset in results.datasets for runs in dataset.cells]
    notes = (*seeds_note(rows), FULL_SET, *paper_note(rows), *left_out_notes(cells))
    return [Table("tail", "Mean F1 on tail labels, at 0.5", ("method", *by_dataset), rows, notes)]


def cost_tables(results: SuiteResults) -> list[Table]:
    """Seconds and memory of each method, a table for each dataset."""
    tables = []
    for dataset in results.datasets:
        rows = tuple(_cost_row(runs) for runs in dataset.cells if runs.records)
        notes = (
            "Wall seconds. Stage 1 that came from the cache is counted with the time it took when it "
            "was trained. Memory is the peak of the process.",
            *left_out_notes(dataset.cells),
        )
        columns = ("method", "training s", "test s", "memory MB", "epochs")
        tables.append(Table("cost", f"Cost on {dataset.name}", columns, rows, notes))
    return tables


def _cost_row(runs: SystemRuns) -> Row:
    fit = [r.times["fit"] + r.times.get(FROM_CACHE, 0.0) for r in runs.records]
    epochs = [float(r.epochs_run) for r in runs.records if r.epochs_run]
    columns = [
        fit,
        [r.times["evaluate"] for r in runs.records],
        [r.peak_memory_mb for r in runs.records],
    ]
    numbers = [Score(Mean.of(values).value, digits=1) for values in columns]
    return (
        display_name(runs.cell),
        *numbers,
        Score(Mean.of(epochs).value, digits=1) if epochs else None,
    )


TABLES: dict[str, Callable[[SuiteResults], list[Table]]] = {
    "datasets": datasets_table,
    "comparison": comparison_tables,
    "significance": significance_tables,
    "tail": tail_table,
    "f1": f1_tables,
    "ranking": ranking_tables,
    "ablation": ablation_table,
    "sensitivity": sweep_tables,
    "cost": cost_tables,
}
"""What ``piran table`` can print, in its order."""
PAPER_TABLES = ("datasets", "comparison", "significance", "tail")
"""The six tables of the paper (the comparison is one for each dataset)."""


def suite_tables(results: SuiteResults, names: Sequence[str] = tuple(TABLES)) -> list[Table]:
    """Return the named tables, those without a row left out."""
    return [table for name in names for table in TABLES[name](results) if table.rows]
