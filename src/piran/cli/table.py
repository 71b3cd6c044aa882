"""``piran table``: the results of a suite as tables, for reading and for a paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from piran.errors import DataError, SettingError, UnknownNameError
from piran.registry import suggestion

if TYPE_CHECKING:
    from piran.experiments.table_data import Table

TERMINAL = "terminal"
Suites = Annotated[
    list[Path],
    typer.Argument(
        metavar="SUITE...",
        help="A suite's folder (runs/paper) or, for one under runs/, its name (paper).",
    ),
]


def table(
    suites: Suites,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="datasets, comparison, significance, tail (the paper's), f1, ranking, "
            "calibration, subsets, groups, ablation, sensitivity, cost, or all; repeat. Without it, "
            "the paper's.",
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option("--format", metavar="terminal|markdown|latex|csv", help="Form of the tables."),
    ] = TERMINAL,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a file a table instead of printing."),
    ] = None,
) -> None:
    """Print the paper's six tables, and others, from the records of a suite.

    Numbers are means over seeds; runs that did not converge are left out, and a note says how many.

    For example:

    - `piran table runs/paper`

    - `piran table paper --table tail --table ablation --format markdown`

    - `piran table results/debtags results/reuters90 --table all --format latex --out tables`
    """
    from piran.experiments.results import read_results
    from piran.experiments.table_formats import FORMATS
    from piran.experiments.tables import suite_tables

    if form != TERMINAL and form not in FORMATS:
        known = ", ".join((TERMINAL, *FORMATS))
        raise SettingError(f"--format must be one of {known}, got {form!r}.")
    results = read_results(*map(suite_folder, suites))
    found = suite_tables(results, chosen_tables(tables))
    if not found:
        raise DataError(f"{results.name} has no finished cells with the numbers of these tables.")
    if out is not None:
        _write(found, "markdown" if form == TERMINAL else form, out)
    elif form == TERMINAL:
        for one in found:
            _print(one)
    else:
        is_titled = form == "csv" and len(found) > 1  # the other forms have titles of their own
        titles = [f"# {one.title}\n" if is_titled else "" for one in found]
        texts = [FORMATS[form](one) for one in found]
        print("\n".join(map("".join, zip(titles, texts, strict=True))), end="")


def _print(table: "Table") -> None:
    from rich.console import Console

    from piran.experiments.table_formats import terminal_table

    console = Console()
    drawn = terminal_table(table, console.width)
    console.width = max(console.width, drawn.__rich_measure__(console, console.options).minimum)
    console.print(drawn, "")


def suite_folder(suite: Path) -> Path:
    """Return the folder of a suite that is named by its folder or by its name under runs/."""
    from piran.experiments.suite import PLAN_FILE

    named = Path("runs") / suite
    return named if not (suite / PLAN_FILE).is_file() and (named / PLAN_FILE).is_file() else suite


def chosen_tables(names: list[str] | None) -> list[str]:
    """Return the tables that were asked for, in the order they are printed."""
    from piran.experiments.tables import PAPER_TABLES, TABLES

    if names is None:
        return list(PAPER_TABLES)
    for name in names:
        if name not in TABLES and name != "all":
            raise UnknownNameError(f"Unknown table {name!r}. {suggestion(name, [*TABLES, 'all'])}")
    return [name for name in TABLES if name in names or "all" in names]


def _write(tables: "list[Table]", form: str, out: Path) -> None:
    from piran.experiments.table_formats import EXTENSIONS, FORMATS
    from piran.storage import write_text_atomically

    for one in tables:
        words = "".join(letter if letter.isalnum() else " " for letter in one.title.lower())
        path = out / f"{'-'.join(words.split())}.{EXTENSIONS[form]}"
        write_text_atomically(path, FORMATS[form](one))
        print(path)
