"""A run's scores as a table on the terminal."""

from rich.console import Console
from rich.table import Column, Table

from piran.experiments.names import display_name
from piran.experiments.records import RunRecord
from piran.report.summary import (
    convergence_sentence,
    ordered_systems,
    summary_sentence,
    unseen_sentence,
)

COLUMNS = {
    "P@1": "P@1",
    "P@5": "P@5",
    "micro\nF1": "micro_f1",
    "macro\nF1": "macro_f1",
    "head\nF1": "head_f1",
    "tail\nF1": "tail_f1",
    "micro\nat 0.5": "micro_f1_at_0.5",
    "tail\nat 0.5": "tail_f1_at_0.5",
}
"""Narrow enough for a terminal of 80 columns."""


def print_summary(record: RunRecord) -> None:
    """Print the systems of a run as rows, the best of each column in bold, and what was gained."""
    console = Console()
    if not record.systems:
        console.print(summary_sentence(record), highlight=False)
        return
    best = {
        metric: max(round(scores.metrics[metric], 1) for scores in record.systems.values())
        for metric in COLUMNS.values()
    }
    title = f"{record.dataset.name}: {record.dataset.n_test:,} test documents, in percent"
    table = Table(Column("system", no_wrap=True), title=title, title_justify="left")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for system in ordered_systems(record):
        metrics = record.systems[system].metrics
        cells = [_cell(metrics[metric], best[metric]) for metric in COLUMNS.values()]
        table.add_row(display_name(system), *cells)
    console.print(table)
    sentences = [
        summary_sentence(record),
        unseen_sentence(record),
        convergence_sentence(record),
    ]
    console.print(" ".join(filter(None, sentences)), highlight=False)


def _cell(value: float, best: float) -> str:
    shown = f"{value:.1f}"
    return f"[bold]{shown}[/bold]" if round(value, 1) == best else shown
