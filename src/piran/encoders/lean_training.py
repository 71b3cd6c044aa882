"""Fine-tuning a transformer on a CPU in less time: the same steps, with less work around the products.

Much of a step on a CPU is no matrix product: random numbers for dropout, and back and forth between
float32 and bfloat16. What is done here rounds more often and drops other numbers; nothing else differs.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from piran.training.runtime import Precision

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_LEAST, _BYTES = -(2**63), 8
_VALUES_OF_A_BYTE = 256


@contextmanager
def lean_training(transformer: "PreTrainedModel", precision: Precision) -> Iterator[None]:
    """Train a transformer that is on a CPU leanly inside the block; elsewhere this does nothing."""
    with ExitStack() as block:
        if transformer.device.type == "cpu":
            block.enter_context(_attention_in_plain_products(transformer))
            block.enter_context(_dropout_by_bytes(transformer))
            if precision == "bfloat16":
                block.enter_context(_bfloat16_throughout(transformer))
        yield


@contextmanager
def _attention_in_plain_products(transformer: "PreTrainedModel") -> Iterator[None]:
    """Do without the fused kernels, which are faster forwards, and several times slower backwards."""
    before = transformer.config._attn_implementation
    transformer.set_attn_implementation("eager")
    try:
        yield
    finally:
        transformer.set_attn_implementation(before)


@contextmanager
def _dropout_by_bytes(transformer: nn.Module) -> Iterator[None]:
    """Let every dropout layer draw eight numbers where torch's own draws one."""
    places = [
        (parent, name, layer)
        for parent in transformer.modules()
        for name, layer in parent.named_children()
        if type(layer) is nn.Dropout
    ]
    for parent, name, layer in places:
        setattr(parent, name, ByteDropout(layer.p).train(layer.training))
    try:
        yield
    finally:
        for parent, name, layer in places:
            setattr(parent, name, layer.train(parent.training))


@contextmanager
def _bfloat16_throughout(transformer: "PreTrainedModel") -> Iterator[None]:
    """Add up the layers of a text in bfloat16 too, not only what they multiply.

    Otherwise every sum is one of float32 and bfloat16, and every product begins with a copy.
    """
    embeddings = getattr(transformer, "embeddings", None)
    if not isinstance(embeddings, nn.Module):  # a transformer that calls them otherwise: as it is
        yield
        return
    hook = embeddings.register_forward_hook(_rounded_in_training)
    try:
        yield
    finally:
        hook.remove()


def _rounded_in_training(embeddings: nn.Module, _: object, output: object) -> object:
    if not embeddings.training or not isinstance(output, Tensor):
        return output
    return output.to(torch.bfloat16)


class ByteDropout(nn.Dropout):
    """Dropout of a share p, rounded to a 256th, a random byte for each number.

    What stays is scaled by what the rounded share leaves, so that the mean stays.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop numbers of a tensor of any shape, while training."""
        # Of the values of a byte, those that drop a number
        n_dropped = min(round(_VALUES_OF_A_BYTE * self.p), _VALUES_OF_A_BYTE - 1)
        if not self.training or not n_dropped:
            return input
        words = torch.empty(-(-input.numel() // _BYTES), dtype=torch.int64).random_(_LEAST, None)
        is_kept = words.view(torch.uint8)[: input.numel()] >= n_dropped
        scale = _VALUES_OF_A_BYTE / (_VALUES_OF_A_BYTE - n_dropped)
        return input * is_kept.to(input.dtype).mul_(scale).view(input.shape)
