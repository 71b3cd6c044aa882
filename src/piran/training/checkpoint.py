"""Checkpoints: where a training stands after each epoch, so that one that was stopped can go on.

Inside :func:`checkpoints` the training loop keeps them; :func:`resumable` says of what, so that only the
same training of the same network on the same documents finds them again. They hold safetensors and
JSON, appear whole or not at all, and are gone when the block ends well.
"""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor

from piran.errors import ModelFolderError
from piran.storage import load_state, new_folder, save_state

FOLDER = "checkpoints"
"""Name of the folder of checkpoints among other things that are kept."""

_STATE = "state"
_EPOCH = "epoch-"
_log = logging.getLogger(__name__)

Tell = Callable[[str], object]
"""Tells the user a line."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A training at the end of an epoch."""

    facts: dict[str, Any]
    """What JSON can say, ``epoch`` among it."""
    tensors: dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The folder that one training keeps its last snapshot in."""

    folder: Path
    tell: Tell
    is_resumed: bool = True
    """Whether to go on from what is there; otherwise it is only written."""

    def read(self) -> Snapshot | None:
        """Return the last snapshot; None if there is none, or none that can be read."""
        if not self.is_resumed:
            return None
        for folder in sorted(self.folder.glob(f"{_EPOCH}*"), key=_epoch_of, reverse=True):
            try:
                return _read(folder)
            except (ModelFolderError, KeyError, TypeError, ValueError) as error:
                self.ignore(error)
        return None

    def ignore(self, error: Exception) -> None:
        """Tell that what is there is of no use; training then begins anew."""
        _log.warning("The checkpoint in %s is ignored: %s", self.folder, error)

    def write(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the earlier one; a disk that is full stops no training."""
        target = self.folder / f"{_EPOCH}{snapshot.facts['epoch']}"
        arrays = {name: tensor.numpy() for name, tensor in snapshot.tensors.items()}
        scalars = [name for name, array in arrays.items() if not array.ndim]  # saved as one number
        try:
            with new_folder(target) as folder:
                save_state(folder, _STATE, {**snapshot.facts, "scalars": scalars}, arrays)
        except (OSError, SafetensorError) as error:
            _log.warning("Training goes on without a checkpoint in %s: %s", self.folder, error)
            return
        for earlier in self.folder.iterdir():
            if earlier != target:
                shutil.rmtree(earlier, ignore_errors=True)

    def remove(self) -> None:
        """Take the folder away, and the one above it if that was all it held."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):
            self.folder.parent.rmdir()


def _epoch_of(folder: Path) -> int:
    number = folder.name.removeprefix(_EPOCH)
    return int(number) if number.isdigit() else 0


def _read(folder: Path) -> Snapshot:
    facts, arrays = load_state(folder, _STATE)
    for name in facts["scalars"]:
        arrays[name] = arrays[name].reshape(())
    # What torch makes of numpy's memory could not be written to
    return Snapshot(
        facts, {name: torch.tensor(np.asarray(array)) for name, array in arrays.items()}
    )


@dataclass(eq=False)
class _Place:
    """Where checkpoints are kept, and those of this block."""

    folder: Path
    is_resumed: bool
    tell: Tell
    seconds: float = 0.0
    """What the trainings that went on here had taken before."""
    used: list[Checkpoint] = field(default_factory=list)


@dataclass(eq=False)
class _Training:
    """What is trained, by its key; it may take several runs of the loop."""

    key: str
    used: list[Checkpoint] = field(default_factory=list)


_place: ContextVar[_Place | None] = ContextVar("piran_checkpoints", default=None)
_training: ContextVar[_Training | None] = ContextVar("piran_resumable", default=None)


@contextmanager
def checkpoints(
    folder: Path | None, *, is_resumed: bool = True, tell: Tell = _log.info
) -> Iterator[None]:
    """Keep checkpoints in ``folder`` inside the block, and go on from those that are there.

    After an error they stay; otherwise they are removed at the end of the block. None for a folder
    keeps none. ``tell`` hears when a training goes on.
    """
    place = None if folder is None else _Place(Path(folder), is_resumed, tell)
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)
    for checkpoint in place.used if place else ():
        checkpoint.remove()


@contextmanager
def resumable(key: Callable[[], str], *, is_kept: bool = False) -> Iterator[None]:
    """Say what is trained inside the block: ``key`` stands for everything that decides its result.

    It is asked for only where checkpoints are kept. ``is_kept``: what is trained has been saved
    elsewhere when the block ends, so its checkpoints are of no more use.
    """
    training = _Training(key()) if _place.get() else None
    token = _training.set(training)
    try:
        yield
    finally:
        _training.reset(token)
    for checkpoint in training.used if training and is_kept else ():
        checkpoint.remove()


def resumed_seconds() -> float:
    """Return how long the trainings that went on in this block had taken before they were stopped."""
    place = _place.get()
    return 0.0 if place is None else place.seconds


def count_resumed(seconds: float) -> None:
    """Add what a training that goes on had taken before."""
    place = _place.get()
    if place is not None:
        place.seconds += seconds


def new_checkpoint() -> Checkpoint | None:
    """Return the checkpoint of the run of the loop that begins now; None where none is kept."""
    place, training = _place.get(), _training.get()
    if place is None or training is None:
        return None
    name = f"{training.key[:32]}-{len(training.used) + 1}"  # the same training has the same runs
    checkpoint = Checkpoint(place.folder / name, place.tell, place.is_resumed)
    place.used.append(checkpoint)
    training.used.append(checkpoint)
    return checkpoint


def optimizer_snapshot(optimizer: torch.optim.Optimizer) -> Snapshot:
    """Return the settings of the optimizer's groups, and what it remembers of each weight."""
    state = optimizer.state_dict()
    groups = [
        {name: value for name, value in group.items() if name != "params"}
        for group in state["param_groups"]
    ]
    tensors = {
        f"{number}.{name}": value.detach().cpu().clone()
        for number, entries in state["state"].items()
        for name, value in entries.items()
    }
    return Snapshot({"groups": groups}, tensors)


def restore_optimizer(optimizer: torch.optim.Optimizer, snapshot: Snapshot) -> None:
    """Put an optimizer of the same weights where the snapshot was taken."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in snapshot.tensors.items():
        number, _, name = key.partition(".")
        if tensor.ndim and tensor.shape != weights[int(number)].shape:
            raise ValueError(f"{name} of weight {number} has the shape {tuple(tensor.shape)}.")
        state.setdefault(int(number), {})[name] = tensor
    groups = []
    for group, saved in zip(
        optimizer.state_dict()["param_groups"], snapshot.facts["groups"], strict=True
    ):
        as_before = {k: tuple(v) if isinstance(v, list) else v for k, v in saved.items()}
        groups.append({**group, **as_before})
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def random_states(generator: torch.Generator, device: torch.device) -> dict[str, Tensor]:
    """Return the states of the loop's random numbers and of torch's own."""
    states = {"loop": generator.get_state(), "torch": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def restore_random(
    states: dict[str, Tensor], generator: torch.Generator, device: torch.device
) -> None:
    """Let random numbers go on from these states."""
    generator.set_state(states["loop"])
    torch.set_rng_state(states["torch"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
