"""Texts with labels: corpora, label spaces, readers, statistics and dataset cards."""

from piran.data.corpus import Corpus, Documents
from piran.data.datasets import DATASETS, DatasetCard, load_corpus
from piran.data.labels import LabelSpace
from piran.data.readers import read_documents, read_texts, write_documents

__all__ = [
    "DATASETS",
    "Corpus",
    "DatasetCard",
    "Documents",
    "LabelSpace",
    "load_corpus",
    "read_documents",
    "read_texts",
    "write_documents",
]
