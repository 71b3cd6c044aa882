"""Fill the tables of the documentation from run records.

A page asks for a table between two comments, with the arguments of ``piran table``::

    <!-- piran table results/encoders --table f1 -->
    … whatever stands here is replaced …
    <!-- end -->

or for those of the peers, with the arguments of ``benchmarks/peers/tables.py``::

    <!-- peers table benchmarks/results/peers -->
    <!-- end -->

so every number on the page comes out of a record.

    python scripts/fill_tables.py           # write the pages
    python scripts/fill_tables.py --check   # fail if a page is not what its records say
"""

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from piran.cli.main import app

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "results.md")
MARKED = re.compile(r"(<!-- (piran|peers) (table [^>]*?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
PEER_TABLES = ROOT / "benchmarks" / "peers" / "tables.py"


def filled(page: str) -> str:
    """Return the page with all of its tables made anew."""
    makers = {"piran": _table, "peers": _peer_tables}
    return MARKED.sub(lambda match: f"{match[1]}\n{makers[match[2]](match[3])}\n{match[5]}", page)


def _peer_tables(command: str) -> str:
    arguments = shlex.split(command)[1:]
    result = subprocess.run(
        [sys.executable, str(PEER_TABLES), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if result.returncode != 0:
        raise RuntimeError(f"peers {command} failed: {result.stderr}")
    return result.stdout.strip() + "\n"


def _table(command: str) -> str:
    arguments = [
        str(ROOT / word) if word.startswith("results/") else word for word in shlex.split(command)
    ]
    result = CliRunner().invoke(app, [*arguments, "--format", "markdown"])
    if result.exit_code != 0:
        raise RuntimeError(f"piran {command} failed: {result.exception or result.output}")
    return result.stdout.strip() + "\n"


def main() -> None:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    stale = []
    for path in PAGES:
        old = path.read_text(encoding="utf-8")
        new = filled(old)
        if new != old:
            stale.append(path.name)
            if not is_check:
                path.write_text(new, encoding="utf-8")
    if is_check and stale:
        sys.exit(f"{', '.join(stale)}: not what the records say; run scripts/fill_tables.py.")


if __name__ == "__main__":
    main()
