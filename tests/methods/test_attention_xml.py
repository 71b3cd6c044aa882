"""AttentionXML: labels find their word in long noise, flat and in a tree."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from piran.data.corpus import Documents
from piran.encoders.label_attention import LabelAttention
from piran.encoders.label_tree import LabelTree
from piran.errors import SettingError
from piran.experiments.settings import build_method
from piran.methods.attention_xml import AttentionXml
from piran.types import LabelSet

N_LABELS = 24
LETTERS = "abcdefghijklmnopqrstuvwxyz"
NOISE = tuple(f"noise{letter}" for letter in LETTERS)
SMALL: dict[str, Any] = {
    "embedding_dim": 16,
    "hidden_dim": 8,
    "reading_dim": 16,
    "embedding_dropout": 0.0,
    "dropout": 0.1,
    "learning_rate": 0.01,
    "batch_size": 16,
    "max_epochs": 14,
    "patience": 14,
    "device": "cpu",
    "thresholds": "half",
}
TREE: dict[str, Any] = {"max_flat_labels": 10, "cluster_size": 4, "n_best_clusters": 4}


def noisy_documents(n_documents: int, seed: int) -> Documents:
    """Long noise with one word for each of one to three labels in it."""
    generator = np.random.default_rng(seed)
    texts: list[str] = []
    label_sets: list[LabelSet] = []
    for _ in range(n_documents):
        words = list(generator.choice(NOISE, size=generator.integers(20, 40)))
        labels = generator.choice(N_LABELS, size=generator.integers(1, 4), replace=False)
        for label in labels:
            words.insert(int(generator.integers(len(words) + 1)), f"trigger{LETTERS[label]}")
        texts.append(" ".join(words))
        label_sets.append(tuple(f"label {LETTERS[label]}" for label in labels))
    return Documents(texts, label_sets)


def micro_f1(method: AttentionXml, documents: Documents) -> float:
    predicted = [set(labels) for labels in method.predict(documents.texts)]
    true = [set(labels) for labels in documents.label_sets]
    hits = sum(len(found & wanted) for found, wanted in zip(predicted, true, strict=True))
    return 2 * hits / (sum(map(len, predicted)) + sum(map(len, true)))


def fitted(n_documents: int = 600, **settings: Any) -> AttentionXml:
    train = noisy_documents(n_documents, seed=0)
    return AttentionXml(**{**SMALL, **settings}).fit(train.texts, train.label_sets)


@pytest.fixture(scope="module")
def flat() -> AttentionXml:
    return fitted()


@pytest.fixture(scope="module")
def tree() -> AttentionXml:
    return fitted(**TREE)


def test_each_label_finds_its_word_in_the_noise(flat: AttentionXml) -> None:
    test = noisy_documents(150, seed=1)
    assert micro_f1(flat, test) > 0.9
    assert micro_f1(fitted(attention="shared"), test) < 0.7


def test_a_label_attends_to_its_word(flat: AttentionXml) -> None:
    network, vocabulary = flat.network_.network, flat.network_.vocabulary
    text = " ".join([*NOISE[:10], "triggerc", *NOISE[10:20], "triggerf"])
    token_ids, length = torch.from_numpy(vocabulary.encode([text])[0])[None], torch.tensor([22])
    assert isinstance(network.labels, LabelAttention)
    states = network.words(token_ids, length)
    attention = network.labels.attention(states, length)[0]  # (22, n_labels)
    for word, place in (("c", 10), ("f", 21)):
        label = flat.labels_.names.index(f"label {word}")
        assert abs(int(attention[:, label].argmax()) - place) <= 1  # states see their neighbours


def test_above_its_bound_there_is_a_tree_and_it_learns(tree: AttentionXml) -> None:
    assert isinstance(tree.network_.network.labels, LabelTree)
    assert tree.network_.network.labels.clusters.shape == (6, 4)
    assert micro_f1(tree, noisy_documents(150, seed=1)) > 0.75


def test_the_tree_scores_only_labels_of_the_best_clusters(tree: AttentionXml) -> None:
    scores = tree.predict_scores(noisy_documents(30, seed=2).texts)
    assert ((scores > 0).sum(axis=1) == 4 * 4).all()


def test_shared_attention_needs_no_tree() -> None:
    method = fitted(40, attention="shared", max_flat_labels=10, max_epochs=1)
    assert not isinstance(method.network_.network.labels, LabelTree)


@pytest.mark.parametrize("name", ["flat", "tree"])
def test_scores_do_not_depend_on_the_batch(name: str, request: pytest.FixtureRequest) -> None:
    method: AttentionXml = request.getfixturevalue(name)
    texts = [*noisy_documents(10, seed=3).texts, "", "triggera", "word " * 600]
    alone = np.concatenate([method.predict_scores([text]) for text in texts])
    np.testing.assert_allclose(method.predict_scores(texts), alone, atol=1e-5)


@pytest.mark.parametrize("name", ["flat", "tree"])
def test_a_loaded_method_scores_alike(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    method: AttentionXml = request.getfixturevalue(name)
    method.save(tmp_path / "model")
    loaded = AttentionXml.load(tmp_path / "model")
    texts = noisy_documents(20, seed=4).texts
    np.testing.assert_array_equal(loaded.predict_scores(texts), method.predict_scores(texts))
    assert loaded.settings() == method.settings()


@pytest.mark.parametrize("settings", [{}, TREE])
def test_a_label_without_documents_scores_zero(settings: dict[str, Any]) -> None:
    train = noisy_documents(60, seed=0)
    validation = Documents(["triggera"], [("unseen",)])
    method = AttentionXml(**{**SMALL, **settings, "max_epochs": 1})
    method.fit(train.texts, train.label_sets, validation=validation)
    unseen = method.labels_.names.index("unseen")
    assert (method.predict_scores(train.texts)[:, unseen] == 0).all()


@pytest.mark.parametrize("settings", [{}, TREE])
def test_seeds_decide_the_scores(settings: dict[str, Any]) -> None:
    texts = noisy_documents(20, seed=5).texts
    first, second, other = (
        fitted(60, **settings, max_epochs=1, seed=seed).predict_scores(texts) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, other)


@pytest.mark.parametrize("loss", ["focal", "class-balanced", "distribution-balanced"])
def test_balanced_losses_work_in_the_tree(loss: str) -> None:
    plain, balanced = (fitted(60, **TREE, max_epochs=2, loss=name) for name in ("bce", loss))
    losses = [method.history_[-1]["loss"] for method in (plain, balanced)]
    assert np.isfinite(losses).all()
    assert losses[0] != losses[1]


def test_it_is_built_by_name_and_checks_its_settings() -> None:
    assert isinstance(build_method("attention-xml", {"attention": "shared"}), AttentionXml)
    for setting in ({"attention": "none"}, {"hidden_dim": 0}, {"n_best_clusters": 0}):
        with pytest.raises(SettingError, match=next(iter(setting))):
            fitted(10, **setting)
