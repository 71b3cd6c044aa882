"""Peak memory and time of stage 2 at the size of a large label set, beside what materialising would cost.

The paper sums over every (tail label, head label, pair). Stage 2 learns W from d × d moments and
generates for a few tail labels at a time, so its memory grows with the sum of these counts and not
with their product. Instances are synthetic and of length one, as those of the TF-IDF encoder are;
stage 1 is left out: its rows are zeros with the labels' log-odds as bias. Memory depends on the counts
alone, time also on how hard the rows are to fit: instances of all lengths, with rows and bias at zero,
took nine times as long.

    python benchmarks/stage2_memory.py --json
"""

import argparse
import json
import resource
import sys
import time
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from piran import PiranHead
from piran.rows import LinearRows
from piran.training.runtime import set_threads
from piran.types import FloatArray, LabelMatrix

MIB = 2**20
TAIL_DOCUMENTS, HEAD_DOCUMENTS = 4, 60
"""Mean number of documents of a tail label and of a head label."""


class Figures(NamedTuple):
    """What was run, what it took, and what the literal sum would have taken."""

    n_documents: int
    n_tail: int
    n_head: int
    n_pairs: int
    n_generated: int
    feature_dim: int
    threads: int
    seconds: float
    cpu_seconds: float
    before_mib: float
    """Peak memory of the process before stage 2: Python, its libraries and the data."""
    peak_mib: float
    """Peak memory of the process after stage 2."""
    stage2_mib: float
    """The difference of the two."""
    materialised_mib: float
    """n_tail · n_head · n_pairs instances in float32."""


def synthetic_documents(
    n_documents: int, n_head: int, n_tail: int, feature_dim: int
) -> tuple[FloatArray, LabelMatrix]:
    """Draw instances around the centres of their labels, tail labels with 1 to 7 documents."""
    random = np.random.default_rng(0)
    n_tail_documents = random.integers(1, 2 * TAIL_DOCUMENTS, n_tail)
    n_own = np.concatenate([np.full(n_head, HEAD_DOCUMENTS), n_tail_documents])
    documents = np.concatenate(
        [random.choice(n_documents, count, replace=False) for count in n_own]
    )
    labels = np.repeat(np.arange(n_head + n_tail), n_own)
    ones = np.ones(len(labels), dtype=np.float32)
    targets = csr_array((ones, (documents, labels)), shape=(n_documents, n_head + n_tail))
    centres = random.normal(size=(n_head + n_tail, feature_dim)).astype(np.float32)
    noise = random.normal(size=(n_documents, feature_dim)).astype(np.float32)
    instances = np.asarray(targets @ centres) + noise
    return instances / np.linalg.norm(instances, axis=1, keepdims=True), targets


def prior_rows(targets: LabelMatrix, feature_dim: int) -> LinearRows:
    """Return rows that know nothing but how frequent each label is."""
    share = np.asarray(targets.mean(axis=0))
    rows = np.zeros((len(share), feature_dim), dtype=np.float32)
    return LinearRows(rows, np.log(share / (1 - share)).astype(np.float32))


def peak_mib() -> float:
    """Return the most memory the process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak / 1024  # bytes there, KiB elsewhere


def measure(arguments: argparse.Namespace) -> Figures:
    """Run stage 2 on rows that stand in for stage 1."""
    n_tail, n_head, feature_dim = arguments.tail, arguments.head, arguments.features
    instances, targets = synthetic_documents(arguments.documents, n_head, n_tail, feature_dim)
    rows = prior_rows(targets, feature_dim)
    head = PiranHead(n_pairs=arguments.pairs, n_generated=arguments.generated)
    is_tail = np.arange(n_head + n_tail) >= n_head
    before = peak_mib()
    start, cpu_start = time.perf_counter(), time.process_time()
    head.fit(instances, targets, stage1_rows=rows, is_tail=is_tail)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    after = peak_mib()
    return Figures(
        n_documents=arguments.documents,
        n_tail=n_tail,
        n_head=n_head,
        n_pairs=arguments.pairs,
        n_generated=arguments.generated,
        feature_dim=feature_dim,
        threads=arguments.threads,
        seconds=round(seconds, 1),
        cpu_seconds=round(cpu_seconds, 1),
        before_mib=round(before, 1),
        peak_mib=round(after, 1),
        stage2_mib=round(after - before, 1),
        materialised_mib=round(n_tail * n_head * arguments.pairs * feature_dim * 4 / MIB, 1),
    )


def main() -> None:
    """Print the figures of one run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--tail", type=int, default=5_000, help="tail labels")
    parser.add_argument("--head", type=int, default=1_000, help="head labels")
    parser.add_argument("--pairs", type=int, default=100, help="relations of each head label")
    parser.add_argument("--generated", type=int, default=50, help="instances of each tail label")
    parser.add_argument("--features", type=int, default=100, help="numbers in an instance")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    set_threads(arguments.threads)
    figures = measure(arguments)
    if arguments.json:
        print(json.dumps(figures._asdict()))
        return
    print(
        f"stage 2 of {figures.n_tail} tail x {figures.n_head} head labels x {figures.n_pairs} pairs, "
        f"{figures.n_documents} documents, {figures.feature_dim} features"
    )
    print(f"time          {figures.seconds:10.1f} s   ({figures.cpu_seconds:.1f} CPU-seconds)")
    print(f"memory before {figures.before_mib:10.1f} MiB (Python, libraries, data)")
    print(f"memory added  {figures.stage2_mib:10.1f} MiB")
    print(
        f"materialised  {figures.materialised_mib:10.1f} MiB (every instance the paper sums over)"
    )


if __name__ == "__main__":
    main()
