"""Peak memory of a process and of its parts."""

import sys

import numpy as np
import pytest

from piran.experiments.memory import forget_peak, peak_memory_mb


def test_the_peak_grows_with_what_is_held() -> None:
    forget_peak()
    before = peak_memory_mb()
    block = np.ones(60_000_000)  # 458 MB, written to
    assert peak_memory_mb() > before + 100
    assert block[0] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget a peak")
def test_a_forgotten_peak_does_not_count() -> None:
    block = np.ones(30_000_000)
    high = peak_memory_mb()
    del block
    forget_peak()
    assert peak_memory_mb() < high - 100
