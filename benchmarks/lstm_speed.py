"""Training speed of our BiLSTM against torch's packed one: tokens per CPU-second, in one run.

The backward pass of ``nn.LSTM`` over packed sequences takes time quadratic in the length on a CPU;
ours is linear (see piran.encoders.networks). Ratios compare between machines, speeds do not. The
first step is a warm-up and does not count; at length 400 the packed one was seen to be 3 times as
fast in it as in all later ones.

    python benchmarks/lstm_speed.py --json
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from piran.encoders.networks import BiLstm
from piran.training.runtime import seeded_generator, set_threads

INPUT_DIM, HIDDEN_DIM, BATCH_SIZE = 300, 150, 64
LENGTHS = (100, 200, 400)


class Speed(NamedTuple):
    """Tokens per CPU-second of both, at one length."""

    length: int
    packed: float
    ours: float
    ratio: float


class PackedBiLstm(nn.Module):
    """The usual way: ``nn.LSTM`` in both directions over packed sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(INPUT_DIM, HIDDEN_DIM, bidirectional=True)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Map (length, n_documents, input_dim) to (length, n_documents, 2 hidden_dim)."""
        packed = pack_padded_sequence(words, lengths, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0])[0]


def cpu_seconds(function: Callable[[], None], n_rounds: int) -> float:
    """Return the least CPU time of some rounds, after one that does not count."""
    function()
    times = []
    for _ in range(n_rounds):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def tokens_per_second(network: nn.Module, length: int, n_rounds: int) -> float:
    """Measure forward and backward passes over documents of 80 to 100 % of ``length`` words."""
    generator = seeded_generator(0)
    lengths = torch.randint(length * 4 // 5, length + 1, (BATCH_SIZE,), generator=generator)
    lengths[0] = length
    words = torch.randn(length, BATCH_SIZE, INPUT_DIM, generator=generator, requires_grad=True)

    def step() -> None:
        network(words, lengths).sum().backward()

    return int(lengths.sum()) / cpu_seconds(step, n_rounds)


def measure(length: int, n_rounds: int) -> Speed:
    """Measure both at one length."""
    packed = tokens_per_second(PackedBiLstm(), length, n_rounds)
    ours = tokens_per_second(BiLstm(INPUT_DIM, HIDDEN_DIM), length, n_rounds)
    return Speed(length, packed, ours, ours / packed)


def main() -> None:
    """Print a line for each length."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=1, help="steps of each; the fastest counts")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    set_threads(arguments.threads)
    speeds = [measure(length, arguments.rounds) for length in LENGTHS]
    if arguments.json:
        rows = [speed._asdict() for speed in speeds]
        print(
            json.dumps(
                {"unit": "tokens per CPU-second", "threads": arguments.threads, "speeds": rows}
            )
        )
        return
    print("length  packed    ours  ratio   (tokens per CPU-second, training)")
    for speed in speeds:
        print(f"{speed.length:6d} {speed.packed:7.0f} {speed.ours:7.0f} {speed.ratio:6.1f}")


if __name__ == "__main__":
    main()
