"""Peak memory of AttentionXML with many labels: trains one epoch, scores and tunes cut-offs.

The documents are synthetic: each label has two words of its own, each document has five labels and
noise around them. ``--flat`` does without the label tree, which takes the same bounded memory and
much more time; give it few documents.

    python benchmarks/attention_xml_scale.py --labels 20000 --json
"""

import argparse
import json
import time

import numpy as np

from piran.data.corpus import Documents
from piran.data.labels import LabelSpace
from piran.experiments.memory import peak_memory_mb
from piran.methods.attention_xml import AttentionXml
from piran.training.runtime import set_threads
from piran.types import LabelSet

BAR_MB = 4096
"""What 20,000 labels may take at most."""
LABELS_A_DOCUMENT, N_NOISE_WORDS = 5, 20_000


def synthetic_documents(n_documents: int, *, n_labels: int, n_words: int, seed: int) -> Documents:
    """Return documents of ``n_words`` words whose labels can be read off them."""
    generator = np.random.default_rng(seed)
    texts: list[str] = []
    label_sets: list[LabelSet] = []
    for _ in range(n_documents):
        labels = generator.choice(n_labels, size=LABELS_A_DOCUMENT, replace=False)
        words = [_spelling("n", word) for word in generator.integers(N_NOISE_WORDS, size=n_words)]
        for label in labels:
            for kind in "ab":
                words[generator.integers(n_words)] = _spelling(kind, label)
        texts.append(" ".join(words))
        label_sets.append(tuple(f"label {label}" for label in labels))
    return Documents(texts, label_sets)


def _spelling(kind: str, number: int) -> str:
    """Spell a number in letters, as words and numbers are cut apart."""
    return kind + str(number).translate(str.maketrans("0123456789", "qrstuvwxyz"))


def measure(arguments: argparse.Namespace) -> dict[str, float]:
    """Train one epoch and return what it took."""
    sizes = {"n_labels": arguments.labels, "n_words": arguments.words}
    train = synthetic_documents(arguments.documents, **sizes, seed=0)
    validation = synthetic_documents(arguments.validation, **sizes, seed=1)
    names = [f"label {label}" for label in range(arguments.labels)]
    labels = LabelSpace.from_label_sets(train.label_sets, extra_names=names)
    before, start = peak_memory_mb(), time.process_time()
    method = AttentionXml(
        max_epochs=1, max_flat_labels=arguments.labels if arguments.flat else 5_000
    ).fit(train.texts, train.label_sets, validation=validation, labels=labels)
    return {
        "labels": arguments.labels,
        "documents": arguments.documents,
        "words": arguments.words,
        "steps": -(-arguments.documents // method.batch_size),
        "cpu_seconds": round(time.process_time() - start, 1),
        "loss": round(method.history_[0]["loss"], 2),
        "memory_before_mb": before,
        "peak_memory_mb": peak_memory_mb(),
        "bar_mb": BAR_MB,
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--labels", type=int, default=20_000)
    parser.add_argument("--documents", type=int, default=1024)
    parser.add_argument("--validation", type=int, default=256, help="documents to score")
    parser.add_argument("--words", type=int, default=130, help="of each document")
    parser.add_argument("--flat", action="store_true", help="attention to all labels, no tree")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    set_threads(arguments.threads)
    figures = measure(arguments)
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:<18} {value:>10}")


if __name__ == "__main__":
    main()
