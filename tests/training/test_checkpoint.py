"""Checkpoints: a training that was stopped gives exactly what it would have given."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from piran.encoders import LabelledTexts
from piran.encoders.bilstm import BiLstmEncoder
from piran.encoders.cache import fitted_encoder, stage1_cache
from piran.methods import METHODS, Method
from piran.methods.contract import small_corpus
from piran.progress import watched_by
from piran.training.checkpoint import Checkpoint, Snapshot, checkpoints, resumable
from piran.training.loop import Hook, LoopState, TrainingLoop, TrainingOutcome, TrainingSet
from piran.training.runtime import seeded
from piran.training.scoring import micro_f1_score

N_WORDS, N_LABELS = 12, 3
MAX_EPOCHS = 4


class BagOfWords(nn.Module):
    """Logits are the mean of a row for each word; with dropout, and a buffer of one number."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(N_WORDS, N_LABELS)
        self.dropout = nn.Dropout(0.3)
        self.n_batches = nn.Buffer(torch.tensor(0))
        nn.init.zeros_(self.rows.weight)

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        if self.training:
            self.n_batches.add_(1)
        total: Tensor = self.dropout(self.rows(token_ids)).sum(1)
        return total / lengths[:, None]


class Stop(Hook):
    """Ends the process, as it were, when an epoch begins, and counts those that were trained."""

    def __init__(self, at_epoch: int | None = None) -> None:
        self.at_epoch = at_epoch
        self.epochs: list[int] = []

    def before_epoch(self, state: LoopState) -> None:
        if state.epoch == self.at_epoch:
            raise KeyboardInterrupt
        self.epochs.append(state.epoch)


@pytest.fixture(scope="module")
def documents() -> TrainingSet:
    generator = np.random.default_rng(0)
    token_ids = [generator.integers(2, N_WORDS, size=n) for n in generator.integers(1, 9, 60)]
    targets = [[float(2 + label in ids) for label in range(N_LABELS)] for ids in token_ids]
    return TrainingSet(token_ids, csr_array(np.array(targets, dtype=np.float32)))


def train(
    documents: TrainingSet, hook: Hook, *, key: str = "bag", **settings: Any
) -> tuple[dict[str, Tensor], TrainingOutcome]:
    with seeded(0):
        network = BagOfWords()
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.1, fused=True)
    loop = TrainingLoop(max_epochs=MAX_EPOCHS, batch_size=8, hooks=[hook], **settings)
    assert isinstance(documents.targets, csr_array)
    score = micro_f1_score(documents.token_ids, documents.targets)
    with resumable(lambda: key):
        outcome = loop.run(network, optimizer, documents, score)
    return network.state_dict(), outcome


def stopped(documents: TrainingSet, folder: Path, at_epoch: int = 3, **settings: Any) -> None:
    with pytest.raises(KeyboardInterrupt), checkpoints(folder):
        train(documents, Stop(at_epoch), **settings)


def assert_same(
    first: tuple[dict[str, Tensor], TrainingOutcome],
    second: tuple[dict[str, Tensor], TrainingOutcome],
) -> None:
    assert first[1] == second[1]
    assert all(first[0][name].equal(weight) for name, weight in second[0].items())


def test_a_training_that_was_stopped_gives_the_same_weights(
    documents: TrainingSet, tmp_path: Path
) -> None:
    stopped(documents, tmp_path)
    hook, told = Stop(), list[str]()
    before = torch.get_rng_state()
    with checkpoints(tmp_path, tell=told.append):
        resumed = train(documents, hook)
    assert_same(train(documents, Stop()), resumed)
    assert hook.epochs == [3, 4]
    assert told == ["Training goes on after epoch 2 of 4."]
    assert torch.get_rng_state().equal(before)


def test_it_may_be_stopped_again_and_again(documents: TrainingSet, tmp_path: Path) -> None:
    for epoch in (2, 3, 4):
        stopped(documents, tmp_path, epoch)
    with checkpoints(tmp_path):
        resumed = train(documents, Stop())
    assert_same(train(documents, Stop()), resumed)


