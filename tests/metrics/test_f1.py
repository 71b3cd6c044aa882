"""F1 counts against scikit-learn and by hand."""

import numpy as np
import pytest
from scored_documents import scored_documents
from sklearn.metrics import f1_score

from piran.metrics.f1 import F1Counts, f1


def counted(threshold: float) -> tuple[F1Counts, dict[str, float]]:
    documents = scored_documents()
    predicted = documents.scores >= threshold
    counts = F1Counts(len(documents.labels))
    counts.update(documents.is_true, predicted)
    expected = {
        average: f1_score(documents.is_true, predicted, average=average, zero_division=0)
        for average in ("micro", "macro", "samples")
    }
    return counts, expected


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8, 2.0])
def test_f1_equals_scikit_learn(threshold: float) -> None:
    counts, expected = counted(threshold)
    assert counts.micro_f1() == pytest.approx(expected["micro"], abs=1e-12)
    assert counts.label_f1().mean() == pytest.approx(expected["macro"], abs=1e-12)
    assert counts.example_f1() == pytest.approx(expected["samples"], abs=1e-12)


def test_f1_by_hand() -> None:
    values = f1(np.array([2, 0, 0]), np.array([3, 4, 0]), np.array([5, 0, 0]))
    assert values.tolist() == [0.5, 0.0, 0.0]


def test_no_documents_give_zero() -> None:
    counts = F1Counts(3)
    assert (counts.micro_f1(), counts.example_f1(), counts.label_f1().sum()) == (0.0, 0.0, 0.0)
