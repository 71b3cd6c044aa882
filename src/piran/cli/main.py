"""The program ``piran``: its commands, and how errors and interruptions end it."""

import logging
import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from piran.cli import data
from piran.cli.bench import bench
from piran.cli.demo import demo
from piran.cli.evaluate import evaluate
from piran.cli.plot import plot
from piran.cli.predict import predict
from piran.cli.report import report
from piran.cli.table import table
from piran.cli.train import train
from piran.errors import PiranError
from piran.process import calm_numpy, keep_freed_memory
from piran.training.runtime import prepare_environment

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, train, evaluate, predict, bench, table, plot, report):
    app.command()(command)
app.add_typer(data.app, name="data")


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"piran {version('piran')}")
        raise typer.Exit


@app.callback()
def _program(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Long-tailed multi-label text classification that rescues the rare labels."""


def main() -> None:
    """Run the program: exit code 0 if done, 1 on an error a user can put right, 2 on wrong usage."""
    prepare_environment()
    keep_freed_memory()
    calm_numpy()
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    try:
        app()
    except PiranError as error:
        print(f"piran: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("piran: stopped.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone (head, less); what is left in the buffer must not fail once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # a path that cannot be read or written, a disk that is full
        place = error.filename2 or error.filename  # the second is where something was to be put
        print(f"piran: {error.strerror or error}{f': {place}' if place else ''}", file=sys.stderr)
        sys.exit(1)