def test_a_finished_training_leaves_nothing(documents: TrainingSet, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    stopped(documents, folder)
    assert [path.name for path in folder.glob("*/*")] == ["epoch-2"]
    with checkpoints(folder):
        train(documents, Stop())
        assert [path.name for path in folder.glob("*/*")] == ["epoch-4"]
    assert not folder.exists()


def test_what_was_finished_is_not_trained_again(documents: TrainingSet, tmp_path: Path) -> None:
    def two_stages(first: Hook, second: Hook) -> None:
        with checkpoints(tmp_path), resumable(lambda: "both"):
            for hook in (first, second):
                network = BagOfWords()
                optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
                TrainingLoop(max_epochs=2, hooks=[hook]).run(network, optimizer, documents)

    with pytest.raises(KeyboardInterrupt):
        two_stages(Stop(), Stop(at_epoch=2))
    first, second = Stop(), Stop()
    two_stages(first, second)
    assert (first.epochs, second.epochs) == ([], [2])


def test_early_stopping_counts_the_epochs_before(documents: TrainingSet, tmp_path: Path) -> None:
    whole = train(documents, Stop(), patience=1)
    stopped(documents, tmp_path, at_epoch=2, patience=1)
    with checkpoints(tmp_path):
        assert_same(whole, train(documents, Stop(), patience=1))


def test_another_training_begins_anew(documents: TrainingSet, tmp_path: Path) -> None:
    stopped(documents, tmp_path)
    hook = Stop()
    with checkpoints(tmp_path):
        train(documents, hook, key="another")
    assert hook.epochs == [1, 2, 3, 4]


def test_one_can_begin_anew_on_purpose(documents: TrainingSet, tmp_path: Path) -> None:
    stopped(documents, tmp_path)
    hook = Stop()
    with checkpoints(tmp_path, is_resumed=False):
        train(documents, hook)
    assert hook.epochs == [1, 2, 3, 4]


@pytest.mark.parametrize("folder", [None, "unnamed"])
def test_without_folder_or_name_nothing_is_kept(
    documents: TrainingSet, tmp_path: Path, folder: str | None
) -> None:
    network = BagOfWords()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    with checkpoints(tmp_path / folder if folder else None):
        TrainingLoop(max_epochs=1).run(network, optimizer, documents)
        assert not list(tmp_path.iterdir())


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-50])


def forget_optimizer(path: Path) -> None:
    path.with_suffix(".json").write_text('{"format": 1, "epoch": 2, "scalars": []}', "utf-8")


