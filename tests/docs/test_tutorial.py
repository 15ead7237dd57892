"""The pictures and the recording of the tutorial show what the library does."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from abound import Tagger
from docs_build import terminal

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
PAGE = ROOT / "docs" / "tutorials" / "abound-101.md"
SESSION = [("echo a", "a  \n  seconds   9\nb\n"), ("echo c", "c <d>\n")]


def test_the_votes_of_a_picture_sum_to_the_score() -> None:
    tutorial = pytest.importorskip("docs_build.tutorial", reason="matplotlib is not installed")
    tagger = Tagger().fit(["one red apple and a very small green pear", "a fast car"] * 3, [["fruit"], ["vehicle"]] * 3)
    text = "one red apple and a very small green pear in a car"
    found = tutorial.votes(tagger, text, "fruit")
    assert len(found) == tutorial.N_WORDS + 2
    assert sum(found.values()) == pytest.approx(tagger.explain(text, "fruit").score)


def test_the_stored_recording_has_the_commands_and_ends_with_the_corrected_ranking() -> None:
    head, *events = (json.loads(line) for line in (IMAGES / "101-terminal.cast").read_text().splitlines())
    shown = "".join(text for _, _, text in events)
    assert head["version"] == 2
    assert [event[0] for event in events] == sorted(event[0] for event in events)
    parts = shown.split(terminal.SHELL_PROMPT)[1:]
    assert len(parts) == len(terminal.COMMANDS)
    for command, part in zip(terminal.COMMANDS, parts, strict=True):
        assert part.replace("\r\n", "").startswith(command)
    assert "1   chess " in parts[1]
    assert "1   beekeeping " in parts[3]


def test_a_session_becomes_lines_in_order_of_time_without_durations() -> None:
    lines = terminal.timed(SESSION)
    assert [line.text for line in lines] == ["$ echo a", "a", "b", "", "$ echo c", "c <d>"]
    assert [line.typed for line in lines] == [True, False, False, False, True, False]
    assert [line.seconds for line in lines] == sorted(line.seconds for line in lines)


def test_the_picture_has_every_line_and_no_motion_for_those_who_want_none() -> None:
    for text in (terminal.svg(terminal.timed(SESSION)), (IMAGES / "101-terminal.svg").read_text()):
        assert "prefers-reduced-motion:no-preference" in text.partition("@keyframes")[0]
        assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314  our own file
    tree = ET.fromstring(terminal.svg(terminal.timed(SESSION)))  # noqa: S314
    assert [one.text or "" for one in tree.iter("{http://www.w3.org/2000/svg}text")][-1] == "c <d>"


def test_each_picture_of_the_page_has_a_light_and_a_dark_form() -> None:
    page = PAGE.read_text()
    for name in ("labels", "votes", "correction"):
        for form in ("light", "dark"):
            assert f"101-{name}-{form}.png#only-{form}" in page
            assert (IMAGES / f"101-{name}-{form}.png").exists()
