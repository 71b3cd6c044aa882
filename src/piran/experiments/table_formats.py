"""Tables as text: for a terminal, Markdown, LaTeX, CSV and HTML."""

import csv
import io
import re
from collections.abc import Callable, Iterable
from html import escape

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table as TerminalTable
from rich.text import Text

from piran.experiments.table_data import Entry, Score, Table

LATEX_LETTERS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "L̄": r"$\bar{L}$",
    "L̃": r"$\tilde{L}$",
    "W̄": r"$\bar{W}$",
    "W̃": r"$\tilde{W}$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
}
_LATEX = re.compile("|".join(map(re.escape, LATEX_LETTERS)))


def plain_text(entry: Entry) -> str:
    """Return an entry without any marks: 69.81 ± 0.32 [69.81]."""
    if entry is None:
        return "–"
    if isinstance(entry, str):
        return entry
    spread = "" if entry.deviation is None else f" ± {entry.deviation:.{entry.digits}f}"
    theirs = "" if entry.paper is None else f" [{entry.paper:,.{entry.digits}f}]"
    return f"{entry.shown}{spread}{theirs}"


def terminal_table(table: Table, width: int) -> TerminalTable:
    """Return a table for rich, the best in bold, notes below.

    It is no wider than ``width`` letters, unless its words and numbers are: none of them is cut.
    """
    widths, gap = _fitted(table, width)
    drawn = TerminalTable(
        title=table.title,
        title_justify="left",
        caption="\n".join(table.notes) or None,
        caption_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=(0, gap - 1, 0, 0),  # the box adds one
    )
    texts = _text_columns(table)
    for place, name in enumerate(table.columns):
        is_text = place in texts
        drawn.add_column(Text(name), justify="left" if is_text else "right", width=widths[place])
    for row in table.rows:
        drawn.add_row(
            *(Text(_terminal_text(entry), "bold" if _is_best(entry) else "") for entry in row)
        )
    return drawn


def _terminal_text(entry: Entry) -> str:
    """Return an entry of which a narrow column puts the spread below, with its sign."""
    return plain_text(entry).replace(" ± ", " ±")


def _fitted(table: Table, width: int) -> tuple[list[int], int]:
    """Return the width of each column, in one line where there is room for it, and the gap between."""
    names = _text_columns(table)
    columns = [
        [name, *(_terminal_text(row[place]) for row in table.rows)]
        for place, name in enumerate(table.columns)
    ]
    widths = [max(map(cell_len, texts)) for texts in columns]
    least = [max(cell_len(word) for text in texts for word in text.split()) for texts in columns]
    gap = 2 if sum(least) + 2 * len(least) <= width else 1
    while sum(widths) + gap * len(widths) > width and widths != least:
        # Numbers first: names are easier to read in one line
        ranks = [(widths[p] > least[p], p not in names, widths[p]) for p in range(len(widths))]
        widths[ranks.index(max(ranks))] -= 1
    return widths, gap


def markdown(table: Table) -> str:
    """Return a table as Markdown with a heading, the best in bold, notes below."""
    texts = _text_columns(table)
    rule = ("---" if place in texts else "---:" for place in range(len(table.columns)))
    lines = [f"### {table.title}", "", _pipes(table.columns), _pipes(rule)]
    lines += [
        _pipes(
            f"**{plain_text(entry)}**" if _is_best(entry) else plain_text(entry) for entry in row
        )
        for row in table.rows
    ]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes)]) + "\n"


def _pipes(cells: Iterable[str]) -> str:
    texts = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(texts)} |"


def latex(table: Table) -> str:
    """Return a table environment for a paper (package booktabs)."""
    texts = _text_columns(table)
    form = "".join("l" if place in texts else "r" for place in range(len(table.columns)))
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_text(table.title)}. {latex_text(' '.join(table.notes))}}}",
        rf"\begin{{tabular}}{{{form}}}",
        r"\toprule",
        " & ".join(latex_text(column) for column in table.columns) + r" \\",
        r"\midrule",
    ]
    lines += [" & ".join(map(_latex_entry, row)) + r" \\" for row in table.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def _latex_entry(entry: Entry) -> str:
    text = latex_text(plain_text(entry))
    return rf"\textbf{{{text}}}" if _is_best(entry) else text


def latex_text(text: str) -> str:
    """Escape what LaTeX would misread and spell out letters that its fonts lack."""
    return _LATEX.sub(lambda found: LATEX_LETTERS[found[0]], text)


def as_csv(table: Table) -> str:
    """Return a table as comma-separated values; spread, seeds and paper have columns of their own."""
    parts = [_csv_parts(table, place) for place in range(len(table.columns))]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    names = zip(table.columns, parts, strict=True)
    writer.writerow([name + suffix for name, suffixes in names for suffix in suffixes])
    for row in table.rows:
        cells = zip(row, parts, strict=True)
        writer.writerow([_csv_value(entry, part) for entry, found in cells for part in found])
    return buffer.getvalue()


_CSV_PARTS: dict[str, Callable[[Score], object]] = {
    "": lambda score: score.value,
    " sd": lambda score: score.deviation,
    " seeds": lambda score: score.n_seeds,
    " paper": lambda score: score.paper,
}


def _csv_parts(table: Table, place: int) -> list[str]:
    """Return the suffixes of the columns that one column of the table becomes."""
    scores = [row[place] for row in table.rows if isinstance(row[place], Score)]
    return [
        suffix
        for suffix, part in _CSV_PARTS.items()
        if not suffix or any(part(score) is not None for score in scores)  # type: ignore[arg-type]
    ]


def _csv_value(entry: Entry, part: str) -> object:
    if isinstance(entry, Score):
        return _CSV_PARTS[part](entry)
    return entry if part == "" else None


def as_html(table: Table) -> str:
    """Return a table for a page, the best in bold; title and notes are the page's to place."""
    texts = _text_columns(table)
    heads = "".join(
        f'<th class="name">{escape(column)}</th>'
        if place in texts
        else f"<th>{escape(column)}</th>"
        for place, column in enumerate(table.columns)
    )
    rows = "\n".join(f"<tr>{_html_row(row, texts)}</tr>" for row in table.rows)
    return f'<table class="results"><thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table>'


def _html_row(row: tuple[Entry, ...], texts: set[int]) -> str:
    cells = []
    for place, entry in enumerate(row):
        text = escape(plain_text(entry)).replace("± ", "±\u00a0")  # a line may end before it
        if place in texts:
            tag = "th" if place == 0 else "td"
            cells.append(f'<{tag} class="name">{text}</{tag}>')
        else:
            cells.append(
                f"<td><strong>{text}</strong></td>" if _is_best(entry) else f"<td>{text}</td>"
            )
    return "".join(cells)


FORMATS: dict[str, Callable[[Table], str]] = {"markdown": markdown, "latex": latex, "csv": as_csv}
"""Forms of text, by the name that ``piran table --format`` knows."""
EXTENSIONS = {"markdown": "md", "latex": "tex", "csv": "csv"}


def _is_best(entry: Entry) -> bool:
    return isinstance(entry, Score) and entry.is_best


def _text_columns(table: Table) -> set[int]:
    """Return the columns that hold no number at all."""
    return {
        place
        for place in range(len(table.columns))
        if not any(isinstance(row[place], Score) for row in table.rows)
    }
