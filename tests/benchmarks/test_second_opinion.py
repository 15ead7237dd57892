"""The guide shows the measured figures of the second opinion, and all of them are of the same code."""

from pathlib import Path

from benchmarks import second_opinion

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "second-opinion.md"


def test_the_guide_shows_the_measured_figures():
    text = GUIDE.read_text()
    shown = text.partition("<!-- table -->\n")[2].partition("<!-- end of the table -->")[0]
    assert shown.strip().split("\n") == second_opinion.table()


def test_all_cells_are_of_the_same_code_and_the_blend_is_not_below_the_better_voter():
    cells = second_opinion.read()["test"]
    assert {key.split(", ")[0] for key in cells} == set(second_opinion.SETS)
    assert len({cell["sources"] for cell in cells.values()}) == 1
    for key, cell in cells.items():
        for metric in ("P@1", "P@3", "P@5"):
            best = max(cell["voters"][voter][metric][0] for voter in ("words", "neighbours"))
            assert cell["voters"]["blend"][metric][0] >= best - 0.002, (key, metric)
