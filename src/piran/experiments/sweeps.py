"""Sweeps, read back: a metric at each point, over seeds."""

from piran.experiments.results import SuiteResults, SystemRuns
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
    "tail F1": "tail_f1_at_0.5",
    "tail F1 tuned": "tail_f1",
}
SETTING_NAMES = {
    "n_generated": "p, generations a tail label",
    "n_head_labels": "l_head, head labels",
    "n_prototype_documents": "q, documents a prototype",
    "generation_weight": "α, weight of L_gen",
    "variance_weight": "β, weight of L_var",
    "diversity_weight": "γ, weight of L_div",
}
"""The paper's letters for the settings that its Section 4 varies."""


def setting_name(setting: str) -> str:
    """Return a setting's name as a reader knows it."""
    return SETTING_NAMES.get(setting, setting)


def value_name(value: object) -> str:
    """Return a setting's value as a reader knows it.

    >>> value_name(0.10), value_name(True), value_name("tfidf")
    ('0.1', 'yes', 'tfidf')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def sweep_tables(results: SuiteResults) -> list[Table]:
    """Return the points of each sweep as rows, a table for each sweep and dataset."""
    tables = []
    for dataset in results.datasets:
        for name, points in dataset.sweeps.items():
            done = [runs for runs in points if runs.records]
            if not done:
                continue
            rows = with_best_marked([_row(runs) for runs in done])
            settings = [setting_name(setting) for setting in done[0].point]
            notes = [*seeds_note(rows), *left_out_notes(points)]
            if "n_head_labels" in done[0].point:
                notes.append("The tail labels differ from row to row, and with them the tail F1.")
            title = f"Sensitivity on {dataset.name}: {name}"
            columns = (*settings, *COLUMNS)
            tables.append(Table("sensitivity", title, columns, rows, tuple(notes)))
    return tables


def _row(runs: SystemRuns) -> Row:
    scores = [
        Score.of(runs.mean(metric)) if runs.has(metric) else None for metric in COLUMNS.values()
    ]
    return *(value_name(value) for value in runs.point.values()), *scores
