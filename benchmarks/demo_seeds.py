"""The demo over several seeds: PIRAN against No-Aug and the two controls on debtags' test documents.

Each seed is one run of what ``piran demo`` runs; settings, weight and cut-off are the same for all
systems of a run. Records go to ``benchmarks/results/demo``; those that exist are not run again.

    python benchmarks/demo_seeds.py --seeds 3 --json
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from piran.cli.demo import demo_method
from piran.data import load_corpus
from piran.experiments.records import RECORD_NAME, RunRecord
from piran.experiments.run import run
from piran.report.summary import ordered_systems

FOLDER = Path(__file__).parent / "results" / "demo"
METRICS = ("P@1", "micro_f1_at_0.5", "macro_f1_at_0.5", "tail_f1_at_0.5", "tail_f1")


def demo_record(seed: int) -> RunRecord:
    """Return the record of one seed, running the demo if there is none yet."""
    folder = FOLDER / f"seed-{seed}"
    if not (folder / RECORD_NAME).is_file():
        with tempfile.TemporaryDirectory() as scratch:
            record = run(load_corpus("debtags"), demo_method(seed), Path(scratch) / "demo")
        record.model_copy(update={"picture": None}).write(folder)
    return RunRecord.read(folder)


def main() -> None:
    """Print the mean over seeds of each system's scores, as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    records = [demo_record(seed) for seed in range(arguments.seeds)]
    means = {
        system: {
            metric: float(np.mean([record.systems[system].metrics[metric] for record in records]))
            for metric in METRICS
        }
        for system in ordered_systems(records[0])
    }
    if arguments.json:
        print(json.dumps(means, indent=1))
        return
    print(f"{'mean of ' + str(len(records)) + ' seeds':18}" + "".join(f"{m:>17}" for m in METRICS))
    for system, scores in means.items():
        print(f"{system:18}" + "".join(f"{scores[metric]:17.2f}" for metric in METRICS))


if __name__ == "__main__":
    main()
