"""``python -m piran`` is the program ``piran``."""

from piran.cli.main import main

main()
