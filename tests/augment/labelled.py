"""A small set of labelled instances for the tests of stage 2."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from piran.augment import (
    GenerationSource,
    InstanceGenerator,
    Prototypes,
    RelationCollector,
    Relations,
)
from piran.types import BoolArray, FloatArray, IntArray, LabelMatrix

N_DOCUMENTS, N_LABELS, FEATURE_DIM = 80, 7, 5
HEAD_IDS, TAIL_IDS = (0, 1, 2), (3, 4, 5)


@dataclass(frozen=True, eq=False)
class Labelled:
    """Three head labels, three tail labels with 9, 2 and 1 documents, and a head label with only one."""

    instances: FloatArray
    targets: LabelMatrix

    @property
    def is_head(self) -> BoolArray:
        return ~np.isin(np.arange(N_LABELS), TAIL_IDS)

    @property
    def tail_ids(self) -> IntArray:
        return np.array(TAIL_IDS)

    def documents_of(self, label_id: int) -> IntArray:
        """Rows of the documents that have a label."""
        return np.flatnonzero(self.targets.toarray()[:, label_id])

    def relations(self, n_pairs: int = 20, seed: int = 0) -> Relations:
        return RelationCollector(n_pairs, seed).collect(self.instances, self.targets, self.is_head)

    def prototypes(self, n_documents: int = 3) -> Prototypes:
        return Prototypes.of(self.instances, self.targets, self.tail_ids, n_documents)

    def source(self, *, has_relations: bool = True, n_generated: int = 6) -> GenerationSource:
        transfer = np.random.default_rng(2).normal(size=(FEATURE_DIM, FEATURE_DIM))
        return GenerationSource(
            self.prototypes(),
            self.relations() if has_relations else None,
            InstanceGenerator(transfer),
            n_generated,
            seed=4,
        )


def labelled() -> Labelled:
    random = np.random.default_rng(6)
    targets = np.zeros((N_DOCUMENTS, N_LABELS), dtype=np.float32)
    targets[:, list(HEAD_IDS)] = random.random((N_DOCUMENTS, 3)) < 0.5
    for label_id, rows in {3: range(9), 4: (8, 20), 5: (30,), 6: (31,)}.items():
        targets[list(rows), label_id] = 1
    centres = random.normal(size=(N_LABELS, FEATURE_DIM))
    instances = targets @ centres + random.normal(size=(N_DOCUMENTS, FEATURE_DIM))
    return Labelled(instances, csr_array(targets))
