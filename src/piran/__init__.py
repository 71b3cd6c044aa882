"""Long-tailed multi-label text classification that rescues the rare labels."""

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
