"""The command line: thin commands over what a Python user can call."""

from piran.cli.main import main

__all__ = ["main"]
