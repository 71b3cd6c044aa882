"""omikuji: Parabel, balanced trees of linear SVMs over clusters of labels."""

from pathlib import Path
from typing import Any

from contract import TRAIN, Peer, Task, ranked_matrix
from omikuji import LossType, Model
from scipy.sparse import csr_matrix


def prepare(task: Task) -> str:
    """Write vectors and labels into the file that it trains from, and return its path."""
    vectors, targets = task.vectors(TRAIN), task.targets()
    path = Path(task.out) / "train.txt"
    with path.open("w", encoding="ascii") as file:
        file.write(f"{vectors.shape[0]} {vectors.shape[1]} {targets.shape[1]}\n")
        for row in range(vectors.shape[0]):
            labels = ",".join(str(column) for column, _ in _pairs(targets, row))
            pairs = (f"{column}:{value:.6g}" for column, value in _pairs(vectors, row))
            file.write(f"{labels} {' '.join(pairs)}\n")
    return str(path)


def train(task: Task, given: str) -> Any:  # noqa: ANN401
    """Fit the trees with the defaults and what the settings change."""
    settings = Model.default_hyper_param()
    for name, value in task.settings.items():
        setattr(settings, name, LossType[value].value if name == "linear_loss_type" else value)
    return Model.train_on_data(given, settings, n_threads=task.threads)


def score(task: Task, model: Any, part: str) -> csr_matrix:  # noqa: ANN401
    """Return the best labels' scores, means over trees in (0, 1]."""
    model.init_prediction_thread_pool(task.threads)
    vectors = task.vectors(part)
    ranked = [
        model.predict(_pairs(vectors, row), beam_size=task.beam_size, top_k=task.top_k)
        for row in range(vectors.shape[0])
    ]
    return ranked_matrix(ranked, task.n_labels)


def _pairs(matrix: csr_matrix, row: int) -> list[tuple[int, float]]:
    """Return columns and values of a row, by column."""
    found = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return sorted(zip(matrix.indices[found].tolist(), matrix.data[found].tolist(), strict=True))


if __name__ == "__main__":
    Peer(prepare, train, score, "probability", ("omikuji",)).main()
