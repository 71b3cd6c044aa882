"""The documents that peers get: divided as piran divides them, as vectors and as tokens."""

from pathlib import Path

import numpy as np
from contract import TRAIN, Task
from documents import FIT, REFIT, TEST, VALIDATION, divide, tokens_by_line, write_inputs

from piran.data.corpus import Documents
from piran.methods import METHODS
from small_corpus import small_corpus


def task_on(folder: Path) -> Task:
    return Task(str(folder), str(folder), 3, (), {}, seed=0, threads=1)


def test_the_slice_is_the_one_that_methods_hold_out() -> None:
    corpus = small_corpus()
    divided = divide(corpus, seed=3)
    method = METHODS["linear"](seed=3)
    method.labels_ = corpus.label_space()
    train, held_out = method._divide(corpus.train, None)
    assert list(divided.validation) == held_out.texts
    assert list(divided.train) == train.texts


def test_given_validation_documents_are_taken() -> None:
    from dataclasses import replace

    given = Documents(["a text of its own"], [corpus_label()])
    divided = divide(replace(small_corpus(), validation=given), seed=0)
    assert list(divided.validation) == given.texts
    assert len(divided.train) == len(small_corpus().train)


def corpus_label() -> tuple[str, ...]:
    return small_corpus().train.label_sets[0]


def test_peers_read_what_was_written(tmp_path: Path) -> None:
    divided = divide(small_corpus(), seed=0)
    write_inputs(divided, tmp_path)
    fit, refit = task_on(tmp_path / FIT), task_on(tmp_path / REFIT)
    for part, texts in ((TRAIN, divided.train), (VALIDATION, divided.validation)):
        assert fit.vectors(part).shape[0] == len(fit.texts(part)) == len(texts)
    assert np.array_equal(fit.targets().toarray(), divided.train_targets.toarray())
    assert refit.vectors(TRAIN).shape[0] == len(divided.train) + len(divided.validation)
    assert refit.targets().shape[0] == refit.vectors(TRAIN).shape[0]
    assert refit.vectors(TEST).dtype == np.float32


def test_documents_are_not_written_twice(tmp_path: Path) -> None:
    divided = divide(small_corpus(), seed=0)
    assert write_inputs(divided, tmp_path) == write_inputs(divided, tmp_path)


def test_each_text_has_a_line_whatever_stands_in_it() -> None:
    assert tokens_by_line(["C++ and\nC#\u2028too", "", "..."]) == "c++ and c# too\n\n\n"
