"""Tables of the page. All text that is not ours goes through ``html.escape``."""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from piran.experiments.names import display_name
from piran.experiments.records import RunRecord
from piran.plots.f1_by_frequency import FrequencyBin
from piran.report.summary import (
    REFERENCE,
    LabelChange,
    has_reference,
    ordered_systems,
)

COLUMN_GROUPS: dict[str, dict[str, str]] = {
    "Ranking": {"P@1": "P@1", "P@3": "P@3", "P@5": "P@5", "nDCG@5": "nDCG@5"},
    "F1, saved thresholds": {
        "micro": "micro_f1",
        "macro": "macro_f1",
        "head": "head_f1",
        "tail": "tail_f1",
    },
    "F1 at 0.5": {
        "micro": "micro_f1_at_0.5",
        "macro": "macro_f1_at_0.5",
        "head": "head_f1_at_0.5",
        "tail": "tail_f1_at_0.5",
    },
}
CARDS = {"Tail F1": "tail_f1", "Macro F1": "macro_f1", "Micro F1": "micro_f1", "P@1": "P@1"}


def cards(record: RunRecord) -> str:
    """Return the four headline numbers, each with what it was before; none without a test split."""
    if not record.systems:
        return ""
    before = record.systems[REFERENCE].metrics if has_reference(record) else None
    parts = []
    for title, metric in CARDS.items():
        value, was = record.scores[metric], ""
        if before is not None:
            change = _difference(value, before[metric])
            was = f"<small>{change} from {before[metric]:.1f}</small>"
        parts.append(f"<div><h3>{title}</h3><b>{value:.1f}</b>{was}</div>")
    return "\n".join(parts)


def summary_table(record: RunRecord) -> str:
    """Return the systems as rows, the best of each column in bold, differences to No-Aug below."""
    groups = "".join(
        f'<th colspan="{len(columns)}" class="group">{title}</th>'
        for title, columns in COLUMN_GROUPS.items()
    )
    names = "".join(f"<th>{name}</th>" for columns in COLUMN_GROUPS.values() for name in columns)
    rows = "\n".join(_summary_row(record, system) for system in ordered_systems(record))
    return (
        f'<table class="scores"><thead><tr><td></td>{groups}</tr>'
        f"<tr><th>System</th>{names}</tr></thead>\n<tbody>{rows}</tbody></table>"
    )


def _summary_row(record: RunRecord, system: str) -> str:
    metrics = [metric for columns in COLUMN_GROUPS.values() for metric in columns.values()]
    cells = "".join(_summary_cell(record, system, metric) for metric in metrics)
    mark = ' class="method"' if system == record.method else ""
    return f"<tr{mark}><th>{escape(display_name(system))}</th>{cells}</tr>"


def _summary_cell(record: RunRecord, system: str, metric: str) -> str:
    value = record.systems[system].metrics.get(metric)
    if value is None:
        return "<td>–</td>"
    shown = f"{value:.1f}"
    everyone = [round(scores.metrics.get(metric, 0.0), 1) for scores in record.systems.values()]
    if min(everyone) < round(value, 1) == max(everyone):
        shown = f"<strong>{shown}</strong>"
    reference = record.systems.get(REFERENCE)
    if reference is not None and system != REFERENCE and metric in reference.metrics:
        shown += _difference(value, reference.metrics[metric])
    return f"<td>{shown}</td>"


def label_changes_table(changes: Iterable[LabelChange]) -> str:
    """Return tail labels with their documents and their F1 before and after."""
    rows = "\n".join(
        f'<tr><th class="name">{escape(label.name)}</th><td>{label.n_train:,}</td>'
        f"<td>{label.n_test:,}</td><td>{label.before:.0f}</td><td>{label.after:.0f}</td>"
        f"<td>{_difference(label.after, label.before, digits=0)}</td></tr>"
        for label in changes
    )
    heads = ("train docs", "test docs", "F1 before", "after", "change")
    names = "".join(f"<th>{head}</th>" for head in heads)
    return (
        f'<table class="labels"><thead><tr><th>Label</th>{names}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table>"
    )


def facts_table(facts: Mapping[str, Any]) -> str:
    """Return names and values, one pair a row."""
    rows = "\n".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_plain(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def bins_table(bins: Sequence[FrequencyBin]) -> str:
    """Return the mean F1 of each bin of label frequency, a column for each system."""
    systems = list(bins[0].f1) if bins else []
    heads = "".join(f"<th>{escape(name)}</th>" for name in ("labels", *systems))
    rows = "\n".join(
        f"<tr><th>{row.name}</th><td>{row.n_labels:,}</td>"
        + "".join(f"<td>{row.f1[name]:.1f}</td>" for name in systems)
        + "</tr>"
        for row in bins
    )
    return (
        f"<table><thead><tr><th>Training documents</th>{heads}</tr></thead>\n"
        f"<tbody>{rows}</tbody></table>"
    )


def _difference(after: float, before: float, *, digits: int = 1) -> str:
    change = round(after - before, digits)
    sign = "up" if change > 0 else "down" if change < 0 else "same"
    text = f"{change:+.{digits}f}" if change else f"±{0:.{digits}f}"
    return f'<span class="{sign}">{text.replace("-", "−")}</span>'


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.4g}"
    return json.dumps(value, ensure_ascii=False)
