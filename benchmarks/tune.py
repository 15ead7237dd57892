"""Measure what `abound tune` finds in 60 seconds on two collections, and whether its command reproduces the figures.

python -m benchmarks.tune                   gutenberg-lcsh and debian-tags, into benchmarks/results
python -m benchmarks.tune pictures tried    the pictures of docs/plots.md and of docs/tune.md, into docs/images

Seconds are CPU time, so that other work on the machine does not count; tuning uses one thread.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from abound import Tagger
from abound.cli.holdout import parse_holdout
from abound.cli.inputs import Inputs
from abound.cli.pictures import draw_evaluation
from abound.cli.reading import LabelledReading
from abound.cli.tune import split, summary, verdict
from abound.data import Document, write
from abound.plots.style import DPI, HEIGHT, WIDTH, background
from abound.plots.tried import draw_tried_settings, tried_figures
from abound.tuning import tune
from benchmarks import sets
from benchmarks.machine import machine_line

RESULTS = Path(__file__).parent / "results"
IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "tune.md"
SECONDS = 60.0
HOLDOUT = "every:10"


def gutenberg_lcsh() -> Iterator[Document]:
    """Yield title and first author with the subject headings, in catalogue order."""
    for row in sets.json_lines("gutenberg-lcsh/gutenberg.jsonl.xz"):
        text = " ".join([row["title"] or "", *(row["authors"] or [])[:1]])
        yield Document(tuple(row["lcsh"] or ()), " ".join(text.split()))


def debian_tags() -> Iterator[Document]:
    """Yield name and description of the packages that have tags, in alphabetical order."""
    for row in sets.json_lines("debian-tags/debian-bookworm.jsonl.xz"):
        if row["tags"]:
            text = f"{row['package']} {row['summary']} {row['description']}"
            yield Document(tuple(row["tags"]), " ".join(text.split()))


SOURCES = {"gutenberg-lcsh": gutenberg_lcsh, "debian-tags": debian_tags}


def run(name: str, folder: Path, seconds: float = SECONDS, limit: int | None = None) -> dict[str, Any]:
    """Tune on one collection, and train with the setting found, using the command that tuning prints."""
    path = folder / f"{name}.jsonl"
    write(path, (document for document, _ in zip(SOURCES[name](), range(limit or 10**9), strict=False)), "jsonl")
    train, held_out = split(Inputs([str(path)], LabelledReading(), parse_holdout(HOLDOUT)))
    start, wall = time.process_time(), time.monotonic()
    found = tune(train, held_out, seconds=seconds, stem="english", clock=time.process_time)
    taken, wall = time.process_time() - start, time.monotonic() - wall
    command = ["abound", "fit", str(path), "--holdout", HOLDOUT, *found.best.setting.options()]
    again = [sys.executable, "-m", *command, "--model", str(folder / f"{name}-model"), "--force", "--json"]
    fitted = json.loads(subprocess.run(again, check=True, capture_output=True, text=True).stdout)
    shown = summary(found, len(held_out.texts), None, [*command[:2], f"{name}.jsonl", *command[3:]], taken)
    return {
        **shown,
        "budget_seconds": seconds,
        "wall_seconds": round(wall, 1),
        "verdict": verdict(found),
        "again": {measure: fitted["held_out"]["measures"][measure] for measure in found.best.measures},
        "again_is_equal": all(
            fitted["held_out"]["measures"][measure]["value"] == figure.value
            for measure, figure in found.best.measures.items()
        ),
        "trials": tried_figures(found.trials, found.best.setting),
        "machine": machine_line(),
    }


def pictures(folder: Path) -> None:
    """Draw the pictures of docs/plots.md: an evaluation on gutenberg-lcsh."""
    rows = list(SOURCES["gutenberg-lcsh"]())
    held_out = [row for number, row in enumerate(rows) if number % 10 == 9 and row.labels]
    train = [row for number, row in enumerate(rows) if number % 10 != 9]
    tagger = Tagger().fit([row.text for row in train], [row.labels for row in train])
    tagger.save(folder / "model")
    evaluation = tagger.evaluate([row.text for row in held_out], [row.labels for row in held_out])
    for dark in (False, True):
        target = str(folder / f"{dark}")
        files = draw_evaluation(tagger, str(folder / "model"), held_out, train, target, dark, evaluation)
        for file in files:
            if file.endswith(".png") and (not dark or file == "precision-at-k.png"):
                shutil.copy(folder / f"{dark}" / file, IMAGES / f"plots-{Path(file).stem}{'-dark' * dark}.png")


def tried() -> None:
    """Draw the trials of tuning on debian-tags, from its result."""
    result = json.loads((RESULTS / "tune-debian-tags.json").read_text())
    with background():
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        draw_tried_settings(result["trials"], result["measure"], figure.subplots())
        figure.savefig(IMAGES / "plots-tried.png", dpi=DPI)


def document() -> None:
    """Write the results into docs/tune.md."""
    lines = ["| P@1 / P@3 / P@5 | defaults | best | P@5, best less defaults | setting |", "|---|---|---|---|---|"]
    for name in SOURCES:
        result = json.loads((RESULTS / f"tune-{name}.json").read_text())
        cells = [
            " / ".join(f"{figure['value']:.4f}" for figure in result[part]["measures"].values())
            for part in ("defaults", "best")
        ]
        gain = "{value:+.4f} ({low:+.4f} to {high:+.4f})".format(**result["gain"])
        setting = " ".join(result["command"].split()[5:]) or "the defaults"
        lines.append(f"| {name} | {' | '.join(cells)} | {gain} | `{setting}` |")
    counts = ", ".join(
        f"{result['settings_tried']} settings in {result['seconds']:.0f} s on {name}"
        for name in SOURCES
        for result in [json.loads((RESULTS / f"tune-{name}.json").read_text())]
    )
    lines += ["", f"Tried: {counts}, of one processor. {result['machine']}."]
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split("<!-- tuned -->\n")[0], text.split("<!-- /tuned -->")[1]
    PAGE.write_text(f"{before}<!-- tuned -->\n\n" + "\n".join(lines) + f"\n\n<!-- /tuned -->{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tune", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=list(SOURCES), help="collections, pictures, tried")
    with tempfile.TemporaryDirectory() as folder:
        for name in parser.parse_args().names:
            if name in ("pictures", "tried"):
                pictures(Path(folder)) if name == "pictures" else tried()
                continue
            result = run(name, Path(folder))
            (RESULTS / f"tune-{name}.json").write_text(json.dumps(result, indent=1) + "\n")
            print(result["verdict"], result["command"], sep="\n", flush=True)
    if all((RESULTS / f"tune-{name}.json").exists() for name in SOURCES):
        document()


if __name__ == "__main__":
    main()
