"""Tables of the peers, from records."""

import json
from pathlib import Path
from typing import Any

import pytest
from catalogue import PEERS
from environments import REQUIREMENTS
from tables import F1, POLICIES, dataset_tables, overview, tables

from made_suite import CHECKSUM, made_record
from piran.experiments.results import SystemRuns
from piran.experiments.table_data import Score
from piran.experiments.table_formats import plain_text

FOLDER = Path(__file__).parents[2] / "benchmarks" / "peers"


def record(peer: str, value: float, *, seed: int = 0, subset: str | None = None) -> dict[str, Any]:
    sections: dict[str, dict[str, float]] = {"ranking": {"P@1": value, "P@5": value}}
    sections |= {policy: dict.fromkeys(F1, value) for policy in POLICIES}
    return {
        "peer": peer,
        "title": peer.upper(),
        "dataset": "small",
        "checksum": CHECKSUM,
        "seed": seed,
        "refit": {"cpu_seconds": 10 * value},
        "metrics": sections,
        "subsets": {subset: sections} if subset else {},
    }


def test_rows_stand_in_the_order_of_the_catalogue_and_the_best_is_marked() -> None:
    (table,) = tables([record("fasttext", 2.0), record("pecos", 3.0), record("sklearn-svc", 1.0)])
    assert [row[0] for row in table.rows] == ["SKLEARN-SVC", "PECOS", "FASTTEXT"]
    assert [isinstance(row[1], Score) and row[1].is_best for row in table.rows] == [
        False,
        True,
        False,
    ]


def test_time_is_not_marked_as_if_more_were_better() -> None:
    (table,) = tables([record("fasttext", 2.0), record("pecos", 3.0)])
    assert [row[-1] for row in table.rows] == [Score(30.0, digits=0), Score(20.0, digits=0)]


def test_several_seeds_become_one_row_with_its_spread() -> None:
    (table,) = tables([record("pecos", 1.0), record("pecos", 3.0, seed=1)])
    score = table.rows[0][1]
    assert isinstance(score, Score)
    assert (score.value, score.n_seeds) == (2.0, 2)
    assert score.deviation == pytest.approx(2**0.5)


def test_a_subset_has_a_table_of_its_own() -> None:
    found = tables([record("pecos", 1.0, subset="with raw text")])
    assert [table.title for table in found] == [
        "Peers on small",
        "Peers on small: with raw text",
    ]


def test_a_dataset_without_records_has_no_table(tmp_path: Path) -> None:
    assert dataset_tables(tmp_path) == ""


def test_the_table_of_a_folder_is_markdown(tmp_path: Path) -> None:
    (tmp_path / "pecos.json").write_text(json.dumps(record("pecos", 61.234)), encoding="utf-8")
    assert "| PECOS | 61.23 |" in dataset_tables(tmp_path)


@pytest.mark.parametrize("entry", PEERS, ids=lambda entry: entry.name)
def test_every_peer_has_a_script_and_pinned_requirements(entry: Any) -> None:
    assert (FOLDER / entry.script).is_file()
    lines = (REQUIREMENTS / f"{entry.environment}.txt").read_text(encoding="utf-8").splitlines()
    assert lines
    assert all("==" in line for line in lines)


def our_runs(value: float) -> SystemRuns:
    metrics = {"P@1": value, "micro_f1": value, "micro_f1_at_0.5": value + 1, "tail_f1": value}
    return SystemRuns(
        "linear", "linear", "linear", (made_record("linear", 0, {"linear": metrics}),)
    )


def test_our_own_methods_stand_beside_the_peers() -> None:
    (table,) = tables([record("pecos", 1.0)], [our_runs(7.0)])
    assert [row[0] for row in table.rows] == ["PECOS", "piran: Linear"]
    ours = dict(zip(table.columns, table.rows[1], strict=True))
    wanted = ("micro default", "micro one", "micro two")
    assert [plain_text(ours[name]) for name in wanted] == ["8.00", "–", "7.00"]


def test_the_overview_has_all_datasets_side_by_side() -> None:
    first = tables([record("pecos", 1.0), record("fasttext", 2.0)], [our_runs(7.0)])[0]
    second = tables([record("fasttext", 3.0)])[0]
    found = overview({"first": first, "second": second})
    assert found.columns[1:] == tuple(
        f"{dataset} {column}"
        for dataset in ("first", "second")
        for column in ("P@1", "micro", "tail")
    )
    assert [[plain_text(entry) for entry in row] for row in found.rows] == [
        ["PECOS", "1.0", "1.0", "1.0", "–", "–", "–"],
        ["FASTTEXT", "2.0", "2.0", "2.0", "3.0", "3.0", "3.0"],
        ["piran: Linear", "7.0", "7.0", "7.0", "–", "–", "–"],
    ]


def test_the_overview_has_the_best_of_any_cut_offs_for_peers_and_the_saved_ones_for_ours() -> None:
    peer = record("pecos", 1.0)
    peer["metrics"]["global"] = dict.fromkeys(F1, 9.0)
    peer["metrics"]["per-label"] = {"micro_f1": 2.0, "macro_f1": 2.0, "tail_f1": 11.0}
    found = overview({"first": tables([peer], [our_runs(5.0)])[0]})
    assert [[plain_text(entry) for entry in row[2:]] for row in found.rows] == [
        ["9.0", "11.0"],
        ["5.0", "5.0"],
    ]


def test_methods_that_saw_other_documents_are_left_out() -> None:
    (table,) = tables([{**record("pecos", 1.0), "checksum": "another"}], [our_runs(7.0)])
    assert [row[0] for row in table.rows] == ["PECOS"]
