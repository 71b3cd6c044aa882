"""Time to train the preset balanced once texts are encoded, relative to scikit-learn's LinearSVC.

Both learn the training documents of the embedded debtags corpus in one run. Theirs is
OneVsRestClassifier(LinearSVC()) on ready TF-IDF vectors. Ours gets its instances ready made, and then
does all that ``fit`` does: hold out validation documents, fit both stages and the views, weigh and
calibrate them, tune cut-offs, and fit everything again on all documents. Ratios compare between machines,
seconds do not.

    python benchmarks/flagship_speed.py                 # prints, and writes benchmarks/results/
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from piran import PiranClassifier, PiranHead, load_corpus
from piran.encoders.base import Encoder, LabelledTexts
from piran.encoders.hybrid import HybridEncoder
from piran.encoders.instance_cache import instance_cache, user_cache_folder
from piran.encoders.ngrams import NgramVectorizer
from piran.experiments.settings import PRESETS
from piran.training.runtime import set_threads
from piran.types import FloatArray, Texts

BAR = 5.0
"""What training may cost at most, in fits of LinearSVC."""
RESULT = Path(__file__).parent / "results" / "flagship_speed.json"

READY: dict[str, FloatArray] = {}
"""Instances of all texts."""


class ReadyEncoder(Encoder):
    """Looks instances up."""

    name: ClassVar[str] = "ready"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, train: LabelledTexts, validation: LabelledTexts | None = None) -> Self:
        """Learn nothing."""
        self.history_ = []
        return self

    def encode(self, texts: Texts) -> FloatArray:
        """Return what is there already."""
        return np.stack([READY[text] for text in texts])

    @property
    def feature_dim(self) -> int:
        """Numbers in an instance."""
        return len(next(iter(READY.values())))

    def save(self, folder: Path) -> None:
        """Refuse: this is for measuring alone."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Refuse: this is for measuring alone."""
        raise NotImplementedError


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
    with instance_cache(user_cache_folder()):
        encoder = HybridEncoder().fit(train)
        texts = [*train.texts, *labels.texts()]
        READY.update(zip(texts, encoder.encode(texts), strict=True))
    method = PiranClassifier(
        encoder=ReadyEncoder(),
        head=PiranHead(**HybridEncoder.head_settings),
        tail=corpus.tail,
        views=PRESETS["balanced"]["views"],
        references=(),
    )
    theirs = cpu_seconds(lambda: OneVsRestClassifier(LinearSVC()).fit(vectors, train.targets))
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
