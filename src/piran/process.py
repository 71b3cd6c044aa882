"""What a program sets for its own process, to be fast on cores that it shares with others."""

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt in glibc."""
_LARGE = 128 << 20
"""Bytes from which on an array is returned at once: kept, they leave holes that few others fit into."""
_KEPT = 512 << 20


def keep_freed_memory() -> None:
    """Let this process keep up to 512 MB of freed memory for what it allocates next.

    By default glibc returns every large array to the system and gets it back page by page, filled with
    zeros: a tenth of the time of training a network on a CPU. Elsewhere than on glibc, and where the
    user has set MALLOC_… variables, nothing is done.
    """
    is_chosen = any(name.startswith("MALLOC_") for name in os.environ)
    if is_chosen or not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE)
        mallopt(_M_TRIM_THRESHOLD, _KEPT)


def give_back_memory() -> None:
    """Return what :func:`keep_freed_memory` kept, so that it is not counted as memory in use."""
    if not sys.platform.startswith("linux"):
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def calm_numpy() -> None:
    """Let what lies under numpy and scipy work in one thread, unless the user has said otherwise.

    Its threads wait for each other in a busy loop, also for the small matrices of stage 2: on two busy
    cores training took three times as long with them. The large matrices are torch's, whose threads
    sleep while they wait.
    """
    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
    if any(name in os.environ for name in names):
        return
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for libraries that load later, and child processes
    threadpool_limits(limits=1, user_api="blas")
