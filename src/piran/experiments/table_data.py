"""A table as data: numbers with their spread, the best marked, the paper's beside them, and notes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from piran.experiments.names import display_name
from piran.experiments.results import Mean, SystemRuns

DIGITS = 2


@dataclass(frozen=True)
class Score:
    """A number in a table."""

    value: float
    deviation: float | None = None
    n_seeds: int | None = None
    """Seeds that it is the mean of; None if it is no mean."""
    is_best: bool = False
    paper: float | None = None
    """The paper's own figure."""
    digits: int = DIGITS
    lower_is_better: bool = False

    @classmethod
    def of(cls, mean: Mean, paper_figure: float | None = None) -> "Score":
        """Make a number of a mean over seeds."""
        return cls(mean.value, mean.deviation, mean.n_seeds, paper=paper_figure)

    @property
    def shown(self) -> str:
        """The number as it is printed."""
        return f"{self.value:,.{self.digits}f}"


Entry = str | Score | None
"""What stands in one place of a table; None: nothing."""
Row = tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """A table; the first column names the rows."""

    name: str
    """What ``piran table --table`` calls it."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def with_best_marked(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Mark the best number of each column, as printed; not where all of them are the same."""
    best: dict[int, str] = {}
    for place, column in enumerate(zip(*rows, strict=True)):
        numbers = [entry for entry in column if isinstance(entry, Score)]
        shown = {number.shown for number in numbers}
        if len(shown) > 1:
            foremost = min if numbers[0].lower_is_better else max
            best[place] = foremost(numbers, key=lambda number: number.value).shown
    return tuple(
        tuple(
            replace(entry, is_best=entry.shown == best.get(place))
            if isinstance(entry, Score)
            else entry
            for place, entry in enumerate(row)
        )
        for row in rows
    )


def seeds_note(rows: Iterable[Row]) -> list[str]:
    """Say over how many seeds the numbers are means."""
    counts = {entry.n_seeds for row in rows for entry in row if isinstance(entry, Score)} - {None}
    numbers = sorted(count for count in counts if count is not None)
    if not numbers:
        return []
    if numbers == [1]:
        return ["One seed only, so without a standard deviation."]
    spread = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    return [f"Mean ± standard deviation over {spread} seeds; the best in bold."]


def paper_note(rows: Iterable[Row]) -> list[str]:
    """Explain the paper's figures, where there are any."""
    entries = [entry for row in rows for entry in row if isinstance(entry, Score)]
    return (
        ["In brackets: the paper's own figure."]
        if any(e.paper is not None for e in entries)
        else []
    )


def left_out_notes(*datasets: Iterable[SystemRuns]) -> list[str]:
    """Say which runs of the systems on each dataset are not in the numbers, and why."""
    # A cell and its reference points are the same runs
    runs = [run for systems in datasets for run in {s.cell: s for s in systems}.values()]
    notes = []
    for reason, attribute in (
        ("the best epoch was the last allowed one, so they had not converged", "n_not_converged"),
        ("they failed", "n_failed"),
        ("their records cannot be read", "n_unreadable"),
    ):
        counts: Counter[str] = Counter()
        for run in runs:
            counts[display_name(run.cell)] += getattr(run, attribute)
        missing = [f"{count} of {name}" for name, count in counts.items() if count]
        if missing:
            notes.append(f"Runs left out because {reason}: {', '.join(missing)}.")
    return notes
