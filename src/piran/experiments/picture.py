"""The picture of one tail label: its documents and the generated instances around them, in a plane."""

import numpy as np
from sklearn.decomposition import PCA

from piran.data.corpus import Corpus
from piran.data.labels import LabelSpace
from piran.experiments.records import TailPicture
from piran.methods.base import Method
from piran.methods.piran import PiranClassifier
from piran.types import FloatArray, IntArray, LabelMatrix

N_BACKGROUND = 400
WANTED_DOCUMENTS = 5
"""A label with about so many documents shows both: that it is rare, and how its documents lie."""

Points = list[tuple[float, float]]


def tail_picture(method: Method, corpus: Corpus) -> TailPicture | None:
    """Return the picture of one tail label of a fitted PIRAN; None where there is no plane to draw."""
    if not isinstance(method, PiranClassifier) or method.encoder_.feature_dim < 2:
        return None
    targets = method.labels_.matrix(corpus.train.label_sets)
    source = method.generation_source(corpus.train.texts, targets)
    if source is None:
        return None
    test_targets = None if corpus.test is None else method.labels_.matrix(corpus.test.label_sets)
    column = _label_to_show(method.labels_, test_targets)
    position = int(np.flatnonzero(np.flatnonzero(method.labels_.is_tail) == column)[0])
    instances = source.prototypes.instances
    members = _documents_of(targets, column)
    others = np.setdiff1d(np.arange(len(instances)), members)
    random = np.random.default_rng(method.seed)
    background = random.choice(others, size=min(N_BACKGROUND, len(others)), replace=False)
    generated = source.generate(np.array([position]))[0]
    held_out = instances[:0]
    if corpus.test is not None and test_targets is not None:
        rows = _documents_of(test_targets, column)
        held_out = method.encoder_.encode([corpus.test.texts[row] for row in rows])
        held_out = held_out - method.head_.centre_
    # The plane is the label's own: the directions in which its documents and generations differ most
    plane = PCA(2, random_state=0).fit(np.concatenate([instances[members], generated, held_out]))
    return TailPicture(
        label=method.labels_.names[column],
        prototype=_points(plane, instances[members].mean(axis=0, keepdims=True))[0],
        real=_points(plane, instances[members]),
        generated=_points(plane, generated),
        background=_points(plane, instances[background]),
        held_out=_points(plane, held_out),
    )


def _label_to_show(labels: LabelSpace, test_targets: LabelMatrix | None) -> int:
    """Choose by counts alone: a tail label of about five training documents, most test documents."""
    tail = np.flatnonzero(labels.is_tail)
    distance = np.abs(labels.counts[tail] - WANTED_DOCUMENTS)
    in_test = np.zeros(len(tail), dtype=np.int64)
    if test_targets is not None:
        in_test = np.bincount(test_targets.indices, minlength=len(labels))[tail]
    return int(tail[np.lexsort((tail, -in_test, distance))[0]])


def _documents_of(targets: LabelMatrix, column: int) -> IntArray:
    return np.flatnonzero(targets[:, [column]].toarray()[:, 0])


def _points(plane: PCA, instances: FloatArray) -> Points:
    if not len(instances):
        return []
    return [(round(float(x), 4), round(float(y), 4)) for x, y in plane.transform(instances)]
