"""The paper's six tables from the records of a suite, and those that it leaves out."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from piran.experiments import paper
from piran.experiments.ablation import ablation_table
from piran.experiments.cells import FROM_CACHE
from piran.experiments.names import display_name
from piran.experiments.results import DatasetResults, Mean, SuiteResults, SystemRuns
from piran.experiments.run import BEFORE
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
RANKING_COLUMNS = {
    name: name for name in ("P@1", "P@5", "RP@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
}
CALIBRATION_COLUMNS = {
    "head": "ECE_head",
    "tail": "ECE_tail",
    "head from 0.05": "ECE_head_from_0.05",
    "tail from 0.05": "ECE_tail_from_0.05",
}
CALIBRATION_DIGITS = 3
"""Nearly all scores are close to 0, and so is their error: two digits would hide differences."""
COMPARISON_COLUMNS = {
    "F1-score" if metric == "micro_f1_at_0.5" else metric: metric for metric in paper.COLUMNS
}
GROUP_COLUMNS = {"RP@5": "RP@5", "nDCG@5": "nDCG@5", "micro-F1": "micro_f1_at_0.5"}
GROUP_NOTE = (
    "Scores cut down to the labels of a group; rankings over the documents that have one of them, "
    "micro-F1 at 0.5 over all documents."
)
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
    note = (
        "RP@k as in Chalkidis et al. (2019); PSP@k as in Jain et al. (2016), divided by the best that "
        "is possible."
    )
    return [
        _metrics_table("ranking", f"Ranking on {dataset.name}", dataset, RANKING_COLUMNS, note)
        for dataset in results.datasets
    ]


def calibration_tables(results: SuiteResults) -> list[Table]:
    """How far scores are from frequencies: the calibration error of head and of tail labels."""
    note = (
        "Expected calibration error in percent, 15 bins of equal width; lower is better. From 0.05: over "
        "the pairs of document and label with at least that score, as the many close to 0 hide the "
        "others. They are each method's own: a method that rarely dares is judged on few."
    )
    return [
        _metrics_table(
            "calibration", f"Calibration on {dataset.name}", dataset, CALIBRATION_COLUMNS, note
        )
        for dataset in results.datasets
    ]


def subset_tables(results: SuiteResults) -> list[Table]:
    """All methods on parts of the test documents, where a dataset's card names some."""
    tables = []
    for dataset in results.datasets:
        for subset in dataset.subsets:
            systems = [replace(runs, subset=subset) for runs in dataset.systems(CONTROLS)]
            documents = [runs.mean("n_documents").value for runs in systems if runs.has("P@1")]
            title = f"Comparison on {dataset.name}, {subset}"
            note = f"The {documents[0]:,.0f} test documents {subset} alone."
            columns = {**COMPARISON_COLUMNS, "tail F1": paper.TAIL_METRIC}
            tables.append(_metrics_table("subsets", title, dataset, columns, note, systems))
    return tables


def group_tables(results: SuiteResults) -> list[Table]:
    """Labels by frequency, where a dataset's card names groups; columns of Chalkidis et al. (2019)."""
    tables = []
    for dataset in results.datasets:
        if dataset.groups:
            rows = with_best_marked(
                [_group_row(dataset, runs) for runs in dataset.systems(CONTROLS)]
            )
            names = [f"{group} {name}" for group in dataset.groups for name in GROUP_COLUMNS]
            notes = (*seeds_note(rows), GROUP_NOTE, *left_out_notes(dataset.cells))
            title = f"Labels of {dataset.name} by frequency"
            tables.append(Table("groups", title, ("method", *names), rows, notes))
    return tables


def _group_row(dataset: DatasetResults, runs: SystemRuns) -> Row:
    scores = [
        _score(dataset.name, replace(runs, group=group), metric)
        for group in dataset.groups
        for metric in GROUP_COLUMNS.values()
    ]
    return display_name(runs.name), *scores


def _metrics_table(
    name: str,
    title: str,
    dataset: DatasetResults,
    columns: dict[str, str],
    note: str,
    systems: Sequence[SystemRuns] | None = None,
) -> Table:
    systems = dataset.systems(CONTROLS) if systems is None else systems
    columns = {
        column: metric
        for column, metric in columns.items()
        if any(runs.has(metric) for runs in systems)  # records of older versions lack some
    }
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
    is_papers = not (runs.is_reference or runs.subset or runs.group)
    figure = paper.paper_score(dataset, runs.cell, metric) if is_papers else None
    score = Score.of(runs.mean(metric), figure)
    if metric in CALIBRATION_COLUMNS.values():
        return replace(score, digits=CALIBRATION_DIGITS, lower_is_better=True)
    return score


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
    left_out = left_out_notes(*(dataset.cells for dataset in results.datasets))
    notes = (*seeds_note(rows), FULL_SET, *paper_note(rows), *left_out)
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
    parts = ("fit", FROM_CACHE, BEFORE)
    fit = [sum(r.times.get(part, 0.0) for part in parts) for r in runs.records]
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
    "calibration": calibration_tables,
    "subsets": subset_tables,
    "groups": group_tables,
    "ablation": ablation_table,
    "sensitivity": sweep_tables,
    "cost": cost_tables,
}
"""What ``piran table`` can print, in its order."""
PAPER_TABLES = ("datasets", "comparison", "significance", "tail")
"""The six tables of the paper (the comparison is one for each dataset)."""


def suite_tables(results: SuiteResults, names: Sequence[str] = tuple(TABLES)) -> list[Table]:
    """Return the named tables, those without a row or without a number in it left out."""
    tables = [table for name in names for table in TABLES[name](results)]
    return [table for table in tables if table.rows and len(table.columns) > 1]
