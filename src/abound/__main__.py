"""Run the command line as ``python -m abound``."""

import sys

from abound.cli import main

sys.exit(main())
