"""A suite and its corpus as files, for tests of processes."""

import json
from pathlib import Path

from piran.experiments.records import RunRecord

SUITE = """
data = ["mine"]

[[cells]]
method = "piran"
settings = { encoder = "tfidf", n_components = 4, min_documents = 1, tail = 1, n_generated = 20 }

[[cells]]
method = "piran"
name = "plain"
settings = { encoder = "tfidf", n_components = 4, min_documents = 1, tail = 1, variant = "no-aug" }
"""
SLOW_SUITE = """
seeds = 60
data = ["mine"]

[[cells]]
method = "piran"
settings = { encoder = "tfidf", min_documents = 1, tail = 1, n_generated = 20, solver = "adam" }
"""
TEXTS = ("apple pear", "apple plum", "pear cherry", "hammer saw", "hammer nail", "saw apple")
LABELS = (["fruit"], ["fruit"], ["fruit", "red"], ["tool"], ["tool"], ["tool", "fruit"])


def write_everything(folder: Path, suite: str = SUITE) -> Path:
    """Write the corpus to ``folder / "mine"`` and the suite beside it; return the suite's path."""
    (folder / "mine").mkdir(parents=True)
    rows = [
        json.dumps({"text": f"{text} {number}", "labels": labels})
        for number in range(4)
        for text, labels in zip(TEXTS, LABELS, strict=True)
    ]
    for split in ("train", "test"):
        (folder / "mine" / f"{split}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    path = folder / "small.toml"
    path.write_text(suite, encoding="utf-8")
    return path


def records_in(folder: Path) -> dict[Path, RunRecord]:
    """Return all records of a suite by their place in its folder."""
    return {path.relative_to(folder): RunRecord.read(path) for path in folder.rglob("record.json")}
