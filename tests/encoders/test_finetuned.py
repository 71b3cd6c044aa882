"""The fine-tuned transformer: learns what a frozen one cannot tell, repeats itself, stands alone."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.base import clone

from piran.encoders import ENCODERS, LabelledTexts
from piran.encoders.cache import fitted_encoder, stage1_cache
from piran.encoders.finetuned import FineTunedEncoder
from piran.encoders.hybrid import HybridEncoder
from piran.encoders.instance_cache import instance_cache
from piran.encoders.lean_training import ByteDropout, lean_training
from piran.encoders.pretrained import find_pretrained, load_pretrained
from piran.encoders.transformer import TransformerEncoder
from piran.errors import MissingExtraError, ModelFolderError, NotFittedError, SettingError
from piran.experiments.settings import build_method
from piran.methods import load_method
from piran.methods.piran import PiranClassifier
from piran.rows import LinearRows
from piran.training import runtime
from piran.training.checkpoint import Checkpoint, Snapshot, checkpoints
from piran.training.linear_fit import fit_rows
from piran.training.losses import LOSSES
from piran.types import FloatArray
from tiny_transformer import WORDS, write_tiny_transformer

TEXTS = ["red apple", "green pear tree", "", "red green apple pear pie tree " * 5, "unheard"]


def write_blurred_transformer(folder: Path, dropout: float) -> Path:
    """Write a transformer that takes red for green and apple for pear: their vectors are the same."""
    write_tiny_transformer(folder, dropout=dropout)
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    vectors = weights["embeddings.word_embeddings.weight"]
    for word, other in (("green", "red"), ("pear", "apple")):
        vectors[WORDS.index(word)] = vectors[WORDS.index(other)]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_blurred_transformer(tmp_path_factory.mktemp("tiny"), dropout=0.1)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without dropout, which so small a network learns little with."""
    return write_blurred_transformer(tmp_path_factory.mktemp("calm"), dropout=0.0)


def documents(n_documents: int, seed: int) -> LabelledTexts:
    """Texts with red or green, and apple or pear; the labels are red and apple."""
    generator = np.random.default_rng(seed)
    targets = generator.random((n_documents, 2)) < 0.5
    texts = []
    for is_red, is_apple in targets:
        words = list(generator.choice(["pie", "tree"], size=generator.integers(1, 4)))
        words += ["red" if is_red else "green", "apple" if is_apple else "pear"]
        texts.append(" ".join(generator.permutation(words)))
    return LabelledTexts(texts, csr_array(targets.astype(np.float32)))


TRAIN, VALIDATION = documents(320, seed=0), documents(60, seed=1)
SHORT = LabelledTexts(TRAIN.texts[:48], TRAIN.targets[:48])


def new_encoder(model: Path | str, **settings: Any) -> FineTunedEncoder:
    quick = {
        "batch_size": 8,
        "max_epochs": 2,
        "learning_rate": 0.01,
        "classifier_learning_rate": 0.005,
        "device": "cpu",
        "precision": "float32",
    }
    return FineTunedEncoder(**{"model": str(model), **quick, **settings})


@pytest.fixture(scope="module")
def encoder(calm: Path) -> FineTunedEncoder:
    return new_encoder(calm, max_epochs=8).fit(TRAIN, VALIDATION)


def accuracy(rows: LinearRows | None, instances: FloatArray) -> float:
    assert rows is not None
    return float(((rows.logits(instances) > 0) == VALIDATION.targets.toarray()).mean())


def scores(encoder: FineTunedEncoder, texts: list[str] = TEXTS) -> FloatArray:
    assert encoder.stage1_rows_ is not None
    return encoder.stage1_rows_.logits(encoder.encode(texts))


def test_it_is_registered_under_its_name() -> None:
    assert ENCODERS["finetuned"] is FineTunedEncoder


def test_it_learns_what_the_frozen_transformer_cannot_tell(
    calm: Path, encoder: FineTunedEncoder
) -> None:
    frozen = TransformerEncoder(model=str(calm), device="cpu").fit(TRAIN)
    rows = fit_rows(frozen.encode(TRAIN.texts), TRAIN.targets, l2=1e-4)
    assert accuracy(rows, frozen.encode(VALIDATION.texts)) < 0.7
    assert accuracy(encoder.stage1_rows_, encoder.encode(VALIDATION.texts)) > 0.9