def of_another_network(path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    arrays = load_file(path)
    arrays["network:rows.weight"] = arrays["network:rows.weight"][:5].copy()
    save_file(arrays, path)


def of_another_optimizer(path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    arrays = load_file(path)
    arrays["optimizer:0.exp_avg"] = arrays["optimizer:0.exp_avg"][:5].copy()
    save_file(arrays, path)


def empty(path: Path) -> None:
    path.with_suffix(".json").unlink()


@pytest.mark.parametrize(
    "damage", [cut, forget_optimizer, of_another_network, of_another_optimizer, empty]
)
def test_a_damaged_checkpoint_is_ignored_with_a_warning(
    documents: TrainingSet,
    tmp_path: Path,
    damage: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    stopped(documents, tmp_path)
    (path,) = tmp_path.rglob("*.safetensors")
    damage(path)
    hook = Stop()
    with checkpoints(tmp_path):
        resumed = train(documents, hook)
    assert_same(train(documents, Stop()), resumed)
    assert hook.epochs == [1, 2, 3, 4]
    (record,) = caplog.records
    assert (record.levelno, "is ignored" in record.message) == (logging.WARNING, True)


def test_a_folder_that_cannot_be_written_stops_no_training(
    documents: TrainingSet, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    with checkpoints(file):
        assert_same(train(documents, Stop()), train(documents, Stop()))
    assert "goes on without a checkpoint" in caplog.text


def test_there_is_no_pickle_in_a_checkpoint(documents: TrainingSet, tmp_path: Path) -> None:
    stopped(documents, tmp_path)
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {
        ".json",
        ".safetensors",
    }


class Bar:
    """A watcher that keeps how far the training was when it was described."""

    def __init__(self) -> None:
        self.done = 0
        self.described: list[tuple[str, int]] = []

    def start(self, description: str, total: int | None) -> int:
        self.is_training = description == "Training"
        return int(self.is_training)

    def advance(self, task: int, steps: int) -> None:
        self.done += task * steps

    def describe(self, task: int, description: str) -> None:
        self.described.append((description, self.done))

    def finish(self, task: int) -> None:
        pass


def test_bars_show_the_earlier_epochs_as_done(documents: TrainingSet, tmp_path: Path) -> None:
    stopped(documents, tmp_path)
    bar = Bar()
    with checkpoints(tmp_path), watched_by(bar):
        train(documents, Stop())
    assert bar.described == [("Training, epoch 3 of 4", 16), ("Training, epoch 4 of 4", 24)]
    assert bar.done == 32


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Makes every training stop when the checkpoint of an epoch is written; None: no more."""
    write = Checkpoint.write

    def stop(epoch: int | None) -> None:
        def written(self: Checkpoint, snapshot: Snapshot) -> None:
            write(self, snapshot)
            if snapshot.facts["epoch"] == epoch:
                raise KeyboardInterrupt

        monkeypatch.setattr(Checkpoint, "write", written)

    return stop


CORPUS = small_corpus()


def test_a_bilstm_goes_on_inside_the_cache_of_stage_1(
    tmp_path: Path, stop_after: Callable[[int | None], None]
) -> None:
    method = METHODS["piran"]
    settings = {"encoder": "bilstm", **BiLstmEncoder.quick_settings, "max_epochs": 4, "tail": 2}
    plain = method.from_settings(settings).fit(CORPUS.texts, CORPUS.label_sets)
    stop_after(2)
    with pytest.raises(KeyboardInterrupt), stage1_cache(tmp_path):
        method.from_settings(settings).fit(CORPUS.texts, CORPUS.label_sets)
    assert list(tmp_path.rglob("epoch-2"))
    stop_after(None)
    with stage1_cache(tmp_path):
        resumed = method.from_settings(settings).fit(CORPUS.texts, CORPUS.label_sets)
    assert resumed.history_ == plain.history_
    texts = CORPUS.texts
    np.testing.assert_array_equal(resumed.predict_scores(texts), plain.predict_scores(texts))
    assert not (tmp_path / "checkpoints").exists()


def test_a_kept_encoder_needs_no_checkpoint(tmp_path: Path) -> None:
    encoder = BiLstmEncoder(**BiLstmEncoder.quick_settings)
    targets = csr_array(np.ones((len(CORPUS.texts), 1), dtype=np.float32))
    with stage1_cache(tmp_path):
        fitted_encoder(encoder, LabelledTexts(CORPUS.texts, targets))
        assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize("name", ["xml-cnn", "leap", "oltr"])
def test_every_network_method_goes_on(
    name: str, tmp_path: Path, stop_after: Callable[[int | None], None]
) -> None:
    """LEAP has a hook with a memory and random numbers of its own; OLTR trains in two stages."""
    kind = METHODS[name]
    own = {"first_cloud_epoch": 1} if name == "leap" else {}
    settings = {**kind.quick_settings, "max_epochs": 4, "tail": 2, **own}

    def fitted() -> Method:
        return kind.from_settings(settings).fit(CORPUS.texts, CORPUS.label_sets)

    plain = fitted()
    for epoch in (1, 2):
        stop_after(epoch)
        with pytest.raises(KeyboardInterrupt), checkpoints(tmp_path):
            fitted()
    stop_after(None)
    with checkpoints(tmp_path):
        resumed = fitted()
    assert resumed.history_ == plain.history_
    texts = CORPUS.texts
    np.testing.assert_array_equal(resumed.predict_scores(texts), plain.predict_scores(texts))
