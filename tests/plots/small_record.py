"""A run record of six labels, small enough to work out by hand."""

from typing import Any

from piran.experiments.records import (
    DatasetSummary,
    LabelTable,
    RunRecord,
    SystemScores,
    TailPicture,
)


def small_record(**changes: Any) -> RunRecord:
    """Return the record, with some of its fields replaced."""
    fields: dict[str, Any] = {
        "name": "small",
        "created": "2026-01-02T03:04:05+00:00",
        "method": "piran",
        "settings": {},
        "seed": 0,
        "dataset": _dataset(),
        "versions": {},
        "times": {},
        "peak_memory_mb": 1.0,
        "labels": LabelTable(
            names=["a", "b", "c", "d", "e", "f"],
            train_counts=[200_000, 8, 4, 3, 1, 0],
            test_counts=[40, 2, 1, 1, 0, 1],
            groups=["head", "head", "tail", "tail", "tail", "unseen"],
        ),
        "thresholds": {},
        "systems": {
            "piran": _scores([90.0, 60.0, 50.0, 30.0, 20.0, 0.0]),
            "no-aug": _scores([91.0, 60.0, 30.0, 10.0, 0.0, 0.0]),
        },
        "picture": TailPicture(
            label="c",
            prototype=(1.0, 1.0),
            real=[(1.0, 0.5), (1.0, 1.5)],
            generated=[(0.1 * i, 1.0) for i in range(1200)],
            background=[(0.0, 0.0)],
        ),
    }
    return RunRecord(**{**fields, **changes})


def _dataset() -> DatasetSummary:
    return DatasetSummary(
        name="tiny",
        checksum="00",
        n_train=200_000,
        n_validation=0,
        n_test=45,
        n_labels=6,
        n_head_labels=2,
        n_tail_labels=3,
        n_unseen_labels=1,
    )


def _scores(label_f1: list[float]) -> SystemScores:
    half = [value / 2 for value in label_f1]
    return SystemScores.model_validate(
        {"metrics": {}, "label_f1": label_f1, "label_f1_at_half": half}
    )
