"""DXML: documents are placed among labels that occur together, and labelled by their neighbours."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from piran.data.batches import pad
from piran.data.corpus import Documents
from piran.errors import ModelFolderError, SettingError
from piran.experiments.run import evaluate
from piran.methods.dxml import Dxml, placement_loss

N_TOPICS, N_SYNONYMS = 6, 8
FILLERS = tuple(f"filler{number}" for number in range(20))
SMALL: dict[str, Any] = {
    **Dxml.quick_settings,
    "label_dim": 4,
    "n_walks": 40,
    "walk_length": 10,
    "embedding_dim": 16,
    "max_epochs": 8,
    "patience": 8,
    "device": "cpu",
}


def synonym_documents(n_documents: int, seed: int, *, n_given: int) -> Documents:
    """Every topic has eight labels that mean the same; annotators give ``n_given`` of them."""
    random = np.random.default_rng(seed)
    texts, label_sets = [], []
    for _ in range(n_documents):
        topic = int(random.integers(N_TOPICS))
        words = [f"topic{topic}word{random.integers(10)}" for _ in range(2)]
        words += list(random.choice(FILLERS, size=random.integers(3, 8)))
        chosen = random.choice(N_SYNONYMS, size=n_given, replace=False)
        texts.append(" ".join(random.permutation(words)))
        label_sets.append(tuple(f"topic{topic}label{number}" for number in chosen))
    return Documents(texts, label_sets)


def fitted(seed: int = 0, **settings: Any) -> Dxml:
    train = synonym_documents(200, seed, n_given=2)
    validation = synonym_documents(40, seed + 100, n_given=2)
    method = Dxml(**{**SMALL, "seed": seed, **settings})
    return method.fit(train.texts, train.label_sets, validation=validation)


@pytest.fixture(scope="module")
def method() -> Dxml:
    return fitted()


def precision_at_3(**settings: Any) -> float:
    """Mean over three seeds, on documents that have all labels of their topic."""
    test = synonym_documents(200, 200, n_given=N_SYNONYMS)
    return float(np.mean([evaluate(fitted(seed, **settings), test)["P@3"] for seed in range(3)]))


def test_the_label_graph_tells_that_labels_mean_the_same() -> None:
    with_graph, without = precision_at_3(), precision_at_3(label_vectors="random")
    assert with_graph > 80
    assert with_graph > without + 15


def test_neighbours_share_labels(method: Dxml) -> None:
    test = synonym_documents(50, 201, n_given=N_SYNONYMS)
    votes = method.votes_.votes(method.network_.apply(test.texts))  # (n_test, n_train)
    true = method.labels_.matrix(test.label_sets)
    shares_a_label = (true @ method.votes_.targets.T).toarray() > 0  # (n_test, n_train)
    share = (votes.toarray() * shares_a_label).sum(axis=1).mean()
    assert share > 0.85
    assert shares_a_label.mean() < 0.25  # what chance would give


def test_at_most_the_wanted_neighbours_vote_but_for_ties(method: Dxml) -> None:
    votes = method.votes_.votes(method.network_.apply(["topic0word1 topic0word2"]))
    assert method.n_neighbours <= votes.nnz < 3 * method.n_neighbours


def test_documents_without_labels_have_no_place_to_go_to_and_vote_for_nothing() -> None:
    train = synonym_documents(60, 0, n_given=2)
    bare = Documents([*train.texts, *["nothing at all"] * 30], [*train.label_sets, *[()] * 30])
    validation = Documents(["nothing"], [()])  # nor is there a score to stop by
    method = Dxml(**{**SMALL, "max_epochs": 2})
    method.fit(bare.texts, bare.label_sets, validation=validation)
    assert method.votes_.targets.shape[0] == 90
    assert method.predict_scores(["nothing at all"]).max() < 0.1
    assert method.stop_reason_ == "max epochs"
    assert "score" not in method.history_[0]


class Given(nn.Module):
    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        return token_ids.float()


def test_the_placement_loss_agrees_with_numbers_worked_out_by_hand() -> None:
    batch = pad([np.array([0, 1]), np.array([3, 1])], np.array([0, 1]))
    places = torch.tensor([[0.5, 1.0], [0.0, 1.0]])  # off by .5 (squared, halved) and 3 (less ½)
    assert float(placement_loss(Given(), batch, places)) == pytest.approx((0.125 + 2.5) / 2)


def test_a_loss_that_would_have_no_effect_is_refused() -> None:
    with pytest.raises(SettingError, match="loss must stay 'bce', got 'focal'"):
        fitted(loss="focal")


def test_label_vectors_that_do_not_exist_are_refused() -> None:
    with pytest.raises(SettingError, match="label_vectors must be one of walks, ppmi, random"):
        fitted(label_vectors="node2vec")


def test_a_model_without_its_neighbours_is_refused(method: Dxml, tmp_path: Path) -> None:
    method.save(tmp_path / "model")
    (tmp_path / "model" / "neighbours.safetensors").unlink()
    with pytest.raises(ModelFolderError, match=r"neighbours\.safetensors is missing"):
        Dxml.load(tmp_path / "model")
