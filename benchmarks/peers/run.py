"""Run the tools that people would pick instead of piran, on the same documents, and judge them alike.

Every peer learns in an environment of its own, which is made when it is first needed. It is fitted
without the validation documents to choose cut-offs (and settings, where it has several), then again on
all training documents, as piran's methods are. One JSON record for each peer and dataset is written; a
record that exists is not made again.

    python benchmarks/peers/run.py --data debtags --data FOLDER/reuters90
    python benchmarks/peers/run.py --data FOLDER/eurlex57k --only pecos --only omikuji --usual
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from catalogue import PEERS, Entry, Settings
from contract import EVERY_LABEL, REPORT_FILE, Task, load_scores
from documents import FIT, REFIT, TEST, VALIDATION, Divided, VectorTime, divide, write_inputs
from environments import EnvironmentFailedError, python_of
from judging import best_micro_f1, judged, tuned, without_unseen
from tables import dataset_tables

from piran import load_corpus
from piran.data import Corpus
from piran.metrics import Thresholds
from piran.storage import write_text_atomically
from piran.types import FloatArray

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "peers"
CACHE = ROOT / "runs" / "peers"
LAST_LINES = 5


class PeerFailedError(Exception):
    """A peer's process ended without scores; the message holds its last words."""


@dataclass(frozen=True, eq=False)
class Bench:
    """One corpus, ready for the peers."""

    corpus: Corpus
    divided: Divided
    vectors: dict[str, VectorTime]
    folder: Path
    """Holds the documents that the peers read."""
    seed: int
    threads: int

    @classmethod
    def of(cls, corpus: Corpus, *, cache: Path, seed: int, threads: int) -> "Bench":
        """Divide the corpus and write the peers' documents."""
        divided = divide(corpus, seed)
        folder = cache / "documents" / f"{corpus.name}-{corpus.checksum()[:12]}-{seed}"
        return cls(corpus, divided, write_inputs(divided, folder), folder, seed, threads)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one process of a peer gave."""

    settings: Settings
    scores: dict[str, FloatArray]
    """By part, in [0, 1], (n_documents, n_labels)."""
    report: dict[str, Any]

    def costs(self) -> dict[str, float]:
        """Return times and memory."""
        names = ("seconds", "cpu_seconds", "scoring_seconds", "peak_memory_mb")
        return {name: self.report[name] for name in names}


@dataclass(frozen=True, eq=False)
class Choice:
    """The settings that validation documents chose, and how the others did."""

    outcome: Outcome
    policies: dict[str, Thresholds]
    tried: list[dict[str, Any]]


def run_peer(entry: Entry, bench: Bench, *, cache: Path, is_usual: bool) -> dict[str, Any]:
    """Fit, choose, fit again on all training documents and return the record."""
    work = cache / "work" / f"{bench.corpus.name}-{entry.name}-{bench.seed}"
    shutil.rmtree(work, ignore_errors=True)
    python = python_of(entry.environment, cache)
    choice = _chosen(entry, bench, python, work, entry.choices[: 1 if is_usual else None])
    final = _process(entry, bench, REFIT, choice.outcome.settings, python, work / REFIT)
    shutil.rmtree(work)
    return _record(entry, bench, choice, final)


def _chosen(
    entry: Entry, bench: Bench, python: Path, work: Path, choices: Sequence[Settings]
) -> Choice:
    """Fit with all choices of settings and take the one with the best micro-F1 on validation."""
    divided = bench.divided
    best, best_f1, tried = None, -1.0, []
    for number, settings in enumerate(choices):
        outcome = _process(entry, bench, FIT, settings, python, work / f"{FIT}-{number}")
        scores = outcome.scores[VALIDATION]
        policies = tuned(divided.validation_targets, scores, divided.labels)
        reached = best_micro_f1(divided.validation_targets, scores, policies["global"])
        tried.append(
            {
                "settings": dict(settings),
                "validation_micro_f1": round(reached, 4),
                "seconds": outcome.report["seconds"],
            }
        )
        if reached > best_f1:
            best, best_f1 = (outcome, policies), reached
    assert best is not None  # every peer has settings
    return Choice(*best, tried)


def _process(
    entry: Entry, bench: Bench, phase: str, settings: Settings, python: Path, out: Path
) -> Outcome:
    """Let the peer learn and score in a process of its own."""
    is_fit = phase == FIT
    task = Task(
        data=str((bench.folder / phase).resolve()),
        out=str(out.resolve()),
        n_labels=len(bench.divided.labels),
        parts=(VALIDATION, TEST) if is_fit else (TEST,),
        settings=settings,
        seed=bench.seed,
        threads=bench.threads,
    )
    script = Path(__file__).parent / entry.script
    done = subprocess.run(
        [str(python), str(script), str(task.save())],
        capture_output=True,
        text=True,
        check=False,
        env=_environment(bench.threads),
    )
    if done.returncode != 0:
        words = "\n".join(done.stderr.strip().splitlines()[-LAST_LINES:])
        raise PeerFailedError(f"{entry.name} ended with code {done.returncode}:\n{words}")
    report = json.loads((out / REPORT_FILE).read_text(encoding="utf-8"))
    targets = bench.divided.train_targets if is_fit else bench.divided.all_targets
    scores = {
        part: without_unseen(load_scores(out, part, report["kind"]), targets) for part in task.parts
    }
    return Outcome(settings, scores, report)


def _environment(threads: int) -> dict[str, str]:
    """Return the variables of a peer's process, without those that lead to our own packages."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}


