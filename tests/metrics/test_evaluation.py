"""The streaming evaluation: right, the same for any batches, and small."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scored_documents import N_TRAIN, ScoredDocuments, scored_documents
from sklearn.metrics import f1_score

from piran.data.labels import LabelSpace
from piran.errors import DataError, SettingError
from piran.metrics import Evaluation, evaluate_scores

CUT_OFFS = np.linspace(0.2, 0.7, 12)
F1_NAMES = ("micro_f1", "macro_f1", "head_f1", "tail_f1", "tail_f1_present", "example_f1")


def evaluated(documents: ScoredDocuments, batch_size: int = 1024) -> Evaluation:
    return evaluate_scores(
        documents.labels,
        documents.targets,
        documents.scores,
        CUT_OFFS,
        n_train_documents=N_TRAIN,
        batch_size=batch_size,
    )


def test_all_promised_metrics_are_there() -> None:
    ranked = {f"{name}@{k}" for name in ("P", "RP", "nDCG", "PSP") for k in (1, 3, 5)}
    cut = set(F1_NAMES) | {f"{name}_at_0.5" for name in F1_NAMES}
    errors = {f"ECE{g}{floor}" for g in ("", "_head", "_tail") for floor in ("", "_from_0.05")}
    counts = {"n_documents", "n_labels", "n_tail_labels"}
    assert evaluated(scored_documents()).metrics().keys() == ranked | cut | errors | counts


def test_f1_is_in_percent_and_equals_scikit_learn() -> None:
    documents = scored_documents()
    metrics = evaluated(documents).metrics()
    for suffix, cut_offs in (("", CUT_OFFS), ("_at_0.5", 0.5)):
        per_label = 100 * f1_score(
            documents.is_true, documents.scores >= cut_offs, average=None, zero_division=0
        )
        assert metrics[f"macro_f1{suffix}"] == pytest.approx(per_label.mean())
        assert metrics[f"head_f1{suffix}"] == pytest.approx(per_label[:4].mean())
        assert metrics[f"tail_f1{suffix}"] == pytest.approx(per_label[4:11].mean())
        assert metrics[f"tail_f1_present{suffix}"] == pytest.approx(per_label[4:10].mean())


def test_label_scores_belong_to_the_metrics() -> None:
    documents = scored_documents()
    evaluation = evaluated(documents)
    metrics = evaluation.metrics()
    assert evaluation.label_f1().mean() == pytest.approx(metrics["macro_f1"])
    assert evaluation.label_f1_at_half().mean() == pytest.approx(metrics["macro_f1_at_0.5"])
    assert np.array_equal(evaluation.label_documents, documents.is_true.sum(axis=0))
    predicted = (documents.scores >= CUT_OFFS).sum(axis=0)
    assert np.array_equal(evaluation.label_predictions, predicted)


def test_counts_are_counts() -> None:
    metrics = evaluated(scored_documents()).metrics()
    assert (metrics["n_documents"], metrics["n_labels"], metrics["n_tail_labels"]) == (60, 12, 7)


def test_without_thresholds_the_saved_policy_is_a_half() -> None:
    documents = scored_documents()
    metrics = evaluate_scores(documents.labels, documents.targets, documents.scores).metrics()
    assert all(metrics[name] == metrics[f"{name}_at_0.5"] for name in F1_NAMES)


def test_without_the_size_of_train_there_is_no_psp() -> None:
    documents = scored_documents()
    metrics = evaluate_scores(documents.labels, documents.targets, documents.scores).metrics()
    assert not [name for name in metrics if name.startswith("PSP")]


def test_the_calibration_error_is_in_percent() -> None:
    labels = LabelSpace(("a",), np.array([1]), np.array([True]))
    metrics = evaluate_scores(labels, np.array([[1], [0]]), np.array([[0.75], [0.75]])).metrics()
    assert metrics["ECE"] == metrics["ECE_tail"] == metrics["ECE_tail_from_0.05"] == 25.0
    assert "ECE_head" not in metrics


def test_scores_that_are_no_probabilities_have_no_calibration_error() -> None:
    documents = scored_documents()
    margins = documents.scores * 4 - 2
    metrics = evaluate_scores(documents.labels, documents.targets, margins).metrics()
    assert not [name for name in metrics if name.startswith("ECE")]


def test_a_score_on_the_cut_off_is_a_prediction() -> None:
    labels = LabelSpace(("a",), np.array([1]), np.array([True]))
    metrics = evaluate_scores(
        labels, np.array([[1]]), np.array([[0.5]], dtype=np.float32)
    ).metrics()
    assert metrics["tail_f1"] == 100.0


def test_a_perfect_ranking_reaches_a_hundred() -> None:
    documents = scored_documents()
    has_labels = documents.is_true.any(axis=1)
    is_true = documents.is_true[has_labels]
    evaluation = Evaluation(documents.labels, n_train_documents=N_TRAIN)
    rarity = np.arange(12) / 100
    evaluation.update(csr_array(is_true), is_true * (0.8 + rarity))
    metrics = evaluation.metrics()
    names = ["P@1", "nDCG@1", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "micro_f1"]
    assert [metrics[name] for name in names] == pytest.approx([100.0] * len(names))


@given(st.lists(st.integers(0, 60), max_size=8))
@settings(max_examples=30)
def test_any_batches_give_what_one_batch_gives(cuts: list[int]) -> None:
    documents = scored_documents()
    evaluation = Evaluation(documents.labels, n_train_documents=N_TRAIN, thresholds=CUT_OFFS)
    edges = [0, *sorted(cuts), 60]
    for start, stop in pairwise(edges):
        evaluation.update(documents.targets[start:stop], documents.scores[start:stop])
    assert evaluation.metrics() == pytest.approx(evaluated(documents).metrics(), abs=1e-10)
    assert np.array_equal(evaluation.label_f1(), evaluated(documents).label_f1())


@given(st.permutations(range(60)))
@settings(max_examples=20)
def test_the_order_of_documents_changes_nothing(order: list[int]) -> None:
    documents = scored_documents()
    shuffled = ScoredDocuments(documents.labels, documents.targets[order], documents.scores[order])
    expected = evaluated(documents).metrics()
    assert evaluated(shuffled, 7).metrics() == pytest.approx(expected, abs=1e-10)


def test_memory_does_not_grow_with_the_number_of_documents() -> None:
    documents = scored_documents(512)
    peaks = []
    for n_batches in (2, 40):
        evaluation = Evaluation(documents.labels, n_train_documents=N_TRAIN)
        tracemalloc.start()
        for _ in range(n_batches):
            evaluation.update(documents.targets, documents.scores)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[1] < 20 * documents.scores.nbytes


def test_stored_zeros_are_not_labels() -> None:
    documents = scored_documents()
    stored = documents.targets.copy()
    stored.data[:3] = 0
    dense = evaluate_scores(documents.labels, stored.toarray(), documents.scores).metrics()
    assert evaluate_scores(documents.labels, stored, documents.scores).metrics() == dense
    assert (stored.data[:3] == 0).all()


def test_documents_without_any_label_have_psp_zero() -> None:
    labels = scored_documents().labels
    evaluation = Evaluation(labels, n_train_documents=N_TRAIN)
    evaluation.update(csr_array((2, 12)), np.ones((2, 12)))
    assert evaluation.metrics()["PSP@1"] == 0.0


def test_no_documents_cannot_be_evaluated() -> None:
    with pytest.raises(DataError, match="no documents to evaluate"):
        Evaluation(scored_documents().labels).metrics()


def test_a_wrong_number_of_columns_is_refused() -> None:
    with pytest.raises(DataError, match=r"must have 12 columns \(n_labels\), got 3"):
        Evaluation(scored_documents().labels).update(np.ones((2, 3)), np.ones((2, 3)))


def test_scores_that_are_no_numbers_are_refused() -> None:
    scores = np.ones((4, 12))
    scores[2, 5] = np.nan
    with pytest.raises(DataError, match="NaN for 1 documents, first in row 2"):
        Evaluation(scored_documents().labels).update(np.ones((4, 12)), scores)


def test_thresholds_are_checked() -> None:
    labels = scored_documents().labels
    with pytest.raises(DataError, match=r"shape \(12,\), got \(3,\)"):
        Evaluation(labels, thresholds=np.ones(3))
    with pytest.raises(SettingError, match="above 0"):
        Evaluation(labels, thresholds=np.zeros(12))
