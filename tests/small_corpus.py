"""A small long-tailed corpus: every label has words of its own, and a few documents or many."""

import numpy as np

from piran.data import Corpus, Documents

COUNTS = {"alpha": 60, "beta": 40, "gamma": 25, "delta": 6, "epsilon": 4, "zeta": 3}
TAIL = ("delta", "epsilon", "zeta")
WORDS_OF_A_LABEL = 12


def small_documents(seed: int = 0, *, scale: float = 1.0) -> Documents:
    """Return documents of one or two labels, a handful of their words and some noise each."""
    random = np.random.default_rng(seed)
    texts, label_sets = [], []
    for label, count in COUNTS.items():
        for _ in range(max(2, round(count * scale))):
            labels = [label] if random.random() < 0.7 else [label, "alpha"]
            words = [
                f"{name}{random.integers(WORDS_OF_A_LABEL)}" for name in labels for _ in range(5)
            ]
            words += [f"noise{random.integers(30)}" for _ in range(4)]
            texts.append(" ".join(random.permutation(words)))
            label_sets.append(tuple(dict.fromkeys(labels)))
    order = random.permutation(len(texts))
    return Documents([texts[i] for i in order], [label_sets[i] for i in order])


def small_corpus() -> Corpus:
    """Return the corpus, half of its labels in the tail, with a test split."""
    return Corpus("small", small_documents(0), test=small_documents(1, scale=0.5), tail=3)
