"""Record a terminal session by running its commands: python -m docs_build.terminal.

It writes docs/images/101-terminal.cast, which any player of the asciicast format (version 2) shows, and
docs/images/101-terminal.svg, which a browser shows without a script. The output is that of the commands themselves.
The time between lines is set here, and lines with times are left out, because they depend on the machine.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
NAME = "101-terminal"
COLUMNS, SHELL_PROMPT = 84, "$ "
TYPING, PAUSE, LINE = 0.015, 0.5, 0.05  # seconds per key, after a command, and per line
COMMANDS = (
    "abound fit examples/finna/titles.jsonl --model subjects --table",
    'abound rank subjects "A beginner\'s guide to beekeeping" -k 3 --table',
    'abound learn subjects --text "A beginner\'s guide to beekeeping" --label beekeeping --wrong chess --table',
    'abound rank subjects "A beginner\'s guide to beekeeping" -k 2 --table',
)
TIMES = ("  seconds ", "  rows/s ")
FONT, HEIGHT, WIDTH, MARGIN = 14, 19, 8.4, 16  # pixels


class Line(NamedTuple):
    """One line of the terminal: when it appears, its text, and whether it was typed."""

    seconds: float
    text: str
    typed: bool


def run(commands: tuple[str, ...], folder: Path) -> Iterator[tuple[str, str]]:
    """Run each command in a folder, and yield it with its output."""
    variables = {**os.environ, "COLUMNS": str(COLUMNS), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=variables, capture_output=True, text=True, check=True
        )
        yield command, done.stdout


def timed(session: list[tuple[str, str]]) -> list[Line]:
    """Return the lines of a session with the time at which each one is complete."""
    lines, now = [], 0.0
    for command, output in session:
        now += TYPING * len(command)
        lines += [Line(round(now, 3), text, True) for text in wrapped(SHELL_PROMPT + command)]
        now += PAUSE
        for text in output.rstrip().splitlines():
            if not text.startswith(TIMES):
                now += LINE
                lines.append(Line(round(now, 3), text[:COLUMNS].rstrip(), False))
        now += 2 * PAUSE
        lines.append(Line(round(now, 3), "", False))
    return lines[:-1]


def wrapped(text: str) -> list[str]:
    """Split a command that is wider than the terminal, as a terminal does."""
    return [text[start : start + COLUMNS] for start in range(0, len(text), COLUMNS)]


def cast(lines: list[Line]) -> str:
    """Return the session in the asciicast format, version 2."""
    head = {"version": 2, "width": COLUMNS, "height": len(lines) + 1, "title": "abound 101"}
    events = [[line.seconds, "o", f"{line.text}\r\n"] for line in lines]
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in [head, *events]) + "\n"


def svg(lines: list[Line]) -> str:
    """Return the session as a picture whose lines appear once; where motion is not wanted, all are there at once."""
    width, height = round(COLUMNS * WIDTH + 2 * MARGIN), len(lines) * HEIGHT + 2 * MARGIN
    delays, texts = [], []
    for number, line in enumerate(lines):
        delays.append(f".k{number}{{animation-delay:{line.seconds:.2f}s}}")
        kind = "typed " if line.typed else ""
        y = MARGIN + HEIGHT * number + FONT
        texts.append(f'<text class="{kind}k{number}" x="{MARGIN}" y="{y}">{escape(line.text)}</text>')
    style = f"text{{font:{FONT}px ui-monospace,Menlo,Consolas,monospace;fill:#d7dae0;white-space:pre}}"
    style += ".typed{fill:#9fd3a8;font-weight:bold}@media (prefers-reduced-motion:no-preference){"
    style += "text{opacity:0;animation:show 0s forwards}@keyframes show{to{opacity:1}}" + "".join(delays) + "}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>A terminal session with abound</title><style>{style}</style>'
        f'<rect width="100%" height="100%" rx="8" fill="#1e2127"/>{"".join(texts)}</svg>\n'
    )


def main() -> None:
    """Run the commands and write both files."""
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(ROOT / "examples", Path(name) / "examples")
        lines = timed(list(run(COMMANDS, Path(name))))
    (IMAGES / f"{NAME}.cast").write_text(cast(lines), encoding="utf-8")
    (IMAGES / f"{NAME}.svg").write_text(svg(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
