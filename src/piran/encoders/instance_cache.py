"""Instances of single texts, kept on disk: what a frozen encoder has read once it need not read again.

An encoder whose instance of a text depends on nothing but that text and the encoder itself calls
:func:`kept_instances`. Where they are kept is said by :func:`instance_cache`; without one they are kept
beside stage 1 inside :func:`piran.encoders.cache.stage1_cache`, and nowhere otherwise.
"""

import hashlib
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol

import numpy as np

from piran.encoders.cache import stage1_folder
from piran.progress import Advance, task
from piran.types import FloatArray, Texts

TEXTS_AT_ONCE = 512
"""Kept after each so many, so that work which is stopped goes on from there."""
CACHE_VARIABLE = "PIRAN_CACHE"

_KEYS_AT_ONCE = 500
_SECONDS_TO_WAIT = 60
"""For another process that is writing."""
_log = logging.getLogger(__name__)

Found = Mapping[bytes, FloatArray]
"""Instances by the SHA-256 of their text."""
Encode = Callable[[Sequence[str], Advance], FloatArray]
"""Encodes some texts, (n_texts, feature_dim), and tells how many are done."""


class Store(Protocol):
    """Where instances are kept."""

    def find(self, encoder_key: str, keys: Sequence[bytes]) -> Found:
        """Return the instances that are kept, of those asked for."""

    def keep(self, encoder_key: str, instances: Found) -> None:
        """Keep some more."""


class MemoryStore:
    """Keeps instances as long as it lives."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[bytes, FloatArray]] = {}

    def find(self, encoder_key: str, keys: Sequence[bytes]) -> Found:
        """Return the instances that are kept, of those asked for."""
        kept = self._kept.get(encoder_key, {})
        return {key: kept[key] for key in keys if key in kept}

    def keep(self, encoder_key: str, instances: Found) -> None:
        """Keep some more."""
        self._kept.setdefault(encoder_key, {}).update(instances)


class DiskStore:
    """Keeps instances in a folder: a file an encoder, which several processes may use at a time.

    A file that cannot be read or written is as good as none: the texts are encoded again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, encoder_key: str, keys: Sequence[bytes]) -> Found:
        """Return the instances that are kept, of those asked for."""
        found: dict[bytes, FloatArray] = {}
        with self._put_up_with(encoder_key), closing(self._connect(encoder_key)) as connection:
            for first in range(0, len(keys), _KEYS_AT_ONCE):
                part = keys[first : first + _KEYS_AT_ONCE]
                marks = ",".join("?" * len(part))
                query = f"SELECT text, numbers FROM instances WHERE text IN ({marks})"
                for key, numbers in connection.execute(query, part):
                    found[key] = np.frombuffer(numbers, dtype="<f4")
        return found

    def keep(self, encoder_key: str, instances: Found) -> None:
        """Keep some more."""
        rows = [(key, np.asarray(row, dtype="<f4").tobytes()) for key, row in instances.items()]
        with (
            self._put_up_with(encoder_key),
            closing(self._connect(encoder_key)) as connection,
            connection,  # commits
        ):
            connection.executemany("INSERT OR REPLACE INTO instances VALUES (?, ?)", rows)

    @contextmanager
    def _put_up_with(self, encoder_key: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            _log.warning("Instances are not kept in %s: %s.", self._path(encoder_key), error)

    def _connect(self, encoder_key: str) -> sqlite3.Connection:
        self.folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path(encoder_key), timeout=_SECONDS_TO_WAIT)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS instances (text BLOB PRIMARY KEY, numbers BLOB)"
        )
        return connection

    def _path(self, encoder_key: str) -> Path:
        return self.folder / f"instances-{encoder_key}.sqlite"


_store: ContextVar[Store | None] = ContextVar("piran_instance_store", default=None)


@contextmanager
def instance_cache(folder: Path | None = None) -> Iterator[None]:
    """Keep instances in ``folder`` inside the block; None for in memory, if nowhere else."""
    store = _active_store() if folder is None else DiskStore(Path(folder))
    token = _store.set(store or MemoryStore())
    try:
        yield
    finally:
        _store.reset(token)


def user_cache_folder() -> Path | None:
    """Return the user's own folder: PIRAN_CACHE, else piran among the caches of the system.

    PIRAN_CACHE set to nothing means that nothing is to be kept on disk: None.
    """
    named = os.environ.get(CACHE_VARIABLE)
    if named is not None:
        return Path(named) if named else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "piran"


def kept_instances(
    encoder_key: str, texts: Texts, encode: Encode, *, feature_dim: int
) -> FloatArray:
    """Return the instances of the texts, (n_documents, feature_dim); only unknown texts are encoded.

    ``encoder_key`` stands for everything but the text that decides an instance.
    """
    store = _active_store()
    keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    found = dict(store.find(encoder_key, list(dict.fromkeys(keys)))) if store else {}
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
    with task("Encoding", len(missing)) as advance:
        for portion in _portions(missing):
            instances = encode(list(portion.values()), advance)
            new = dict(zip(portion, instances, strict=True))
            if store:
                store.keep(encoder_key, new)
            found |= new
    rows = [found[key] for key in keys]
    return np.array(rows, dtype=np.float32).reshape(len(keys), feature_dim)


def _active_store() -> Store | None:
    store, beside_stage1 = _store.get(), stage1_folder()
    if store is None and beside_stage1 is not None:
        return DiskStore(beside_stage1)
    return store


def _portions(texts: Mapping[bytes, str]) -> Iterator[dict[bytes, str]]:
    items = list(texts.items())
    for first in range(0, len(items), TEXTS_AT_ONCE):
        yield dict(items[first : first + TEXTS_AT_ONCE])
