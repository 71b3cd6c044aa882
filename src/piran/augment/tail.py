"""Tail adjustment (Section 3.4): tail rows retrained on real documents and streamed generations."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from piran.augment.generator import InstanceGenerator
from piran.augment.prototypes import Prototypes
from piran.augment.relations import Relations
from piran.augment.teachers import drawn_by_share
from piran.errors import SettingError
from piran.progress import task
from piran.rows import LinearRows
from piran.training.linear_fit import LABELS_AT_ONCE, LOGISTIC, OwnPositives, fit_rows
from piran.types import FloatArray, IntArray

NUMBERS_AT_ONCE = 16_000_000
"""Generated numbers that exist at one time: 64 MB in float32."""


@dataclass(frozen=True, eq=False)
class GenerationSource:
    """Where a tail label's generated instances come from: prototype, relation and the map W.

    ``relations`` None repeats the prototypes as they are (the control *duplicate*). ``shares`` is what
    each tail label takes from each head label (:func:`piran.augment.teachers.head_shares`), None for all
    relations alike.
    """

    prototypes: Prototypes
    relations: Relations | None
    generator: InstanceGenerator
    n_generated: int
    seed: int
    shares: FloatArray | None = None
    is_expected: bool = False
    """Every generation stands for all that its prototype could become, instead of one relation, and no
    document becomes a prototype again before all had their turn."""

    def __post_init__(self) -> None:
        if self.n_generated < 1:
            raise SettingError(f"n_generated must be at least 1, got {self.n_generated}.")

    def generate(self, tail: IntArray) -> FloatArray:
        """Generate for the given tail positions, shape (len(tail), n_generated, feature_dim).

        A label's instances depend on the seed and its own position alone, so that they do not change
        with the labels that happen to be generated at the same time.
        """
        return np.stack([self._generate_one(int(position)) for position in tail])

    def _generate_one(self, position: int) -> FloatArray:
        random = np.random.default_rng((self.seed, position))
        sample = self.prototypes.sample_evenly if self.is_expected else self.prototypes.sample
        prototypes = sample(position, self.n_generated, random)
        if self.relations is None:
            return prototypes
        if self.is_expected:
            mean = self.relations.mean().astype(prototypes.dtype)
            return self.generator.generate(prototypes, mean[None])
        relations = self.relations.values[self._drawn_relations(position, random)]
        return self.generator.generate(prototypes, relations)

    def covariance(self) -> FloatArray | None:
        """Return W Cov(c) Wᵀ, (feature_dim, feature_dim), if generations stand for all relations."""
        if self.relations is None or not self.is_expected:
            return None
        mean = self.relations.mean()
        spread = self.relations.second_moment() - np.outer(mean, mean)
        return np.asarray(self.generator.transfer @ spread @ self.generator.transfer.T)

    def _drawn_relations(self, position: int, random: np.random.Generator) -> IntArray:
        assert self.relations is not None
        if self.shares is None:
            return random.integers(len(self.relations), size=self.n_generated)
        return drawn_by_share(self.relations, self.shares[position], self.n_generated, random)


def adjust_tail_rows(
    start: LinearRows,
    prototypes: Prototypes,
    source: GenerationSource | None,
    *,
    l2: float,
    generated_weight: float,
    loss: str = LOGISTIC,
    is_shared: bool = False,
) -> LinearRows:
    """Minimise Equation (5), or another loss, over the tail rows, Equation (14), and return them.

    Every real document keeps its true tail labels; a generated instance is a positive of its own label
    and says nothing of the others, so each label is a problem of its own and labels can be taken a few
    at a time. With ``is_shared`` they all see it, as far as they come along with its own. ``source`` None
    retrains on the real documents alone (the control *retrain-on-real*). ``start`` holds the tail rows
    of stage 1, (n_tail, feature_dim).
    """
    if generated_weight < 0:
        raise SettingError(f"generated_weight must not be negative, got {generated_weight}.")
    if source is not None and is_shared:
        return _adjusted_on_shared(start, prototypes, source, l2, generated_weight, loss)
    n_tail = len(start)
    adjusted = start.replaced(np.arange(0), start[:0])  # a copy
    covariance = None if source is None else source.covariance()
    with task("Adjusting tail labels", n_tail) as advance:
        for tail in _chunks(n_tail, source):
            own = None
            if source is not None:
                own = OwnPositives(source.generate(tail), generated_weight, covariance)
            fitted = fit_rows(
                prototypes.instances,
                prototypes.members[:, tail].tocsr(),
                l2=l2,
                loss=loss,
                start=start[tail],
                own_positives=own,
            )
            adjusted = adjusted.replaced(tail, fitted)
            advance(len(tail))
    return adjusted


def _adjusted_on_shared(
    start: LinearRows,
    prototypes: Prototypes,
    source: GenerationSource,
    l2: float,
    generated_weight: float,
    loss: str,
) -> LinearRows:
    """Return the rows if every tail label sees all generations.

    A generation of label j is a positive of label k to the share of j's documents that have k, and a
    negative to the rest. All generations exist at once.
    """
    n_real, n_tail = len(prototypes.instances), len(start)
    generated = source.generate(np.arange(n_tail)).reshape(-1, prototypes.instances.shape[1])
    members = prototypes.members.tocsr()
    share = (members.T @ members).toarray() / np.maximum(prototypes.counts, 1)[:, None]
    share = np.repeat(share, source.n_generated, axis=0)  # (n_generations, n_tail)

    def weights(columns: slice) -> FloatArray:
        own = share[:, columns]
        real = np.ones((n_real, own.shape[1]))
        return np.concatenate([real, generated_weight * own, generated_weight * (1 - own)])

    ones = csr_array(np.ones_like(share))
    return fit_rows(
        np.concatenate([prototypes.instances, generated, generated]),
        csr_array(vstack([members, ones, csr_array(ones.shape, dtype=ones.dtype)])),
        l2=l2,
        loss=loss,
        start=start,
        weights=weights,
    )


def _chunks(n_tail: int, source: GenerationSource | None) -> Iterator[IntArray]:
    """Divide the tail labels so that one part's generations fit into the budget of memory."""
    size = LABELS_AT_ONCE
    if source is not None:
        numbers_a_label = source.n_generated * source.prototypes.instances.shape[1]
        size = max(1, min(size, NUMBERS_AT_ONCE // numbers_a_label))
    for first in range(0, n_tail, size):
        yield np.arange(first, min(first + size, n_tail))
