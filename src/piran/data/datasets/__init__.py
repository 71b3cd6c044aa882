"""Datasets: one card per file, and loading a corpus by name or path."""

from piran.data.datasets.base import DATASETS, DatasetCard
from piran.data.datasets.loading import load_corpus, write_corpus

__all__ = ["DATASETS", "DatasetCard", "load_corpus", "write_corpus"]
