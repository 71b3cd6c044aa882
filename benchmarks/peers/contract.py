"""What the driver hands to a peer and what the peer hands back: files that both sides can read.

A peer runs in an environment of its own, so this module needs numpy and scipy alone. A task names a
folder with one set of documents to learn from and the sets to score; vectors are TF-IDF of words and
word pairs, texts are tokens between spaces, one document a line.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, load_npz, save_npz

Input = TypeVar("Input")
Model = TypeVar("Model")
Scores = Any
"""Shape (n_documents, n_labels): an array, or a sparse matrix of the scores of the best labels."""
ScoreKind = Literal["margin", "probability"]

TRAIN = "train"
TASK_FILE, REPORT_FILE = "task.json", "report.json"
EVERY_LABEL = 1000
"""With so many labels or fewer, a peer is asked for all scores."""
MANY_LABELS_TOP, MANY_LABELS_BEAM = 100, 50


@dataclass(frozen=True)
class Task:
    """One model to learn and the documents to score with it."""

    data: str
    """The folder of the documents."""
    out: str
    """The folder for scores and report."""
    n_labels: int
    parts: tuple[str, ...]
    """Names of the documents to score."""
    settings: Mapping[str, Any]
    seed: int
    threads: int

    @property
    def top_k(self) -> int:
        """How many labels a peer that ranks is to score for each document."""
        return self.n_labels if self.n_labels <= EVERY_LABEL else MANY_LABELS_TOP

    @property
    def beam_size(self) -> int:
        """How many nodes of a tree a search is to keep at each level."""
        return self.n_labels if self.n_labels <= EVERY_LABEL else MANY_LABELS_BEAM

    def vectors(self, part: str) -> csr_matrix:
        """Return the vectors of a part, float32, (n_documents, n_ngrams)."""
        return csr_matrix(load_npz(vector_file(Path(self.data), part)))

    def targets(self) -> csr_matrix:
        """Return the labels of the training documents, float32, (n_documents, n_labels)."""
        return csr_matrix(load_npz(target_file(Path(self.data))))

    def texts(self, part: str) -> list[str]:
        """Return the texts of a part."""
        return text_file(Path(self.data), part).read_text(encoding="utf-8").split("\n")[:-1]

    def save(self) -> Path:
        """Write the task into its own folder and return the file."""
        path = Path(self.out) / TASK_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> "Task":
        """Read what :meth:`save` wrote."""
        state = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**state, "parts": tuple(state["parts"])})


@dataclass(frozen=True)
class Peer(Generic[Input, Model]):
    """How a peer reads, learns and scores; only learning is timed as training."""

    prepare: Callable[[Task], Input]
    """Read the training documents and bring them into the peer's own form."""
    train: Callable[[Task, Input], Model]
    score: Callable[[Task, Model, str], Scores]
    """Score one part."""
    kind: ScoreKind
    """A margin is cut at 0 by default, a probability at 0.5."""
    packages: Sequence[str]
    """Packages whose versions matter."""

    def main(self) -> None:
        """Do the task whose file is the script's argument."""
        task = Task.load(Path(sys.argv[1]))
        given = self.prepare(task)
        wall, cpu = time.perf_counter(), time.process_time()
        model = self.train(task, given)
        report = {
            "seconds": round(time.perf_counter() - wall, 2),
            "cpu_seconds": round(time.process_time() - cpu, 2),
        }
        wall = time.perf_counter()
        for part in task.parts:
            save_scores(Path(task.out), part, self.score(task, model, part))
        report["scoring_seconds"] = round(time.perf_counter() - wall, 2)
        report["peak_memory_mb"] = peak_memory_mb()
        versions = {name: version(name) for name in (*self.packages, "numpy", "scipy")}
        about = {**report, "kind": self.kind, "versions": versions}
        (Path(task.out) / REPORT_FILE).write_text(json.dumps(about), encoding="utf-8")
        sys.stdout.flush()
        os._exit(0)  # some peers' libraries crash while Python takes them down


def vector_file(folder: Path, part: str) -> Path:
    """Return where the vectors of a part stand."""
    return folder / f"{part}.vectors.npz"


def text_file(folder: Path, part: str) -> Path:
    """Return where the texts of a part stand."""
    return folder / f"{part}.txt"


def target_file(folder: Path) -> Path:
    """Return where the labels of the training documents stand."""
    return folder / "targets.npz"


def save_scores(folder: Path, part: str, scores: Scores) -> None:
    """Write scores, sparse or dense, as float32."""
    if isinstance(scores, np.ndarray):
        np.save(folder / f"{part}.scores.npy", scores.astype(np.float32))
    else:
        save_npz(folder / f"{part}.scores.npz", csr_matrix(scores).astype(np.float32))


def load_scores(folder: Path, part: str, kind: ScoreKind) -> NDArray[np.float64]:
    """Read scores and map them to [0, 1] without changing their order, (n_documents, n_labels).

    A label that a sparse matrix does not hold was not among the peer's best and has the score 0.
    """
    sparse_file = folder / f"{part}.scores.npz"
    if sparse_file.exists():
        found = csr_matrix(load_npz(sparse_file))
        found.data = unit_scores(found.data, kind)
        return np.asarray(found.toarray(), dtype=np.float64)
    return unit_scores(np.load(folder / f"{part}.scores.npy"), kind)


def unit_scores(scores: NDArray[Any], kind: ScoreKind) -> NDArray[np.float64]:
    """Map margins through the logistic function and leave probabilities; the default becomes 0.5.

    In float64, where margins that differ in float32 stay apart.
    """
    exact = scores.astype(np.float64)
    if kind == "probability":
        return np.clip(exact, 0.0, 1.0)
    return np.asarray(1.0 / (1.0 + np.exp(-exact)))


def ranked_matrix(ranked: Sequence[Sequence[tuple[int, float]]], n_labels: int) -> csr_matrix:
    """Return lists of (label, score) as a sparse matrix, (n_documents, n_labels)."""
    starts = np.cumsum([0, *(len(pairs) for pairs in ranked)])
    columns = np.array([label for pairs in ranked for label, _ in pairs], dtype=np.int64)
    values = np.array([score for pairs in ranked for _, score in pairs], dtype=np.float32)
    return csr_matrix((values, columns, starts), shape=(len(ranked), n_labels))


def peak_memory_mb() -> float:
    """Return the most memory this process has held, its data and libraries included."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 1024), 1)
