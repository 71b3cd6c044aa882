"""Attention for each label: equations, padding, portions of labels, and the tree over them."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor

from piran.data.label_clusters import NO_LABEL
from piran.encoders import label_attention
from piran.encoders.label_attention import LabelAttention, SharedAttention, WordStates
from piran.encoders.label_tree import LabelTree
from piran.training.losses import BinaryCrossEntropy

STATE_DIM, N_LABELS = 6, 7
LENGTHS = torch.tensor([5, 2, 4])
CLUSTERS = torch.tensor([[0, 3, 5], [1, 6, NO_LABEL], [2, 4, NO_LABEL]])


def states() -> Tensor:
    return torch.randn(3, 5, STATE_DIM, generator=torch.Generator().manual_seed(0))


def attention(n_labels: int = N_LABELS) -> LabelAttention:
    torch.manual_seed(1)
    layer = LabelAttention(STATE_DIM, n_labels, reading_dim=4)
    with torch.no_grad():
        layer.bias.copy_(torch.randn(n_labels))
    return layer


def tree(n_best: int = 2) -> LabelTree:
    torch.manual_seed(2)
    return LabelTree(CLUSTERS, STATE_DIM, N_LABELS, reading_dim=4, n_best=n_best)


def test_logits_follow_the_equation() -> None:
    layer, words = attention(), states()[1, :2]  # the second document has two words
    for label in range(N_LABELS):
        weights = torch.softmax(words @ layer.queries[label], dim=0)  # (2,)
        read = layer.hidden(weights @ words).relu()  # W applied after the sum, as it is published
        expected = layer.output.weight[0] @ read + layer.bias[label]
        torch.testing.assert_close(layer(states(), LENGTHS)[1, label], expected)


def test_attention_sums_to_one_over_words_and_is_zero_on_padding() -> None:
    weights = attention().attention(states(), LENGTHS)  # (3, 5, n_labels)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(3, N_LABELS))
    for document, length in enumerate(LENGTHS):
        assert not weights[document, length:].any()
        assert (weights[document, :length] > 0).all()


def test_labels_have_attentions_of_their_own() -> None:
    weights = attention().attention(states(), LENGTHS)[0]  # (5, n_labels)
    assert not torch.allclose(weights[:, :1].expand_as(weights), weights, atol=0.01)


@pytest.mark.parametrize("kind", [LabelAttention, SharedAttention])
def test_the_batch_around_a_document_changes_nothing(kind: Any) -> None:
    torch.manual_seed(3)
    layer, padded = kind(STATE_DIM, N_LABELS, reading_dim=4), states()
    together = layer(padded, LENGTHS)
    padded[1, 2:] = 99.0
    torch.testing.assert_close(layer(padded, LENGTHS)[1], together[1])
    alone = layer(padded[1:2, :2], LENGTHS[1:2])
    torch.testing.assert_close(alone[0], together[1], atol=1e-6, rtol=0)


@pytest.mark.parametrize("candidates", [None, torch.tensor([[6, 1, 4], [0, 2, 3], [5, 5, 1]])])
def test_portions_of_labels_change_neither_logits_nor_slopes(
    candidates: Tensor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for numbers in (label_attention.NUMBERS_AT_ONCE, 60):  # one portion, then several
        monkeypatch.setattr(label_attention, "NUMBERS_AT_ONCE", numbers)
        layer, words = attention(), states().requires_grad_()
        logits = layer(words, LENGTHS, candidates)
        logits.square().sum().backward()
        results.append((logits, words.grad, layer.queries.grad, layer.hidden.weight.grad))
    for whole, portioned in zip(*results, strict=True):
        torch.testing.assert_close(whole, portioned)


def test_what_is_kept_for_the_backward_pass_does_not_grow_with_the_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(label_attention, "NUMBERS_AT_ONCE", 900)
    kept = []
    for n_labels in (100, 400):
        layer = attention(n_labels)
        sizes: list[int] = []

        def note(tensor: Tensor, sizes: list[int] = sizes) -> Tensor:
            sizes.append(tensor.numel() if tensor.requires_grad and not tensor.is_leaf else 0)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            layer(states(), LENGTHS).sum()
        kept.append(max(sizes))
    assert kept[0] == kept[1]
    assert kept[0] < 3 * 5 * 100  # one number for each word and label would be more


def test_candidates_have_the_logits_they_have_among_all() -> None:
    layer, label_ids = attention(), torch.tensor([[6, 1], [0, 2], [5, 5]])
    some = layer(states(), LENGTHS, label_ids)
    torch.testing.assert_close(some, layer(states(), LENGTHS).gather(1, label_ids))


def test_shared_attention_is_the_same_for_all_labels() -> None:
    layer = SharedAttention(STATE_DIM, N_LABELS, reading_dim=4)
    words = states()[1, :2]
    weights = torch.softmax(words @ layer.query.weight[0], dim=0)
    expected = layer.classifier(layer.hidden(weights @ words).relu())
    torch.testing.assert_close(layer(states(), LENGTHS)[1], expected)


def test_word_states_are_blind_to_padding() -> None:
    torch.manual_seed(4)
    words = WordStates(torch.randn(9, 4), hidden_dim=3, embedding_dropout=0.5, dropout=0.5).eval()
    token_ids = torch.tensor([[3, 4, 5], [6, 0, 0]])
    both = words(token_ids, torch.tensor([3, 1]))
    assert both.shape == (2, 3, 6)
    torch.testing.assert_close(both[1:, :1], words(token_ids[1:, :1], torch.tensor([1])))


def test_the_tree_multiplies_the_probabilities_of_cluster_and_label() -> None:
    whole = tree(n_best=3)
    probabilities = whole(states(), LENGTHS).sigmoid()
    of_clusters = whole.cluster_attention(states(), LENGTHS).sigmoid()
    of_labels = whole.label_attention(states(), LENGTHS).sigmoid()
    for cluster, labels in enumerate(CLUSTERS):
        for label in labels[labels != NO_LABEL]:
            expected = of_clusters[:, cluster] * of_labels[:, label]
            torch.testing.assert_close(probabilities[:, label], expected)


def test_labels_outside_the_best_clusters_have_no_chance() -> None:
    whole = tree(n_best=1)
    best = whole.cluster_attention(states(), LENGTHS).argmax(dim=1)
    probabilities = whole(states(), LENGTHS).sigmoid()
    for document, cluster in enumerate(best):
        inside = set(CLUSTERS[cluster].tolist()) - {NO_LABEL}
        assert set(probabilities[document].nonzero().flatten().tolist()) == inside


def test_a_cluster_is_positive_if_one_of_its_labels_is() -> None:
    targets = torch.zeros(3, N_LABELS)
    targets[0, 3] = targets[0, 4] = targets[1, 0] = 1
    expected = torch.tensor([[1.0, 0, 1], [1, 0, 0], [0, 0, 0]])
    assert tree().cluster_targets(targets).equal(expected)
    sparse = tree().sparse_cluster_targets(csr_array(targets.numpy()))
    np.testing.assert_array_equal(sparse.toarray(), expected)


def test_positives_are_learned_even_where_their_cluster_is_not_among_the_best() -> None:
    whole = tree(n_best=1)
    with torch.no_grad():
        whole.cluster_attention.bias.copy_(torch.tensor([9.0, -9.0, -9.0]))
    targets = torch.zeros(3, N_LABELS)
    targets[:, 6] = 1  # of the second cluster
    loss = BinaryCrossEntropy()
    losses: Any = whole.losses(states(), LENGTHS, targets, loss, loss)
    losses.sum().backward()
    slopes = whole.label_attention.bias.grad
    assert slopes is not None
    assert slopes[6] < 0  # pushed up
    assert slopes[1] > 0  # its neighbour, pushed down
    assert not slopes[[0, 2, 3, 4, 5]].any()  # not candidates: n_best is taken by the positives


def test_the_loss_of_the_tree_by_its_parts() -> None:
    whole, loss = tree(n_best=3), BinaryCrossEntropy()
    targets = torch.tensor([[1.0, 0, 0, 0, 0, 0, 1]]).expand(3, -1)
    of_clusters = loss(whole.cluster_attention(states(), LENGTHS), whole.cluster_targets(targets))
    of_labels = loss(whole.label_attention(states(), LENGTHS), targets)  # all are candidates
    expected = of_clusters.sum(dim=1) + of_labels.sum(dim=1)
    torch.testing.assert_close(whole.losses(states(), LENGTHS, targets, loss, loss), expected)


def test_clusters_and_labels_begin_at_their_log_odds() -> None:
    whole = tree()
    targets = np.zeros((4, N_LABELS), dtype=np.float32)
    targets[:2, 0] = targets[0, 3] = 1  # the first cluster has 2 of 4 documents
    whole.begin_at_log_odds(csr_array(targets))
    np.testing.assert_allclose(
        whole.cluster_attention.bias.detach(), np.log([2.5 / 2.5, 0.5 / 4.5, 0.5 / 4.5]), rtol=1e-6
    )
    np.testing.assert_allclose(
        whole.label_attention.bias.detach()[[0, 3, 5]],
        np.log([2.5 / 0.5, 1.5 / 1.5, 0.5 / 2.5]),  # within the 2 documents of the cluster
        rtol=1e-6,
    )
