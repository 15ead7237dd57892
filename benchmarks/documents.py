"""The texts of the data sets: training rows, held-out rows, and the names of labels.

`development(name)` holds out part of the training rows; use only those to choose settings. `final(name)` holds out the
test rows, for the final report.
"""

import hashlib
import json
import lzma
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.model_selection import train_test_split

from benchmarks.locked import files as locked

MOST_HELD = 10_000  # held-out rows of a development split
ORDERS = ("recipe", "filed", "reversed", "by-label", "shuffled")


class Row(NamedTuple):
    """A text, its labels, and its position in the source file."""

    text: str
    labels: list[str]
    place: int


Rows = list[Row]
Parts = tuple[Rows, Rows]


@dataclass(frozen=True)
class Documents:
    """Training texts, held-out texts, and the names of labels."""

    name: str
    train: Rows
    held: Rows
    names: dict[str, list[str]]


@dataclass(frozen=True)
class Source:
    """The source of the texts of a data set, and how development rows are split from its training rows.

    `names` reads the names of labels from the source; without it, each label of a training row is its own name.
    """

    parts: Callable[[], Parts]
    cut: Callable[[Rows], list[bool]]
    names: Callable[[], dict[str, list[str]]] | None = None


def data_folder() -> Path:
    """Return the folder of the data sets."""
    folder = Path(os.environ.get("ABOUND_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if not folder.is_dir():
        sys.exit(f"no data sets: set ABOUND_DATA to the folder that contains them ({folder} is not a folder)")
    return folder


def json_lines(name: str) -> Iterator[dict[str, Any]]:
    with lzma.open(data_folder() / name, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


# -- development rows ----------------------------------------------------------------------------------


def last_rows(rows: Sequence[Any]) -> list[bool]:
    """Hold out the last tenth: for rows in chronological or random order."""
    n_held = min(len(rows) // 10, MOST_HELD)
    return [number >= len(rows) - n_held for number in range(len(rows))]


def every_nth_row(rows: Sequence[Any]) -> list[bool]:
    """Hold out every tenth row, but at most `MOST_HELD` rows."""
    step = max(10, -(-len(rows) // MOST_HELD))
    return [number % step == step - 1 for number in range(len(rows))]


def last_of_each_label(rows: Rows) -> list[bool]:
    """Hold out the last tenth of each label's rows: for rows sorted by label, and within a label by time."""
    places: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        places.setdefault(row.labels[0], []).append(number)
    held = {number for of_label in places.values() for number in of_label[len(of_label) - len(of_label) // 10 :]}
    return [number in held for number in range(len(rows))]


def split(rows: Iterable[Any], held: Iterable[bool]) -> tuple[list[Any], list[Any]]:
    """Return the rows that are not held out, and those that are."""
    parts: tuple[list[Any], list[Any]] = [], []
    for row, is_held in zip(rows, held, strict=True):
        parts[is_held].append(row)
    return parts


# -- recipes -------------------------------------------------------------------------------------------


def finna_rows(language: str = "en") -> Iterator[tuple[str, list[str]]]:
    """Yield (title or abstract, subject numbers) in file order."""
    with lzma.open(data_folder() / f"yso-finna-{language}" / "docs.tsv.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            labels, _, text = line.rstrip("\n").partition("\t")
            yield text, labels.split()


def _finna(language: str, n_train: int, n_test: int) -> Parts:
    found = zip(finna_rows(language), range(n_train + n_test), strict=False)
    rows = [Row(text, labels, place) for (text, labels), place in found]
    return rows[:n_train], rows[n_train:]


def _whole_finna(language: str) -> Parts:
    """Return all titles of a language, every 20th held out, as `benchmarks.shards` and `benchmarks.text` do."""
    rows = [Row(text, labels, place) for place, (text, labels) in enumerate(finna_rows(language))]
    return split(rows, (place % 20 == 19 for place in range(len(rows))))


def _finna_names(language: str) -> dict[str, list[str]]:
    lines = (data_folder() / f"yso-finna-{language}" / "labels.tsv").read_text(encoding="utf-8").splitlines()
    return {label: [name] for label, _, name in (line.partition("\t") for line in lines) if name}


def _finna_source(language: str, n_train: int, n_test: int) -> Source:
    return Source(lambda: _finna(language, n_train, n_test), last_rows, lambda: _finna_names(language))


def shuffled(rows: Iterable[Row]) -> Rows:
    """Return rows in the order of a hash of their texts, so that the file order helps or hurts no learner.

    Files are sorted by label, by topic or by time; the titles of finna are in such an order already.
    """
    return sorted(rows, key=lambda row: (hashlib.md5(row[0].encode(), usedforsecurity=False).digest(), row))


def every_tenth(rows: Iterable[tuple[str, list[str]]], n_train: int | None = None, n_test: int | None = None) -> Parts:
    """Hold out every tenth of the shuffled rows; equal texts become one row with all their labels."""
    merged: dict[str, dict[str, None]] = {}
    places: dict[str, int] = {}
    for place, (text, labels) in enumerate(rows):
        merged.setdefault(text, {}).update(dict.fromkeys(labels))
        places.setdefault(text, place)
    ordered = shuffled(Row(text, list(labels), places[text]) for text, labels in merged.items())
    train, test = split(ordered, (number % 10 == 9 for number in range(len(ordered))))
    return train[:n_train], test[:n_test]


def _gutenberg(n_train: int | None = None, n_test: int | None = None) -> Parts:
    """Return the subject headings of books by title and authors."""
    rows = (
        (" ".join([book["title"] or "", *book["authors"]]), book["lcsh"])
        for book in json_lines("gutenberg-lcsh/gutenberg.jsonl.xz")
        if book["lcsh"]
    )
    return every_tenth(rows, n_train, n_test)


def _wordnet() -> Parts:
    """Return the direct hypernyms of nouns and verbs by their gloss."""
    rows = (
        (synset["gloss"], synset["hyper"])
        for synset in json_lines("wordnet-hypernym/wordnet31.jsonl.xz")
        if synset["hyper"]
    )
    return every_tenth(rows)


def _wordnet_names() -> dict[str, list[str]]:
    """Return the words of every synset that is a hypernym of another."""
    synsets = list(json_lines("wordnet-hypernym/wordnet31.jsonl.xz"))
    labels = {label for synset in synsets for label in synset["hyper"]}
    return {s["id"]: [word.replace("_", " ") for word in s["words"]] for s in synsets if s["id"] in labels}


def _packages(field: str) -> Iterator[tuple[str, list[str]]]:
    for package in json_lines("debian-tags/debian-bookworm.jsonl.xz"):
        if package[field]:
            yield " ".join((package["package"], package["summary"], package["description"])), package[field]


def _debian_tags() -> Parts:
    rows = [Row(text, tags, place) for place, (text, tags) in enumerate(_packages("tags"))]
    train, test = train_test_split(rows, test_size=0.1, random_state=0)
    return train, test


def _by_split(rows: Iterable[tuple[str, str, list[str]]]) -> Parts:
    """Divide (split, text, labels) into the two parts that the source specifies."""
    parts: dict[str, Rows] = {"train": [], "test": []}
    for place, (part, text, labels) in enumerate(rows):
        if part in parts and labels:
            parts[part].append(Row(text, labels, place))
    return parts["train"], parts["test"]


def _newsgroups() -> Parts:
    return _by_split((m["split"], m["text"], [m["group"]]) for m in json_lines("20news/20news-bydate.jsonl.xz"))


def _reuters_90() -> Parts:
    topics = set((data_folder() / "reuters21578" / "topics90.txt").read_text().split())
    return _by_split(
        (s["split"], f"{s['title'] or ''} {s['body'] or ''}", [topic for topic in s["topics"] if topic in topics])
        for s in json_lines("reuters21578/reuters21578.jsonl.xz")
    )


def _ohsumed() -> Parts:
    rows = json_lines("ohsumed23/ohsumed_single_23.jsonl.xz")
    train, test = _by_split((abstract["split"], abstract["text"], [abstract["cls"]]) for abstract in rows)
    return shuffled(train), test


def _locked(name: str) -> Source:
    """Return a data set of the final comparison, which `python -m benchmarks.locked fetch` extracts."""

    def parts() -> Parts:
        train, test = ([Row(*row) for row in locked.read(name, part)] for part in ("train", "test"))
        return train, test

    return Source(parts, every_nth_row)


SOURCES: dict[str, Source] = {
    "20news": Source(_newsgroups, last_of_each_label),
    "debian-depends": Source(lambda: every_tenth(_packages("depends")), every_nth_row),
    "debian-tags": Source(_debian_tags, last_rows),
    "finna-100k": _finna_source("en", 100_000, 10_000),
    "finna-10k": _finna_source("en", 10_000, 2_000),
    "finna-20k": _finna_source("en", 20_000, 1_000),
    "finna-5k": _finna_source("en", 5_000, 1_000),
    "finna-fi-100k": _finna_source("fi", 100_000, 10_000),
    "gutenberg-5k": Source(lambda: _gutenberg(5_000, 1_000), every_nth_row),
    "gutenberg-lcsh": Source(_gutenberg, every_nth_row),
    **{name: _locked(name) for name in locked.NAMES},  # for the final comparison: choose nothing on them
    "ohsumed23": Source(_ohsumed, every_nth_row),
    "reuters-90": Source(_reuters_90, last_rows),
    "wordnet-hypernym": Source(_wordnet, every_nth_row, _wordnet_names),
    "yso-finna-en": Source(lambda: _whole_finna("en"), every_nth_row, lambda: _finna_names("en")),
    "yso-finna-fi": Source(lambda: _whole_finna("fi"), every_nth_row, lambda: _finna_names("fi")),
}


def source(name: str) -> Source:
    if name not in SOURCES:
        sys.exit(f"the data set {name!r} has no texts; data sets with texts: {', '.join(sorted(SOURCES))}")
    return SOURCES[name]


def development(name: str) -> Documents:
    """Return the texts of a data set without its test rows; held-out rows are training rows."""
    found = source(name)
    rows = found.parts()[0]
    train, held = split(rows, found.cut(rows))
    return Documents(name, train, held, _names(found, train))


def final(name: str) -> Documents:
    """Return the texts of a data set with its test rows held out: for the final report, never to choose settings."""
    train, test = source(name).parts()
    return Documents(name, train, test, _names(source(name), train))


def _names(found: Source, train: Rows) -> dict[str, list[str]]:
    if found.names is not None:
        return found.names()
    return {label: [label] for row in train for label in row.labels}


# -- files ---------------------------------------------------------------------------------------------


def ordered(rows: Rows, order: str) -> Rows:
    """Return rows in recipe order, file order, reverse file order, sorted by first label, or shuffled."""
    if order == "recipe":
        return rows
    filed = sorted(rows, key=lambda row: row.place)
    if order == "reversed":
        filed.reverse()
    elif order == "by-label":
        filed.sort(key=lambda row: row.labels[0])
    elif order == "shuffled":
        random.Random(0).shuffle(filed)
    elif order != "filed":
        raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    return filed


def write(documents: Documents, folder: Path, held: str, order: str = "recipe") -> None:
    """Write train.jsonl, the held-out rows as HELD.jsonl, and names.tsv, as `abound fit` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    for stem, rows in (("train", ordered(documents.train, order)), (held, documents.held)):
        with open(folder / f"{stem}.jsonl", "w", encoding="utf-8") as lines:
            for row in rows:
                lines.write(json.dumps({"text": row.text, "labels": row.labels}, ensure_ascii=False) + "\n")
    with open(folder / "names.tsv", "w", encoding="utf-8") as lines:
        lines.writelines("\t".join([label, *names]) + "\n" for label, names in documents.names.items())
