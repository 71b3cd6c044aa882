"""The training loop, the only one: every network of the library is trained here.

A network maps ``(token_ids, lengths)`` to logits (n_documents, n_labels). What differs between
methods comes in as parts: the optimizer with its parameter groups, the loss of a batch, the score
of an epoch, the documents an epoch takes, and :class:`Hook` for schedules, clipping rules or
averaged weights.
"""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from piran.data.batches import Batch, shuffled_batches, sorted_batches
from piran.errors import DataError, SettingError
from piran.progress import Advance, task
from piran.training.checkpoint import (
    Checkpoint,
    Snapshot,
    count_resumed,
    new_checkpoint,
    optimizer_snapshot,
    random_states,
    restore_optimizer,
    restore_random,
)
from piran.training.runtime import seeded, seeded_generator
from piran.types import FloatArray, IntArray, LabelMatrix

StopReason = Literal["early stopping", "max epochs", "not converged"]
"""Early stopping: no better score for ``patience`` epochs. Max epochs: all epochs done, the best
before the last. Not converged: all done and the last was the best, so more would probably help; with
a schedule that ends with the last epoch (:attr:`Hook.fixes_length`) all epochs done are max epochs."""
BatchLoss = Callable[[nn.Module, Batch, Tensor], Tensor]
"""From the network, a batch and its targets (n_documents, n_labels) to a scalar to minimise."""
Score = Callable[[nn.Module], float]
"""A number to maximise, computed on validation documents after each epoch."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Documents as word numbers, with what the network shall say about each."""

    token_ids: Sequence[IntArray]
    targets: LabelMatrix | FloatArray
    """Shape (n_documents, n_labels), sparse or dense."""
    epoch_documents: Callable[[torch.Generator], IntArray] | None = None
    """Gives the indices of the documents of an epoch (a sampler); None: each document once."""

    def __post_init__(self) -> None:
        if len(self.token_ids) != self.targets.shape[0]:
            raise DataError(
                f"{len(self.token_ids)} documents stand beside {self.targets.shape[0]} rows of "
                "targets; give one row for each document."
            )
        if not len(self.token_ids):
            raise DataError("There is no document to train on; give at least one.")

    def targets_of(self, documents: Tensor) -> Tensor:
        """Return the targets of these documents, dense: (n_documents, n_labels), float32."""
        rows = self.targets[documents.numpy()]
        dense = rows.toarray() if isinstance(rows, csr_array) else rows
        return torch.from_numpy(np.asarray(dense, dtype=np.float32))


@dataclass
class LoopState:
    """Where training stands; hooks read it, and may change the network and the optimizer."""

    network: nn.Module
    optimizer: torch.optim.Optimizer
    n_steps: int
    """Steps in all, if no epoch is cut off by early stopping."""
    epoch: int = 0
    """The first epoch is 1."""
    step: int = 0
    """Steps done so far."""


class Hook:
    """Something done at fixed points of training; override what is needed."""

    fixes_length: ClassVar[bool] = False
    """Whether it plans training to its last epoch, for instance by a learning rate that falls to zero:
    more epochs are then not more of the same training, but another one."""

    def before_epoch(self, state: LoopState) -> None:
        """Act before the first step of an epoch."""

    def before_step(self, state: LoopState) -> None:
        """Act when the gradients of a step are there, clipped, and the weights not yet moved."""

    def before_score(self, state: LoopState) -> None:
        """Act after the last step of an epoch; the weights left here are scored and kept."""

    def after_epoch(self, state: LoopState, entry: dict[str, float]) -> None:
        """Act on the finished entry of the history; what is added to it is kept."""

    def snapshot(self) -> dict[str, Tensor]:
        """Return what it must know after an epoch to go on in another process, if anything."""
        return {}

    def restore(self, snapshot: dict[str, Tensor]) -> None:
        """Take up what :meth:`snapshot` returned."""


@dataclass(frozen=True)
class TrainingOutcome:
    """What training has to tell; the network itself holds the weights of ``best_epoch``."""

    history: list[dict[str, float]]
    """One entry an epoch: ``epoch``, ``loss`` (mean over documents) and, if scored, ``score``."""
    stop_reason: StopReason
    best_epoch: int
    """The one that was kept."""


def classification_loss(network: nn.Module, batch: Batch, targets: Tensor) -> Tensor:
    """Binary cross-entropy, equation (5): summed over the labels, mean over the documents."""
    logits = network(batch.token_ids, batch.lengths)  # (n_documents, n_labels)
    return binary_cross_entropy_with_logits(logits, targets, reduction="sum") / len(targets)


