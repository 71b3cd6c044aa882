"""Which head labels teach a tail label: the paper's future work, relations chosen by label semantics.

The paper draws the relations of a tail label from all head labels alike. How documents of a head label
differ may say more about some tail labels than about others: about those that mean something similar,
or that come along with it. The map W stays the one that is learned from all relations.
"""

import numpy as np
from sklearn.preprocessing import normalize

from piran.augment.prototypes import Prototypes
from piran.augment.relations import Relations
from piran.errors import SettingError
from piran.types import FloatArray, IntArray, LabelMatrix

ALL, ALIKE, TOGETHER = "all", "alike", "together"
CHOICES = (ALL, ALIKE, TOGETHER)
TEMPERATURE = 0.1
"""Of the softmax over cosines: a head label whose cosine is less by this is drawn e times less often."""


def check_choice(choice: str) -> None:
    """Refuse a choice that is not known."""
    if choice not in CHOICES:
        raise SettingError(f"relation_choice must be one of {', '.join(CHOICES)}, got {choice!r}.")


def head_shares(
    choice: str, relations: Relations, prototypes: Prototypes, targets: LabelMatrix
) -> FloatArray | None:
    """Return the share of each head label in a tail label's relations, (n_tail, n_head); None for all.

    Head labels are those that have relations, in their order; ``targets`` has all labels,
    (n_documents, n_labels).
    """
    check_choice(choice)
    if choice == ALL:
        return None
    heads = targets[:, np.unique(relations.label_ids)]  # (n_documents, n_head)
    if choice == TOGETHER:
        # One more document that has a little of every head label: some tail labels come along with none
        counts = (prototypes.members.T @ heads).toarray() + 1.0 / heads.shape[1]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))
    means = Prototypes(prototypes.instances, heads.tocsc()).means()
    cosines = normalize(prototypes.means()) @ normalize(means).T
    weights = np.exp((cosines - cosines.max(axis=1, keepdims=True)) / TEMPERATURE)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def drawn_by_share(
    relations: Relations, shares: FloatArray, n_drawn: int, random: np.random.Generator
) -> IntArray:
    """Draw relations, (n_drawn,): first a head label by its share (n_head,), then one of its own."""
    _, starts, counts = np.unique(relations.label_ids, return_index=True, return_counts=True)
    heads = random.choice(len(shares), size=n_drawn, p=shares)
    return np.asarray(starts[heads] + random.integers(counts[heads]))
