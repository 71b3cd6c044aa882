"""The paper's network, held to torch's own LSTM and to numbers worked out by hand."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from piran.encoders.networks import (
    BiLstm,
    ExtractorClassifier,
    MultiHeadAttention,
    SemanticExtractor,
    begin_at_log_odds,
)

INPUT_DIM, HIDDEN_DIM = 7, 5
LENGTHS = torch.tensor([9, 1, 4, 6])


@pytest.fixture
def bilstm() -> BiLstm:
    torch.manual_seed(0)
    return BiLstm(INPUT_DIM, HIDDEN_DIM)


@pytest.fixture
def words() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(int(LENGTHS.max()), len(LENGTHS), INPUT_DIM, generator=generator)


def packed_lstm(ours: BiLstm) -> nn.LSTM:
    """torch's bidirectional LSTM with the same weights."""
    lstm = nn.LSTM(INPUT_DIM, HIDDEN_DIM, bidirectional=True)
    weights = dict(ours.forward_lstm.state_dict())
    backward = ours.backward_lstm.state_dict()
    weights.update({f"{name}_reverse": weight for name, weight in backward.items()})
    lstm.load_state_dict(weights)
    return lstm


def run_packed(lstm: nn.LSTM, words: Tensor) -> Tensor:
    packed = pack_padded_sequence(words, LENGTHS, enforce_sorted=False)
    return pad_packed_sequence(lstm(packed)[0])[0]


def test_the_bilstm_equals_torchs_packed_one(bilstm: BiLstm, words: Tensor) -> None:
    expected = run_packed(packed_lstm(bilstm), words)
    torch.testing.assert_close(bilstm(words, LENGTHS), expected, atol=1e-5, rtol=0)


def test_its_gradients_equal_those_of_the_packed_one(bilstm: BiLstm, words: Tensor) -> None:
    theirs = packed_lstm(bilstm)
    ours_in, theirs_in = (words.clone().requires_grad_() for _ in range(2))
    slope = torch.randn(9, 4, 2 * HIDDEN_DIM, generator=torch.Generator().manual_seed(2))
    (bilstm(ours_in, LENGTHS) * slope).sum().backward()
    (run_packed(theirs, theirs_in) * slope).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(ours_in.grad, theirs_in.grad, atol=1e-5, rtol=0)
    expected = {name: weight.grad for name, weight in theirs.named_parameters()}
    for name, weight in bilstm.forward_lstm.named_parameters():
        torch.testing.assert_close(weight.grad, expected[name], atol=1e-5, rtol=0)
    for name, weight in bilstm.backward_lstm.named_parameters():
        torch.testing.assert_close(weight.grad, expected[f"{name}_reverse"], atol=1e-5, rtol=0)


def test_padded_positions_are_zero_and_get_no_gradient(bilstm: BiLstm, words: Tensor) -> None:
    words.requires_grad_()
    states = bilstm(words, LENGTHS)
    states.sum().backward()
    assert words.grad is not None
    for column, length in enumerate(LENGTHS):
        assert not states[length:, column].any()
        assert not words.grad[length:, column].any()


def test_attention_follows_equation_3() -> None:
    attention = MultiHeadAttention(2, 3, 2)
    states = torch.randn(4, 1, 2, generator=torch.Generator().manual_seed(3))
    H = states[:3, 0].T  # (2, 3): the fourth position is padding
    A = torch.softmax(attention.W2.weight @ torch.tanh(attention.W1.weight @ H), dim=1)
    torch.testing.assert_close(attention(states, torch.tensor([3]))[0], A @ H.T)


def test_attention_sums_to_one_over_words_and_ignores_padding() -> None:
    attention = MultiHeadAttention(6, 3, 2)
    weights = attention.weights(torch.randn(9, 4, 6), LENGTHS)
    assert weights.shape == (4, 2, 9)
    torch.testing.assert_close(weights.sum(2), torch.ones(4, 2))
    for row, length in enumerate(LENGTHS):
        assert not weights[row, :, length:].any()


def small_extractor(dropout: float = 0.0) -> SemanticExtractor:
    torch.manual_seed(4)
    return SemanticExtractor(
        torch.randn(20, INPUT_DIM),
        hidden_dim=HIDDEN_DIM,
        attention_dim=3,
        n_heads=2,
        instance_dim=6,
        dropout=dropout,
    )


def test_an_instance_does_not_depend_on_the_batch_around_it() -> None:
    extractor = small_extractor()
    token_ids = torch.randint(1, 20, (4, 9), generator=torch.Generator().manual_seed(5))
    padding = torch.arange(9) >= LENGTHS[:, None]
    together = extractor(token_ids.masked_fill(padding, 0), LENGTHS)
    for row, length in enumerate(LENGTHS):
        alone = extractor(token_ids[row : row + 1, :length], length[None])
        torch.testing.assert_close(together[row : row + 1], alone, atol=1e-5, rtol=0)


def test_dropout_falls_on_the_words_in_training_only() -> None:
    extractor, token_ids = small_extractor(dropout=0.5), torch.full((2, 5), 3)
    lengths = torch.tensor([5, 5])
    assert not extractor(token_ids, lengths)[0].equal(extractor(token_ids, lengths)[1])
    extractor.eval()
    torch.testing.assert_close(*extractor(token_ids, lengths))


def test_a_bias_begins_at_the_log_odds_of_its_label() -> None:
    targets = csr_array(np.array([[1, 0, 1]] * 3 + [[0, 0, 1]], dtype=np.float32))
    layer = nn.Linear(6, 3)
    begin_at_log_odds(layer, targets)
    np.testing.assert_allclose(
        layer.bias.detach(), np.log([3.5 / 1.5, 0.5 / 4.5, 4.5 / 0.5]), rtol=1e-6
    )


@pytest.mark.parametrize("has_bias", [True, False])
def test_the_rows_give_the_logits_of_the_network(has_bias: bool) -> None:
    extractor = small_extractor()
    network = ExtractorClassifier(extractor, nn.Linear(6, 3, bias=has_bias))
    token_ids, lengths = torch.tensor([[2, 3, 4]]), torch.tensor([3])
    instances = extractor(token_ids, lengths).detach().numpy()
    logits = network(token_ids, lengths).detach().numpy()
    np.testing.assert_allclose(network.rows().logits(instances), logits, atol=1e-6)
    assert network.rows().bias.any() == has_bias
