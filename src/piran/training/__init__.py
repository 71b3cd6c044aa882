"""Training: the loop, and where threads, device, precision and seed are decided.

Only what loads without torch is re-exported; the loop is imported from :mod:`piran.training.loop`.
"""

from piran.training.runtime import (
    choose_device,
    choose_precision,
    prepare_environment,
    seeded,
    seeded_generator,
    set_threads,
)

__all__ = [
    "choose_device",
    "choose_precision",
    "prepare_environment",
    "seeded",
    "seeded_generator",
    "set_threads",
]
