"""Stage 1, kept: fitted encoders and their instances on disk, found again by what they came from.

Methods call :func:`fitted_encoder`, :func:`encoded` and :func:`kept_arrays` in place of the encoder's
own ``fit`` and ``encode``. Without a cache these do just that. Inside :func:`stage1_cache` the same
encoder on the same documents is fitted once, whatever method asks for it, in whatever process.
"""

import ast
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from scipy.sparse import csr_array

from piran.encoders.base import Encoder, LabelledTexts
from piran.errors import ModelFolderError
from piran.storage import new_folder, read_arrays, read_json, save_state
from piran.training.checkpoint import FOLDER, checkpoints, resumable, resumed_seconds
from piran.types import FloatArray, Texts

CODE = ("encoders", "training", "data")
"""Packages whose code decides what stage 1 gives; a change in it, other than of comments and docstrings,
makes what was kept worthless."""
AFTER_STAGE1 = ("kernel_ridge.py", "view_weights.py", "calibration.py", "companions.py", "scut.py")
"""Files in them that only later stages use: hours of training need not be done again for their sake."""
CARDS = "datasets"
"""Folder in them that says where documents come from; they are themselves part of what is kept by."""
NOT_DECISIVE = ("device",)
"""Settings that say where, not what."""
ENCODER = "encoder"
NOTE = "note"

Arrays = dict[str, FloatArray]
Ingredient = object
"""What a result depends on: texts, arrays, sparse matrices, and anything that JSON can say."""


@dataclass
class Savings:
    """What a cache has spared since it was opened."""

    n_found: int = 0
    n_made: int = 0
    seconds: float = 0.0
    """Wall seconds that the things found took when they were made."""


@dataclass(frozen=True)
class _Cache:
    folder: Path
    savings: Savings


_active: ContextVar[_Cache | None] = ContextVar("piran_stage1_cache", default=None)


@contextmanager
def stage1_cache(folder: Path) -> Iterator[Savings]:
    """Keep what stage 1 gives inside the block in ``folder``, and take from there what is kept.

    Trainings that were stopped go on from their last epoch; their checkpoints lie there too.
    """
    savings = Savings()
    token = _active.set(_Cache(Path(folder), savings))
    try:
        with checkpoints(Path(folder) / FOLDER):
            yield savings
    finally:
        _active.reset(token)


def stage1_folder() -> Path | None:
    """Return the folder of the cache that is open; None if none is."""
    kept = _active.get()
    return None if kept is None else kept.folder


def fitted_encoder(
    encoder: Encoder, train: LabelledTexts, validation: LabelledTexts | None = None
) -> Encoder:
    """Return ``encoder`` fitted, or the same one as it was fitted before."""
    kept = _active.get()

    def key() -> str:
        settings, outside = encoder.settings(), encoder.outside_parts()
        return training_key(encoder.name, settings, train, validation, outside=outside)

    if kept is None:
        with resumable(key):
            return encoder.fit(train, validation)
    stage1_key = key()
    folder = kept.folder / f"{encoder.name}-{stage1_key[:32]}"
    with _locked(folder):
        fitted = _loaded(type(encoder), folder, kept.savings)
        if fitted is None:
            with resumable(lambda: stage1_key, is_kept=True):
                fitted = _fit_and_save(encoder, train, validation, folder, kept.savings)
    fitted.stage1_key_ = stage1_key
    return fitted


def training_key(
    name: str,
    settings: Mapping[str, Any],
    train: LabelledTexts,
    validation: LabelledTexts | None,
    *,
    outside: Sequence[str] = (),
    code: Sequence[str] = CODE,
) -> str:
    """Return the digest of all that decides what is learned.

    That is the name of what learns, its settings, what it hangs on outside of them, the documents,
    and the code in these packages.
    """
    parts: list[Ingredient] = [name, _decisive(settings), _code_digest(tuple(code)), outside]
    for documents in (train, validation):
        parts += [None] if documents is None else [documents.texts, documents.targets]
    return digest(parts)


def encoded(encoder: Encoder, texts: Texts) -> FloatArray:
    """Return ``encoder.encode(texts)``, kept if the encoder came from :func:`fitted_encoder`."""
    key = getattr(encoder, "stage1_key_", None)
    if key is None:
        return encoder.encode(texts)
    arrays = kept_arrays(
        "instances", [key, texts], lambda: {"instances": np.asarray(encoder.encode(texts))}
    )
    return arrays["instances"]


