"""Saved state: whole folders or none, and one clear line for every kind of damage."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from piran.errors import ModelFolderError
from piran.storage import (
    FORMAT,
    load_state,
    new_folder,
    read_json,
    save_state,
    write_text_atomically,
)

ARRAYS = {"rows": np.arange(6, dtype=np.float32).reshape(2, 3), "ids": np.array([3, 1])}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    save_state(folder, "head", {"labels": ["é", "中文"], "count": 2}, ARRAYS)
    return folder


def one_line(error: pytest.ExceptionInfo[ModelFolderError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


def test_state_and_arrays_come_back_as_they_were(saved: Path) -> None:
    state, arrays = load_state(saved, "head")
    assert state == {"format": FORMAT, "labels": ["é", "中文"], "count": 2}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_views_are_saved_as_what_they_show(tmp_path: Path) -> None:
    save_state(tmp_path, "x", {}, {"turned": ARRAYS["rows"].T, "part": ARRAYS["rows"][:, 1]})
    _, arrays = load_state(tmp_path, "x")
    np.testing.assert_array_equal(arrays["turned"], ARRAYS["rows"].T)
    np.testing.assert_array_equal(arrays["part"], [1, 4])


def test_nothing_saved_is_a_pickle(saved: Path) -> None:
    assert sorted(path.suffix for path in saved.iterdir()) == [".json", ".safetensors"]


@pytest.mark.parametrize("name", ["head.json", "head.safetensors"])
def test_a_missing_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(ModelFolderError) as error:
        load_state(saved, "head")
    assert f"{saved / name} is missing" in one_line(error)
    assert "not all of it was copied" in one_line(error)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="nowhere is not a saved model"):
        load_state(tmp_path / "nowhere", "head")


@pytest.mark.parametrize("name", ["head.json", "head.safetensors"])
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
def test_a_file_that_was_cut_short_is_named(saved: Path, name: str, kept: float) -> None:
    path = saved / name
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(ModelFolderError) as error:
        load_state(saved, "head")
    assert f"{path} is damaged" in one_line(error)
    assert "save the model again" in one_line(error)


@pytest.mark.parametrize("name", ["head.json", "head.safetensors"])
def test_a_damaged_file_is_named(saved: Path, name: str) -> None:
    (saved / name).write_bytes(b"\xff\xfe not this")
    with pytest.raises(ModelFolderError) as error:
        load_state(saved, "head")
    assert f"{saved / name} is damaged" in one_line(error)


def test_a_folder_in_the_place_of_a_file_is_named(saved: Path) -> None:
    (saved / "head.json").unlink()
    (saved / "head.json").mkdir()
    with pytest.raises(ModelFolderError) as error:
        load_state(saved, "head")
    assert "head.json is damaged" in one_line(error)


@pytest.mark.parametrize("content", [[1, 2], {"labels": []}, {"format": "new"}, None])
def test_json_that_is_no_state_is_refused(tmp_path: Path, content: object) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFolderError, match="not a saved piran state: it has no format number"):
        read_json(path)


def test_a_newer_format_asks_for_a_newer_version(saved: Path) -> None:
    path = saved / "head.json"
    path.write_text(json.dumps({"format": FORMAT + 1}))
    with pytest.raises(ModelFolderError) as error:
        load_state(saved, "head")
    assert f"has format {FORMAT + 1}, this version of piran reads up to {FORMAT}" in one_line(error)
    assert "update piran" in one_line(error)


def test_a_new_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "model"
    with new_folder(target) as folder:
        (folder / "a").write_text("1")
        assert not target.exists()
    assert (target / "a").read_text() == "1"
    assert [path.name for path in target.parent.iterdir()] == ["model"]


def test_a_new_folder_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    target = tmp_path / "model"
    for name in ("old", "new"):
        with new_folder(target) as folder:
            (folder / name).touch()
    assert [path.name for path in target.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def write_half_and_fail(target: Path) -> None:
    with new_folder(target) as folder:
        (folder / "half").touch()
        raise KeyboardInterrupt


def test_an_error_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        write_half_and_fail(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_an_error_leaves_an_earlier_folder_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with new_folder(target) as folder:
        (folder / "old").touch()
    with pytest.raises(KeyboardInterrupt):
        write_half_and_fail(target)
    assert [path.name for path in target.iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_error_of_the_exchange_itself_leaves_an_earlier_folder_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "model"
    with new_folder(target) as folder:
        (folder / "old").touch()
    replace = os.replace

    def no_room(source: Path, destination: Path) -> None:
        if (
            destination == target and source.name != target.name
        ):  # the new one, not the old put back
            raise OSError("no room")
        replace(source, destination)

    monkeypatch.setattr(os, "replace", no_room)
    with pytest.raises(OSError, match="no room"), new_folder(target):
        pass
    assert [path.name for path in target.iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_new_folder_can_be_read_by_others(tmp_path: Path) -> None:
    with new_folder(tmp_path / "model"):
        pass
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o755


def test_a_text_replaces_the_earlier_one_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "record.json"
    write_text_atomically(path, "old")
    write_text_atomically(path, "é")
    assert path.read_text(encoding="utf-8") == "é"
    assert list(path.parent.iterdir()) == [path]


def test_a_text_that_cannot_be_written_leaves_the_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_text_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text_atomically(path, "\ud800")  # half of a surrogate pair: not UTF-8
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
