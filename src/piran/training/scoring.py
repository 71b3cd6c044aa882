"""Scores of networks on validation documents, which decide when training stops."""

from collections.abc import Sequence

from torch import nn

from piran.metrics.f1 import F1Counts
from piran.training.loop import Score, apply_network
from piran.types import IntArray, LabelMatrix


def micro_f1_score(token_ids: Sequence[IntArray], targets: LabelMatrix) -> Score:
    """Return a score of networks: micro-F1 at probability 0.5 on these documents."""
    is_true = targets.toarray() > 0  # (n_documents, n_labels)

    def score(network: nn.Module) -> float:
        logits = apply_network(network, token_ids, description="Validating")
        counts = F1Counts(is_true.shape[1])
        counts.update(is_true, logits > 0)
        return counts.micro_f1()

    return score
