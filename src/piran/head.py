"""PiranHead: numbers in, labels out. Stage 2 of the paper on any features, as scikit-learn estimator."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from piran.augment.generator import MAX_DIRECTIONS, InstanceGenerator, head_directions
from piran.augment.losses import TransferMoments, TransferWeights
from piran.augment.prototypes import Prototypes
from piran.augment.relations import RelationCollector, Relations
from piran.augment.tail import GenerationSource, adjust_tail_rows
from piran.augment.teachers import ALL, check_choice, head_shares
from piran.augment.variants import COMPLETE, Variant, variant_named
from piran.data.labels import tail_by_count
from piran.errors import DataError, SettingError
from piran.rows import LinearRows
from piran.training.linear_fit import (
    LOGISTIC,
    balanced_weights,
    check_balance,
    check_loss,
    fit_rows,
)
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix

EXPECTED_FAILED_CHECKS: dict[str, str] = {}
"""Checks of scikit-learn that multi-label output rules out, each with its reason; there are none."""

SOLVERS = ("exact", "adam")
DRAWN, EXPECTED = "drawn", "expected"
GENERATIONS = (DRAWN, EXPECTED)
OWN, TOGETHER = "own", "together"
GENERATED_TARGETS = (OWN, TOGETHER)
ADAM_STEPS = 1000


class NoTailWarning(UserWarning):
    """There is no head label to learn relations from, or no tail label to give them to."""


class PiranHead(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Linear classifiers for many labels, the rare ones retrained on generated instances.

    Stage 1 fits an L2-regularised linear classifier for every label. Stage 2 collects differences
    between documents of the same head label, learns the map W that carries them over to the prototypes
    of tail labels, and refits the tail rows on the real documents and what W generates.

    Parameters
    ----------
    tail
        Number of tail labels, or their fraction; None for two thirds. The least frequent are tail.
    variant
        ``complete`` is the method; the others leave parts out (see :data:`piran.augment.VARIANTS`).
    row_loss
        ``logistic`` is the paper's; ``squared-hinge`` makes support vector machines, whose
        ``predict_proba`` only ranks: their margins are not log-odds.
    l2
        Strength of regularisation in stage 1, the λ of Σ loss + λ/2 ‖w‖².
    balance
        In stage 1 a positive counts (negatives / positives) to this power, for each label: 0, what a
        negative does, as in the paper; 1, so that all positives count what all negatives do.
    tail_l2
        The same for the tail rows in stage 2; None takes ``l2``.
    n_pairs
        Pairs of documents whose difference is collected, for each head label.
    relation_scale
        Factor of the relations. The paper takes 1; 1/√2 gives them the spread of single documents.
    relation_choice
        Which head labels teach a tail label: ``all`` of them alike (the paper), those ``alike`` by
        their mean document, or those that occur ``together`` with it.
    n_prototype_documents
        Documents averaged into a prototype (the paper's q); fewer where a label has fewer.
    n_generated
        Instances generated for each tail label (the paper's p).
    generations
        ``drawn`` adds one relation to each prototype, as the paper does; ``expected`` takes the mean of
        the loss over all relations, as if infinitely many had been drawn of the normal distribution
        that they have: ``n_generated`` then only counts prototypes.
    generated_targets
        ``own``: a generated instance is a positive of its own label and says nothing of the others;
        ``together``: it is a positive of each tail label to the share of its own label's documents that
        have that label too, and a negative to the rest. All generations then exist at once.
    generated_weight
        What one generated instance counts in the loss, a real document counting 1.
    tail_share
        Share of the adjusted rows in the tail rows that are kept, those of stage 1 having the rest.
        The paper takes 1; less where stage 1 knows more than its rows were fitted on, as the rows of a
        trained encoder do.
    generation_weight, variance_weight, diversity_weight
        α, β and γ of the transfer loss.
    is_centred
        Stage 2 works on instances less their mean. The paper does not; then W and L_var act on the
        mean of all documents too, and moving all instances by a constant changes the result.
    is_variance_centred
        L_var acts on the relation's part of a generated instance and leaves the prototype's alone. The
        paper lets it act on both.
    n_directions
        Leading directions of head variation that make up Q; None for those that hold 95 % of it.
    max_directions
        Bound on their number where ``n_directions`` is None; None for no bound.
    solver
        ``exact`` solves for W; ``adam`` descends to it as Algorithm 1 does.
    random_state
        Seed of pairs, prototypes and generations.

    Attributes
    ----------
    rows_
        The fitted classifier of all labels, :class:`piran.rows.LinearRows`.
    stage1_rows_
        The same before stage 2.
    is_tail_, is_head_
        Division of the labels, each of shape (n_labels,).
    centre_
        What stage 2 takes from every instance, shape (n_features_in_,).
    transfer_
        W, shape (n_features_in_, n_features_in_); None if stage 2 had nothing to learn.

    Examples
    --------
    >>> import numpy as np
    >>> from piran import PiranHead
    >>> random = np.random.default_rng(0)
    >>> Y = (random.random((200, 6)) < [0.5, 0.4, 0.3, 0.05, 0.05, 0.05]).astype(int)
    >>> X = Y @ random.normal(size=(6, 8)) + 0.3 * random.normal(size=(200, 8))
    >>> PiranHead(tail=3).fit(X, Y).predict(X).shape
    (200, 6)

    """

    def __init__(
        self,
        *,
        tail: int | float | None = None,
        variant: str = COMPLETE,
        row_loss: str = LOGISTIC,
        l2: float = 0.3,
        balance: float = 0.0,
        tail_l2: float | None = None,
        n_pairs: int = 100,
        relation_scale: float = 1.0,
        relation_choice: str = ALL,
        n_prototype_documents: int = 5,
        n_generated: int = 50,
        generations: str = DRAWN,
        generated_targets: str = OWN,
        generated_weight: float = 1.0,
        tail_share: float = 1.0,
        generation_weight: float = 1.0,
        variance_weight: float = 1.0,
        diversity_weight: float = 0.1,
        is_centred: bool = True,
        is_variance_centred: bool = False,
        n_directions: int | None = None,
        max_directions: int | None = MAX_DIRECTIONS,
        solver: str = "exact",
        random_state: int = 0,
    ) -> None:
        self.tail = tail
        self.variant = variant
        self.row_loss = row_loss
        self.l2 = l2
        self.balance = balance
        self.tail_l2 = tail_l2
        self.n_pairs = n_pairs
        self.relation_scale = relation_scale
        self.relation_choice = relation_choice
        self.n_prototype_documents = n_prototype_documents
        self.n_generated = n_generated
        self.generations = generations
        self.generated_targets = generated_targets
        self.generated_weight = generated_weight
        self.tail_share = tail_share
        self.generation_weight = generation_weight
        self.variance_weight = variance_weight
        self.diversity_weight = diversity_weight
        self.is_centred = is_centred
        self.is_variance_centred = is_variance_centred
        self.n_directions = n_directions
        self.max_directions = max_directions
        self.solver = solver
        self.random_state = random_state

    def fit(
        self,
        X: Any,  # noqa: ANN401
        y: Any,  # noqa: ANN401
        *,
        stage1_rows: LinearRows | None = None,
        is_tail: BoolArray | None = None,
        relations_of: tuple[FloatArray, LabelMatrix] | None = None,
    ) -> Self:
        """Fit both stages.

        Parameters
        ----------
        X
            Features, shape (n_documents, n_features).
        y
            Indicator (n_documents, n_labels), dense or sparse; or one class a document, shape
            (n_documents,), each class then being a label.
        stage1_rows
            Rows that an encoder was trained with; they then take the place of stage 1.
        is_tail
            The tail labels, shape (n_labels,), where their division is known; overrides ``tail``.
        relations_of
            Other documents, (n_others, n_features) and their labels (n_others, n_labels), that relations
            are collected from. Those that features were learned from lie closer together than new ones.

        """
        self.check_settings()
        if y is None:
            raise DataError("PiranHead.fit requires y to be passed, but the target y is None.")
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        targets = self._read_targets(y, len(X))
        counts = np.asarray(targets.sum(axis=0)).astype(np.int64)
        self.is_tail_ = (
            tail_by_count(counts, self.tail) if is_tail is None else is_tail & (counts > 0)
        )
        self.is_head_ = ~self.is_tail_ & (counts > 0)
        self.centre_ = X.mean(axis=0) if self.is_centred else np.zeros_like(X[0])
        self._relations_of = relations_of
        # Algorithm 1, lines 1–5: the classifier of all labels
        self.stage1_rows_ = stage1_rows or self.fit_stage1(X, targets)
        self.rows_ = self.adjust_tail(X, targets, self.variant)
        return self

    def fit_stage1(
        self, X: FloatArray, targets: LabelMatrix, start: LinearRows | None = None
    ) -> LinearRows:
        """Return the classifier of all labels; ``start`` is where the search for it begins."""
        weights = balanced_weights(targets, self.balance)
        return fit_rows(X, targets, l2=self.l2, loss=self.row_loss, start=start, weights=weights)

    def adjust_tail(self, X: FloatArray, targets: LabelMatrix, variant: str) -> LinearRows:
        """Run stage 2 in one of its variants on the fitted stage 1 and return the rows of all labels.

        ``X`` and ``targets`` are those of :meth:`fit`; nothing but ``transfer_`` is changed, so variants
        can be compared on the same stage 1.
        """
        parts = variant_named(variant)
        self.transfer_: FloatArray | None = None
        if not parts.is_retrained:
            return self.stage1_rows_
        if not self.is_tail_.any() or not self.is_head_.any():
            which = "tail" if not self.is_tail_.any() else "head"
            warnings.warn(
                f"PiranHead found no {which} label among {len(self.is_tail_)}, so stage 1 stands alone; "
                "set tail to a number between 1 and the number of labels less one.",
                NoTailWarning,
                stacklevel=3,
            )
            return self.stage1_rows_
        tail_ids = np.flatnonzero(self.is_tail_)
        X = X - self.centre_
        prototypes = Prototypes.of(X, targets, tail_ids, self.n_prototype_documents)
        source = self._generation_source(X, targets, prototypes, parts)
        # line 18: the tail rows on real documents and generations, then Equation (15)
        tail_rows = adjust_tail_rows(
            self.stage1_rows_[tail_ids].moved(-self.centre_),
            prototypes,
            source,
            l2=self.l2 if self.tail_l2 is None else self.tail_l2,
            generated_weight=self.generated_weight,
            loss=self.row_loss,
            is_shared=self.generated_targets == TOGETHER,
        ).moved(self.centre_)
        kept = self.stage1_rows_[tail_ids].blended(tail_rows, self.tail_share)
        return self.stage1_rows_.replaced(tail_ids, kept)

    def generation_source(self, X: FloatArray, targets: LabelMatrix) -> GenerationSource | None:
        """Return what stage 2 generates from, to look at single instances; centred as there."""
        X = X - self.centre_
        prototypes = Prototypes.of(
            X, targets, np.flatnonzero(self.is_tail_), self.n_prototype_documents
        )
        source = self._generation_source(X, targets, prototypes, variant_named(self.variant))
        return source and replace(source, is_expected=False)

    def _generation_source(
        self, X: FloatArray, targets: LabelMatrix, prototypes: Prototypes, parts: Variant
    ) -> GenerationSource | None:
        if not parts.is_retrained or not parts.has_generations:
            return None
        generator = InstanceGenerator.identity(X.shape[1])
        relations = shares = None
        if parts.has_relations:
            # lines 6–9: p relations of each head label
            collector = RelationCollector(self.n_pairs, self.random_state)
            heads = X, targets
            if self._relations_of is not None:
                heads = self._relations_of[0] - self.centre_, self._relations_of[1]
            relations = collector.collect(*heads, self.is_head_).scaled(self.relation_scale)
            if not len(relations):
                return None
            shares = head_shares(self.relation_choice, relations, prototypes, targets)
        if relations is not None and parts.has_transfer:
            # lines 10–17: the map W
            directions = head_directions(
                *heads, self.is_head_, self.n_directions, self.max_directions
            )
            generator = self._learn_transfer(prototypes, relations, directions, parts)
            self.transfer_ = generator.transfer
        return GenerationSource(
            prototypes,
            relations,
            generator,
            self.n_generated,
            self.random_state,
            shares,
            is_expected=self.generations == EXPECTED,
        )

    def _learn_transfer(
        self, prototypes: Prototypes, relations: Relations, directions: FloatArray, parts: Variant
    ) -> InstanceGenerator:
        weights = parts.weights(
            TransferWeights(self.generation_weight, self.variance_weight, self.diversity_weight)
        )
        if self.solver == "adam":
            drawn = self._drawn_moments(prototypes, relations)
            return InstanceGenerator.adam(drawn, directions, weights, n_steps=ADAM_STEPS)
        moments = TransferMoments.of(
            prototypes.means().mean(axis=0),
            prototypes.second_moment(),
            relations,
            is_variance_centred=self.is_variance_centred,
        )
        return InstanceGenerator.exact(moments, directions, weights)

    def _drawn_moments(
        self, prototypes: Prototypes, relations: Relations
    ) -> Iterator[TransferMoments]:
        """Draw a prototype for each tail label at every step, as lines 12–13 of Algorithm 1 do."""
        random = np.random.default_rng(self.random_state)
        while True:
            drawn = np.concatenate(
                [prototypes.sample(tail, 1, random) for tail in range(len(prototypes.counts))]
            ).astype(np.float64)  # (n_tail, feature_dim)
            yield TransferMoments.of(
                drawn.mean(axis=0),
                drawn.T @ drawn / len(drawn),
                relations,
                is_variance_centred=self.is_variance_centred,
            )

    def check_settings(self) -> None:
        """Refuse what would be found out only after stage 1."""
        variant_named(self.variant)
        check_loss(self.row_loss)
        check_choice(self.relation_choice)
        if self.generations not in GENERATIONS:
            raise SettingError(
                f"generations must be one of {', '.join(GENERATIONS)}, got {self.generations!r}."
            )
        if self.generated_targets not in GENERATED_TARGETS:
            raise SettingError(
                f"generated_targets must be one of {', '.join(GENERATED_TARGETS)}, "
                f"got {self.generated_targets!r}."
            )
        if self.generations == EXPECTED and self.generated_targets != OWN:
            raise SettingError(
                f"generations {EXPECTED!r} are positives of their own label alone; set "
                f"generated_targets to {OWN!r}, got {self.generated_targets!r}."
            )
        if self.generations == EXPECTED and self.relation_choice != ALL:
            raise SettingError(
                f"generations {EXPECTED!r} are over all relations; set relation_choice to {ALL!r}, "
                f"got {self.relation_choice!r}."
            )
        if self.solver not in SOLVERS:
            raise SettingError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}.")
        if not self.relation_scale > 0:
            raise SettingError(f"relation_scale must be above 0, got {self.relation_scale}.")
        check_balance(self.balance)
        if not 0 <= self.tail_share <= 1:
            raise SettingError(f"tail_share must lie in 0 to 1, got {self.tail_share}.")

    def decision_function(self, X: Any) -> FloatArray:  # noqa: ANN401
        """Return the logits, shape (n_documents, n_labels), or (n_documents,) for two classes."""
        check_is_fitted(self, "rows_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        logits = self.rows_.logits(X)
        return logits[:, 0] if self._is_binary else logits

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: ANN401
        """Return a probability for each label; for one class a document the rows sum to one."""
        logits = self.decision_function(X)
        scores = 0.5 * (1.0 + np.tanh(0.5 * logits))
        if self.multilabel_:
            return np.asarray(scores)
        if self._is_binary:
            return np.column_stack([1.0 - scores, scores])
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> IntArray:  # noqa: ANN401
        """Return the indicator of labels with a probability of at least 0.5, or one class each."""
        logits = self.decision_function(X)
        if self.multilabel_:
            return (logits >= 0).astype(np.int64)
        if self._is_binary:
            return np.asarray(self.classes_[(logits > 0).astype(np.int64)])
        return np.asarray(self.classes_[logits.argmax(axis=1)])

    @property
    def _is_binary(self) -> bool:
        return not self.multilabel_ and len(self.classes_) == 2

    def _read_targets(self, y: Any, n_documents: int) -> LabelMatrix:  # noqa: ANN401
        """Return the indicator (n_documents, n_labels) and set ``classes_`` and ``multilabel_``."""
        if not issparse(y):
            y = np.asarray(y)
        if y.shape[:1] != (n_documents,):
            raise DataError(
                f"X has {n_documents} rows but y has shape {y.shape}; give one row of labels for each."
            )
        self.multilabel_ = issparse(y) or (y.ndim == 2 and y.shape[1] > 1)
        if self.multilabel_:
            return self._read_indicator(y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) == 2:  # one row tells two classes apart
            return csr_array((codes == 1).astype(np.float32)[:, None])
        return csr_array(np.eye(len(self.classes_), dtype=np.float32)[codes])

    def _read_indicator(self, y: Any) -> LabelMatrix:  # noqa: ANN401
        matrix = csr_array(y).astype(np.float32)
        matrix.eliminate_zeros()
        if len(matrix.data) and not (matrix.data == 1).all():
            kind = type_of_target(y)
            raise DataError(
                f"Unknown label type: {kind}. y with several columns must be an indicator of 0 and 1; "
                f"got values from {matrix.data.min():g} to {matrix.data.max():g}."
            )
        self.classes_ = np.arange(matrix.shape[1])
        return matrix

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
