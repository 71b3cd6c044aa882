"""Other views of a document, beside its instance: its exact words, and its likeness to a label's text.

Rows on instances know meaning and miss rare words; support vector machines on words know those; and
a label that has a name or a description in words is known a little before it has any document.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from piran.data.labels import LabelSpace
from piran.encoders.base import Encoder, LabelledTexts, unit_rows
from piran.errors import ModelFolderError, SettingError
from piran.methods.text_svm import SvmSettings, TextSvm
from piran.registry import suggestion
from piran.storage import load_state, save_state
from piran.types import FloatArray, Texts

ROWS = "rows"
WORDS = "words"
LABEL_TEXTS = "label-texts"
VIEWS = (WORDS, LABEL_TEXTS)
"""What can stand beside the rows on instances."""

_LABELS = "label-texts"


@dataclass(frozen=True, eq=False)
class LabelLikeness:
    """How much a document is like the text of each label, in the encoder's own space."""

    centre: FloatArray
    """Mean document, (feature_dim,)."""
    directions: FloatArray
    """From the mean label text to each label's, of length one, (n_labels, feature_dim)."""

    @classmethod
    def of(cls, instances: FloatArray, label_instances: FloatArray) -> "LabelLikeness":
        """Learn from the training instances and those of the labels' texts."""
        centred = label_instances - label_instances.mean(axis=0)
        return cls(instances.mean(axis=0), unit_rows(centred))

    def margins(self, instances: FloatArray) -> FloatArray:
        """Return the cosines between documents and labels, (n_documents, n_labels)."""
        return np.asarray(unit_rows(instances - self.centre) @ self.directions.T)


@dataclass(frozen=True, eq=False)
class Views:
    """The views that a classifier has beside its rows."""

    words: TextSvm | None = None
    likeness: LabelLikeness | None = None

    @classmethod
    def fit(
        cls,
        names: Sequence[str],
        documents: LabelledTexts,
        instances: FloatArray,
        *,
        encoder: Encoder,
        labels: LabelSpace,
        seed: int,
    ) -> "Views":
        """Learn the named views from the training documents and their instances."""
        words = likeness = None
        if WORDS in names:
            words = TextSvm.fit(documents, None, settings=SvmSettings(seed=seed))
        if LABEL_TEXTS in names:
            likeness = LabelLikeness.of(instances, encoder.encode(labels.texts()))
        return cls(words, likeness)

    def refitted(self, documents: LabelledTexts, *, seed: int) -> "Views":
        """Return the views with words learned from these documents; label texts stay as they are."""
        if self.words is None:
            return self
        return Views(self.words.refitted(documents, settings=SvmSettings(seed=seed)), self.likeness)

    def margins(self, texts: Texts, instances: FloatArray) -> dict[str, FloatArray]:
        """Return what each view says of the texts, (n_documents, n_labels) each."""
        found = {}
        if self.words is not None:
            found[WORDS] = self.words.margins(texts)
        if self.likeness is not None:
            found[LABEL_TEXTS] = self.likeness.margins(instances)
        return found

    def save(self, folder: Path) -> None:
        """Write each view under a name of its own."""
        if self.words is not None:
            self.words.save(folder)
        if self.likeness is not None:
            arrays = {"centre": self.likeness.centre, "directions": self.likeness.directions}
            save_state(folder, _LABELS, {}, arrays)

    @classmethod
    def load(cls, folder: Path, names: Sequence[str], *, n_labels: int) -> "Views":
        """Read the named views."""
        words = TextSvm.load(folder, n_labels=n_labels) if WORDS in names else None
        if LABEL_TEXTS not in names:
            return cls(words)
        arrays = load_state(folder, _LABELS)[1]
        try:
            return cls(words, LabelLikeness(arrays["centre"], arrays["directions"]))
        except KeyError as error:
            raise ModelFolderError(f"{folder} lacks {error}; save the model again.") from error


def check_views(names: Sequence[str]) -> None:
    """Refuse views that are not known."""
    for name in names:
        if name not in VIEWS:
            raise SettingError(f"Unknown view {name!r}. {suggestion(name, list(VIEWS))}")
