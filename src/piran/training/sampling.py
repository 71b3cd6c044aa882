"""Which documents an epoch takes, where not simply each of them once."""

from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse import csc_array

from piran.types import IntArray, LabelMatrix


def label_sampler(targets: LabelMatrix) -> Callable[[torch.Generator], IntArray]:
    """Return a sampler under which every label is drawn alike, however rare.

    It draws as many documents as there are, each time a label first and then one of its documents.
    Documents without labels are never drawn.
    """
    members = csc_array(targets)
    counts = torch.from_numpy(np.diff(members.indptr).astype(np.int64))  # (n_labels,)
    known = torch.nonzero(counts)[:, 0]

    def sample(generator: torch.Generator) -> IntArray:
        n_documents = targets.shape[0]
        labels = known[torch.randint(len(known), (n_documents,), generator=generator)]
        chance = torch.rand(n_documents, generator=generator, dtype=torch.float64)
        position = (chance * counts[labels]).long().numpy()  # below the label's count
        return np.asarray(members.indices[members.indptr[labels.numpy()] + position])

    return sample
