"""That every picture draws, in given axes and in new ones, on light and on dark, and what it says."""

import doctest
import importlib
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from abound import Ranking, Tagger, plots
from abound.metrics import calibration_bins, judge
from abound.plots.colouring import ColouredText
from abound.plots.confusions import Confusion
from abound.plots.style import DARK, LIGHT, background, shorten, theme_of
from abound.tagger import LabelQuality, TextExplanation, WordVote
from abound.tuning import Setting, Trial

TRUTH = sp.csr_array([[1, 0, 1], [0, 1, 0]] * 30)
RANKING = Ranking(np.array([[0, 1, 2], [1, 2, 0]] * 30, np.int32), np.array([[3.0, 2.0, 1.0]] * 60), "abc")
TRIALS = [
    Trial(Setting(values), n_rows, value, 0.1)
    for values, n_rows, value in [({}, 9, 0.1), ({}, 90, 0.2), ({"passes": 2}, 9, 0.2), ({"passes": 2}, 90, 0.3)]
]
EXPLANATION = TextExplanation("t<ag", 1.5, [WordVote("b<b", 3.0, [(2, 5)]), WordVote("cc", -1.5, [(6, 8)])])
LABELS = [
    LabelQuality("costs $5", None, 40, 10, 0.5, 0.1, 0.2, 0.3, "b", 7),
    LabelQuality("b", "Beta", 1_000, 900, 0.9, 0.8, 0.85, 0.9, None, 0),
    LabelQuality("never true", None, 0, 3, 0.0, None, 0.0, None, None, 0),
]
BINS = calibration_bins(np.linspace(0, 1, 100), np.linspace(0, 1, 100) > 0.5, 4)
PICTURES = {
    "precision_at_k": lambda ax: plots.precision_at_k(TRUTH, RANKING, ax=ax),
    "precision_recall": lambda ax: plots.precision_recall(TRUTH, RANKING, ax=ax),
    "label_frequency": lambda ax: plots.label_frequency(TRUTH, RANKING, np.array([1, 5, 20_000]), ax=ax),
    "learning_curve": lambda ax: plots.learning_curve(TRUTH, RANKING, measures=["P@1", "P@3"], ax=ax),
    "accuracy_by_memory": lambda ax: plots.accuracy_by_memory(
        [(1, 2**20, judge(TRUTH, RANKING)), (5, 2**22, judge(TRUTH, RANKING))], measure="P@1", ax=ax
    ),
    "confused_pairs": lambda ax: plots.confused_pairs(
        [Confusion("costs $5 to $6", "x" * 90, 1_200, [("a_b^c", 1.0, 2.0)]), Confusion("a", "b", 1, [])], ax=ax
    ),
    "explanations": lambda ax: plots.explanations(
        [ColouredText("a $b$ c\nd", EXPLANATION, "t")], notes=["wrong"], ax=ax
    ),
    "label_quality": lambda ax: plots.label_quality(LABELS, ax=ax),
    "reliability_diagram": lambda ax: plots.reliability_diagram(BINS, ax=ax),
    "tried_settings": lambda ax: plots.tried_settings(TRIALS, Setting({"passes": 2}), ax=ax),
}


