"""A corpus in numbers, against numbers worked out by hand."""

import json

import pytest

from piran.data import Corpus, Documents
from piran.data.statistics import LabelGroup, corpus_statistics

CORPUS = Corpus(
    "small",
    Documents(
        ["One two, two!", "Three", "", "four ONE"],
        [("a", "b"), ("a",), (), ("a", "c")],
    ),
    test=Documents(["five six seven", "eight"], [("a", "d"), ()]),
    tail=2,
)


def test_the_columns_of_table_1() -> None:
    statistics = corpus_statistics(CORPUS)
    assert (statistics.n_train, statistics.n_validation, statistics.n_test) == (4, 0, 2)
    assert (statistics.n_words, statistics.n_labels) == (4, 4)
    assert statistics.labels_per_document == pytest.approx(5 / 4)
    assert statistics.documents_per_label == pytest.approx(5 / 3)
    assert statistics.words_per_train_document == pytest.approx(6 / 4)
    assert statistics.words_per_test_document == pytest.approx(4 / 2)


def test_what_is_missing_is_counted() -> None:
    statistics = corpus_statistics(CORPUS)
    assert statistics.n_documents_without_labels == {"train": 1, "test": 1}
    assert statistics.n_labels_without_train_documents == 1


def test_percentiles_are_over_labels_with_training_documents() -> None:
    percentiles = corpus_statistics(CORPUS).documents_per_label_percentiles
    assert (percentiles[0], percentiles[50], percentiles[75], percentiles[100]) == (1, 1, 2, 3)


def test_head_and_tail_account_for_the_occurrences() -> None:
    statistics = corpus_statistics(CORPUS)
    assert statistics.head == LabelGroup(1, 1 / 4, 3 / 5)
    assert statistics.tail == LabelGroup(2, 2 / 4, 2 / 5)


def test_another_division_can_be_asked_for() -> None:
    assert corpus_statistics(CORPUS, CORPUS.label_space(1)).tail.n_labels == 1


def test_json_has_the_division_at_the_top_level() -> None:
    state = json.loads(json.dumps(corpus_statistics(CORPUS).to_json()))
    assert (state["n_head_labels"], state["n_tail_labels"]) == (1, 2)
    assert state["tail_share_of_occurrences"] == pytest.approx(0.4)
    assert state["documents_per_label_percentiles"]["100"] == 3
    assert state["checksum"] == CORPUS.checksum()
    assert "head" not in state


def test_a_corpus_without_labels_or_words_has_statistics() -> None:
    statistics = corpus_statistics(Corpus("bare", Documents([""], [()])))
    assert statistics.documents_per_label == 0
    assert statistics.documents_per_label_percentiles[50] == 0
    assert statistics.tail == LabelGroup(0, 0, 0)
