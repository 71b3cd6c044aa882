"""Records read back: what is averaged, what is left out, what is refused."""

import json
from pathlib import Path

import pytest

from made_suite import comparison_records, made_record, write_made_suite
from piran.errors import DataError
from piran.experiments.records import RunRecord
from piran.experiments.results import Mean, read_results
from piran.experiments.tables import comparison_tables

PIRAN = {"piran": {"P@1": 80.0}}


def test_means_and_deviations_are_over_seeds() -> None:
    mean = Mean.of([1.0, 2.0, 6.0])
    assert (mean.value, mean.n_seeds) == (3.0, 3)
    assert mean.deviation == pytest.approx(7**0.5)  # (4 + 1 + 9) / 2
    assert Mean.of([4.0]).deviation is None


def test_systems_of_a_record_are_methods_of_their_own(tmp_path: Path) -> None:
    results = read_results(write_made_suite(tmp_path, comparison_records()))
    systems = results.datasets[0].systems(["no-aug", "duplicate"])
    assert [runs.name for runs in systems] == ["piran[no-aug]", "piran", "httn"]
    assert systems[0].values("tail_f1_at_0.5") == [10.0, 10.0, 10.0]
    assert systems[1].mean("P@1").value == pytest.approx(81.0)


def test_seeds_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    records = [made_record("piran", seed, PIRAN) for seed in (10, 2, 1)]
    results = read_results(write_made_suite(tmp_path, records))
    assert results.datasets[0].cells[0].seeds == [1, 2, 10]


def test_runs_that_did_not_converge_are_left_out_and_counted(tmp_path: Path) -> None:
    records = [
        made_record("piran", 0, PIRAN, stop_reason="early stopping"),
        made_record("piran", 1, PIRAN, stop_reason="not converged"),
    ]
    (runs,) = read_results(write_made_suite(tmp_path, records)).datasets[0].cells
    assert (runs.seeds, runs.n_not_converged) == ([0], 1)


def test_failed_runs_are_counted(tmp_path: Path) -> None:
    folder = write_made_suite(tmp_path, [made_record("piran", 0, PIRAN)])
    failed = folder / "mine" / "piran" / "seed-1"
    failed.mkdir()
    state = {"name": "piran", "created": "", "method": "piran", "settings": {}, "seed": 1}
    state |= {"dataset": "mine", "checksum": "", "error": "E", "message": "m", "seconds": 1.0}
    (failed / "error.json").write_text(json.dumps({**state, "versions": {}}))
    (runs,) = read_results(folder).datasets[0].cells
    assert (len(runs.records), runs.n_failed) == (1, 1)


def test_records_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    folder = write_made_suite(tmp_path, [made_record("piran", seed, PIRAN) for seed in (0, 1)])
    (folder / "mine" / "piran" / "seed-1" / "record.json").write_text("{")
    results = read_results(folder)
    assert results.datasets[0].cells[0].n_unreadable == 1
    notes = comparison_tables(results)[0].notes
    assert notes[-1] == "Runs left out because their records cannot be read: 1 of PIRAN."


def test_points_of_a_sweep_are_no_methods(tmp_path: Path) -> None:
    records = [made_record(f"p@{n}", 0, PIRAN, method="piran") for n in (10, 20)]
    sweeps = {f"p@{n}": ("p", {"n_generated": n}) for n in (10, 20)}
    (dataset,) = read_results(write_made_suite(tmp_path, records, sweeps=sweeps)).datasets
    assert dataset.cells == ()
    assert [runs.point for runs in dataset.sweeps["p"]] == [
        {"n_generated": 10},
        {"n_generated": 20},
    ]


def test_other_settings_are_not_averaged(tmp_path: Path) -> None:
    records = [made_record("piran", s, PIRAN, settings={"seed": s, "l2": s / 2}) for s in (0, 1)]
    with pytest.raises(
        DataError, match="seed 1: l2 differ from seed 0, so the two cannot be averaged"
    ):
        read_results(write_made_suite(tmp_path, records))


def test_a_setting_that_one_record_is_too_old_for_is_at_its_default_there(tmp_path: Path) -> None:
    def of(*all_settings: dict[str, float]) -> list[RunRecord]:
        return [made_record("piran", int(s["seed"]), PIRAN, settings=s) for s in all_settings]

    old = {"seed": 0, "l2": 0.5}
    same = of(old, {"seed": 1, "l2": 0.5, "folds": 1})
    (dataset,) = read_results(write_made_suite(tmp_path, same)).datasets
    assert [len(runs.records) for runs in dataset.cells] == [2]
    with pytest.raises(DataError, match="seed 1: folds differ from seed 0"):
        read_results(
            write_made_suite(tmp_path / "other", of(old, {"seed": 1, "l2": 0.5, "folds": 2}))
        )


def test_other_data_are_not_averaged(tmp_path: Path) -> None:
    record = made_record("piran", 0, PIRAN)
    other = record.dataset.model_copy(update={"checksum": "0"})
    folder = write_made_suite(tmp_path, [record.model_copy(update={"dataset": other})])
    with pytest.raises(DataError, match=r"the record is of other data than dataset.json says"):
        read_results(folder)


def test_suites_are_joined_by_dataset(tmp_path: Path) -> None:
    first = write_made_suite(tmp_path / "one", comparison_records("mine"), name="one")
    second = write_made_suite(tmp_path / "two", comparison_records("yours"), name="two")
    third = write_made_suite(
        tmp_path / "three", [made_record("linear", 0, {"linear": {}})], name="three"
    )
    results = read_results(first, second, third)
    assert results.name == "one + two + three"
    assert [dataset.name for dataset in results.datasets] == ["mine", "yours"]
    assert [runs.cell for runs in results.datasets[0].cells] == ["piran", "httn", "linear"]
    with pytest.raises(DataError, match="several suites have cells called httn, piran"):
        read_results(first, first)


def test_a_folder_without_a_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no suite \(it has no suite.json\)"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("suite.json", "{", r"suite\.json is damaged \(.*\); run piran bench again"),
        ("suite.json", '{"format": 1}', r"suite\.json is not a plan of format 1"),
        ("mine/dataset.json", "{", r"dataset\.json cannot be read \(.*\); run piran bench again"),
        ("mine/dataset.json", "{}", r"dataset\.json cannot be read \('checksum'\)"),
    ],
)
def test_damaged_files_of_a_suite_are_named(
    tmp_path: Path, file: str, text: str, message: str
) -> None:
    folder = write_made_suite(tmp_path, comparison_records())
    (folder / file).write_text(text)
    with pytest.raises(DataError, match=message):
        read_results(folder)
