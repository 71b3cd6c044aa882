"""fastText: embeddings of words and word pairs, learned with one logistic loss a label."""

from pathlib import Path
from typing import Any

import fasttext
import numpy as np
from contract import TRAIN, Peer, Task, ranked_matrix
from scipy.sparse import csr_matrix

PREFIX = "__label__"


def prepare(task: Task) -> str:
    """Write texts with their labels into the file that it trains from, and return its path.

    It learns from the lines in their order, and a corpus may be sorted by label: they are shuffled.
    """
    targets, texts = task.targets(), task.texts(TRAIN)
    path = Path(task.out) / "train.txt"
    with path.open("w", encoding="utf-8") as file:
        for row in np.random.default_rng(task.seed).permutation(len(texts)):
            columns = targets.indices[targets.indptr[row] : targets.indptr[row + 1]]
            labels = " ".join(f"{PREFIX}{column}" for column in columns)
            file.write(f"{labels} {texts[row]}\n")
    return str(path)


def train(task: Task, given: str) -> Any:  # noqa: ANN401
    """Fit with the loss for several labels a document."""
    return fasttext.train_supervised(
        given,
        loss="ova",
        label=PREFIX,
        thread=task.threads,
        seed=task.seed,
        verbose=0,
        **task.settings,
    )


def score(task: Task, model: Any, part: str) -> csr_matrix:  # noqa: ANN401
    """Return the probabilities of all labels that had a training document."""
    names, values = model.predict(task.texts(part), k=-1)
    ranked = [
        [(int(name.removeprefix(PREFIX)), float(value)) for name, value in zip(*pair, strict=True)]
        for pair in zip(names, values, strict=True)
    ]
    return ranked_matrix(ranked, task.n_labels)


if __name__ == "__main__":
    Peer(prepare, train, score, "probability", ("fasttext-numpy2",)).main()
