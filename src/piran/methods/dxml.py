"""DXML (Zhang et al. 2018): documents placed among the labels of a graph, labelled by neighbours."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn.functional import normalize, smooth_l1_loss

from piran.data.batches import Batch
from piran.encoders.base import LabelledTexts
from piran.encoders.bilstm import ExtractorSettings
from piran.encoders.text_network import TextNetwork
from piran.errors import ModelFolderError, SettingError
from piran.methods.base import METHODS, Method
from piran.storage import load_state, save_state
from piran.training.label_graph import Walks, label_vectors
from piran.training.loop import Score, TrainingSet, apply_network
from piran.training.neighbours import NeighbourVotes
from piran.types import FloatArray, IntArray, LabelMatrix, Texts

_NEIGHBOURS = "neighbours"


class PlacementNetwork(nn.Module):
    """An extractor and a linear map to the space of the label vectors; outputs have length 1."""

    def __init__(self, extractor: nn.Module, projection: nn.Linear) -> None:
        super().__init__()
        self.extractor = extractor
        self.projection = projection

    def forward(self, token_ids: Tensor, lengths: Tensor) -> Tensor:
        """Map (n_documents, length) to places (n_documents, label_dim)."""
        return normalize(self.projection(self.extractor(token_ids, lengths)), dim=1)


@METHODS.register("dxml")
@dataclass(kw_only=True, eq=False, repr=False)
class Dxml(ExtractorSettings, Method):
    """The paper's extractor, trained to place a document at the mean vector of its labels.

    Label vectors come from walks on the graph of labels that occur together. A new document gets the
    labels of the training documents nearest to its place, near ones counting more. The search is exact
    (the original looks only within a cluster).

    Memory beyond that of the network, which is as in :class:`~piran.methods.ltmcp.Ltmcp`:
    n_train · label_dim numbers and the training labels, kept in the model; O(n_train) for each of a
    block of documents that are scored.
    """

    name: ClassVar[str] = "dxml"
    quick_settings: ClassVar[Mapping[str, Any]] = {
        **ExtractorSettings.quick_settings,
        "label_dim": 8,
        "n_walks": 5,
    }

    label_vectors: str = "walks"
    """``walks`` (DeepWalk), ``ppmi`` (a factorisation, quicker), or ``random``: no label graph."""
    label_dim: int = 100
    n_walks: int = 80
    """Walks from each label."""
    walk_length: int = 30
    walk_window: int = 2
    """Labels so many steps apart on a walk count as neighbours."""
    n_neighbours: int = 10
    """Training documents that vote."""
    vote_temperature: float = 0.1
    """A neighbour at cosine c votes with exp(c / temperature)."""

    def _fit(self, train: LabelledTexts, validation: LabelledTexts) -> None:
        if self.loss != "bce":
            raise SettingError(
                f"dxml learns places, not labels, so loss must stay 'bce', got {self.loss!r}."
            )
        vectors = label_vectors(
            self.label_vectors,
            train.targets,
            dim=self.label_dim,
            seed=self.seed,
            walks=Walks(n_walks=self.n_walks, length=self.walk_length, window=self.walk_window),
        )
        self.network_ = TextNetwork.begin(train.texts, self._build, settings=self)
        outcome = self.network_.train(
            self._places(train, vectors),
            settings=self,
            score=_mean_cosine(self._places(validation, vectors))
            if validation.targets.nnz
            else None,
            batch_loss=placement_loss,
        )
        self.history_, self.stop_reason_ = outcome.history, outcome.stop_reason
        places = self.network_.apply(train.texts, description="Placing")
        self.votes_ = self._votes(places, train.targets)

    def _build(self, embeddings: Tensor) -> PlacementNetwork:
        extractor = self.new_extractor(embeddings)
        return PlacementNetwork(extractor, nn.Linear(self.instance_dim, self.label_dim))

    def _places(self, documents: LabelledTexts, vectors: FloatArray) -> TrainingSet:
        """Return the documents that have labels, with the direction of their labels' mean vector."""
        labelled = documents.with_labels()
        means = labelled.targets @ vectors  # (n_documents, label_dim)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        token_ids = self.network_.token_ids(labelled.texts)
        return TrainingSet(token_ids, means / np.maximum(lengths, 1e-12))

    def _votes(self, places: FloatArray, targets: LabelMatrix) -> NeighbourVotes:
        return NeighbourVotes(places, targets, self.n_neighbours, self.vote_temperature)

    def _scores(self, texts: Texts) -> FloatArray:
        return self.votes_.scores(self.network_.apply(texts))

    def _save(self, folder: Path) -> None:
        self.network_.save(folder)
        targets = self.votes_.targets
        arrays = {
            "places": self.votes_.vectors,
            "label_ids": targets.indices.astype(np.int64),
            "starts": targets.indptr.astype(np.int64),
        }
        save_state(folder, _NEIGHBOURS, {}, arrays)

    def _load(self, folder: Path) -> None:
        self.network_ = TextNetwork.load(folder, self._build, settings=self)
        arrays = load_state(folder, _NEIGHBOURS)[1]
        try:
            targets = _indicator(arrays["label_ids"], arrays["starts"], len(self.labels_))
            self.votes_ = self._votes(arrays["places"], targets)
        except (KeyError, ValueError) as error:
            raise ModelFolderError(
                f"{folder / _NEIGHBOURS}.safetensors is not complete ({error}); save the model again."
            ) from error


def placement_loss(network: nn.Module, batch: Batch, places: Tensor) -> Tensor:
    """Smooth-L1 distance to the places, summed over dimensions, mean over documents."""
    placed = network(batch.token_ids, batch.lengths)  # (n_documents, label_dim)
    return smooth_l1_loss(placed, places, reduction="sum") / len(places)


def _mean_cosine(documents: TrainingSet) -> Score:
    """Return a score of networks: the mean cosine between where documents are and should be."""

    def score(network: nn.Module) -> float:
        placed = apply_network(network, documents.token_ids, description="Validating")
        return float((placed * documents.targets).sum(axis=1).mean())

    return score


def _indicator(label_ids: IntArray, starts: IntArray, n_labels: int) -> LabelMatrix:
    ones = np.ones(len(label_ids), dtype=np.float32)
    return csr_array((ones, label_ids, starts), shape=(len(starts) - 1, n_labels))
