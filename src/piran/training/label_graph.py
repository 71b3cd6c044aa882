"""The label graph: which labels occur together, and vectors of labels learned from it.

Labels are nodes; an edge weighs as much as there are training documents with both labels. Without
the weights, a corpus of few labels is almost a complete graph, in which all nodes look alike.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import svds
from torch import Tensor
from torch.nn.functional import logsigmoid

from piran.errors import SettingError
from piran.progress import track
from piran.training.runtime import seeded_generator
from piran.types import FloatArray, IntArray, LabelMatrix

LABEL_VECTORS = ("walks", "ppmi", "random")
"""How label vectors can be made; ``random`` knows nothing of the graph."""
NEGATIVE_POWER = 0.75
"""Negatives are drawn by frequency to this power, as skip-gram does."""
LEARNING_RATE = 0.025
LABELS_A_STEP = 64


@dataclass(frozen=True, kw_only=True)
class Walks:
    """How random walks are taken and read."""

    n_walks: int = 80
    """Walks that begin at each label."""
    length: int = 30
    """Labels on a walk."""
    window: int = 2
    """Labels at most so many steps apart are a pair."""
    n_negatives: int = 5
    """Labels that a pair is told apart from; taken in expectation."""

    def __post_init__(self) -> None:
        for name, least in (("n_walks", 1), ("length", 2), ("window", 1), ("n_negatives", 1)):
            if getattr(self, name) < least:
                raise SettingError(f"{name} must be at least {least}, got {getattr(self, name)}.")


def cooccurrence(targets: LabelMatrix) -> csr_array:
    """Return how many documents have both labels, (n_labels, n_labels), zero on the diagonal."""
    counts = csr_array(targets.T @ targets).astype(np.float64)
    counts = csr_array(counts - diags_array(counts.diagonal()))
    counts.eliminate_zeros()
    return counts


def label_vectors(
    kind: str, targets: LabelMatrix, *, dim: int, seed: int, walks: Walks | None = None
) -> FloatArray:
    """Return a unit vector for each label, (n_labels, dim), float32.

    Labels that the graph tells nothing about (never beside another) get a random direction.
    """
    if kind not in LABEL_VECTORS:
        raise SettingError(
            f"label_vectors must be one of {', '.join(LABEL_VECTORS)}, got {kind!r}."
        )
    graph = cooccurrence(targets)
    vectors = np.random.default_rng(seed).normal(size=(graph.shape[0], dim))
    is_linked = np.diff(graph.indptr) > 0
    if is_linked.any() and kind != "random":
        linked = np.flatnonzero(is_linked)
        part = csr_array(graph[linked][:, linked])
        learned = (
            ppmi_vectors(part, dim=dim, seed=seed)
            if kind == "ppmi"
            else walk_vectors(part, dim=dim, seed=seed, walks=walks or Walks())
        )
        is_known = np.linalg.norm(learned, axis=1) > 1e-9
        vectors[linked[is_known]] = learned[is_known]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / lengths, dtype=np.float32)


def random_walks(graph: csr_array, length: int, random: np.random.Generator) -> IntArray:
    """Take one walk from each label along the edges, by weight: (n_labels, length).

    Every label of ``graph`` must have an edge.
    """
    total = np.concatenate([[0.0], np.cumsum(graph.data)])  # (n_edges + 1,)
    first, last = total[graph.indptr[:-1]], total[graph.indptr[1:]]
    walks = np.empty((graph.shape[0], length), dtype=np.int64)
    walks[:, 0] = np.arange(graph.shape[0])
    for step in range(1, length):
        here = walks[:, step - 1]
        drawn = first[here] + random.random(len(here)) * (last[here] - first[here])
        edge = np.searchsorted(total, drawn, side="right") - 1
        # Rounding could carry a draw past the label's last edge.
        walks[:, step] = graph.indices[np.minimum(edge, graph.indptr[here + 1] - 1)]
    return walks


def walk_pairs(walks: IntArray, window: int) -> IntArray:
    """Return all (label, label) pairs at most ``window`` steps apart, in both orders, (n_pairs, 2)."""
    pairs = []
    for distance in range(1, min(window, walks.shape[1] - 1) + 1):
        left, right = walks[:, :-distance].ravel(), walks[:, distance:].ravel()
        pairs += [np.column_stack([left, right]), np.column_stack([right, left])]
    return np.concatenate(pairs)


def walk_vectors(graph: csr_array, *, dim: int, seed: int, walks: Walks) -> FloatArray:
    """Learn vectors by skip-gram with negative sampling on random walks (DeepWalk), (n_labels, dim).

    Walks are taken and forgotten round by round, so memory does not grow with their number.
    """
    n_labels = graph.shape[0]
    random, generator = np.random.default_rng(seed), seeded_generator(seed)
    chances = np.asarray(graph.sum(axis=1)).ravel() ** NEGATIVE_POWER
    negatives = torch.as_tensor(chances / chances.sum(), dtype=torch.float32)  # (n_labels,)
    vectors = ((torch.rand(n_labels, dim, generator=generator) - 0.5) / dim).requires_grad_()
    contexts = torch.zeros(n_labels, dim, requires_grad=True)
    optimizer = torch.optim.Adam([vectors, contexts], lr=LEARNING_RATE)
    for _ in track(range(walks.n_walks), "Walking the label graph", walks.n_walks):
        pairs = walk_pairs(random_walks(graph, walks.length, random), walks.window)
        counts = csr_array((np.ones(len(pairs), dtype=np.float32), tuple(pairs.T)), graph.shape)
        order = torch.randperm(n_labels, generator=generator)
        for some in torch.split(order, LABELS_A_STEP):
            together = torch.from_numpy(counts[some.numpy()].toarray())  # (n_some, n_labels)
            optimizer.zero_grad()
            logits = vectors[some] @ contexts.T  # (n_some, n_labels)
            loss = skipgram_loss(logits, together, negatives, walks.n_negatives)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return vectors.detach().numpy().astype(np.float64)


def skipgram_loss(logits: Tensor, together: Tensor, negatives: Tensor, n_negatives: int) -> Tensor:
    """−log σ(v·c − log k) − Σ log σ(log k − v·c'), mean over the pairs counted in ``together``.

    ``logits`` v·c and ``together`` have shape (n_some, n_labels), ``negatives`` holds the chance of
    each label to be drawn, (n_labels,). The k negatives are not drawn but taken in expectation: a
    table of all labels is small. Without the log k, the optimum of v·c is the pointwise mutual
    information less log k, which in a small graph is negative for every pair: all vectors would
    point the same way.
    """
    shift = math.log(n_negatives)
    n_pairs = together.sum(dim=1, keepdim=True)  # (n_some, 1)
    apart = n_negatives * n_pairs * negatives  # (n_some, n_labels)
    loss = together * logsigmoid(logits - shift) + apart * logsigmoid(shift - logits)
    return -loss.sum() / n_pairs.sum()


def ppmi_vectors(graph: csr_array, *, dim: int, seed: int) -> FloatArray:
    """Factorise the positive pointwise mutual information of the edges, (n_labels, dim).

    Where the graph has fewer than ``dim`` directions the remaining numbers are zero.
    """
    degree = np.asarray(graph.sum(axis=1)).ravel()
    information = csr_array(graph, copy=True)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    expected = degree[rows] * degree[graph.indices] / degree.sum()
    information.data = np.maximum(np.log(graph.data / expected), 0.0)
    left, strengths = _leading_directions(information, min(dim, graph.shape[0]), seed)
    vectors = np.zeros((graph.shape[0], dim))
    vectors[:, : len(strengths)] = left * np.sqrt(strengths)
    return vectors


def _leading_directions(matrix: csr_array, n: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return left singular vectors (n_rows, n) and singular values (n,), largest first."""
    if n >= matrix.shape[0] - 1:  # the sparse solver cannot give (almost) all of them
        left, strengths, _ = np.linalg.svd(matrix.toarray())
        return left[:, :n], strengths[:n]
    start = np.random.default_rng(seed).normal(size=matrix.shape[0])
    left, strengths, _ = svds(matrix, k=n, v0=start)
    return left[:, ::-1], strengths[::-1]
