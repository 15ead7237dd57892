"""Convert formulas to MathML when the site is built: browsers render it without a script.

A block fenced as `math` contains LaTeX, which GitHub renders as well.
"""

import re
from typing import Any

import latex2mathml.converter

# An operator whose index belongs below it; the converter puts it beside, except alone on its line.
LIMITS = re.compile(
    r"<msub>(<mo>(?:min|max|&#x02211;)</mo>(?:<mi>\w+</mi>|<mrow>(?:(?!<mrow|</mrow>).)*</mrow>))</msub>"
)


def fence(source: str, language: str, css_class: str, options: Any, md: Any, **kwargs: Any) -> str:  # noqa: ARG001
    r"""Return the HTML of one block; every line is a formula, without the \qquad that separates it on GitHub."""
    lines = [line.strip().removesuffix(r"\qquad") for line in source.strip().splitlines() if line.strip()]
    drawn = "\n".join(
        LIMITS.sub(r"<munder>\1</munder>", latex2mathml.converter.convert(line, display="block")) for line in lines
    )
    return f'<div class="{css_class}">{drawn}</div>'
