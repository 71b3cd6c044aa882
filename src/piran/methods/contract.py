"""The contract of methods as checks that any method can be put to, a plug-in's included.

>>> from piran.methods import METHODS
>>> from piran.methods.contract import check_method
>>> check_method(METHODS["piran"])

Each check raises AssertionError with a sentence on what a method did and should have done.
"""

import json
import pickletools
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.base import clone

from piran.data.corpus import Documents
from piran.data.labels import LabelSpace
from piran.errors import NotFittedError, SettingError
from piran.methods.base import METHODS, Method, load_method
from piran.types import FloatArray

UNSEEN = "ghost"
"""A label of the small corpus that no document has."""
CLOSE = 1e-5
"""Scores of one text may differ by rounding, not by more."""

_WORDS = {
    "fruit": ("apple", "pear", "cherry", "plum"),
    "colour": ("red", "green", "blue", "yellow"),
    "plant": ("tree", "leaf", "root", "branch"),
    "kitchen": ("pie", "jam", "oven", "spoon"),
    "gem": ("ruby", "opal", "jade", "pearl"),
}
_CHANCES = (0.6, 0.5, 0.3, 0.15, 0.1)
_QUESTIONS = (
    "ripe red apple",
    "",
    "opal",
    "words that nobody has seen",
    "green leaf of a tree " * 9,
)


def check_method(method_class: type[Method]) -> None:
    """Fit a method on a small corpus and put it to all of :data:`CHECKS`."""
    method = fitted_on_small_corpus(method_class)
    for check in CHECKS:
        check(method)


def small_corpus(n_documents: int = 48, seed: int = 0) -> Documents:
    """Return texts with a word for each of their labels; some have no label, one has no word."""
    random = np.random.default_rng(seed)
    texts, label_sets = [], []
    for _ in range(n_documents):
        labels = [
            name for name, chance in zip(_WORDS, _CHANCES, strict=True) if random.random() < chance
        ]
        words = ["some", "text", *(str(random.choice(_WORDS[label])) for label in labels)]
        texts.append(" ".join(random.permutation(words)))
        label_sets.append(tuple(labels))
    return Documents([*texts, "", "jade"], [*label_sets, (), ("gem", "colour")])


def fitted_on_small_corpus(method_class: type[Method]) -> Method:
    """Return the method with its quick settings, fitted on documents with and without labels."""
    method = method_class.from_settings({**method_class.quick_settings, "tail": 2})
    return _fitted(method)


def _fitted(method: Method) -> Method:
    corpus = small_corpus()
    labels = LabelSpace.from_label_sets(corpus.label_sets, tail=2, extra_names=[UNSEEN])
    return method.fit(corpus.texts, corpus.label_sets, labels=labels)


def check_scores(method: Method) -> None:
    """Require numbers from 0 to 1, a row for each text and a column for each label."""
    texts = small_corpus(seed=1).texts
    scores = method.predict_scores(texts)
    expected = (len(texts), len(method.labels_))
    _require(scores.shape == expected, f"scores have shape {scores.shape}, expected {expected}")
    _require(np.isfinite(scores).all(), "some scores are not finite numbers")
    _require(scores.min() >= 0 and scores.max() <= 1, "some scores lie outside 0 to 1")
    none = method.predict_scores([]).shape
    _require(none == (0, expected[1]), f"scores of no texts have shape {none}")


def check_predictions(method: Method) -> None:
    """Require that the predicted labels are those whose score reaches the saved cut-off."""
    texts = small_corpus(seed=1).texts
    reached = method.predict_scores(texts) >= method.thresholds_.values
    expected = [
        tuple(name for name, is_in in zip(method.labels_.names, row, strict=True) if is_in)
        for row in reached
    ]
    _require(method.predict(texts) == expected, "predict disagrees with scores and cut-offs")


def check_unseen_label(method: Method) -> None:
    """Require that a label without a training document scores 0 and is never predicted."""
    column = method.labels_.names.index(UNSEEN)
    scores = method.predict_scores(_QUESTIONS)[:, column]
    _require(not scores.any(), f"a label without a training document scores {scores.max()}")
    predicted = [UNSEEN in labels for labels in method.predict(_QUESTIONS)]
    _require(not any(predicted), "a label without a training document is predicted")


