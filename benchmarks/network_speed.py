"""Cost of an epoch of AttentionXML and XML-CNN, relative to the paper's extractor, in one run.

All train with their default settings on the same documents: those of a dataset, evenly chosen from its
training documents, or synthetic ones shaped like those of Reuters-90: about 130 words, 90 labels, word
frequencies that fall as 1/rank. CPU seconds of training steps count; learning the vocabulary and scoring
validation documents do not. Ratios compare between machines, seconds do not.

    python benchmarks/network_speed.py --data path/to/reuters90 --json
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from piran import load_corpus
from piran.data.corpus import Documents
from piran.data.labels import LabelSpace
from piran.encoders.base import LabelledTexts
from piran.encoders.bilstm import BiLstmEncoder
from piran.methods.attention_xml import AttentionXml
from piran.methods.xml_cnn import XmlCnn
from piran.progress import watched_by
from piran.training.runtime import set_threads
from piran.types import LabelSet

REFERENCE = "bilstm"
BARS = {"xml-cnn": 1.0, "attention-xml": 4.0}
"""What an epoch may cost at most, in epochs of the reference."""
N_LABELS, N_WORDS, MEAN_LENGTH = 90, 20_000, 130


class Network(NamedTuple):
    """A network that can be trained."""

    batch_size: int
    fit: Callable[[int], object]
    """Trains for so many epochs."""


class Cost(NamedTuple):
    """What an epoch of one network costs."""

    name: str
    cpu_seconds: float
    ratio: float
    bar: float | None


class StepClock:
    """A watcher of progress that adds up the CPU time of the steps of each epoch."""

    def __init__(self, steps_an_epoch: int) -> None:
        self.steps_an_epoch = steps_an_epoch
        self.steps: list[float] = []
        self._training: int | None = None
        self._n_tasks = 0
        self._since = 0.0

    def start(self, description: str, total: int | None) -> int:
        """Begin a task; only training is timed."""
        self._n_tasks += 1
        if description == "Training":
            self._training = self._n_tasks
        self._since = time.process_time()
        return self._n_tasks

    def advance(self, task: int, steps: int) -> None:
        """End a step of training."""
        if task == self._training:
            self.steps.append(time.process_time() - self._since)
            self._since = time.process_time()

    def describe(self, task: int, description: str) -> None:
        """Take no notice of what a task is at."""

    def finish(self, task: int) -> None:
        """End a task; what was in between is no part of the next step."""
        self._since = time.process_time()

    def best_epoch(self) -> float:
        """Return the CPU seconds of the fastest epoch but the first, which is a warm-up."""
        epochs = np.reshape(self.steps, (-1, self.steps_an_epoch)).sum(axis=1)
        return float(epochs[1:].min())


def synthetic_documents(n_documents: int, seed: int) -> Documents:
    """Return documents with the shape of Reuters-90; what they say does not matter for speed."""
    generator = np.random.default_rng(seed)
    words = np.array([_spelling(number) for number in range(N_WORDS)])
    frequencies = 1 / np.arange(1, N_WORDS + 1)
    lengths = generator.gamma(2.0, MEAN_LENGTH / 2, n_documents).astype(int).clip(5, 500)
    texts = [
        " ".join(generator.choice(words, size=length, p=frequencies / frequencies.sum()))
        for length in lengths
    ]
    label_sets: list[LabelSet] = [
        (f"label {generator.integers(N_LABELS)}",) for _ in range(n_documents)
    ]
    return Documents(texts, label_sets)


def chosen_documents(data: str, n_documents: int) -> Documents:
    """Return so many training documents of a dataset, evenly chosen."""
    train = load_corpus(data).train
    chosen = np.linspace(0, len(train) - 1, min(n_documents, len(train))).astype(int).tolist()
    return Documents(
        [train.texts[row] for row in chosen], [train.label_sets[row] for row in chosen]
    )


def _spelling(number: int) -> str:
    letters = ""
    while number or not letters:
        number, letter = divmod(number, 26)
        letters += chr(ord("a") + letter)
    return letters + "x"


def networks(documents: Documents) -> dict[str, Network]:
    """Return the networks, each with what trains it on these documents."""
    held_out = Documents(documents.texts[:16], documents.label_sets[:16])
    labels = LabelSpace.from_label_sets(documents.label_sets)
    train, validation = (
        LabelledTexts(some.texts, labels.matrix(some.label_sets)) for some in (documents, held_out)
    )

    def method(kind: type[XmlCnn] | type[AttentionXml]) -> Network:
        def fit(n_epochs: int) -> object:
            return kind(max_epochs=n_epochs, patience=n_epochs).fit(
                documents.texts, documents.label_sets, validation=held_out, labels=labels
            )

        return Network(kind().batch_size, fit)

    def extractor(n_epochs: int) -> object:
        return BiLstmEncoder(max_epochs=n_epochs, patience=n_epochs).fit(train, validation)

    return {
        REFERENCE: Network(BiLstmEncoder().batch_size, extractor),
        "xml-cnn": method(XmlCnn),
        "attention-xml": method(AttentionXml),
    }


def epoch_cost(network: Network, n_documents: int, n_epochs: int) -> float:
    """Return the CPU seconds of the fastest epoch."""
    clock = StepClock(steps_an_epoch=-(-n_documents // network.batch_size))
    with watched_by(clock):
        network.fit(n_epochs + 1)
    return clock.best_epoch()


def main() -> None:
    """Print a line for each network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", help="name or folder of a dataset; else documents are synthetic")
    parser.add_argument("--documents", type=int, default=320)
    parser.add_argument("--epochs", type=int, default=3, help="of each; the fastest counts")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    set_threads(arguments.threads)
    if arguments.data is None:
        documents = synthetic_documents(arguments.documents, seed=0)
    else:
        documents = chosen_documents(arguments.data, arguments.documents)
    seconds = {
        name: epoch_cost(network, len(documents), arguments.epochs)
        for name, network in networks(documents).items()
    }
    costs = [
        Cost(name, spent, spent / seconds[REFERENCE], BARS.get(name))
        for name, spent in seconds.items()
    ]
    if arguments.json:
        rows = [cost._asdict() for cost in costs]
        about = {
            "unit": "CPU seconds an epoch",
            "data": "synthetic" if arguments.data is None else Path(arguments.data).name,
            "documents": len(documents),
            "epochs": arguments.epochs,
            "threads": arguments.threads,
        }
        print(json.dumps({**about, "costs": rows}))
        return
    for cost in costs:
        bar = "" if cost.bar is None else f" (at most {cost.bar:g})"
        print(f"{cost.name:<14} {cost.cpu_seconds:7.2f} s an epoch {cost.ratio:6.2f} times{bar}")


if __name__ == "__main__":
    main()
