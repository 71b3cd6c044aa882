"""How memory is given back: not at once, as a network asks for as much again a moment later."""

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt in glibc."""
_BYTES = 1 << 30


def keep_freed_memory() -> None:
    """Let this process keep up to 1 GB of freed memory for what it allocates next.

    By default glibc returns every large array to the system and gets it back page by page, filled with
    zeros: a tenth of the time of training a network on a CPU. Elsewhere than on glibc, and where the
    user has set MALLOC_… variables, nothing is done.
    """
    if not sys.platform.startswith("linux") or any(
        name.startswith("MALLOC_") for name in os.environ
    ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _BYTES)
        mallopt(_M_TRIM_THRESHOLD, _BYTES)
