"""Run the command line as ``python -m abound``."""

from abound.cli import main

main()
