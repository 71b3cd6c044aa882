"""Scores of a peer, judged as those of piran's methods are: cut-offs from validation, F1 on test."""

from collections.abc import Mapping, Sequence

import numpy as np

from piran.data.labels import LabelSpace
from piran.methods.base import tune_policies
from piran.metrics import Thresholds, evaluate_scores
from piran.metrics.evaluation import AT_HALF
from piran.metrics.f1 import F1Counts
from piran.types import FloatArray, LabelMatrix

Metrics = dict[str, float]
Policies = Mapping[str, Thresholds]

RANKINGS = ("P@", "RP@", "nDCG@", "PSP@", "n_")
"""How the names of metrics begin that no cut-off changes."""


def without_unseen(scores: FloatArray, train_targets: LabelMatrix) -> FloatArray:
    """Give labels without a document to learn from the score 0, as piran does."""
    is_seen = np.bincount(train_targets.indices, minlength=scores.shape[1]) > 0
    return np.where(is_seen, scores, 0.0)


def tuned(targets: LabelMatrix, scores: FloatArray, labels: LabelSpace) -> dict[str, Thresholds]:
    """Return the cut-offs of every policy; "default" is the peer's own, which is mapped to 0.5."""
    policies = tune_policies(targets, scores, labels)
    return {"default": policies.pop("half"), **policies}


def best_micro_f1(targets: LabelMatrix, scores: FloatArray, cut_offs: Thresholds) -> float:
    """Return the micro-F1 of these cut-offs in percent."""
    counts = F1Counts(scores.shape[1])
    counts.update(targets.toarray() > 0, cut_offs.predict(scores))
    return 100.0 * counts.micro_f1()


def judged(
    labels: LabelSpace,
    targets: LabelMatrix,
    scores: FloatArray,
    policies: Policies,
    *,
    n_train_documents: int,
) -> dict[str, Metrics]:
    """Return the metrics under each policy, and under "ranking" those that need no cut-off."""
    found: dict[str, Metrics] = {}
    for policy, cut_offs in policies.items():
        evaluation = evaluate_scores(
            labels, targets, scores, cut_offs.values, n_train_documents=n_train_documents
        )
        metrics = {
            name: round(value, 4)
            for name, value in evaluation.metrics().items()
            if not name.endswith(AT_HALF)
        }
        found.setdefault("ranking", _with_prefix(metrics, RANKINGS))
        found[policy] = {name: metrics[name] for name in metrics.keys() - found["ranking"].keys()}
    return {name: dict(sorted(values.items())) for name, values in found.items()}


def _with_prefix(metrics: Metrics, prefixes: Sequence[str]) -> Metrics:
    return {name: value for name, value in metrics.items() if name.startswith(tuple(prefixes))}
