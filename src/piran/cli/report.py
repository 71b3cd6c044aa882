"""``piran report``: a suite or a run as one page."""

from pathlib import Path
from typing import Annotated

import typer

from piran.cli.table import suite_folder


def report(
    suites: Annotated[
        list[Path],
        typer.Argument(
            metavar="SUITE|RUN...",
            help="A suite's folder or its name under runs/, several to take together, or one run.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page; else report.html in the first folder."),
    ] = None,
) -> None:
    """Put all tables and figures of a suite on one self-contained HTML page.

    For example:

    - `piran report runs/paper`

    - `piran report results/debtags results/reuters90 --out report.html`
    """
    from piran.experiments.records import RECORD_NAME, RunRecord
    from piran.experiments.results import read_results
    from piran.experiments.run import REPORT
    from piran.report import write_report, write_suite_report

    folders = [suite_folder(suite) for suite in suites]
    path = out or folders[0] / REPORT
    if len(folders) == 1 and (folders[0] / RECORD_NAME).is_file():
        write_report(RunRecord.read(folders[0]), path)
    else:
        write_suite_report(read_results(*folders), path)
    print(path)
