"""LEAP (Liu et al. 2020) for texts and many labels: tail documents as clouds, by angle."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn

from piran.data.batches import Batch
from piran.encoders.base import LabelledTexts
from piran.encoders.bilstm import ExtractorSettings
from piran.encoders.cosine import CosineClassifier
from piran.encoders.networks import begin_at_log_odds
from piran.encoders.text_network import TextNetwork
from piran.methods.base import METHODS, Method
from piran.training.angular_clouds import FeatureClouds, widened_cosines
from piran.training.loop import BatchLoss
from piran.training.losses import LabelLoss, label_loss
from piran.types import FloatArray, Texts


class CosineNetwork(nn.Module):
    """An extractor with a cosine classifier on top."""

    def __init__(self, extractor: nn.Module, classifier: CosineClassifier) -> None:
        super().__init__()
        self.extractor = extractor
        self.classifier = classifier

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Map (n_documents, length) to logits (n_documents, n_labels)."""
        logits: Tensor = self.classifier(self.extractor(token_ids, lengths))
        return logits


@METHODS.register("leap")
@dataclass(kw_only=True, eq=False, repr=False)
class Leap(ExtractorSettings, Method):
    """The paper's extractor and a cosine classifier, trained with feature clouds around tail documents.

    In training, the logit of a tail label that a document has is s cos(θ + |a|) + b, where a is drawn
    from N(0, σ_h² − σ_j²): the mean variance of the angle in head labels, less the label's own. The
    original is made for images with one label each; here each label has a bias and cross-entropy of its
    own, and the variances are measured once an epoch.

    Memory beyond that of the network, which is as in :class:`~piran.methods.ltmcp.Ltmcp`:
    O(n_documents · instance_dim) while angles are measured.
    """

    name: ClassVar[str] = "leap"
    quick_settings: ClassVar[Mapping[str, Any]] = {
        **ExtractorSettings.quick_settings,
        "first_cloud_epoch": 2,
    }

    has_clouds: bool = True
    """Without clouds this is the cosine classifier alone."""
    scale: float = 16.0
    """s, where it begins; it is learned."""
    first_cloud_epoch: int = 4
    """Before that epoch angles mean little yet."""
    cloud_momentum: float = 0.5
    """Share of the earlier centres and variances that is kept from epoch to epoch."""

    def _build(self, embeddings: Tensor) -> CosineNetwork:
        extractor = self.new_extractor(embeddings)
        n_labels = len(self.labels_)
        classifier = CosineClassifier(
            self.instance_dim, n_labels, scale=self.scale, learns_scale=True
        )
        return CosineNetwork(extractor, classifier)

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        self.network_ = TextNetwork.begin(train.texts, self._build, settings=self)
        begin_at_log_odds(self.network_.network.classifier, train.targets)
        clouds = self._clouds(train)
        loss = label_loss(self, train.targets)
        outcome = self.network_.fit(
            train,
            validation,
            settings=self,
            batch_loss=clouded_loss(loss, clouds) if self.has_clouds else None,
            hooks=[clouds] if self.has_clouds else [],
        )
        self.history_, self.stop_reason_ = outcome.history, outcome.stop_reason
        self.cloud_deviations_: FloatArray = np.asarray(clouds.deviations)

    def _clouds(self, train: LabelledTexts) -> FeatureClouds:
        return FeatureClouds(
            self.network_.network.extractor,
            self.network_.token_ids(train.texts),
            train.targets,
            (self.labels_.is_head, self.labels_.is_tail),
            first_epoch=self.first_cloud_epoch,
            momentum=self.cloud_momentum,
            seed=self.seed,
        )

    def _scores(self, texts: Texts) -> FloatArray:
        return self.network_.scores(texts)

    def _save(self, folder: Path) -> None:
        self.network_.save(folder)

    def _load(self, folder: Path) -> None:
        self.network_ = TextNetwork.load(folder, self._build, settings=self)


def clouded_loss(loss: LabelLoss, clouds: FeatureClouds) -> BatchLoss:
    """Return the loss of a batch whose tail documents are turned away from their labels."""

    def of_batch(network: nn.Module, batch: Batch, targets: Tensor) -> Tensor:
        assert isinstance(network, CosineNetwork)
        instances = network.extractor(batch.token_ids, batch.lengths)
        cosines = network.classifier.cosines(instances)  # (n_documents, n_labels)
        logits = network.classifier.logits(widened_cosines(cosines, clouds.angles(targets)))
        return loss(logits, targets).sum() / len(targets)

    return of_batch
