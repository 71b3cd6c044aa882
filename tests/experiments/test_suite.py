"""Suites: planned before they run, run once a cell, continued wherever they stopped."""

import json
from pathlib import Path

import pytest
from tiny_suite import SUITE, tiny_documents, tiny_plan, tiny_suite

from piran.data import write_documents
from piran.errors import DataError, SettingError, UnknownNameError
from piran.experiments.cells import ERROR_NAME, FROM_CACHE, Cell, DataSource
from piran.experiments.engines import InlineEngine
from piran.experiments.records import RECORD_NAME, RunRecord
from piran.experiments.suite import plan_suite, read_plan, run_suite, suite_standing

FAILING = """
[[cells]]
method = "piran"
name = "broken"
settings = { encoder = "tfidf", min_documents = 1000 }
"""


class Ears:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, int]] = []

    def started(self, cell: Cell) -> None:
        self.heard.append(("started", cell.name, cell.seed))

    def progressed(self, cell: Cell, step: str, share: float | None) -> None:
        raise AssertionError("nothing here reports progress")

    def ended(self, cell: Cell, *, has_failed: bool, message: str) -> None:
        self.heard.append(("failed" if has_failed else "done", cell.name, cell.seed))


def test_a_plan_takes_a_whole_seed_before_the_next(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    assert [(cell.name, cell.seed) for cell in plan.cells] == [
        ("piran", 0),
        ("plain", 0),
        ("generations@2", 0),
        ("generations@4", 0),
        ("piran", 1),
        ("plain", 1),
    ]
    assert plan.cells[3].settings["n_generated"] == 4
    assert plan.cells[3].settings["references"] == []
    assert all(cell.settings["tail"] == 2 for cell in plan.cells)


def test_a_cell_that_takes_long_can_take_fewer_seeds(tmp_path: Path) -> None:
    text = SUITE.replace('name = "plain"', 'name = "plain"\nseeds = 1')
    cells = [(cell.name, cell.seed) for cell in tiny_plan(tmp_path, text).cells]
    assert [seed for name, seed in cells if name == "plain"] == [0]
    assert [seed for name, seed in cells if name == "piran"] == [0, 1]


def test_a_misspelt_setting_stops_the_suite_before_it_starts(tmp_path: Path) -> None:
    text = SUITE.replace("n_components = 6, n_generated", "n_component = 6, n_generated")
    with pytest.raises(
        SettingError, match=r"cell piran: piran has no setting 'n_component'. Did you"
    ):
        tiny_plan(tmp_path, text)


def test_a_sweep_that_is_out_of_range_is_named(tmp_path: Path) -> None:
    text = SUITE.replace("n_generated = [2, 4]", "n_head_labels = [2, 6]")
    with pytest.raises(
        SettingError, match="sweep generations on mine: n_head_labels must lie between 1 and 5"
    ):
        tiny_plan(tmp_path, text)


def test_a_suite_cannot_go_into_a_file(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(DataError, match="runs is a file; name a folder for the suite"):
        tiny_plan(tmp_path)


def test_statistics_that_cannot_be_read_are_made_anew(tmp_path: Path) -> None:
    expected = tiny_plan(tmp_path).datasets[0].statistics
    known = tmp_path / "runs" / "mine" / "dataset.json"
    known.parent.mkdir(parents=True)
    known.write_text("{")
    assert tiny_plan(tmp_path).datasets[0].statistics == expected


def test_data_without_a_test_split_are_refused(tmp_path: Path) -> None:
    write_documents(tiny_documents(10, 0), tmp_path / "alone.jsonl")
    with pytest.raises(DataError, match="has no test split"):
        plan_suite(
            tiny_suite(tmp_path), tmp_path, sources=[DataSource(str(tmp_path / "alone.jsonl"))]
        )


def test_documents_can_be_set_aside_to_test_on(tmp_path: Path) -> None:
    write_documents(tiny_documents(50, 0), tmp_path / "alone.jsonl")
    source = DataSource(str(tmp_path / "alone.jsonl"), hold_out=0.2)
    plan = plan_suite(tiny_suite(tmp_path), tmp_path / "runs", sources=[source], seeds=1)
    standing = run_suite(plan, tmp_path / "runs", InlineEngine(), only=["plain"])
    assert standing.count("finished") == 1
    assert plan.datasets[0].statistics["n_test"] == 10


def test_shared_settings_go_to_the_methods_that_know_them(tmp_path: Path) -> None:
    text = (
        SUITE
        + """
[[cells]]
method = "xml-cnn"

[[cells]]
method = "dxml"
settings = { max_epochs = 7 }

[shared]
max_epochs = 3
"""
    )
    plan = tiny_plan(tmp_path, text, seeds=1)
    found = {cell.name: cell.settings.get("max_epochs") for cell in plan.cells if not cell.sweep}
    assert found == {"piran": None, "plain": None, "xml-cnn": 3, "dxml": 7}
    with pytest.raises(SettingError, match=r"no method knows the shared setting 'max_epoch'"):
        tiny_plan(tmp_path, text.replace("max_epochs = 3", "max_epoch = 3"))


def test_two_datasets_of_one_name_are_refused(tmp_path: Path) -> None:
    source = DataSource(str(tiny_plan(tmp_path).datasets[0].source.name_or_path))
    with pytest.raises(DataError, match="have one name"):
        plan_suite(tiny_suite(tmp_path), tmp_path, sources=[source, source])


def test_each_cell_leaves_a_record(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path, seeds=1)
    standing = run_suite(plan, tmp_path / "runs", InlineEngine())
    assert standing.count("finished") == len(plan.cells) == 4
    record = RunRecord.read(tmp_path / "runs" / "mine" / "generations@4" / "seed-0")
    assert record.settings["n_generated"] == 4
    assert record.dataset.checksum == plan.cells[0].checksum
    assert set(record.scores) >= {"P@1", "nDCG@5", "micro_f1_at_0.5", "tail_f1"}
    assert len(record.systems["piran"].label_f1) == len(record.labels.names) == 6
    assert record.times[FROM_CACHE] > 0  # stage 1 is that of the first cell
    assert record.picture is None


def test_a_finished_cell_is_never_repeated(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path, seeds=1)
    run_suite(plan, tmp_path / "runs", InlineEngine(), only=["generations"])
    ears = Ears()
    run_suite(tiny_plan(tmp_path, seeds=1), tmp_path / "runs", InlineEngine(), observer=ears)
    assert ears.heard == [
        ("started", "piran", 0),
        ("done", "piran", 0),
        ("started", "plain", 0),
        ("done", "plain", 0),
    ]


def test_other_settings_make_another_cell(tmp_path: Path) -> None:
    run_suite(tiny_plan(tmp_path, seeds=1), tmp_path / "runs", InlineEngine())
    changed = tiny_plan(tmp_path, SUITE.replace("n_generated = 5", "n_generated = 6"), seeds=1)
    states = suite_standing(changed.cells, tmp_path / "runs").states
    assert [states[cell] for cell in changed.cells] == ["waiting", *["finished"] * 3]


def test_a_record_from_before_a_setting_came_still_counts(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path, seeds=1)
    run_suite(plan, tmp_path / "runs", InlineEngine(), only=["piran"])
    path = tmp_path / "runs" / plan.cells[0].folder / "record.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["settings"].pop("folds") == 1
    path.write_text(json.dumps(record), encoding="utf-8")
    assert suite_standing(plan.cells, tmp_path / "runs").states[plan.cells[0]] == "finished"
    record["settings"]["folds"] = 2
    path.write_text(json.dumps(record), encoding="utf-8")
    assert suite_standing(plan.cells, tmp_path / "runs").states[plan.cells[0]] == "waiting"


def test_other_data_make_other_cells(tmp_path: Path) -> None:
    run_suite(tiny_plan(tmp_path, seeds=1), tmp_path / "runs", InlineEngine(), only=["plain"])
    write_documents(tiny_documents(50, 3), tmp_path / "mine" / "train.jsonl")
    changed = tiny_plan(tmp_path, seeds=1)
    assert suite_standing(changed.cells, tmp_path / "runs").count("finished") == 0


def test_a_damaged_record_is_run_again(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path, seeds=1)
    run_suite(plan, tmp_path / "runs", InlineEngine(), only=["plain"])
    record = tmp_path / "runs" / plan.selected(["plain"])[0].folder / RECORD_NAME
    record.write_text(record.read_text()[:100])
    assert suite_standing(plan.selected(["plain"]), tmp_path / "runs").count("waiting") == 1


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    first, _, rest = SUITE.partition("[[cells]]")
    plan = tiny_plan(tmp_path, f"{first}{FAILING}[[cells]]{rest}", seeds=1)
    assert plan.cells[0].name == "broken"
    standing = run_suite(plan, tmp_path / "runs", InlineEngine())
    assert (standing.count("failed"), standing.count("finished")) == (1, 4)


def test_failed_cells_are_left_alone_until_asked_for(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path, SUITE + FAILING, seeds=1)
    folder = tmp_path / "runs"
    for retry, expected in ((False, 2), (False, 0), (True, 2)):
        ears = Ears()
        run_suite(plan, folder, InlineEngine(), only=["broken"], observer=ears, retry_failed=retry)
        assert len(ears.heard) == expected
    failure = json.loads((folder / "mine" / "broken" / "seed-0" / ERROR_NAME).read_text())
    assert failure["error"] == "DataError"
    assert "No word occurs in 1000 of the" in failure["message"]
    assert failure["settings"]["min_documents"] == 1000
    assert failure["traceback"][0].startswith("Traceback")


def test_a_plan_keeps_the_datasets_of_earlier_commands(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    plan = tiny_plan(tmp_path, seeds=1)
    run_suite(plan, folder, InlineEngine(), only=["plain"])
    (tmp_path / "mine").rename(tmp_path / "yours")
    source = DataSource(str(tmp_path / "yours"))
    other = plan_suite(tiny_suite(tmp_path), folder, sources=[source], seeds=1)
    run_suite(other, folder, InlineEngine(), only=["plain"])
    state = read_plan(folder)
    assert list(state["datasets"]) == ["mine", "yours"]
    assert state["datasets"]["mine"][2] == {
        "name": "generations@2",
        "method": "piran",
        "sweep": "generations",
        "point": {"n_generated": 2},
    }
    assert json.loads((folder / "yours" / "dataset.json").read_text())["n_train"] == 60


def test_a_folder_holds_one_suite(tmp_path: Path) -> None:
    run_suite(tiny_plan(tmp_path, seeds=1), tmp_path / "runs", InlineEngine(), only=["plain"])
    other = tiny_plan(tmp_path, 'name = "other"\n' + SUITE, seeds=1)
    with pytest.raises(DataError, match="holds the suite 'tiny', not 'other'"):
        run_suite(other, tmp_path / "runs", InlineEngine())


def test_an_unknown_part_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no cell or sweep 'plan'\. Did you mean 'plain'"):
        tiny_plan(tmp_path).selected(["plan"])


@pytest.mark.parametrize("part", ['name = "plain"', 'name = "generations"'])
def test_settings_on_a_misspelt_dataset_are_refused(tmp_path: Path, part: str) -> None:
    value = "{ n_generated = [3] }" if "gen" in part else "{ l2 = 2.0 }"
    for name in ("mine", "aapd", "debtags-train"):  # planned, with a card, or absent today
        tiny_plan(tmp_path, SUITE.replace(part, f"{part}\non = {{ {name} = {value} }}"))
    with pytest.raises(SettingError, match=r"'reuter90', which is no.* Did you mean 'reuters90'\?"):
        tiny_plan(tmp_path, SUITE.replace(part, f"{part}\non = {{ reuter90 = {value} }}"))
