"""The paper's own numbers: its six tables, to print beside ours and never to fit to.

Tables 2 to 4 are Tables ``font-table1`` to ``font-table3`` of the text; its F1-score is the micro-F1
at 0.5, as its tables allow no other reading.
"""

from dataclasses import dataclass

DATASETS = {"aapd": "AAPD", "rcv1": "RCV1", "eurlex": "EUR-Lex"}
"""Our names of the paper's datasets; no other dataset is one of them, however alike its name."""
COLUMNS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "micro_f1_at_0.5")
"""Metrics of Tables 2 to 4."""
TAIL_METRIC = "tail_f1_at_0.5"
"""The metric of Table 6."""

STATISTICS: dict[str, tuple[float, ...]] = {
    "rcv1": (23_149, 781_265, 47_236, 103, 3.18, 729.67, 259.47, 269.23),
    "aapd": (54_840, 1_000, 69_399, 54, 2.41, 2444.04, 163.42, 171.65),
    "eurlex": (13_905, 3_865, 33_246, 3_714, 5.32, 19.93, 1217.47, 1242.13),
}
"""Table 1: N, M, D, L, L̄, L̃, W̄, W̃."""

COMPARISON: dict[str, dict[str, tuple[float, ...]]] = {
    "aapd": {
        "dxml": (80.54, 56.30, 39.16, 77.23, 80.99, 65.13),
        "xml-cnn": (76.25, 54.34, 37.84, 72.01, 76.40, 65.52),
        "attention-xml": (83.02, 58.72, 40.56, 78.01, 82.32, 68.79),
        "oltr": (78.96, 56.28, 38.60, 74.66, 78.58, 62.48),
        "leap": (82.23, 60.00, 40.95, 79.36, 83.21, 68.09),
        "ltmcp": (78.51, 56.02, 38.46, 75.19, 76.05, 63.59),
        "httn": (82.79, 58.69, 40.18, 77.15, 81.32, 68.47),
        "piran": (83.94, 60.61, 41.65, 79.57, 83.74, 69.81),
    },
    "rcv1": {
        "dxml": (94.04, 78.65, 54.38, 89.83, 90.21, 75.76),
        "xml-cnn": (95.75, 78.63, 54.94, 89.89, 90.77, 75.92),
        "attention-xml": (95.62, 78.72, 54.22, 90.21, 90.59, 77.95),
        "oltr": (93.79, 61.36, 44.78, 74.37, 77.05, 56.44),
        "leap": (95.64, 78.84, 54.90, 89.97, 90.74, 79.52),
        "ltmcp": (90.76, 73.26, 51.62, 84.31, 85.12, 74.28),
        "httn": (94.00, 75.79, 53.87, 86.90, 87.65, 76.27),
        "piran": (95.87, 79.21, 54.76, 90.40, 91.09, 79.84),
    },
    "eurlex": {
        "dxml": (80.41, 66.74, 56.33, 70.03, 63.18, 53.28),
        "xml-cnn": (78.20, 65.93, 53.81, 68.41, 60.54, 51.98),
        "attention-xml": (78.36, 66.01, 53.97, 68.74, 63.29, 52.75),
        "oltr": (65.62, 52.34, 42.69, 55.73, 50.57, 22.64),
        "leap": (80.02, 64.09, 51.73, 68.16, 61.57, 47.64),
        "ltmcp": (75.23, 60.12, 49.36, 64.89, 58.23, 48.10),
        "httn": (79.58, 65.28, 54.92, 68.46, 63.71, 53.34),
        "piran": (80.56, 67.37, 56.47, 70.99, 65.21, 54.68),
    },
}
"""Tables 2 to 4: the metrics of :data:`COLUMNS`, by dataset and method."""


@dataclass(frozen=True)
class PaperComparison:
    """The runs of Table 5 on one dataset."""

    baseline: str
    """The strongest one."""
    baseline_runs: tuple[float, ...]
    piran_runs: tuple[float, ...]
    p_value: str
    """As printed."""


SIGNIFICANCE = {
    "aapd": PaperComparison(
        "attention-xml",
        (68.77, 68.85, 68.91, 68.56, 68.86),
        (69.32, 69.89, 70.17, 69.69, 69.98),
        "0.00019",
    ),
    "rcv1": PaperComparison(
        "leap",
        (79.48, 79.64, 79.55, 79.44, 79.49),
        (79.75, 79.93, 79.88, 79.73, 79.91),
        "0.00037",
    ),
    "eurlex": PaperComparison(
        "httn",
        (53.56, 53.78, 53.21, 53.29, 52.86),
        (54.79, 54.87, 54.36, 54.45, 54.93),
        "0.00013",
    ),
}
"""Table 5."""

TAIL: dict[str, dict[str, float]] = {
    "aapd": {"attention-xml": 13.23, "leap": 16.19, "httn": 23.26, "piran": 25.90},
    "rcv1": {"attention-xml": 12.30, "leap": 10.17, "httn": 16.23, "piran": 18.78},
    "eurlex": {"attention-xml": 1.09, "leap": 0.06, "httn": 1.30, "piran": 1.96},
}
"""Table 6: mean F1 over the tail labels."""


def paper_score(dataset: str, method: str, metric: str) -> float | None:
    """Return the paper's figure, None where it has none.

    >>> paper_score("aapd", "piran", "P@1"), paper_score("reuters90", "piran", "P@1")
    (83.94, None)
    """
    if metric == TAIL_METRIC:
        return TAIL.get(dataset, {}).get(method)
    row = COMPARISON.get(dataset, {}).get(method)
    if row is None or metric not in COLUMNS:
        return None
    return row[COLUMNS.index(metric)]
