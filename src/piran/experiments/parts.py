"""Evaluation of parts: subsets of the test documents and groups of labels that a corpus names."""

from collections.abc import Mapping

import numpy as np

from piran.data.corpus import Corpus, CountRange
from piran.data.labels import LabelSpace
from piran.methods.base import Method
from piran.metrics import Evaluation, GroupEvaluation
from piran.types import BoolArray, FloatArray, LabelMatrix

Metrics = dict[str, float]


class PartEvaluation:
    """Metrics of one system on all parts, a block of documents at a time."""

    def __init__(self, corpus: Corpus, method: Method, thresholds: FloatArray) -> None:
        self._subsets = {name: np.asarray(rows) for name, rows in corpus.test_subsets.items()}
        self._subset_evaluations = {
            name: Evaluation(
                method.labels_,
                n_train_documents=method.n_train_documents_,
                thresholds=thresholds,
            )
            for name in self._subsets
        }
        self._group_evaluations = {
            name: GroupEvaluation(members_of(method.labels_, bounds), thresholds=thresholds)
            for name, bounds in corpus.label_groups.items()
        }

    def update(self, first: int, targets: LabelMatrix, scores: FloatArray) -> None:
        """Add the documents from place ``first``; both arrays have shape (n_documents, n_labels)."""
        for name, rows in self._subsets.items():
            inside = rows[(rows >= first) & (rows < first + len(scores))] - first
            if len(inside):
                self._subset_evaluations[name].update(targets[inside], scores[inside])
        for evaluation in self._group_evaluations.values():
            evaluation.update(targets, scores)

    def subsets(self) -> dict[str, Metrics]:
        """Return the metrics of each subset."""
        return _rounded(self._subset_evaluations)

    def groups(self) -> dict[str, Metrics]:
        """Return the metrics of each group of labels."""
        return _rounded(self._group_evaluations)


def members_of(labels: LabelSpace, bounds: CountRange) -> BoolArray:
    """Return which labels have so many training documents, shape (n_labels,)."""
    least, most = bounds
    is_member = labels.counts >= least
    return np.asarray(is_member if most is None else is_member & (labels.counts <= most))


def _rounded(
    evaluations: Mapping[str, Evaluation] | Mapping[str, GroupEvaluation],
) -> dict[str, Metrics]:
    return {
        name: {key: round(value, 4) for key, value in evaluation.metrics().items()}
        for name, evaluation in evaluations.items()
    }
