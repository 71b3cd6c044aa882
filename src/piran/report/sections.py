"""The parts of the page below its headline, each a function from the record to HTML."""

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from piran.data.labels import LabelSpace
from piran.experiments.names import display_name
from piran.experiments.records import RunRecord
from piran.plots.f1_by_frequency import FrequencyBin, draw_f1_by_frequency, f1_by_frequency_data
from piran.plots.label_frequency import draw_label_frequency, label_frequency_data
from piran.plots.tail_picture import draw_tail_picture, tail_picture_data
from piran.plots.training_history import draw_training_history, training_history_data
from piran.report import tables
from piran.report.figures import inline_svg, missing_reason
from piran.report.summary import (
    REFERENCE,
    changes_sentence,
    has_reference,
    tail_changes,
    unseen_sentence,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_CHANGES = 10
"""Labels in each of the tables of gains and losses."""


def sections(record: RunRecord) -> list[str]:
    """Return all sections that this record has something for."""
    reason = missing_reason()
    parts = [scores(record), frequency(record), changes(record), insight(record), origin(record)]
    if reason is not None:
        parts.insert(1, _section("Figures", _note(reason)))
    return [part for part in parts if part]


def scores(record: RunRecord) -> str:
    """Return the table of all systems, where there is a test split to score."""
    if not record.systems:
        return ""
    note = "Percent on the test documents."
    if len(record.systems) > 1:
        note += " Best in bold."
    if has_reference(record):
        note += f" Small figures: points against {display_name(REFERENCE)}."
    policy = record.thresholds.get("policy", "constant")
    note += (
        " Head and tail F1 are plain means over the labels of the group; a label that is never "
        f"predicted counts 0. Policy of the saved thresholds: {policy}."
    )
    return _section("Scores", _note(note) + _scroll(tables.summary_table(record)))


def frequency(record: RunRecord) -> str:
    """Return how frequent the labels are and what that does to F1."""
    curve = label_frequency_data(_label_space(record))
    left = _figure(
        "How long the tail is",
        lambda ax: draw_label_frequency(curve, ax),
        f"Training documents of each label. {unseen_sentence(record)}".rstrip(),
    )
    right = _f1_by_frequency(record) if record.systems else ""
    return _section("Rare and frequent labels", _pair(left, right))


def _f1_by_frequency(record: RunRecord) -> str:
    bins = _shown_bins(record)
    as_numbers = (
        f"<details><summary>As numbers</summary>{_scroll(tables.bins_table(bins))}</details>"
    )
    return _figure(
        "F1 by label frequency",
        lambda ax: draw_f1_by_frequency(bins, ax),
        "Mean F1 of the labels with so many training documents, saved thresholds.",
        as_numbers,
    )


def changes(record: RunRecord) -> str:
    """Return the tail labels that gained and lost most."""
    ordered = tail_changes(record)
    if not ordered:
        return ""
    gained = [label for label in ordered if label.change > 0][:N_CHANGES]
    lost = [label for label in reversed(ordered) if label.change < 0][:N_CHANGES]
    panels = [
        f'<div class="panel"><h3>{title}</h3>{_scroll(tables.label_changes_table(labels))}</div>'
        for title, labels in (("Gained most", gained), ("Lost most", lost))
        if labels
    ]
    return _section(
        "Tail labels, before and after", _note(changes_sentence(ordered)) + _pair(*panels)
    )


def insight(record: RunRecord) -> str:
    """Return the picture of one tail label and the course of training, where there are any."""
    points, curves = tail_picture_data(record), training_history_data(record)
    panels = []
    if record.picture is not None:
        caption = (
            f"Instances of “{record.picture.label}” in the two directions in which its own documents "
            "and generations vary most. Good generations surround the test documents, which training "
            "never saw."
        )
        title = "One tail label and its generated instances"
        panels.append(_figure(title, lambda ax: draw_tail_picture(points, ax), caption))
    if curves:
        caption = f"{record.epochs_run or len(record.history)} epochs."
        if record.stop_reason:
            caption += f" Stopped: {record.stop_reason}."
        panels.append(_figure("Training", lambda ax: draw_training_history(curves, ax), caption))
    return _section("Inside the model", _pair(*panels)) if any(panels) else ""


def origin(record: RunRecord) -> str:
    """Return what the run was made of: data, settings, versions, times."""
    data = record.dataset.model_dump()
    data = {name.removeprefix("n_").replace("_", " "): value for name, value in data.items()}
    run = {
        "method": record.method,
        "seed": record.seed,
        "peak memory": f"{record.peak_memory_mb:,.0f} MB",
        **{f"thresholds: {name}": value for name, value in record.thresholds.items()},
    }
    times = {name.replace("_", " "): f"{value:,.2f} s" for name, value in record.times.items()}
    views = {
        view: ", ".join(f"{group} {value:g}" for group, value in counts.items())
        for view, counts in record.views.items()
    }
    parts = {"Data": data, "Run": run, "What each view counts": views, "Settings": record.settings}
    parts |= {"Times": times, "Versions": record.versions}
    panels = [
        f'<div class="panel"><h3>{title}</h3>{tables.facts_table(facts)}</div>'
        for title, facts in parts.items()
        if facts
    ]
    return _section("How it was made", f'<div class="facts-columns">{"".join(panels)}</div>')


def _shown_bins(record: RunRecord) -> list[FrequencyBin]:
    systems = [REFERENCE, record.method] if has_reference(record) else [record.method]
    return [
        FrequencyBin(
            row.first,
            row.last,
            row.n_labels,
            {display_name(system): value for system, value in row.f1.items()},
        )
        for row in f1_by_frequency_data(record, systems)
    ]


def _label_space(record: RunRecord) -> LabelSpace:
    labels = record.labels
    is_tail = np.array([group == "tail" for group in labels.groups], dtype=np.bool_)
    return LabelSpace(tuple(labels.names), np.array(labels.train_counts, dtype=np.int64), is_tail)


def _figure(title: str, draw: Callable[["Axes"], object], caption: str, more: str = "") -> str:
    """Return a figure with its caption and ``more``; without matplotlib only ``more`` is left."""
    if missing_reason() is not None:
        return f'<div class="panel"><h3>{title}</h3>{more}</div>' if more else ""
    picture = inline_svg(draw, description=title)
    text = f"<figcaption>{escape(caption)}</figcaption>"
    return f"<figure><h3>{title}</h3>{picture}{text}{more}</figure>"


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{title}</h2>\n{content}\n</section>"


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _scroll(table: str) -> str:
    return f'<div class="scroll" tabindex="0">{table}</div>'


def _pair(*panels: str) -> str:
    return f'<div class="pair">{"".join(panels)}</div>'
