"""Long-tailed multi-label text classification that rescues the rare labels.

Public names load on first use: ``import piran`` alone costs nothing, and a program can still set what
torch reads when it loads (see :mod:`piran.training.runtime`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from piran.data import Corpus, Documents, LabelSpace, load_corpus
    from piran.head import PiranHead
    from piran.methods import load_method
    from piran.methods.piran import PiranClassifier

__all__ = [
    "Corpus",
    "Documents",
    "LabelSpace",
    "PiranClassifier",
    "PiranHead",
    "load_corpus",
    "load_method",
]

_HOMES = {
    "Corpus": "piran.data",
    "Documents": "piran.data",
    "LabelSpace": "piran.data",
    "PiranClassifier": "piran.methods.piran",
    "PiranHead": "piran.head",
    "load_corpus": "piran.data",
    "load_method": "piran.methods",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name from the module it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module 'piran' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
