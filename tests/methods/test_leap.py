"""LEAP: clouds around tail documents, which without a difference in variance change nothing."""

from typing import Any

import numpy as np
import pytest

from piran.data.corpus import Documents
from piran.experiments.run import evaluate
from piran.methods.leap import Leap

N_HEAD, N_TAIL = 6, 3
FILLERS = tuple(f"filler{number}" for number in range(20))
SMALL: dict[str, Any] = {
    **Leap.quick_settings,
    "embedding_dim": 16,
    "embedding_dropout": 0.1,
    "max_epochs": 15,
    "patience": 15,
    "tail": N_TAIL,
    "device": "cpu",
}


def diluted_documents(
    counts: tuple[int, int], n_fillers: tuple[int, int], tail_fillers: tuple[int, int], seed: int
) -> Documents:
    """A word for each label among fillers, as many as the ranges say; ``counts`` of head and tail."""
    random = np.random.default_rng(seed)
    texts, label_sets = [], []
    for label in range(N_HEAD + N_TAIL):
        is_tail = label >= N_HEAD
        for _ in range(counts[is_tail]):
            labels = {label, int(random.integers(N_HEAD))} if random.random() < 0.3 else {label}
            words = [f"label{name}word{random.integers(3)}" for name in sorted(labels)]
            size = random.integers(*(tail_fillers if is_tail else n_fillers))
            words += list(random.choice(FILLERS, size=size))
            texts.append(" ".join(random.permutation(words)))
            label_sets.append(tuple(f"label{name}" for name in sorted(labels)))
    return Documents(texts, label_sets)


def fitted(seed: int = 0, **settings: Any) -> Leap:
    """Head documents are diluted by 0 to 11 fillers, the four documents of a tail label by none."""
    train = diluted_documents((25, 4), (0, 12), (0, 1), seed)
    validation = diluted_documents((4, 2), (0, 8), (0, 8), seed + 100)
    method = Leap(**{**SMALL, "seed": seed, **settings})
    return method.fit(train.texts, train.label_sets, validation=validation)


def tail_f1(**settings: Any) -> float:
    """Mean over three seeds, on tail documents that are as diluted as head documents can be."""
    test = diluted_documents((6, 20), (6, 16), (6, 16), seed=200)
    scores = [evaluate(fitted(seed, **settings), test)["tail_f1_at_0.5"] for seed in range(3)]
    return float(np.mean(scores))


def test_clouds_prepare_tail_labels_for_documents_that_vary_as_head_documents_do() -> None:
    assert tail_f1() > tail_f1(has_clouds=False) + 5


def test_without_a_difference_in_variance_leap_is_the_cosine_classifier() -> None:
    texts = diluted_documents((3, 3), (0, 5), (0, 5), seed=1).texts
    few_epochs: dict[str, Any] = {"max_epochs": 4, "tail": 0}  # no tail label, no cloud
    clouded, plain = (fitted(**few_epochs, has_clouds=has_clouds) for has_clouds in (True, False))
    np.testing.assert_array_equal(clouded.predict_scores(texts), plain.predict_scores(texts))
    assert clouded.history_ == plain.history_


def test_before_the_first_cloud_epoch_leap_is_the_cosine_classifier() -> None:
    clouded = fitted(first_cloud_epoch=3, max_epochs=4)
    plain = fitted(has_clouds=False, max_epochs=4)
    assert clouded.history_[:2] == plain.history_[:2]
    assert clouded.history_[2]["loss"] > plain.history_[2]["loss"]  # tail documents turned away


def test_clouds_are_for_tail_labels_alone() -> None:
    method = fitted(max_epochs=3)
    np.testing.assert_array_equal(method.cloud_deviations_ > 0, method.labels_.is_tail)


def test_the_scale_is_learned_from_where_it_is_set() -> None:
    scale = fitted(max_epochs=2, scale=9.0).network_.network.classifier.scale.item()
    assert scale != 9.0
    assert scale == pytest.approx(9.0, abs=1.0)
