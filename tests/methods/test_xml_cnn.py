"""XML-CNN: the order of words and the part of the document count, padding does not."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from piran.data.corpus import Documents
from piran.errors import SettingError
from piran.experiments.settings import build_method
from piran.methods.xml_cnn import XmlCnn, XmlCnnNetwork, dynamic_max_pool
from piran.types import LabelSet

PADDING = 19
FILLERS = ("the", "of", "said", "today", "market", "new", "and", "for")
SMALL: dict[str, Any] = {
    "embedding_dim": 16,
    "n_filters": 12,
    "filter_widths": [1, 2],
    "n_segments": 2,
    "hidden_dim": 24,
    "embedding_dropout": 0.0,
    "dropout": 0.1,
    "learning_rate": 0.01,
    "batch_size": 16,
    "max_epochs": 15,
    "device": "cpu",
    "tail": 1,
}


def placed_documents(n_documents: int, seed: int) -> Documents:
    """One marker in each text; the label says in which half it stands."""
    generator = np.random.default_rng(seed)
    texts: list[str] = []
    label_sets: list[LabelSet] = []
    for _ in range(n_documents):
        words = list(generator.choice(FILLERS, size=generator.integers(8, 20)))
        place = int(generator.integers(len(words)))
        words[place] = "marker"
        texts.append(" ".join(words))
        label_sets.append(("early",) if place < len(words) / 2 else ("late",))
    return Documents(texts, label_sets)


def ordered_documents(n_documents: int, seed: int) -> Documents:
    """Two words in each text, side by side; the label says which comes first."""
    generator = np.random.default_rng(seed)
    texts: list[str] = []
    label_sets: list[LabelSet] = []
    for _ in range(n_documents):
        words = list(generator.choice(FILLERS, size=generator.integers(4, 12)))
        first, second = generator.permutation(["dog", "man"])
        words.insert(int(generator.integers(len(words))), f"{first} {second}")
        texts.append(" ".join(words))
        label_sets.append((f"{first}-first",))
    return Documents(texts, label_sets)


def accuracy(documents: Any, **settings: Any) -> float:
    train, test = documents(300, 0), documents(200, 1)
    method = XmlCnn(**{**SMALL, **settings}).fit(train.texts, train.label_sets)
    predicted = zip(method.predict(test.texts), test.label_sets, strict=True)
    return float(np.mean([found == true for found, true in predicted]))


def test_segments_tell_where_a_word_stands() -> None:
    assert accuracy(placed_documents, n_segments=2) > 0.85
    assert accuracy(placed_documents, n_segments=1) < 0.7


def test_filters_over_several_words_tell_their_order() -> None:
    assert accuracy(ordered_documents, n_segments=1, filter_widths=[2]) > 0.95
    assert accuracy(ordered_documents, n_segments=1, filter_widths=[1]) < 0.7


def test_pooling_divides_each_document_by_its_own_length() -> None:
    responses = torch.tensor([[[1.0, 5, 2, 0, 3, 4]], [[3.0, 1, 2, 99, 99, 99]]])
    pooled = dynamic_max_pool(responses, torch.tensor([6, 3]), n_segments=2)
    # Six words: three and three. Three words: the middle one lies in both halves.
    torch.testing.assert_close(pooled, torch.tensor([[[5.0, 4.0]], [[3.0, 2.0]]]))


def test_a_document_shorter_than_the_segments_has_no_empty_one() -> None:
    pooled = dynamic_max_pool(torch.tensor([[[7.0, 99.0]]]), torch.tensor([1]), n_segments=3)
    torch.testing.assert_close(pooled, torch.full((1, 1, 3), 7.0))


def network(**settings: Any) -> XmlCnnNetwork:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"n_filters": 5, "filter_widths": (2, 3), "n_segments": 3}
    sizes |= {"hidden_dim": 6, "embedding_dropout": 0.0, "dropout": 0.0}
    return XmlCnnNetwork(torch.randn(20, 4), 3, **{**sizes, **settings}).eval()


def padded_documents() -> tuple[Tensor, Tensor]:
    """Documents behind whose last word stands one that has a vector and gradients like any other."""
    lengths = torch.tensor([9, 1, 4, 6])
    token_ids = torch.randint(1, PADDING, (4, 9), generator=torch.Generator().manual_seed(1))
    return token_ids.masked_fill(torch.arange(9) >= lengths[:, None], PADDING), lengths


def test_the_batch_around_a_document_changes_nothing() -> None:
    token_ids, lengths = padded_documents()
    together = network()(token_ids, lengths)
    for row, length in enumerate(lengths):
        alone = network()(token_ids[row : row + 1, :length], length[None])
        torch.testing.assert_close(together[row : row + 1], alone, atol=1e-6, rtol=0)


def test_padding_gets_no_gradient() -> None:
    token_ids, lengths = padded_documents()
    whole = network()
    whole(token_ids, lengths).sum().backward()
    assert whole.embedding.weight.grad is not None
    assert not whole.embedding.weight.grad[PADDING].any()
    assert whole.embedding.weight.grad[:PADDING].any()


def test_pooled_responses_by_hand() -> None:
    whole = network(n_filters=1, filter_widths=(2,), n_segments=1)
    convolution: Any = whole.convolutions[0]
    vectors, weights = whole.embedding.weight, convolution.weight[0]  # (4, 2)
    words = [torch.zeros(4), vectors[3], vectors[7], vectors[5]]
    responses = [
        left @ weights[:, 0] + right @ weights[:, 1] + convolution.bias[0]
        for left, right in pairwise(words)
    ]
    expected = torch.stack(responses).max().relu()
    actual = whole.pooled(torch.tensor([[3, 7, 5]]), torch.tensor([3]))
    torch.testing.assert_close(actual, expected.reshape(1, 1, 1))


def test_labels_read_the_pooled_responses_through_the_bottleneck() -> None:
    whole, (token_ids, lengths) = network(), padded_documents()
    pooled = whole.pooled(token_ids, lengths).flatten(1)  # (4, 2 widths * 5 filters * 3 segments)
    weight, bias = whole.bottleneck.weight, whole.bottleneck.bias
    assert weight.shape == (6, 2 * 5 * 3)
    expected = whole.classifier((pooled @ weight.T + bias).clamp(min=0))
    torch.testing.assert_close(whole(token_ids, lengths), expected)


@pytest.fixture(scope="module")
def fitted() -> XmlCnn:
    train = ordered_documents(60, 0)
    validation = Documents(["dog man", "unheard of"], [("dog-first",), ("unseen",)])
    method = XmlCnn(**{**SMALL, "max_epochs": 2})
    return method.fit(train.texts, train.label_sets, validation=validation)


def test_a_label_without_documents_scores_zero(fitted: XmlCnn) -> None:
    scores = fitted.predict_scores(["dog man", "", "word " * 600])
    unseen = fitted.labels_.names.index("unseen")
    assert (scores[:, unseen] == 0).all()
    assert (np.delete(scores, unseen, axis=1) > 0).all()


def test_a_loaded_method_scores_alike(fitted: XmlCnn, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = XmlCnn.load(tmp_path / "model")
    texts = ordered_documents(20, 5).texts
    np.testing.assert_array_equal(loaded.predict_scores(texts), fitted.predict_scores(texts))
    assert loaded.settings() == fitted.settings()


def test_seeds_decide_the_scores() -> None:
    train = ordered_documents(40, 0)
    scores = [
        XmlCnn(**{**SMALL, "max_epochs": 1}, seed=seed)
        .fit(train.texts, train.label_sets)
        .predict_scores(train.texts)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.allclose(scores[0], scores[2])


def test_it_is_built_by_name_with_its_own_defaults() -> None:
    method = build_method("xml-cnn", {"filter_widths": [3], "loss": "focal"})
    assert isinstance(method, XmlCnn)
    assert (method.filter_widths, method.loss, method.learning_rate) == ([3], "focal", 2e-3)


@pytest.mark.parametrize("setting", [{"filter_widths": []}, {"n_segments": 0}, {"n_filters": 0}])
def test_sizes_below_one_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=next(iter(setting))):
        XmlCnn(**{**SMALL, **setting}).fit(["a b", "c d", "e f"], [["x"], ["y"], ["x"]])
