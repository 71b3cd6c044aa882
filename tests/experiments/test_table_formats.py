"""Tables as text, in every form."""

import csv
import io

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from piran.experiments.table_data import Score, Table
from piran.experiments.table_formats import (
    as_csv,
    as_html,
    latex,
    latex_text,
    markdown,
    plain_text,
    terminal_table,
)

TABLE = Table(
    name="comparison",
    title="Comparison on a_b",
    columns=("method", "L̄", "F1"),
    rows=(
        ("A|B & C", Score(1234.5, digits=1), Score(69.806, 0.315, 5, is_best=True, paper=69.81)),
        ("<D>", None, Score(65.0, 0.1, 5)),
    ),
    notes=("The first 100 %.", "The second."),
)


def test_a_number_has_its_spread_and_the_papers_figure() -> None:
    assert plain_text(TABLE.rows[0][2]) == "69.81 ± 0.32 [69.81]"
    assert plain_text(TABLE.rows[0][1]) == "1,234.5"
    assert plain_text(None) == "–"


def test_markdown_marks_the_best_and_aligns_numbers_to_the_right() -> None:
    assert markdown(TABLE).splitlines() == [
        "### Comparison on a_b",
        "",
        "| method | L̄ | F1 |",
        "| --- | ---: | ---: |",
        r"| A\|B & C | 1,234.5 | **69.81 ± 0.32 [69.81]** |",
        "| <D> | – | 65.00 ± 0.10 |",
        "",
        "- The first 100 %.",
        "- The second.",
    ]


def test_latex_escapes_what_it_would_misread() -> None:
    lines = latex(TABLE).splitlines()
    assert lines[2] == r"\caption{Comparison on a\_b. The first 100 \%. The second.}"
    assert lines[3] == r"\begin{tabular}{lrr}"
    assert lines[5] == r"method & $\bar{L}$ & F1 \\"
    assert lines[7] == r"A|B \& C & 1,234.5 & \textbf{69.81 $\pm$ 0.32 [69.81]} \\"
    assert latex_text("l_head \\ α, 5 %") == r"l\_head \textbackslash{} $\alpha$, 5 \%"


def test_csv_keeps_full_numbers_in_columns_of_their_own() -> None:
    rows = list(csv.reader(io.StringIO(as_csv(TABLE))))
    assert rows == [
        ["method", "L̄", "F1", "F1 sd", "F1 seeds", "F1 paper"],
        ["A|B & C", "1234.5", "69.806", "0.315", "5", "69.81"],
        ["<D>", "", "65.0", "0.1", "5", ""],
    ]


def test_html_escapes_names() -> None:
    page = as_html(TABLE)
    assert '<th class="name">&lt;D&gt;</th>' in page
    assert "<td><strong>69.81 ±\u00a00.32 [69.81]</strong></td>" in page


def on_terminal(width: int) -> str:
    console = Console(width=width, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(terminal_table(TABLE, width))
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_a_terminal_shows_title_numbers_and_notes() -> None:
    shown = on_terminal(100)
    assert "Comparison on a_b" in shown
    assert "\x1b[1m69.81 ±0.32 [69.81]\x1b[0m" in shown
    assert "The second." in shown


def test_on_a_narrow_terminal_the_spread_goes_below_and_names_stay_whole() -> None:
    lines = on_terminal(30).splitlines()
    assert any(line.startswith("A|B & C  1,234.5") for line in lines)
    assert any(line.rstrip().endswith("±0.32\x1b[0m") for line in lines)
    assert all(cell_len(Text.from_ansi(line).plain) <= 30 for line in lines)
