"""The training loop, on a network small enough to follow."""

import math
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from piran.data.batches import Batch
from piran.errors import DataError, SettingError
from piran.progress import watched_by
from piran.training.loop import (
    Hook,
    LoopState,
    TrainingLoop,
    TrainingOutcome,
    TrainingSet,
    apply_network,
    classification_loss,
)
from piran.types import IntArray

N_WORDS, N_LABELS = 12, 3


class BagOfWords(nn.Module):
    """Logits are the mean of a row for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(N_WORDS, N_LABELS, padding_idx=0)
        self.dropout = nn.Dropout(0.2)
        nn.init.zeros_(self.rows.weight)

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        total: Tensor = self.dropout(self.rows(token_ids)).sum(1)
        return total / lengths[:, None]


@pytest.fixture(scope="module")
def training_set() -> TrainingSet:
    """Label j where word 2 + j occurs."""
    generator = np.random.default_rng(0)
    token_ids = [generator.integers(2, N_WORDS, size=n) for n in generator.integers(1, 9, 100)]
    targets = [[float(2 + label in ids) for label in range(N_LABELS)] for ids in token_ids]
    return TrainingSet(token_ids, csr_array(np.array(targets, dtype=np.float32)))


def trained(
    training_set: TrainingSet,
    loop: TrainingLoop,
    score: Callable[[nn.Module], float] | None = None,
) -> tuple[BagOfWords, TrainingOutcome]:
    network = BagOfWords()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
    return network, loop.run(network, optimizer, training_set, score)


def scores(*values: float) -> Callable[[nn.Module], float]:
    """A score that takes these values in turn, then stays at zero."""
    remaining: Iterator[float] = chain(values, repeat(0.0))
    return lambda network: next(remaining)


def run(training_set: TrainingSet, loop: TrainingLoop, *values: float) -> TrainingOutcome:
    return trained(training_set, loop, scores(*values))[1]


def test_the_loss_falls_and_the_labels_are_learned(training_set: TrainingSet) -> None:
    outcome = trained(training_set, TrainingLoop(max_epochs=25, batch_size=10))[1]
    losses = [entry["loss"] for entry in outcome.history]
    assert losses[0] == pytest.approx(N_LABELS * math.log(2), rel=0.2)  # all logits begin at zero
    assert losses[-1] < 0.7 * losses[0]
    assert outcome.stop_reason == "max epochs"
    assert outcome.best_epoch == 25


def test_the_loss_is_summed_over_labels_and_averaged_over_documents() -> None:
    batch = Batch(torch.ones(2, 1, dtype=torch.long), torch.ones(2), torch.arange(2))
    targets = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    loss = classification_loss(BagOfWords(), batch, targets)
    assert loss.item() == pytest.approx(3 * math.log(2))


def test_the_same_seed_gives_the_same_weights(training_set: TrainingSet) -> None:
    weights = [
        trained(training_set, TrainingLoop(max_epochs=2, seed=seed))[0].rows.weight
        for seed in (4, 4, 5)
    ]
    assert weights[0].equal(weights[1])
    assert not weights[0].equal(weights[2])


def test_training_leaves_the_global_random_numbers_alone(training_set: TrainingSet) -> None:
    network = BagOfWords()
    optimizer = torch.optim.Adam(network.parameters())
    before = torch.get_rng_state()
    TrainingLoop(max_epochs=1).run(network, optimizer, training_set)
    assert torch.get_rng_state().equal(before)


def test_training_stops_when_the_score_no_longer_rises(training_set: TrainingSet) -> None:
    outcome = run(training_set, TrainingLoop(max_epochs=9, patience=2), 0.1, 0.3, 0.3, 0.2)
    assert outcome.stop_reason == "early stopping"
    assert outcome.best_epoch == 2
    assert [entry["score"] for entry in outcome.history] == [0.1, 0.3, 0.3, 0.2]


def test_a_best_epoch_that_is_the_last_is_called_not_converged(training_set: TrainingSet) -> None:
    assert run(training_set, TrainingLoop(max_epochs=2), 0.1, 0.2).stop_reason == "not converged"


def test_where_the_schedule_ends_the_best_epoch_may_be_the_last(
    training_set: TrainingSet,
) -> None:
    class Planned(Hook):
        fixes_length = True

    loop = TrainingLoop(max_epochs=2, hooks=[Planned()])
    assert run(training_set, loop, 0.1, 0.2).stop_reason == "max epochs"


def test_without_patience_all_epochs_are_done(training_set: TrainingSet) -> None:
    outcome = run(training_set, TrainingLoop(max_epochs=6, patience=None), 0.5)
    assert len(outcome.history) == 6
    assert outcome.stop_reason == "max epochs"


def test_a_score_that_is_not_a_number_still_leaves_weights(training_set: TrainingSet) -> None:
    outcome = run(training_set, TrainingLoop(max_epochs=2, patience=None), math.nan, math.nan)
    assert outcome.best_epoch == 1


def test_the_weights_of_the_best_epoch_are_kept(training_set: TrainingSet) -> None:
    seen: list[Tensor] = []

    def score(network: nn.Module) -> float:
        assert not network.training
        seen.append(next(network.parameters()).detach().clone())
        return float(len(seen) == 2)

    network, _ = trained(training_set, TrainingLoop(max_epochs=4), score)
    assert network.rows.weight.equal(seen[1])


class Recorder(Hook):
    """Writes down what it is told, and stops learning after the first epoch."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def before_epoch(self, state: LoopState) -> None:
        self.calls.append("before_epoch")

    def before_step(self, state: LoopState) -> None:
        self.calls.append("before_step")
        norms = [
            float(weight.grad.norm())
            for weight in state.network.parameters()
            if weight.grad is not None
        ]
        assert max(norms) <= 0.0101
        if state.epoch > 1:
            state.optimizer.param_groups[0]["lr"] = 0.0

    def before_score(self, state: LoopState) -> None:
        self.calls.append("before_score")

    def after_epoch(self, state: LoopState, entry: dict[str, float]) -> None:
        self.calls.append("after_epoch")
        entry["learning_rate"] = state.optimizer.param_groups[0]["lr"]


