"""The tables: numbers worked out by hand, the best marked, nothing left out in silence."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from made_suite import comparison_records, made_record, write_made_suite
from piran.experiments import paper
from piran.experiments.records import RunRecord
from piran.experiments.results import read_results
from piran.experiments.table_data import Score, Table
from piran.experiments.table_formats import plain_text
from piran.experiments.tables import TABLES, suite_tables
from piran.metrics import compare_runs


def tables_of(folder: Path, name: str, records: Sequence[RunRecord] | None = None) -> list[Table]:
    suite = write_made_suite(folder, records or comparison_records())
    return suite_tables(read_results(suite), [name])


def texts(table: Table) -> list[list[str]]:
    return [[plain_text(entry) for entry in row] for row in table.rows]


def test_the_comparison_has_the_papers_columns_and_our_controls(tmp_path: Path) -> None:
    (table,) = tables_of(tmp_path, "comparison")
    assert table.columns == ("method", "P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "F1-score")
    rows = texts(table)
    assert [row[0] for row in rows] == ["PIRAN: No-Aug", "PIRAN", "HTTN"]
    assert rows[1][1] == "81.00 ± 1.00"
    assert rows[2][6] == "65.50 ± 0.50"
    assert table.notes[0] == "Mean ± standard deviation over 3 seeds; the best in bold."


def test_the_best_of_a_column_is_marked_unless_all_are_alike(tmp_path: Path) -> None:
    (table,) = tables_of(tmp_path, "comparison")
    best = [[isinstance(entry, Score) and entry.is_best for entry in row[1:]] for row in table.rows]
    assert best == [[False] * 6, [True, False, False, False, False, True], [False] * 6]


def test_the_papers_figures_stand_beside_ours_on_its_datasets(tmp_path: Path) -> None:
    (table,) = tables_of(tmp_path, "comparison", comparison_records("aapd"))
    rows = texts(table)
    assert rows[0][1] == "80.00 ± 0.00"  # the paper has no No-Aug in this table
    assert rows[1][1] == "81.00 ± 1.00 [83.94]"
    assert rows[2][6] == "65.50 ± 0.50 [68.47]"
    assert "The paper trained on 54,840 documents, these runs on 57." in table.notes


def test_left_out_runs_are_footnotes(tmp_path: Path) -> None:
    slow = [made_record("httn", s, {"httn": {}}, stop_reason="not converged") for s in (3, 4)]
    (table,) = tables_of(tmp_path, "comparison", [*comparison_records(), *slow])
    assert table.notes[-1] == (
        "Runs left out because the best epoch was the last allowed one, so they had not converged: "
        "2 of HTTN."
    )
    assert texts(table)[2][6] == "65.50 ± 0.50"


@pytest.mark.parametrize("name", ["tail", "significance"])
def test_left_out_runs_of_all_datasets_are_counted_once(tmp_path: Path, name: str) -> None:
    records = [
        record
        for dataset, n_slow in (("mine", 2), ("yours", 1))
        for record in (
            *comparison_records(dataset),
            *(
                made_record(
                    "piran", 3 + n, {"piran": {}}, dataset=dataset, stop_reason="not converged"
                )
                for n in range(n_slow)
            ),
        )
    ]
    for table in tables_of(tmp_path, name, records):
        assert table.notes[-1].endswith("so they had not converged: 3 of PIRAN.")


def test_a_method_of_which_no_run_converged_has_no_row(tmp_path: Path) -> None:
    slow = made_record("leap", 0, {"leap": {}}, stop_reason="not converged")
    (table,) = tables_of(tmp_path, "comparison", [*comparison_records(), slow])
    assert "LEAP" not in [row[0] for row in table.rows]
    assert table.notes[-1].endswith("1 of LEAP.")


def test_the_tail_table_has_a_column_a_dataset(tmp_path: Path) -> None:
    records = [*comparison_records("mine"), *comparison_records("eurlex")[::2]]
    (table,) = tables_of(tmp_path, "tail", records)
    assert table.columns == ("method", "mine", "eurlex")
    assert texts(table) == [
        ["PIRAN: No-Aug", "10.00 ± 0.00", "10.00 ± 0.00"],
        ["PIRAN", "31.00 ± 1.00", "31.00 ± 1.00 [1.96]"],
        ["HTTN", "20.00 ± 0.00", "–"],
    ]


def test_significance_is_against_the_strongest_baseline_and_no_aug(tmp_path: Path) -> None:
    weaker = [made_record("oltr", seed, {"oltr": {}}) for seed in range(3)]
    f1, tail = tables_of(tmp_path, "significance", [*comparison_records(), *weaker])
    assert f1.columns[2:] == ("seed 0", "seed 1", "seed 2", "avg", "p pooled", "p Welch")
    rows = texts(f1)
    assert [row[1] for row in rows] == ["HTTN", "PIRAN", "PIRAN: No-Aug", "PIRAN"]
    assert rows[0][2:] == ["65.00", "65.50", "66.00", "65.50", "", ""]
    expected = compare_runs([70.0, 71.0, 72.0], [65.0, 65.5, 66.0])
    assert rows[1][-2:] == [f"{expected.pooled_p:.5f}", f"{expected.welch_p:.5f}"]
    assert texts(tail)[1][2:5] == ["30.00", "31.00", "32.00"]


def test_one_seed_has_no_p_value(tmp_path: Path) -> None:
    f1, _ = tables_of(tmp_path, "significance", comparison_records()[:2])
    assert texts(f1)[1][-2:] == ["", ""]
    assert "There is no p-value where the method or its rival has one run only." in f1.notes
    f1, _ = tables_of(tmp_path, "significance", comparison_records())
    assert not [note for note in f1.notes if "no p-value" in note]


def test_the_ablation_goes_from_the_least_to_the_whole(tmp_path: Path) -> None:
    systems: dict[str, dict[str, float]] = {
        name: {} for name in ("piran", "aug-w-gen", "no-aug", "duplicate")
    }
    (table,) = tables_of(tmp_path, "ablation", [made_record("piran", 0, systems)])
    assert [row[0] for row in table.rows] == ["No-Aug", "Duplicate", "Aug-w-gen", "Complete"]


def test_a_sweep_has_its_points_as_rows(tmp_path: Path) -> None:
    records = [
        made_record(f"p@{n}", s, {"piran": {"tail_f1_at_0.5": n + s}}, method="piran")
        for n in (10, 20)
        for s in (0, 1)
    ]
    sweeps = {f"p@{n}": ("generations", {"n_generated": n}) for n in (10, 20)}
    suite = write_made_suite(tmp_path, records, sweeps=sweeps)
    (table,) = suite_tables(read_results(suite), ["sensitivity"])
    assert table.title == "Sensitivity on mine: generations"
    assert table.columns[0] == "p, generations a tail label"
    assert [row[0] for row in texts(table)] == ["10", "20"]
    assert [row[4] for row in texts(table)] == ["10.50 ± 0.71", "20.50 ± 0.71"]


def test_cost_counts_what_the_cache_spared(tmp_path: Path) -> None:
    (table,) = tables_of(tmp_path, "cost")
    assert texts(table)[0] == ["PIRAN", "15.0", "1.0", "100.0", "–"]


def test_datasets_are_described_in_the_papers_letters(tmp_path: Path) -> None:
    (table,) = tables_of(tmp_path, "datasets", comparison_records("rcv1"))
    assert table.columns == ("dataset", "N", "M", "D", "L", "L̄", "L̃", "W̄", "W̃")
    assert texts(table)[0][:3] == ["rcv1", "57 [23,149]", "29 [781,265]"]


def test_every_table_can_be_made_of_an_unfinished_suite(tmp_path: Path) -> None:
    suite = write_made_suite(tmp_path, comparison_records()[:1])
    for record in tmp_path.rglob("record.json"):
        record.unlink()
    results = read_results(suite)
    assert [table.name for table in suite_tables(results, list(TABLES))] == ["datasets"]


@pytest.mark.parametrize("dataset", paper.SIGNIFICANCE)
def test_the_papers_tables_agree_with_each_other(dataset: str) -> None:
    theirs = paper.SIGNIFICANCE[dataset]
    runs = {"piran": theirs.piran_runs, theirs.baseline: theirs.baseline_runs}
    for method, values in runs.items():
        mean = sum(values) / len(values)
        assert f"{mean:.2f}" == f"{paper.paper_score(dataset, method, 'micro_f1_at_0.5'):.2f}"
    comparison = compare_runs(theirs.piran_runs, theirs.baseline_runs)
    assert f"{comparison.pooled_p:.5f}" == theirs.p_value


def test_a_metric_that_no_record_has_is_no_column(tmp_path: Path) -> None:
    (table,) = tables_of(tmp_path, "ranking")
    assert table.columns == ("method", "P@1", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")


def calibrated_records() -> list[RunRecord]:
    piran = {"ECE_head": 0.5, "ECE_tail": 0.0581, "ECE_tail_from_0.05": 9.25}
    linear = {"ECE_head": 0.5, "ECE_tail": 0.0579, "ECE_tail_from_0.05": 10.0}
    return [
        made_record("piran", 0, {"piran": piran}),
        made_record("linear", 0, {"linear": linear}),
    ]


def test_the_lowest_calibration_error_is_the_best(tmp_path: Path) -> None:
    (table,) = tables_of(tmp_path, "calibration", calibrated_records())
    assert table.columns == ("method", "head", "tail", "tail from 0.05")
    assert texts(table) == [
        ["PIRAN", "0.500", "0.058", "9.250"],
        ["Linear", "0.500", "0.058", "10.000"],
    ]
    best = [[isinstance(entry, Score) and entry.is_best for entry in row[1:]] for row in table.rows]
    assert best == [[False, False, True], [False, False, False]]


def test_a_record_without_calibration_error_beside_others_has_dashes(tmp_path: Path) -> None:
    old = made_record("httn", 0, {"httn": {}})
    (table,) = tables_of(tmp_path, "calibration", [*calibrated_records(), old])
    assert texts(table)[2] == ["HTTN", "–", "–", "–"]


def test_records_without_calibration_error_have_no_such_table(tmp_path: Path) -> None:
    assert tables_of(tmp_path, "calibration") == []
