"""Balanced losses, held to numbers worked out by hand and to binary cross-entropy."""

from math import exp, log
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from piran.encoders.base import LabelledTexts
from piran.encoders.bilstm import BiLstmEncoder
from piran.errors import SettingError
from piran.training.losses import LOSSES, LossSettings, label_loss
from piran.types import LabelMatrix

# Ten documents; three labels with 8, 2 and 1 of them, and one without any.
TARGETS = LabelMatrix(
    np.array([[1, 1, 1, 0], [1, 1, 0, 0]] + [[1, 0, 0, 0]] * 6 + [[0, 0, 0, 0]] * 2, np.float32)
)
LOGITS = torch.tensor([[log(3.0), 0.0, -log(3.0), 0.0], [-1.0, 2.0, 0.5, 1.5]])
LABELS = torch.tensor([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
NEUTRAL: dict[str, dict[str, float]] = {
    "bce": {},
    "focal": {"focal_gamma": 0.0, "focal_alpha": 0.5},
    "class-balanced": {"class_balanced_beta": 0.0},
    "distribution-balanced": {
        "focal_gamma": 0.0,
        "rebalance_alpha": 0.5,
        "rebalance_beta": 0.0,
        "negative_scale": 1.0,
        "prior_share": 0.0,
    },
}


def losses(name: str, **parameters: Any) -> Any:
    return label_loss(LossSettings(loss=name, **parameters), TARGETS)(LOGITS, LABELS)


def sigmoid(number: float) -> float:
    return 1 / (1 + exp(-number))


def test_every_loss_has_a_neutral_setting_here() -> None:
    assert NEUTRAL.keys() == set(LOSSES)


@pytest.mark.parametrize("name", LOSSES)
def test_with_neutral_parameters_it_is_cross_entropy(name: str) -> None:
    expected = binary_cross_entropy_with_logits(LOGITS, LABELS, reduction="none")
    torch.testing.assert_close(losses(name, **NEUTRAL[name]), expected)


@pytest.mark.parametrize("name", LOSSES[1:])
def test_with_the_published_parameters_it_is_not(name: str) -> None:
    assert not torch.allclose(losses(name), losses("bce"))


def test_focal_loss_by_hand() -> None:
    first = losses("focal", focal_gamma=2.0, focal_alpha=0.25)[0]
    # σ(log 3) = 3/4: a positive at p = 3/4, one at 1/2; a negative at p = 1/4, one at 1/2
    expected = [
        0.5 * (1 / 4) ** 2 * -log(3 / 4),
        0.5 * (1 / 2) ** 2 * -log(1 / 2),
        1.5 * (1 / 4) ** 2 * -log(3 / 4),
        1.5 * (1 / 2) ** 2 * -log(1 / 2),
    ]
    np.testing.assert_allclose(first, expected, rtol=1e-6)


def test_class_balanced_weights_by_hand() -> None:
    weights = losses("class-balanced", class_balanced_beta=0.5) / losses("bce")
    # (1 − ½) / (1 − ½ⁿ) for n = 8, 2, 1, and 1 for the label without a document
    raw = np.array([0.5 / (1 - 1 / 256), 0.5 / (3 / 4), 1.0, 1.0])
    np.testing.assert_allclose(weights, np.tile(raw / raw.mean(), (2, 1)), rtol=1e-5)


def test_distribution_balanced_loss_by_hand() -> None:
    first = losses("distribution-balanced", focal_gamma=1.0)[0]
    # Document 1 has the labels of 8 and 2 documents: Σ y/n = 1/8 + 1/2 = 5/8
    ratios = [(1 / 8) / (5 / 8), (1 / 2) / (5 / 8), 1 / (5 / 8)]  # 0.2, 0.8, 1.6
    weights = [0.1 + sigmoid(10 * (ratio - 0.9)) for ratio in ratios]
    shifted = [
        log(3) - 0.05 * log(10 / 8 - 1),
        0.0 - 0.05 * log(10 / 2 - 1),
        -log(3) - 0.05 * log(10 / 1 - 1),
    ]
    expected = [weights[j] * (1 - sigmoid(shifted[j])) * -log(sigmoid(shifted[j])) for j in (0, 1)]
    scaled = 2 * shifted[2]  # a negative: logit times λ = 2, loss over 2
    expected.append(weights[2] / 2 * sigmoid(scaled) * -log(sigmoid(-scaled)))
    np.testing.assert_allclose(first[:3], expected, rtol=1e-5)


def test_a_document_without_labels_is_not_reweighted_as_if_drawn_too_often() -> None:
    parameters = NEUTRAL["distribution-balanced"] | {"rebalance_beta": 10.0, "rebalance_alpha": 0.1}
    second = (losses("distribution-balanced", **parameters) / losses("bce"))[1]
    np.testing.assert_allclose(second, [0.1 + sigmoid(10 * (1 - 0.9))] * 4, rtol=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_some_labels_of_each_document_have_the_losses_they_have_among_all(name: str) -> None:
    loss = label_loss(LossSettings(loss=name), TARGETS)
    label_ids = torch.tensor([[3, 1, 0], [2, 0, 1]])  # all positives are among them
    some = loss(LOGITS.gather(1, label_ids), LABELS.gather(1, label_ids), label_ids)
    torch.testing.assert_close(some, loss(LOGITS, LABELS).gather(1, label_ids))


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_slopes_stay_finite(name: str) -> None:
    logits = torch.tensor([[-80.0, 80.0, 1000.0, -1000.0]] * 2, requires_grad=True)
    loss = label_loss(LossSettings(loss=name), TARGETS)(logits, LABELS).sum()
    loss.backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(loss)
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_a_label_of_every_document_has_a_finite_loss() -> None:
    everywhere = LabelMatrix(np.ones((3, 2), np.float32))
    loss = label_loss(LossSettings(loss="distribution-balanced"), everywhere)
    assert torch.isfinite(loss(torch.zeros(3, 2), torch.ones(3, 2))).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "foccal"}, "Unknown loss 'foccal'. Did you mean 'focal'"),
        ({"class_balanced_beta": 1.0}, "class_balanced_beta must lie in 0 to 1, got 1.0"),
        ({"focal_gamma": -1.0}, "focal_gamma must lie in 0 to inf, got -1.0"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        label_loss(LossSettings(**settings), TARGETS)


def test_the_choice_reaches_the_encoder_and_changes_what_it_learns() -> None:
    documents = LabelledTexts(["red apple", "green pear", "red pear"] * 4, TARGETS[[0, 1, 2] * 4])
    sizes: dict[str, Any] = {"embedding_dim": 4, "hidden_dim": 3, "attention_dim": 2}
    biases = {}
    for name in LOSSES:
        encoder = BiLstmEncoder(**sizes, instance_dim=4, max_epochs=4, device="cpu", loss=name)
        rows = encoder.fit(documents).stage1_rows_
        assert rows is not None
        biases[name] = rows.bias
    for name in LOSSES[1:]:
        assert not np.allclose(biases[name], biases["bce"])
