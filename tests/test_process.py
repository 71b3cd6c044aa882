"""Freed memory is kept, and numpy works in one thread, unless the user has said otherwise."""

import os
import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource
import numpy as np
from piran.process import keep_freed_memory

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
    return int(_printed(COUNT_FAULTS, {"NUMPY_MADVISE_HUGEPAGE": "0", **environment}))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is glibc's")
def test_memory_that_was_kept_can_be_given_back() -> None:
    program = """
import numpy
from piran.experiments.memory import forget_peak, peak_memory_mb
from piran.process import keep_freed_memory

keep_freed_memory()
arrays = [numpy.ones(10_000_000) for _ in range(4)]  # 76 MB each
del arrays
high = peak_memory_mb()
forget_peak()
print(int(high - peak_memory_mb()))
"""
    assert int(_printed(program, {})) > 250  # of 305 MB


@pytest.mark.parametrize(
    ("environment", "is_calm"), [({}, True), ({"OMP_NUM_THREADS": "2"}, False)]
)
def test_numpy_works_in_one_thread(environment: dict[str, str], is_calm: bool) -> None:
    program = """
import numpy
from threadpoolctl import threadpool_info
from piran.process import calm_numpy

calm_numpy()
import scipy.linalg
print(max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"))
"""
    expected = 1 if is_calm else min(2, os.cpu_count() or 1)
    assert int(_printed(program, environment)) == expected


def _printed(program: str, environment: dict[str, str]) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
