"""Settings for all tests."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Before torch loads: threads that spin while they wait slow each other down
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ["PIRAN_CACHE"] = ""  # nothing is to be left among the user's own files
sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import small_corpus

# A busy machine fails no test, and a test that passed once passes again; to look for counterexamples
# among other numbers: pytest --hypothesis-profile=search
settings.register_profile(
    "same-every-time",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", settings.get_profile("same-every-time"), derandomize=False)
settings.load_profile("same-every-time")
