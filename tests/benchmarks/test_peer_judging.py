"""Judging of peers' scores, on numbers worked out by hand."""

import numpy as np
import pytest
from judging import best_micro_f1, judged, tuned, without_unseen
from scipy.sparse import csr_array

from piran.data.labels import LabelSpace

LABELS = LabelSpace.from_label_sets([("a",), ("a",), ("b",)], tail=1, extra_names=["c"])
TARGETS = csr_array(np.array([[1, 0, 0], [1, 1, 0]], dtype=np.float32))
SCORES = np.array([[0.4, 0.1, 0.0], [0.3, 0.2, 0.0]])


def test_labels_without_a_document_to_learn_from_score_0() -> None:
    scores = without_unseen(np.full((2, 3), 0.7), TARGETS)
    assert scores.tolist() == [[0.7, 0.7, 0.0], [0.7, 0.7, 0.0]]


def test_the_default_is_cut_at_a_half_and_the_others_are_tuned() -> None:
    policies = tuned(TARGETS, SCORES, LABELS)
    assert list(policies) == ["default", "global", "groups", "both", "expected", "per-label"]
    assert policies["default"].values.tolist() == [0.5, 0.5, 0.5]
    assert best_micro_f1(TARGETS, SCORES, policies["default"]) == 0.0
    assert best_micro_f1(TARGETS, SCORES, policies["global"]) == pytest.approx(100.0)


def test_rankings_stand_apart_from_what_cut_offs_decide() -> None:
    policies = tuned(TARGETS, SCORES, LABELS)
    found = judged(LABELS, TARGETS, SCORES, policies, n_train_documents=3)
    assert found["ranking"]["P@1"] == 100.0
    assert found["global"]["micro_f1"] == 100.0
    assert found["global"]["macro_f1"] == pytest.approx(200 / 3, abs=1e-3)
    assert found["default"]["tail_f1"] == 0.0
    assert not any(name.startswith("P@") or "0.5" in name for name in found["global"])
