"""Linear SVMs, each cut where cross-validation says: the strongest simple method for macro-F1."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from piran.encoders.base import LabelledTexts
from piran.errors import ModelFolderError, SettingError
from piran.methods.base import METHODS, Method
from piran.methods.text_svm import SvmSettings, TextSvm
from piran.storage import load_state, save_state
from piran.training.one_vs_rest import support_vector_machine
from piran.training.scut import cross_validated_cuts
from piran.types import FloatArray, Texts

HIGHEST_UNCUT = np.float32(1 - 1e-6)
"""So that half of it lies below 0.5."""
_STATE_NAME = "cuts"


@METHODS.register("linear-threshold")
@dataclass(kw_only=True, eq=False, repr=False)
class LinearThreshold(SvmSettings, Method):
    """The SVMs of ``linear`` with a cut-off a label from three-fold cross-validation (SCut with fbr).

    Cut-offs are found on the training documents alone, so every label has some evidence for its own,
    where a validation slice would have none for most.

    A score is (1 + p) / 2 if the margin reaches its label's cut-off, otherwise p / 2, where p is the
    probability that ``linear`` returns. So 0.5 is the cut-off, scores rise with the margin, and in a
    ranking the labels that are predicted come first, each part in the order of p. P@k is that of
    ``linear`` to within a point; ranked by how far margins lie above their cut-offs, P@1 to P@5 were one
    to two points lower on held-out training documents of debtags.

    Memory: that of :class:`~piran.methods.text_svm.TextSvm`, and 36 bytes a label.
    """

    name: ClassVar[str] = "linear-threshold"

    thresholds: str = "half"
    """The cut-offs of this method lie at 0.5; the other policies choose anew on validation documents."""
    has_cross_validation: bool = True
    """Without it every label is cut at a margin of 0, as a plain SVM is."""
    fbr: float = 0.1
    """In a fold whose best F1 is below this, the cut-off is the highest margin; 0: never. Between 0.05
    and 0.3 it changed macro-F1 on held-out documents of debtags and Reuters by less than 0.5."""
    refit: bool = True
    """Learn the rows again from all documents; cut-offs stay."""

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        if not 0 <= self.fbr <= 1:
            raise SettingError(f"fbr must lie between 0 and 1, got {self.fbr}.")
        self.svm_ = TextSvm.fit(train, validation, settings=self)
        self.cut_offs_ = self._cut_offs(train)

    def _cut_offs(self, train: LabelledTexts) -> FloatArray:
        """Return the margin from which on each label is given, (n_labels,)."""
        if not self.has_cross_validation:
            return np.zeros(len(self.labels_))
        features = self.svm_.ngrams.transform(train.texts)
        classifier = support_vector_machine(C=self.svm_.C, seed=self.seed)
        cuts = cross_validated_cuts(features, train.targets, classifier, seed=self.seed)
        return cuts.mean(self.fbr)

    def _refit(self, documents: LabelledTexts) -> None:
        if self.refit:
            self.svm_ = self.svm_.refitted(documents, settings=self)

    def _scores(self, texts: Texts) -> FloatArray:
        margins = self.svm_.margins(texts)
        uncut = np.minimum(self.svm_.probabilities_of(margins), HIGHEST_UNCUT)
        return np.where(margins >= self.cut_offs_, 0.5 + 0.5 * uncut, 0.5 * uncut)

    def _save(self, folder: Path) -> None:
        self.svm_.save(folder)
        save_state(folder, _STATE_NAME, {}, {"cut_offs": self.cut_offs_})

    def _load(self, folder: Path) -> None:
        self.svm_ = TextSvm.load(folder, n_labels=len(self.labels_))
        cut_offs = load_state(folder, _STATE_NAME)[1].get("cut_offs", np.zeros(0))
        if cut_offs.shape != (len(self.labels_),):
            raise ModelFolderError(
                f"{folder} holds cut-offs of shape {cut_offs.shape}, expected "
                f"({len(self.labels_)},); save the model again."
            )
        self.cut_offs_ = cut_offs
