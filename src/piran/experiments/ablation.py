"""Ablation (Section 4.5): stage 2 in parts and the controls, all on the same stage 1."""

from piran.augment.variants import COMPLETE, VARIANTS
from piran.experiments.names import display_name
from piran.experiments.results import DatasetResults, SuiteResults, SystemRuns
from piran.experiments.table_data import (
    Row,
    Score,
    Table,
    left_out_notes,
    seeds_note,
    with_best_marked,
)

COLUMNS = {
    "P@1": "P@1",
    "F1-score": "micro_f1_at_0.5",
    "macro F1": "macro_f1_at_0.5",
    "head F1": "head_f1_at_0.5",
    "tail F1": "tail_f1_at_0.5",
    "tail F1 tuned": "tail_f1",
}


def ablation_runs(dataset: DatasetResults, cell: str) -> dict[str, SystemRuns]:
    """Return the variants that a cell has run, from the least to the whole; under two: none."""
    runs = dataset.cell(cell)
    if runs is None:
        return {}
    own = str(runs.records[0].settings.get("variant", COMPLETE))
    found = {}
    for variant in VARIANTS:
        if variant == own:
            found[variant] = runs
        elif variant in runs.records[0].systems:
            found[variant] = runs.reference(variant)
    return found if len(found) > 1 else {}


def ablation_table(results: SuiteResults) -> list[Table]:
    """Return the variants of the main method as rows, a table for each dataset."""
    tables = []
    for dataset in results.datasets:
        variants = ablation_runs(dataset, results.main)
        rows = with_best_marked([_row(name, runs) for name, runs in variants.items()])
        notes = (
            *seeds_note(rows),
            "All variants of a seed share one stage 1. Retrain-on-real and Duplicate are controls.",
            *left_out_notes(list(variants.values())),
        )
        title = f"Ablation on {dataset.name}"
        tables.append(Table("ablation", title, ("variant", *COLUMNS), rows, notes))
    return tables


def _row(name: str, runs: SystemRuns) -> Row:
    scores = [
        Score.of(runs.mean(metric)) if runs.has(metric) else None for metric in COLUMNS.values()
    ]
    return display_name(name), *scores
