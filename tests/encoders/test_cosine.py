"""The cosine classifier: directions count, lengths do not."""

import torch

from piran.encoders.cosine import CosineClassifier


def classifier() -> CosineClassifier:
    layer = CosineClassifier(2, 2, scale=4.0)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[3.0, 0.0], [0.0, -0.5]]))
        layer.bias.copy_(torch.tensor([0.25, -1.0]))
    return layer


def test_logits_agree_with_numbers_worked_out_by_hand() -> None:
    logits = classifier()(torch.tensor([[3.0, 4.0]]))  # cosines 3/5 and −4/5
    torch.testing.assert_close(logits, torch.tensor([[4 * 0.6 + 0.25, -4 * 0.8 - 1.0]]))


def test_the_length_of_an_instance_does_not_count() -> None:
    instances = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(classifier()(instances), classifier()(100 * instances))


def test_the_scale_is_learned_only_where_asked() -> None:
    assert not CosineClassifier(2, 2).scale.requires_grad
    assert CosineClassifier(2, 2, learns_scale=True).scale.requires_grad
