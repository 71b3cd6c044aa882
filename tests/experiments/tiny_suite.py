"""A corpus and a suite that run in a moment."""

import random
from pathlib import Path

from piran.data import Documents, write_documents
from piran.experiments.cells import DataSource
from piran.experiments.config import Suite, read_suite
from piran.experiments.suite import Plan, plan_suite

WORDS = {
    "fruit": ["apple", "pear", "plum", "cherry", "grape", "melon"],
    "tool": ["hammer", "saw", "drill", "wrench", "pliers", "file"],
    "game": ["chess", "poker", "bridge", "rugby", "golf", "darts"],
    "music": ["violin", "drum", "flute", "piano", "harp", "horn"],
    "sea": ["wave", "tide", "shore", "reef"],
    "sky": ["cloud", "star", "moon", "comet"],
}
SHARES = {"fruit": 0.5, "tool": 0.4, "game": 0.3, "music": 0.25, "sea": 0.08, "sky": 0.06}

SUITE = """
description = "Two cells and a sweep"
data = ["mine"]
seeds = 2

[settings]
tail = 2

[[cells]]
method = "piran"
settings = { encoder = "tfidf", n_components = 6, n_generated = 5, references = ["no-aug"] }

[[cells]]
method = "piran"
name = "plain"
settings = { encoder = "tfidf", n_components = 6, variant = "no-aug", references = [] }

[[sweeps]]
name = "generations"
cell = "piran"
vary = { n_generated = [2, 4] }
settings = { references = [] }
seeds = 1
"""


def tiny_documents(n_documents: int, seed: int) -> Documents:
    """Return documents whose words tell their labels."""
    draw = random.Random(seed)
    texts, label_sets = [], []
    for number in range(n_documents):
        labels = [label for label, share in SHARES.items() if draw.random() < share]
        labels = labels or [list(SHARES)[number % len(SHARES)]]
        words = [draw.choice(WORDS[label]) for label in labels for _ in range(3)]
        texts.append(" ".join(words))
        label_sets.append(tuple(labels))
    return Documents(texts, label_sets)


def write_corpus_files(folder: Path, n_train: int = 60) -> Path:
    """Write a small corpus and return its folder."""
    write_documents(tiny_documents(n_train, 0), folder / "train.jsonl")
    write_documents(tiny_documents(30, 1), folder / "test.jsonl")
    return folder


def write_suite(folder: Path, text: str = SUITE) -> Path:
    """Write the suite file and return its path."""
    path = folder / "tiny.toml"
    path.write_text(text, encoding="utf-8")
    return path


def tiny_suite(folder: Path, text: str = SUITE) -> Suite:
    """Return the suite as read from its file."""
    return read_suite(write_suite(folder, text))


def tiny_plan(folder: Path, text: str = SUITE, *, seeds: int | None = None) -> Plan:
    """Plan the suite on the small corpus; records go to ``folder / "runs"``."""
    data = folder / "mine"
    if not data.is_dir():
        write_corpus_files(data)
    suite = tiny_suite(folder, text)
    return plan_suite(suite, folder / "runs", sources=[DataSource(str(data))], seeds=seeds)
