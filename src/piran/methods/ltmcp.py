"""LTMCP: a network for the head labels, linear models for the tail labels."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from piran.encoders.base import LabelledTexts
from piran.encoders.bilstm import ExtractorSettings
from piran.encoders.networks import ExtractorClassifier, begin_at_log_odds
from piran.encoders.text_network import TextNetwork
from piran.errors import DataError, SettingError
from piran.methods.base import METHODS, Method
from piran.methods.text_svm import SvmSettings, TextSvm
from piran.types import FloatArray, IntArray, Texts

TAIL_MODELS = ("svm", "network")
_TAIL = "tail"


@METHODS.register("ltmcp")
@dataclass(kw_only=True, eq=False, repr=False)
class Ltmcp(ExtractorSettings, SvmSettings, Method):
    """The paper's extractor learns the head labels, SVMs on TF-IDF vectors learn the tail labels.

    A network needs more documents than a tail label has; a linear model needs a telling word. The
    network is trained on the head columns of all documents, so those without a head label teach it what
    is none. The SVMs are those of ``linear``, with probabilities fitted on the validation documents, so
    that both parts' scores can be ranked together.

    Memory: five times the network's weights (gradient, two numbers of Adam, the best weights), most of
    which are n_words · embedding_dim word vectors; in a batch about 9,000 numbers for each word, 0.3 GB
    for 64 documents of 130 words; and that of :class:`~piran.methods.text_svm.TextSvm` for the tail
    labels.
    """

    name: ClassVar[str] = "ltmcp"

    tail_model: str = "svm"
    """``svm``, or ``network`` to let the network learn all labels, which turns the idea off."""
    refit: bool = True
    """Learn the SVMs again from all documents after the cut-offs are tuned; the network stays."""

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        self._check()
        self._fit_network(
            _columns(train, self._network_ids), _columns(validation, self._network_ids)
        )
        if len(self._svm_ids):
            tail, held_out = _columns(train, self._svm_ids), _columns(validation, self._svm_ids)
            self.svm_ = TextSvm.fit(tail, held_out, settings=self)

    def _fit_network(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        self.network_ = TextNetwork.begin(train.texts, self._build, settings=self)
        begin_at_log_odds(self.network_.network.classifier, train.targets)
        outcome = self.network_.fit(train, validation, settings=self)
        self.history_, self.stop_reason_ = outcome.history, outcome.stop_reason

    def _build(self, embeddings: Tensor) -> ExtractorClassifier:
        classifier = nn.Linear(self.instance_dim, len(self._network_ids))
        return ExtractorClassifier(self.new_extractor(embeddings), classifier)

    def _refit(self, documents: LabelledTexts) -> None:
        if self.refit and len(self._svm_ids):
            tail = _columns(documents, self._svm_ids)
            self.svm_ = self.svm_.refitted(tail, settings=self)

    def _scores(self, texts: Texts) -> FloatArray:
        scores = np.zeros((len(texts), len(self.labels_)), dtype=np.float32)
        scores[:, self._network_ids] = self.network_.scores(texts)
        if len(self._svm_ids):
            scores[:, self._svm_ids] = self.svm_.probabilities(texts)
        return scores

    def _save(self, folder: Path) -> None:
        self.network_.save(folder)
        if len(self._svm_ids):
            self.svm_.save(folder / _TAIL)

    def _load(self, folder: Path) -> None:
        self.network_ = TextNetwork.load(folder, self._build, settings=self)
        if len(self._svm_ids):
            self.svm_ = TextSvm.load(folder / _TAIL, n_labels=len(self._svm_ids))

    @property
    def _network_ids(self) -> IntArray:
        """Columns that the network scores; unseen labels are in neither part."""
        if self.tail_model == "network":
            return np.flatnonzero(~self.labels_.is_unseen)
        return np.flatnonzero(self.labels_.is_head)

    @property
    def _svm_ids(self) -> IntArray:
        """Columns that the SVMs score."""
        if self.tail_model == "network":
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(self.labels_.is_tail)

    def _check(self) -> None:
        if self.tail_model not in TAIL_MODELS:
            raise SettingError(
                f"tail_model must be one of {', '.join(TAIL_MODELS)}, got {self.tail_model!r}."
            )
        if not len(self._network_ids):
            raise DataError(
                "ltmcp's network learns the head labels, but all labels are tail; set tail below "
                f"{len(self.labels_)}, or use the method linear."
            )


def _columns(documents: LabelledTexts, label_ids: IntArray) -> LabelledTexts:
    """Return all documents with some of the labels."""
    return LabelledTexts(documents.texts, documents.targets[:, label_ids])
