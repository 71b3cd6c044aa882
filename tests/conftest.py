"""Settings for all tests."""

import os
import sys
from pathlib import Path

# Before torch loads: threads that spin while they wait slow each other down
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ["PIRAN_CACHE"] = ""  # nothing is to be left among the user's own files
sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import small_corpus