def kept_arrays(name: str, parts: Sequence[Ingredient], make: Callable[[], Arrays]) -> Arrays:
    """Return what ``make`` returns, kept under ``name`` and all the parts it depends on."""
    kept = _active.get()
    if kept is None:
        return make()
    path = kept.folder / f"{name}-{digest([name, _code_digest(CODE), *parts])[:32]}.safetensors"
    with _locked(path):
        found = _read_arrays(path, kept.savings)
        if found is not None:
            return found
        start = time.perf_counter()
        arrays = make()
        kept.savings.n_made += 1
        _save_arrays(path, {**arrays, "seconds": np.array([time.perf_counter() - start])})
        return arrays


def digest(parts: Sequence[Ingredient]) -> str:
    """Return the SHA-256 of the parts in their order, as hexadecimal digits."""
    sha = hashlib.sha256()
    for part in parts:
        for piece in _pieces(part):
            sha.update(f"{len(piece)}:".encode())
            sha.update(piece)
    return sha.hexdigest()


def _pieces(part: Ingredient) -> Iterator[bytes | memoryview]:
    """Yield the bytes of one part, its kind and shape first, so that no two parts look alike."""
    if isinstance(part, csr_array):
        yield f"sparse {part.shape}".encode()
        for array in (part.indptr, part.indices, part.data):
            yield from _pieces(np.asarray(array))
    elif isinstance(part, np.ndarray):
        yield f"array {part.shape} {part.dtype}".encode()
        yield np.ascontiguousarray(part).data.cast("B") if part.size else b""
    elif isinstance(part, Sequence) and all(isinstance(text, str) for text in part):
        yield f"texts {len(part)}".encode()
        for text in part:
            yield text.encode("utf-8", "surrogatepass")
    else:
        yield json.dumps(part, sort_keys=True, default=str).encode()


def _decisive(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings that change what is learned; a file named in one stands for its content."""
    decisive = {k: v for k, v in settings.items() if k not in NOT_DECISIVE}
    for name, value in list(decisive.items()):
        if isinstance(value, str) and os.path.isfile(value):
            about = os.stat(value)
            decisive[name] = [value, about.st_size, about.st_mtime_ns]
    return decisive


@cache
def _code_digest(code: tuple[str, ...]) -> str:
    package = Path(__file__).parent.parent
    found = sorted(file for part in code for file in (package / part).rglob("*.py"))
    files = [f for f in found if f.name not in AFTER_STAGE1 and CARDS not in f.parts]
    return digest([[_logic(file.read_text(encoding="utf-8")) for file in files]])


def _logic(source: str) -> str:
    """Return Python code without what it says of itself: comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not _is_text(part)]
    return ast.dump(tree)


def _is_text(statement: ast.stmt) -> bool:
    """Tell whether a statement is nothing but a string: a docstring."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Let one process at a time make ``target``; the lock falls when its holder dies."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.with_name(f".{target.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _loaded(kind: type[Encoder], folder: Path, savings: Savings) -> Encoder | None:
    """Return the encoder of a folder; None if there is none, or none that can be read."""
    if not folder.is_dir():
        return None
    try:
        encoder = kind.load(folder / ENCODER)
        seconds = float(read_json(folder / f"{NOTE}.json")["seconds"])
    except (ModelFolderError, KeyError):
        return None
    savings.n_found += 1
    savings.seconds += seconds
    return encoder


def _fit_and_save(
    encoder: Encoder,
    train: LabelledTexts,
    validation: LabelledTexts | None,
    folder: Path,
    savings: Savings,
) -> Encoder:
    start, before = time.perf_counter(), resumed_seconds()
    encoder.fit(train, validation)
    seconds = time.perf_counter() - start + resumed_seconds() - before
    with new_folder(folder) as target:
        encoder.save(target / ENCODER)
        save_state(target, NOTE, {"seconds": seconds}, {})
    savings.n_made += 1
    return encoder


def _read_arrays(path: Path, savings: Savings) -> Arrays | None:
    """Return what :func:`_save_arrays` wrote; None if there is nothing, or nothing that can be read."""
    if not path.is_file():
        return None
    try:
        arrays = read_arrays(path)
        seconds = float(arrays.pop("seconds")[0])
    except (ModelFolderError, KeyError):
        return None
    savings.n_found += 1
    savings.seconds += seconds
    return arrays


def _save_arrays(path: Path, arrays: Arrays) -> None:
    """Write the arrays whole or not at all."""
    part = path.with_name(f".{path.name}.part")  # under the lock, nobody else writes it
    save_file({key: np.ascontiguousarray(array) for key, array in arrays.items()}, part)
    os.replace(part, path)
