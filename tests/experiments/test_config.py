"""Suite files: what may stand in one, and what is said about what may not."""

from pathlib import Path

import pytest
from tiny_suite import SUITE, tiny_suite, write_corpus_files, write_suite

from piran.errors import SettingError, UnknownNameError
from piran.experiments.cells import DataSource
from piran.experiments.config import read_suite, suite_files
from piran.experiments.suite import plan_suite

MINIMAL = 'data = ["debtags"]\n[[cells]]\nmethod = "piran"\n'


def test_a_suite_has_defaults_for_all_but_data_and_cells(tmp_path: Path) -> None:
    suite = tiny_suite(tmp_path, MINIMAL)
    assert (suite.name, suite.seeds) == ("tiny", [0, 1, 2, 3, 4])
    assert [cell.title for cell in suite.cells] == ["piran"]


def test_settings_on_a_dataset_come_on_top(tmp_path: Path) -> None:
    text = MINIMAL + "settings = { l2 = 1.0, tail = 3 }\n[cells.on.aapd]\nl2 = 2.0\n"
    cell = tiny_suite(tmp_path, text).cells[0]
    assert cell.settings_on("aapd") == {"l2": 2.0, "tail": 3}
    assert cell.settings_on("debtags") == {"l2": 1.0, "tail": 3}


def test_a_sweep_may_have_other_values_on_a_dataset(tmp_path: Path) -> None:
    text = SUITE + "\n[sweeps.on.aapd]\nn_generated = [300, 600]\n"
    sweep = tiny_suite(tmp_path, text).sweeps[0]
    assert sweep.vary_on("aapd") == {"n_generated": [300, 600]}
    assert sweep.vary_on("mine") == {"n_generated": [2, 4]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MINIMAL + "metod = 1\n", r"cells\[1\] has no key 'metod'. Did you mean 'method'\?"),
        ("sed = 1\n" + MINIMAL, r"the suite has no key 'sed'. Did you mean 'seeds'\?"),
        ("seeds = 'x'\n" + MINIMAL, r"seeds: input should be a valid list, got 'x'"),
        ("seeds = 0\n" + MINIMAL, "seeds must be different numbers, at least one, got"),
        (
            "seeds = [1, 1]\n" + MINIMAL,
            r"seeds must be different numbers, at least one, got \[1, 1\]",
        ),
        ('[[cells]]\nmethod = "piran"\n', "the suite lacks the key 'data'"),
        (MINIMAL + '[[cells]]\nmethod = "piran"\n', "the name 'piran' is given 2 times"),
        (MINIMAL + 'name = "a/b"\n', r"cells\[1\].name: string should match pattern"),
        (
            MINIMAL + '[[sweeps]]\nname = "s"\ncell = "pirn"\nvary = { l2 = [1] }\n',
            r"sweep 's' names no cell: 'pirn'. Did you mean 'piran'\?$",
        ),
        *(
            (
                MINIMAL + f'[[sweeps]]\nname = "s"\ncell = "piran"\nvary = {{ l2 = {values} }}\n',
                r"sweeps\[1\].vary.l2 must be a list of different values or 'scaled', got ",
            )
            for values in ("[]", "[0.1, 0.2, 0.1]", "'scald'")
        ),
        ("seeds = [0, -1]\n" + MINIMAL, r"seeds\[2\]: input should be greater than or equal to 0"),
        ("seeds = true\n" + MINIMAL, "seeds: input should be a valid list, got True"),
        ("data = [", "cannot be read as TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = write_suite(tmp_path, text)
    with pytest.raises(SettingError, match=message):
        read_suite(path)


def test_an_unknown_suite_is_answered_with_what_there_is() -> None:
    with pytest.raises(UnknownNameError, match="Unknown suite 'papr'"):
        read_suite("papr")


@pytest.mark.parametrize("name", suite_files())
def test_every_suite_of_the_project_can_be_read(name: str) -> None:
    suite = read_suite(name)
    assert suite.name == name
    assert suite.description


@pytest.mark.parametrize("name", suite_files())
def test_every_suite_of_the_project_can_be_planned(name: str, tmp_path: Path) -> None:
    data = write_corpus_files(tmp_path / "mine")
    plan = plan_suite(read_suite(name), tmp_path, sources=[DataSource(str(data))], seeds=1)
    assert {cell.dataset for cell in plan.cells} == {"mine"}
