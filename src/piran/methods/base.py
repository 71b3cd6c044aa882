"""The contract of methods: texts and label sets in, scores and label sets out.

A method is one file in this package. It says how to learn (:meth:`Method._fit`), how to score
(:meth:`Method._scores`) and what to keep (:meth:`Method._save`, :meth:`Method._load`); label space,
validation slice, cut-offs, saving and checks are the same for all and live here.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import vstack
from sklearn.base import BaseEstimator

from piran.data.corpus import Documents
from piran.data.labels import LabelSpace, held_out_rows
from piran.encoders.base import LabelledTexts
from piran.encoders.cache import CODE, training_key
from piran.encoders.instance_cache import instance_cache
from piran.errors import DataError, ModelFolderError, NotFittedError, PiranError, SettingError
from piran.metrics import (
    Thresholds,
    tune_both,
    tune_expected,
    tune_global,
    tune_groups,
    tune_per_label,
)
from piran.registry import Registry, suggestion
from piran.storage import load_state, new_folder, read_json, save_state
from piran.training.checkpoint import resumable
from piran.types import FloatArray, IntArray, LabelMatrix, LabelSet, LabelSets, Texts

MODEL = "model"
"""Name of a saved method's own files, and of the folder a run keeps it in."""
POLICIES = ("half", "global", "groups", "both", "expected", "per-label")
MIN_POSITIVES = 10
"""A label with fewer validation documents has too little evidence for a cut-off of its own."""
TEXTS_AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class Judged:
    """Documents, and what was said of them by models that did not learn from them."""

    targets: LabelMatrix
    """Shape (n_documents, n_labels)."""
    scores: Mapping[str, FloatArray]
    """By system, the method's own name among them, (n_documents, n_labels) each."""