@pytest.fixture(autouse=True, scope="module")
def headless():
    mpl.use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def texts_of(ax):
    ax.figure.draw_without_rendering()
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("dark", [False, True])
def test_every_picture_draws_in_given_axes_and_in_the_colours_of_their_background(name, dark, tmp_path):
    theme = DARK if dark else LIGHT
    with background(dark):
        ax = Figure(layout="constrained").subplots()
    assert PICTURES[name](ax) is ax
    used = {line.get_color() for line in ax.lines} | {mpl.colors.to_hex(patch.get_facecolor()) for patch in ax.patches}
    if name != "explanations":  # which has colours of its own, for and against
        assert {color.lower() for color in used} & {color.lower() for color in theme.lines}
    assert ax.get_title(loc="left")
    assert texts_of(ax)
    ax.figure.savefig(tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 5_000


def test_without_axes_a_new_figure_is_drawn():
    first, second = (PICTURES["precision_at_k"](None) for _ in range(2))
    assert first.figure is not second.figure
    assert "recall 1.000" in texts_of(first)


def test_what_the_pictures_say():
    new = Figure
    said = texts_of(PICTURES["confused_pairs"](new().subplots()))
    assert "1,200 rows: a_b^c" in said
    assert "1 row" in said
    assert r"costs \$5 to \$6" in said
    assert any("…" in text and len(text) < 50 for text in said)
    assert "the defaults" in texts_of(PICTURES["tried_settings"](new().subplots()))
    ax = PICTURES["label_frequency"](new().subplots())
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1\n30", "4\n30", "16k\n30"]
    assert any("best F1" in text for text in texts_of(PICTURES["precision_recall"](new().subplots())))
    said = texts_of(PICTURES["label_quality"](new().subplots()))
    assert said[-2:] == ["Beta", r"costs \$5"]
    assert texts_of(plots.label_quality(LABELS[2:], ax=new().subplots()))[-1] == "no text has a label"
    said = texts_of(PICTURES["reliability_diagram"](new().subplots()))
    assert "calibration error 0.2475\n4 groups of 100 labels in all" in said
    nothing = plots.precision_recall(
        TRUTH, Ranking(RANKING.indices * 0 - 1, RANKING.scores, "abc"), ax=new().subplots()
    )
    assert "no ranked label is true" in texts_of(nothing)


def test_names_of_lines_do_not_overlap():
    from abound.plots.style import label_lines

    ax = Figure().subplots()
    ax.set_ylim(0, 1)
    label_lines(ax, [(1, 0.5, "a", "k"), (1, 0.501, "b", "k"), (1, 0.502, "c", "k")], spacing=0.05)
    heights = sorted(text.xy[1] for text in ax.texts)
    assert np.diff(heights).min() >= 0.05 - 1e-9


def luminance(color):
    parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_colours_stand_out_from_their_background(theme):
    def contrast(color):
        bright, dim = sorted((luminance(color), luminance(theme.background)), reverse=True)
        return (bright + 0.05) / (dim + 0.05)

    assert min(map(contrast, (theme.text, theme.muted))) >= 4.5  # what WCAG asks of text
    assert min(map(contrast, theme.lines[:3])) >= 3.0  # and of lines


def test_the_background_that_is_there_decides():
    ax = Figure(facecolor="black").subplots()
    ax.set_facecolor("none")
    assert theme_of(ax) is DARK
    ax.set_facecolor("white")
    assert theme_of(ax) is LIGHT


def test_long_names_keep_both_ends():
    assert shorten("short") == "short"
    assert shorten("a" * 30 + "b" * 30, 20) == "a" * 12 + "…" + "b" * 8


def test_an_explanation_is_escaped_html():
    shown = ColouredText("a b<b cc", EXPLANATION, "t<ag")
    assert shown.runs() == [("a ", 0), ("b<b", 4), (" ", 0), ("cc", -2)]
    page = shown._repr_html_()
    assert "b&lt;b</span>" in page
    assert "<strong>t&lt;ag</strong> 1.5000" in page
    assert "<b" not in page.replace("<body", "")
    assert page.count("rgba(0,114,178,0.60)") == 1
    assert page.count("rgba(230,125,0,0.30)") == 1


def test_an_explanation_has_a_terminals_colours(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = ColouredText("a b<b cc", EXPLANATION, "t")
    assert "\x1b[48;5;25;38;5;231mb<b\x1b[0m \x1b[48;5;215;38;5;16mcc\x1b[0m" in str(shown)
    monkeypatch.setenv("NO_COLOR", "1")
    assert str(shown) == "t 1.5000\na b<b cc"


def test_explained_texts_are_folded_and_cut():
    from abound.plots.explained import COLUMNS, MAX_LINES, wrapped

    assert wrapped([("one two", 0), (" three", 2)]) == [[("one two", 0), (" three", 2)]]
    lines = wrapped([("word " * 200, 0), ("last", 4)])
    assert len(lines) == MAX_LINES
    assert all(sum(len(piece) for piece, _ in line) <= COLUMNS for line in lines)
    assert lines[-1][-1][0].endswith("…")
    assert wrapped([("x" * 300, 1)]) == [[("x" * COLUMNS, 1)]]


def test_the_best_label_is_explained_if_none_is_given():
    tagger = Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])
    assert plots.coloured_text(tagger, "apple").name == "fruit"
    assert plots.coloured_text(tagger, "apple car", "vehicle").explanation.label == "vehicle"
    with pytest.raises(ValueError, match="no word of the text votes"):
        plots.coloured_text(tagger, "zzz")


def test_public_names_can_be_had_again_and_again():
    for _ in range(2):  # a module of the same name as a function would take its place at the second time
        for name in plots.__all__:
            assert callable(getattr(plots, name)), name
    assert dir(plots) == sorted(plots.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'pie'"):
        _ = plots.pie


def test_matplotlib_is_imported_late_and_missed_in_one_sentence(monkeypatch):
    command = "import sys, abound.plots; abound.plots.precision_at_k; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", command], check=True)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plots need matplotlib: pip install 'abound\[plot\]'"):
        plots.precision_at_k(TRUTH, RANKING)


@pytest.mark.parametrize("name", ["colouring", "explained", "progressive", "ranks", "style"])
def test_examples_in_docstrings(name):
    tested = doctest.testmod(importlib.import_module(f"abound.plots.{name}"))
    assert tested.attempted
    assert tested.failed == 0
