"""An explanation as coloured text, for notebooks, web pages and terminals."""

import os
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abound.tagger import Tagger, TextExplanation

# Blue speaks for a label, orange against it; see-through, so that the text keeps its colour on any background.
FOR, AGAINST = "0,114,178", "230,125,0"
STRONGEST = 0.6  # how opaque the strongest vote is
LEVELS = 4
# A background and the letters on it in the 256 colours of terminals, from weak to strong.
TERMINAL_FOR = ((153, 16), (111, 16), (68, 231), (25, 231))
TERMINAL_AGAINST = ((223, 16), (215, 16), (208, 16), (166, 231))


def strengths(text: str, explanation: "TextExplanation") -> list[float]:
    """Return how much is voted for each letter of the text; a vote counts for every place of its word."""
    votes = [0.0] * len(text)
    for word in explanation.words:
        for start, end in word.spans:
            for at in range(start, min(end, len(text))):
                votes[at] += word.vote
    return votes


@dataclass(frozen=True)
class ColouredText:
    """A text whose words are coloured by how they vote for a label.

    A notebook shows it as HTML, `print` with a terminal's colours (without, where NO_COLOR is set).

    Attributes
    ----------
    text : str
    explanation : TextExplanation
    name : str
        What a person calls the label.
    """

    text: str
    explanation: "TextExplanation"
    name: str

    def runs(self) -> list[tuple[str, int]]:
        """Return the text in pieces with the level of each: from -4, against the label, over 0 to 4, for it."""
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
        """Return the text as HTML; everything in it is escaped."""
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


def coloured_text(tagger: "Tagger", text: str, label: object = None) -> ColouredText:
    """Explain a label of a text, the best one if none is given, as coloured text.

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
            raise ValueError("no word of this text votes for a label, so there is nothing to explain")
        label = best[0].label
    explanation = tagger.explain(text, label)
    return ColouredText(text, explanation, tagger.name_of(explanation.label))
