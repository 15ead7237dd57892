"""Show an explanation as coloured text, in notebooks, web pages and terminals."""

import os
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from abound.tagger.answers import in_joined_text
from abound.texts import joined

if TYPE_CHECKING:
    from abound.tagger import Tagger, TextExplanation
    from abound.texts import Text

# Blue votes for a label, orange against it. Transparent, so that the text is readable on any background.
FOR, AGAINST = "0,114,178", "230,125,0"
STRONGEST = 0.6  # opacity of the strongest vote
LEVELS = 4
# Background and text colours of 256-colour terminals, from weak to strong.
TERMINAL_FOR = ((153, 16), (111, 16), (68, 231), (25, 231))
TERMINAL_AGAINST = ((223, 16), (215, 16), (208, 16), (166, 231))


def strengths(text: str, explanation: "TextExplanation") -> list[float]:
    """Return the sum of the votes for each character of the text. A vote counts at every position of its word."""
    votes = [0.0] * len(text)
    for word in explanation.words:
        for start, end, *_ in word.spans:
            for position in range(start, min(end, len(text))):
                votes[position] += word.vote
    return votes


@dataclass(frozen=True)
class ColouredText:
    """A text whose words are coloured by their votes for a label.

    A notebook shows it as HTML. `print` uses terminal colours unless NO_COLOR is set.

    Attributes
    ----------
    text : str
    explanation : TextExplanation
    name : str
        Display name of the label.
    """

    text: str
    explanation: "TextExplanation"
    name: str

    def runs(self) -> list[tuple[str, int]]:
        """Return pieces of the text with levels from -4 (against the label) to 4 (for the label)."""
        votes = strengths(self.text, self.explanation)
        most = max(map(abs, votes), default=0.0)
        levels = [_level(vote, most) for vote in votes]
        pieces, start = [], 0
        for level, run in groupby(levels):
            end = start + sum(1 for _ in run)
            pieces.append((self.text[start:end], level))
            start = end
        return pieces

    def html(self) -> str:
        """Return the text as HTML. The text is escaped."""
        parts = []
        for piece, level in self.runs():
            words = escape(piece)
            if level:
                alpha = STRONGEST * abs(level) / LEVELS
                color = f"rgba({FOR if level > 0 else AGAINST},{alpha:.2f})"
                words = f'<span style="background:{color};border-radius:2px">{words}</span>'
            parts.append(words)
        title = f"<strong>{escape(self.name)}</strong> {self.explanation.score:.4f}"
        top = sorted(self.explanation.words, key=lambda word: -abs(word.vote))[:5]
        why = ", ".join(f"{escape(word.word)} {word.vote:+.3f}" for word in top)
        body = f'<div style="white-space:pre-wrap;line-height:1.5">{"".join(parts)}</div>'
        return f'<div>{title}{body}<small style="opacity:.7">{why}</small></div>'

    _repr_html_ = html

    def __str__(self) -> str:
        if os.environ.get("NO_COLOR"):
            return f"{self.name} {self.explanation.score:.4f}\n{self.text}"
        parts = []
        for piece, level in self.runs():
            back, letters = (TERMINAL_FOR if level > 0 else TERMINAL_AGAINST)[abs(level) - 1]
            parts.append(f"\x1b[48;5;{back};38;5;{letters}m{piece}\x1b[0m" if level else piece)
        return f"\x1b[1m{self.name}\x1b[0m {self.explanation.score:.4f}\n{''.join(parts)}"


def _level(vote: float, most: float) -> int:
    if not vote:
        return 0
    level = max(round(LEVELS * abs(vote) / most), 1)
    return level if vote > 0 else -level


def coloured_text(tagger: "Tagger", text: "Text", label: object = None) -> ColouredText:
    """Explain a label of a text as coloured text. By default, it is the best label. Fields are joined.

    Examples
    --------
    >>> from abound import Tagger, plots
    >>> tagger = Tagger(ngrams=1).fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])
    >>> plots.coloured_text(tagger, "apple <pie>").html().count("<span")
    1
    """
    if label is None:
        best = tagger.rank(text, 1)
        if not best:
            raise ValueError("there is nothing to explain: no word of the text votes for a label")
        label = best[0].label
    explanation = in_joined_text(tagger.explain(text, label), text)
    return ColouredText(joined(text), explanation, tagger.name_of(explanation.label))
