"""The environment of a process that a test starts."""

import os


def unmeasured() -> dict[str, str]:
    """Return the environment without what makes a process measure its coverage, which needs modules and memory."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
