"""Sensitivity (Sections 4.6 and 4.7): the paper's ranges scaled to the data, and points of sweeps."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

from piran.errors import SettingError
from piran.experiments.config import SCALED, Values

N_HEAD_LABELS = "n_head_labels"
"""The paper's l_head; the method's setting is ``tail``, the rest of the labels."""
MAX_PROTOTYPE_DOCUMENTS = 5
N_STEPS = 6

Point = dict[str, Any]
Statistics = Mapping[str, Any]
"""What :meth:`piran.data.statistics.CorpusStatistics.to_json` gives."""


def sweep_points(vary: Mapping[str, Values], statistics: Statistics) -> list[Point]:
    """Return every combination of the values, the last setting varying fastest."""
    values = [
        scaled_values(setting, statistics) if given == SCALED else list(given)
        for setting, given in vary.items()
    ]
    return [dict(zip(vary, point, strict=True)) for point in itertools.product(*values)]


def point_settings(point: Point, statistics: Statistics) -> dict[str, Any]:
    """Return the method's settings at a point."""
    settings = dict(point)
    if N_HEAD_LABELS in settings:
        n_head = settings.pop(N_HEAD_LABELS)
        n_seen = n_seen_labels(statistics)
        if not 0 < n_head < n_seen:
            raise SettingError(
                f"{N_HEAD_LABELS} must lie between 1 and {n_seen - 1} (one less than the labels with a "
                f"training document), got {n_head}."
            )
        settings["tail"] = n_seen - n_head
    return settings


def scaled_values(setting: str, statistics: Statistics) -> list[Any]:
    """Return the paper's range of a setting for data of this size.

    >>> scaled_values("n_head_labels", {"n_labels": 54, "n_labels_without_train_documents": 0})
    [12, 18, 24, 30, 36, 42]
    """
    if setting == "n_generated":
        return _generation_range(statistics["documents_per_label"])
    if setting == N_HEAD_LABELS:
        # 12 to 42 of AAPD's 54 labels
        n_seen = n_seen_labels(statistics)
        return sorted({round(n_seen * (step + 2) / 9) for step in range(N_STEPS)} - {0, n_seen})
    if setting == "n_prototype_documents":
        return list(range(1, MAX_PROTOTYPE_DOCUMENTS + 1))
    raise SettingError(
        f"{setting!r} has no range of the paper to scale; give a list of values in place of {SCALED!r}. "
        f"Ranges are known for n_generated, {N_HEAD_LABELS} and n_prototype_documents."
    )


def n_seen_labels(statistics: Statistics) -> int:
    """Return the number of labels with a training document."""
    return int(statistics["n_labels"] - statistics["n_labels_without_train_documents"])


def _generation_range(documents_per_label: float) -> list[int]:
    """Return six equal steps, about from an eighth to six eighths of the documents of a label.

    So lie 300–1800 on AAPD (2,444 documents a label) and, nearly, 120–720 on RCV1 (730). Steps are one
    digit and zeros, and never below 10, the paper's smallest.
    """
    step = max(documents_per_label / 8, 10.0)
    magnitude = 10 ** math.floor(math.log10(step))
    step = round(step / magnitude) * magnitude
    return [step * number for number in range(1, N_STEPS + 1)]
