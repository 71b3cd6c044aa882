"""Threads, device, precision and seed: the one place that decides them.

The module loads without torch, so that a program can call :func:`prepare_environment` first: OpenMP
reads its settings only once, when torch loads. On shared cores two threads that wait for work in a
busy loop are slower than one; with ``OMP_WAIT_POLICY=PASSIVE`` they sleep instead (4 times faster
where it was measured). The command line calls it; a Python user sets the variable or calls it
before the first import of torch.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Literal

from piran.errors import SettingError

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("auto", "float32", "bfloat16")

Precision = Literal["float32", "bfloat16"]
"""What a network multiplies its matrices in; its weights and its output are float32 either way."""


def prepare_environment() -> None:
    """Set what OpenMP reads when torch loads; a value that the user has set stays."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def set_threads(n_threads: int | None) -> None:
    """Use this many threads in torch and in what lies under numpy; None leaves them as is."""
    if n_threads is None:
        return
    if n_threads < 1:
        raise SettingError(f"threads must be at least 1, got {n_threads}.")
    import torch
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(limits=n_threads)
    torch.set_num_threads(n_threads)


def choose_device(name: str = "auto") -> "torch.device":
    """Return the device of that name; ``auto`` is a GPU where there is one, otherwise the CPU."""
    import torch

    if name not in DEVICES:
        raise SettingError(f"device must be one of {', '.join(DEVICES)}, got {name!r}.")
    has_cuda = torch.cuda.is_available()
    if name == "cuda" and not has_cuda:
        raise SettingError("device is 'cuda', but torch finds no GPU; use 'cpu' or 'auto'.")
    return torch.device("cuda" if has_cuda and name != "cpu" else "cpu")


def choose_precision(name: str, device: "torch.device") -> Precision:
    """Return the precision of that name; ``auto`` is bfloat16 where the device computes in it natively.

    On other processors bfloat16 is emulated, and slower than float32.
    """
    if name not in PRECISIONS:
        raise SettingError(f"precision must be one of {', '.join(PRECISIONS)}, got {name!r}.")
    is_rounded = name == "bfloat16" or (name == "auto" and has_native_bfloat16(device))
    return "bfloat16" if is_rounded else "float32"


def has_native_bfloat16(device: "torch.device") -> bool:
    """Tell whether the device multiplies bfloat16 in hardware, and torch makes use of that."""
    import torch

    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    has_onednn = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if device.type != "cpu" or not has_onednn:
        return False
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


def computing_in(precision: Precision, device: "torch.device") -> AbstractContextManager[object]:
    """Return a block inside which networks multiply matrices in this precision."""
    if precision == "float32":
        return nullcontext()
    import torch

    return torch.autocast(device.type, dtype=torch.bfloat16)


def seeded_generator(seed: int) -> "torch.Generator":
    """Return a random generator of its own, on the CPU; the same seed gives the same numbers."""
    import torch

    return torch.Generator().manual_seed(seed)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global random numbers inside the block, and put them back as they were after it.

    For what takes no generator: the initial weights of layers, and dropout.
    """
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
