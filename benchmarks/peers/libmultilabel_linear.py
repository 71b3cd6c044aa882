"""LibMultiLabel: linear SVMs whose cut-offs or costs are chosen by its own cross-validation."""

from typing import Any

import numpy as np
from contract import TRAIN, Peer, Task
from libmultilabel import linear
from scipy.sparse import csr_matrix

Given = tuple[csr_matrix, csr_matrix]


def prepare(task: Task) -> Given:
    """Return vectors and labels, in the float64 that liblinear computes with."""
    return task.vectors(TRAIN).astype(np.float64), task.targets().astype(np.int64)


def train(task: Task, given: Given) -> Any:  # noqa: ANN401
    """Fit with the function that the settings name."""
    vectors, targets = given
    np.random.seed(task.seed)  # noqa: NPY002  # its folds come from here
    function = getattr(linear, task.settings["function"])
    options = f"{task.settings['options']} -m {task.threads}"
    return function(targets, vectors, options=options, verbose=False)


def score(task: Task, model: Any, part: str) -> Any:  # noqa: ANN401
    """Return margins, to which its cut-offs are added already, (n_documents, n_labels)."""
    return linear.predict_values(model, task.vectors(part).astype(np.float64))


if __name__ == "__main__":
    packages = ("libmultilabel", "liblinear-multicore")
    Peer(prepare, train, score, "margin", packages).main()
