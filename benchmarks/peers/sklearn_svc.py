"""scikit-learn: one LinearSVC a label."""

from typing import Any

from contract import TRAIN, Peer, Task
from scipy.sparse import csr_matrix
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

Given = tuple[csr_matrix, csr_matrix]


def prepare(task: Task) -> Given:
    """Return vectors and labels."""
    return task.vectors(TRAIN), task.targets()


def train(task: Task, given: Given) -> Any:  # noqa: ANN401
    """Fit one SVM a label."""
    vectors, targets = given
    svm = LinearSVC(random_state=task.seed, **task.settings)
    return OneVsRestClassifier(svm).fit(vectors, targets)


def score(task: Task, model: Any, part: str) -> Any:  # noqa: ANN401
    """Return margins, (n_documents, n_labels)."""
    return model.decision_function(task.vectors(part))


if __name__ == "__main__":
    Peer(prepare, train, score, "margin", ("scikit-learn",)).main()
