"""``piran data``: datasets and files, their statistics, and conversion between formats."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from piran.cli.options import (
    AsJson,
    Data,
    LabelField,
    LabelSeparator,
    Tail,
    TextField,
    parse_tail,
)
from piran.data import DATASETS, Corpus, load_corpus, write_documents
from piran.data.datasets import write_corpus
from piran.data.files import FORMATS, FileFormat
from piran.data.statistics import CorpusStatistics, corpus_statistics
from piran.errors import DataError
from piran.plots.label_frequency import label_frequency_data, save_label_frequency
from piran.plots.terminal import terminal_curve

app = typer.Typer(
    help="Datasets and files: list them, see their statistics, convert them.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.command("list")
def list_datasets(as_json: AsJson = False) -> None:
    """List the datasets that piran knows by name.

    Example: `piran data list --json`
    """
    cards = [DATASETS[name] for name in DATASETS]
    if as_json:
        keys = (
            "name",
            "title",
            "description",
            "source",
            "licence",
            "citation",
            "tail",
            "is_embedded",
        )
        print(json.dumps([{key: getattr(card, key) for key in keys} for card in cards], indent=1))
        return
    table = Table("name", "what it is", "tail", Column("data", overflow="fold"))
    for card in cards:
        tail = f"{card.tail:.0%}" if isinstance(card.tail, float) else f"{card.tail:,}"
        origin = "comes with piran" if card.is_embedded else f"get it: {card.source}"
        table.add_row(card.name, card.description, tail, origin)
    Console().print(table)


@app.command()
def show(
    data: Data,
    text_field: TextField = "text",
    label_field: LabelField = "labels",
    label_separator: LabelSeparator = None,
    tail: Tail = "auto",
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the curve as a figure, for example tail.svg."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the statistics of a corpus and how its labels fall off into the tail.

    For example:

    - `piran data show debtags`

    - `piran data show tickets.csv --label-field tags --label-separator "|"`

    - `piran data show my-folder --tail 0.5 --plot tail.svg`
    """
    corpus = load_corpus(
        data,
        text_field=text_field,
        label_field=label_field,
        label_separator=label_separator,
    )
    space = corpus.label_space(parse_tail(tail))
    statistics = corpus_statistics(corpus, space)
    frequency = label_frequency_data(space, title=corpus.name)
    if plot is not None:
        save_label_frequency(frequency, plot)
    if as_json:
        print(json.dumps(statistics.to_json(), ensure_ascii=False, indent=1))
        return
    console = Console()
    console.print(_overview(statistics), _division(statistics), _percentiles(statistics))
    console.print(terminal_curve(frequency, width=min(console.width, 100)))


@app.command()
def convert(
    source: Data,
    target: Annotated[
        Path,
        typer.Argument(metavar="FILE|FOLDER", help="A file for one split, a folder for several."),
    ],
    text_field: TextField = "text",
    label_field: LabelField = "labels",
    label_separator: LabelSeparator = None,
    format_name: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="EXTENSION",
            help="Of the files in a target folder, for example csv or jsonl.xz.",
        ),
    ] = "jsonl",
) -> None:
    """Convert documents between .jsonl .json .csv .tsv .parquet, each also .gz or .xz.

    A published dataset (RCV1, Reuters-21578 …) becomes plain files in the same way.

    For example:

    - `piran data convert tickets.csv tickets.jsonl.xz --text-field body`

    - `piran data convert debtags my-debtags --format parquet`
    """
    corpus = load_corpus(
        source,
        text_field=text_field,
        label_field=label_field,
        label_separator=label_separator,
    )
    for split, path in _convert(corpus, target, format_name).items():
        print(f"{split}: {len(corpus.splits[split]):,} documents to {path}")


def _convert(corpus: Corpus, target: Path, format_name: str) -> dict[str, Path]:
    """Write one file if the target is called like one, else a folder; return the files by split."""
    if not any(suffix.lower().lstrip(".") in FORMATS for suffix in target.suffixes[-2:]):
        return write_corpus(corpus, target, format_name)
    if len(corpus.splits) > 1:
        raise DataError(
            f"{target} is one file, but {corpus.name} has the splits {', '.join(corpus.splits)}; "
            f"name a folder and the files' format, as in --format {FileFormat.of(target).format}."
        )
    write_documents(corpus.train, target)
    return {"train": target}


def _overview(statistics: CorpusStatistics) -> Table:
    """Table 1 of the paper, and what else should be known before training."""
    table = Table(title=statistics.name, show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(justify="right")
    without = statistics.n_documents_without_labels
    for name, value in (
        ("training documents (N)", f"{statistics.n_train:,}"),
        ("validation documents", f"{statistics.n_validation:,}"),
        ("test documents (M)", f"{statistics.n_test:,}"),
        ("distinct words in train (D)", f"{statistics.n_words:,}"),
        ("labels (L)", f"{statistics.n_labels:,}"),
        ("labels per document", f"{statistics.labels_per_document:.2f}"),
        ("documents per label", f"{statistics.documents_per_label:.1f}"),
        ("words per training document", f"{statistics.words_per_train_document:.1f}"),
        ("words per test document", f"{statistics.words_per_test_document:.1f}"),
        ("documents without labels", ", ".join(f"{n:,} {split}" for split, n in without.items())),
        ("labels without a training document", f"{statistics.n_labels_without_train_documents:,}"),
    ):
        table.add_row(name, value)
    return table


def _division(statistics: CorpusStatistics) -> Table:
    table = Table("", "labels", "of all labels", "of label occurrences")
    for name, group in (("head", statistics.head), ("tail", statistics.tail)):
        shares = (f"{group.share_of_labels:.1%}", f"{group.share_of_occurrences:.1%}")
        table.add_row(name, f"{group.n_labels:,}", *shares)
    return table


def _percentiles(statistics: CorpusStatistics) -> Table:
    percentiles = statistics.documents_per_label_percentiles
    table = Table("percentile of labels", *(f"{percent}" for percent in percentiles))
    table.add_row("training documents", *(f"{value:,.0f}" for value in percentiles.values()))
    return table