def test_all_epochs_are_done_and_the_last_is_kept(encoder: FineTunedEncoder) -> None:
    assert [entry["epoch"] for entry in encoder.history_] == list(range(1, 9))
    assert encoder.stop_reason_ == "max epochs"
    predicted = scores(encoder, list(VALIDATION.texts)) > 0
    is_true = VALIDATION.targets.toarray() > 0
    f1 = 2 * (predicted & is_true).sum() / (predicted.sum() + is_true.sum())
    assert encoder.history_[-1]["score"] == pytest.approx(f1)


def test_validation_documents_do_not_change_what_is_learned(tiny: Path) -> None:
    contrary = LabelledTexts(SHORT.texts, csr_array(1 - SHORT.targets.toarray()))
    watched, alone = new_encoder(tiny).fit(SHORT, contrary), new_encoder(tiny).fit(SHORT)
    assert watched.weights_digest_ == alone.weights_digest_
    assert "score" in watched.history_[-1]


def test_without_validation_the_last_weights_stay(tiny: Path) -> None:
    encoder = new_encoder(tiny).fit(SHORT)
    assert encoder.stop_reason_ == "max epochs"
    assert "score" not in encoder.history_[-1]


def test_an_instance_has_the_length_that_is_set(encoder: FineTunedEncoder, tiny: Path) -> None:
    instances = encoder.encode(TEXTS)
    assert instances.shape == (len(TEXTS), 8) == (len(TEXTS), encoder.feature_dim)
    assert instances.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(instances, axis=1), 14, rtol=1e-5)
    short = new_encoder(tiny, scale=2.0, max_epochs=1).fit(SHORT)
    np.testing.assert_allclose(np.linalg.norm(short.encode(TEXTS), axis=1), 2, rtol=1e-5)
    assert encoder.encode([]).shape == (0, 8)


def test_the_rows_are_those_of_the_network(encoder: FineTunedEncoder) -> None:
    token_ids = encoder.word_pieces_.encode(["red apple"])
    with torch.inference_mode():
        logits = encoder.network_(torch.tensor(token_ids[0])[None], torch.tensor([4]))
    np.testing.assert_allclose(scores(encoder, ["red apple"]), logits.numpy(), atol=1e-4)


def test_padding_does_not_change_a_score(encoder: FineTunedEncoder) -> None:
    alone = np.concatenate([scores(encoder, [text]) for text in TEXTS])
    np.testing.assert_allclose(scores(encoder), alone, atol=1e-4)


def test_both_precisions_learn_nearly_the_same(tiny: Path) -> None:
    exact, rounded = (
        new_encoder(tiny, precision=precision).fit(SHORT).encode(TEXTS)
        for precision in runtime.PRECISIONS[1:]
    )
    cosines = (exact * rounded).sum(axis=1) / 14**2
    assert cosines.min() > 0.98
    assert not np.array_equal(exact, rounded)


