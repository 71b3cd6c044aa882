"""The BiLSTM encoder: learns, repeats itself, keeps order, saves and loads."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from piran.encoders import ENCODERS, LabelledTexts
from piran.encoders.bilstm import BiLstmEncoder
from piran.errors import ModelFolderError, NotFittedError

TOPICS = (("wheat", "corn", "grain"), ("bank", "rate", "loan"), ("ship", "port", "cargo"))
FILLERS = ("the", "of", "said", "today", "market", "new")


def documents(n_documents: int, seed: int) -> LabelledTexts:
    """Texts whose labels can be read off their words."""
    generator = np.random.default_rng(seed)
    targets = (generator.random((n_documents, 3)) < 0.4).astype(np.float32)
    texts = []
    for row in targets:
        words = list(generator.choice(FILLERS, size=generator.integers(1, 12)))
        words += [generator.choice(TOPICS[label]) for label in np.flatnonzero(row)]
        texts.append(" ".join(generator.permutation(words)))
    return LabelledTexts(texts, csr_array(targets))


def small_encoder(**settings: Any) -> BiLstmEncoder:
    small = {
        "embedding_dim": 12,
        "hidden_dim": 8,
        "attention_dim": 6,
        "n_heads": 2,
        "instance_dim": 5,
        "embedding_dropout": 0.1,
        "learning_rate": 0.02,
        "batch_size": 16,
        "max_epochs": 4,
        "device": "cpu",
    }
    return BiLstmEncoder(**{**small, **settings})


@pytest.fixture(scope="module")
def train() -> LabelledTexts:
    return documents(200, seed=0)


@pytest.fixture(scope="module")
def validation() -> LabelledTexts:
    return documents(60, seed=1)


@pytest.fixture(scope="module")
def encoder(train: LabelledTexts, validation: LabelledTexts) -> BiLstmEncoder:
    return small_encoder(max_epochs=8).fit(train, validation)


def logits(encoder: BiLstmEncoder, texts: list[str]) -> Any:
    assert encoder.stage1_rows_ is not None
    return encoder.stage1_rows_.logits(encoder.encode(texts))


def test_it_is_registered_under_its_name() -> None:
    assert ENCODERS["bilstm"] is BiLstmEncoder
    assert BiLstmEncoder.name == "bilstm"


def test_the_labels_are_learned(encoder: BiLstmEncoder, validation: LabelledTexts) -> None:
    predicted = logits(encoder, list(validation.texts)) > 0
    assert (predicted == validation.targets.toarray()).mean() > 0.9
    assert max(entry["score"] for entry in encoder.history_) > 0.85
    assert encoder.stop_reason_ is not None


def test_instances_keep_order_and_do_not_depend_on_their_batch(
    encoder: BiLstmEncoder, validation: LabelledTexts
) -> None:
    texts = [*validation.texts[:20], "", "word " * 700]
    instances = encoder.encode(texts)
    assert instances.shape == (22, encoder.feature_dim)
    assert instances.dtype == np.float32
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(instances, alone, atol=1e-5)


def test_no_texts_give_no_instances(encoder: BiLstmEncoder) -> None:
    assert encoder.encode([]).shape == (0, 5)


@pytest.mark.parametrize("embeddings", ["random", "skipgram"])
def test_the_same_seed_gives_the_same_scores(train: LabelledTexts, embeddings: str) -> None:
    texts = list(train.texts[:20])
    first, second = (small_encoder(embeddings=embeddings).fit(train) for _ in range(2))
    np.testing.assert_array_equal(logits(first, texts), logits(second, texts))
    other = small_encoder(embeddings=embeddings, seed=1).fit(train)
    assert not np.allclose(logits(first, texts), logits(other, texts))


def test_without_validation_all_epochs_are_done(train: LabelledTexts) -> None:
    encoder = small_encoder(max_epochs=2).fit(train)
    assert encoder.stop_reason_ == "max epochs"
    assert [entry["epoch"] for entry in encoder.history_] == [1, 2]


def test_a_file_of_vectors_decides_their_dimension(train: LabelledTexts, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("wheat 0.5 0.25 -1\nbank 1 0 0.125\n")
    encoder = small_encoder(embeddings=str(path), max_epochs=1).fit(train)
    weights = encoder.text_network_.network.state_dict()
    assert weights["extractor.embedding.weight"].shape[1] == 3


@pytest.mark.parametrize("has_bias", [True, False])
def test_a_loaded_encoder_scores_alike(
    has_bias: bool, train: LabelledTexts, tmp_path: Path
) -> None:
    encoder = small_encoder(has_bias=has_bias, max_epochs=1).fit(train)
    encoder.save(tmp_path)
    loaded = BiLstmEncoder.load(tmp_path)
    texts = list(train.texts[:20])
    np.testing.assert_array_equal(logits(loaded, texts), logits(encoder, texts))
    assert loaded.settings() == encoder.settings()
    assert loaded.history_ == encoder.history_
    assert loaded.stop_reason_ == encoder.stop_reason_


def test_weights_that_do_not_fit_the_settings_are_refused(
    encoder: BiLstmEncoder, tmp_path: Path
) -> None:
    encoder.save(tmp_path)
    path = tmp_path / "bilstm.json"
    state = json.loads(path.read_text())
    state["settings"]["hidden_dim"] = 9
    path.write_text(json.dumps(state))
    with pytest.raises(ModelFolderError, match="holds no bilstm encoder that this version can"):
        BiLstmEncoder.load(tmp_path)


def test_an_encoder_that_is_not_fitted_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="BiLstmEncoder is not fitted"):
        small_encoder().encode(["text"])
    with pytest.raises(NotFittedError, match="BiLstmEncoder is not fitted"):
        small_encoder().save(tmp_path)


def test_a_clone_has_the_settings_and_nothing_learned(encoder: BiLstmEncoder) -> None:
    copy = clone(encoder)
    assert copy.settings() == encoder.settings()
    assert not hasattr(copy, "text_network_")
