"""How far scores are from the frequencies they announce: the expected calibration error.

Of all (document, label) pairs with a score near 0.3, three in ten should be true. The expected
calibration error (ECE; Naeini et al. 2015, Guo et al. 2017) puts the pairs into bins of equal width by
their score and averages, over the pairs, how far the mean score of a bin is from its share of true
pairs.

A document has few of all labels, so nearly every pair has a score close to 0, and rightly. These pairs
outvote the others: the plain ECE of any method is small, and smallest over tail labels. It is therefore
given a second time over the pairs with a score of at least 0.05, as Nixon et al. (2019) do where there
are many classes. Choosing pairs by their score leaves a calibrated score calibrated; choosing them by
their truth would not. Bins of equal mass are no way out, as nearly all of them would lie close to 0.

The two belong together. The second says whether scores that claim something can be believed, but is
blind to labels whose scores are all too low: those show in the plain ECE alone. And as each method has
pairs of its own at 0.05 and above, a timid method is judged on fewer of them.
"""

import numpy as np

from piran.data.labels import LabelSpace
from piran.types import BoolArray, FloatArray

DEFAULT_BINS = 15
DEFAULT_FLOOR = 0.05
_HEAD, _TAIL, _UNSEEN = 0, 1, 2
_MEMBERS = {"": (_HEAD, _TAIL, _UNSEEN), "_head": (_HEAD,), "_tail": (_TAIL,)}


class CalibrationError:
    """Expected calibration errors over all, head and tail labels, batch by batch.

    What stays of a batch is two numbers a bin. Unseen labels count in "all" but are neither head nor
    tail. Bins hold their lower edge, the last one also 1.
    """

    def __init__(
        self, labels: LabelSpace, *, n_bins: int = DEFAULT_BINS, floor: float = DEFAULT_FLOOR
    ) -> None:
        self.n_bins = n_bins
        self.floor = floor
        self._group = np.select([labels.is_head, labels.is_tail], [_HEAD, _TAIL], _UNSEEN)
        self._n_pairs = np.zeros((3, 2, n_bins), dtype=np.int64)  # group, below or above the floor
        self._excess = np.zeros((3, 2, n_bins))  # sum of scores less true pairs
        self._are_probabilities = True

    def update(self, is_true: BoolArray, scores: FloatArray) -> None:
        """Add a batch; both arguments have shape (n_documents, n_labels)."""
        self._are_probabilities &= bool(((scores >= 0) & (scores <= 1)).all())
        if not self._are_probabilities:
            return
        bins = np.minimum((scores * self.n_bins).astype(np.intp), self.n_bins - 1)
        bins += self.n_bins * (2 * self._group + (scores >= self.floor))  # (n_documents, n_labels)
        shape = self._n_pairs.shape
        size = self._n_pairs.size
        n_pairs = np.bincount(bins.ravel(), minlength=size)
        announced = np.bincount(bins.ravel(), weights=scores.ravel(), minlength=size)
        self._n_pairs += n_pairs.reshape(shape)
        self._excess += (announced - np.bincount(bins[is_true], minlength=size)).reshape(shape)

    def errors(self) -> dict[str, float]:
        """Return the errors, from 0 to 1: ``ECE``, ``ECE_head``, ``ECE_tail``, then from the floor.

        The latter end in ``_from_0.05``. Nothing can be said of no pairs, and 0 would be the best of
        all errors, so there is no error for a group without them. Nor is there any if a score was
        below 0 or above 1: such scores are no probabilities.
        """
        if not self._are_probabilities:
            return {}
        errors = {}
        for suffix, first in (("", 0), (f"_from_{self.floor:g}", 1)):
            for group, members in _MEMBERS.items():
                n_pairs = int(self._n_pairs[members, first:].sum())
                if n_pairs:
                    excess = self._excess[members, first:].sum(axis=(0, 1))  # (n_bins,)
                    errors[f"ECE{group}{suffix}"] = float(np.abs(excess).sum()) / n_pairs
        return errors
