"""OLTR: a memory that begins at the labels' mean instances and from which documents recall."""

from typing import Any

import numpy as np
import pytest

from piran.data.corpus import Documents
from piran.experiments.run import evaluate
from piran.methods.base import joint_stop_reason
from piran.methods.oltr import Oltr

N_HEAD, N_TAIL = 12, 4
FILLERS = tuple(f"filler{number}" for number in range(20))
SMALL: dict[str, Any] = {
    **Oltr.quick_settings,
    "embedding_dim": 16,
    "instance_dim": 16,
    "embedding_dropout": 0.1,
    "max_epochs": 5,
    "patience": 5,
    "tail": N_TAIL,
    "device": "cpu",
}


def long_tailed_documents(counts: tuple[int, int], seed: int) -> Documents:
    """A word for each label and up to three fillers; ``counts`` documents of head and tail labels."""
    random = np.random.default_rng(seed)
    texts, label_sets = [], []
    for label in range(N_HEAD + N_TAIL):
        for _ in range(counts[label >= N_HEAD]):
            labels = {label, int(random.integers(N_HEAD))} if random.random() < 0.3 else {label}
            words = [f"label{name}word{random.integers(3)}" for name in sorted(labels)]
            words += list(random.choice(FILLERS, size=random.integers(0, 4)))
            texts.append(" ".join(random.permutation(words)))
            label_sets.append(tuple(f"label{name}" for name in sorted(labels)))
    return Documents(texts, label_sets)


def fitted(seed: int = 0, **settings: Any) -> Oltr:
    train, validation = (
        long_tailed_documents((20, 5), seed),
        long_tailed_documents((4, 2), seed + 100),
    )
    method = Oltr(**{**SMALL, "seed": seed, **settings})
    return method.fit(train.texts, train.label_sets, validation=validation)


def mean_scores(**settings: Any) -> tuple[float, float]:
    """Tail and micro-F1 over three seeds, where stage 2 cannot make other instances."""
    test = long_tailed_documents((6, 20), seed=200)
    scores = [evaluate(fitted(seed, extractor_rate=0.0, **settings), test) for seed in range(3)]
    tail, micro = (
        np.mean([score[key] for score in scores]) for key in ("tail_f1_at_0.5", "micro_f1_at_0.5")
    )
    return float(tail), float(micro)


def test_the_memory_adds_what_the_instances_of_stage_1_lack() -> None:
    tail, micro = mean_scores()
    tail_without, micro_without = mean_scores(has_memory=False)
    assert tail > tail_without + 25  # reach alone, without what is recalled, gains less
    assert micro > micro_without + 3


def test_the_memory_begins_at_the_mean_instances_of_the_labels() -> None:
    method = fitted(learning_rate=1e-12, max_epochs=1)  # so that nothing moves after the beginning
    train = long_tailed_documents((20, 5), 0)
    instances = method.network_.apply(train.texts, method.network_.network.extractor)
    memory = method.network_.network.meta_embedding.memory.detach().numpy()
    for label, name in enumerate(method.labels_.names):
        members = [name in labels for labels in train.label_sets]
        np.testing.assert_allclose(memory[label], instances[members].mean(axis=0), atol=1e-5)


def test_the_memory_is_learned() -> None:
    begin, later = (fitted(learning_rate=rate, max_epochs=2) for rate in (1e-12, 1e-2))
    memories = [m.network_.network.meta_embedding.memory.detach().numpy() for m in (begin, later)]
    assert np.abs(memories[0] - memories[1]).max() > 0.01


def test_the_second_stage_goes_on_counting_epochs() -> None:
    history = fitted(max_epochs=2).history_
    assert [(entry["stage"], entry["epoch"]) for entry in history] == [
        (1, 1),
        (1, 2),
        (2, 3),
        (2, 4),
    ]


def extractor_weights(**settings: Any) -> list[Any]:
    extractor = fitted(max_epochs=2, **settings).network_.network.extractor
    return [weight.detach().numpy() for weight in extractor.parameters()]


def test_the_extractor_goes_on_learning_at_its_own_rate() -> None:
    still, also_still = (
        extractor_weights(extractor_rate=0.0, has_memory=has_memory) for has_memory in (True, False)
    )
    for first, second in zip(still, also_still, strict=True):
        np.testing.assert_array_equal(first, second)
    moved = extractor_weights(extractor_rate=0.5)
    assert max(np.abs(a - b).max() for a, b in zip(still, moved, strict=True)) > 1e-3


@pytest.mark.parametrize(
    "setting",
    [{"samples_labels": False}, {"memory_weight": 0.0}, {"repel_weight": 0.0}],
)
def test_what_concerns_stage_2_changes_it_and_not_stage_1(setting: dict[str, Any]) -> None:
    plain, changed = (fitted(max_epochs=2, **own).history_ for own in ({}, setting))
    assert plain[:2] == changed[:2]
    assert plain[2:] != changed[2:]


def test_the_choice_of_loss_reaches_stage_2() -> None:
    plain, focal = (  # stage 1 moves nothing, whatever its loss
        fitted(max_epochs=1, learning_rate=1e-12, loss=loss).history_[-1]["loss"]
        for loss in ("bce", "focal")
    )
    assert focal < 0.95 * plain


def test_a_first_stage_that_has_not_converged_speaks_for_both() -> None:
    assert joint_stop_reason("not converged", "early stopping") == "not converged"
    assert joint_stop_reason("early stopping", "max epochs") == "max epochs"
