"""Time of a step of fine-tuning on a CPU: lean, as it is done, relative to the transformer as it is.

Both take the same batches of the embedded debtags corpus, by turns. The transformer as it is already
computes attention in plain products, so that the ratio shows what dropout by bytes and layers added up in
bfloat16 save. Ratios compare between machines, seconds do not.

    python benchmarks/finetuning_speed.py               # prints, and writes benchmarks/results/
"""

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from piran import load_corpus
from piran.data.batches import shuffled_batches
from piran.encoders.lean_training import lean_training
from piran.encoders.pretrained import DEFAULT_MODEL, find_pretrained, load_pretrained
from piran.training.runtime import choose_device, choose_precision, seeded_generator, set_threads

if TYPE_CHECKING:
    from transformers import PreTrainedModel

N_DOCUMENTS = 1500
MAX_TOKENS = 192
RESULT = Path(__file__).parent / "results" / "finetuning_speed.json"


@contextmanager
def plain_training(transformer: "PreTrainedModel") -> Iterator[None]:
    """Attention in plain products, and nothing else."""
    before = transformer.config._attn_implementation
    transformer.set_attn_implementation("eager")
    yield
    transformer.set_attn_implementation(before)


def measure(n_steps: int) -> dict[str, Any]:
    """Train both ways and return ratio and seconds of a step, the first of each left out."""
    precision = choose_precision("auto", choose_device("cpu"))
    found = find_pretrained(DEFAULT_MODEL)
    pooled, word_pieces = load_pretrained(found, MAX_TOKENS, precision, attention_dropout=0.0)
    optimizer = torch.optim.AdamW(pooled.train().parameters(), lr=1e-5, fused=True)
    token_ids = word_pieces.encode(load_corpus("debtags").train.texts[:N_DOCUMENTS])
    batches = list(shuffled_batches(token_ids, batch_size=32, generator=seeded_generator(0)))
    seconds: dict[str, list[float]] = {"plain": [], "lean": []}
    for batch in batches[:n_steps]:
        blocks: dict[str, AbstractContextManager[None]] = {
            "plain": plain_training(pooled.transformer),
            "lean": lean_training(pooled.transformer, precision),
        }
        for name, block in blocks.items():
            start = time.process_time()
            with block:
                optimizer.zero_grad()
                pooled(batch.token_ids, batch.lengths).sum().backward()
                nn.utils.clip_grad_norm_(pooled.parameters(), 1.0)
                optimizer.step()
            seconds[name].append(time.process_time() - start)
    step = {name: float(np.mean(of[1:])) for name, of in seconds.items()}
    return {
        "cpu_ratio": round(step["lean"] / step["plain"], 3),
        "lean_cpu_seconds": round(step["lean"], 3),
        "plain_cpu_seconds": round(step["plain"], 3),
        "precision": precision,
        "n_steps": n_steps,
    }


def main() -> None:
    """Measure, print and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    set_threads(arguments.threads)
    result = {**measure(arguments.steps), "threads": arguments.threads}
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
