"""Time to fit an SVM for each label, relative to scikit-learn's OneVsRestClassifier, in one run.

Both get the same TF-IDF matrix of the embedded debtags corpus, in the float64 that liblinear computes
with, and fit all labels of its training documents; ours also drops small weights and stops at a
tolerance of 1e-3 instead of 1e-4, as the method linear does. Neither includes calibration. Labels are
divided into blocks that both fit in turn, so that a machine that others use slows both alike. Ratios
compare between machines, seconds do not.

    python benchmarks/linear_speed.py --json
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from piran import load_corpus
from piran.encoders.ngrams import NgramVectorizer
from piran.methods.text_svm import SvmSettings
from piran.training.one_vs_rest import fit_one_vs_rest, support_vector_machine
from piran.training.runtime import set_threads
from piran.types import FloatArray, LabelMatrix

BAR = 1.3
"""What a fit may cost at most, in fits of scikit-learn."""
LABELS_AT_ONCE = 44


class Seconds(NamedTuple):
    """What some work took."""

    wall: float
    cpu: float

    def plus(self, other: "Seconds") -> "Seconds":
        """Return the sum of both."""
        return Seconds(self.wall + other.wall, self.cpu + other.cpu)


class Comparison(NamedTuple):
    """Seconds of both for all labels, and how far their margins lie apart."""

    theirs: Seconds
    ours: Seconds
    largest_difference: float


def timed(function: Callable[[], FloatArray]) -> tuple[FloatArray, Seconds]:
    """Return what the function returns, and its time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def fit_theirs(features: csr_array, targets: LabelMatrix) -> FloatArray:
    """Fit with scikit-learn's defaults and return rows with their bias, (n_labels, n_features + 1)."""
    model = OneVsRestClassifier(LinearSVC(random_state=0)).fit(features, targets)
    return np.stack([np.append(svm.coef_[0], svm.intercept_[0]) for svm in model.estimators_])


def fit_ours(features: csr_array, targets: LabelMatrix, tolerance: float) -> FloatArray:
    """Fit as the methods do and return rows with their bias, (n_labels, n_features + 1)."""
    classifier = support_vector_machine(C=1.0, seed=0)
    rows = fit_one_vs_rest(features, targets, classifier, weight_tolerance=tolerance)
    return np.hstack([rows.weights.T.toarray(), rows.bias[:, None]])


def compare(features: csr_array, targets: LabelMatrix, tolerance: float) -> Comparison:
    """Fit the labels in blocks, ours and theirs in turn; skip what neither can learn."""
    n_documents = np.asarray(targets.sum(axis=0))
    usable = np.flatnonzero((n_documents > 0) & (n_documents < targets.shape[0]))
    ours, theirs, largest = Seconds(0, 0), Seconds(0, 0), 0.0
    for first in range(0, len(usable), LABELS_AT_ONCE):
        block = targets[:, usable[first : first + LABELS_AT_ONCE]]
        their_rows, their_time = timed(partial(fit_theirs, features, block))
        our_rows, our_time = timed(partial(fit_ours, features, block, tolerance))
        gap = our_rows - their_rows  # (n_block, n_features + 1)
        largest = max(largest, float(np.abs(features @ gap[:, :-1].T + gap[:, -1]).max()))
        ours, theirs = ours.plus(our_time), theirs.plus(their_time)
    return Comparison(theirs, ours, largest)


def report(comparison: Comparison, n_labels: int) -> dict[str, float]:
    """Return ratios first, then the seconds behind them."""
    ours, theirs = comparison.ours, comparison.theirs
    return {
        "cpu_ratio": ours.cpu / theirs.cpu,
        "wall_ratio": ours.wall / theirs.wall,
        "bar": BAR,
        "largest_margin_difference": comparison.largest_difference,
        "our_cpu_seconds": ours.cpu,
        "their_cpu_seconds": theirs.cpu,
        "our_wall_seconds": ours.wall,
        "their_wall_seconds": theirs.wall,
        "n_labels": n_labels,
    }


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--labels",
        type=int,
        default=None,
        help="fit about so many, spread over all frequencies; all if not given",
    )
    parser.add_argument(
        "--weight-tolerance",
        type=float,
        default=SvmSettings().weight_tolerance,
        help="weights no larger are dropped; 0 keeps all, which shows that margins agree",
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    set_threads(arguments.threads)
    corpus = load_corpus("debtags")
    features = NgramVectorizer().fit_transform(corpus.train.texts).astype(np.float64)
    targets = corpus.label_space().matrix(corpus.train.label_sets)
    if arguments.labels is not None:
        targets = targets[:, :: max(1, targets.shape[1] // arguments.labels)]
    result = report(compare(features, targets, arguments.weight_tolerance), targets.shape[1])
    if arguments.json:
        print(json.dumps(result))
        return
    print(
        f"{result['n_labels']} labels, {features.shape[0]} documents, {features.shape[1]} n-grams"
    )
    for name in ("cpu", "wall"):
        ours, theirs = result[f"our_{name}_seconds"], result[f"their_{name}_seconds"]
        print(
            f"{name:5} {theirs:7.1f} s scikit-learn {ours:7.1f} s ours   ratio {ours / theirs:.2f} "
            f"(at most {BAR:g})"
        )
    print(f"largest difference of a margin: {result['largest_margin_difference']:.1e}")


if __name__ == "__main__":
    main()
