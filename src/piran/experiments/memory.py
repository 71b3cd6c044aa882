"""The most memory a process has held, and the same since a moment of one's choice."""

import resource
import sys
from pathlib import Path

from piran.process import give_back_memory

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_PEAK = "VmHWM:"


def peak_memory_mb() -> float:
    """Return the most memory this process has held, since :func:`forget_peak` where that works.

    On Linux it is read from /proc: what ``getrusage`` says may be the peak of the parent process.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith(_PEAK):
                return round(int(line.split()[1]) / 1024, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 1024), 1)


def forget_peak() -> None:
    """Start counting anew, so that a process can tell the peaks of its tasks apart; Linux only."""
    give_back_memory()
    try:
        _CLEAR.write_text("5")
    except OSError:
        return  # elsewhere the peak is that of the whole process
