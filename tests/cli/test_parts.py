"""Sizes, held-out rows, forecasts, chunks, progress, bars."""

import doctest
import importlib
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from abound.cli import progress as progress_module
from abound.cli.common import emit, parse_size, sentence, show_size, wants_json
from abound.cli.explain import coloured
from abound.cli.holdout import Holdout, parse_holdout
from abound.cli.inputs import Inputs, chunks
from abound.cli.memory import Point, available_memory, forecast, growth_exponent
from abound.cli.progress import Progress, describe
from abound.cli.reading import Reading
from abound.cli.tables import bar
from abound.plots.colouring import strengths


@pytest.mark.parametrize("name", ["common", "holdout", "memory", "option_groups", "progress", "tables"])
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"abound.cli.{name}")).failed == 0


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("300M", 300 * 2**20),
        ("2G", 2**31),
        ("1.5g", 3 * 2**29),
        ("10KB", 10240),
        ("1 MiB", 2**20),
        ("7", 7),
        ("1T", 2**40),
    ],
)
def test_sizes_are_read(text: str, n_bytes: int) -> None:
    assert parse_size(text) == n_bytes


@pytest.mark.parametrize("text", ["", "M", "-3M", "0", "3X", "300 M M", "0.1"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a size must be a number with K, M, G or T after it"):
        parse_size(text)


def test_sizes_are_shown() -> None:
    assert [show_size(n) for n in (0, 1023, 1024, 300 * 2**20, 3 * 2**40)] == [
        "0 B", "1023 B", "1.0 KiB", "300 MiB", "3.0 TiB",
    ]  # fmt: skip


def test_every_twentieth_row_is_held_out() -> None:
    rule = parse_holdout("every:20")
    assert [row for row in range(100) if rule.holds(row)] == [row for row in range(100) if row % 20 == 19]


@pytest.mark.parametrize("share", ["0.1", "0.15", "1/3", "0.999"])
def test_a_share_is_spread_evenly(share: str) -> None:
    rule, exact = parse_holdout(f"share:{share}"), Fraction(share)
    held = 0
    for row in range(2000):
        held += rule.holds(row)
        assert held == int((row + 1) * exact)


def test_nothing_is_held_out_without_a_rule(tmp_path: Path) -> None:
    assert not any(parse_holdout(None).holds(row) for row in range(50))
    (tmp_path / "test.jsonl").touch()
    assert parse_holdout(str(tmp_path / "test.jsonl")) == Holdout(file=str(tmp_path / "test.jsonl"))


@pytest.mark.parametrize("text", ["every:1", "every:x", "every:", "share:0", "share:1", "share:1/0", "no-file", ""])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="--holdout must be every:N"):
        parse_holdout(text)


@pytest.mark.parametrize("exponent", [0.3, 0.75, 1.0])
def test_a_power_law_is_forecast(exponent: float) -> None:
    points = [Point(rows, round(1e6 * rows**exponent), round(4e6 * rows**exponent)) for rows in (500, 1500, 3500)]
    assert growth_exponent(points) == pytest.approx(exponent, abs=1e-3)
    assert forecast(points, 350_000) == pytest.approx(points[-1].n_bytes * 100**exponent, rel=0.01)


def test_a_forecast_stays_within_reason() -> None:
    assert growth_exponent([Point(10, 5, 1)]) == 1.0
    assert growth_exponent([Point(10, 5, 1), Point(20, 50, 1)]) == 1.0
    assert growth_exponent([Point(10, 5, 1), Point(20, 4, 1)]) == 0.0
    assert growth_exponent([Point(10, 0, 1), Point(20, 4, 1)]) == 1.0
    free = available_memory()
    assert free is None or free > 0


def test_chunks_grow_and_lose_nothing() -> None:
    cut = list(chunks(range(20), 8, 2))
    assert [len(chunk) for chunk in cut] == [2, 4, 8, 6]
    assert [row for chunk in cut for row in chunk] == list(range(20))


def test_the_share_read_follows_the_bytes_of_all_files(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text('{"text": "x", "labels": []}\n' * 10)
    inputs = Inputs([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], Reading())
    shares = [inputs.share() for _ in inputs]
    assert shares == [0.0] * 10 + [1.0] * 10  # a small file is taken in one gulp
    assert inputs.rows == 20
    assert len(list(inputs)) == 20  # and again
    limited = Inputs([str(tmp_path / "a.jsonl")], Reading(limit=5))
    assert len(list(limited)) == 5


def test_progress_says_rate_and_time_left() -> None:
    assert describe(100, 10.0, None) == "100 rows, 10 rows/s"
    assert describe(100, 10.0, 0.001) == "100 rows, 10 rows/s, 0%, 2:46:30 left"


def test_progress_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 4.0, 11.0, 12.0])
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with Progress("learning", lambda: 0.5) as progress:
        for rows in (40, 110, 120):
            progress.update(rows, "P@1 0.5")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "learning: 110 rows, 10 rows/s, 50%, 0:11 left, P@1 0.5\n")


def test_the_speed_of_rows_does_not_include_the_steps_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 4.0, 10.0, 30.0])
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with Progress("training", lambda: None) as progress:
        progress.begin("trial 1 of 2")
        progress.begin("trial 2 of 2")
        progress.update(100)
    assert capsys.readouterr().err == "training: trial 2 of 2\ntraining: 100 rows, 5 rows/s\n"


def test_progress_draws_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress("learning", lambda: 0.5) as progress:
        progress.update(10)
        assert progress.seconds >= 0
    assert capsys.readouterr().out == ""


def test_bars_are_as_long_as_their_scores() -> None:
    assert [len(bar(value, 2.0)) for value in (-1.0, 0.0, 1.0, 2.0, 3.0)] == [0, 0, 10, 20, 20]
    assert bar(1.0, 0.0) == ""


def test_figures_that_do_not_exist_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"a": float("nan"), "b": [float("inf"), 1.5]})
    assert capsys.readouterr().out == '{"a": null, "b": [null, 1.5]}\n'


def test_results_are_tables_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal in (True, False):
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal)
        assert [wants_json(flag) for flag in (None, True, False)] == [not terminal, True, False]


def test_errors_are_one_line() -> None:
    assert sentence(ValueError("two\nlines")) == "two lines"
    assert "--max-memory" in sentence(MemoryError())
    assert sentence(KeyError("x")).startswith("unexpected KeyError: 'x'")


def test_words_are_coloured_by_their_votes() -> None:
    words = [SimpleNamespace(vote=1.0, spans=[(0, 3)]), SimpleNamespace(vote=3.0, spans=[(4, 7)])]
    reason: Any = SimpleNamespace(words=words)
    assert strengths("red car!", reason) == [1.0] * 3 + [0.0] + [3.0] * 3 + [0.0]
    spans = [(span.start, span.end, str(span.style)) for span in coloured("red car!", reason).spans]
    assert spans == [(0, 3, "yellow"), (4, 7, "bold white on green")]
