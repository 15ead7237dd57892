"""Draw the pictures of PRank's paper: time-averaged rank loss by round, with 95% bands."""

from pathlib import Path
from typing import Any

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
# Okabe and Ito's colours, which colour-blind people can distinguish; line styles distinguish them in print.
STYLES = {
    "PRank": ("#0072B2", "-"),
    "PRank, mean": ("#009E73", "-."),
    "Widrow-Hoff": ("#E69F00", "--"),
    "multiclass perceptron": ("#D55E00", ":"),
}
PICTURES = {
    "synthetic": [(None, "prank-synthetic", "Synthetic: 100 sequences, kernel (x.x' + 1)²")],
    "jester": [
        ("all", "prank-jester-all", "Jester: all people who rated the joke"),
        ("whole", "prank-jester-whole", "Jester: people who rated every joke"),
    ],
    "movielens": [("all", "prank-movielens", "MovieLens: a viewer from the others")],
}


def draw(command: str, result: dict[str, Any]) -> None:
    """Draw the pictures of a command, if it has any."""
    for part, name, title in PICTURES.get(command, []):
        _draw_curves((result if part is None else result[part])["curves"], title, IMAGES / f"{name}.png")


def _draw_curves(curves: dict[str, Any], title: str, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, curve in curves.items():
        color, style = STYLES[name]
        mean, band = curve["mean"], curve["band"]
        axes.plot(curve["rounds"], mean, style, color=color, label=name)
        low, high = ([m + sign * b for m, b in zip(mean, band, strict=True)] for sign in (-1, 1))
        axes.fill_between(curve["rounds"], low, high, color=color, alpha=0.2, linewidth=0)
    axes.set(xlabel="round", ylabel="rank loss, averaged over the rounds", title=title, xscale="log")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
