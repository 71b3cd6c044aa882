"""A virtual environment for each peer, made from its pinned requirements when it is first needed."""

import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements"
STAMP = "requirements.txt"
"""The requirements that an environment was made from, kept in it."""


class EnvironmentFailedError(Exception):
    """An environment could not be made; the message says why."""


def python_of(name: str, cache: Path) -> Path:
    """Return the interpreter of a peer's environment, made anew if its requirements have changed."""
    wanted = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8")
    folder = cache / "environments" / name
    stamp, python = folder / STAMP, folder / "bin" / "python"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    # The files name every package that is needed, which leaves out what a peer asks for in vain
    file = str(REQUIREMENTS / f"{name}.txt")
    _run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", file])
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise EnvironmentFailedError(f"{' '.join(command[1:4])} failed: {last[0]}")
