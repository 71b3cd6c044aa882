"""Documents divided into folds in which every label has its share, the rare ones too."""

import numpy as np
from scipy.sparse import csc_array

from piran.errors import SettingError
from piran.types import IntArray, LabelMatrix


def even_folds(targets: LabelMatrix, n_folds: int, seed: int) -> IntArray:
    """Return the fold of each document, 0 to n_folds - 1, shape (n_documents,).

    ``targets`` has shape (n_documents, n_labels). Labels have their turn from the rarest on: each of a
    label's documents goes where the label has the fewest yet, of equals where there are the fewest
    documents (after Sechidis, Tsoumakas and Vlahavas 2011). By chance alone, a third of the labels
    with two documents would have both in one fold of three, and nothing to be judged by.
    """
    if n_folds < 2:
        raise SettingError(f"There must be at least 2 folds, got {n_folds}.")
    n_documents, n_labels = targets.shape
    random = np.random.default_rng(seed)
    turn = random.permutation(n_documents)  # decides between documents that are alike
    columns = csc_array(targets)
    fold = np.full(n_documents, -1)
    n_of_label = np.zeros((n_folds, n_labels), dtype=np.int64)
    n_in_fold = np.zeros(n_folds, dtype=np.int64)

    def place(document: int, label: int | None) -> None:
        of_label = n_of_label[:, label] if label is not None else np.zeros(n_folds)
        chosen = int(np.lexsort((random.random(n_folds), n_in_fold, of_label))[0])
        fold[document] = chosen
        n_in_fold[chosen] += 1
        own = targets.indices[targets.indptr[document] : targets.indptr[document + 1]]
        n_of_label[chosen, own] += 1

    for label in np.argsort(np.diff(columns.indptr), kind="stable").tolist():
        documents = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
        for document in documents[np.argsort(turn[documents])].tolist():
            if fold[document] < 0:
                place(document, label)
    for document in np.flatnonzero(fold < 0).tolist():  # without a label
        place(document, None)
    return fold
