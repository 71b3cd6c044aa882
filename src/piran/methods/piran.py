"""PIRAN (Algorithm 1): an encoder and its classifier, then tail rows adjusted on generated instances."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from sklearn.base import clone

from piran.augment.tail import GenerationSource
from piran.augment.variants import NO_AUG
from piran.encoders.base import ENCODERS, Encoder, LabelledTexts
from piran.encoders.cache import encoded, fitted_encoder, kept_arrays
from piran.errors import ModelFolderError
from piran.head import PiranHead
from piran.methods.base import METHODS, Method
from piran.methods.fusion import Fusion
from piran.methods.views import ROWS, Views, check_views
from piran.rows import LinearRows
from piran.storage import load_state, save_state
from piran.training.linear_fit import fit_rows
from piran.types import FloatArray, LabelMatrix, Texts

OWN_SETTINGS = ("tail", "seed", "thresholds", "validation_fraction", "references", "refit", "views")
HEAD_SETTINGS = tuple(set(PiranHead._get_param_names()) - {"tail", "random_state"})


@METHODS.register("piran")
class PiranClassifier(Method):
    """Texts in, label sets out, with a rescue for the rare labels.

    Parameters
    ----------
    encoder
        What turns texts into instances: an encoder, or the name of one with its default settings.
    head
        What learns labels from instances; None for what suits the encoder's instances. Its ``tail``
        and ``random_state`` are set from here.
    tail
        Number of tail labels, or their fraction; None for two thirds.
    seed
        Of everything random: validation slice, encoder, pairs, generations.
    thresholds
        Policy of the saved cut-offs: ``half`` (0.5), ``global``, ``groups`` (one for the tail, one for
        the rest) or ``per-label`` (where there is evidence, else as groups).
    validation_fraction
        Share of the training documents held out to tune cut-offs and stop training.
    references
        Variants of stage 2 that are fitted on the same stage 1, to compare with.
    refit
        Fit the classifier again on all documents after the cut-offs are tuned; an encoder that was
        trained with a classifier of its own is left as it is.
    views
        What else counts beside the rows on instances: ``words`` (support vector machines on the exact
        words) and ``label-texts`` (likeness to the label's name and description). The paper has none.
        With any, scores are probabilities fitted to validation documents; see
        :mod:`piran.methods.fusion`.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "red cherry", "green pear"] * 3
    >>> labels = [["red", "fruit"], ["fruit"], ["red", "fruit"], ["fruit"]] * 3
    >>> model = PiranClassifier(tail=1).fit(texts, labels)
    >>> model.predict(["apple"])
    [('fruit',)]

    """

    name: ClassVar[str] = "piran"

    views_: Views
    fusion_: Fusion | None

    def __init__(
        self,
        *,
        encoder: Encoder | str = "tfidf",
        head: PiranHead | None = None,
        tail: int | float | None = None,
        seed: int = 0,
        thresholds: str = "groups",
        validation_fraction: float = 0.1,
        references: Sequence[str] = (NO_AUG,),
        refit: bool = True,
        views: Sequence[str] = (),
    ) -> None:
        self.encoder = encoder
        self.head = head
        self.tail = tail
        self.seed = seed
        self.thresholds = thresholds
        self.validation_fraction = validation_fraction
        self.references = references
        self.refit = refit
        self.views = views

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        check_views(self.views)
        self._new_head().check_settings()
        # Stage 1, lines 1–5: the semantic extractor and, where it brings one, its classifier
        self.encoder_ = fitted_encoder(self._new_encoder(), train, validation)
        self.history_, self.stop_reason_ = self.encoder_.history_, self.encoder_.stop_reason_
        instances = encoded(self.encoder_, train.texts)  # (n_documents, feature_dim)
        self._fit_head(instances, train.targets)
        self._fit_views(train, instances, validation)

    def _refit(self, documents: LabelledTexts) -> None:
        if not self.refit:
            return
        if self.encoder_.stage1_rows_ is None:
            instances = encoded(self.encoder_, documents.texts)
            self._fit_head(instances, documents.targets, self.head_.stage1_rows_)
        self.views_ = self.views_.refitted(documents, seed=self.seed)

    def _fit_head(
        self, instances: FloatArray, targets: LabelMatrix, start: LinearRows | None = None
    ) -> None:
        """Fit what remains of stage 1, then stage 2, lines 6–18, and its reference variants."""
        head = self._new_head()
        stage1_rows = self.encoder_.stage1_rows_ or _stage1_rows(instances, targets, head, start)
        self.head_ = head.fit(
            instances, targets, stage1_rows=stage1_rows, is_tail=self.labels_.is_tail
        )
        self.rows_ = self.head_.rows_
        self.reference_rows_ = {
            name: self.head_.adjust_tail(instances, targets, name) for name in self.references
        }

    def _fit_views(
        self, train: LabelledTexts, instances: FloatArray, validation: LabelledTexts
    ) -> None:
        """Fit what stands beside the rows; validation documents decide what each of them counts."""
        self.views_ = Views.fit(
            self.views,
            train,
            instances,
            encoder=self.encoder_,
            labels=self.labels_,
            seed=self.seed,
        )
        self.fusion_ = None
        if self.views:
            held_out = encoded(self.encoder_, validation.texts)
            margins = {ROWS: self.rows_.logits(held_out)}
            margins |= self.views_.margins(validation.texts, held_out)
            self.fusion_ = Fusion.fit(margins, validation.targets, self.labels_)

    def _scores(self, texts: Texts) -> FloatArray:
        return self._scores_by(self.rows_, texts, self.encoder_.encode(texts))

    def _scores_by(self, rows: LinearRows, texts: Texts, instances: FloatArray) -> FloatArray:
        """Return the scores with these rows on the instances, (n_documents, n_labels)."""
        if self.fusion_ is None:
            return rows.probabilities(instances)
        margins = {ROWS: rows.logits(instances), **self.views_.margins(texts, instances)}
        return self.fusion_.probabilities(margins)

    def _without_unseen(self, scores: FloatArray) -> FloatArray:
        """Give labels without a training document the score 0, unless their own text gives them one."""
        if self.fusion_ is not None and self.fusion_.scores_unseen:
            return scores
        return super()._without_unseen(scores)

    def system_scores(self, texts: Texts) -> dict[str, FloatArray]:
        """Return PIRAN's scores and those of its reference variants; texts are encoded once."""
        self._require_fitted()
        instances = encoded(self.encoder_, texts)
        systems: dict[str, LinearRows] = {self.name: self.rows_, **self.reference_rows_}
        return {
            name: self._without_unseen(self._scores_by(rows, texts, instances))
            for name, rows in systems.items()
        }

    def generation_source(self, texts: Texts, targets: LabelMatrix) -> GenerationSource | None:
        """Return what stage 2 generates tail instances from, given the training documents."""
        return self.head_.generation_source(self.encoder_.encode(texts), targets)

    def _save(self, folder: Path) -> None:
        rows = {"rows": self.rows_.rows, "bias": self.rows_.bias}
        save_state(folder, "head", {"encoder": self.encoder_.name}, rows)
        self.encoder_.save(folder / "encoder")
        self.views_.save(folder)
        if self.fusion_ is not None:
            self.fusion_.save(folder)

    def _load(self, folder: Path) -> None:
        state, arrays = load_state(folder, "head")
        try:
            self.rows_ = LinearRows(arrays["rows"], arrays["bias"])
            self.encoder_ = ENCODERS[state["encoder"]].load(folder / "encoder")
        except KeyError as error:
            raise ModelFolderError(f"{folder} lacks {error}; save the model again.") from error
        if self.rows_.rows.shape != (len(self.labels_), self.encoder_.feature_dim):
            raise ModelFolderError(
                f"{folder} holds rows of shape {self.rows_.rows.shape}, expected "
                f"{(len(self.labels_), self.encoder_.feature_dim)}; its files are of different models."
            )
        self.reference_rows_ = {}
        self.views_ = Views.load(folder, self.views, n_labels=len(self.labels_))
        self.fusion_ = Fusion.load(folder) if self.views else None

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Self:
        """Build from a flat table: own settings, those of the encoder, and those of the head."""
        cls._check_settings(settings)
        encoder_class = ENCODERS[settings.get("encoder", "tfidf")]
        encoder = {key: value for key, value in settings.items() if key in _keys(encoder_class)}
        given = {key: value for key, value in settings.items() if key in HEAD_SETTINGS}
        own = {key: value for key, value in settings.items() if key in OWN_SETTINGS}
        head = PiranHead(**{**encoder_class.head_settings, **given})
        return cls(encoder=encoder_class(**encoder), head=head, **own)

    @classmethod
    def setting_names(cls, settings: dict[str, Any]) -> list[str]:
        """Return own keys, the head's, and those of the encoder that the settings name."""
        encoder_class = ENCODERS[settings.get("encoder", "tfidf")]
        return ["encoder", *OWN_SETTINGS, *HEAD_SETTINGS, *_keys(encoder_class)]

    def settings(self) -> dict[str, Any]:
        """Return the flat table from which :meth:`from_settings` builds this method."""
        encoder, head = self._new_encoder(), self._new_head()
        return {
            "encoder": encoder.name,
            **{key: getattr(self, key) for key in OWN_SETTINGS},
            "references": list(self.references),
            "views": list(self.views),
            **{key: value for key, value in encoder.settings().items() if key != "seed"},
            **{key: getattr(head, key) for key in sorted(HEAD_SETTINGS)},
        }

    def _new_encoder(self) -> Encoder:
        """Return an unfitted encoder with this method's seed."""
        if isinstance(self.encoder, str):
            return ENCODERS[self.encoder](seed=self.seed)
        encoder: Encoder = clone(self.encoder)
        encoder.set_params(seed=self.seed)
        return encoder

    def _new_head(self) -> PiranHead:
        suited = PiranHead(**self._new_encoder().head_settings)
        head: PiranHead = suited if self.head is None else clone(self.head)
        head.set_params(random_state=self.seed)
        return head


def _stage1_rows(
    instances: FloatArray, targets: LabelMatrix, head: PiranHead, start: LinearRows | None
) -> LinearRows:
    """Fit the classifier of all labels, lines 1–5, for an encoder that brings none."""

    def fit() -> dict[str, FloatArray]:
        fitted = fit_rows(instances, targets, l2=head.l2, loss=head.row_loss, start=start)
        return {"rows": fitted.rows, "bias": fitted.bias}

    return LinearRows(**kept_arrays("rows", [instances, targets, head.l2, head.row_loss], fit))


def _keys(encoder_class: type[Encoder]) -> list[str]:
    """Return the settings of an encoder but its seed, which is the method's."""
    return [key for key in encoder_class._get_param_names() if key != "seed"]
