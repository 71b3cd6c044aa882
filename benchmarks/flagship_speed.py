"""Time to train the preset balanced once texts are encoded, relative to scikit-learn's LinearSVC.

Both learn the training documents of the embedded debtags corpus in one run. Theirs is
OneVsRestClassifier(LinearSVC()) on ready TF-IDF vectors. Ours gets its instances ready made, and then
does all that ``fit`` does: fit both stages and the views, and rows again for each fold, weigh and
calibrate them, tune cut-offs, and fit the rows again on all documents. Ratios compare between machines,
seconds do not.

    python benchmarks/flagship_speed.py                 # prints, and writes benchmarks/results/
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from piran import load_corpus
from piran.encoders.base import LabelledTexts
from piran.encoders.instance_cache import instance_cache, user_cache_folder
from piran.encoders.ngrams import NgramVectorizer
from piran.encoders.transformer import TransformerEncoder
from piran.experiments.settings import build_method, resolved_settings
from piran.training.runtime import set_threads

BAR = 5.0
"""What training may cost at most, in fits of LinearSVC."""
SETTINGS: dict[str, Any] = {"references": []}
RESULT = Path(__file__).parent / "results" / "flagship_speed.json"


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds that some work takes in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure() -> dict[str, Any]:
    """Train both and return ratio and seconds."""
    corpus = load_corpus("debtags")
    labels = corpus.label_space()
    train = LabelledTexts(corpus.train.texts, labels.matrix(corpus.train.label_sets))
    vectors = NgramVectorizer().fit_transform(train.texts).astype(np.float64)
    settings = resolved_settings("piran", preset="balanced", encoder=None, assignments=SETTINGS)
    method = build_method("piran", {**settings, "tail": corpus.tail})
    theirs = cpu_seconds(lambda: OneVsRestClassifier(LinearSVC()).fit(vectors, train.targets))
    with instance_cache(user_cache_folder()):
        TransformerEncoder().fit(train).encode([*train.texts, *labels.texts()])  # and kept
        ours = cpu_seconds(
            lambda: method.fit(corpus.train.texts, corpus.train.label_sets, labels=labels)
        )
    return {
        "cpu_ratio": round(ours / theirs, 2),
        "bar": BAR,
        "our_cpu_seconds": round(ours, 1),
        "their_cpu_seconds": round(theirs, 1),
        "n_documents": len(train),
        "n_labels": len(labels),
    }


def main() -> None:
    """Measure, print and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    set_threads(arguments.threads)
    result = {**measure(), "threads": arguments.threads}
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
