"""The validation score."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from piran.training.scoring import micro_f1_score


class FirstWord(nn.Module):
    """Logits are +1 for the label of the first word's number, -1 for the others."""

    def __init__(self) -> None:
        super().__init__()
        self.size = nn.Parameter(torch.ones(()))

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        return self.size * (2 * nn.functional.one_hot(token_ids[:, 0], 4) - 1)


def test_the_score_is_micro_f1_at_one_half() -> None:
    targets = csr_array(np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0]], dtype=np.float32))
    token_ids = [np.array([0]), np.array([1, 2]), np.array([3, 3, 3])]
    # Two of three predictions are right, two of four true labels are found.
    assert micro_f1_score(token_ids, targets)(FirstWord()) == pytest.approx(2 * 2 / (3 + 4))
