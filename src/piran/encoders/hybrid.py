"""Several encoders side by side: exact words from one, meaning from another."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from piran.encoders.base import ENCODERS, Encoder, LabelledTexts
from piran.errors import ModelFolderError, SettingError
from piran.registry import suggestion
from piran.storage import load_state, save_state
from piran.types import FloatArray, Texts

SHARED_SETTINGS = ("seed", "device")
"""Settings of the hybrid that every block gets which knows them."""
BLOCK_WEIGHTS = {"transformer": 2.0, "finetuned": 2.0}
"""Blocks that count other than 1 where nothing is said: what has read much other text counts more."""


@ENCODERS.register("hybrid")
class HybridEncoder(Encoder):
    """Instances of several encoders, brought to one scale and put side by side.

    The training instances of each block are centred, and scaled so that their mean square length is the
    block's share of the whole, which is 1. So settings of the head mean the same whatever the blocks.

    Parameters
    ----------
    blocks
        Names of the encoders.
    block_settings
        Settings of some blocks, by name: ``{"transformer": {"max_tokens": 128}}``.
    block_weights
        What some blocks count, by name; others count 2 if they are transformers, else 1. Shares are
        proportional to the squares.
    n_components
        Directions of most variation that the whole is reduced to; None leaves it as it is.
    device
        Of blocks that are networks.
    seed
        Of the blocks.

    """

    name: ClassVar[str] = "hybrid"
    head_settings: ClassVar[dict[str, Any]] = {
        "row_loss": "squared-hinge",
        "l2": 1.0,
        "n_prototype_documents": 1,
        "n_generated": 30,
        "generated_weight": 0.5,
        "max_directions": None,  # as for TF-IDF; not varied
    }

    def __init__(
        self,
        *,
        blocks: Sequence[str] = ("tfidf", "transformer"),
        block_settings: Mapping[str, Mapping[str, Any]] | None = None,
        block_weights: Mapping[str, float] | None = None,
        n_components: int | None = None,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.blocks = blocks
        self.block_settings = block_settings
        self.block_weights = block_weights
        self.n_components = n_components
        self.device = device
        self.seed = seed

    def fit(self, train: LabelledTexts, validation: LabelledTexts | None = None) -> Self:
        """Fit the blocks one after the other, then the scales that bring them together."""
        blocks = self.new_blocks()
        weights = self._weights()
        if self.n_components is not None and self.n_components < 1:
            raise SettingError(f"n_components must be at least 1, got {self.n_components}.")
        self.history_ = []
        centres, scales = [], []
        for block, weight in zip(blocks, weights, strict=True):
            instances = block.fit(train, validation).encode(train.texts)
            self.history_ += block.history_
            self.stop_reason_ = block.stop_reason_ or self.stop_reason_
            centres.append(instances.mean(axis=0))
            scales.append(np.full(len(centres[-1]), weight / _length(instances - centres[-1])))
        self.blocks_ = blocks
        self.centre_ = np.concatenate(centres).astype(np.float32)  # (feature_dim,)
        self.scale_ = np.concatenate(scales).astype(np.float32)  # (feature_dim,)
        self.directions_ = self._learn_directions(train.texts)
        return self

    def new_blocks(self) -> list[Encoder]:
        """Return the encoders that it is made of, not fitted."""
        self._check_blocks()
        settings = self.block_settings or {}
        shared = {key: getattr(self, key) for key in SHARED_SETTINGS}
        blocks = []
        for name in self.blocks:
            known = ENCODERS[name]._get_param_names()
            _check_names(settings.get(name, {}), known, f"The block {name} has no setting")
            own = {key: value for key, value in shared.items() if key in known}
            blocks.append(ENCODERS[name](**{**own, **settings.get(name, {})}))
        return blocks

    def _check_blocks(self) -> None:
        names = list(self.blocks)
        if not names or len(set(names)) < len(names) or self.name in names:
            raise SettingError(
                f"blocks must be different encoders other than {self.name}, at least one, got {names}."
            )
        _check_names(self.block_settings or {}, names, "block_settings names no block")
        _check_names(self.block_weights or {}, names, "block_weights names no block")

    def _weights(self) -> FloatArray:
        """Return the weights of the blocks, their squares adding up to 1."""
        given = {**BLOCK_WEIGHTS, **(self.block_weights or {})}
        weights = np.array([given.get(name, 1.0) for name in self.blocks])
        if not (weights > 0).all():
            raise SettingError(f"block_weights must be above 0, got {self.block_weights}.")
        return np.asarray(weights / np.linalg.norm(weights))

    def _learn_directions(self, texts: Texts) -> FloatArray | None:
        """Return the leading directions of the training instances, (whole_dim, n_components)."""
        if self.n_components is None:
            return None
        whole = self._whole(texts)
        _, vectors = np.linalg.eigh((whole.T @ whole).astype(np.float64))
        leading = vectors[:, ::-1][:, : self.n_components]
        # The sign of an eigenvector is arbitrary; this one does not hang on the machine
        signs = np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])])
        return np.ascontiguousarray(leading * signs, dtype=np.float32)

    def encode(self, texts: Texts) -> FloatArray:
        """Return the blocks' instances side by side, reduced if ``n_components`` says so."""
        self.require_fitted("blocks_")
        whole = self._whole(texts)
        return whole if self.directions_ is None else whole @ self.directions_

    def _whole(self, texts: Texts) -> FloatArray:
        side_by_side = np.hstack([block.encode(texts) for block in self.blocks_])
        return (side_by_side - self.centre_) * self.scale_  # (n_documents, whole_dim)

    @property
    def feature_dim(self) -> int:
        """Numbers in an instance: of all blocks together, or the directions kept."""
        self.require_fitted("blocks_")
        return len(self.centre_) if self.directions_ is None else self.directions_.shape[1]

    def untrained(self) -> Encoder:
        """Return what the first block that learned from labels was before; itself if none did."""
        befores = ((block, block.untrained()) for block in self.blocks_)
        return next((before for block, before in befores if before is not block), self)

    def settings(self) -> dict[str, Any]:
        """Return the constructor's arguments, in the form that JSON gives back."""
        return {**super().settings(), "blocks": list(self.blocks)}

    def outside_parts(self) -> list[str]:
        """Return what else the blocks depend on."""
        return [part for block in self.new_blocks() for part in block.outside_parts()]

    def save(self, folder: Path) -> None:
        """Write settings, scales and directions, and every block into a folder of its own."""
        self.require_fitted("blocks_")
        arrays = {"centre": self.centre_, "scale": self.scale_}
        if self.directions_ is not None:
            arrays["directions"] = self.directions_
        state = {"settings": self.settings(), "history": self.history_}
        save_state(folder, "encoder", state, arrays)
        for block in self.blocks_:
            block.save(folder / block.name)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what :meth:`save` wrote."""
        state, arrays = load_state(folder, "encoder")
        try:
            encoder = cls(**state["settings"])
            encoder.history_ = state["history"]
            encoder.centre_, encoder.scale_ = arrays["centre"], arrays["scale"]
            blocks = [ENCODERS[name] for name in encoder.blocks]
        except (KeyError, TypeError, LookupError) as error:
            raise ModelFolderError(f"{folder} holds no hybrid encoder: {error}.") from error
        encoder.directions_ = arrays.get("directions")
        encoder.blocks_ = [block.load(folder / block.name) for block in blocks]
        return encoder


def _length(centred: FloatArray) -> float:
    """Return the root mean square length of the rows; 1 where they are all zero."""
    length = float(np.sqrt(np.mean(np.sum(centred.astype(np.float64) ** 2, axis=1))))
    return length if length > 0 else 1.0


def _check_names(given: Mapping[str, object], known: Sequence[str], complaint: str) -> None:
    for name in given:
        if name not in known:
            raise SettingError(f"{complaint} {name!r}. {suggestion(name, list(known))}")
