"""Plot the settings that tuning tried."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from abound.data.extras import require
from abound.plots.style import label_lines, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Setting(Protocol):
    @property
    def values(self) -> Any: ...
    def words(self) -> str: ...


class TriedSetting(Protocol):
    """A setting, the number of rows it learned and its metric, such as an `abound.tuning.Trial`."""

    @property
    def setting(self) -> _Setting: ...  # noqa: D102
    @property
    def n_rows(self) -> int: ...  # noqa: D102
    @property
    def value(self) -> float: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102


def tried_figures(trials: Sequence[TriedSetting], best: _Setting) -> list[dict[str, Any]]:
    """Return each trial as a dictionary."""
    return [
        {
            "setting": dict(trial.setting.values),
            "words": trial.setting.words(),
            "best": trial.setting.values == best.values,
            "rows": trial.n_rows,
            "value": trial.value,
            "seconds": trial.seconds,
        }
        for trial in trials
    ]


def tried_settings(
    trials: Sequence[TriedSetting], best: _Setting, *, measure: str = "P@5", ax: "Axes | None" = None
) -> "Axes":
    """Plot all trials of a tuning: one line per setting, from few to many rows.

    Parameters
    ----------
    trials : sequence of abound.tuning.Trial
        `Tuning.trials`.
    best : abound.tuning.Setting
        `Tuning.best.setting`.
    measure : str
        The name of the metric.
    ax : Axes, optional
    """
    return draw_tried_settings(tried_figures(trials, best), measure, ax)


def draw_tried_settings(rows: list[dict[str, Any]], measure: str = "P@5", ax: "Axes | None" = None) -> "Axes":
    """Plot the result of `tried_figures`."""
    ax, theme = style_axes(ax, "Settings that were tried", x="rows learned", y=f"{measure} on the validation rows")
    lines: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        lines.setdefault(row["words"], []).append(row)
    ends = []
    for words, trials in lines.items():
        trials.sort(key=lambda trial: trial["rows"])
        x, values = [trial["rows"] for trial in trials], [trial["value"] for trial in trials]
        if trials[0]["best"]:
            ax.plot(x, values, "o-", color=theme.lines[1], linewidth=2, markersize=5, zorder=3)
            ends.append((x[-1], values[-1], "\n".join(_folded(words)), theme.lines[1]))
        elif not trials[0]["setting"]:
            ax.plot(x, values, "o-", color=theme.lines[0], linewidth=2, markersize=5, zorder=3)
            ends.append((x[-1], values[-1], words, theme.lines[0]))
        else:
            ax.plot(x, values, "o-", color=theme.muted, linewidth=0.9, markersize=3, alpha=0.55)
    ticker = require("matplotlib.ticker", "plot", "plots")
    ax.set_xscale("log")
    at = sorted({row["rows"] for row in rows})
    ax.set_xticks(at)
    ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    ax.xaxis.set_minor_locator(ticker.NullLocator())
    label_lines(ax, ends, spacing=0.09)
    return ax


def _folded(words: str, width: int = 20) -> list[str]:
    lines: list[str] = []
    for part in words.split(", "):
        if lines and len(lines[-1]) + len(part) + 2 <= width:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    return lines
