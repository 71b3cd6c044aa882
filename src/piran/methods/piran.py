"""PIRAN (Algorithm 1): an encoder and its classifier, then tail rows adjusted on generated instances."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from piran.augment.tail import GenerationSource
from piran.augment.variants import NO_AUG
from piran.encoders.base import ENCODERS, Encoder, LabelledTexts
from piran.encoders.cache import encoded, fitted_encoder, kept_arrays
from piran.errors import ModelFolderError
from piran.head import PiranHead
from piran.methods.base import METHODS, Judged, Method, joined
from piran.methods.fusion import Fusion
from piran.methods.views import ROWS, Views, check_views
from piran.rows import LinearRows
from piran.storage import load_state, save_state
from piran.training.linear_fit import fit_rows
from piran.types import BoolArray, FloatArray, LabelMatrix, Texts

OWN_SETTINGS = ("tail", "seed", "thresholds", "validation_fraction", "references", "refit", "views")
VIEW_ENCODER = "view-encoder"
N_FOLDS = 3
"""Times that rows are fitted to all documents but a part, which then judges them."""
MAX_JUDGED = 20_000
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
        Policy of the saved cut-offs: ``half`` (0.5), ``global``, ``groups`` (one for the tail, by its
        macro-F1, one for the rest), ``both`` (the same, where the tail also counts what it costs the
        micro-F1 of all) or ``per-label`` (where there is evidence, else as groups).
    validation_fraction
        Share of the training documents held out to tune cut-offs and stop training.
    references
        Variants of stage 2 that are fitted on the same stage 1, to compare with.
    refit
        Fit the classifier again on all documents after the cut-offs are tuned; an encoder that was
        trained with a classifier of its own is left as it is.
    views
        What else counts beside the rows on instances: ``documents`` (likeness to each training document
        in words and meaning, :mod:`piran.training.kernel_ridge`) and ``label-texts`` (likeness to the
        label's name and description). The paper has none. With any, scores are probabilities fitted to
        documents that nothing was learned from; see :mod:`piran.methods.fusion`.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "red cherry", "green pear"] * 3
    >>> labels = [["red", "fruit"], ["fruit"], ["red", "fruit"], ["fruit"]] * 3
    >>> model = PiranClassifier(tail=1).fit(texts, labels)
    >>> model.predict(["apple"])
    [('fruit',)]

    """

    name: ClassVar[str] = "piran"

    view_encoder_: Encoder
    """What the views see: the encoder, or what it was before it learned from labels."""
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
        self.view_encoder_, self.views_, self.fusion_ = self.encoder_, Views(), None

    def _refit(self, documents: LabelledTexts) -> None:
        if self.refit and self.encoder_.stage1_rows_ is None:
            instances = encoded(self.encoder_, documents.texts)
            self._fit_head(instances, documents.targets, self.head_.stage1_rows_)

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

    def _calibrate(
        self, train: LabelledTexts, held_out: LabelledTexts, *, is_slice: bool
    ) -> Judged:
        """Fit the views; documents that they have not learned from decide what each of them counts.

        Views leave out each document exactly; rows do it fold by fold, so that all documents can judge.
        Where the encoder has learned from the training documents, or other ones are given, the held-out
        documents judge alone.
        """
        if not self.views:
            return super()._calibrate(train, held_out, is_slice=is_slice)
        documents = joined(train, held_out)
        before = self.encoder_.untrained()
        if is_slice and before is self.encoder_:
            is_judged = self._drawn(len(documents))
            margins_of_rows = self._rows_without_fold(documents, is_judged)
        else:
            is_judged = np.arange(len(documents)) >= len(train)
            margins_of_rows = self._margins_of_rows(encoded(self.encoder_, held_out.texts))
        if before is not self.encoder_:
            self.view_encoder_ = fitted_encoder(before, train)
        self.views_, margins = Views.fit(
            self.views,
            documents,
            encoded(self.view_encoder_, documents.texts),
            is_judged,
            encoder=self.view_encoder_,
            labels=self.labels_,
            seed=self.seed,
        )
        targets = documents.targets[np.flatnonzero(is_judged)]
        fusion = Fusion.fit({ROWS: margins_of_rows[self.name], **margins}, targets, self.labels_)
        self.fusion_ = fusion
        scores = {
            system: self._without_unseen(fusion.probabilities({ROWS: values, **margins}))
            for system, values in margins_of_rows.items()
        }
        return Judged(targets, scores)

    def _drawn(self, n_documents: int) -> BoolArray:
        """Draw the documents that judge: all of them, up to a number that bounds the memory of scores."""
        drawn = np.random.default_rng(self.seed).permutation(n_documents)[:MAX_JUDGED]
        return np.isin(np.arange(n_documents), drawn)

    def _rows_without_fold(
        self, documents: LabelledTexts, is_judged: BoolArray
    ) -> dict[str, FloatArray]:
        """Return what rows of each system say of judged documents that they were not fitted on.

        Rows are fitted to all documents but one fold at a time, beginning at those there are.
        """
        fitted = self.head_, self.rows_, self.reference_rows_
        instances = encoded(self.encoder_, documents.texts)
        shape = (int(is_judged.sum()), len(self.labels_))
        margins = {system: np.empty(shape, dtype=np.float32) for system in self._systems()}
        fold = np.random.default_rng(self.seed).permutation(len(documents)) % N_FOLDS
        for number in range(N_FOLDS):
            kept = np.flatnonzero(fold != number)
            self._fit_head(instances[kept], documents.targets[kept], fitted[0].stage1_rows_)
            said = self._margins_of_rows(instances[is_judged & (fold == number)])
            for system, values in said.items():
                margins[system][fold[is_judged] == number] = values
        self.head_, self.rows_, self.reference_rows_ = fitted
        return margins

    def _margins_of_rows(self, instances: FloatArray) -> dict[str, FloatArray]:
        """Return what the rows of each system say of instances, (n_documents, n_labels) each."""
        return {system: rows.logits(instances) for system, rows in self._systems().items()}

    def _scores(self, texts: Texts) -> FloatArray:
        return self._scores_by({self.name: self.rows_}, texts, kept=False)[self.name]

    def _scores_by(
        self, systems: Mapping[str, LinearRows], texts: Texts, *, kept: bool
    ) -> dict[str, FloatArray]:
        """Return the scores with each system's rows, (n_documents, n_labels); texts are read once.

        ``kept`` tells whether instances may be kept in the cache of stage 1.
        """
        encode = encoded if kept else _encode
        instances = encode(self.encoder_, texts)
        if self.fusion_ is None:
            return {system: rows.probabilities(instances) for system, rows in systems.items()}
        is_same = self.view_encoder_ is self.encoder_
        views = self.views_.margins(
            texts, instances if is_same else encode(self.view_encoder_, texts)
        )
        return {
            system: self.fusion_.probabilities({ROWS: rows.logits(instances), **views})
            for system, rows in systems.items()
        }

    def _without_unseen(self, scores: FloatArray) -> FloatArray:
        """Give labels without a training document the score 0, unless their own text gives them one."""
        if self.fusion_ is not None and self.fusion_.scores_unseen:
            return scores
        return super()._without_unseen(scores)

    def system_scores(self, texts: Texts) -> dict[str, FloatArray]:
        """Return PIRAN's scores and those of its reference variants; texts are encoded once."""
        self._require_fitted()
        scores = self._scores_by(self._systems(), texts, kept=True)
        return {system: self._without_unseen(values) for system, values in scores.items()}

    def _systems(self) -> dict[str, LinearRows]:
        """Return the rows of PIRAN and of its reference variants."""
        return {self.name: self.rows_, **self.reference_rows_}

    def generation_source(self, texts: Texts, targets: LabelMatrix) -> GenerationSource | None:
        """Return what stage 2 generates tail instances from, given the training documents."""
        return self.head_.generation_source(self.encoder_.encode(texts), targets)

    def _save(self, folder: Path) -> None:
        rows = {"rows": self.rows_.rows, "bias": self.rows_.bias}
        state = {"encoder": self.encoder_.name, VIEW_ENCODER: self.view_encoder_.name}
        save_state(folder, "head", state, rows)
        self.encoder_.save(folder / "encoder")
        self.views_.save(folder)
        if self.fusion_ is not None:
            self.fusion_.save(folder)
        if self.view_encoder_ is not self.encoder_:
            self.view_encoder_.save(folder / VIEW_ENCODER)

    def _load(self, folder: Path) -> None:
        state, arrays = load_state(folder, "head")
        try:
            self.rows_ = LinearRows(arrays["rows"], arrays["bias"])
            self.encoder_ = self.view_encoder_ = ENCODERS[state["encoder"]].load(folder / "encoder")
            if (folder / VIEW_ENCODER).is_dir():
                view_encoder = ENCODERS[state[VIEW_ENCODER]]
                self.view_encoder_ = view_encoder.load(folder / VIEW_ENCODER)
        except KeyError as error:
            raise ModelFolderError(f"{folder} lacks {error}; save the model again.") from error
        if self.rows_.rows.shape != (len(self.labels_), self.encoder_.feature_dim):
            raise ModelFolderError(
                f"{folder} holds rows of shape {self.rows_.rows.shape}, expected "
                f"{(len(self.labels_), self.encoder_.feature_dim)}; its files are of different models."
            )
        self.reference_rows_ = {}
        self.views_ = Views.load(folder, self.views)
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


def _encode(encoder: Encoder, texts: Texts) -> FloatArray:
    return encoder.encode(texts)


def _keys(encoder_class: type[Encoder]) -> list[str]:
    """Return the settings of an encoder but its seed, which is the method's."""
    return [key for key in encoder_class._get_param_names() if key != "seed"]
