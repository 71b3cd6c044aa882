"""The page of a suite: complete, self-contained, and the same for the same records."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from made_suite import comparison_records, made_record, write_made_suite
from piran.experiments.results import SuiteResults, read_results
from piran.report import suite_page, write_suite_report

VOID = {"meta", "br", "img", "link", "hr", "input"}


class Balance(HTMLParser):
    """Checks that every element that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def results(tmp_path: Path) -> SuiteResults:
    records = comparison_records()
    names = {f"p@{p}": ("generations", {"n_generated": p}) for p in (10, 20)}
    records += [made_record(name, 0, {"piran": {}}, method="piran") for name in names]
    return read_results(write_made_suite(tmp_path, records, sweeps=names))


def test_the_page_has_all_sections(results: SuiteResults) -> None:
    page = suite_page(results)
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles == [
        "Data",
        "Comparison",
        "Tail labels",
        "Significance",
        "Ablation",
        "Sensitivity",
        "Ranking and cost",
        "How it was made",
    ]
    summary = (
        r"On mine the tail F1 of PIRAN is 31\.0, against 20\.0 of HTTN \(p = \S+\) and 10\.0 of "
        r"PIRAN: No-Aug \(p = \S+\)\."
    )
    assert re.search(summary, page)


def test_cards_are_in_the_order_of_the_datasets(tmp_path: Path) -> None:
    records = [*comparison_records("one"), *comparison_records("two")]
    page = suite_page(read_results(write_made_suite(tmp_path, records)))
    cards = re.findall(r"<div><h3>(.*?)</h3>.*?<small>(.*?)</small>", page)
    assert cards == [(f"tail F1 at 0.5, {name}", "HTTN: 20.0") for name in ("one", "two")]


def test_calibration_has_a_section_where_records_tell_of_it(tmp_path: Path) -> None:
    record = made_record("piran", 0, {"piran": {"ECE_head": 0.5, "ECE_tail": 0.25}})
    page = suite_page(read_results(write_made_suite(tmp_path, [record])))
    assert "<h2>Calibration</h2>" in page
    assert "<td>0.250</td>" in page


def test_the_page_needs_nothing_else(results: SuiteResults) -> None:
    page = suite_page(results)
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert "<script" not in page
    assert not re.search(r'(src|href)="http', page)


def test_the_same_records_give_the_same_page(results: SuiteResults) -> None:
    assert suite_page(results) == suite_page(results)


def test_names_are_escaped(tmp_path: Path) -> None:
    record = made_record("piran", 0, {"piran": {}}, settings={"seed": 0, "encoder": "<b>"})
    page = suite_page(read_results(write_made_suite(tmp_path, [record], name="a & b")))
    assert "a &amp; b" in page
    assert "&lt;b&gt;" in page
    assert "<b>tfidf" not in page


def test_a_suite_without_results_has_a_page_too(tmp_path: Path) -> None:
    suite = write_made_suite(tmp_path, comparison_records()[:1])
    for record in tmp_path.rglob("record.json"):
        record.unlink()
    write_suite_report(read_results(suite), tmp_path / "report.html")
    assert "0 runs" in (tmp_path / "report.html").read_text()


def test_without_matplotlib_the_page_says_what_to_install(
    results: SuiteResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = suite_page(results)
    assert "pip install &#x27;piran[plots]&#x27;" in page
    assert "<svg" not in page
    assert "<h2>Ablation</h2>" in page
