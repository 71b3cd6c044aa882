"""Draw the README's picture, F1 by label frequency, from a record.

python scripts/draw_readme_figure.py
"""

from pathlib import Path

import matplotlib

from piran.experiments.names import display_name
from piran.experiments.records import RunRecord
from piran.plots.f1_by_frequency import FrequencyBin, draw_f1_by_frequency, f1_by_frequency_data
from piran.plots.style import new_figure

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "results" / "encoders" / "debtags" / "piran-tfidf" / "seed-0"
PICTURE = ROOT / "docs" / "images" / "f1-by-frequency.svg"


def main() -> None:
    """Draw No-Aug, the control *duplicate* and PIRAN, all at the cut-off 0.5."""
    record = RunRecord.read(RECORD)
    rows = f1_by_frequency_data(record, ["no-aug", "duplicate", "piran"], at_half=True)
    named = [
        FrequencyBin(
            row.first,
            row.last,
            row.n_labels,
            {display_name(name): f1 for name, f1 in row.f1.items()},
        )
        for row in rows
    ]
    figure = new_figure((7.0, 3.6))
    axes = draw_f1_by_frequency(named, figure.add_subplot())
    axes.set_xlabel("mean F1 at 0.5, %  (debtags, test documents)")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": PICTURE.name}):  # the same record, the same bytes
        figure.savefig(PICTURE, facecolor="white", metadata={"Date": None})


if __name__ == "__main__":
    main()