def test_the_bias_begins_at_the_log_odds(tiny: Path) -> None:
    still = new_encoder(tiny, learning_rate=1e-12, classifier_learning_rate=1e-12).fit(SHORT)
    counts = np.asarray(SHORT.targets.sum(axis=0)).ravel()
    assert still.stage1_rows_ is not None
    expected = np.log((counts + 0.5) / (48 - counts + 0.5))
    np.testing.assert_allclose(still.stage1_rows_.bias, expected, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_loss_can_be_chosen(tiny: Path, loss: str) -> None:
    encoder = new_encoder(tiny, loss=loss, class_balanced_beta=0.9).fit(SHORT)
    losses = [entry["loss"] for entry in encoder.history_]
    plain = new_encoder(tiny).fit(SHORT)
    assert np.isfinite(losses).all()
    assert (losses == [entry["loss"] for entry in plain.history_]) == (loss == "bce")


def test_attention_dropout_takes_the_place_of_the_transformers_own(tiny: Path, calm: Path) -> None:
    own, same, none = (
        new_encoder(tiny, attention_dropout=dropout).fit(SHORT).weights_digest_
        for dropout in (None, 0.1, 0.0)
    )
    assert own == same != none
    still = [new_encoder(calm, attention_dropout=dropout).fit(SHORT) for dropout in (None, 0.0)]
    assert still[0].weights_digest_ == still[1].weights_digest_


def test_training_is_lean_inside_the_block_alone(tiny: Path) -> None:
    pooled, _ = load_pretrained(find_pretrained(str(tiny)), 64)
    network, config = pooled.transformer, pooled.transformer.config
    token_ids, lengths = torch.tensor([[2, 4, 6, 3], [2, 5, 3, 0]]), torch.tensor([4, 3])
    before, fused, layers = config._attn_implementation, pooled(token_ids, lengths), str(network)
    with lean_training(network, "float32"):
        assert config._attn_implementation == "eager"
        assert "ByteDropout" in str(network)
        torch.testing.assert_close(pooled(token_ids, lengths), fused)
    assert config._attn_implementation == before != "eager"
    assert str(network) == layers


def test_lean_training_gives_the_same_gradients_but_for_rounding(calm: Path) -> None:
    pooled, _ = load_pretrained(find_pretrained(str(calm)), 64, "bfloat16")
    token_ids, lengths = torch.tensor([[2, 4, 6, 3], [2, 5, 3, 0]]), torch.tensor([4, 3])
    weights = dict(pooled.train().named_parameters())
    target = torch.linspace(-1, 1, pooled.transformer.config.hidden_size)

    def gradients() -> torch.Tensor:
        pooled.zero_grad()
        (pooled(token_ids, lengths) @ target).sum().backward()
        return torch.cat([w.grad.ravel() for w in weights.values() if w.grad is not None])

    plain = gradients()
    with lean_training(pooled.transformer, "bfloat16"):
        seen: list[torch.dtype] = []
        pooled.transformer.encoder.register_forward_pre_hook(
            lambda module, args: seen.append(args[0].dtype)
        )
        lean = gradients()
    assert seen == [torch.bfloat16]
    assert plain.norm() > 0
    assert (lean - plain).norm() < 0.1 * plain.norm()
    assert torch.equal(gradients(), plain)


def test_byte_dropout_drops_a_share_and_keeps_the_mean() -> None:
    torch.manual_seed(0)
    layer, ones = ByteDropout(0.1), torch.ones(1000, 123)
    dropped = layer(ones)
    assert dropped.unique().tolist() == pytest.approx([0, 256 / 230])
    assert float((dropped == 0).float().mean()) == pytest.approx(26 / 256, abs=0.003)
    assert float(dropped.mean()) == pytest.approx(1, abs=0.004)
    # No place is dropped more often than others, and no two together
    assert float((dropped == 0).float().mean(dim=0).std()) < 0.015
    assert not torch.equal(layer(ones), dropped)
    assert torch.equal(layer.eval()(ones), ones)
    assert torch.equal(ByteDropout(0.0)(ones), ones)


def test_batches_of_few_lengths_reach_the_transformer(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pooled, _ = load_pretrained(find_pretrained(str(tiny)), 64)
    read: list[int] = []
    pooled.transformer.register_forward_pre_hook(
        lambda module, args, given: read.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    token_ids = torch.randint(4, 10, (2, 49), generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([49, 20])
    as_they_are = [pooled(token_ids[:, :n], lengths.clamp(max=n)) for n in (5, 16, 33, 49)]
    assert read == [16, 16, 48, 64]
    monkeypatch.setattr(pooled.transformer.config, "max_position_embeddings", 49)
    torch.testing.assert_close(pooled(token_ids, lengths), as_they_are[-1])
    assert read[-1] == 49


def test_the_same_seed_gives_the_same_weights(tiny: Path) -> None:
    before = torch.get_rng_state()
    digests = [new_encoder(tiny, seed=seed).fit(SHORT).weights_digest_ for seed in (3, 3, 4)]
    assert digests[0] == digests[1] != digests[2]
    assert torch.get_rng_state().equal(before)


def test_biases_and_layer_norms_do_not_decay(encoder: FineTunedEncoder) -> None:
    groups = encoder._optimizer(encoder.network_).param_groups
    assert [(group["lr"], group["weight_decay"]) for group in groups] == [
        *((0.01, 0.01), (0.01, 0.0)),
        *((0.005, 0.01), (0.005, 0.0)),
    ]
    assert [len(group["params"]) for group in groups][2:] == [1, 1]
    assert all(weight.ndim == 1 for group in groups[1::2] for weight in group["params"])
    n_weights = sum(len(group["params"]) for group in groups)
    assert n_weights == len(list(encoder.network_.parameters()))


def test_a_saved_encoder_needs_no_other_files(tiny: Path, tmp_path: Path) -> None:
    model = shutil.copytree(tiny, tmp_path / "model")
    encoder = new_encoder(model).fit(SHORT, VALIDATION)
    encoder.save(tmp_path / "saved")
    shutil.rmtree(model)
    loaded = FineTunedEncoder.load(tmp_path / "saved")
    np.testing.assert_array_equal(scores(loaded), scores(encoder))
    assert loaded.settings() == encoder.settings()
    assert (loaded.history_, loaded.stop_reason_) == (encoder.history_, encoder.stop_reason_)
    loaded.save(tmp_path / "again")
    np.testing.assert_array_equal(scores(FineTunedEncoder.load(tmp_path / "again")), scores(loaded))
    suffixes = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert suffixes <= {".json", ".safetensors", ".txt"}


def test_what_was_learned_can_be_used_frozen(encoder: FineTunedEncoder, tmp_path: Path) -> None:
    encoder.save(tmp_path)
    frozen = TransformerEncoder(
        model=str(tmp_path / "transformer"), precision="float32", device="cpu"
    ).fit(TRAIN)
    np.testing.assert_allclose(14 * frozen.encode(TEXTS), encoder.encode(TEXTS), atol=1e-4)


def test_a_tokenizer_that_is_gone_is_named_when_saving(tiny: Path, tmp_path: Path) -> None:
    model = shutil.copytree(tiny, tmp_path / "model")
    encoder = new_encoder(model, max_epochs=1).fit(SHORT)
    shutil.rmtree(model)
    with pytest.raises(ModelFolderError, match=r"tokenizer .* is no longer in"):
        encoder.save(tmp_path / "saved")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: shutil.rmtree(folder / "transformer"),
        lambda folder: (folder / "transformer" / "model.safetensors").unlink(),
        lambda folder: (folder / "finetuned.json").write_text(
            json.dumps({"format": 1, "settings": {"colour": 1}})
        ),
        lambda folder: (folder / "finetuned.safetensors").unlink(),
    ],
    ids=["no transformer", "no weights", "other settings", "no rows"],
)
def test_a_folder_that_is_not_whole_is_refused(
    encoder: FineTunedEncoder, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    encoder.save(tmp_path)
    damage(tmp_path)
    with pytest.raises(ModelFolderError, match=r"holds no finetuned encoder|is missing"):
        FineTunedEncoder.load(tmp_path)


def test_a_text_read_before_is_not_read_again(
    encoder: FineTunedEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with instance_cache(tmp_path):
        first = encoder.encode(TEXTS)
        monkeypatch.setattr(FineTunedEncoder, "_encode", None)
        np.testing.assert_array_equal(encoder.encode(TEXTS[::-1]), first[::-1])


def test_it_is_found_again_in_the_cache_of_stage_1(tiny: Path, tmp_path: Path) -> None:
    with stage1_cache(tmp_path) as savings:
        first = fitted_encoder(new_encoder(tiny), SHORT)
        second = fitted_encoder(new_encoder(tiny), SHORT)
        fitted_encoder(new_encoder(tiny, precision="bfloat16"), SHORT)
    assert (savings.n_made, savings.n_found) == (2, 1)
    np.testing.assert_array_equal(first.encode(TEXTS), second.encode(TEXTS))


def test_what_auto_comes_to_is_a_part_of_stage_1(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "has_native_bfloat16", lambda device: True)
    assert new_encoder(tiny, precision="auto").outside_parts()[1] == "bfloat16"


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_training_that_was_stopped_goes_on(
    tiny: Path, tmp_path: Path, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def new() -> FineTunedEncoder:
        return new_encoder(tiny, max_epochs=4, precision=precision)

    write = Checkpoint.write

    def written(self: Checkpoint, snapshot: Snapshot) -> None:
        write(self, snapshot)
        if snapshot.facts["epoch"] == 2:
            raise KeyboardInterrupt

    plain = fitted_encoder(new(), SHORT, VALIDATION)
    monkeypatch.setattr(Checkpoint, "write", written)
    with pytest.raises(KeyboardInterrupt), checkpoints(tmp_path):
        fitted_encoder(new(), SHORT, VALIDATION)
    monkeypatch.setattr(Checkpoint, "write", write)
    told: list[str] = []
    with checkpoints(tmp_path, tell=told.append):
        resumed = fitted_encoder(new(), SHORT, VALIDATION)
    assert told == ["Training goes on after epoch 2 of 4."]
    assert isinstance(plain, FineTunedEncoder)
    assert isinstance(resumed, FineTunedEncoder)
    assert resumed.weights_digest_ == plain.weights_digest_
    assert resumed.history_ == plain.history_
    np.testing.assert_array_equal(scores(resumed), scores(plain))


LABELS = [
    [name for name, has in zip(("red", "apple"), row, strict=True) if has]
    for row in (TRAIN.targets.toarray())
]


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": "finetuned"},
        {"encoder": "hybrid", "blocks": ["tfidf", "finetuned"]},
    ],
    ids=["alone", "as a block"],
)
def test_piran_learns_on_it(tiny: Path, tmp_path: Path, settings: dict[str, Any]) -> None:
    own = new_encoder(tiny, batch_size=32).settings()
    del own["seed"]
    if settings["encoder"] == "hybrid":
        own = {"block_settings": {"tfidf": {"n_components": 2}, "finetuned": own}}
    method = build_method("piran", {**settings, **own, "tail": 1}).fit(TRAIN.texts, LABELS)
    assert [entry["epoch"] for entry in method.history_] == [1, 2]
    assert method.stop_reason_ == "max epochs"
    method.save(tmp_path)
    loaded = load_method(tmp_path)
    assert loaded.settings() == method.settings()
    texts = list(VALIDATION.texts)
    np.testing.assert_array_equal(loaded.predict_scores(texts), method.predict_scores(texts))


def test_a_hybrid_hands_on_the_settings_of_its_block(tiny: Path) -> None:
    hybrid = HybridEncoder(
        blocks=["tfidf", "finetuned"],
        block_settings={"finetuned": {"model": str(tiny), "max_epochs": 1}},
        device="cpu",
        seed=5,
    )
    block = hybrid.new_blocks()[1]
    assert isinstance(block, FineTunedEncoder)
    assert (block.seed, block.device, block.max_epochs) == (5, "cpu", 1)


def test_head_settings_suit_the_head() -> None:
    PiranClassifier(encoder="finetuned")._new_head()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"max_epochs": 0}, "max_epochs must be at least 1, got 0"),
        ({"scale": 0.0}, "scale must be above 0"),
        ({"learning_rate": -1.0}, "learning_rate must be above 0"),
        ({"classifier_learning_rate": 0.0}, "classifier_learning_rate must be above 0"),
        ({"warmup_share": 1.0}, "warmup_share must lie in 0 to 1, got 1"),
        ({"attention_dropout": -0.1}, "attention_dropout must lie in 0 to 1, got -0.1"),
        ({"precision": "float16"}, "precision must be one of auto, float32, bfloat16"),
        ({"loss": "focl"}, "Unknown loss 'focl'"),
    ],
)
def test_wrong_settings_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        new_encoder("any", **settings).fit(SHORT)


def test_a_folder_without_a_transformer_is_explained(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="holds no transformer that piran can read"):
        new_encoder(tmp_path).fit(SHORT)


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, encoder: FineTunedEncoder, tmp_path: Path
) -> None:
    encoder.save(tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'piran\[transformers\]'"):
        new_encoder("any").fit(SHORT)
    with pytest.raises(MissingExtraError, match=r"pip install 'piran\[transformers\]'"):
        FineTunedEncoder.load(tmp_path)


def test_an_encoder_that_is_not_fitted_says_so(tmp_path: Path) -> None:
    actions: list[Callable[[], object]] = [
        lambda: FineTunedEncoder().encode(["text"]),
        lambda: FineTunedEncoder().save(tmp_path),
        lambda: FineTunedEncoder().feature_dim,
    ]
    for action in actions:
        with pytest.raises(NotFittedError, match="FineTunedEncoder is not fitted; call fit"):
            action()


def test_a_clone_has_the_settings_and_nothing_learned(encoder: FineTunedEncoder) -> None:
    copy = clone(encoder)
    assert copy.settings() == encoder.settings()
    assert not hasattr(copy, "network_")
