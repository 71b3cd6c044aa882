"""What network methods share, through the smallest method that can be built on it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import Tensor, nn

from piran.encoders.base import LabelledTexts
from piran.encoders.networks import begin_at_log_odds, word_embedding
from piran.encoders.text_network import NetworkSettings, TextNetwork
from piran.errors import ModelFolderError, SettingError
from piran.experiments.settings import build_method
from piran.methods.base import METHODS, Method
from piran.types import FloatArray, Texts


class MeanNetwork(nn.Module):
    """A row for each label, on the mean of the word vectors."""

    def __init__(self, embeddings: Tensor, n_labels: int, dropout: float) -> None:
        super().__init__()
        self.embedding = word_embedding(embeddings)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(embeddings.shape[1], n_labels)

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        mean = self.embedding(token_ids).sum(1) / lengths[:, None]  # (n_documents, embedding_dim)
        logits: Tensor = self.classifier(self.dropout(mean))  # (n_documents, n_labels)
        return logits


@dataclass(kw_only=True, eq=False, repr=False)
class MeanWords(NetworkSettings, Method):
    """The method of the example in the module's docstring."""

    name: ClassVar[str] = "mean-words"
    learning_rate: float = 0.1
    dropout: float = 0.1

    def _build(self, embeddings: Tensor) -> MeanNetwork:
        return MeanNetwork(embeddings, len(self.labels_), self.dropout)

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        self.network_ = TextNetwork.begin(train.texts, self._build, settings=self)
        begin_at_log_odds(self.network_.network.classifier, train.targets)
        outcome = self.network_.fit(train, validation, settings=self)
        self.history_, self.stop_reason_ = outcome.history, outcome.stop_reason

    def _scores(self, texts: Texts) -> FloatArray:
        return self.network_.scores(texts)

    def _save(self, folder: Path) -> None:
        self.network_.save(folder)

    def _load(self, folder: Path) -> None:
        self.network_ = TextNetwork.load(folder, self._build, settings=self)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "piran" in METHODS  # all found before one is added for the test
    monkeypatch.setitem(METHODS._things, "mean-words", MeanWords)


TEXTS = ["red apple", "green apple tree", "red cherry", "green pear", "a red rose"] * 8
LABEL_SETS = [["red", "fruit"], ["fruit"], ["red", "fruit"], ["fruit"], ["red"]] * 8
SMALL: dict[str, Any] = {"embedding_dim": 8, "batch_size": 8, "max_epochs": 6, "device": "cpu"}


@pytest.fixture(scope="module")
def method() -> MeanWords:
    return MeanWords(**SMALL, tail=1).fit(TEXTS, LABEL_SETS)


def test_it_learns(method: MeanWords) -> None:
    assert method.predict(["red pear", "green pear"]) == [("fruit", "red"), ("fruit",)]
    assert len(method.history_) <= 6
    assert method.stop_reason_ is not None


def test_settings_are_flat_keywords_with_defaults_in_one_place() -> None:
    settings = MeanWords().get_params()
    assert settings["learning_rate"] == 0.1
    assert settings["batch_size"] == NetworkSettings().batch_size
    assert {"tail", "thresholds", "validation_fraction", "seed", "dropout"} <= settings.keys()
    assert not {key for key in settings if key.endswith("_")}


def test_a_clone_has_the_settings_and_nothing_learned(method: MeanWords) -> None:
    copy = clone(method)
    assert copy.settings() == method.settings()
    assert not hasattr(copy, "network_")
    assert not hasattr(copy, "labels_")


def test_flat_settings_build_it_and_are_checked() -> None:
    built = build_method("mean-words", {"learning_rate": 1, "dropout": 0.5, "tail": 2})
    assert isinstance(built, MeanWords)
    assert (built.learning_rate, built.dropout, built.tail) == (1.0, 0.5, 2)
    with pytest.raises(SettingError, match="mean-words has no setting 'dropuot'"):
        build_method("mean-words", {"dropuot": 0.5})
    with pytest.raises(SettingError, match="batch_size must be int, got 'many'"):
        build_method("mean-words", {"batch_size": "many"})


def test_a_loaded_method_scores_alike(method: MeanWords, tmp_path: Path) -> None:
    method.save(tmp_path / "model")
    loaded = MeanWords.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_scores(TEXTS), method.predict_scores(TEXTS))
    assert loaded.settings() == method.settings()


def test_weights_of_another_shape_are_refused(method: MeanWords, tmp_path: Path) -> None:
    method.network_.save(tmp_path)

    def build(embeddings: Tensor) -> MeanNetwork:
        return MeanNetwork(embeddings, n_labels=7, dropout=0.0)

    with pytest.raises(ModelFolderError, match="safetensors do not fit the settings"):
        TextNetwork.load(tmp_path, build, settings=method)


def test_the_same_seed_gives_the_same_scores(method: MeanWords) -> None:
    again, other = clone(method), clone(method).set_params(seed=1)
    scores = method.predict_scores(TEXTS)
    np.testing.assert_array_equal(again.fit(TEXTS, LABEL_SETS).predict_scores(TEXTS), scores)
    assert not np.allclose(other.fit(TEXTS, LABEL_SETS).predict_scores(TEXTS), scores)


def test_frozen_weights_stay_as_they_are(method: MeanWords) -> None:
    def build(embeddings: Tensor) -> MeanNetwork:
        network = MeanNetwork(embeddings, n_labels=2, dropout=0.0)
        network.embedding.requires_grad_(False)
        return network

    text_network = TextNetwork.begin(TEXTS, build, settings=method)
    before = text_network.network.embedding.weight.clone()
    targets = method.labels_.matrix(LABEL_SETS)
    text_network.fit(LabelledTexts(TEXTS, targets), None, settings=method)
    assert torch.equal(text_network.network.embedding.weight, before)
    assert text_network.network.classifier.weight.grad is not None


def test_a_part_of_the_network_can_be_applied(method: MeanWords) -> None:
    class Mean(nn.Module):
        def __init__(self, whole: MeanNetwork) -> None:
            super().__init__()
            self.embedding = whole.embedding

        def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
            mean: Tensor = self.embedding(token_ids).sum(1) / lengths[:, None]
            return mean

    means: Any = method.network_.apply(["red pear", "pear"], Mean(method.network_.network))
    assert means.shape == (2, 8)
    classifier = method.network_.network.classifier
    logits = means @ classifier.weight.detach().numpy().T + classifier.bias.detach().numpy()
    np.testing.assert_allclose(method.network_.apply(["red pear", "pear"]), logits, atol=1e-6)
