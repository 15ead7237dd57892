"""The ChangeLogs of GCC: who made a change, by its description."""

import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGES = {"gcc-12-source": "12.2.0-14+deb12u1"}
ABOUT = (
    "The entries of all ChangeLogs of GCC, except those of test suites. A row is what one person, or several together, "
    "entered on one day, in all directories: its text is the first 200 words, its labels are the names of the persons."
)
MOST_WORDS = 200

PERSON = r"(?P<name>[^\W\d_][^<>()*:;]*?)\s*<[^<>]*(?:@| at )[^<>]*>"
HEADER = re.compile(rf"(?P<day>\d{{4}}-\d\d-\d\d)\s+{PERSON}\s*$")
OLD_HEADER = re.compile(  # Mon Feb 23 15:09:18 1998  Name  (mail) or <mail>
    r"\w{3} (?P<day>\w{3} +\d+) [\d:]+ (?:[A-Z]+ )?(?P<year>\d{4})\s+"
    r"(?P<name>[^\W\d_][^<>()*:;]*?)\s*[<(][^<>()]*[>)]\s*$"
)
NAMED = re.compile(rf"\s+(?:\d{{4}}-\d\d-\d\d\s+)?{PERSON}\s*$")  # another person, or whom a change was copied from
Entry = tuple[str, list[str], str]


def entries(lines: Iterable[str]) -> Iterator[Entry]:
    """Yield (day, persons, text) of each entry of a ChangeLog."""
    day, persons, body = "", [], []
    for line in (*lines, "end"):
        if not line[:1].isspace() and line.strip():
            if persons and body:
                yield day, persons, " ".join(body)
            day, persons, body = "", [], []
            if header := HEADER.match(line) or OLD_HEADER.match(line):
                day = " ".join([*header["day"].split(), header.groupdict().get("year") or ""])
                persons = [" ".join(header["name"].split())]
        elif named := NAMED.match(line):
            if not body:
                persons = [*persons, " ".join(named["name"].split())]
        else:
            body.extend(word for word in line.split() if word != "*")


def by_day(found: Iterable[Entry]) -> Iterator[tuple[str, list[str]]]:
    """Yield one row for the entries of the same persons on the same day.

    One change is entered in the ChangeLog of each directory that it touches; its parts must not be divided between
    training and test rows.
    """
    texts: dict[tuple[str, ...], list[str]] = {}
    for day, persons, text in found:
        texts.setdefault((day, *dict.fromkeys(persons)), []).append(text)
    for (_, *persons), parts in texts.items():
        yield " ".join(" ".join(dict.fromkeys(parts)).split()[:MOST_WORDS]), persons


def change_logs(archive: Path) -> Iterator[list[str]]:
    """Yield the lines of each ChangeLog that is not of a test suite, in the order of their names."""
    found = {}
    with tarfile.open(archive, "r|xz") as tar:
        for member in tar:
            if member.isfile() and "ChangeLog" in Path(member.name).name and "testsuite" not in member.name:
                file = tar.extractfile(member)
                found[member.name] = file.read() if file else b""
    for name in sorted(found):
        yield found[name].decode("utf-8", "replace").split("\n")


def rows(unpacked: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of the unpacked package."""
    [archive] = (unpacked / "gcc-12-source" / "usr/src/gcc-12").glob("gcc-*.tar.xz")
    yield from by_day(entry for lines in change_logs(archive) for entry in entries(lines))
