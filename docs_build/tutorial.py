"""Draw the pictures of the tutorial "abound 101" from a model of examples/finna: python -m docs_build.tutorial.

Each picture is drawn twice, for a light and for a dark page.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from abound import Tagger

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
TITLES = ROOT / "examples" / "finna" / "titles.jsonl"
TEXT = "Whales and the pollution of the sea"
CORRECTED = "A beginner's guide to beekeeping"
N_WORDS = 6  # in a picture of votes


class Colours(NamedTuple):
    """The colours of a picture on a light or a dark page."""

    ink: str
    faint: str
    right: str
    wrong: str


# Okabe and Ito's colours, lighter on a dark page.
FORMS = {
    "light": Colours("#222222", "#8a8a8a", "#0072B2", "#D55E00"),
    "dark": Colours("#e6e6e6", "#9a9a9a", "#56B4E9", "#E69F00"),
}


def read_titles() -> tuple[list[str], list[list[str]]]:
    """Return the texts and their labels."""
    rows = [json.loads(line) for line in TITLES.read_text().splitlines()]
    return [row["text"] for row in rows], [row["labels"] for row in rows]


def votes(tagger: Tagger, text: str, label: str) -> dict[str, float]:
    """Return the largest votes for a label by size, the sum of the others, and the bias; they sum to the score."""
    found = tagger.explain(text, label)
    ordered = sorted(found.words, key=lambda word: -abs(word.vote))
    shown = {word.word: word.vote for word in ordered[:N_WORDS]}
    return {**shown, "other words": sum(word.vote for word in ordered[N_WORDS:]), "(bias)": found.prior}


def draw_labels(labels: list[list[str]], colours: Colours) -> Any:
    """Draw how many titles each of the most frequent labels has."""
    counts: dict[str, int] = {}
    for names in labels:
        for name in set(names):
            counts[name] = counts.get(name, 0) + 1
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    shown = [*ordered[:8], ("...", 0), *ordered[-4:]]
    figure, axes = plt.subplots(figsize=(7, 3.4))
    axes.barh(range(len(shown)), [count for _, count in shown], color=colours.right)
    for place, (name, count) in enumerate(shown):
        axes.text(count + 0.8, place, str(count) if count else "", va="center", fontsize=9)
        axes.text(-1, place, name, va="center", ha="right", fontsize=9)
    axes.set(yticks=[], xlabel="titles with this label")
    axes.invert_yaxis()
    return figure


def draw_votes(found: dict[str, dict[str, float]], colours: Colours) -> Any:
    """Draw votes as bars, one panel per title."""
    figure, panels = plt.subplots(1, len(found), figsize=(8, 2.9), squeeze=False)
    most = max(abs(vote) for one in found.values() for vote in one.values())
    for axes, (title, one) in zip(panels[0], found.items(), strict=True):
        names, values = list(one), list(one.values())
        axes.barh(names, values, color=[colours.right if value >= 0 else colours.wrong for value in values])
        axes.axvline(0, color=colours.faint, linewidth=0.8)
        axes.set_title(f"{title}: {sum(values):.2f}", fontsize=10, color=colours.ink)
        axes.set_xlim(-0.2 * most, 1.25 * most)
        for place, value in enumerate(values):
            axes.text(max(value, 0) + 0.02 * most, place, f"{value:+.2f}", va="center", fontsize=8)
        axes.tick_params(length=0, labelsize=9)
        axes.invert_yaxis()
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
    figure.tight_layout()
    return figure


def pictures() -> dict[str, Callable[[Colours], Any]]:
    """Fit the model and return the pictures by name."""
    texts, labels = read_titles()
    tagger = Tagger().fit(texts, labels)
    why = {label: votes(tagger, TEXT, label) for label in ("whales", "pollution")}
    before = {"chess, before": votes(tagger, CORRECTED, "chess")}
    tagger.learn(CORRECTED, ["beekeeping"], wrong=["chess"])
    after = {f"{label}, after": votes(tagger, CORRECTED, label) for label in ("chess", "beekeeping")}
    return {
        "101-labels": lambda colours: draw_labels(labels, colours),
        "101-votes": lambda colours: draw_votes(why, colours),
        "101-correction": lambda colours: draw_votes({**before, **after}, colours),
    }


def main() -> None:
    """Draw each picture for light and dark pages."""
    for name, draw in pictures().items():
        for form, colours in FORMS.items():
            style = {"text.color": colours.ink, "axes.labelcolor": colours.ink, "xtick.color": colours.ink}
            style |= {"ytick.color": colours.ink, "axes.edgecolor": colours.faint}
            style |= {f"axes.spines.{side}": False for side in ("top", "right", "left")}
            with mpl.rc_context(style):
                figure = draw(colours)
                path = IMAGES / f"{name}-{form}.png"
                figure.savefig(path, dpi=130, bbox_inches="tight", transparent=True, metadata={"Software": None})
                plt.close(figure)


if __name__ == "__main__":
    main()
