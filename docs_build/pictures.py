"""Draw the idea of each algorithm.

python -m docs_build.pictures [NAME ...]
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
# Okabe and Ito's colours, which colour-blind people can distinguish. Green, red and grey are darker than theirs: their
# contrast with white is at least 4.5, so that they can be text and the ground of white text. Orange has dark text.
BLUE, ORANGE, GREEN, RED, GREY, INK = "#0072B2", "#E69F00", "#007D5B", "#B84F00", "#6B6B6B", "#222222"


def empty(width: float, height: float, limits: tuple[float, float, float, float]) -> tuple[Any, Any]:
    """Return a figure with one empty field."""
    figure, field = plt.subplots(figsize=(width, height))
    field.set(xlim=limits[:2], ylim=limits[2:])
    field.axis("off")
    return figure, field


def box(field: Any, x: float, y: float, text: str, color: str) -> None:
    """Draw a word or a label in a box."""
    field.text(
        x, y, text, ha="center", va="center", fontsize=11, color=_text_on(color),
        bbox={"boxstyle": "round,pad=0.4", "facecolor": color, "edgecolor": color, "linewidth": 1.5},
    )  # fmt: skip


def _text_on(color: str) -> str:
    return INK if color == ORANGE else "white"


def feature_focus() -> Any:
    """Draw words that vote for the few labels that they occurred with."""
    figure, field = empty(8, 3.2, (0, 1, 0.06, 1))
    words, labels = {"forest": 0.82, "fires": 0.5, "the": 0.18}, {"forest fires": 0.82, "forests": 0.5, "history": 0.18}
    edges = [
        ("forest", "forests", 0.55), ("forest", "forest fires", 0.30), ("fires", "forest fires", 0.70),
        ("fires", "history", 0.05), ("the", "history", 0.03), ("the", "forests", 0.02),
    ]  # fmt: skip
    for word, label, weight in edges:
        faint = weight < 0.1
        field.plot([0.15, 0.70], [words[word], labels[label]], color=GREY if faint else BLUE, lw=1 + 9 * weight,
                   ls=":" if faint else "-", alpha=0.75, solid_capstyle="round", zorder=1)  # fmt: skip
        at = 0.35 if not faint else 0.66
        field.text(0.15 + 0.55 * at, words[word] + (labels[label] - words[word]) * at, f"{weight:.2f}", fontsize=9,
                   ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
    for word, y in words.items():
        box(field, 0.15, y, word, ORANGE)
    for label, y in labels.items():
        total = sum(weight for _, to, weight in edges if to == label)
        box(field, 0.70, y, label, GREEN)
        field.text(0.82, y, f"score {total:.2f}", va="center", fontsize=11, color=INK)
    field.text(0.15, 0.98, "words of the text", ha="center", fontsize=10, color=GREY)
    field.text(0.42, 0.98, "shares of its labels", ha="center", fontsize=10, color=GREY)
    field.text(0.72, 0.98, "labels with votes", ha="center", fontsize=10, color=GREY)
    return figure


def cascade() -> Any:
    """Draw ratings, which scale all votes of a word, and corrections, which change single edges."""
    figure, fields = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
    votes = {"counts alone": ((0.18, 0.34), (0.14, 0.04)), "with ratings": ((0.08, 0.13), (0.30, 0.07)),
             "and corrections": ((0.08, 0.05), (0.34, 0.07))}  # fmt: skip
    for field, (title, (guide, roses)) in zip(fields, votes.items(), strict=True):
        bottoms = [0.0, 0.0]
        for word, values, color in (("guide", guide, ORANGE), ("roses", (roses[0], roses[1]), BLUE)):
            field.bar(["gardening", "travel"], values, bottom=bottoms, color=color, label=word, width=0.6)
            bottoms = [a + b for a, b in zip(bottoms, values, strict=True)]
        field.set_title(title, fontsize=11)
        field.spines[["top", "right"]].set_visible(False)
        right = bottoms[0] > bottoms[1]
        field.text(0, bottoms[0] + 0.01, "right" if right else "", ha="center", color=GREEN, fontsize=10)
        field.set_ylim(0, 0.48)  # room for the word above the highest bar
    fields[0].set_ylabel("score of 'A guide to roses'")
    fields[-1].legend(title="vote of", frameon=False)
    figure.tight_layout()
    return figure


def mmp() -> Any:
    """Draw wrong pairs: each moves the relevant label up and the other one down."""
    figure, field = empty(8, 3.6, (0, 10, -1.2, 4.2))
    before = [("a", 8.2, False), ("ships", 6.4, True), ("b", 5.0, False), ("whales", 3.0, True), ("c", 1.5, False)]
    after = {"a": 6.2, "ships": 8.0, "b": 3.6, "whales": 5.2, "c": 1.5}
    for y, title in ((2.2, "before"), (0.0, "after")):
        field.annotate("", (9.8, y), (0.3, y), arrowprops={"arrowstyle": "->", "color": GREY})
        field.text(0.2, y, title, ha="right", va="center", fontsize=10, color=GREY)
    for label, x, relevant in before:
        color = GREEN if relevant else GREY
        box(field, x, 2.2, label, color)
        box(field, after[label], 0.0, label, color)
        field.annotate("", (after[label], 0.42), (x, 1.75), arrowprops={"arrowstyle": "->", "color": color, "lw": 1.5})
    for left, right, height in ((6.4, 8.2, 0.55), (3.0, 8.2, 0.95), (3.0, 5.0, 0.55)):
        curve = f"arc3,rad=-{height / 2.6:.2f}"
        field.annotate("", (right, 2.55), (left, 2.55),
                       arrowprops={"arrowstyle": "-", "color": RED, "lw": 1.6, "connectionstyle": curve})  # fmt: skip
    field.text(9.8, 3.6, "3 wrong pairs", ha="right", color=RED, fontsize=10)
    field.text(9.8, -0.75, "score", ha="right", color=GREY, fontsize=10)
    field.text(0.3, -0.9, "green: labels of the text", color=GREEN, fontsize=10)
    return figure


def prank() -> Any:
    """Draw a score on the wrong side of thresholds: both move towards each other."""
    figure, field = empty(8, 3.2, (0, 10, -0.8, 3.2))
    names, before, after = ("poor", "fair", "good", "superb"), (2.0, 4.5, 7.0), (2.0, 3.7, 6.2)
    for y, cuts, score in ((2.2, before, 3.4), (0.2, after, 5.0)):
        field.plot([0.3, 9.7], [y, y], color=GREY, lw=2, zorder=1)
        ends = (0.3, *cuts, 9.7)
        for i, name in enumerate(names):
            shift = 0.65 if y < 1 and name == "good" else 0.0  # beside the arrow's head
            field.text((ends[i] + ends[i + 1]) / 2 + shift, y + 0.28, name, ha="center", fontsize=10, color=GREY)
        for i, cut in enumerate(cuts):
            field.plot([cut, cut], [y - 0.2, y + 0.2], color=BLUE, lw=3)
            field.text(cut, y - 0.5, f"$b_{i + 1}$", ha="center", fontsize=11, color=BLUE)
        field.plot(score, y, "o", color=RED, ms=12, zorder=3)
    for i in (1, 2):
        field.annotate(
            "", (after[i], 0.85), (before[i], 1.45), arrowprops={"arrowstyle": "->", "color": BLUE, "lw": 1.5}
        )
    field.annotate("", (5.0, 0.45), (3.4, 1.95), arrowprops={"arrowstyle": "->", "color": RED, "lw": 1.5})
    field.text(3.4, 2.78, "score w·x: ranked fair", ha="center", color=RED, fontsize=10)
    field.text(9.7, 2.95, "the truth: superb", ha="right", color=INK, fontsize=10)
    field.text(5.0, -0.62, "one step later: good", ha="center", color=RED, fontsize=10)
    return figure


def svm_map() -> Any:
    """Draw two rankings with the same number of wrong pairs and different average precision: the top counts more."""
    figure, field = empty(8, 2.9, (0, 10, -0.4, 3.2))
    rankings = {"average precision 0.67": "RNNNRR", "average precision 0.48": "NRNRNR"}
    rankings = {f"average precision {_average_precision(r):.2f}": r for r in rankings.values()}
    for y, (title, ranking) in zip((2.1, 0.6), rankings.items(), strict=True):
        for place, kind in enumerate(ranking):
            color = GREEN if kind == "R" else GREY
            box(field, 1.0 + 1.05 * place, y, str(place + 1), color)
        wrong = sum(ranking[:i].count("N") for i, kind in enumerate(ranking) if kind == "R")
        field.text(7.3, y + 0.2, title, va="center", fontsize=11, color=INK)
        field.text(7.3, y - 0.25, f"{wrong} wrong pairs", va="center", fontsize=10, color=RED)
    field.text(0.6, 2.95, "a ranking, best first; green documents are relevant", fontsize=10, color=GREY)
    return figure


def _average_precision(ranking: str) -> float:
    found = [ranking[: i + 1].count("R") / (i + 1) for i, kind in enumerate(ranking) if kind == "R"]
    return sum(found) / len(found)


def path() -> Any:
    """Draw the path of one document, and of a correction back."""
    figure, field = empty(10, 2.5, (0, 10, 0, 2.5))
    steps = ("text", "words\nand pairs", "rated votes\nof the index", "ranked\nlabels", "a person")
    for i, (step, color) in enumerate(zip(steps, (ORANGE, ORANGE, BLUE, GREEN, INK), strict=True)):
        field.text(1 + 2 * i, 1.5, step, ha="center", va="center", color=_text_on(color), fontsize=12,
                   bbox={"boxstyle": "round,pad=0.5", "facecolor": color, "edgecolor": "none"})  # fmt: skip
        if i:
            field.annotate(
                "",
                (1 + 2 * i - 0.72, 1.5),
                (2 * i - 0.28, 1.5),
                arrowprops={"arrowstyle": "->", "lw": 2, "color": GREY},
            )
    curve = {"arrowstyle": "->", "lw": 2, "color": RED, "connectionstyle": "arc3,rad=-0.25"}
    field.annotate("", (5.0, 0.95), (9.0, 1.1), arrowprops=curve)
    field.text(7.0, 0.25, "right, wrong and new labels are learned", ha="center", color=RED, fontsize=12)
    field.text(7.0, 2.2, "with the words that voted", ha="center", color=GREY, fontsize=11)
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "idea-cascade": cascade,
    "idea-feature-focus": feature_focus,
    "idea-mmp": mmp,
    "idea-path": path,
    "idea-prank": prank,
    "idea-svm-map": svm_map,
}


def main() -> None:
    """Draw the named pictures, or all."""
    for name in sys.argv[1:] or PICTURES:
        figure = PICTURES[name]()
        figure.savefig(IMAGES / f"{name}.png", dpi=110, bbox_inches="tight", metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
