"""Plot explanations: texts whose words are coloured by their votes for a label."""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from abound.data.extras import require
from abound.plots.colouring import AGAINST, FOR, LEVELS, STRONGEST, ColouredText
from abound.plots.style import escape_math, shorten, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 84  # characters per line
MAX_LINES = 3
LETTER_WIDTH = 0.602  # of a character of matplotlib's monospaced font, relative to the font size
LINE = 0.23  # inches


def explanation_figures(explained: Sequence[ColouredText], notes: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return each explanation as a dictionary, with a note."""
    given = [*notes, *[""] * (len(explained) - len(notes))]
    return [
        {
            "label": coloured.explanation.label,
            "name": coloured.name,
            "score": coloured.explanation.score,
            "note": note,
            "text": coloured.text,
            "runs": coloured.runs(),
            "words": [{"word": w.word, "vote": w.vote, "spans": w.spans} for w in coloured.explanation.words],
        }
        for coloured, note in zip(explained, given, strict=True)
    ]


def explanations(explained: Sequence[ColouredText], *, notes: Sequence[str] = (), ax: "Axes | None" = None) -> "Axes":
    """Plot explained texts: blue words vote for the label, orange words against it.

    Parameters
    ----------
    explained : sequence of ColouredText
        Results of `coloured_text`.
    notes : sequence of str
        A note for each text, such as its true labels.
    ax : Axes, optional
    """
    return draw_explanations(explanation_figures(explained, notes), ax)


def explanations_height(rows: Sequence[dict[str, Any]]) -> float:
    """Return the height of a plot of explanations in inches."""
    return 0.7 + LINE * sum(len(wrapped(row["runs"])) + 2 for row in rows)


def draw_explanations(rows: list[dict[str, Any]], ax: "Axes | None" = None) -> "Axes":
    """Plot the result of `explanation_figures`."""
    patches = require("matplotlib.patches", "plot", "plots")
    inches, words = (8.6, explanations_height(rows)), "blue votes for the label, orange against it"
    ax, theme = style_axes(ax, "Why texts got these labels", y=words, size=inches)
    ax.set_axis_off()
    n_lines = sum(len(wrapped(row["runs"])) + 2 for row in rows)
    ax.set(xlim=(0, COLUMNS), ylim=(max(n_lines, 1), 0))
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # the layout decides the width of a character
    size = 72 * ax.get_window_extent().width / figure.dpi / (COLUMNS * LETTER_WIDTH)
    letters: dict[str, Any] = {"family": "DejaVu Sans Mono", "fontsize": size, "va": "center"}
    at = 0
    for row in rows:
        head = f"{shorten(row['name'], 40)} {row['score']:.3f}"
        ax.text(0, at + 0.5, escape_math(head), color=theme.text, fontweight="bold", **letters)
        if row["note"]:
            note = shorten(row["note"], COLUMNS - len(head) - 4)
            ax.text(len(head) + 2, at + 0.5, escape_math(note), color=theme.muted, **letters)
        for number, line in enumerate(wrapped(row["runs"]), 1):
            column = 0
            for piece, level in line:
                if level:
                    color = tuple(int(part) / 255 for part in (FOR if level > 0 else AGAINST).split(","))
                    alpha = STRONGEST * abs(level) / LEVELS
                    box = patches.Rectangle((column, at + number + 0.04), len(piece), 0.92, color=color, alpha=alpha)
                    box.set_linewidth(0)
                    ax.add_patch(box)
                ax.text(column, at + number + 0.5, escape_math(piece), color=theme.text, **letters)
                column += len(piece)
        at += len(wrapped(row["runs"])) + 2
    return ax


def wrapped(runs: Sequence[tuple[str, int]]) -> list[list[tuple[str, int]]]:
    """Wrap coloured pieces into at most `MAX_LINES` lines.

    Examples
    --------
    >>> wrapped([("a ", 0), ("red", 4), (" apple", 0)])
    [[('a ', 0), ('red', 4), (' apple', 0)]]
    """
    text = re.sub(r"\s", " ", "".join(piece for piece, _ in runs))
    levels = [level for piece, level in runs for _ in piece]
    lines, start, at = [], 0, 0
    for word in re.finditer(r"\S+\s*", text):
        if len(word[0].rstrip()) + word.start() - start > COLUMNS and word.start() > start:
            lines.append((start, word.start()))
            start = word.start()
        at = word.end()
    lines.append((start, at))
    shown = []
    for number, (start, stop) in enumerate(lines[:MAX_LINES], 1):
        stop = min(stop, start + COLUMNS)
        letters = list(zip(text[start:stop], levels[start:stop], strict=True))
        if number == MAX_LINES < len(lines):
            letters = [*letters[: COLUMNS - 1], ("…", 0)]
        shown.append(
            [("".join(letter for letter, _ in run), level) for level, run in groupby(letters, key=lambda pair: pair[1])]
        )
    return shown
