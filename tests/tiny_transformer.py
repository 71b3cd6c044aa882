"""A random BERT of a few numbers, written as Hugging Face models are."""

from pathlib import Path

import pytest

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "apple", "pear", "pie", "tree")


def write_tiny_transformer(
    folder: Path, *, seed: int = 0, hidden_dim: int = 8, dropout: float = 0.1
) -> Path:
    """Write model and tokenizer into a folder; skips the test where transformers is missing."""
    pytest.importorskip("transformers", reason="the extra [transformers] is not installed")
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=hidden_dim,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        initializer_range=0.5,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(folder)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS), encoding="utf-8")
    tokenizer = BertTokenizerFast(
        vocab={word: number for number, word in enumerate(WORDS)}, model_max_length=64
    )
    tokenizer.save_pretrained(folder)
    return folder
