"""The contract of encoders: texts in, instances out, one row a document."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from piran.errors import DataError, NotFittedError
from piran.progress import task
from piran.registry import Registry
from piran.rows import LinearRows
from piran.types import FloatArray, LabelMatrix, Texts

TEXTS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Documents and the labels they have."""

    texts: Texts
    targets: LabelMatrix
    """Shape (n_documents, n_labels)."""

    def __post_init__(self) -> None:
        if len(self.texts) != self.targets.shape[0]:
            raise DataError(
                f"{len(self.texts)} texts stand beside {self.targets.shape[0]} rows of labels; "
                "give one row for each text."
            )

    def __len__(self) -> int:
        return len(self.texts)

    def with_labels(self) -> "LabelledTexts":
        """Return the documents that have at least one label."""
        kept = np.flatnonzero(np.diff(self.targets.indptr))
        return LabelledTexts([self.texts[row] for row in kept.tolist()], self.targets[kept])


class Encoder(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """Turns texts into instances.

    As in scikit-learn, the constructor only stores its keyword-only arguments under their own names
    (``get_params`` lists them, ``clone`` copies them), and what :meth:`fit` learns ends in ``_``.
    """

    name: ClassVar[str]
    """The name it is registered under."""

    head_settings: ClassVar[dict[str, Any]] = {}
    """Settings of PiranHead that suit the instances, chosen on validation documents."""

    stage1_rows_: LinearRows | None = None
    """Rows of the classifier trained together with the encoder; None where there was none."""
    history_: list[dict[str, float]]
    """One entry an epoch; empty for encoders without epochs."""
    stop_reason_: str | None = None
    """Why training ended; None for encoders without epochs."""
    stage1_key_: str | None = None
    """What the cache of stage 1 keeps it under; None for an encoder that did not go through one."""

    @abstractmethod
    def fit(self, train: LabelledTexts, validation: LabelledTexts | None = None) -> Self:
        """Learn from the training documents; ``validation`` only decides when to stop."""

    @abstractmethod
    def encode(self, texts: Texts) -> FloatArray:
        """Return the instances (n_documents, feature_dim) in float32, in the order of the texts."""

    @property
    @abstractmethod
    def feature_dim(self) -> int:
        """Numbers in an instance, known once fitted."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the fitted encoder into a folder, without pickle."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Self:
        """Read what :meth:`save` wrote."""

    def settings(self) -> dict[str, Any]:
        """Return the constructor's arguments, as stored in a saved model."""
        return dict(self.get_params(deep=False))

    def untrained(self) -> "Encoder":
        """Return what it was before it learned from labels: itself if it learns nothing from them.

        Another one is not fitted yet. Instances of an encoder that learned from labels are surer of its
        training documents than of new ones.
        """
        return self

    def outside_parts(self) -> list[str]:
        """Return digests of what else decides the instances: a pretrained model, say."""
        return []

    def require_fitted(self, attribute: str) -> None:
        """Raise NotFittedError unless ``attribute`` has been learned."""
        if not hasattr(self, attribute):
            raise NotFittedError(
                f"{type(self).__name__} is not fitted; call fit(train) or load(folder) first."
            )


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Bring the rows of (n, feature_dim) to length one; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def unit_instances(
    texts: Texts, vectors_of: Callable[[Texts], FloatArray], feature_dim: int
) -> FloatArray:
    """Return the vectors of the texts at length one, float32; a portion of texts at a time."""
    blocks = [np.zeros((0, feature_dim), dtype=np.float32)]
    with task("Encoding", len(texts)) as advance:
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            part = texts[first : first + TEXTS_AT_ONCE]
            blocks.append(unit_rows(vectors_of(part)).astype(np.float32))
            advance(len(part))
    return np.concatenate(blocks)


ENCODERS: Registry[type[Encoder]] = Registry("encoder", "piran.encoders")
"""Encoders by name; a module of this package files its own with ``@ENCODERS.register(name)``."""
