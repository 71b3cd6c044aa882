"""Saved state: safetensors for arrays, JSON for the rest, folders that appear whole or not at all.

No pickle anywhere, so a saved model is safe to load from a stranger.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from piran.errors import ModelFolderError

FORMAT = 1
"""Format of the folders written here; a higher number is from a newer version."""


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give a temporary folder that takes the place of ``target`` when the block ends without an error.

    On an error nothing is left behind, and an earlier ``target`` stays as it was.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    folder.chmod(0o755)  # mkdtemp makes it private; a model is meant to be read by others
    try:
        yield folder
        if target.exists():
            _exchange(folder, target)
        else:
            os.replace(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _exchange(folder: Path, target: Path) -> None:
    """Put ``folder`` in the place of ``target``, or leave ``target`` if that fails."""
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    earlier = aside / target.name
    try:
        os.replace(target, earlier)
        os.replace(folder, target)
    except OSError:
        if earlier.exists():
            os.replace(earlier, target)
        aside.rmdir()
        raise
    shutil.rmtree(aside)


def write_text_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def save_state(
    folder: Path, name: str, state: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write ``name.json`` (state, with the format's number) and ``name.safetensors`` (arrays)."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT, **state}, ensure_ascii=False, indent=1)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    contiguous = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
    path = folder / f"{name}.safetensors"
    save_file(contiguous, path)
    path.chmod(0o644)  # safetensors makes it private


def load_state(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what :func:`save_state` wrote: the state and the arrays."""
    return read_json(folder / f"{name}.json"), read_arrays(folder / f"{name}.safetensors")


def read_json(path: Path) -> dict[str, Any]:
    """Read a state file, refusing damaged ones and those of a newer format."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFolderError(
            f"{path} is missing: {path.parent} is not a saved model, or not all of it was copied."
        ) from None
    except (OSError, ValueError) as error:
        raise ModelFolderError(f"{path} is damaged ({error}); save the model again.") from error
    if not isinstance(state, dict) or not isinstance(state.get("format"), int):
        raise ModelFolderError(f"{path} is not a saved piran state: it has no format number.")
    if state["format"] > FORMAT:
        raise ModelFolderError(
            f"{path} has format {state['format']}, this version of piran reads up to {FORMAT}; "
            "update piran to load it."
        )
    return state


def read_arrays(path: Path) -> dict[str, Any]:
    """Read a safetensors file, refusing damaged ones."""
    try:
        return dict(load_file(path))
    except FileNotFoundError:
        raise ModelFolderError(
            f"{path} is missing: {path.parent} is not a saved model, or not all of it was copied."
        ) from None
    except (OSError, SafetensorError, ValueError) as error:
        raise ModelFolderError(
            f"{path} is damaged or cut short ({error}); save the model again."
        ) from error
