"""Several encoders side by side: scaled alike, reduced together, saved and loaded as one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from piran.encoders import ENCODERS, Encoder, LabelledTexts
from piran.encoders.cache import fitted_encoder, stage1_cache
from piran.encoders.hybrid import HybridEncoder
from piran.encoders.tfidf import TfidfEncoder
from piran.errors import ModelFolderError, NotFittedError, SettingError, UnknownNameError
from piran.methods import load_method
from piran.methods.piran import PiranClassifier
from piran.storage import load_state, save_state
from piran.types import FloatArray, Texts
from tiny_transformer import write_tiny_transformer

TEXTS = ["red apple pie", "green apple", "red cherry pie", "green pear", "red apple", "cherry pie"]
TRAIN = LabelledTexts(TEXTS, csr_array(np.ones((len(TEXTS), 1), dtype=np.float32)))
TFIDF: dict[str, Any] = {"n_components": 3, "min_documents": 1}
SIZES = {"factor": 10.0}


class Sizes(Encoder):
    """Letters and words of a text, times a factor; hangs on a file that it does not learn from."""

    name: ClassVar[str] = "sizes"
    outside: ClassVar[str] = "first"

    def __init__(self, *, factor: float = 1.0, device: str = "auto", seed: int = 0) -> None:
        self.factor = factor
        self.device = device
        self.seed = seed

    def fit(self, train: LabelledTexts, validation: LabelledTexts | None = None) -> Self:
        self.history_ = []
        return self

    def encode(self, texts: Texts) -> FloatArray:
        sizes = [[len(text), len(text.split())] for text in texts]
        return np.array(sizes, dtype=np.float32).reshape(-1, 2) * np.float32(self.factor)

    @property
    def feature_dim(self) -> int:
        return 2

    def outside_parts(self) -> list[str]:
        return [self.outside]

    def save(self, folder: Path) -> None:
        save_state(folder, "sizes", {"settings": self.settings()}, {})

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls(**load_state(folder, "sizes")[0]["settings"]).fit(TRAIN)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "hybrid" in ENCODERS  # all found before one is added for the test
    monkeypatch.setitem(ENCODERS._things, "sizes", Sizes)


def new_hybrid(**settings: Any) -> HybridEncoder:
    given = {"blocks": ["tfidf", "sizes"], "block_settings": {"tfidf": TFIDF}, **settings}
    return HybridEncoder(**given)


def squares(instances: FloatArray) -> float:
    return float(np.mean(np.sum(instances.astype(float) ** 2, axis=1)))


def test_blocks_stand_side_by_side_centred_and_scaled() -> None:
    tfidf = TfidfEncoder(**TFIDF).fit(TRAIN).encode(TEXTS)
    sizes = Sizes().encode(TEXTS)
    expected = np.hstack(
        [
            (block - block.mean(axis=0)) / np.sqrt(2 * squares(block - block.mean(axis=0)))
            for block in (tfidf, sizes)
        ]
    )
    hybrid = new_hybrid().fit(TRAIN)
    np.testing.assert_allclose(hybrid.encode(TEXTS), expected, atol=1e-5)
    assert hybrid.feature_dim == 5
    assert squares(hybrid.encode(TEXTS)) == pytest.approx(1, abs=1e-5)


def test_the_scale_of_a_block_does_not_matter() -> None:
    plain = new_hybrid().fit(TRAIN).encode(TEXTS)
    large = new_hybrid(block_settings={"tfidf": TFIDF, "sizes": SIZES}).fit(TRAIN).encode(TEXTS)
    np.testing.assert_allclose(plain, large, atol=1e-5)


def test_weights_give_blocks_their_shares() -> None:
    instances = new_hybrid(block_weights={"sizes": 2.0}).fit(TRAIN).encode(TEXTS)
    assert squares(instances[:, :3]) == pytest.approx(1 / 5, abs=1e-5)
    assert squares(instances[:, 3:]) == pytest.approx(4 / 5, abs=1e-5)


def test_the_whole_can_be_reduced_to_its_leading_directions() -> None:
    whole = new_hybrid().fit(TRAIN).encode(TEXTS)
    reduced = new_hybrid(n_components=2).fit(TRAIN)
    kept = np.linalg.svd(whole, compute_uv=False)[:2]
    instances = reduced.encode(TEXTS)
    assert instances.shape == (6, 2) == (6, reduced.feature_dim)
    np.testing.assert_allclose(np.linalg.norm(instances, axis=0), kept, rtol=1e-4)


def test_more_directions_than_there_are_lose_nothing() -> None:
    whole = new_hybrid().fit(TRAIN).encode(TEXTS)
    turned = new_hybrid(n_components=99).fit(TRAIN).encode(TEXTS)
    np.testing.assert_allclose(turned @ turned.T, whole @ whole.T, atol=1e-5)


def test_a_block_that_says_nothing_does_no_harm() -> None:
    blank = LabelledTexts(["one two", "two one"], TRAIN.targets[:2])
    instances = new_hybrid(blocks=["sizes"], block_settings=None).fit(blank).encode(blank.texts)
    np.testing.assert_array_equal(instances, np.zeros((2, 2)))


def test_blocks_get_seed_and_device() -> None:
    tfidf, sizes = HybridEncoder(blocks=["tfidf", "sizes"], device="cpu", seed=7).new_blocks()
    assert (tfidf.seed, sizes.seed, sizes.device) == (7, 7, "cpu")


def test_no_text_gives_no_instance() -> None:
    assert new_hybrid().fit(TRAIN).encode([]).shape == (0, 5)


@pytest.mark.parametrize("n_components", [None, 2])
def test_a_loaded_hybrid_gives_the_same(tmp_path: Path, n_components: int | None) -> None:
    hybrid = new_hybrid(n_components=n_components, block_weights={"tfidf": 3.0}).fit(TRAIN)
    hybrid.save(tmp_path)
    loaded = HybridEncoder.load(tmp_path)
    assert loaded.settings() == hybrid.settings()
    np.testing.assert_array_equal(loaded.encode(["red pear"]), hybrid.encode(["red pear"]))


def test_a_clone_is_a_new_one_with_the_same_settings() -> None:
    hybrid = new_hybrid(block_weights={"tfidf": 3.0}).fit(TRAIN)
    copy = clone(hybrid)
    assert copy.settings() == hybrid.settings()
    with pytest.raises(NotFittedError):
        copy.encode(TEXTS)


def test_what_a_block_hangs_on_makes_another_stage_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stage1_cache(tmp_path) as savings:
        for outside in ("first", "first", "second"):
            monkeypatch.setattr(Sizes, "outside", outside)
            fitted_encoder(new_hybrid(), TRAIN)
    assert (savings.n_made, savings.n_found) == (2, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"blocks": []}, "blocks must be different encoders"),
        ({"blocks": ["tfidf", "tfidf"]}, "blocks must be different encoders"),
        ({"blocks": ["tfidf", "hybrid"]}, "other than hybrid"),
        ({"block_settings": {"tfdif": {}}}, "block_settings names no block 'tfdif'.*'tfidf'"),
        ({"block_settings": {"tfidf": {"dampin": 1}}}, "no setting 'dampin'.*'damping'"),
        ({"block_weights": {"bilstm": 1.0}}, "block_weights names no block 'bilstm'"),
        ({"block_weights": {"sizes": 0.0}}, "block_weights must be above 0"),
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
    ],
)
def test_wrong_settings_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        new_hybrid(**settings).fit(TRAIN)


def test_an_unknown_block_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'transformer'"):
        HybridEncoder(blocks=["transfomer"]).fit(TRAIN)


@pytest.mark.parametrize(
    "change", [{"settings": {"colour": 1}}, {"settings": {"blocks": ["unheard"]}}]
)
def test_a_folder_of_something_else_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    new_hybrid().fit(TRAIN).save(tmp_path)
    path = tmp_path / "encoder.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(ModelFolderError, match="holds no hybrid encoder"):
        HybridEncoder.load(tmp_path)


def test_a_hybrid_that_is_not_fitted_says_so(tmp_path: Path) -> None:
    actions: list[Callable[[], object]] = [
        lambda: HybridEncoder().encode(["text"]),
        lambda: HybridEncoder().save(tmp_path),
        lambda: HybridEncoder().feature_dim,
    ]
    for action in actions:
        with pytest.raises(NotFittedError, match="HybridEncoder is not fitted; call fit"):
            action()


def test_piran_learns_on_tf_idf_beside_a_transformer(tmp_path: Path) -> None:
    model = write_tiny_transformer(tmp_path / "tiny")
    hybrid = HybridEncoder(
        block_settings={"tfidf": TFIDF, "transformer": {"model": str(model)}}, device="cpu"
    )
    labels = [["red", "pie"], ["green"], ["red", "pie"], ["green"], ["red"], ["pie"]]
    method = PiranClassifier(encoder=hybrid, tail=1).fit(TEXTS * 4, labels * 4)
    method.save(tmp_path / "saved")
    loaded = load_method(tmp_path / "saved")
    assert loaded.settings() == method.settings()
    np.testing.assert_allclose(
        loaded.predict_scores(TEXTS), method.predict_scores(TEXTS), atol=1e-6
    )
    assert method.predict(["green apple"]) == [("green",)]
