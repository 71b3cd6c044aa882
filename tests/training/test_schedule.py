"""Schedules: rates rise, fall to zero, and go on where a training was stopped."""

import pytest
import torch
from torch import nn

from piran.training.loop import LoopState
from piran.training.schedule import LinearSchedule


def rates(schedule: LinearSchedule, n_steps: int, first: int = 0) -> list[list[float]]:
    network = nn.Linear(2, 1)
    groups = [{"params": [network.weight], "lr": 1.0}, {"params": [network.bias], "lr": 0.1}]
    state = LoopState(network, torch.optim.SGD(groups), n_steps=n_steps)
    seen = []
    for state.step in range(first, n_steps):
        schedule.before_step(state)
        seen.append([group["lr"] for group in state.optimizer.param_groups])
    return seen


def test_rates_rise_then_fall_towards_zero() -> None:
    first = [pair[0] for pair in rates(LinearSchedule(0.2), 10)]
    assert first == pytest.approx([0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8])


def test_each_group_keeps_its_own_rate() -> None:
    for large, small in rates(LinearSchedule(0.3), 7):
        assert small == pytest.approx(large / 10)


def test_without_warm_up_the_first_step_is_the_longest() -> None:
    assert rates(LinearSchedule(), 4)[0][0] == 1
    assert LinearSchedule().share_at(4, 4) == 0


def test_it_says_that_it_fixes_the_length_of_training() -> None:
    assert LinearSchedule.fixes_length
