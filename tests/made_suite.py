"""A suite's folder with records that were never run, for tests of tables, figures and pages."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from piran.experiments.records import DatasetSummary, LabelTable, RunRecord, SystemScores

CHECKSUM = "ab" * 32
METRICS = (
    *("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5"),
    *(
        f"{group}_f1{cut}"
        for cut in ("", "_at_0.5")
        for group in ("micro", "macro", "head", "tail")
    ),
)
LABELS = LabelTable(
    names=["a", "b", "c", "d"],
    train_counts=[40, 12, 4, 1],
    test_counts=[20, 6, 2, 1],
    groups=["head", "head", "tail", "tail"],
)


def made_record(
    name: str,
    seed: int,
    systems: Mapping[str, Mapping[str, float]],
    *,
    method: str | None = None,
    dataset: str = "mine",
    **changes: Any,
) -> RunRecord:
    """Return a record in which every metric is 50 unless ``systems`` says otherwise."""
    fields: dict[str, Any] = {
        "name": name,
        "created": "2026-01-02T03:04:05+00:00",
        "method": method or name,
        "settings": {"seed": seed, "l2": 0.3},
        "seed": seed,
        "dataset": DatasetSummary(
            name=dataset,
            checksum=CHECKSUM,
            n_train=57,
            n_validation=0,
            n_test=29,
            n_labels=4,
            n_head_labels=2,
            n_tail_labels=2,
            n_unseen_labels=0,
        ),
        "versions": {"piran": "0"},
        "times": {"fit": 10.0, "evaluate": 1.0, "from_cache": 5.0},
        "peak_memory_mb": 100.0,
        "labels": LABELS,
        "thresholds": {},
        "systems": {system: _scores(metrics) for system, metrics in systems.items()},
    }
    return RunRecord(**{**fields, **changes})


def _scores(given: Mapping[str, float]) -> SystemScores:
    metrics = dict.fromkeys(METRICS, 50.0) | dict(given)
    tail = metrics["tail_f1_at_0.5"]
    return SystemScores(
        metrics=metrics,
        label_f1=[90.0, 70.0, tail, tail],
        label_f1_at_half=[90.0, 70.0, tail, tail],
    )


def write_made_suite(
    folder: Path,
    records: Sequence[RunRecord],
    *,
    sweeps: Mapping[str, tuple[str, Mapping[str, Any]]] | None = None,
    main: str = "piran",
    name: str = "made",
) -> Path:
    """Write the records and their plan; ``sweeps`` gives the sweep and the point of some cells."""
    datasets: dict[str, dict[str, dict[str, Any]]] = {}
    for record in records:
        sweep, point = (sweeps or {}).get(record.name, (None, {}))
        cell = {"name": record.name, "method": record.method, "sweep": sweep, "point": dict(point)}
        datasets.setdefault(record.dataset.name, {})[record.name] = cell
        record.write(folder / record.dataset.name / record.name / f"seed-{record.seed}")
    plan = {
        "format": 1,
        "name": name,
        "description": "Made up",
        "main": main,
        "datasets": {dataset: list(cells.values()) for dataset, cells in datasets.items()},
    }
    (folder / "suite.json").write_text(json.dumps(plan), encoding="utf-8")
    for dataset in datasets:
        text = json.dumps({**STATISTICS, "name": dataset})
        (folder / dataset / "dataset.json").write_text(text, encoding="utf-8")
    return folder


STATISTICS = {
    "checksum": CHECKSUM,
    "n_train": 57,
    "n_test": 29,
    "n_words": 1234,
    "n_labels": 4,
    "labels_per_document": 1.5,
    "documents_per_label": 14.25,
    "words_per_train_document": 10.0,
    "words_per_test_document": 9.5,
    "n_labels_without_train_documents": 0,
}


def comparison_records(dataset: str = "mine") -> list[RunRecord]:
    """Return PIRAN with No-Aug, and HTTN, over three seeds; PIRAN is better."""
    records = []
    for seed in range(3):
        piran = {"P@1": 80.0 + seed, "micro_f1_at_0.5": 70.0 + seed, "tail_f1_at_0.5": 30.0 + seed}
        no_aug = {"P@1": 80.0, "micro_f1_at_0.5": 69.0 + 0.1 * seed, "tail_f1_at_0.5": 10.0}
        httn = {"P@1": 79.0, "micro_f1_at_0.5": 65.0 + 0.5 * seed, "tail_f1_at_0.5": 20.0}
        records += [
            made_record("piran", seed, {"piran": piran, "no-aug": no_aug}, dataset=dataset),
            made_record("httn", seed, {"httn": httn}, dataset=dataset),
        ]
    return records
