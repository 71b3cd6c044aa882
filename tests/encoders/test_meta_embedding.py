"""Dynamic meta-embedding: memory, reach and strength, with numbers worked out by hand."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from piran.encoders.meta_embedding import (
    MetaEmbedding,
    MetaEmbeddingNetwork,
    mean_instances,
    memory_loss,
)

CENTROIDS = np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]], dtype=np.float32)
IS_KNOWN = np.array([True, True, False])


@pytest.fixture
def part() -> MetaEmbedding:
    """Two known labels at (3, 0) and (0, 4), an unknown third; e = tanh(1) in each number."""
    embedding = MetaEmbedding(2, 3)
    stage1 = nn.Linear(2, 3)
    with torch.no_grad():
        stage1.weight.zero_()
        stage1.bias.copy_(torch.tensor([np.log(3.0), 0.0, 9.0]))
        embedding.selector.weight.zero_()
        embedding.selector.bias.fill_(1.0)
    embedding.begin(CENTROIDS, IS_KNOWN, stage1)
    return embedding


def test_the_memory_begins_at_the_mean_instances_of_the_labels() -> None:
    instances = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 5.0]], dtype=np.float32)
    targets = csr_array(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], dtype=np.float32))
    expected = [[2, 1], [3, 2], [0, 0]]
    np.testing.assert_allclose(mean_instances(instances, targets), expected)


def test_coefficients_come_from_the_rows_of_stage_1_and_leave_unknown_labels_out(
    part: MetaEmbedding,
) -> None:
    coefficients = part.coefficients(torch.zeros(1, 2))
    torch.testing.assert_close(coefficients, torch.tensor([[0.75, 0.25, 0.0]]))


def test_reach_is_ten_over_the_distance_to_the_nearest_known_centroid(part: MetaEmbedding) -> None:
    near_unknown, at_first = torch.tensor([[0.0, 2.0]]), torch.tensor([[3.0, 0.0]])
    torch.testing.assert_close(part.reach(near_unknown), torch.tensor([[5.0]]))
    torch.testing.assert_close(part.reach(at_first), torch.tensor([[10_000.0]]))


def test_the_meta_embedding_agrees_with_numbers_worked_out_by_hand(part: MetaEmbedding) -> None:
    instance = torch.tensor([[0.0, 2.0]])
    # oM = .75 (3, 0) + .25 (0, 4) = (2.25, 1); reach 5
    chosen = np.tanh(1.0) * np.array([2.25, 1.0])
    expected = torch.tensor(5 * (np.array([[0.0, 2.0]]) + chosen), dtype=torch.float32)
    torch.testing.assert_close(part(instance), expected)


class Given(nn.Module):
    """An extractor that takes instances for word numbers."""

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        return token_ids


@pytest.mark.parametrize("has_memory", [True, False])
def test_the_strength_of_the_logits_grows_with_the_length(has_memory: bool) -> None:
    network = MetaEmbeddingNetwork(Given(), 2, 3, has_memory=has_memory)
    network.meta_embedding.begin(CENTROIDS, IS_KNOWN, nn.Linear(2, 3))
    instances = torch.tensor([[0.5, 0.5], [6.0, -8.0]])
    joined = network.meta_embedding(instances) if has_memory else instances
    length = joined.norm(dim=1, keepdim=True)
    cosines = torch.cosine_similarity(joined[:, None], network.classifier.weight[None], dim=2)
    expected = 16 * length / (1 + length) * cosines + network.classifier.bias
    torch.testing.assert_close(network(instances, torch.ones(2)), expected)


def test_the_memory_loss_agrees_with_numbers_worked_out_by_hand() -> None:
    distances = torch.tensor([[1.0, 2.0, torch.inf], [3.0, 2.0, torch.inf], [2.0, 1.0, torch.inf]])
    targets = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    # attract: (1 + 4)/2, 9 and 0 → mean 23/6, halved; negatives 4, 4, 1 → mean 3, 10 − 3 = 7
    loss = memory_loss(distances, targets, margin=10.0, repel=0.01)
    assert float(loss) == pytest.approx(0.5 * (2.5 + 9 + 0) / 3 + 0.01 * 7)
    satisfied = memory_loss(distances, targets, margin=2.0, repel=0.01)
    assert float(satisfied) == pytest.approx(0.5 * (2.5 + 9 + 0) / 3)


def test_the_memory_loss_draws_centroids_to_their_documents() -> None:
    part = MetaEmbedding(2, 1)
    optimizer = torch.optim.SGD([part.memory], lr=0.5)
    instances, targets = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.ones(2, 1)
    for _ in range(60):
        optimizer.zero_grad()
        memory_loss(part.distances(instances), targets, margin=0.0, repel=0.0).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    torch.testing.assert_close(part.memory.detach(), torch.tensor([[2.0, 3.0]]), atol=1e-3, rtol=0)
