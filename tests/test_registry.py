"""Names to things: given once, found without a list, suggested when misspelt."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from piran import registry
from piran.data.datasets import DATASETS
from piran.encoders.base import ENCODERS
from piran.errors import UnknownNameError
from piran.methods.base import METHODS
from piran.registry import Registry, suggestion

PACKAGE = "registry_example"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package whose one module registers a thing with the package's registry."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").write_text(
        f"from piran.registry import Registry\nSHAPES = Registry('shape', '{PACKAGE}')\n"
    )
    (folder / "round.py").write_text(
        f"from {PACKAGE} import SHAPES\n\n@SHAPES.register('circle')\nclass Circle: ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


def shapes(package: Path) -> Registry[type]:
    module = __import__(package.name)
    assert isinstance(module.SHAPES, Registry)
    return module.SHAPES


def test_a_new_file_in_the_package_is_found_without_being_named(package: Path) -> None:
    assert list(shapes(package)) == ["circle"]
    assert shapes(package)["circle"].__name__ == "Circle"


def test_nothing_is_imported_before_the_first_look_up(package: Path) -> None:
    shapes(package)
    assert f"{PACKAGE}.round" not in sys.modules
    assert "circle" in shapes(package)
    assert f"{PACKAGE}.round" in sys.modules


def test_names_are_listed_in_order(package: Path) -> None:
    for name in ("square", "arc"):
        shapes(package).register(name)(type(name, (), {}))
    assert list(shapes(package)) == ["arc", "circle", "square"]


def test_a_name_is_given_only_once(package: Path) -> None:
    assert "circle" in shapes(package)
    with pytest.raises(ValueError, match="shape 'circle' is registered twice"):
        shapes(package).register("circle")(int)


def test_the_same_thing_may_be_registered_again(package: Path) -> None:
    thing = shapes(package)["circle"]
    assert shapes(package).register("circle")(thing) is thing


def test_a_misspelt_name_is_answered_with_the_nearest(package: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown shape 'cirlce'\. Did you mean 'circle'\?"):
        shapes(package)["cirlce"]


def test_a_name_like_no_other_is_answered_with_all(package: Path) -> None:
    shapes(package).register("arc")(int)
    with pytest.raises(UnknownNameError, match=r"Unknown shape 'xyz'\. Known: arc, circle\."):
        shapes(package)["xyz"]


def test_other_packages_add_things_by_entry_point(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def entry_points(group: str) -> list[EntryPoint]:
        return [EntryPoint("ordered", "collections:OrderedDict", group)]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    assert shapes(package)["ordered"].__name__ == "OrderedDict"


@pytest.mark.parametrize(
    ("things", "name"), [(METHODS, "piran"), (ENCODERS, "tfidf"), (DATASETS, "debtags")]
)
def test_the_librarys_own_things_are_found(things: Registry[object], name: str) -> None:
    assert name in things
    assert "no such thing" not in things


def test_a_suggestion_needs_some_likeness() -> None:
    assert suggestion("complet", ["complete", "no-aug"]) == "Did you mean 'complete'?"
    assert suggestion("xyz", ["b", "a"]) == "Known: a, b."
