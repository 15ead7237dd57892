"""The style of the plots: two backgrounds, colours for colour-blind readers, names beside the lines."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from abound.data.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 6.6, 4.2  # inches
Inches = tuple[float, float]
DPI = 150
Z = 1.96  # standard errors on each side of a 95% interval
LONGEST_NAME = 34  # characters of a label's name


@dataclass(frozen=True)
class Theme:
    """Colours for one background; `lines` are those of Okabe and Ito that contrast with it."""

    background: str
    text: str
    muted: str
    grid: str
    lines: tuple[str, ...]


LIGHT = Theme("#ffffff", "#1b1b1b", "#6b6b6b", "#e4e4e4", ("#0072B2", "#D55E00", "#00795a", "#8a5a7a"))
DARK = Theme("#16181d", "#ececec", "#9aa0a6", "#32363d", ("#56B4E9", "#E69F00", "#2fc79b", "#CC79A7"))


def settings(dark: bool) -> dict[str, Any]:
    """Return the parameters of matplotlib for a background."""
    theme = DARK if dark else LIGHT
    return {
        "figure.facecolor": theme.background,
        "axes.facecolor": theme.background,
        "savefig.facecolor": theme.background,
        "text.color": theme.text,
        "axes.labelcolor": theme.text,
        "axes.titlecolor": theme.text,
        "axes.edgecolor": theme.muted,
        "xtick.color": theme.muted,
        "ytick.color": theme.muted,
        "font.size": 10,
    }


@contextmanager
def background(dark: bool = False) -> Iterator[None]:
    """Use a light or a dark background for new figures in this context."""
    with require("matplotlib", "plot", "plots").rc_context(settings(dark)):
        yield


def theme_of(ax: "Axes") -> Theme:
    """Return the colours for the background of axes."""
    colors = require("matplotlib.colors", "plot", "plots")
    red, green, blue, alpha = colors.to_rgba(ax.get_facecolor())
    if alpha < 0.5:  # the figure shows through transparent axes
        red, green, blue, _ = colors.to_rgba(ax.get_figure(root=False).get_facecolor())  # type: ignore[union-attr]
    return DARK if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5 else LIGHT


def axes_or_new(ax: "Axes | None", size: Inches) -> "Axes":
    """Return the given axes, or those of a new figure, which a notebook shows."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", "plot", "plots")
    new: Axes = pyplot.subplots(figsize=size, layout="constrained")[1]
    return new


def style_axes(
    ax: "Axes | None", title: str, *, x: str = "", y: str = "", grid: str = "y", size: Inches = (WIDTH, HEIGHT)
) -> "tuple[Axes, Theme]":
    """Set title, axis names and grid of axes, or of a new figure, and remove unnecessary lines."""
    ax = axes_or_new(ax, size)
    theme = theme_of(ax)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(length=0, colors=theme.muted)
    ax.grid(axis=grid, color=theme.grid, linewidth=0.8)  # type: ignore[arg-type]
    ax.set_axisbelow(True)
    ax.set_title(title, loc="left", fontweight="bold", pad=20 if y else 8)
    if y:  # horizontal, above the axis
        above: dict[str, Any] = {"xycoords": "axes fraction", "xytext": (0, 5), "textcoords": "offset points"}
        words = ax.annotate(y, (0, 1), **above, color=theme.muted, ha="left", va="bottom", fontsize="small")
        words.set_in_layout(False)  # the padding of the title leaves space for it
    ax.set_xlabel(x, color=theme.muted)
    return ax, theme


def annotate_near(ax: "Axes", text: str, at: tuple[float, float], offset: tuple[float, float], **style: Any) -> Any:
    """Write a text near a point, with an offset in points."""
    return ax.annotate(text, at, xytext=offset, textcoords="offset points", **style)


def draw_band(ax: "Axes", x: Sequence[float], low: Sequence[float], high: Sequence[float], color: str) -> None:
    """Draw the intervals around a line."""
    ax.fill_between(x, low, high, color=color, alpha=0.22, linewidth=0)


def label_lines(ax: "Axes", ends: Sequence[tuple[float, float, str, str]], *, spacing: float = 0.055) -> None:
    """Write names at the ends of lines, each (x, y, name, colour), and move them apart if they overlap."""
    low, high = ax.get_ylim()
    placed: list[float] = []
    for x, y, name, color in sorted(ends, key=lambda end: end[1]):
        at = max(y, placed[-1] + spacing * (high - low)) if placed else y
        placed.append(at)
        annotate_near(ax, name, (x, at), (6, 0), color=color, va="center", annotation_clip=False)


def thousands(ax: "Axes", axis: str = "x") -> None:
    """Format the numbers of an axis with thousands separators."""
    ticker = require("matplotlib.ticker", "plot", "plots")
    getattr(ax, f"{axis}axis").set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """Shorten a name by cutting out its middle, because the end is often more informative.

    Examples
    --------
    >>> shorten("United States -- History -- Civil War, 1861-1865 -- Fiction", 30)
    'United States -- H…5 -- Fiction'
    """
    name = " ".join(name.split())
    if len(name) <= longest + 1:
        return name
    tail = longest * 2 // 5
    return f"{name[: longest - tail]}…{name[-tail:]}"


def escape_math(name: str) -> str:
    """Escape dollar signs, so that matplotlib does not parse formulas."""
    return name.replace("$", r"\$")
