"""Formulas become MathML while the site is built: browsers draw it, and no script is fetched.

A block fenced as `math` holds LaTeX, which GitHub draws as well.
"""

from typing import Any

import latex2mathml.converter


def fence(source: str, language: str, css_class: str, options: Any, md: Any, **kwargs: Any) -> str:  # noqa: ARG001
    """Return the HTML of one block; every line is a formula of its own."""
    lines = [line for line in source.strip().splitlines() if line.strip()]
    drawn = "\n".join(latex2mathml.converter.convert(line, display="block") for line in lines)
    return f'<div class="{css_class}">{drawn}</div>'
