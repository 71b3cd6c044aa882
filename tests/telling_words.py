"""Corpora in which a word tells a label, always or three times in ten."""

import numpy as np

from piran.data import Documents
from piran.types import LabelSet

FILLERS = [f"word{number}" for number in range(40)]


def sentence(random: np.random.Generator, words: list[str], n_fillers: int) -> str:
    """Return the words among fillers, in any order."""
    chosen = [*words, *random.choice(FILLERS, size=n_fillers)]
    return " ".join(random.permutation(chosen))


def seldom_telling(seed: int, n_documents: int = 600) -> Documents:
    """Return documents of a frequent label, and of 20 rare ones that are never likely.

    Every rare label has a word, and three of ten documents with the word have the label.
    """
    random = np.random.default_rng(seed)
    texts: list[str] = []
    label_sets: list[LabelSet] = []
    for number in range(n_documents):
        words, labels = [f"rare{number % 20}"], []
        if random.random() < 0.3:
            labels.append(f"rare-{number % 20:02d}")
        if random.random() < 0.5:
            words += ["often", "common"]
            labels.append("frequent")
        texts.append(sentence(random, words, 6))
        label_sets.append(tuple(labels))
    return Documents(texts, label_sets)


def one_telling_word(seed: int, n_of_tail: int, n_of_head: int = 60) -> Documents:
    """Return documents of three head labels with many words, and eight tail labels with one each."""
    random = np.random.default_rng(seed)
    documents: list[tuple[str, LabelSet]] = []
    for head in range(3):
        for _ in range(n_of_head):
            words = [f"head{head}n{random.integers(5)}" for _ in range(4)]
            documents.append((sentence(random, words, 6), (f"head-{head}",)))
    for tail in range(8):
        for _ in range(n_of_tail):
            head = int(random.integers(3))
            words = [f"tell{tail}", f"head{head}n{random.integers(5)}"]
            documents.append((sentence(random, words, 6), (f"head-{head}", f"tail-{tail}")))
    order = random.permutation(len(documents))
    return Documents([documents[i][0] for i in order], [documents[i][1] for i in order])
