"""Support vector machines on the TF-IDF vectors of texts, with probabilities: a part of methods."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from piran.encoders.base import LabelledTexts
from piran.encoders.ngrams import NgramVectorizer
from piran.errors import ModelFolderError, SettingError
from piran.metrics import tune_global
from piran.metrics.f1 import F1Counts
from piran.storage import load_state, save_state
from piran.training.calibration import MarginCalibration
from piran.training.one_vs_rest import SparseRows, fit_one_vs_rest, support_vector_machine
from piran.types import FloatArray, LabelMatrix, Texts

C_CHOICES = (0.1, 0.3, 1.0, 3.0, 10.0)
_STATE_NAME = "svm"


@dataclass(kw_only=True, eq=False, repr=False)
class SvmSettings:
    """Settings of linear SVMs on TF-IDF vectors; an estimator that has them inherits these."""

    C: float | None = 1.0
    """Weight of the loss against the squared length of a row. None chooses among 0.1, 0.3, 1, 3 and 10
    by micro-F1 on the validation documents, at the price of five fits."""
    min_documents: int = 2
    """Training documents that a word or word pair must occur in to count."""
    max_ngrams: int = 200_000
    """The most frequent so many words and word pairs are kept."""
    weight_tolerance: float = 0.01
    """Weights no larger than this are dropped; 0 keeps all. At 0.01 a third is left of those that are
    not zero, and no score on held-out documents of debtags and Reuters changed by 0.3 points."""
    seed: int = 0


@dataclass(frozen=True, eq=False)
class TextSvm:
    """One SVM a label, from texts to margins and probabilities.

    Memory: while it is fitted 36 bytes for each n-gram of each document; then 8 bytes for each weight
    that is kept (36 MB for the 528 labels of debtags, where the full rows would take 155 MB); and
    30 bytes for each pair of a validation document and a label while probabilities are fitted.
    """

    ngrams: NgramVectorizer
    rows: SparseRows
    calibration: MarginCalibration
    C: float
    """The C that was given or chosen."""

    @classmethod
    def fit(
        cls, train: LabelledTexts, validation: LabelledTexts, *, settings: SvmSettings
    ) -> "TextSvm":
        """Learn rows from ``train``; ``validation`` decides on probabilities, and on C if it is None."""
        _check(settings)
        ngrams = _new_ngrams(settings)
        features = ngrams.fit_transform(train.texts)
        held_out = ngrams.transform(validation.texts)
        counts = np.asarray(train.targets.sum(axis=0)).astype(np.int64)
        best, best_f1 = None, -1.0
        for C in C_CHOICES if settings.C is None else (settings.C,):
            rows = _fit_rows(features, train.targets, C, settings)
            margins = rows.margins(held_out)
            calibration = MarginCalibration.fit(margins, validation.targets, counts)
            svm = cls(ngrams, rows, calibration, C)
            reached = 0.0
            if settings.C is None:
                reached = _best_micro_f1(calibration.probabilities(margins), validation.targets)
            if best is None or reached > best_f1:
                best, best_f1 = svm, reached
        assert best is not None  # there is always at least one C
        return best

    def refitted(self, documents: LabelledTexts, *, settings: SvmSettings) -> "TextSvm":
        """Return n-grams and rows learned from these documents, with C and probabilities as they are.

        The calibration stays that of documents which its rows had not seen; there are none left to fit
        it anew, and a few more documents change margins little.
        """
        ngrams = _new_ngrams(settings)
        features = ngrams.fit_transform(documents.texts)
        rows = _fit_rows(features, documents.targets, self.C, settings)
        return TextSvm(ngrams, rows, self.calibration, self.C)

    def margins(self, texts: Texts) -> FloatArray:
        """Return decision values, float32, (n_documents, n_labels)."""
        return self.rows.margins(self.ngrams.transform(texts))

    def probabilities(self, texts: Texts) -> FloatArray:
        """Return calibrated probabilities, float32, (n_documents, n_labels)."""
        return self.probabilities_of(self.margins(texts))

    def probabilities_of(self, margins: FloatArray) -> FloatArray:
        """Return the probabilities behind margins, of the same shape."""
        return self.calibration.probabilities(margins)

    def save(self, folder: Path) -> None:
        """Write n-grams as JSON, rows, weights and calibration as safetensors."""
        arrays = {**self.rows.arrays(), **self.calibration.arrays(), "idf": self.ngrams.idf}
        save_state(folder, _STATE_NAME, {"C": self.C, "vocabulary": self.ngrams.vocabulary}, arrays)

    @classmethod
    def load(cls, folder: Path, *, n_labels: int) -> "TextSvm":
        """Read what :meth:`save` wrote, for a label space of that size."""
        state, arrays = load_state(folder, _STATE_NAME)
        try:
            ngrams = NgramVectorizer.restored(state["vocabulary"], arrays["idf"])
            rows = SparseRows.from_arrays(arrays)
            calibration = MarginCalibration.from_arrays(arrays)
            svm = cls(ngrams, rows, calibration, float(state["C"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFolderError(
                f"{folder} holds no SVM that this version can read ({error}); save the model again."
            ) from error
        if rows.weights.shape != (len(ngrams), n_labels) or len(calibration.slope) != n_labels:
            raise ModelFolderError(
                f"{folder} holds rows of shape {rows.weights.shape}, expected "
                f"{(len(ngrams), n_labels)}; its files are of different models."
            )
        return svm


def _new_ngrams(settings: SvmSettings) -> NgramVectorizer:
    return NgramVectorizer(min_documents=settings.min_documents, max_ngrams=settings.max_ngrams)


def _fit_rows(
    features: csr_array, targets: LabelMatrix, C: float, settings: SvmSettings
) -> SparseRows:
    return fit_one_vs_rest(
        features,
        targets,
        support_vector_machine(C=C, seed=settings.seed),
        weight_tolerance=settings.weight_tolerance,
    )


def _best_micro_f1(scores: FloatArray, targets: LabelMatrix) -> float:
    """Return the micro-F1 at the one cut-off where it is highest."""
    counts = F1Counts(scores.shape[1])
    counts.update(targets.toarray() > 0, tune_global(targets, scores).predict(scores))
    return counts.micro_f1()


def _check(settings: SvmSettings) -> None:
    if settings.C is not None and not settings.C > 0:
        raise SettingError(f"C must be above 0, or None to choose it, got {settings.C}.")
    for name in ("min_documents", "max_ngrams"):
        if getattr(settings, name) < 1:
            raise SettingError(f"{name} must be at least 1, got {getattr(settings, name)}.")
    if settings.weight_tolerance < 0:
        raise SettingError(f"weight_tolerance must be at least 0, got {settings.weight_tolerance}.")
