"""Synthetic long-tailed instances whose labels all vary in the same directions."""

from typing import NamedTuple

import numpy as np

from piran.types import FloatArray, IntArray

N_HEAD, N_TAIL, FEATURE_DIM = 6, 12, 30
N_LABELS = N_HEAD + N_TAIL


class LongTailed(NamedTuple):
    """Features and indicators to learn from and to judge by; columns 0 … N_HEAD − 1 are head."""

    X: FloatArray
    Y: IntArray
    X_test: FloatArray
    Y_test: IntArray


def long_tailed(seed: int = 0, n_head_documents: int = 200) -> LongTailed:
    """Draw documents of one label each, 3 for every tail label, 40 of each label for the test.

    A document is its label's centre plus a variation that is the same for all labels, strong in a few
    directions and weak in many, scaled to length one as an encoder's instances are.
    """
    random = np.random.default_rng(seed)
    centres = random.normal(size=(N_LABELS, FEATURE_DIM))
    directions = np.linalg.qr(random.normal(size=(FEATURE_DIM, FEATURE_DIM)))[0]
    variation = 3.0 * directions / np.sqrt(np.arange(1, FEATURE_DIM + 1))

    def draw(counts: IntArray) -> tuple[FloatArray, IntArray]:
        labels = np.repeat(np.arange(N_LABELS), counts)
        noise = random.normal(size=(len(labels), FEATURE_DIM)) @ variation.T
        X = centres[labels] + noise  # (n_documents, feature_dim)
        return X / np.linalg.norm(X, axis=1, keepdims=True), np.eye(N_LABELS, dtype=int)[labels]

    train_counts = np.where(np.arange(N_LABELS) < N_HEAD, n_head_documents, 3)
    return LongTailed(*draw(train_counts), *draw(np.full(N_LABELS, 40)))
