"""Freed memory is kept for the next array, unless the user has said otherwise."""

import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource
import numpy as np
from piran.allocator import keep_freed_memory

keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
np.ones(4_000_000)
before = faults()
for _ in range(20):
    np.ones(4_000_000)
print(faults() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is glibc's")
def test_an_array_after_another_takes_the_memory_that_is_there() -> None:
    pages_of_an_array = 4_000_000 * 8 // 4096
    assert _faults({}) < pages_of_an_array
    left_to_the_user = {"MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_MMAP_THRESHOLD_": "65536"}
    assert _faults(left_to_the_user) > 10 * pages_of_an_array / 2  # large pages count once


def _faults(environment: dict[str, str]) -> int:
    done = subprocess.run(
        [sys.executable, "-c", COUNT_FAULTS],
        env={"NUMPY_MADVISE_HUGEPAGE": "0", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)
