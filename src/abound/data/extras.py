"""Optional packages, imported on first use."""

import importlib
from typing import Any

from abound.errors import missing_extra


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional module. Raise an error with the pip command if it is missing.

    Parameters
    ----------
    module : str
        Name to import.
    extra : str
        The extra of abound that contains it.
    purpose : str
        What needs it, as the subject of a sentence.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module if module.startswith("backports.") else module.partition(".")[0]
        raise missing_extra(f"{purpose} need {package}", extra, package) from error
