"""Linear SVMs on TF-IDF vectors: what a sceptic tries first, with probabilities and cut-offs."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from piran.encoders.base import LabelledTexts
from piran.methods.base import METHODS, Method
from piran.methods.text_svm import SvmSettings, TextSvm
from piran.types import FloatArray, Texts


@METHODS.register("linear")
@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(SvmSettings, Method):
    """One L2-regularised SVM with squared hinge loss a label, on TF-IDF of words and word pairs.

    Its scores are probabilities, fitted on the validation documents to margins that were learned
    without them. With ``refit`` the rows are then learned again from all documents; probabilities and
    cut-offs stay. A label without a training document has the score 0.

    Memory: that of :class:`~piran.methods.text_svm.TextSvm`.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "red cherry", "green pear"] * 5
    >>> labels = [["red", "fruit"], ["fruit"], ["red", "fruit"], ["fruit"]] * 5
    >>> LinearClassifier(tail=1).fit(texts, labels).predict(["a red pear"])
    [('fruit', 'red')]

    """

    name: ClassVar[str] = "linear"

    refit: bool = True
    """Learn the rows again from all documents after probabilities and cut-offs are chosen."""

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        self.svm_ = TextSvm.fit(train, validation, settings=self)

    def _refit(self, documents: LabelledTexts) -> None:
        if self.refit:
            self.svm_ = self.svm_.refitted(documents, settings=self)

    def _scores(self, texts: Texts) -> FloatArray:
        return self.svm_.probabilities(texts)

    def _save(self, folder: Path) -> None:
        self.svm_.save(folder)

    def _load(self, folder: Path) -> None:
        self.svm_ = TextSvm.load(folder, n_labels=len(self.labels_))