def check_batches(method: Method) -> None:
    """Require that the score of a text does not depend on the texts beside it."""
    together = method.predict_scores(_QUESTIONS)
    alone = np.concatenate([method.predict_scores([text]) for text in _QUESTIONS])
    _require_close(together, alone, "scored together and alone")


def check_seed(method: Method) -> None:
    """Require the same scores from the same settings, seed among them, and documents."""
    again = _fitted(type(method).from_settings(method.settings()))
    difference = np.abs(again.predict_scores(_QUESTIONS) - method.predict_scores(_QUESTIONS)).max()
    _require(difference == 0, f"fitted twice with the same seed, scores differ by {difference}")


def check_saved(method: Method) -> None:
    """Require that a saved method is found by name, scores as before, and holds no pickle."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "model"
        method.save(folder)
        loaded = load_method(folder)
        pickles = [path.name for path in folder.rglob("*") if path.is_file() and _is_pickle(path)]
    _require(not pickles, f"saved with pickle, which runs code when loaded: {', '.join(pickles)}")
    _require(type(loaded) is type(method), f"loaded as {type(loaded).__name__}")
    _require(loaded.settings() == method.settings(), "the settings differ after loading")
    difference = np.abs(loaded.predict_scores(_QUESTIONS) - method.predict_scores(_QUESTIONS)).max()
    _require(difference == 0, f"loaded, scores differ by {difference}")
    _require(loaded.predict(_QUESTIONS) == method.predict(_QUESTIONS), "loaded, labels differ")


def check_settings(method: Method) -> None:
    """Require settings that are plain values and rebuild the method; a misspelt one gets a hint."""
    method_class, settings = type(method), method.settings()
    plain = json.loads(json.dumps(settings))
    _require(method_class.from_settings(plain).settings() == settings, "settings do not rebuild it")
    try:
        method_class.from_settings({"thresold": "half"})
    except SettingError as error:
        hint = "Did you mean 'thresholds'?"
        _require(hint in str(error), f"an unknown setting gives {str(error)!r}, expected {hint!r}")
    else:
        raise AssertionError("an unknown setting is accepted")


def check_copy(method: Method) -> None:
    """Require that scikit-learn's ``clone`` keeps the settings and nothing learned."""
    copy: Method = clone(method)
    _require(copy.settings() == method.settings(), "a clone has other settings")
    try:
        copy.predict_scores(_QUESTIONS)
    except NotFittedError:
        return
    raise AssertionError("a clone that was never fitted gives scores")


def check_registered(method: Method) -> None:
    """Require that the registry knows the method by its name."""
    name = type(method).name
    _require(name in METHODS and METHODS[name] is type(method), f"{name!r} is not registered")


CHECKS: tuple[Callable[[Method], None], ...] = (
    check_registered,
    check_scores,
    check_predictions,
    check_unseen_label,
    check_batches,
    check_seed,
    check_saved,
    check_settings,
    check_copy,
)
"""What every method is put to, each with a method fitted by :func:`fitted_on_small_corpus`."""


def _require(holds: object, message: str) -> None:
    if not holds:
        raise AssertionError(message[0].upper() + message[1:] + ".")


def _require_close(first: FloatArray, second: FloatArray, what: str) -> None:
    difference = float(np.abs(first - second).max())
    _require(difference <= CLOSE, f"{what}, scores differ by {difference:.2g}")


def _is_pickle(path: Path) -> bool:
    """Return whether a file is a pickle (protocol 2 or later) or an archive with one in it."""
    if zipfile.is_zipfile(path):
        return any(name.endswith((".pkl", ".pickle")) for name in zipfile.ZipFile(path).namelist())
    with path.open("rb") as file:
        try:
            first, *_ = pickletools.genops(file)  # parses without running anything
        except ValueError:
            return False
    return first[0].name == "PROTO"
