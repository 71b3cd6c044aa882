"""One run: fit a method on a corpus, evaluate it, keep model, record and page in one folder."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from piran.data.corpus import Corpus, Documents
from piran.data.labels import LabelSpace
from piran.errors import DataError
from piran.experiments.memory import peak_memory_mb
from piran.experiments.parts import PartEvaluation
from piran.experiments.picture import tail_picture
from piran.experiments.records import (
    RECORD_NAME,
    DatasetSummary,
    Group,
    LabelTable,
    RunRecord,
    SystemScores,
    package_versions,
)
from piran.methods.base import MODEL, Method, in_blocks
from piran.metrics import Evaluation, Thresholds
from piran.progress import task
from piran.storage import new_folder
from piran.training.checkpoint import resumed_seconds
from piran.types import FloatArray

F1_KEYS = ("micro_f1", "macro_f1", "head_f1", "tail_f1")
REPORT = "report.html"
BEFORE = "fit_before"
"""Key in the times of a record: seconds of training before it was stopped and went on in this run."""


@dataclass
class Clock:
    """Wall and CPU seconds of named steps."""

    times: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a block."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.times[name] = round(time.perf_counter() - wall, 3)
        self.times[f"{name}_cpu"] = round(time.process_time() - cpu, 3)


def run(corpus: Corpus, method: Method, out: Path, *, name: str | None = None) -> RunRecord:
    """Fit ``method`` on the corpus and write ``out``: the model, ``record.json``, ``report.html``.

    The folder comes into being when everything is done; after an error there is none.
    """
    from piran.report import write_report  # the page is a view of the record

    check_out(out)
    with new_folder(out) as folder:
        record = measure(corpus, method, name=name or out.name, model=folder / MODEL)
        record = record.model_copy(update={"picture": tail_picture(method, corpus)})
        record.write(folder)
        write_report(record, folder / REPORT)
    return record


def measure(corpus: Corpus, method: Method, *, name: str, model: Path | None = None) -> RunRecord:
    """Fit ``method`` on the corpus, evaluate it on its test split and return the record.

    The fitted method is saved to the folder ``model``, if there is one.
    """
    labels = corpus.label_space(method.tail)
    check_division(corpus, labels)
    clock = Clock()
    with clock.step("fit"):
        method.fit(
            corpus.train.texts,
            corpus.train.label_sets,
            validation=corpus.validation,
            labels=labels,
        )
    if resumed_seconds():
        clock.times[BEFORE] = round(resumed_seconds(), 3)
    if model is not None:
        with clock.step("save"):
            method.save(model)
    with clock.step("evaluate"):
        systems, test_counts = evaluate_systems(method, corpus)
    return RunRecord(
        name=name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        method=method.name,
        settings=method.settings(),
        seed=method.seed,
        dataset=summarise(corpus, labels),
        versions=package_versions(),
        times=clock.times,
        peak_memory_mb=peak_memory_mb(),
        history=method.history_,
        epochs_run=len(method.history_) or None,
        stop_reason=method.stop_reason_,
        labels=label_table(labels, test_counts),
        thresholds=method.thresholds_.summary(),
        views=method.view_summary(),
        systems=systems,
    )


def check_out(out: Path) -> None:
    """Refuse a folder for a run that holds something else; an earlier run is replaced."""
    if out.is_file():
        raise DataError(f"{out} is a file; name a folder for the run.")
    if out.is_dir() and any(out.iterdir()) and not (out / RECORD_NAME).is_file():
        raise DataError(
            f"{out} holds files that are not a run's, and a run replaces its folder; name a new one."
        )


def check_division(corpus: Corpus, labels: LabelSpace) -> None:
    """Refuse a corpus that has no head or no tail label to work on."""
    for group, members in (("head", labels.is_head), ("tail", labels.is_tail)):
        if not members.any():
            raise DataError(
                f"{corpus.name}: no {group} label among the {int((labels.counts > 0).sum())} labels "
                "with a training document; relations go from head to tail labels, so both are needed. "
                "Set --tail to a number between 1 and the number of labels less one."
            )


def evaluate_systems(method: Method, corpus: Corpus) -> tuple[dict[str, SystemScores], list[int]]:
    """Score the test documents a block at a time; also return how many have each label."""
    test = corpus.test
    if test is None or not len(test):
        return {}, [0] * len(method.labels_)
    targets = method.labels_.matrix(test.label_sets)
    evaluations: dict[str, dict[str, Evaluation]] = {
        system: _evaluations(method, policies)
        for system, policies in method.policy_thresholds_.items()
    }
    parts = {
        system: PartEvaluation(corpus, method, policies[method.thresholds].values)
        for system, policies in method.policy_thresholds_.items()
    }
    first = 0
    with task("Evaluating", len(test)) as advance:
        for part in in_blocks(test.texts):
            block = targets[first : first + len(part)]
            for system, scores in method.system_scores(part).items():
                for evaluation in evaluations[system].values():
                    evaluation.update(block, scores)
                parts[system].update(first, block, scores)
            first += len(part)
            advance(len(part))
    counts = next(iter(evaluations[method.name].values())).label_documents
    return {
        system: _system_scores(by_policy, method.thresholds, parts[system])
        for system, by_policy in evaluations.items()
    }, counts.tolist()


def evaluate(method: Method, documents: Documents) -> dict[str, float]:
    """Evaluate a fitted method on documents whose labels it may not all know.

    Labels that the method does not know get columns of score 0, so missing them counts.
    """
    if not len(documents):
        raise DataError("There is no document to evaluate on.")
    names = {label for labels in documents.label_sets for label in labels}
    labels = method.labels_.extended(names)
    n_new = len(labels) - len(method.labels_)
    thresholds = np.concatenate([method.thresholds_.values, np.full(n_new, 0.5)])
    evaluation = Evaluation(
        labels, n_train_documents=method.n_train_documents_, thresholds=thresholds
    )
    targets = labels.matrix(documents.label_sets)
    first = 0
    with task("Evaluating", len(documents)) as advance:
        for part in in_blocks(documents.texts):
            scores = np.pad(method.predict_scores(part), ((0, 0), (0, n_new)))
            evaluation.update(targets[first : first + len(part)], scores)
            first += len(part)
            advance(len(part))
    return evaluation.metrics()


def summarise(corpus: Corpus, labels: LabelSpace) -> DatasetSummary:
    """Return what identifies the data of a run."""
    sizes = {split: len(documents) for split, documents in corpus.splits.items()}
    return DatasetSummary(
        name=corpus.name,
        checksum=corpus.checksum(),
        n_train=sizes["train"],
        n_validation=sizes.get("validation", 0),
        n_test=sizes.get("test", 0),
        n_labels=len(labels),
        n_head_labels=int(labels.is_head.sum()),
        n_tail_labels=int(labels.is_tail.sum()),
        n_unseen_labels=int(labels.is_unseen.sum()),
    )


def label_table(labels: LabelSpace, test_counts: list[int]) -> LabelTable:
    """Return one row a label."""
    groups: list[Group] = [
        "tail" if tail else "head" if head else "unseen"
        for tail, head in zip(labels.is_tail, labels.is_head, strict=True)
    ]
    return LabelTable(
        names=list(labels.names),
        train_counts=labels.counts.tolist(),
        test_counts=test_counts,
        groups=groups,
    )


def _evaluations(method: Method, policies: dict[str, Thresholds]) -> dict[str, Evaluation]:
    return {
        policy: Evaluation(
            method.labels_,
            n_train_documents=method.n_train_documents_,
            thresholds=thresholds.values,
        )
        for policy, thresholds in policies.items()
    }


def _system_scores(
    evaluations: dict[str, Evaluation], saved: str, parts: PartEvaluation
) -> SystemScores:
    """Combine the evaluations of all policies; keys without a suffix are of the saved one."""
    metrics = evaluations[saved].metrics()
    for policy, evaluation in evaluations.items():
        if policy != "half":  # those stand there already, as …_at_0.5
            values = evaluation.metrics()
            metrics |= {f"{key}_at_{policy}": values[key] for key in F1_KEYS}
    return SystemScores(
        metrics={key: round(value, 4) for key, value in metrics.items()},
        label_f1=_rounded(evaluations[saved].label_f1()),
        label_f1_at_half=_rounded(evaluations[saved].label_f1_at_half()),
        subsets=parts.subsets(),
        groups=parts.groups(),
    )


def _rounded(values: FloatArray) -> list[float]:
    return [round(float(value), 3) for value in values]
