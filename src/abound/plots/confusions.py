"""Find and plot confused labels and the words that cause the confusion."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abound.plots.style import annotate_near, escape_math, shorten, style_axes
from abound.texts import Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from abound.tagger import Tagger

DEPTH = 5  # ranks to examine
EXPLAINED = 20  # rows per pair whose votes are summed
WORDS = 4


class Confusion(NamedTuple):
    """A true label that was missed, the wrong label that was ranked instead, the number of rows, and the words.

    Words are (word, votes for the true label, votes for the wrong label). Words that vote for both come first.
    """

    true: str
    given: str
    rows: int
    words: list[tuple[str, float, float]]


def find_confusions(
    tagger: "Tagger", texts: Sequence[Text], labels: Sequence[Sequence[Any]], *, n: int = 12
) -> list[Confusion]:
    """Return the pairs of labels that a tagger confuses most often.

    For each row, the first ranks are examined, as many as it has true labels (at most five). The row counts for a pair
    if the true label is missing there and the wrong label is present.

    Parameters
    ----------
    tagger : Tagger
    texts : sequence of str
    labels : sequence of lists of names
        The true labels. Labels that the tagger has not learned are left out.
    n : int
        Number of pairs.
    """
    pairs: Counter[tuple[int, int]] = Counter()
    where: dict[tuple[int, int], list[int]] = defaultdict(list)
    ranked = tagger.rank_arrays(texts, DEPTH).indices.tolist()
    indptr, ids = tagger.ranker.labels_.known(labels)
    for row, first in enumerate(ranked):
        true = set(ids[indptr[row] : indptr[row + 1]].tolist())
        first = [label for label in first[: len(true)] if label >= 0]
        for missed in sorted(true.difference(first)):
            for given in first:
                if given not in true:
                    pairs[missed, given] += 1
                    where[missed, given].append(row)
    names, counts = tagger.ranker.labels_.names, tagger.label_counts
    trained = [(pair, rows) for pair, rows in pairs.items() if counts[pair[0]] > 0]
    trained.sort(key=lambda item: (-item[1], item[0]))
    confusions = []
    for (missed, given), rows in trained[:n]:
        examples = [texts[row] for row in where[missed, given][:EXPLAINED]]
        words = contested_words(tagger, examples, names[missed], names[given])
        confusions.append(Confusion(tagger.name_of(names[missed]), tagger.name_of(names[given]), rows, words))
    return confusions


def contested_words(tagger: "Tagger", texts: Sequence[Text], true: Any, given: Any) -> list[tuple[str, float, float]]:
    """Return the words of texts that vote most for both labels, then those that favour the wrong label."""
    votes: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for text in texts:
        for side, label in enumerate((true, given)):
            for word in tagger.explain(text, label).words:
                votes[word.word][side] += word.vote
    both = sorted((-min(of), word) for word, of in votes.items() if min(of) > 0)
    rest = sorted((-(of[1] - of[0]), word) for word, of in votes.items() if min(of) <= 0 and of[1] > of[0])
    words: list[str] = []
    for _, term in both + rest:
        if not any(set(term.split()) & set(other.split()) for other in words):  # no shared words
            words.append(term)
    return [(word, votes[word][0], votes[word][1]) for word in words[:WORDS]]


def confusion_figures(confusions: Sequence[Confusion]) -> list[dict[str, Any]]:
    """Return each pair as a plain row."""
    keys = ("word", "votes_for_true", "votes_for_given")
    return [
        {
            "true": pair.true,
            "given": pair.given,
            "rows": pair.rows,
            "words": [dict(zip(keys, word, strict=True)) for word in pair.words],
        }
        for pair in confusions
    ]


def confused_pairs(confusions: Sequence[Confusion], *, ax: "Axes | None" = None) -> "Axes":
    """Plot the most confused pairs of labels with the words that cause the confusion.

    Parameters
    ----------
    confusions : sequence of Confusion
        The result of `find_confusions`.
    ax : Axes, optional
    """
    return draw_confused_pairs(confusion_figures(confusions), ax)


def draw_confused_pairs(rows: list[dict[str, Any]], ax: "Axes | None" = None) -> "Axes":
    """Plot the result of `confusion_figures`."""
    ax, theme = style_axes(
        ax,
        "Confused labels",
        y="rows that miss a label and have another one instead: words that vote for both",
        size=(8.6, 1.1 + 0.46 * max(len(rows), 1)),
    )
    ax.grid(False)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    y = np.arange(len(rows))[::-1]
    most = max((row["rows"] for row in rows), default=1)
    ax.barh(y, [row["rows"] for row in rows], height=0.4, color=theme.lines[0])
    for at, row in zip(y.tolist(), rows, strict=True):
        count = f"{row['rows']:,} rows" if row["rows"] != 1 else "1 row"
        words = ", ".join(shorten(word["word"], 18) for word in row["words"])
        text = f"{count}: {escape_math(words)}" if words else count
        beside = annotate_near(ax, text, (row["rows"], at), (5, 0), va="center", color=theme.text, fontsize="small")
        beside.set_in_layout(False)  # otherwise long words would take the whole width
    for at, row in zip(y.tolist(), rows, strict=True):
        for text, up, color in (
            (shorten(row["true"]), 6.5, theme.text),
            (f"given: {shorten(row['given'])}", -6.5, theme.muted),
        ):
            style = {"ha": "right", "va": "center", "color": color, "fontsize": "small", "annotation_clip": False}
            annotate_near(ax, escape_math(text), (0, at), (-6, up), **style)
    ax.set_yticks([])
    ax.set(xlim=(0, 2.6 * most), ylim=(-0.6, len(rows) - 0.4))
    return ax
