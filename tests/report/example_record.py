"""A made-up run record that looks like a real one."""

from typing import Any

import numpy as np

from piran.experiments.records import (
    DatasetSummary,
    Group,
    LabelTable,
    RunRecord,
    SystemScores,
    TailPicture,
)
from piran.types import FloatArray, IntArray

N_LABELS, N_TAIL, N_UNSEEN = 240, 157, 4
HOSTILE = "<script>alert('tail')</script> & $x_1$"
SYSTEMS = {"no-aug": 0.0, "retrain-on-real": 1.2, "duplicate-prototype": 2.0, "piran": 6.5}


def example_record(**changes: Any) -> RunRecord:
    """Return the record, with some of its fields replaced."""
    random = np.random.default_rng(11)
    counts = np.sort(np.maximum(1, (900 / np.arange(1, N_LABELS + 1) ** 1.05)).astype(int))[::-1]
    counts[-N_UNSEEN:] = 0
    labels = example_labels(counts, random)
    label_f1 = 70 * (1 - np.exp(-counts / 25)) + random.normal(0, 6, N_LABELS) + 8
    systems = {
        name: example_scores(gain, label_f1, counts, random) for name, gain in SYSTEMS.items()
    }
    fields: dict[str, Any] = {
        "name": "demo",
        "created": "2026-01-02T03:04:05+00:00",
        "method": "piran",
        "settings": {
            "encoder": "tfidf",
            "diversity_weight": 0.1,
            "n_pairs": 1200,
            "tail": None,
            "references": [],
        },
        "seed": 1,
        "dataset": example_dataset(),
        "versions": {"python": "3.11.7", "piran": "0.1.0", "torch": "2.13.0", "numpy": "2.4.6"},
        "times": {
            "encode": 3.21,
            "stage_1": 21.4,
            "stage_1_cpu": 20.9,
            "generate": 0.08,
            "predict": 1,
        },
        "peak_memory_mb": 812.4,
        "history": [
            {"epoch": float(epoch), "loss": 0.3 / epoch + 0.02, "score": 62 - 40 / epoch}
            for epoch in range(1, 9)
        ],
        "epochs_run": 8,
        "stop_reason": "no better score for 3 epochs",
        "labels": labels,
        "thresholds": {"policy": "groups", "lowest": 0.21, "median": 0.34, "highest": 0.41},
        "systems": systems,
        "picture": example_picture(random),
    }
    return RunRecord(**{**fields, **changes})


def example_labels(counts: IntArray, random: np.random.Generator) -> LabelTable:
    facets = ["use", "role", "interface", "works-with", "implemented-in", "field"]
    words = [
        "editing",
        "biology",
        "python",
        "network",
        "music",
        "3d-model",
        "font",
        "chat",
        "debugger",
    ]
    names = [f"{facets[i % 6]}::{words[i % 9]}-{i}" for i in range(N_LABELS)]
    names[200] = HOSTILE
    head = N_LABELS - N_TAIL - N_UNSEEN
    groups: list[Group] = ["head"] * head + ["tail"] * N_TAIL + ["unseen"] * N_UNSEEN  # type: ignore[assignment]
    return LabelTable(
        names=names,
        train_counts=counts.tolist(),
        test_counts=np.maximum(random.poisson(counts / 4), counts > 2).tolist(),
        groups=groups,
    )


def example_scores(
    gain: float, label_f1: FloatArray, counts: IntArray, random: np.random.Generator
) -> SystemScores:
    rarity = np.exp(-counts / 30)
    f1 = np.clip(label_f1 + rarity * (gain + gain * random.normal(0, 1.5, N_LABELS)), 0, 100)
    f1[200] = 2 + 9 * gain
    f1[counts == 0] = 0
    half = np.clip(f1 * 0.8 - 3, 0, 100)
    metrics = {"P@1": 88.2 + 0.01 * gain, "P@3": 74.0, "P@5": 65.3 - 0.02 * gain, "nDCG@5": 73.6}
    for suffix, values in (("", f1), ("_at_0.5", half)):
        metrics |= {
            f"micro_f1{suffix}": 62.9 + gain / 10,
            f"macro_f1{suffix}": float(values.mean()),
            f"head_f1{suffix}": float(values[: N_LABELS - N_TAIL - N_UNSEEN].mean()),
            f"tail_f1{suffix}": float(values[-N_TAIL - N_UNSEEN : -N_UNSEEN].mean()),
        }
    by_label = {"label_f1": f1.tolist(), "label_f1_at_half": half.tolist()}
    return SystemScores.model_validate({"metrics": metrics, **by_label})


def example_dataset() -> DatasetSummary:
    return DatasetSummary(
        name="debtags",
        checksum="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        n_train=8089,
        n_validation=899,
        n_test=2206,
        n_labels=N_LABELS,
        n_head_labels=N_LABELS - N_TAIL - N_UNSEEN,
        n_tail_labels=N_TAIL,
        n_unseen_labels=N_UNSEEN,
    )


def example_picture(random: np.random.Generator) -> TailPicture:
    def cloud(n_points: int, x: float, y: float, spread: float) -> list[tuple[float, float]]:
        points = random.normal((x, y), spread, (n_points, 2)).round(3)
        return [(float(first), float(second)) for first, second in points]

    return TailPicture(
        label=HOSTILE,
        prototype=(2.1, 1.0),
        real=cloud(3, 2.1, 1.0, 0.35),
        generated=cloud(1200, 2.1, 1.0, 0.6),
        background=cloud(800, 0.0, 0.0, 1.3),
        held_out=cloud(5, 2.3, 1.2, 0.5),
    )
