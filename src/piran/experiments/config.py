"""Suite files: which methods run on which data, with what settings and how many seeds.

A suite is a TOML file. Its cells are methods with settings, its sweeps vary settings of a cell; both run
on every dataset with every seed. The suites of the project are found by name, any other by path.
"""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    ValidationError,
    field_validator,
    model_validator,
)

from piran.errors import SettingError, UnknownNameError
from piran.registry import suggestion

SCALED: Literal["scaled"] = "scaled"
"""In place of a list of values: the paper's range, scaled to the data."""
DEFAULT_SEEDS = 5
NAME = r"^[A-Za-z0-9][A-Za-z0-9 _.+-]*$"
"""Names become folders."""

Settings = dict[str, Any]


def _checked_values(given: object) -> object:
    is_list = isinstance(given, list) and 0 < len({str(value) for value in given}) == len(given)
    if is_list or given == SCALED:
        return given
    raise ValueError(f"must be a list of different values or {SCALED!r}, got {given!r}.")


Values = Annotated[list[Any] | Literal["scaled"], BeforeValidator(_checked_values)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CellSpec(_Part):
    """A method with settings."""

    method: str
    name: str = Field("", pattern=rf"^$|{NAME}")
    """What tables call it; the method's name if empty."""
    preset: str | None = None
    """A named set of settings to start from."""
    settings: Settings = {}
    on: dict[str, Settings] = {}
    """More settings on some datasets, by the dataset's name."""
    seeds: int | None = Field(None, ge=1)
    """Take only the first so many seeds of the suite, for a cell that takes long."""

    @property
    def title(self) -> str:
        """The name, or that of the method."""
        return self.name or self.method

    def settings_on(self, dataset: str) -> Settings:
        """Return the settings on a dataset."""
        return {**self.settings, **self.on.get(dataset, {})}


class SweepSpec(_Part):
    """Settings of a cell, varied; several settings make a grid."""

    name: str = Field(pattern=NAME)
    cell: str = Field(min_length=1)
    """The cell that it starts from."""
    vary: dict[str, Values] = Field(min_length=1)
    """Values of each setting, or "scaled"; n_head_labels is the labels that are not tail."""
    settings: Settings = {}
    """Other settings than the cell's, the same at every point."""
    on: dict[str, dict[str, Values]] = {}
    """Other values on some datasets, by the dataset's name."""
    seeds: int | None = Field(None, ge=1)
    """Take only the first so many seeds of the suite."""

    def vary_on(self, dataset: str) -> dict[str, Values]:
        """Return the values on a dataset."""
        return {**self.vary, **self.on.get(dataset, {})}


class Suite(_Part):
    """A whole suite."""

    name: str = Field("", pattern=rf"^$|{NAME}")
    """The file's name without extension, if empty."""
    description: str = ""
    data: list[str] = Field(min_length=1)
    """Datasets' names or paths; paths are relative to where the suite is started."""
    seeds: list[NonNegativeInt] = list(range(DEFAULT_SEEDS))
    """In the file also a number N, for 0 … N-1."""
    settings: Settings = {}
    """Of every cell; each method must know them."""
    shared: Settings = {}
    """Of the cells whose method knows them; what a cell sets itself comes on top."""
    main: str = ""
    """The cell that the others are compared with; by default the first of the method piran."""
    cells: list[CellSpec] = Field(min_length=1)
    sweeps: list[SweepSpec] = []

    @field_validator("seeds", mode="before")
    @classmethod
    def _as_list(cls, value: object) -> object:
        return list(range(value)) if type(value) is int else value

    @model_validator(mode="after")
    def _check(self) -> "Suite":
        titles = [cell.title for cell in self.cells]
        names = titles + [sweep.name for sweep in self.sweeps]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"the name {name!r} is given {names.count(name)} times.")
        named = [(f"sweep {sweep.name!r}", sweep.cell) for sweep in self.sweeps]
        for who, cell in [*named, ("main", self.main)]:
            if cell and cell not in titles:
                raise ValueError(f"{who} names no cell: {cell!r}. {suggestion(cell, titles)}")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds must be different numbers, at least one, got {self.seeds}.")
        return self

    @property
    def main_cell(self) -> str:
        """The name of the cell that the others are compared with."""
        ours = [cell.title for cell in self.cells if cell.method == "piran"]
        return self.main or (ours or [self.cells[0].title])[0]

    def cell(self, title: str) -> CellSpec:
        """Return the cell of that name."""
        return next(cell for cell in self.cells if cell.title == title)


def suite_files() -> dict[str, Path]:
    """Return the files of the project's own suites by name."""
    folder = Path(str(files("piran.experiments") / "suites"))
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def read_suite(name_or_path: str | Path) -> Suite:
    """Read a suite of the project by its name, or any file."""
    own = suite_files()
    path = own.get(str(name_or_path), Path(name_or_path))
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnknownNameError(
            f"Unknown suite {str(name_or_path)!r}, and no file is called so. "
            f"{suggestion(str(name_or_path), list(own))}"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{path} cannot be read as TOML: {error}.") from error
    try:
        suite = Suite.model_validate(table)
    except ValidationError as error:
        raise SettingError(f"{path}: {_explain(error)}") from None
    return suite if suite.name else suite.model_copy(update={"name": path.stem})


def _explain(error: ValidationError) -> str:
    """Put the first of the errors into a sentence."""
    first = error.errors()[0]
    place, given = _place(first["loc"]), first.get("input")
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        known = list(_model_at(first["loc"][:-1]).model_fields)
        return f"{_place(first['loc'][:-1])} has no key {key!r}. {suggestion(key, known)}"
    if first["type"] == "missing":
        return f"{_place(first['loc'][:-1])} lacks the key {first['loc'][-1]!r}."
    if first["type"] == "value_error":
        where = f"{place} " if first["loc"] else ""
        return f"{where}{first['ctx']['error']}"
    return f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}, got {given!r}."


def _model_at(place: tuple[int | str, ...]) -> type[BaseModel]:
    models: dict[object, type[BaseModel]] = {"cells": CellSpec, "sweeps": SweepSpec}
    return models[place[0]] if place else Suite


def _place(location: tuple[int | str, ...]) -> str:
    """Name a place in the file: cells[2].settings; the file itself is "the suite"."""
    text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".") or "the suite"
