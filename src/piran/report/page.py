"""One run as one page: a self-contained HTML file, without scripts or anything to fetch."""

from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from piran.experiments.names import display_name
from piran.experiments.records import RunRecord
from piran.report.sections import sections
from piran.report.summary import summary_sentence
from piran.report.tables import cards
from piran.storage import write_text_atomically


def write_report(record: RunRecord, path: Path) -> None:
    """Write the page of a run to ``path``; the same record gives the same bytes.

    Without matplotlib the page has no figures and says what to install.
    """
    write_text_atomically(Path(path), report_page(record))


def report_page(record: RunRecord) -> str:
    """Return the page of a run as HTML."""
    heading = f"{display_name(record.method)} on {record.dataset.name}"
    version = record.versions.get("piran", "")
    return Template(package_text("page.html")).substitute(
        css=package_text("page.css"),
        title=escape(f"{heading} · {record.name}"),
        kicker=escape(f"Run {record.name} · seed {record.seed} · {record.created[:10]}"),
        heading=escape(heading),
        summary=escape(summary_sentence(record)),
        cards=cards(record),
        sections="\n".join(sections(record)),
        footer=escape(f"Written by piran {version} from the run record of {record.created}."),
    )


def package_text(name: str) -> str:
    """Return the text of a file of this package."""
    return (files("piran.report") / name).read_text(encoding="utf-8")