@dataclass(frozen=True, kw_only=True)
class TrainingLoop:
    """How to train: for how long, in what portions, and on what loss."""

    max_epochs: int = 20
    patience: int | None = 3
    """Epochs without a better score after which training stops; None: never."""
    batch_size: int = 64
    clip_norm: float | None = 5.0
    """Gradients are scaled down to this norm; None: never."""
    seed: int = 0
    batch_loss: BatchLoss = classification_loss
    hooks: Sequence[Hook] = field(default=())

    def __post_init__(self) -> None:
        for name in ("max_epochs", "batch_size", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingError(f"{name} must be at least 1, got {value}.")

    def run(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        documents: TrainingSet,
        score: Score | None = None,
    ) -> TrainingOutcome:
        """Train the network in place and leave it with the weights of its best epoch.

        Without a ``score``, and with a hook that plans to the last epoch, the last weights stay. The
        same seed gives the same weights; torch's global random state is as before afterwards. Where
        checkpoints are kept (:mod:`piran.training.checkpoint`), a training that was stopped goes on
        after its last epoch and gives the weights that it would have given.
        """
        n_batches = math.ceil(len(documents.token_ids) / self.batch_size)
        state = LoopState(network, optimizer, n_steps=self.max_epochs * n_batches)
        run = _Run(state, seeded_generator(self.seed), _Best(network), self.hooks)
        checkpoint = new_checkpoint()
        with seeded(self.seed), task("Training", total=state.n_steps) as progress:
            if checkpoint is not None and self._go_on(run, checkpoint):
                progress(state.step)
            while not self._is_over(run):
                start = time.perf_counter()
                state.epoch += 1
                progress.describe(f"Training, epoch {state.epoch} of {self.max_epochs}")
                loss = self._train_epoch(state, documents, run.generator, progress)
                run.history.append(self._finish_epoch(state, loss, score, run.best))
                run.seconds += time.perf_counter() - start
                if checkpoint is not None:
                    checkpoint.write(run.snapshot())
        if run.best.epoch == 0:
            return TrainingOutcome(run.history, "max epochs", state.epoch)
        run.best.restore()
        reason = self._stop_reason(state.epoch, run.best.epoch)
        return TrainingOutcome(run.history, reason, run.best.epoch)

    def _go_on(self, run: "_Run", checkpoint: Checkpoint) -> bool:
        """Take up an earlier training where there is one, and tell."""
        saved = checkpoint.read()
        if saved is None:
            return False
        fresh = run.snapshot()
        try:
            run.restore(saved)
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            checkpoint.ignore(error)
            run.restore(fresh)
            return False
        count_resumed(run.seconds)
        checkpoint.tell(f"Training goes on after epoch {run.state.epoch} of {self.max_epochs}.")
        return True

    @property
    def _is_planned(self) -> bool:
        """Whether a hook plans to the last epoch: an earlier one is then not done, however it scores."""
        return any(hook.fixes_length for hook in self.hooks)

    def _is_over(self, run: "_Run") -> bool:
        """Tell whether all epochs are done, or the last ones brought nothing."""
        epoch, best_epoch = run.state.epoch, run.best.epoch
        is_idle = bool(self.patience and best_epoch and epoch - best_epoch >= self.patience)
        return is_idle or epoch >= self.max_epochs

    def _train_epoch(
        self,
        state: LoopState,
        documents: TrainingSet,
        generator: torch.Generator,
        advance: Advance,
    ) -> float:
        for hook in self.hooks:
            hook.before_epoch(state)
        state.network.train()
        chosen = documents.epoch_documents(generator) if documents.epoch_documents else None
        total, count = 0.0, 0
        for batch in shuffled_batches(
            documents.token_ids,
            batch_size=self.batch_size,
            generator=generator,
            documents=chosen,
        ):
            targets = documents.targets_of(batch.documents)  # (n_documents, n_labels)
            total += self._step(state, batch, targets) * len(targets)
            count += len(targets)
            advance(1)
        return total / max(count, 1)

    def _step(self, state: LoopState, batch: Batch, targets: Tensor) -> float:
        device = device_of(state.network)
        state.optimizer.zero_grad()
        loss = self.batch_loss(state.network, batch.to(device), targets.to(device))
        value = float(loss.detach())
        if not math.isfinite(value):
            raise SettingError(
                f"The training loss became {value} in epoch {state.epoch}, step {state.step + 1}; "
                "lower the learning rate, or clip_norm."
            )
        loss.backward()  # type: ignore[no-untyped-call]
        if self.clip_norm is not None:
            nn.utils.clip_grad_norm_(state.network.parameters(), self.clip_norm)
        for hook in self.hooks:
            hook.before_step(state)
        state.optimizer.step()
        state.step += 1
        return value

    def _finish_epoch(
        self, state: LoopState, loss: float, score: Score | None, best: "_Best"
    ) -> dict[str, float]:
        for hook in self.hooks:
            hook.before_score(state)
        entry: dict[str, float] = {"epoch": state.epoch, "loss": loss}
        if score is not None:
            state.network.eval()
            entry["score"] = float(score(state.network))
            if not self._is_planned:
                best.offer(entry["score"], state.epoch)
        for hook in self.hooks:
            hook.after_epoch(state, entry)
        _log.info("Epoch %d: %s", state.epoch, entry)
        return entry

    def _stop_reason(self, last_epoch: int, best_epoch: int) -> StopReason:
        if best_epoch == self.max_epochs:
            return "not converged"
        if self.patience and last_epoch - best_epoch >= self.patience:
            return "early stopping"
        return "max epochs"


class _Best:
    """The best weights so far, in memory."""

    def __init__(self, network: nn.Module) -> None:
        self._network = network
        self.weights: dict[str, Tensor] = {}
        self.score = -math.inf
        self.epoch = 0
        """0 as long as none has been offered."""

    def offer(self, score: float, epoch: int) -> None:
        if score > self.score or not self.weights:
            self.score, self.epoch = score, epoch
            self.weights = _copied(self._network.state_dict())

    def restore(self) -> None:
        self._network.load_state_dict(self.weights)


@dataclass(eq=False)
class _Run:
    """Everything that changes while a network is trained."""

    state: LoopState
    generator: torch.Generator
    best: _Best
    hooks: Sequence[Hook]
    history: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    """What the epochs have taken, in this process and before."""

    def snapshot(self) -> Snapshot:
        """Return a copy of it, on the CPU."""
        state, best = self.state, self.best
        optimizer = optimizer_snapshot(state.optimizer)
        parts = {
            "network": _copied(state.network.state_dict()),
            "best": best.weights,
            "optimizer": optimizer.tensors,
            "random": random_states(self.generator, device_of(state.network)),
            **{f"hook{number}": hook.snapshot() for number, hook in enumerate(self.hooks)},
        }
        facts = {
            "epoch": state.epoch,
            "step": state.step,
            "seconds": self.seconds,
            "history": [dict(entry) for entry in self.history],
            "best_epoch": best.epoch,
            "best_score": best.score,
            "optimizer": optimizer.facts,
        }
        tensors = {
            f"{part}:{name}": tensor.cpu()
            for part, named in parts.items()
            for name, tensor in named.items()
        }
        return Snapshot(facts, tensors)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back, or on, to where a snapshot was taken."""
        facts, state = snapshot.facts, self.state
        parts: dict[str, dict[str, Tensor]] = {}
        for key, tensor in snapshot.tensors.items():
            part, _, name = key.partition(":")
            parts.setdefault(part, {})[name] = tensor
        state.network.load_state_dict(parts["network"])
        restore_optimizer(state.optimizer, Snapshot(facts["optimizer"], parts.get("optimizer", {})))
        restore_random(parts["random"], self.generator, device_of(state.network))
        for number, hook in enumerate(self.hooks):
            hook.restore(parts.get(f"hook{number}", {}))
        state.epoch, state.step = int(facts["epoch"]), int(facts["step"])
        self.seconds = float(facts["seconds"])
        self.history = [dict(entry) for entry in facts["history"]]
        self.best.weights = parts.get("best", {})
        self.best.epoch, self.best.score = int(facts["best_epoch"]), float(facts["best_score"])


def _copied(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in weights.items()}


def apply_network(
    network: nn.Module,
    token_ids: Sequence[IntArray],
    *,
    batch_size: int = 64,
    description: str = "Predicting",
    advance: Advance | None = None,
) -> FloatArray:
    """Return the network's output for each document, in their order: (n_documents, ...), float32.

    Dropout is off. Batches hold documents of similar length; neither their make-up nor the padding
    changes an output. ``advance`` belongs to a task that this is a part of; otherwise it is one itself.
    """
    was_training, device = network.training, device_of(network)
    network.eval()
    outputs: FloatArray | None = None
    progress = nullcontext(advance) if advance else task(description, total=len(token_ids))
    with torch.inference_mode(), progress as advance:
        for batch in sorted_batches(token_ids, batch_size=batch_size):
            batch = batch.to(device)
            output = network(batch.token_ids, batch.lengths).cpu().numpy()  # (batch, ...)
            if outputs is None:
                outputs = np.empty((len(token_ids), *output.shape[1:]), dtype=np.float32)
            outputs[batch.documents.numpy()] = output
            advance(len(output))
    network.train(was_training)
    if outputs is None:
        raise DataError("There is no document to predict; give at least one.")
    return outputs


def device_of(network: nn.Module) -> torch.device:
    """Return the device that the network's weights are on."""
    return next(network.parameters()).device