def test_hooks_see_clipped_gradients_and_may_change_learning(training_set: TrainingSet) -> None:
    hook = Recorder()
    loop = TrainingLoop(max_epochs=2, batch_size=50, clip_norm=0.01, hooks=[hook])
    outcome = run(training_set, loop, 0.0)
    one_epoch = ["before_epoch", "before_step", "before_step", "before_score", "after_epoch"]
    assert hook.calls == one_epoch * 2
    assert [entry["learning_rate"] for entry in outcome.history] == [0.1, 0.0]


def test_a_hook_that_overrides_nothing_changes_nothing(training_set: TrainingSet) -> None:
    plain = run(training_set, TrainingLoop(max_epochs=1), 0.0)
    hooked = run(training_set, TrainingLoop(max_epochs=1, hooks=[Hook()], clip_norm=None), 0.0)
    assert plain.history[0]["score"] == hooked.history[0]["score"]


def test_a_sampler_chooses_the_documents_of_an_epoch(training_set: TrainingSet) -> None:
    seen: list[int] = []

    def loss(network: nn.Module, batch: Batch, targets: Tensor) -> Tensor:
        seen.extend(batch.documents.tolist())
        return classification_loss(network, batch, targets)

    def sample(generator: torch.Generator) -> IntArray:
        return np.array([3, 3, 8])

    dense = training_set.targets_of(torch.arange(100)).numpy()
    sampled = TrainingSet(training_set.token_ids, dense, sample)
    trained(sampled, TrainingLoop(max_epochs=2, batch_loss=loss))
    assert sorted(seen) == [3, 3, 3, 3, 8, 8]


def test_a_loss_that_is_not_finite_stops_with_advice(training_set: TrainingSet) -> None:
    loop = TrainingLoop(batch_loss=lambda network, batch, targets: torch.tensor(math.nan))
    with pytest.raises(
        SettingError, match="became nan in epoch 1, step 1; lower the learning rate"
    ):
        trained(training_set, loop)


@pytest.mark.parametrize("setting", ["max_epochs", "batch_size", "patience"])
def test_settings_below_one_are_refused(setting: str) -> None:
    with pytest.raises(SettingError, match=f"{setting} must be at least 1, got 0"):
        TrainingLoop(**{setting: 0})  # type: ignore[arg-type]


def test_documents_and_targets_must_match() -> None:
    with pytest.raises(DataError, match="1 documents stand beside 2 rows of targets"):
        TrainingSet([np.array([1])], np.zeros((2, 3)))
    with pytest.raises(DataError, match="no document to train on"):
        TrainingSet([], np.zeros((0, 3)))


def test_outputs_keep_the_order_and_do_not_depend_on_the_batch(training_set: TrainingSet) -> None:
    network = trained(training_set, TrainingLoop(max_epochs=1))[0].train()
    together = apply_network(network, training_set.token_ids)
    alone = [apply_network(network, [ids])[0] for ids in training_set.token_ids]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert together.dtype == np.float32
    assert network.training


def test_no_documents_have_no_outputs() -> None:
    with pytest.raises(DataError, match="no document to predict"):
        apply_network(BagOfWords(), [])


class Counter:
    """A watcher that counts steps by task."""

    def __init__(self) -> None:
        self.totals: list[tuple[str, int | None]] = []
        self.steps = 0
        self.descriptions: list[str] = []

    def start(self, description: str, total: int | None) -> int:
        self.totals.append((description, total))
        return 0

    def advance(self, task: int, steps: int) -> None:
        self.steps += steps

    def describe(self, task: int, description: str) -> None:
        self.descriptions.append(description)

    def finish(self, task: int) -> None:
        pass


def test_progress_counts_the_steps(training_set: TrainingSet) -> None:
    counter = Counter()
    with watched_by(counter):
        trained(training_set, TrainingLoop(max_epochs=3, batch_size=30))
    assert counter.totals == [("Training", 12)]
    assert counter.steps == 12
    assert counter.descriptions == [f"Training, epoch {epoch} of 3" for epoch in (1, 2, 3)]
