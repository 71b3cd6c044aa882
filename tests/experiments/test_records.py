"""Run records: written short, read back whole."""

from pathlib import Path

import pytest

from made_suite import made_record
from piran.errors import DataError
from piran.experiments.records import RunRecord


def test_a_record_is_read_back_as_it_was(tmp_path: Path) -> None:
    record = made_record(
        "piran", 3, {"piran": {"P@1": 81.25}, "no-aug": {}}, stop_reason="max epochs"
    )
    record.write(tmp_path)
    assert RunRecord.read(tmp_path) == record
    assert RunRecord.read(tmp_path / "record.json") == record


def test_a_record_has_a_line_a_field(tmp_path: Path) -> None:
    lines = made_record("piran", 0, {"piran": {"tail_f1_at_0.5": 0.0}}).to_json().splitlines()
    assert len(lines) == len(RunRecord.model_fields)
    (systems,) = (line for line in lines if line.startswith(' "systems"'))
    assert '"label_f1":[90,70,0,0]' in systems


@pytest.mark.parametrize("text", ["", "{", '{"format": 1}', "[]"])
def test_a_damaged_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(DataError, match=r"record\.json is not a run record of format 1"):
        RunRecord.read(tmp_path)


def test_of_a_damaged_record_one_fault_is_named(tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text('{"format": 1}')
    with pytest.raises(DataError, match=r"of format 1: name: Field required\.$"):
        RunRecord.read(tmp_path)


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No run record at"):
        RunRecord.read(tmp_path)