@dataclass(kw_only=True, eq=False, repr=False)
class Method(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """Base of all methods. As in scikit-learn, constructors only store keyword arguments.

    A method that is a dataclass like this one adds its settings as fields and needs no constructor.
    """

    name: ClassVar[str]
    quick_settings: ClassVar[Mapping[str, Any]] = {}
    """Settings under which a small corpus is learned in a second, for tests and first tries."""

    tail: int | float | None = None
    """Tail labels as a number or fraction; None for two thirds."""
    seed: int = 0
    thresholds: str = "groups"
    """Policy of the saved cut-offs: one of :data:`POLICIES`."""
    validation_fraction: float = 0.1
    """Share of the training documents held out where no validation documents are given."""

    labels_: LabelSpace = field(init=False)
    n_train_documents_: int = field(init=False)
    thresholds_: Thresholds = field(init=False)
    history_: list[dict[str, float]] = field(init=False)
    stop_reason_: str | None = field(init=False)

    @instance_cache()  # documents are encoded more than once while fitting
    def fit(
        self,
        texts: Texts,
        label_sets: LabelSets,
        *,
        validation: Documents | None = None,
        labels: LabelSpace | None = None,
    ) -> Self:
        """Learn from texts and their labels.

        ``validation`` decides when to stop and where to cut; without it a slice of the training
        documents is held out. ``labels`` fixes the label space; without it, it is counted here.
        """
        train_documents = Documents(list(texts), [tuple(labels) for labels in label_sets])
        _check_documents(train_documents, validation)
        _check_policy(self.thresholds)
        self.labels_ = labels or LabelSpace.from_label_sets(
            label_sets, tail=self.tail, extra_names=_names(validation)
        )
        self.n_train_documents_ = len(train_documents)
        self.history_, self.stop_reason_ = [], None
        train, held_out = self._divide(train_documents, validation)
        with resumable(lambda: self._training_key(train, held_out)):
            self._fit(train, held_out)
        judged = self._calibrate(train, held_out, is_slice=validation is None)
        self.policy_thresholds_ = {
            system: tune_policies(judged.targets, scores, self.labels_)
            for system, scores in judged.scores.items()
        }
        self.thresholds_ = self.policy_thresholds_[self.name][self.thresholds]
        self._refit(joined(train, held_out))
        return self

    @abstractmethod
    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        """Learn from ``train``; ``validation`` may only decide between choices."""

    def _calibrate(
        self, train: LabelledTexts, held_out: LabelledTexts, *, is_slice: bool
    ) -> Judged:
        """Return documents with scores of models that did not learn from them, to choose cut-offs by.

        By default these are the held-out ones. A method that can judge more of its documents, or turns
        scores into probabilities on them, does so here; ``is_slice`` tells that the held-out documents
        are a slice of the training documents and not others that were given.
        """
        return Judged(held_out.targets, self.system_scores(held_out.texts))

    def _refit(self, documents: LabelledTexts) -> None:
        """Learn again from all documents once every choice is made; by default nothing."""

    @abstractmethod
    def _scores(self, texts: Texts) -> FloatArray:
        """Return scores in [0, 1], shape (n_documents, n_labels)."""

    @abstractmethod
    def _save(self, folder: Path) -> None:
        """Write what :meth:`_scores` needs."""

    @abstractmethod
    def _load(self, folder: Path) -> None:
        """Read what :meth:`_save` wrote."""

    def predict_scores(self, texts: Texts) -> FloatArray:
        """Return scores in [0, 1], (n_documents, n_labels), in the order of ``labels_.names``."""
        self._require_fitted()
        blocks = [np.zeros((0, len(self.labels_)), dtype=np.float32)]
        blocks += [self._without_unseen(self._scores(part)) for part in in_blocks(texts)]
        return np.concatenate(blocks)

    def predict(self, texts: Texts) -> list[LabelSet]:
        """Return the labels whose score reaches the saved cut-off, most frequent label first."""
        found: list[LabelSet] = []
        for part in in_blocks(texts):
            scores = self.predict_scores(part)
            found += self.labels_.label_sets(self.thresholds_.predict(scores))
        return found

    def predict_ranked(self, texts: Texts, top: int | None = None) -> list[dict[str, float]]:
        """Return each text's labels with their scores, the best first.

        These are the labels that reach their cut-off or, given ``top``, the so many best whose score is
        above 0, whatever the cut-offs say.
        """
        ranked: list[dict[str, float]] = []
        for row in self.predict_scores(texts):
            order = np.argsort(-row, kind="stable")[:top]
            kept = order[row[order] > 0] if top else order[self.thresholds_.predict(row)[order]]
            ranked.append({self.labels_.names[column]: float(row[column]) for column in kept})
        return ranked

    def system_scores(self, texts: Texts) -> dict[str, FloatArray]:
        """Return the scores of the method under its name, then those of its reference points."""
        return {self.name: self.predict_scores(texts)}

    def view_summary(self) -> dict[str, dict[str, float]]:
        """Return what each view of a document counts for the labels of each group, if there are views."""
        return {}

    def save(self, folder: str | Path) -> None:
        """Write the fitted method into a folder, whole or not at all."""
        self._require_fitted()
        with new_folder(Path(folder)) as target:
            state = {
                "method": self.name,
                "settings": self.settings(),
                "labels": self.labels_.to_json(),
                "n_train_documents": self.n_train_documents_,
            }
            by_policy = self.policy_thresholds_[self.name]
            save_state(target, MODEL, state, {p: t.values for p, t in by_policy.items()})
            self._save(target)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a fitted method; ``folder`` is a saved model or the run that holds it."""
        folder = model_folder(Path(folder))
        state, arrays = load_state(folder, MODEL)
        try:
            method = cls.from_settings(state["settings"])
            method.labels_ = LabelSpace.from_json(state["labels"])
            method.n_train_documents_ = int(state["n_train_documents"])
            method.history_, method.stop_reason_ = [], None
            by_policy = {policy: Thresholds(arrays[policy], policy) for policy in POLICIES}
            method.policy_thresholds_ = {method.name: by_policy}
            method.thresholds_ = by_policy[method.thresholds]
        except (KeyError, TypeError, IndexError, PiranError) as error:
            raise ModelFolderError(
                f"{folder} is not a complete saved model ({error}); save the model again."
            ) from error
        method._load(folder)
        return method

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Self:
        """Build the method from a flat table of settings; unknown keys are errors."""
        cls._check_settings(settings)
        return cls(**settings)

    @classmethod
    def _check_settings(cls, settings: dict[str, Any]) -> None:
        known = cls.setting_names(settings)
        for key in settings:
            if key not in known:
                raise SettingError(f"{cls.name} has no setting {key!r}. {suggestion(key, known)}")

    @classmethod
    def setting_names(cls, settings: dict[str, Any]) -> list[str]:
        """Return the keys :meth:`from_settings` knows, given the settings already there."""
        return list(cls._get_param_names())

    def settings(self) -> dict[str, Any]:
        """Return the flat table from which :meth:`from_settings` builds this method."""
        return dict(self.get_params(deep=False))

    def _require_fitted(self) -> None:
        if not hasattr(self, "labels_"):
            raise NotFittedError(
                f"{type(self).__name__} is not fitted; call fit(texts, label_sets) or load(folder)."
            )

    def _without_unseen(self, scores: FloatArray) -> FloatArray:
        """Give labels without a training document the score 0."""
        return np.where(self.labels_.is_unseen, np.float32(0), scores)

    def _training_key(self, train: LabelledTexts, validation: LabelledTexts) -> str:
        """Return what the checkpoints of a training of its own are kept under."""
        code = (*CODE, "methods")
        # Of the labels, only which of them are tail labels is not in the targets
        is_tail = "".join("01"[is_tail] for is_tail in self.labels_.is_tail.astype(int))
        return training_key(
            self.name, self.settings(), train, validation, outside=[is_tail], code=code
        )

    def _divide(
        self, documents: Documents, validation: Documents | None
    ) -> tuple[LabelledTexts, LabelledTexts]:
        targets = self.labels_.matrix(documents.label_sets)
        if validation is not None:
            held_out = LabelledTexts(validation.texts, self.labels_.matrix(validation.label_sets))
            return LabelledTexts(documents.texts, targets), held_out
        held = held_out_rows(targets, self.validation_fraction, self.seed)
        kept = np.setdiff1d(np.arange(len(documents)), held)
        whole = LabelledTexts(documents.texts, targets)
        return chosen(whole, kept), chosen(whole, held)


METHODS: Registry[type[Method]] = Registry("method", "piran.methods")
"""Methods by name; a module of this package files its own with ``@METHODS.register(name)``."""


def load_method(folder: str | Path) -> Method:
    """Load a saved model, whatever its method."""
    folder = model_folder(Path(folder))
    name = read_json(folder / f"{MODEL}.json").get("method")
    if name not in METHODS:
        raise ModelFolderError(
            f"{folder} was saved by the method {name!r}, which this piran does not have; known: "
            f"{', '.join(METHODS)}."
        )
    return METHODS[str(name)].load(folder)


def model_folder(folder: Path) -> Path:
    """Return the saved model's folder for itself or for the run that holds it."""
    if not folder.is_dir():
        raise ModelFolderError(
            f"{folder} is not a folder; give a saved model or the --out folder of a training run."
        )
    inner = folder / MODEL
    return inner if inner.is_dir() and not (folder / f"{MODEL}.json").exists() else folder


def in_blocks(texts: Texts) -> Iterator[Texts]:
    """Yield the texts a block at a time, which bounds the memory of scores."""
    for first in range(0, len(texts), TEXTS_AT_ONCE):
        yield texts[first : first + TEXTS_AT_ONCE]


def tune_policies(
    targets: LabelMatrix, scores: FloatArray, labels: LabelSpace
) -> dict[str, Thresholds]:
    """Tune the cut-offs of every policy on validation documents."""
    groups = tune_groups(targets, scores, labels.is_tail)
    return {
        "half": Thresholds.constant(len(labels)),
        "global": tune_global(targets, scores),
        "groups": groups,
        "both": tune_both(targets, scores, labels.is_tail),
        "expected": tune_expected(targets, scores, labels.is_tail),
        "per-label": tune_per_label(targets, scores, fallback=groups, min_positives=MIN_POSITIVES),
    }


def _check_documents(train: Documents, validation: Documents | None) -> None:
    if len(train) < 2:
        raise DataError(f"Training needs at least 2 documents, got {len(train)}.")
    if not any(train.label_sets):
        raise DataError(
            f"None of the {len(train)} training documents has a label; give some labels."
        )
    if validation is not None and not len(validation):
        raise DataError("There is no validation document; give some, or leave validation out.")


def _check_policy(policy: str) -> None:
    if policy not in POLICIES:
        raise SettingError(f"thresholds must be one of {', '.join(POLICIES)}, got {policy!r}.")


def _names(documents: Documents | None) -> set[str]:
    if documents is None:
        return set()
    return {label for labels in documents.label_sets for label in labels}


def joined(train: LabelledTexts, held_out: LabelledTexts) -> LabelledTexts:
    """Return the documents of both, those of ``train`` first."""
    return LabelledTexts(
        [*train.texts, *held_out.texts], vstack([train.targets, held_out.targets], format="csr")
    )


def joint_stop_reason(*reasons: str | None) -> str | None:
    """Return why several trainings of one method ended: one that has not converged speaks for all."""
    return "not converged" if "not converged" in reasons else reasons[-1]


def chosen(documents: LabelledTexts, rows: IntArray) -> LabelledTexts:
    """Return some of the documents, in the order of ``rows``."""
    return LabelledTexts([documents.texts[row] for row in rows.tolist()], documents.targets[rows])
