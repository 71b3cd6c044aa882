"""What the README and the docs say holds: their code runs, their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from small_corpus import small_corpus

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def code_blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(code_blocks(ROOT / "README.md", "python"))))
def test_the_python_of_the_readme_runs(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = code_blocks(ROOT / "README.md", "python")[number]
    monkeypatch.chdir(tmp_path)
    # The real corpus takes half a minute; the code is the same with a small one
    monkeypatch.setattr("piran.data.load_corpus", lambda name: small_corpus())
    exec(compile(code.replace("tail=350", "tail=3"), "README.md", "exec"), {})


def test_the_commands_of_the_readme_exist() -> None:
    from typer.main import get_command

    from piran.cli.main import app

    known = set(getattr(get_command(app), "commands", {}))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    used = set(re.findall(r"^piran ([a-z-]+)", text, re.MULTILINE))
    assert used
    assert used <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    for link in links:
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.name} links to {link}, which is not there"


def test_the_makefile_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^make ([a-z-]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert targets >= {"demo", "test"}
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_tables_of_the_docs_are_what_the_records_say() -> None:
    script = ROOT / "scripts" / "fill_tables.py"
    result = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
