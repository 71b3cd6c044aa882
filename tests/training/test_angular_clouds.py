"""Feature clouds: angles added without arccos, variances of labels, and what tail labels lack."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from piran.training.angular_clouds import AngleStatistics, FeatureClouds, widened_cosines
from piran.training.loop import LoopState
from piran.types import FloatArray


def at_angles(*angles: float) -> FloatArray:
    return np.array([[np.cos(angle), np.sin(angle)] for angle in angles])


def test_widened_cosines_are_those_of_the_sum_of_the_angles() -> None:
    angles = torch.linspace(0.05, 3.0, 20, dtype=torch.float64)[:, None]
    added = torch.linspace(0.0, 2.0, 15, dtype=torch.float64)[None]
    expected = torch.cos((angles + added).clamp(max=torch.pi))
    found = widened_cosines(torch.cos(angles).expand(20, 15), added.expand(20, 15))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_no_angle_added_changes_nothing_at_all() -> None:
    cosines = torch.tensor([-1.0, -0.3, 0.0, 0.7, 1.0])
    assert widened_cosines(cosines, torch.zeros(5)).equal(cosines)


@pytest.mark.parametrize("cosine", [-1.0, 1.0])
def test_slopes_stay_finite_where_those_of_arccos_do_not(cosine: float) -> None:
    cosines = torch.tensor([cosine], requires_grad=True)
    widened_cosines(cosines, torch.tensor([0.3])).sum().backward()  # type: ignore[no-untyped-call]
    assert cosines.grad is not None
    assert torch.isfinite(cosines.grad).all()


def test_an_angle_beyond_a_half_turn_ends_at_minus_one() -> None:
    assert float(widened_cosines(torch.tensor([0.9]), torch.tensor([7.0]))) == -1.0


def test_variances_are_those_of_the_angles_to_the_centre() -> None:
    instances = 5 * at_angles(0.1, 0.3, 1.0, 2.0)  # lengths do not count
    targets = csr_array(np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0]], dtype=np.float32))
    statistics = AngleStatistics.of(instances, targets)
    mean = at_angles(0.1, 0.3, 1.0).mean(axis=0)
    centre = np.arctan2(mean[1], mean[0])
    expected = np.abs(np.array([0.1, 0.3, 1.0]) - centre).var()
    np.testing.assert_allclose(statistics.variances, [expected, 0, 0], atol=1e-12)
    np.testing.assert_allclose(statistics.centres[0], at_angles(centre)[0])


def test_momentum_keeps_a_share_of_the_earlier_statistics() -> None:
    targets = csr_array(np.ones((3, 1), dtype=np.float32))
    before = AngleStatistics.of(at_angles(0.0, 0.2, 1.2), targets)
    later = AngleStatistics.of(at_angles(0.0, 0.0, 0.0), targets, before, momentum=0.75)
    np.testing.assert_allclose(later.variances, 0.75 * before.variances)  # all three now agree
    kept = 0.75 * before.centres + 0.25 * at_angles(0.0)
    np.testing.assert_allclose(later.centres, kept / np.linalg.norm(kept))


def test_a_cloud_is_what_a_tail_label_lacks_in_variance() -> None:
    statistics = AngleStatistics(np.zeros((5, 2)), np.array([0.05, 0.03, 0.01, 0.09, 0.0]))
    is_head = np.array([True, True, False, False, False])
    is_tail = np.array([False, False, True, True, False])
    deviations = statistics.cloud_deviations(is_head, is_tail)
    np.testing.assert_allclose(deviations, [0, 0, np.sqrt(0.04 - 0.01), 0, 0])
    assert not statistics.cloud_deviations(is_tail & is_head, is_tail).any()


class Given(nn.Module):
    """An extractor that places each word number at its own angle."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        angles = token_ids[:, 0] / 10
        return torch.stack([torch.cos(angles), torch.sin(angles)], dim=1)


def clouds() -> FeatureClouds:
    """Head label 0 at angles .1, .6 and 1.5, tail label 1 at .1 twice."""
    token_ids = [np.array([number]) for number in (1, 6, 15, 1, 1)]
    targets = csr_array(np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.float32))
    groups = (np.array([True, False]), np.array([False, True]))
    return FeatureClouds(Given(), token_ids, targets, groups, first_epoch=2, momentum=0.5, seed=0)


def state(epoch: int) -> LoopState:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    return LoopState(Given(), optimizer, n_steps=1, epoch=epoch)


def test_clouds_open_at_their_first_epoch() -> None:
    hook = clouds()
    hook.before_epoch(state(1))
    assert not hook.deviations.any()
    hook.before_epoch(state(2))
    assert hook.deviations[0] == 0
    assert hook.deviations[1] > 0.1


def test_angles_are_drawn_for_a_documents_own_tail_labels_alone() -> None:
    hook = clouds()
    hook.before_epoch(state(2))
    targets = torch.tensor([[1.0, 1.0], [1.0, 0.0]]).repeat(20_000, 1)
    angles = hook.angles(targets)
    assert not angles[:, 0].any()
    assert not angles[1::2].any()
    drawn = angles[::2, 1]
    assert (drawn >= 0).all()
    spread = float(drawn.square().mean().sqrt())
    assert spread == pytest.approx(float(hook.deviations[1]), rel=0.05)
