"""A corpus as the peers get it: divided as piran's methods divide it, as vectors and as tokens."""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from contract import TRAIN, target_file, text_file, vector_file
from scipy.sparse import csr_array, csr_matrix, save_npz, vstack

from piran.data import Corpus
from piran.data.labels import LabelSpace, held_out_rows
from piran.encoders.ngrams import WORD, NgramVectorizer
from piran.storage import new_folder
from piran.types import LabelMatrix, Texts

VALIDATION_FRACTION = 0.1
VALIDATION, TEST = "validation", "test"
FIT, REFIT = "fit", "refit"
"""Learned from the training documents without those of validation, and from both."""
_ABOUT = "about.json"


@dataclass(frozen=True)
class VectorTime:
    """What it took to turn the texts of one folder into vectors."""

    n_ngrams: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Divided:
    """A corpus in the three parts that every peer gets."""

    labels: LabelSpace
    train: Texts
    validation: Texts
    test: Texts
    train_targets: LabelMatrix
    validation_targets: LabelMatrix
    test_targets: LabelMatrix

    @property
    def all_targets(self) -> LabelMatrix:
        """Labels of train and validation together, (n_documents, n_labels)."""
        return csr_array(vstack([self.train_targets, self.validation_targets], format="csr"))


def divide(corpus: Corpus, seed: int) -> Divided:
    """Hold out what piran's methods hold out with this seed; given validation documents are taken."""
    labels = corpus.label_space()
    train, validation = corpus.train, corpus.validation
    if validation is None:
        held = held_out_rows(labels.matrix(train.label_sets), VALIDATION_FRACTION, seed)
        kept = np.setdiff1d(np.arange(len(train)), held)
        train, validation = corpus.train.select(kept), corpus.train.select(held)
    if corpus.test is None:
        raise ValueError(f"{corpus.name} has no test documents; give a corpus that has some.")
    return Divided(
        labels,
        train.texts,
        validation.texts,
        corpus.test.texts,
        labels.matrix(train.label_sets),
        labels.matrix(validation.label_sets),
        labels.matrix(corpus.test.label_sets),
    )


def write_inputs(divided: Divided, folder: Path) -> dict[str, VectorTime]:
    """Write both folders of documents, unless they are there, and return what vectors took."""
    everything = [*divided.train, *divided.validation]
    fit = {TRAIN: divided.train, VALIDATION: divided.validation, TEST: divided.test}
    refit = {TRAIN: everything, TEST: divided.test}
    return {
        FIT: _written(fit, divided.train_targets, folder / FIT),
        REFIT: _written(refit, divided.all_targets, folder / REFIT),
    }


def _written(parts: dict[str, Texts], targets: LabelMatrix, target: Path) -> VectorTime:
    """Write one folder whole or not at all; n-grams are learned from its training documents."""
    about = target / _ABOUT
    if about.exists():
        return VectorTime(**json.loads(about.read_text(encoding="utf-8")))
    with new_folder(target) as folder:
        start = time.perf_counter()
        ngrams = NgramVectorizer()
        vectors = {TRAIN: ngrams.fit_transform(parts[TRAIN])}
        vectors |= {part: ngrams.transform(parts[part]) for part in parts if part != TRAIN}
        taken = VectorTime(len(ngrams), round(time.perf_counter() - start, 2))
        for part, texts in parts.items():
            save_npz(vector_file(folder, part), csr_matrix(vectors[part]))
            text_file(folder, part).write_text(tokens_by_line(texts), encoding="utf-8")
        save_npz(target_file(folder), csr_matrix(targets))
        (folder / _ABOUT).write_text(json.dumps(asdict(taken)), encoding="utf-8")
    return taken


def tokens_by_line(texts: Sequence[str]) -> str:
    """Return each text's words, as the n-grams know them, on a line of its own."""
    word = re.compile(WORD)
    return "".join(f"{' '.join(word.findall(text.lower()))}\n" for text in texts)
