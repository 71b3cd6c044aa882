"""Instances of single texts: encoded once, kept by text, never in the way."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from piran.encoders import instance_cache as module
from piran.encoders.cache import stage1_cache
from piran.encoders.instance_cache import instance_cache, kept_instances, user_cache_folder
from piran.progress import Advance
from piran.types import FloatArray, Texts


class Reader:
    """Encodes a text as its length and its first letter, and remembers what it has read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, texts: Texts, advance: Advance) -> FloatArray:
        self.read += texts
        advance(len(texts))
        return np.array([[len(text), ord(text[:1] or " ")] for text in texts], dtype=np.float32)

    def instances(self, *texts: str, key: str = "reader") -> list[list[float]]:
        rows: list[list[float]] = kept_instances(key, texts, self, feature_dim=2).tolist()
        return rows


@pytest.fixture
def reader() -> Reader:
    return Reader()


A, BB = [1.0, 97.0], [2.0, 98.0]


def test_instances_stand_in_the_order_of_the_texts(reader: Reader) -> None:
    assert reader.instances("bb", "a", "bb") == [BB, A, BB]


def test_a_text_that_stands_twice_is_read_once(reader: Reader) -> None:
    reader.instances("a", "bb", "a")
    assert reader.read == ["a", "bb"]


def test_without_a_cache_every_call_reads(reader: Reader) -> None:
    reader.instances("a")
    reader.instances("a")
    assert reader.read == ["a", "a"]


def test_no_text_gives_no_instance(reader: Reader) -> None:
    assert kept_instances("reader", [], reader, feature_dim=2).shape == (0, 2)
    assert reader.read == []


@pytest.fixture(params=["memory", "disk", "stage 1"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    contexts: dict[str, AbstractContextManager[object]] = {
        "memory": instance_cache(),
        "disk": instance_cache(tmp_path),
        "stage 1": stage1_cache(tmp_path),
    }
    with contexts[request.param]:
        yield


@pytest.mark.usefixtures("opened")
def test_only_new_texts_are_read(reader: Reader) -> None:
    reader.instances("a")
    assert reader.instances("bb", "a") == [BB, A]
    assert reader.read == ["a", "bb"]


@pytest.mark.usefixtures("opened")
def test_encoders_do_not_share_instances(reader: Reader) -> None:
    reader.instances("a", key="one")
    reader.instances("a", key="other")
    assert reader.read == ["a", "a"]


def test_the_disk_outlives_the_block(reader: Reader, tmp_path: Path) -> None:
    for _ in range(2):
        with instance_cache(tmp_path / "new"):
            assert reader.instances("a", "\ud800", "") == [A, [1.0, 0xD800], [0.0, 32.0]]
    assert len(reader.read) == 3


def test_memory_does_not_take_the_place_of_a_disk(reader: Reader, tmp_path: Path) -> None:
    with instance_cache(tmp_path), instance_cache():
        reader.instances("a")
    with instance_cache(tmp_path):
        reader.instances("a")
    assert reader.read == ["a"]


def test_what_was_read_before_a_stop_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: Reader
) -> None:
    monkeypatch.setattr(module, "TEXTS_AT_ONCE", 2)

    def stopped(texts: Texts, advance: Advance) -> FloatArray:
        if "cc" in texts:
            raise KeyboardInterrupt
        return reader(texts, advance)

    with instance_cache(tmp_path):
        with pytest.raises(KeyboardInterrupt):
            kept_instances("reader", ["a", "bb", "cc"], stopped, feature_dim=2)
        reader.instances("a", "bb", "cc")
    assert reader.read == ["a", "bb", "cc"]


def test_a_damaged_file_is_not_in_the_way(
    reader: Reader, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "instances-reader.sqlite").write_bytes(b"no database " * 99)
    with instance_cache(tmp_path), caplog.at_level(logging.WARNING):
        assert reader.instances("a") == [A]
    assert "Instances are not kept in" in caplog.text


def test_a_folder_that_cannot_be_made_is_not_in_the_way(reader: Reader, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with instance_cache(tmp_path / "file" / "below"):
        assert reader.instances("a") == [A]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PIRAN_CACHE": "/there", "XDG_CACHE_HOME": "/x"}, Path("/there")),
        ({"XDG_CACHE_HOME": "/x"}, Path("/x/piran")),
        ({"HOME": "/home/me"}, Path("/home/me/.cache/piran")),
        ({"PIRAN_CACHE": ""}, None),
    ],
)
def test_where_a_user_s_cache_is(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: Path | None
) -> None:
    for name in ("PIRAN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert user_cache_folder() == expected
