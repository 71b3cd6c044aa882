"""Names to things: methods, encoders, datasets; open to other packages by entry point."""

import difflib
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Generic, TypeVar

from piran.errors import UnknownNameError

Thing = TypeVar("Thing")


class Registry(Generic[Thing]):
    """A table of named things of one kind.

    Parameters
    ----------
    kind
        What the things are, in the user's word, for messages ("method", "encoder").
    package
        Package whose modules register the things; imported in full on the first look-up, so that a new
        file in it is found without being named anywhere.

    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._things: dict[str, Thing] = {}
        self._is_discovered = False

    def register(self, name: str) -> Callable[[Thing], Thing]:
        """Return a decorator that files its argument under ``name``; a name is given only once."""

        def file(thing: Thing) -> Thing:
            if name in self._things and self._things[name] is not thing:
                raise ValueError(f"{self.kind} {name!r} is registered twice; choose another name.")
            self._things[name] = thing
            return thing

        return file

    def __getitem__(self, name: str) -> Thing:
        self._discover()
        if name in self._things:
            return self._things[name]
        raise UnknownNameError(f"Unknown {self.kind} {name!r}. {suggestion(name, list(self))}")

    def __contains__(self, name: object) -> bool:
        self._discover()
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(sorted(self._things))

    def _discover(self) -> None:
        if self._is_discovered:
            return
        self._is_discovered = True
        package = import_module(self.package)
        for module in iter_modules(package.__path__):
            import_module(f"{self.package}.{module.name}")
        for entry in entry_points(group=f"piran.{self.kind}s"):
            self.register(entry.name)(entry.load())


def suggestion(name: str, known: list[str]) -> str:
    """Return "Did you mean …?" for the nearest known name, else the list of all."""
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"Did you mean {close[0]!r}?"
    return f"Known: {', '.join(sorted(known))}."
