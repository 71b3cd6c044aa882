"""The page of a run: complete, harmless, reproducible, and whole without matplotlib."""

import re
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from example_record import HOSTILE, example_record

from piran.report import report_page, write_report

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Outline(HTMLParser):
    """Collects tags, ids and text, and checks that elements are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    parser.close()
    return parser


@pytest.fixture(scope="module")
def page() -> str:
    return report_page(example_record())


def test_every_element_is_closed(page: str) -> None:
    assert outline(page).open == []


def test_the_page_needs_nothing_else(page: str) -> None:
    found = outline(page)
    assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
    references = [value or "" for name, value in found.attributes if name.endswith(("href", "src"))]
    assert all(value.startswith("#") for value in references)
    assert not re.search(r"https?:|@import|url\((?!#)", page)


def test_label_names_are_harmless(page: str) -> None:
    assert HOSTILE not in page
    assert escape(HOSTILE) in page
    assert HOSTILE in outline(page).words


def test_other_texts_of_the_record_are_harmless() -> None:
    bad = "<img src=x onerror=alert(1)>"
    record = example_record()
    hostile = example_record(
        name=bad,
        method=bad,
        created=bad,
        stop_reason=bad,
        settings={bad: {bad: bad}},
        versions={"piran": bad, bad: bad},
        times={bad: 1.0},
        thresholds={"policy": bad},
        dataset=record.dataset.model_copy(update={"name": bad}),
        systems={bad: record.systems["piran"], "no-aug": record.systems["no-aug"]},
    )
    assert "img" not in outline(report_page(hostile)).tags


def test_ids_are_unique(page: str) -> None:
    ids = outline(page).ids
    assert ids
    assert len(ids) == len(set(ids))


def test_all_figures_are_there(page: str) -> None:
    found = outline(page)
    assert found.tags.count("svg") == 4
    described = {value for name, value in found.attributes if name == "aria-label"}
    assert {"How long the tail is", "F1 by label frequency", "Training"} <= described


def test_figures_follow_the_colours_of_the_page(page: str) -> None:
    figures = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL))
    assert "currentColor" in figures
    assert "var(--blue)" in figures
    assert "#0072b2" not in figures


def test_the_best_system_is_bold_and_differences_are_shown(page: str) -> None:
    scores = page[page.index('<table class="scores">') :]
    rows = re.findall(r"<tr.*?</tr>", scores, flags=re.DOTALL)[2:6]
    assert [re.sub(r"<.*?>", " ", row).split()[0] for row in rows] == [
        "No-Aug",
        "Retrain-on-real",
        "duplicate-prototype",
        "PIRAN",
    ]
    assert "<strong>24.7</strong>" in rows[3]
    assert "<strong>73.6</strong>" not in scores  # all alike: none is best
    assert "<span" not in rows[0]


def test_settings_versions_times_and_checksum_are_there(page: str) -> None:
    words = outline(page).words
    checksum = example_record().dataset.checksum
    for text in (checksum, "diversity_weight", "2.13.0", "21.40 s", "812 MB", "none"):
        assert text in words


def test_what_each_view_counts_is_there_where_there_are_views(page: str) -> None:
    views = {"documents": {"head": 1.0, "tail": 1.0}, "rows": {"head": 0.25, "tail": 0.0}}
    with_views = report_page(example_record(views=views))
    assert "What each view counts" in with_views
    assert "head 0.25, tail 0" in with_views
    assert "What each view counts" not in page


def test_the_same_record_gives_the_same_bytes(page: str) -> None:
    assert report_page(example_record()) == page


def test_a_single_system_has_a_page() -> None:
    record = example_record()
    alone = report_page(
        example_record(systems={"piran": record.systems["piran"]}, picture=None, history=[])
    )
    found = outline(alone)
    assert found.tags.count("svg") == 2
    assert "strong" not in found.tags
    assert "Gained most" not in found.words


def test_missing_metrics_leave_a_dash() -> None:
    record = example_record()
    metrics = dict(record.systems["no-aug"].metrics)
    del metrics["nDCG@5"]
    systems = record.systems | {
        "no-aug": record.systems["no-aug"].model_copy(update={"metrics": metrics})
    }
    assert "<td>–</td>" in report_page(example_record(systems=systems))


def test_without_matplotlib_the_page_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = outline(report_page(example_record()))
    assert "svg" not in found.tags
    assert found.words.count("pip install 'piran[plots]'") == 1
    assert "101–1,000" in found.words  # the bins remain, as numbers


def test_the_page_is_written_to_its_file(tmp_path: Path) -> None:
    path = tmp_path / "run" / "report.html"
    write_report(example_record(history=[], picture=None), path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
