"""A run: what it writes, what it measures, what it refuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from piran.data import Corpus, Documents
from piran.errors import DataError
from piran.experiments.records import RunRecord
from piran.experiments.run import evaluate, run
from piran.methods import Method, load_method
from piran.methods.piran import PiranClassifier
from piran.metrics.evaluation import evaluate_scores
from small_corpus import COUNTS, TAIL, small_corpus

REFERENCES = ("no-aug", "duplicate")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "small"
    run(small_corpus(), PiranClassifier(tail=3, references=REFERENCES), out)
    return out


@pytest.fixture(scope="module")
def record(folder: Path) -> RunRecord:
    return RunRecord.read(folder)


def test_the_record_says_what_the_data_were(record: RunRecord) -> None:
    corpus = small_corpus()
    assert record.dataset.checksum == corpus.checksum()
    assert (record.dataset.n_train, record.dataset.n_labels) == (len(corpus.train), len(COUNTS))
    groups = dict(zip(record.labels.names, record.labels.groups, strict=True))
    assert {name for name, group in groups.items() if group == "tail"} == set(TAIL)


def test_the_record_has_every_system_with_scores_for_every_label(record: RunRecord) -> None:
    assert set(record.systems) == {"piran", *REFERENCES}
    for system in record.systems.values():
        assert len(system.label_f1) == len(system.label_f1_at_half) == len(COUNTS)
        tail = [record.labels.names.index(name) for name in TAIL]
        mean = np.mean([system.label_f1[index] for index in tail])
        assert system.metrics["tail_f1"] == pytest.approx(mean, abs=1e-2)


def test_the_record_keeps_times_memory_and_versions(record: RunRecord) -> None:
    assert {"fit", "fit_cpu", "evaluate"} <= set(record.times)
    assert record.peak_memory_mb > 50
    assert {"python", "torch", "numpy"} <= set(record.versions)


def test_the_scores_are_those_of_the_saved_model(folder: Path, record: RunRecord) -> None:
    test = small_corpus().test
    assert test is not None
    method = load_method(folder)
    independent = evaluate_scores(
        method.labels_,
        method.labels_.matrix(test.label_sets),
        method.predict_scores(test.texts),
        method.thresholds_.values,
    ).metrics()
    for key in ("P@1", "nDCG@5", "micro_f1", "tail_f1", "tail_f1_at_0.5"):
        assert record.scores[key] == pytest.approx(independent[key], abs=1e-3)


def test_the_picture_shows_a_tail_label(record: RunRecord) -> None:
    assert record.picture is not None
    assert record.picture.label in TAIL
    index = record.labels.names.index(record.picture.label)
    assert len(record.picture.real) == record.labels.train_counts[index]
    assert len(record.picture.held_out) == record.labels.test_counts[index]
    assert len(record.picture.generated) == record.settings["n_generated"]


def test_the_record_says_what_each_view_counts(record: RunRecord, tmp_path: Path) -> None:
    assert record.views == {}
    method = PiranClassifier(views=["documents"], references=())
    with_views = run(small_corpus(), method, tmp_path / "run")
    assert with_views.views["documents"] == {"head": 1.0, "tail": 1.0}
    assert with_views.views["rows"].keys() == {"head", "tail"}
    assert RunRecord.read(tmp_path / "run").views == with_views.views


def test_a_record_reads_back_as_it_was(record: RunRecord, tmp_path: Path) -> None:
    record.write(tmp_path)
    assert RunRecord.read(tmp_path) == record


@pytest.mark.parametrize(("tail", "missing"), [(0, "tail"), (6, "head")])
def test_a_division_without_head_or_tail_is_refused(
    tail: int, missing: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=f"no {missing} label"):
        run(small_corpus(), PiranClassifier(tail=tail), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_training_leaves_no_folder(tmp_path: Path) -> None:
    method = PiranClassifier(tail=3, references=("no-agu",))
    with pytest.raises(LookupError, match="no-aug"):
        run(small_corpus(), method, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_label_only_the_test_split_has_counts_as_missed(tmp_path: Path) -> None:
    corpus = small_corpus()
    assert corpus.test is not None
    changed = Documents(corpus.test.texts, [(*labels, "new") for labels in corpus.test.label_sets])
    record = run(replace(corpus, test=changed), PiranClassifier(tail=3), tmp_path / "run")
    index = record.labels.names.index("new")
    assert record.labels.groups[index] == "unseen"
    assert record.systems["piran"].label_f1[index] == 0.0
    assert record.dataset.n_unseen_labels == 1


def test_validation_documents_are_used_where_they_are_given(tmp_path: Path) -> None:
    corpus = small_corpus()
    assert corpus.test is not None
    record = run(
        Corpus("small", corpus.train, validation=corpus.test, test=corpus.test, tail=3),
        PiranClassifier(tail=3),
        tmp_path / "run",
    )
    assert record.dataset.n_validation == len(corpus.test)


def test_evaluating_nothing_is_an_error(folder: Path) -> None:
    method: Method = load_method(folder)
    with pytest.raises(DataError, match="no document"):
        evaluate(method, Documents([], []))


def test_three_documents_are_enough_for_a_run(tmp_path: Path) -> None:
    documents = Documents(["hello world", "hello you", "world news"], [("a", "b"), ("a",), ("b",)])
    record = run(Corpus("tiny", documents), PiranClassifier(tail=1), tmp_path / "run")
    assert record.picture is None
    assert load_method(tmp_path / "run").predict(["hello"])