def _record(entry: Entry, bench: Bench, choice: Choice, final: Outcome) -> dict[str, Any]:
    divided, corpus = bench.divided, bench.corpus
    n_train = len(corpus.train)

    def judge(scores: FloatArray, rows: Sequence[int] | None = None) -> dict[str, dict[str, float]]:
        targets = divided.test_targets if rows is None else divided.test_targets[list(rows)]
        chosen = scores if rows is None else scores[list(rows)]
        return judged(divided.labels, targets, chosen, choice.policies, n_train_documents=n_train)

    test = final.scores[TEST]
    return {
        "peer": entry.name,
        "title": entry.title,
        "dataset": corpus.name,
        "checksum": corpus.checksum(),
        "seed": bench.seed,
        "versions": {
            "python": sys.version.split()[0],
            **final.report["versions"],
            "piran": version("piran"),
        },
        "settings": dict(choice.outcome.settings),
        "tried": choice.tried,
        "threads": bench.threads,
        "labels_scored": "all" if len(divided.labels) <= EVERY_LABEL else "the 100 best",
        "sizes": {
            "train": len(divided.train),
            "validation": len(divided.validation),
            "test": len(divided.test),
            "labels": len(divided.labels),
            "tail_labels": int(divided.labels.is_tail.sum()),
            "ngrams": bench.vectors[REFIT].n_ngrams,
        },
        "vector_seconds": {phase: taken.seconds for phase, taken in bench.vectors.items()},
        "fit": choice.outcome.costs(),
        "refit": final.costs(),
        "cut_offs": {policy: found.summary() for policy, found in choice.policies.items()},
        "metrics": judge(test),
        "subsets": {name: judge(test, rows) for name, rows in corpus.test_subsets.items()},
        "metrics_without_refit": judge(choice.outcome.scores[TEST]),
    }


def record_file(out: Path, dataset: str, peer: str, seed: int) -> Path:
    """Return where the record of a peer stands; the first seed has no mark."""
    return out / dataset / (f"{peer}.json" if seed == 0 else f"{peer}-seed-{seed}.json")


def run_dataset(name: str, arguments: argparse.Namespace) -> bool:
    """Run the peers that have no record of this dataset; return whether all went well."""
    corpus = load_corpus(name)
    out, is_good = Path(arguments.out), True
    bench: Bench | None = None
    for entry in PEERS:
        path = record_file(out, corpus.name, entry.name, arguments.seed)
        is_wanted = entry.name in arguments.only if arguments.only else True
        if not is_wanted or (path.exists() and not arguments.again):
            continue
        bench = bench or Bench.of(
            corpus, cache=arguments.cache, seed=arguments.seed, threads=arguments.threads
        )
        if len(bench.divided.labels) > EVERY_LABEL and not entry.is_for_many_labels:
            print(f"{corpus.name} {entry.name}: left out, too many labels", file=sys.stderr)
            continue
        is_good &= _run_and_write(entry, bench, path, arguments)
    print(dataset_tables(out / corpus.name))
    return is_good


def _run_and_write(entry: Entry, bench: Bench, path: Path, arguments: argparse.Namespace) -> bool:
    where, start = f"{bench.corpus.name} {entry.name}", time.perf_counter()
    print(f"{where}: running", file=sys.stderr, flush=True)
    try:
        record = run_peer(entry, bench, cache=arguments.cache, is_usual=arguments.usual)
    except (PeerFailedError, EnvironmentFailedError) as error:
        print(f"{where}: failed. {error}", file=sys.stderr, flush=True)
        return False
    write_text_atomically(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    taken = time.perf_counter() - start
    print(f"{where}: done in {taken:.0f} s", file=sys.stderr, flush=True)
    return True


def main() -> None:
    """Run the peers on each corpus and print its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [entry.name for entry in PEERS]
    parser.add_argument(
        "--data", action="append", required=True, help="a corpus, as for piran train"
    )
    parser.add_argument("--only", action="append", choices=names, help="run these peers alone")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where records are kept")
    parser.add_argument("--cache", type=Path, default=CACHE, help="environments and vectors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="threads that a peer may use")
    parser.add_argument("--usual", action="store_true", help="take each peer's usual settings")
    parser.add_argument("--again", action="store_true", help="run also where a record exists")
    arguments = parser.parse_args()
    went_well = [run_dataset(name, arguments) for name in arguments.data]
    sys.exit(0 if all(went_well) else 1)


if __name__ == "__main__":
    main()
