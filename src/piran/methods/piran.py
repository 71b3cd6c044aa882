"""PIRAN (Algorithm 1): an encoder and its classifier, then tail rows adjusted on generated instances."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from piran.augment.tail import GenerationSource
from piran.augment.variants import NO_AUG
from piran.data.folds import even_folds
from piran.encoders.base import ENCODERS, Encoder, LabelledTexts
from piran.encoders.cache import encoded, fitted_encoder, kept_arrays
from piran.errors import NotFittedError, SettingError
from piran.head import PiranHead
from piran.methods.base import METHODS, Judged, Method, chosen, joined, joint_stop_reason
from piran.methods.blend import Blend, Encode
from piran.methods.members import (
    Member,
    in_order,
    joint_history,
    load_members,
    margins_by_fold,
    margins_of_unseen,
    mean_margins,
    save_members,
    unseen_instances,
)
from piran.methods.presets import preset_settings
from piran.methods.views import DOCUMENTS, check_views
from piran.progress import track
from piran.rows import LinearRows, sigmoid
from piran.training.kernel_ridge import MAX_TOGETHER, check_max_together
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix, Texts

OWN_SETTINGS = (
    "tail",
    "seed",
    "thresholds",
    "validation_fraction",
    "references",
    "refit",
    "folds",
    "has_unseen_relations",
    "views",
    "has_learned_likeness",
    "has_companions",
    "max_together",
)
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
        micro-F1 of all), ``expected`` (the same, but each tail label's is drawn half way to the one
        that its own probabilities call for) or ``per-label`` (where there is evidence, else as groups).
    validation_fraction
        Share of the training documents held out to tune cut-offs and stop training.
    references
        Variants of stage 2 that are fitted on the same stage 1, to compare with.
    refit
        Fit the classifier again on all documents after the cut-offs are tuned; an encoder that was
        trained with a classifier of its own is left as it is.
    folds
        Times that both stages are fitted, each time to all documents but a part, which then judges
        them; scores are the mean. So an encoder that learns from labels is judged by all documents and
        none is lost to it, for two or three times the work. 1: once, as the paper does it.
    has_unseen_relations
        Relations are collected from documents that the encoder has not learned from: the held-out ones,
        or those of the fold that was left out. For encoders that learn nothing from labels all are such.
    views
        What else counts beside the rows on instances: ``documents`` (likeness to each training document
        in words and meaning, :mod:`piran.training.kernel_ridge`), ``label-texts`` (likeness to the
        label's name and description) and ``label-words`` (words shared with them). The paper has none.
        With any, scores are probabilities fitted to documents that nothing was learned from; see
        :mod:`piran.methods.fusion`.
    has_learned_likeness
        With folds and the view ``documents``: for frequent labels, documents are alike that are so to the
        encoders that have learned from labels, too. Made for encoders that all begin from the same
        network, so that one understands another; where they learn nothing from labels, nothing changes.
    has_companions
        With views: frequent labels tell of each other by their probabilities, so that labels are given
        together that occur together (:mod:`piran.training.companions`), where that is of use.
    max_together
        Documents that the view ``documents`` solves for together; more are divided into parts. Fewer and
        larger parts are better. Memory is 4 bytes for each pair of documents of a part: 2.7 GB for
        26,000, 10 GB for 50,000.

    Memory beyond that of the encoder: while it is fitted n_documents · (feature_dim + n_labels) numbers
    of 4 bytes, with views another n_documents · n_labels for each system that is compared, and 64 MB of
    generations at a time; then n_labels · feature_dim for each fold. For the view ``documents`` see
    :class:`piran.training.kernel_ridge.KernelRidge`.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "red cherry", "green pear"] * 3
    >>> labels = [["red", "fruit"], ["fruit"], ["red", "fruit"], ["fruit"]] * 3
    >>> model = PiranClassifier(tail=1).fit(texts, labels)
    >>> model.predict(["green pear"])
    [('fruit',)]

    """

    name: ClassVar[str] = "piran"

    members_: list[Member]
    """What each fit of the two stages gave; one unless there are folds."""
    blend_: Blend | None
    """Rows and views made one; None without views."""

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
        folds: int = 1,
        has_unseen_relations: bool = False,
        views: Sequence[str] = (),
        has_learned_likeness: bool = False,
        has_companions: bool = False,
        max_together: int = MAX_TOGETHER,
    ) -> None:
        self.encoder = encoder
        self.head = head
        self.tail = tail
        self.seed = seed
        self.thresholds = thresholds
        self.validation_fraction = validation_fraction
        self.references = references
        self.refit = refit
        self.folds = folds
        self.has_unseen_relations = has_unseen_relations
        self.views = views
        self.has_learned_likeness = has_learned_likeness
        self.has_companions = has_companions
        self.max_together = max_together

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        self._check()
        if self.folds == 1:
            # Stage 1, lines 1–5: the semantic extractor and, where it brings one, its classifier
            encoder = fitted_encoder(self._new_encoder(), train, validation)
            self.members_ = [self._member(encoder, train, validation)]
        else:
            self.members_ = self._members_without_fold(joined(train, validation))
        self.history_ = joint_history(self.members_)
        self.stop_reason_ = joint_stop_reason(*(m.encoder.stop_reason_ for m in self.members_))
        self.blend_ = None

    def _members_without_fold(self, documents: LabelledTexts) -> list[Member]:
        """Fit both stages to all documents but those of one fold at a time."""
        fold, members = self._fold_of(documents, self.folds), []
        for number in track(range(self.folds), "Folds", self.folds):
            others, own = (
                chosen(documents, np.flatnonzero(is_in))
                for is_in in (fold != number, fold == number)
            )
            members.append(self._member(fitted_encoder(self._new_encoder(), others), others, own))
        return members

    def _member(self, encoder: Encoder, documents: LabelledTexts, unseen: LabelledTexts) -> Member:
        instances = encoded(encoder, documents.texts)  # (n_documents, feature_dim)
        relations_of = None
        if self.has_unseen_relations and encoder.stage1_rows_ is not None:
            relations_of = encoded(encoder, unseen.texts), unseen.targets
        return self._fit_head(encoder, instances, documents.targets, relations_of=relations_of)

    def _refit(self, documents: LabelledTexts) -> None:
        if self.refit and self.folds == 1 and self.encoder_.stage1_rows_ is None:
            instances = encoded(self.encoder_, documents.texts)
            start = self.head_.stage1_rows_
            self.members_ = [self._fit_head(self.encoder_, instances, documents.targets, start)]

    def _fit_head(
        self,
        encoder: Encoder,
        instances: FloatArray,
        targets: LabelMatrix,
        start: LinearRows | None = None,
        relations_of: tuple[FloatArray, LabelMatrix] | None = None,
    ) -> Member:
        """Fit what remains of stage 1, then stage 2, lines 6–18, and its reference variants."""
        head = self._new_head()
        stage1_rows = encoder.stage1_rows_ or _stage1_rows(instances, targets, head, start)
        head.fit(
            instances,
            targets,
            stage1_rows=stage1_rows,
            is_tail=self.labels_.is_tail,
            relations_of=relations_of,
        )
        rows = {self.name: head.rows_}
        rows |= {name: head.adjust_tail(instances, targets, name) for name in self.references}
        return Member(encoder, rows, head)

    def _calibrate(
        self, train: LabelledTexts, held_out: LabelledTexts, *, is_slice: bool
    ) -> Judged:
        """Fit the views; documents that they have not learned from decide what each of them counts.

        Views leave out each document exactly; rows do it fold by fold, so that all documents can judge.
        Where an encoder without folds has learned from the training documents, or other documents are
        given to judge by, only the held-out ones do.
        """
        if self.folds == 1 and not self.views:
            return super()._calibrate(train, held_out, is_slice=is_slice)
        documents = joined(train, held_out)
        before = self.encoder_.untrained()
        has_learned = before is not self.encoder_
        can_leave_out = self.folds > 1 or not has_learned
        is_judged = np.arange(len(documents)) >= len(train)
        if is_slice and can_leave_out:
            is_judged = self._drawn(len(documents))
        learned_instances = None
        if self.folds > 1:
            fold = self._fold_of(documents, self.folds)
            unseen = unseen_instances(self.members_, documents, fold)
            margins_of_rows = margins_of_unseen(self.members_, unseen, fold, is_judged)
            if self.has_learned_likeness and has_learned:
                learned_instances = in_order(unseen, fold)
        elif is_slice and can_leave_out:
            margins_of_rows = self._margins_without_fold(documents, is_judged)
        else:
            margins_of_rows = self.members_[0].margins(encoded(self.encoder_, held_out.texts))
        if self.views:
            view_encoder = fitted_encoder(before, train) if has_learned else None
            scores = self._fit_blend(
                documents, is_judged, margins_of_rows, view_encoder, learned_instances
            )
        else:
            scores = {name: sigmoid(values) for name, values in margins_of_rows.items()}
        targets = documents.targets[np.flatnonzero(is_judged)]
        return Judged(targets, {n: self._without_unseen(found) for n, found in scores.items()})

    def _fit_blend(
        self,
        documents: LabelledTexts,
        is_judged: BoolArray,
        margins_of_rows: Mapping[str, FloatArray],
        view_encoder: Encoder | None,
        learned_instances: FloatArray | None,
    ) -> dict[str, FloatArray]:
        """Fit the views and what each counts; return each system's scores of the judged documents."""
        self.blend_, scores = Blend.fit(
            self.views,
            documents,
            is_judged,
            margins_of_rows,
            system=self.name,
            labels=self.labels_,
            own_encoder=self.encoder_,
            view_encoder=view_encoder,
            learned_instances=learned_instances,
            n_members=self.folds,
            has_companions=self.has_companions,
            max_together=self.max_together,
            seed=self.seed,
        )
        return scores

    def _drawn(self, n_documents: int) -> BoolArray:
        """Draw the documents that judge: all of them, up to a number that bounds the memory of scores."""
        drawn = np.random.default_rng(self.seed).permutation(n_documents)[:MAX_JUDGED]
        return np.isin(np.arange(n_documents), drawn)

    def _fold_of(self, documents: LabelledTexts, n_folds: int) -> IntArray:
        """Return the fold of each document, (n_documents,)."""
        return even_folds(documents.targets, n_folds, self.seed)

    def _margins_without_fold(
        self, documents: LabelledTexts, is_judged: BoolArray
    ) -> dict[str, FloatArray]:
        """Return what rows of each system say of judged documents that they were not fitted on.

        Rows are fitted to all documents but one fold at a time, beginning at those there are. The
        encoder is one that learns nothing from labels.
        """
        instances = encoded(self.encoder_, documents.texts)
        fold, start = self._fold_of(documents, N_FOLDS), self.head_.stage1_rows_

        def say(number: int, own: IntArray) -> dict[str, FloatArray]:
            kept = np.flatnonzero(fold != number)
            targets = documents.targets[kept]
            member = self._fit_head(self.encoder_, instances[kept], targets, start)
            return member.margins(instances[own])

        return margins_by_fold(fold, is_judged, say)

    def _scores(self, texts: Texts) -> FloatArray:
        return self._scores_of([self.name], texts, _encode)[self.name]

    def _scores_of(
        self, systems: Collection[str], texts: Texts, encode: Encode
    ) -> dict[str, FloatArray]:
        """Return the scores with each system's rows, (n_documents, n_labels); texts are read once."""
        instances = [encode(member.encoder, texts) for member in self.members_]
        to_scores: Callable[[FloatArray], FloatArray] = sigmoid
        if self.blend_ is not None:
            views = self.blend_.margins(texts, instances, encode)
            to_scores = partial(self.blend_.probabilities, views=views)

        def said(system: str) -> FloatArray:
            members = zip(self.members_, instances, strict=True)
            return mean_margins([member.rows[system].logits(own) for member, own in members])

        return {system: to_scores(said(system)) for system in systems}

    def _without_unseen(self, scores: FloatArray) -> FloatArray:
        """Give labels without a training document the score 0, unless their own text gives them one."""
        if self.blend_ is not None and self.blend_.fusion.scores_unseen:
            return scores
        return super()._without_unseen(scores)

    def view_summary(self) -> dict[str, dict[str, float]]:
        """Return what each view counts for head, tail and unseen labels, and how many are companions."""
        return {} if self.blend_ is None else self.blend_.fusion.summary(self.labels_)

    def system_scores(self, texts: Texts) -> dict[str, FloatArray]:
        """Return PIRAN's scores and those of its reference variants; texts are encoded once."""
        self._require_fitted()
        scores = self._scores_of(self.members_[0].rows, texts, encoded)
        return {system: self._without_unseen(values) for system, values in scores.items()}

    @property
    def encoder_(self) -> Encoder:
        """The encoder, the first where there are folds."""
        return self.members_[0].encoder

    @property
    def head_(self) -> PiranHead:
        """What fitted the rows on the instances of :attr:`encoder_`; a loaded model has none."""
        head = self.members_[0].head
        if head is None:
            raise NotFittedError("A loaded model has no head to generate from; fit it again.")
        return head

    @property
    def rows_(self) -> LinearRows:
        """The rows of all labels on the instances of :attr:`encoder_`."""
        return self.members_[0].rows[self.name]

    def generation_source(self, texts: Texts, targets: LabelMatrix) -> GenerationSource | None:
        """Return what stage 2 generates tail instances from, given the training documents."""
        return self.head_.generation_source(self.encoder_.encode(texts), targets)

    def _save(self, folder: Path) -> None:
        save_members(folder, self.members_, self.name)
        if self.blend_ is not None:
            self.blend_.save(folder)

    def _load(self, folder: Path) -> None:
        self.members_ = load_members(folder, self.name, n_labels=len(self.labels_))
        self.blend_ = Blend.load(folder, self.views, self.labels_) if self.views else None

    @classmethod
    def from_preset(cls, preset: str, **settings: Any) -> Self:  # noqa: ANN401
        """Build what ``piran train --preset`` trains: quick, balanced or best.

        ``settings`` come on top, named as ``--set`` has them: the method's, its encoder's, the head's.

        >>> PiranClassifier.from_preset("balanced", encoder="tfidf", l2=0.3).views
        ['documents', 'label-texts', 'label-words']
        """
        return cls.from_settings({**preset_settings(preset), **settings})

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

    def _check(self) -> None:
        """Refuse what would be found out only after stage 1."""
        check_views(self.views)
        check_max_together(self.max_together)
        self._new_head().check_settings()
        if self.folds < 1:
            raise SettingError(f"folds must be at least 1, got {self.folds}.")
        if self.has_learned_likeness and (self.folds == 1 or DOCUMENTS not in self.views):
            raise SettingError(
                "has_learned_likeness needs the view documents, and folds of at least 2 to learn without "
                f"each document, got views={list(self.views)} and folds={self.folds}; or set it to false."
            )
        if self.has_companions and not self.views:
            raise SettingError(
                "has_companions needs views, which judge documents that they did not learn from; "
                'set views to ["documents"], or has_companions to false.'
            )

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
        fitted = head.fit_stage1(instances, targets, start)
        return {"rows": fitted.rows, "bias": fitted.bias}

    decisive = [instances, targets, head.l2, head.row_loss, head.balance]
    return LinearRows(**kept_arrays("rows", decisive, fit))


def _encode(encoder: Encoder, texts: Texts) -> FloatArray:
    return encoder.encode(texts)


def _keys(encoder_class: type[Encoder]) -> list[str]:
    """Return the settings of an encoder but its seed, which is the method's."""
    return [key for key in encoder_class._get_param_names() if key != "seed"]
