"""Metrics over one group of labels, as Chalkidis et al. (2019) report frequent, few and zero labels.

Scores and true labels are cut down to the columns of the group. Rankings are averaged over the
documents that have a label of the group; F1 counts every document.
"""

from collections.abc import Sequence

import numpy as np

from piran.metrics import ranking
from piran.metrics.f1 import F1Counts
from piran.metrics.inputs import Indicator, checked_targets
from piran.metrics.thresholds import DEFAULT_CUT_OFF, is_predicted
from piran.types import BoolArray, FloatArray

DEFAULT_KS = (1, 3, 5)


class GroupEvaluation:
    """Metrics of one group, batch by batch.

    ``members`` and ``thresholds`` have shape (n_labels,); without thresholds the cut-off is 0.5.
    """

    def __init__(
        self,
        members: BoolArray,
        *,
        thresholds: FloatArray | None = None,
        ks: Sequence[int] = DEFAULT_KS,
    ) -> None:
        self.members = members
        self.ks = tuple(ks)
        self._thresholds = None if thresholds is None else thresholds[members]
        self._counts = {"": F1Counts(int(members.sum())), "_at_0.5": F1Counts(int(members.sum()))}
        self._sums = {f"{name}@{k}": 0.0 for name in ("P", "RP", "nDCG") for k in self.ks}
        self._n_documents = 0

    def update(self, targets: Indicator, scores: FloatArray) -> None:
        """Add a batch; both arguments have shape (n_documents, n_labels)."""
        columns = np.flatnonzero(self.members)
        is_true = checked_targets(targets, scores, len(self.members))[:, columns].toarray() != 0
        scores = scores[:, columns]
        cut_offs = DEFAULT_CUT_OFF if self._thresholds is None else self._thresholds
        self._counts[""].update(is_true, is_predicted(scores, cut_offs))
        self._counts["_at_0.5"].update(is_true, is_predicted(scores, DEFAULT_CUT_OFF))
        has_label = is_true.any(axis=1)
        ranked = ranking.rank(is_true[has_label], scores[has_label], max(self.ks))
        self._n_documents += int(has_label.sum())
        for k in self.ks:
            self._sums[f"P@{k}"] += float(ranking.precision_at_k(ranked, k).sum())
            self._sums[f"RP@{k}"] += float(ranking.r_precision_at_k(ranked, k).sum())
            self._sums[f"nDCG@{k}"] += float(ranking.ndcg_at_k(ranked, k).sum())

    def metrics(self) -> dict[str, float]:
        """Return the metrics in percent, and the number of labels and of documents that have one."""
        shares = {name: total / max(self._n_documents, 1) for name, total in self._sums.items()}
        for suffix, counts in self._counts.items():
            label_f1 = counts.label_f1()
            shares[f"micro_f1{suffix}"] = counts.micro_f1()
            shares[f"macro_f1{suffix}"] = float(label_f1.mean()) if len(label_f1) else 0.0
        return {
            **{name: 100.0 * share for name, share in shares.items()},
            "n_labels": int(self.members.sum()),
            "n_documents": self._n_documents,
        }
