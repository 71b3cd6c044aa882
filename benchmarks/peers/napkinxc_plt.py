"""napkinXC: probabilistic label trees of logistic regressions."""

from pathlib import Path
from typing import Any

from contract import TRAIN, Peer, Task, ranked_matrix
from napkinxc.models import PLT
from scipy.sparse import csr_matrix

Given = tuple[csr_matrix, list[list[int]]]


def prepare(task: Task) -> Given:
    """Return vectors, and labels as lists of columns."""
    targets = task.targets()
    starts, columns = targets.indptr, targets.indices.tolist()
    label_lists = [columns[starts[row] : starts[row + 1]] for row in range(targets.shape[0])]
    return task.vectors(TRAIN), label_lists


def train(task: Task, given: Given) -> Any:  # noqa: ANN401
    """Cluster the labels and fit the tree."""
    vectors, label_lists = given
    folder = str(Path(task.out) / "model")
    model = PLT(folder, seed=task.seed, threads=task.threads, **task.settings)
    model.fit(vectors, label_lists)
    return model


def score(task: Task, model: Any, part: str) -> csr_matrix:  # noqa: ANN401
    """Return the best labels' probabilities."""
    ranked = model.predict_proba(task.vectors(part), top_k=task.top_k)
    return ranked_matrix(ranked, task.n_labels)


if __name__ == "__main__":
    Peer(prepare, train, score, "probability", ("napkinxc",)).main()
