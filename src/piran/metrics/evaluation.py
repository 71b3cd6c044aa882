"""Every metric of a run in one pass over the documents.

Batches of scores come in and go; what stays is a handful of counts per label.
"""

from collections.abc import Sequence

import numpy as np

from piran.data.labels import LabelSpace
from piran.errors import DataError
from piran.metrics import ranking
from piran.metrics.calibration_error import CalibrationError
from piran.metrics.f1 import F1Counts
from piran.metrics.groups import group_f1
from piran.metrics.inputs import Indicator, checked_targets
from piran.metrics.thresholds import DEFAULT_CUT_OFF, Thresholds, is_predicted
from piran.types import FloatArray, IntArray

DEFAULT_KS = (1, 3, 5)
AT_HALF = "_at_0.5"


class Evaluation:
    """Metrics of scores against true labels, batch by batch, with memory for one batch.

    ``thresholds`` are the saved cut-offs of the labels, shape (n_labels,); without them the saved
    policy is 0.5. ``n_train_documents`` is needed for propensities; without it there is no PSP@k.
    Scores outside 0 to 1 are no probabilities; with them there is no ECE.
    """

    def __init__(
        self,
        labels: LabelSpace,
        *,
        n_train_documents: int | None = None,
        thresholds: FloatArray | None = None,
        ks: Sequence[int] = DEFAULT_KS,
    ) -> None:
        self.labels = labels
        self.ks = tuple(ks)
        self._thresholds = _checked_thresholds(thresholds, len(labels))
        self._saved = F1Counts(len(labels))
        self._at_half = F1Counts(len(labels))
        self._calibration = CalibrationError(labels)
        self._inverse: FloatArray | None = None
        if n_train_documents is not None:
            self._inverse = ranking.inverse_propensity(labels.counts, n_train_documents)
        self._sums = {f"{name}@{k}": 0.0 for name in ("P", "RP", "nDCG") for k in self.ks}
        self._propensity = {k: np.zeros(2) for k in self.ks}  # gained, best possible

    @property
    def n_documents(self) -> int:
        """Documents seen so far."""
        return self._saved.n_documents

    @property
    def label_documents(self) -> IntArray:
        """Documents that have each label, shape (n_labels,)."""
        return self._saved.n_true.copy()

    @property
    def label_predictions(self) -> IntArray:
        """Documents that get each label with the saved thresholds, shape (n_labels,)."""
        return self._saved.n_predicted.copy()

    def update(self, targets: Indicator, scores: FloatArray) -> None:
        """Add a batch; both arguments have shape (n_documents, n_labels)."""
        indicator = checked_targets(targets, scores, len(self.labels))
        is_true = indicator.toarray() != 0
        self._saved.update(is_true, is_predicted(scores, self._thresholds))
        self._at_half.update(is_true, is_predicted(scores, DEFAULT_CUT_OFF))
        self._calibration.update(is_true, scores)
        ranked = ranking.rank(is_true, scores, max(self.ks))
        for k in self.ks:
            self._sums[f"P@{k}"] += float(ranking.precision_at_k(ranked, k).sum())
            self._sums[f"RP@{k}"] += float(ranking.r_precision_at_k(ranked, k).sum())
            self._sums[f"nDCG@{k}"] += float(ranking.ndcg_at_k(ranked, k).sum())
            if self._inverse is not None:
                self._propensity[k] += (
                    ranking.propensity_gain(ranked, self._inverse, k),
                    ranking.best_propensity_gain(indicator, self._inverse, k),
                )

    def metrics(self) -> dict[str, float]:
        """Return all metrics, flat; in percent, but for the counts at the end."""
        if not self.n_documents:
            raise DataError("There are no documents to evaluate; give at least one.")
        shares = {name: total / self.n_documents for name, total in self._sums.items()}
        if self._inverse is not None:
            shares |= {
                f"PSP@{k}": float(gained / best) if best else 0.0
                for k, (gained, best) in self._propensity.items()
            }
        shares |= self._f1(self._saved)
        shares |= {name + AT_HALF: value for name, value in self._f1(self._at_half).items()}
        shares |= self._calibration.errors()
        return {
            **{name: 100.0 * share for name, share in shares.items()},
            "n_documents": self.n_documents,
            "n_labels": len(self.labels),
            "n_tail_labels": int(self.labels.is_tail.sum()),
        }

    def label_f1(self) -> FloatArray:
        """Return the F1 of each label in percent with the saved thresholds, shape (n_labels,)."""
        return 100.0 * self._saved.label_f1()

    def label_f1_at_half(self) -> FloatArray:
        """Return the F1 of each label in percent at 0.5, shape (n_labels,)."""
        return 100.0 * self._at_half.label_f1()

    def _f1(self, counts: F1Counts) -> dict[str, float]:
        return {
            "micro_f1": counts.micro_f1(),
            **group_f1(counts.label_f1(), self.labels, counts.n_true),
            "example_f1": counts.example_f1(),
        }


def evaluate_scores(
    labels: LabelSpace,
    targets: Indicator,
    scores: FloatArray,
    thresholds: FloatArray | None = None,
    *,
    n_train_documents: int | None = None,
    batch_size: int = 1024,
) -> Evaluation:
    """Evaluate scores that are all in memory, ``batch_size`` documents at a time."""
    evaluation = Evaluation(labels, n_train_documents=n_train_documents, thresholds=thresholds)
    indicator = checked_targets(targets, scores, len(labels))
    for start in range(0, len(scores), batch_size):
        stop = start + batch_size
        evaluation.update(indicator[start:stop], scores[start:stop])
    return evaluation


def _checked_thresholds(thresholds: FloatArray | None, n_labels: int) -> FloatArray:
    if thresholds is None:
        return Thresholds.constant(n_labels).values
    if thresholds.shape != (n_labels,):
        raise DataError(f"thresholds must have shape ({n_labels},), got {thresholds.shape}.")
    return Thresholds(thresholds, "given").values
