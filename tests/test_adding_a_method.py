"""Following docs/adding-a-method.md to the letter adds a method that keeps the contract."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import piran
from piran.data.datasets.loading import write_corpus
from piran.methods import METHODS
from small_corpus import small_corpus

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "adding-a-method.md").read_text(encoding="utf-8")
SOURCE = Path(piran.__file__).parent


def block(language: str, first_line: str) -> str:
    """The code block of the page that begins with this line."""
    found = re.findall(rf"```{language}\n({re.escape(first_line)}\n.*?)```", PAGE, re.DOTALL)
    assert len(found) == 1, f"the page has {len(found)} {language} blocks that begin {first_line!r}"
    return str(found[0])


METHOD_FILE = block("python", "# rocchio.py")
CHECK = block("python", "from piran.methods import METHODS")


def run_in(folder: Path, code: str) -> str:
    """Run Python with ``folder`` on its path; return what it prints."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{SOURCE.parent}"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_as_a_file_of_the_package(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE, tmp_path / "piran", ignore=ignored)
    (tmp_path / "piran" / "methods" / "rocchio.py").write_text(METHOD_FILE, encoding="utf-8")
    printed = run_in(tmp_path, f"{CHECK}\nimport piran; print(piran.__file__)")
    assert Path(printed.strip()) == tmp_path / "piran" / "__init__.py"


def install_plug_in(folder: Path) -> None:
    """Lay the package out as ``pip install`` does: its files, and its entry points beside them."""
    project = tomllib.loads(block("toml", "[project]"))["project"]
    package = folder / "my_methods"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "rocchio.py").write_text(METHOD_FILE, encoding="utf-8")
    name = project["name"].replace("-", "_")
    information = folder / f"{name}-{project['version']}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        f"[{group}]\n" + "\n".join(f"{key} = {value}" for key, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (information / "entry_points.txt").write_text("\n".join(lines) + "\n")


def commands() -> list[list[str]]:
    """The commands of the page, on a small corpus."""
    lines = block(
        "sh", "piran train debtags --method rocchio --set n_components=200 --out runs/rocchio"
    )
    return [line.replace("debtags", "data").split()[1:] for line in lines.splitlines()]


RUN_COMMANDS = """
from typer.testing import CliRunner
from piran.cli.main import app
for command in {commands}:
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    print(result.stdout)
"""


def test_as_a_package_of_ones_own(tmp_path: Path) -> None:
    install_plug_in(tmp_path)
    write_corpus(small_corpus(), tmp_path / "data", "jsonl")
    (tmp_path / "texts.txt").write_text("alpha1 alpha2 alpha3\n")
    printed = run_in(tmp_path, CHECK + RUN_COMMANDS.format(commands=commands()))
    assert (tmp_path / "runs" / "rocchio" / "model" / "means.safetensors").exists()
    assert "alpha" in printed.splitlines()[-2]  # the labels of the text


def test_as_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "piran" in METHODS  # all found before one is added for the test
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "rocchio.py").write_text(METHOD_FILE, encoding="utf-8")
    importlib.import_module("rocchio")
    exec(compile(CHECK, "adding-a-method.md", "exec"), {})
    monkeypatch.delitem(sys.modules, "rocchio")


def test_the_files_that_the_page_points_to_are_there() -> None:
    paths = re.findall(r"`((?:src|methods|training|tests)/[\w/]+\.py)`", PAGE)
    new = {"src/piran/methods/rocchio.py", "tests/methods/test_rocchio.py"}
    assert len(paths) > 6
    for path in set(paths) - new:
        assert (ROOT / path).exists() or (SOURCE / path).exists(), path
