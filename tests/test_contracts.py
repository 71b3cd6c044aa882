"""Every registered method keeps the contract, and the checks notice when one does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from piran.encoders.base import LabelledTexts
from piran.errors import SettingError
from piran.methods import METHODS, Method
from piran.methods.contract import (
    CHECKS,
    check_batches,
    check_method,
    check_predictions,
    check_registered,
    check_saved,
    check_scores,
    check_seed,
    check_settings,
    check_unseen_label,
    fitted_on_small_corpus,
    small_corpus,
)
from piran.storage import load_state, save_state
from piran.types import FloatArray, LabelSet, Texts

Check = Callable[[Method], None]


@pytest.fixture(scope="module", params=list(METHODS))
def method(request: pytest.FixtureRequest) -> Method:
    return fitted_on_small_corpus(METHODS[request.param])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_method_keeps_the_contract(method: Method, check: Check) -> None:
    check(method)


@pytest.mark.parametrize("loss", ["focal", "class-balanced", "distribution-balanced"])
def test_a_network_learns_from_every_loss_or_refuses_it(method: Method, loss: str) -> None:
    if "loss" not in method.settings():
        pytest.skip("no network")
    corpus = small_corpus()
    changed = type(method).from_settings({**method.settings(), "loss": loss})
    refusal = ""
    try:
        changed.fit(corpus.texts, corpus.label_sets, labels=method.labels_)
    except SettingError as error:
        refusal = str(error)
    if refusal:
        assert "loss must stay 'bce'" in refusal
        return
    difference = changed.predict_scores(corpus.texts) - method.predict_scores(corpus.texts)
    assert np.abs(difference).max() > 1e-3


def test_every_method_states_its_memory(method: Method) -> None:
    assert "    Memory" in (type(method).__doc__ or "")


def test_the_small_corpus_has_what_is_legal_but_odd() -> None:
    corpus = small_corpus()
    assert "" in corpus.texts
    assert () in corpus.label_sets


class Prior(Method):
    """The smallest method: each label scores its share of the training documents."""

    name: ClassVar[str] = "prior"

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        self.prior_ = np.asarray(train.targets.mean(axis=0), dtype=np.float32).ravel()

    def _scores(self, texts: Texts) -> FloatArray:
        return np.tile(self.prior_, (len(texts), 1))

    def _save(self, folder: Path) -> None:
        save_state(folder, "prior", {}, {"prior": self.prior_})

    def _load(self, folder: Path) -> None:
        self.prior_ = load_state(folder, "prior")[1]["prior"]


class WithoutNumbers(Prior):
    def _scores(self, texts: Texts) -> FloatArray:
        is_unread = np.array([["root" in text] for text in texts])
        return np.where(is_unread, np.nan, super()._scores(texts))

    def _divide(self, *documents: Any) -> Any:
        train, _ = super()._divide(*documents)
        return train, LabelledTexts(["pie"], train.targets[:1])  # cut-offs cannot be tuned on NaN


class TooHigh(Prior):
    def _scores(self, texts: Texts) -> FloatArray:
        return super()._scores(texts) + 1


class ShapedByItsBatch(Prior):
    def _scores(self, texts: Texts) -> FloatArray:
        return super()._scores(texts) / len(texts)


class Unseeded(Prior):
    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        super()._fit(train, validation)
        self.prior_ *= np.random.default_rng().random()


class SeesGhosts(Prior):
    def _without_unseen(self, scores: FloatArray) -> FloatArray:
        return np.maximum(scores, np.float32(0.01))


class DeafToCutOffs(Prior):
    def predict(self, texts: Texts) -> list[LabelSet]:
        return [() for _ in texts]


class Forgetful(Prior):
    def _load(self, folder: Path) -> None:
        self.prior_ = np.zeros(len(self.labels_), dtype=np.float32)


class Pickled(Prior):
    def _save(self, folder: Path) -> None:
        super()._save(folder)
        self.prior_.dump(folder / "prior.bin")


class TakesAnything(Prior):
    @classmethod
    def _check_settings(cls, settings: dict[str, Any]) -> None:
        settings.pop("thresold", None)


def register(monkeypatch: pytest.MonkeyPatch, method_class: type[Method]) -> type[Method]:
    assert "piran" in METHODS  # all found before one is added for the test
    monkeypatch.setitem(METHODS._things, method_class.name, method_class)
    return method_class


def test_a_new_method_passes_without_being_named_here(monkeypatch: pytest.MonkeyPatch) -> None:
    check_method(register(monkeypatch, Prior))


@pytest.mark.parametrize(
    ("broken", "check", "message"),
    [
        (WithoutNumbers, check_scores, "not finite"),
        (TooHigh, check_scores, "outside 0 to 1"),
        (ShapedByItsBatch, check_batches, "scored together and alone"),
        (Unseeded, check_seed, "fitted twice with the same seed"),
        (SeesGhosts, check_unseen_label, "without a training document scores"),
        (DeafToCutOffs, check_predictions, "disagrees with scores"),
        (Forgetful, check_saved, "loaded, scores differ"),
        (Pickled, check_saved, r"with pickle.*prior\.bin"),
        (TakesAnything, check_settings, "unknown setting is accepted"),
    ],
)
def test_the_checks_notice_a_broken_method(
    broken: type[Method], check: Check, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = fitted_on_small_corpus(register(monkeypatch, broken))
    with pytest.raises(AssertionError, match=f"(?i){message}"):
        check(method)


def test_a_method_that_is_not_registered_is_noticed() -> None:
    with pytest.raises(AssertionError, match="'prior' is not registered"):
        check_registered(fitted_on_small_corpus(Prior))
