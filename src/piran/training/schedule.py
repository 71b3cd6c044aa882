"""Schedules of the learning rate."""

from typing import ClassVar

from piran.training.loop import Hook, LoopState

_BEGIN = "initial_lr"
"""Key of a group's own learning rate, as in torch's schedules; a checkpoint keeps it too."""


class LinearSchedule(Hook):
    """Learning rates rise to their own value over the first steps, then fall to zero over the others."""

    fixes_length: ClassVar[bool] = True

    def __init__(self, warmup_share: float = 0.0) -> None:
        self.warmup_share = warmup_share
        """Share of all steps in which they rise."""

    def before_step(self, state: LoopState) -> None:
        """Set the learning rates of a step."""
        share = self.share_at(state.step, state.n_steps)
        for group in state.optimizer.param_groups:
            group["lr"] = group.setdefault(_BEGIN, group["lr"]) * share

    def share_at(self, step: int, n_steps: int) -> float:
        """Return what share of its own value a learning rate has after so many steps of all.

        >>> [LinearSchedule(0.5).share_at(step, 4) for step in range(5)]
        [0.5, 1.0, 1.0, 0.5, 0.0]
        """
        n_rising = round(self.warmup_share * n_steps)
        if step < n_rising:
            return (step + 1) / n_rising
        return max(n_steps - step, 0) / max(n_steps - n_rising, 1)
