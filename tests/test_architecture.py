"""The shape of the source tree: what may import what, and what every module owes its reader."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import piran

SOURCE = Path(piran.__file__).parent

LAYERS = (
    ("errors", "types"),
    ("registry", "process", "progress", "storage", "rows"),
    ("data",),
    ("metrics",),
    ("training",),
    ("encoders", "augment"),
    ("head",),
    ("methods",),
    ("experiments",),
    ("plots",),
    ("report",),
    ("serve",),
    ("cli",),
    ("__main__",),
)
"""Modules and folders of the package; each may import from layers above it and from itself."""

UPWARD = {
    ("piran.experiments.run", "report"): "the page is a view of the record, written when it exists",
}
"""Imports from a later layer, each inside a function and with its reason."""

OPTIONAL = {
    "accelerate": (),
    "datasets": (),
    "fastapi": ("piran.serve",),
    "gensim": (),
    "matplotlib": (),
    "mlflow": (),
    "onnx": (),
    "onnxruntime": (),
    "pandas": (),
    "ray": (),
    "tensorboard": (),
    "transformers": (),
    "uvicorn": ("piran.serve",),
}
"""Packages that an extra brings, with the folders that may import them at the top of a module."""

DUMPING_GROUNDS = {"utils", "util", "helpers", "helper", "misc", "common", "tools"}


@dataclass(frozen=True)
class Import:
    """One module that another one imports."""

    source: str
    target: str
    is_deferred: bool
    """Inside a function, or for the type checker alone: not executed when the module loads."""


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package by its full name, parsed."""
    return {_module_name(path): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}


def _module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports() -> tuple[Import, ...]:
    """Every import in the package."""
    return tuple(
        Import(name, target, is_deferred)
        for name, tree in modules().items()
        for node, is_deferred in _import_statements(tree)
        for target in _targets(node)
    )


def _import_statements(
    node: ast.AST, is_deferred: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, is_deferred
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        is_for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        yield from _import_statements(child, is_deferred or is_function or is_for_types)


def _targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Full names of the modules that a statement imports, as far down as they are modules of ours."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    for alias in node.names:
        full = f"{node.module}.{alias.name}"
        yield full if full in modules() else str(node.module)


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _part(name: str) -> str | None:
    """The module or folder right below the package; None for the package itself and for others."""
    parts = name.split(".")
    return parts[1] if parts[0] == "piran" and len(parts) > 1 else None


def test_no_module_imports_itself_through_others() -> None:
    graph: dict[str, set[str]] = {name: set() for name in modules()}
    for edge in imports():
        # What a package's __init__ re-exports is not what its modules need.
        is_of_a_module = edge.target in graph and not _within(edge.target, edge.source)
        if is_of_a_module and not edge.is_deferred:
            graph[edge.source].add(edge.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' <- '.join(error.args[1])}")


def test_every_part_has_its_layer() -> None:
    known = {part for layer in LAYERS for part in layer}
    assert {_part(name) for name in modules()} - known - {None} == set()


def test_a_stage_imports_only_from_stages_before_it() -> None:
    height = {part: index for index, layer in enumerate(LAYERS) for part in layer}
    wrong = []
    for edge in imports():
        source, target = _part(edge.source), _part(edge.target)
        if source is None or target is None or source == target:
            continue
        is_downward = height[target] < height[source]
        if not is_downward and not (edge.is_deferred and (edge.source, target) in UPWARD):
            wrong.append(f"{edge.source} imports {edge.target}")
    assert not wrong


def test_no_module_imports_the_package_it_is_in() -> None:
    """The package's __init__ imports its modules; the way back would hang on the order of loading."""
    wrong = [
        f"{edge.source} imports {edge.target}"
        for edge in imports()
        if not edge.is_deferred and edge.source.startswith(f"{edge.target}.")
    ]
    assert not wrong


def test_upward_imports_that_are_excused_still_exist() -> None:
    assert {(edge.source, _part(edge.target)) for edge in imports()} >= UPWARD.keys()


def test_no_module_is_a_dumping_ground() -> None:
    assert not [name for name in modules() if DUMPING_GROUNDS & set(name.split("."))]


def test_optional_packages_are_imported_where_they_are_needed() -> None:
    wrong = []
    for edge in imports():
        package = edge.target.split(".")[0]
        if package not in OPTIONAL or edge.is_deferred:
            continue
        if not any(_within(edge.source, owner) for owner in OPTIONAL[package]):
            wrong.append(f"{edge.source} imports {package}")
    assert not wrong


def test_every_module_loads_where_no_optional_package_is_installed() -> None:
    owners = {owner for folders in OPTIONAL.values() for owner in folders}
    loaded = [
        name
        for name in sorted(modules())
        if _part(name) != "__main__" and not any(_within(name, owner) for owner in owners)
    ]
    program = (
        "import sys, importlib\n"
        f"sys.modules.update(dict.fromkeys({list(OPTIONAL)!r}))\n"  # None: its import fails
        f"for name in {loaded!r}: importlib.import_module(name)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _public_definitions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str | None]]:
    """Names and docstrings of public classes, functions and methods."""
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_"):
            continue
        name = f"{prefix}.{node.name}"
        yield name, ast.get_docstring(node)
        if isinstance(node, ast.ClassDef):
            yield from _public_definitions(node.body, name)


def test_every_module_and_everything_public_has_a_docstring() -> None:
    missing = []
    for name, tree in modules().items():
        documented = [(name, ast.get_docstring(tree)), *_public_definitions(tree.body, name)]
        missing += [thing for thing, docstring in documented if not docstring]
    assert not missing


def test_only_the_command_line_prints() -> None:
    printing = [
        name
        for name, tree in modules().items()
        if _part(name) != "cli"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
    ]
    assert not printing


def test_no_module_imports_relatively_or_everything() -> None:
    wrong = [
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.level or any(alias.name == "*" for alias in node.names))
    ]
    assert not wrong


def test_no_module_reads_or_writes_pickles() -> None:
    forbidden = {"pickle", "joblib", "dill", "cloudpickle", "shelve", "marshal"}
    assert not [edge for edge in imports() if edge.target.split(".")[0] in forbidden]
