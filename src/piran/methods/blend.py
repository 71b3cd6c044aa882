"""Rows on instances and the other views of documents, from texts to one probability for each label."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from piran.data.labels import LabelSpace
from piran.encoders.base import ENCODERS, Encoder, LabelledTexts
from piran.encoders.cache import encoded
from piran.errors import ModelFolderError
from piran.methods.fusion import Fusion
from piran.methods.views import ROWS, Margins, Views
from piran.storage import load_state, save_state
from piran.types import BoolArray, FloatArray, Texts

Encode = Callable[[Encoder, Texts], FloatArray]
"""How texts become instances: afresh, or by way of the cache of stage 1."""

_ENCODER = "view-encoder"
_STATE_NAME = "blend"


@dataclass(frozen=True, eq=False)
class Blend:
    """The views that a classifier has beside its rows, and what each of them counts."""

    encoder: Encoder | None
    """What the views see: what the classifier's encoder was before it learned from labels; None if it
    learns nothing from them, and views and rows see the same."""
    views: Views
    fusion: Fusion

    @classmethod
    def fit(
        cls,
        names: Sequence[str],
        documents: LabelledTexts,
        is_judged: BoolArray,
        margins_of_rows: Mapping[str, FloatArray],
        *,
        system: str,
        labels: LabelSpace,
        own_encoder: Encoder,
        view_encoder: Encoder | None,
        learned_instances: FloatArray | None,
        n_members: int,
        has_companions: bool,
        max_together: int,
        seed: int,
    ) -> "tuple[Blend, dict[str, FloatArray]]":
        """Fit the named views; return also each system's scores of the judged documents.

        ``margins_of_rows`` are by system, of the judged documents, (n_judged, n_labels); those of
        ``system`` decide what rows count. ``view_encoder`` takes the place of ``own_encoder`` where that
        has learned from labels; ``learned_instances`` are as in :meth:`Views.fit`.
        """
        encoder = view_encoder or own_encoder
        views, margins = Views.fit(
            names,
            documents,
            encoded(encoder, documents.texts),
            is_judged,
            encoder=encoder,
            labels=labels,
            max_together=max_together,
            seed=seed,
            learned_instances=learned_instances,
        )
        fusion, judge = Fusion.fit(
            {ROWS: margins_of_rows[system], **margins},
            documents.targets[np.flatnonzero(is_judged)],
            labels,
            has_companions=has_companions,
            n_members=n_members,
        )
        scores = {name: judge({ROWS: own, **margins}) for name, own in margins_of_rows.items()}
        return cls(view_encoder, views, fusion), scores

    def margins(self, texts: Texts, instances: Sequence[FloatArray], encode: Encode) -> Margins:
        """Return what each view says of texts, (n_documents, n_labels), beside the rows.

        ``instances`` are those of each of the classifier's encoders.
        """
        seen = instances[0] if self.encoder is None else encode(self.encoder, texts)
        return self.views.margins(texts, seen, instances)

    def probabilities(self, margins_of_rows: FloatArray, views: Margins) -> FloatArray:
        """Return probabilities for what rows and views say, (n_documents, n_labels)."""
        return self.fusion.probabilities({ROWS: margins_of_rows, **views})

    def save(self, folder: Path) -> None:
        """Write views, weights and the encoder, if there is one of their own."""
        save_state(folder, _STATE_NAME, {"encoder": self.encoder and self.encoder.name}, {})
        if self.encoder is not None:
            self.encoder.save(folder / _ENCODER)
        self.views.save(folder)
        self.fusion.save(folder)

    @classmethod
    def load(cls, folder: Path, names: Sequence[str], labels: LabelSpace) -> "Blend":
        """Read what :meth:`save` wrote, with the named views of these labels."""
        state, encoder = load_state(folder, _STATE_NAME)[0], None
        try:
            if state["encoder"] is not None:
                encoder = ENCODERS[state["encoder"]].load(folder / _ENCODER)
        except KeyError as error:
            raise ModelFolderError(f"{folder} lacks {error}; save the model again.") from error
        return cls(encoder, Views.load(folder, names, labels), Fusion.load(folder))
