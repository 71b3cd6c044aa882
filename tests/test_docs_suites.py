"""The guide to suites: its example can be planned, and what it lists is all there is."""

import re
from pathlib import Path

from piran.data import Documents, write_documents
from piran.experiments.cells import DataSource
from piran.experiments.config import read_suite, suite_files
from piran.experiments.suite import plan_suite
from piran.experiments.tables import TABLES

GUIDE = (Path(__file__).parent.parent / "docs" / "suites.md").read_text(encoding="utf-8")


def test_the_example_of_a_suite_can_be_planned(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", GUIDE, flags=re.DOTALL)
    (tmp_path / "mine.toml").write_text(example, encoding="utf-8")
    documents = Documents(["red apple", "green pear", "blue sky"], [("a", "b"), ("a",), ("c",)])
    for split in ("train", "test"):
        write_documents(documents, tmp_path / "tickets" / f"{split}.jsonl")
    source = DataSource(str(tmp_path / "tickets"))
    plan = plan_suite(read_suite(tmp_path / "mine.toml"), tmp_path / "runs", sources=[source])
    settings = {cell.name: cell.settings for cell in plan.cells}
    assert settings["piran"]["n_components"] == 200
    assert settings["piran-bilstm"]["max_epochs"] == 40
    assert {name for name in settings if "@" in name} == {f"generations@{p}" for p in (10, 20, 40)}
    assert len(plan.cells) == 5 * 2 + 3 + 3 * 3


def test_the_guide_names_every_suite_and_every_table() -> None:
    for name in suite_files():
        assert f"| `{name}` |" in GUIDE
    for name in TABLES:
        assert f"`{name}`" in GUIDE
