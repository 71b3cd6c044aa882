"""PECOS: XR-Linear, a tree of linear SVMs over clusters of labels."""

from typing import Any

from contract import TRAIN, Peer, Task
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy.sparse import csc_matrix, csr_matrix

Given = tuple[csr_matrix, csc_matrix]


def prepare(task: Task) -> Given:
    """Return vectors and labels, the latter by column."""
    vectors = task.vectors(TRAIN)
    vectors.sort_indices()
    return vectors, csc_matrix(task.targets())


def train(task: Task, given: Given) -> Any:  # noqa: ANN401
    """Cluster the labels by the vectors of their documents and fit the tree."""
    vectors, targets = given
    settings = {key: value for key, value in task.settings.items() if key != "post_processor"}
    embeddings = LabelEmbeddingFactory.create(targets, vectors, method="pifa")
    chain = Indexer.gen(embeddings, seed=task.seed, threads=task.threads)
    return XLinearModel.train(vectors, targets, C=chain, threads=task.threads, **settings)


def score(task: Task, model: Any, part: str) -> Any:  # noqa: ANN401
    """Return the best labels' scores, products along the path in (0, 1]."""
    vectors = task.vectors(part)
    vectors.sort_indices()
    return model.predict(
        vectors,
        only_topk=task.top_k,
        beam_size=task.beam_size,
        post_processor=task.settings["post_processor"],
        threads=task.threads,
    )


if __name__ == "__main__":
    Peer(prepare, train, score, "probability", ("libpecos", "scikit-learn")).main()
