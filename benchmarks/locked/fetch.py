"""Download the packages, extract the rows, and write and check the files of the data sets."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.documents import every_nth_row, every_tenth, split
from benchmarks.locked import edict, files, gcc, man

RECORD = Path(__file__).resolve().parents[1] / "locked.json"


class Extraction(NamedTuple):
    """Packages of Debian with their versions, a description, and a function that reads the rows."""

    packages: dict[str, str]
    about: str
    rows: Callable[[Path], Iterator[tuple[str, list[str]]]]


EXTRACTIONS = {
    "locked-edict-kanji": Extraction(edict.PACKAGES, edict.ABOUT, edict.rows),
    "locked-gcc-authors": Extraction(gcc.PACKAGES, gcc.ABOUT, gcc.rows),
    "locked-man-links": Extraction(man.PACKAGES, man.ABOUT, man.rows),
}


def unpack(packages: dict[str, str], folder: Path) -> None:
    """Download the given versions of Debian packages, and unpack each into folder/unpacked/package."""
    missing = [package for package in packages if not (folder / "unpacked" / package).exists()]
    if not missing:
        return
    downloads = folder / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    command = ["apt-get", "download", "--quiet", *(f"{package}={packages[package]}" for package in missing)]
    answer = subprocess.run(command, cwd=downloads, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if answer.returncode:
        sys.exit(
            f"{answer.stderr.strip()}\napt-get did not find a version: use Debian 12, and run `apt-get update` first"
        )
    for package in missing:
        version = packages[package].replace(":", "%3a")
        [archive] = downloads.glob(f"{package}_{version}_*.deb")
        target = folder / "unpacked" / package
        partial = target.with_name(f"{package}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "--extract", str(archive), str(partial)], check=True)
        partial.rename(target)


def extract(name: str, rows: Iterable[tuple[str, list[str]]], folder: Path) -> None:
    """Write the training, development and test rows of a data set."""
    train, test = every_tenth(rows)
    _, held = split(train, every_nth_row(train))
    for part, found in zip(files.PARTS, (train, held, test), strict=True):
        files.write(files.path_of(folder, name, part), [tuple(row) for row in found])


def fetch(folder: Path) -> None:
    """Download, unpack and extract all data sets."""
    for name, extraction in EXTRACTIONS.items():
        unpack(extraction.packages, folder)
        extract(name, extraction.rows(folder / "unpacked"), folder)


def describe(name: str, folder: Path) -> dict[str, Any]:
    """Return the counts and checksums of a data set."""
    extraction = EXTRACTIONS[name]
    counts: dict[str, int] = {}
    labels: dict[str, set[str]] = {}
    total = 0
    for part in files.PARTS:
        lines = files.path_of(folder, name, part).read_text(encoding="utf-8").splitlines()
        of_rows = [json.loads(line)["labels"] for line in lines]
        counts[part], labels[part] = len(of_rows), {label for row in of_rows for label in row}
        total += sum(map(len, of_rows)) if part != "development" else 0
    return {
        "packages": extraction.packages,
        "extraction": extraction.about,
        "rows": counts,
        "labels": len(labels["train"] | labels["test"]),
        "training_labels": len(labels["train"]),
        "labels_a_row": round(total / (counts["train"] + counts["test"]), 2),
        "sha256": {part: checksum(files.path_of(folder, name, part)) for part in files.PARTS},
    }


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def differences(folder: Path, record: dict[str, Any]) -> list[str]:
    """Return one sentence for each file that is missing or is not the one that was recorded."""
    found = []
    for name, known in record.items():
        for part, expected in known["sha256"].items():
            path = files.path_of(folder, name, part)
            if not path.exists():
                found.append(f"{path} is missing: run `python -m benchmarks.locked fetch {folder}`")
            elif checksum(path) != expected:
                found.append(f"{path} is not the file that benchmarks/locked.json describes: fetch it again")
    return found
