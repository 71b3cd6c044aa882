"""A suite as one page: all tables and figures in a self-contained HTML file."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template

from piran.experiments.names import display_name, metric_name
from piran.experiments.paper import TAIL_METRIC
from piran.experiments.results import SuiteResults
from piran.experiments.significance import Contest, contests
from piran.experiments.table_data import Table
from piran.experiments.table_formats import as_html
from piran.experiments.tables import suite_tables
from piran.plots.suite_figures import SuiteFigure, suite_figures
from piran.report.figures import inline_svg, missing_reason
from piran.report.page import package_text
from piran.report.tables import facts_table
from piran.storage import write_text_atomically

MAX_CARDS = 4
SECTIONS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "Data": (("datasets",), ("labels",)),
    "Comparison": (("comparison", "subsets", "f1", "groups"), ()),
    "Tail labels": (("tail",), ("frequency",)),
    "Significance": (("significance",), ("wins",)),
    "Ablation": (("ablation",), ("ablation",)),
    "Sensitivity": (("sensitivity",), ("sensitivity",)),
    "Calibration": (("calibration",), ()),
    "Ranking and cost": (("ranking", "cost"), ()),
}
"""Tables and figures of each section."""
WIDE = ("frequency", "wins")
"""Figures that do not fit into half a page."""
PIXELS_PER_INCH = 105
"""At which their text has the size of the page's notes."""


def write_suite_report(results: SuiteResults, path: Path) -> None:
    """Write the page of a suite to ``path``; the same records give the same bytes."""
    write_text_atomically(Path(path), suite_page(results))


def suite_page(results: SuiteResults) -> str:
    """Return the page of a suite as HTML."""
    n_runs = sum(len(runs.records) for _, runs in results.runs())
    version = _versions(results).get("piran", "")
    return Template(package_text("page.html")).substitute(
        css=package_text("page.css"),
        title=escape(f"Suite {results.name}"),
        kicker=escape(f"Suite {results.name} · {n_runs:,} runs"),
        heading=escape(
            f"{display_name(results.main)} on {_listed([d.name for d in results.datasets])}"
        ),
        summary=escape(" ".join([results.description.rstrip(".") + ".", *_sentences(results)])),
        cards=_cards(results),
        sections="\n".join(_sections(results)),
        footer=escape(f"Written by piran {version} from {n_runs:,} run records."),
    )


def _sentences(results: SuiteResults) -> Iterator[str]:
    """Say how the main method did on the tail labels of each dataset."""
    for dataset, found in _by_dataset(results).items():
        main = found[0].main.mean(TAIL_METRIC).value
        rivals = [
            f"{contest.rival.mean(TAIL_METRIC).value:.1f} of {display_name(contest.rival.name)}"
            f"{_p_text(contest)}"
            for contest in found
        ]
        yield (
            f"On {dataset} the tail F1 of {display_name(results.main)} is {main:.1f}, against "
            f"{_listed(rivals)}."
        )


def _by_dataset(results: SuiteResults) -> dict[str, list[Contest]]:
    """Return the contests on each dataset, the strongest baseline first."""
    found: dict[str, list[Contest]] = {}
    for contest in contests(results, TAIL_METRIC):
        found.setdefault(contest.dataset, []).append(contest)
    return found


def _p_text(contest: Contest) -> str:
    comparison = contest.comparison
    if comparison is None or comparison.pooled_p is None:
        return ""
    return f" (p = {comparison.pooled_p:.1g})"


def _cards(results: SuiteResults) -> str:
    """Return the tail F1 on the first datasets, each with that of the rival."""
    cards = []
    for dataset, (contest, *_) in _by_dataset(results).items():
        main, rival = (runs.mean(TAIL_METRIC).value for runs in (contest.main, contest.rival))
        title = escape(f"{metric_name(TAIL_METRIC)}, {dataset}")
        below = escape(f"{display_name(contest.rival.name)}: {rival:.1f}")
        cards.append(f"<div><h3>{title}</h3><b>{main:.1f}</b><small>{below}</small></div>")
    return "\n".join(cards[:MAX_CARDS])


def _sections(results: SuiteResults) -> Iterator[str]:
    reason = missing_reason()
    if reason is not None:
        yield f'<section><h2>Figures</h2><p class="note">{escape(reason)}</p></section>'
    for title, (tables, figures) in SECTIONS.items():
        drawn = suite_figures(results, figures) if figures and reason is None else []
        content = _figures(drawn) + "".join(map(_table, suite_tables(results, tables)))
        if content:
            yield f"<section>\n<h2>{title}</h2>\n{content}\n</section>"
    yield _origin(results)


def _table(table: Table) -> str:
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return (
        f'<h3 class="spaced">{escape(table.title)}</h3>'
        f'<div class="scroll" tabindex="0">{as_html(table)}</div>{notes}'
    )


def _figures(figures: Sequence[SuiteFigure]) -> str:
    """Return figures two by two, wide ones alone."""
    narrow = [_figure(figure) for figure in figures if figure.kind not in WIDE]
    parts = [
        f'<div class="wide" style="max-width: {figure.size[0] * PIXELS_PER_INCH:.0f}px">'
        f"{_figure(figure)}</div>"
        for figure in figures
        if figure.kind in WIDE
    ]
    if narrow:
        parts.append(f'<div class="pair">{"".join(narrow)}</div>')
    return "\n".join(parts)


def _figure(figure: SuiteFigure) -> str:
    picture = inline_svg(figure.draw, description=figure.title, size=figure.size)
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>"
    return f"<figure><h3>{escape(figure.title)}</h3>{picture}{caption}</figure>"


def _origin(results: SuiteResults) -> str:
    """Return what the runs were made of: settings of each cell, and versions."""
    panels = []
    for dataset in results.datasets:
        for runs in dataset.cells:
            if runs.records:
                settings = {k: v for k, v in runs.records[0].settings.items() if k != "seed"}
                title = escape(f"{display_name(runs.cell)} on {dataset.name}")
                names = _listed([str(seed) for seed in runs.seeds])
                seeds = f"seed{'s' if len(runs.seeds) > 1 else ''} {names}"
                panels.append(
                    f"<details><summary>{title}, {seeds}</summary>{facts_table(settings)}</details>"
                )
    versions = f"<h3>Versions</h3>{facts_table(_versions(results))}"
    return (
        f'<section>\n<h2>How it was made</h2>\n<div class="pair"><div class="panel"><h3>Settings</h3>'
        f'{"".join(panels)}</div><div class="panel">{versions}</div></div>\n</section>'
    )


def _versions(results: SuiteResults) -> dict[str, str]:
    """Return the versions of all runs; where they differ, all of them."""
    found: dict[str, dict[str, None]] = {}
    for _, runs in results.runs():
        for record in runs.records:
            for package, version in record.versions.items():
                found.setdefault(package, {})[version] = None
    return {package: ", ".join(versions) for package, versions in found.items()}


def _listed(names: Sequence[str]) -> str:
    """Join names as a sentence does: a, b and c."""
    return " and ".join(
        part for part in (", ".join(names[:-1]), names[-1] if names else "") if part
    )
