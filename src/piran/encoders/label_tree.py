"""A shallow, wide tree over many labels: attention for clusters first, then for a few of their labels."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from piran.data.label_clusters import NO_LABEL
from piran.encoders.label_attention import LabelAttention
from piran.encoders.networks import begin_at_log_odds, log_odds
from piran.training.losses import LabelLoss
from piran.types import IntArray, LabelMatrix


class LabelTree(nn.Module):
    """Scores clusters of labels, and labels only in the best clusters of each document.

    The probability of a label is that of its cluster times that of the label within the cluster; it is
    0 outside the best clusters. In training the clusters of a document's labels are always among the
    best, so that every positive is seen, beside the negatives that are hardest to tell from them.
    """

    def __init__(
        self, clusters: Tensor, state_dim: int, n_labels: int, *, reading_dim: int, n_best: int
    ) -> None:
        super().__init__()
        self.clusters: Tensor
        self.register_buffer("clusters", clusters)  # (n_clusters, cluster_size), see NO_LABEL
        self.n_labels = n_labels
        self.n_best = min(n_best, len(clusters))
        self.cluster_attention = LabelAttention(state_dim, len(clusters), reading_dim=reading_dim)
        self.label_attention = LabelAttention(state_dim, n_labels, reading_dim=reading_dim)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Map states (n_documents, length, state_dim) to logits (n_documents, n_labels)."""
        cluster_logits = self.cluster_attention(states, lengths)  # (n_documents, n_clusters)
        best, label_ids = self.candidates(cluster_logits, self.n_best)
        logits = self.label_attention(states, lengths, label_ids.clamp(min=0))
        of_clusters = logsigmoid(cluster_logits.gather(1, best))  # (n_documents, n_best)
        of_clusters = of_clusters.repeat_interleave(self.clusters.shape[1], dim=1)
        probabilities = logsigmoid(logits) + of_clusters  # logarithms, (n_documents, n_candidates)
        all_logits: Tensor = logits.new_full((len(states), self.n_labels + 1), -torch.inf)
        places = torch.where(label_ids == NO_LABEL, self.n_labels, label_ids)
        all_logits.scatter_(1, places, probabilities - torch.log(-torch.expm1(probabilities)))
        return all_logits[:, :-1]

    def candidates(self, cluster_logits: Tensor, n_best: int) -> tuple[Tensor, Tensor]:
        """Return the best clusters (n_documents, n_best) and their labels (n_documents, n_candidates)."""
        best = cluster_logits.topk(n_best, dim=1, sorted=False).indices
        return best, self.clusters[best].flatten(1)

    def cluster_targets(self, targets: Tensor) -> Tensor:
        """Return which clusters hold a label of a document: (n_documents, n_clusters)."""
        members = targets[:, self.clusters.clamp(min=0)]  # (n_documents, n_clusters, cluster_size)
        return (members * (self.clusters != NO_LABEL)).amax(dim=2)

    def sparse_cluster_targets(self, targets: LabelMatrix) -> LabelMatrix:
        """Return the same of all training documents, from a sparse matrix (n_documents, n_labels)."""
        cluster_of = self._cluster_of()
        ones = np.ones(self.n_labels, dtype=np.float32)
        cells = (ones, (np.arange(self.n_labels), cluster_of))
        membership = csr_array(cells, shape=(self.n_labels, len(self.clusters)))
        return csr_array((targets @ membership).sign())

    def begin_at_log_odds(self, targets: LabelMatrix) -> None:
        """Let clusters begin at their probability, and labels at theirs within the cluster."""
        cluster_targets = self.sparse_cluster_targets(targets)
        begin_at_log_odds(self.cluster_attention, cluster_targets)
        counts, cluster_counts = (
            np.asarray(matrix.sum(axis=0)).ravel() for matrix in (targets, cluster_targets)
        )
        with torch.no_grad():
            odds = log_odds(counts, cluster_counts[self._cluster_of()])
            self.label_attention.bias.copy_(odds)

    def _cluster_of(self) -> IntArray:
        """Return the cluster of each label, (n_labels,)."""
        table = self.clusters.cpu().numpy()
        clusters, places = np.nonzero(table != NO_LABEL)
        cluster_of = np.empty(self.n_labels, dtype=np.int64)
        cluster_of[table[clusters, places]] = clusters
        return cluster_of

    def losses(
        self,
        states: Tensor,
        lengths: Tensor,
        targets: Tensor,
        of_clusters: LabelLoss,
        of_labels: LabelLoss,
    ) -> Tensor:
        """Return the loss of each document, (n_documents,): of all clusters and of the candidates."""
        cluster_targets = self.cluster_targets(targets)
        cluster_logits = self.cluster_attention(states, lengths)
        n_best = max(self.n_best, int(cluster_targets.sum(dim=1).max()))
        positives_first = cluster_logits.detach().masked_fill(cluster_targets > 0, torch.inf)
        label_ids = self.candidates(positives_first, n_best)[1]
        is_label, label_ids = label_ids != NO_LABEL, label_ids.clamp(min=0)
        logits = self.label_attention(states, lengths, label_ids)  # (n_documents, n_candidates)
        label_losses = of_labels(logits, targets.gather(1, label_ids) * is_label, label_ids)
        cluster_losses = of_clusters(cluster_logits, cluster_targets)
        return cluster_losses.sum(dim=1) + (label_losses * is_label).sum(dim=1)
