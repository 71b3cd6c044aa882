"""HTTN: stage 1 on head labels alone, then tail rows from prototypes by a map learned on head rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piran.data.corpus import Documents
from piran.errors import DataError, ModelFolderError, SettingError
from piran.experiments.run import evaluate
from piran.methods.httn import Httn
from piran.types import FloatArray

N_ATTRIBUTES = 8
PAIRS = ((0, 1), (2, 3), (4, 5))
FILLERS = tuple(f"filler{number}" for number in range(20))
SMALL: dict[str, Any] = {
    **Httn.quick_settings,
    "embedding_dim": 16,
    "instance_dim": 16,
    "embedding_dropout": 0.1,
    "learning_rate": 0.01,
    "max_epochs": 15,
    "patience": 15,
    "tail": len(PAIRS),
    "device": "cpu",
}


def paired_documents(n_documents: int, seed: int, *, pair_chance: float = 0.0) -> Documents:
    """Head labels are attributes with words of their own; a tail label is a pair of attributes."""
    random = np.random.default_rng(seed)
    texts, label_sets = [], []
    for _ in range(n_documents):
        size = random.integers(1, 4)
        attributes = set(random.choice(N_ATTRIBUTES, size=size, replace=False).tolist())
        if random.random() < pair_chance:
            attributes |= set(PAIRS[random.integers(len(PAIRS))])
        words = [f"attribute{number}word{random.integers(3)}" for number in sorted(attributes)]
        words += list(random.choice(FILLERS, size=random.integers(0, 3)))
        labels = [f"attribute{number}" for number in sorted(attributes)]
        labels += [f"pair{n}" for n, pair in enumerate(PAIRS) if attributes.issuperset(pair)]
        texts.append(" ".join(random.permutation(words)))
        label_sets.append(tuple(labels))
    return Documents(texts, label_sets)


TRAIN = paired_documents(250, seed=0)
VALIDATION = paired_documents(60, seed=1, pair_chance=0.3)
TEST = paired_documents(300, seed=2, pair_chance=0.6)


def fitted(train: Documents = TRAIN, **settings: Any) -> Httn:
    method = Httn(**{**SMALL, **settings})
    return method.fit(train.texts, train.label_sets, validation=VALIDATION)


@pytest.fixture(scope="module")
def method() -> Httn:
    return fitted()


@pytest.fixture(scope="module")
def without_transfer() -> Httn:
    return fitted(has_transfer=False, n_fine_tuning_passes=0)


@pytest.fixture(scope="module")
def without_tuning() -> Httn:
    return fitted(n_fine_tuning_passes=0)


def test_the_transfer_carries_what_head_rows_know_to_tail_labels(
    without_tuning: Httn, without_transfer: Httn
) -> None:
    on, off = evaluate(without_tuning, TEST), evaluate(without_transfer, TEST)
    assert on["tail_f1_at_0.5"] > 60
    assert on["tail_f1_at_0.5"] > off["tail_f1_at_0.5"] + 5
    assert on["P@1"] > off["P@1"] + 5  # prototypes alone claim every document
    assert on["head_f1_at_0.5"] == off["head_f1_at_0.5"]


def test_both_solvers_of_the_transfer_do(without_tuning: Httn) -> None:
    adam = evaluate(fitted(transfer_solver="adam", n_fine_tuning_passes=0), TEST)
    exact = evaluate(without_tuning, TEST)
    assert adam["tail_f1_at_0.5"] == pytest.approx(exact["tail_f1_at_0.5"], abs=15)


def test_the_transfer_leads_to_rows_without_their_scale() -> None:
    method = fitted(max_epochs=2, n_prototype_documents=1000, n_fine_tuning_passes=0)
    network = method.network_.network
    members = [text for text, labels in zip(*parts(TRAIN), strict=True) if "pair1" in labels]
    mean = method.network_.apply(members, network.directions).mean(axis=0)
    position = method.tail_ids_.tolist().index(method.labels_.names.index("pair1"))
    weight = method.transfer_.rows(mean / np.linalg.norm(mean))
    expected = network.scale.item() * weight
    np.testing.assert_allclose(method.tail_rows_[0, position], expected, atol=1e-4)


def test_fine_tuning_helps_tail_labels_and_leaves_head_labels_alone(
    method: Httn, without_tuning: Httn
) -> None:
    on, off = evaluate(method, TEST), evaluate(without_tuning, TEST)
    assert on["tail_f1_at_0.5"] > off["tail_f1_at_0.5"] + 1
    assert on["head_f1_at_0.5"] == off["head_f1_at_0.5"]


def test_tail_rows_are_about_as_long_as_head_rows(method: Httn) -> None:
    lengths = method.row_lengths()
    assert 0.5 < lengths["tail"] / lengths["head"] < 1.5


def test_without_transfer_a_tail_row_is_its_prototype(without_transfer: Httn) -> None:
    directions = without_transfer.network_.network.directions
    members = [text for text, labels in zip(*parts(TRAIN), strict=True) if "pair1" in labels]
    instances = without_transfer.network_.apply(members, directions)
    np.testing.assert_allclose(np.linalg.norm(instances, axis=1), 1, atol=1e-5)
    label = without_transfer.labels_.names.index("pair1")
    position = without_transfer.tail_ids_.tolist().index(label)
    rows = without_transfer.tail_rows_[:, position]  # (n_ensemble, instance_dim)
    length = without_transfer.row_lengths()["head"]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), length, rtol=1e-4)
    # each is a mean of five members, hence a combination of them all with weights of 0 or the same
    weights = np.linalg.lstsq(instances.T.astype(float), rows.T.astype(float), rcond=None)
    assert len(members) <= instances.shape[1]
    np.testing.assert_allclose((weights[0] > weights[0].max(axis=0) / 2).sum(axis=0), 5)


def parts(documents: Documents) -> tuple[list[str], list[Any]]:
    return list(documents.texts), list(documents.label_sets)


def tail_only(order: list[int]) -> Documents:
    """The training documents and four with tail labels alone, their texts in some order."""
    texts, label_sets = parts(TRAIN)
    odd = [f"attribute{number}word0 attribute{number + 1}word0" for number in (0, 2, 4, 5)]
    pairs = [("pair0",), ("pair1",), ("pair2",), ("pair2",)]
    return Documents([*texts, *(odd[number] for number in order)], [*label_sets, *pairs])


def head_scores(train: Documents) -> FloatArray:
    method = fitted(train, max_epochs=2)
    return method.predict_scores(TEST.texts[:20])[:, method.labels_.is_head]


def test_documents_without_a_head_label_have_no_part_in_stage_1() -> None:
    expected = head_scores(tail_only([0, 1, 2, 3]))
    np.testing.assert_array_equal(head_scores(tail_only([2, 3, 1, 0])), expected)


def test_the_score_of_a_head_label_is_that_of_stage_1(method: Httn) -> None:
    scores = method.predict_scores(TEST.texts)[:, method.labels_.is_head]
    np.testing.assert_allclose(scores, method.network_.scores(TEST.texts), atol=1e-5)


def test_the_score_of_a_tail_label_is_the_mean_over_its_rows(method: Httn) -> None:
    assert method.tail_rows_.shape == (30, 3, 16)
    texts = TEST.texts[:10]
    instances = method.network_.apply(texts, method.network_.network.directions)
    logits = np.einsum("nd,etd->ent", instances.astype(float), method.tail_rows_)
    expected = (1 / (1 + np.exp(-logits))).mean(axis=0)
    scores = method.predict_scores(texts)[:, method.tail_ids_]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_the_rows_of_an_ensemble_differ_where_documents_can_be_chosen() -> None:
    rows = fitted(max_epochs=1).tail_rows_
    assert rows.std(axis=0).max() > 1e-3
    all_documents = fitted(max_epochs=1, n_prototype_documents=1000).tail_rows_
    np.testing.assert_allclose(all_documents.std(axis=0), 0, atol=1e-5)


def test_without_tail_labels_stage_1_stands_alone() -> None:
    method = fitted(tail=0, max_epochs=1)
    assert method.tail_rows_.shape[1] == 0
    assert method.predict_scores(TEST.texts[:3]).all()


def test_without_head_labels_there_is_nothing_to_learn_from() -> None:
    with pytest.raises(DataError, match="all labels are tail; set tail below 11"):
        fitted(tail=11)


def test_an_ensemble_of_none_is_refused() -> None:
    with pytest.raises(SettingError, match="n_ensemble must be at least 1, got 0"):
        fitted(n_ensemble=0)


def test_fewer_passes_than_none_are_refused() -> None:
    with pytest.raises(SettingError, match="n_fine_tuning_passes must be at least 0, got -1"):
        fitted(n_fine_tuning_passes=-1)


def test_a_model_without_its_tail_rows_is_refused(method: Httn, tmp_path: Path) -> None:
    method.save(tmp_path / "model")
    (tmp_path / "model" / "tail.safetensors").unlink()
    with pytest.raises(ModelFolderError, match=r"tail\.safetensors is missing"):
        Httn.load(tmp_path / "model")
