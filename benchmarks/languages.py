"""Measure texts in scripts without spaces and in languages with compounds.

python -m benchmarks.languages                          all data sets, on their test rows; stores the result
python -m benchmarks.languages --set debian-ja
python -m benchmarks.languages --development [--set ...]    on held-out training rows, to choose settings; not stored
python -m benchmarks.languages --show                   print the stored tables

The data sets are built from what Debian publishes; `apt-get` downloads it to the cache folder.

- debian-de, debian-ja: package descriptions that volunteers translated (DDTP), with the tags of the packages. The
  descriptions have the licences of their packages, all of them free; the tags are in the public domain.
- office-zh, office-ja, office-th: the messages of LibreOffice (MPL 2.0) by the dialog that shows them, without those
  of dialogs with fewer than five messages. Debian has too few Chinese descriptions (about 900 with tags) and no Thai
  ones.

A `Tagger` without options is compared with scikit-learn's LinearSVC, one classifier per label, on n-grams of one to
three characters. In languages with compounds, stems alone, n-grams of five characters, and a decompounder
(Koehn and Knight, 2003) are compared, also on the texts that have an unknown word of at least eight letters.
"""

import argparse
import gettext
import json
import math
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import Stemmer
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

from abound import Tagger
from abound.errors import AboundWarning
from abound.text.language import STEMMERS
from abound.text.words import prepare, words_of
from benchmarks import documents
from benchmarks.documents import Row, Rows, split
from benchmarks.machine import machine_line
from benchmarks.sets import CACHE

RESULT = Path(__file__).parent / "results" / "languages.json"
FOLDER = CACHE.parent / "languages"
DESCRIPTIONS = {"debian-de": "de", "debian-ja": "ja"}
MESSAGES = {"office-ja": "ja", "office-th": "th", "office-zh": "zh_CN"}
SCRIPTS = {"ja": "[\u3040-\u30ff\u4e00-\u9fff]", "th": "[\u0e00-\u0e7f]", "zh_CN": "[\u4e00-\u9fff]"}
COMPOUNDS = {"debian-de": "de", "finna-fi-100k": "fi"}
MIN_MESSAGES = 5  # of a dialog
SHORTEST_PART, MIN_PART_COUNT, MOST_PARTS = 4, 5, 4  # of a compound
LONG_WORD = 8  # letters of an unknown word that is probably a compound
LINKS = {"de": ("", "s", "es", "n", "en"), "fi": ("",)}  # letters between the parts of a compound


# -- data sets -----------------------------------------------------------------------------------------


def _apt(*arguments: str, folder: Path) -> None:
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    options = [f"-oDir::State::lists={folder / 'lists'}", f"-oDir::Cache={folder / 'cache'}"]
    subprocess.run(["apt-get", "-qq", *options, *arguments], check=True, cwd=folder)


def _list(pattern: str) -> str:
    """Return a package list that `apt-get update` downloaded."""
    languages = ",".join(sorted(set(DESCRIPTIONS.values())))
    folder = FOLDER.resolve()
    if not list(folder.glob(f"lists/*{pattern}*")):
        _apt("update", f"-oAcquire::Languages={languages}", folder=folder)
    [path] = sorted(folder.glob(f"lists/*_dists_*{pattern}*"), key=lambda path: len(path.name))[:1]
    return subprocess.run(
        ["/usr/lib/apt/apt-helper", "cat-file", str(path)], check=True, capture_output=True
    ).stdout.decode()


def _stanzas(content: str) -> Iterator[dict[str, str]]:
    for stanza in content.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line.startswith(" "):
                fields[name] += "\n" + line.strip()
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if fields:
            yield fields


def _descriptions(language: str) -> Iterator[tuple[str, list[str]]]:
    """Yield translated descriptions of packages with their tags."""
    tags = {
        (package["Package"], package.get("Description-md5")): [tag.strip() for tag in package["Tag"].split(",")]
        for package in _stanzas(_list("main_binary-*_Packages"))
        if "Tag" in package
    }
    for package in _stanzas(_list(f"main_i18n_Translation-{language}")):
        key = (package["Package"], package["Description-md5"])
        if key in tags:
            lines = [line for line in package[f"Description-{language}"].splitlines() if line not in ("", ".")]
            text = " ".join(lines)
            if language == "ja":  # lines are broken anywhere
                text = re.sub(r"(?<=[^\x00-\x7f]) (?=[^\x00-\x7f])", "", text)
            yield text, tags[key]


def _messages(language: str) -> list[tuple[str, list[str]]]:
    """Return messages of LibreOffice with the dialogs that show them."""
    folder = FOLDER.resolve() / "office" / language
    if not folder.exists():
        package = f"libreoffice-l10n-{language.lower().replace('_', '-')}"
        _list("main_binary-*_Packages")
        _apt("download", package, folder=FOLDER.resolve())
        [archive] = FOLDER.glob(f"{package}_*.deb")
        folder.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)
    found: dict[str, set[str]] = {}
    for path in sorted(folder.glob("usr/lib/libreoffice/program/resource/*/LC_MESSAGES/*.mo")):
        with path.open("rb") as file:
            catalogue: dict[Any, str] = vars(gettext.GNUTranslations(file))["_catalog"]
        for key, message in catalogue.items():
            context, has_context, _ = (key[0] if isinstance(key, tuple) else key).partition("\x04")
            text = re.sub(r"</?\w+>|[_~]", "", message).strip()
            if has_context and len(re.findall(SCRIPTS[language], text)) >= 2:
                found.setdefault(text, set()).add(f"{path.stem}/{context.partition('|')[0]}")
    counts = Counter(label for labels in found.values() for label in labels)
    kept = ((text, sorted(lb for lb in labels if counts[lb] >= MIN_MESSAGES)) for text, labels in sorted(found.items()))
    return [(text, labels) for text, labels in kept if labels]


def load(name: str, *, development: bool) -> documents.Documents:
    """Return training and held-out rows; development rows are training rows."""
    if name in documents.SOURCES:
        return documents.development(name) if development else documents.final(name)
    rows = _descriptions(DESCRIPTIONS[name]) if name in DESCRIPTIONS else _messages(MESSAGES[name])
    merged: dict[str, set[str]] = {}
    for text, labels in rows:
        merged.setdefault(text, set()).update(labels)
    train, held = _every_fifth(documents.shuffled(Row(text, sorted(labels), 0) for text, labels in merged.items()))
    if development:
        train, held = _every_fifth(train)
    return documents.Documents(name, train, held, {})


def _every_fifth(rows: Rows) -> tuple[Rows, Rows]:
    return split(rows, (number % 5 == 4 for number in range(len(rows))))


# -- systems -------------------------------------------------------------------------------------------


def hits_of(ranked: Sequence[Sequence[Any]], rows: Rows) -> NDArray[np.float64]:
    """Return whether the best label of each row is right."""
    return np.array([bool(labels) and labels[0] in row.labels for labels, row in zip(ranked, rows, strict=True)], float)


def tagged(found: documents.Documents, prepare_text: Callable[[str], str] = str, **params: Any) -> list[list[Any]]:
    """Return the ranked labels of the held-out rows by a fitted tagger."""
    names = {label: [prepare_text(name) for name in given] for label, given in found.names.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AboundWarning)
        tagger = Tagger(**params).fit(
            [prepare_text(row.text) for row in found.train],
            [row.labels for row in found.train],
            label_names=names or None,
        )
        ranked = tagger.rank_many([prepare_text(row.text) for row in found.held], 1)
    return [[entry.label for entry in entries] for entries in ranked]


def baseline(found: documents.Documents) -> list[list[Any]]:
    """Return the best label of each held-out row by LinearSVC on n-grams of characters."""
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), sublinear_tf=True, min_df=2)
    labels = MultiLabelBinarizer()
    rows = vectorizer.fit_transform([row.text for row in found.train])
    svm = OneVsRestClassifier(LinearSVC(dual=True)).fit(rows, labels.fit_transform([row.labels for row in found.train]))
    scores = svm.decision_function(vectorizer.transform([row.text for row in found.held]))
    return [[labels.classes_[best]] for best in scores.argmax(axis=1)]


def difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> list[float]:
    """Return the mean difference with its paired bootstrap interval."""
    rng, paired = np.random.default_rng(0), first - second
    draws = [paired[rng.integers(len(paired), size=len(paired))].mean() for _ in range(1000)]
    return [float(paired.mean()), *map(float, np.quantile(draws, [0.025, 0.975]))]


def scripts(name: str, *, development: bool) -> dict[str, Any]:
    """Compare the default tagger with LinearSVC."""
    found = load(name, development=development)
    ranked = tagged(found)
    ours, theirs = hits_of(ranked, found.held), hits_of(baseline(found), found.held)
    return {
        "train": len(found.train),
        "held": len(found.held),
        "labels": len({label for row in found.train for label in row.labels}),
        "ranked": sum(map(bool, ranked)) / len(ranked),
        "p1": float(ours.mean()),
        "baseline_p1": float(theirs.mean()),
        "difference": difference(ours, theirs),
    }


class Decompounder:
    """Split words where both parts are frequent: the split with the largest geometric mean of the parts' counts wins.

    Parameters
    ----------
    language : str
    texts : list of str
        Their words are counted.
    """

    def __init__(self, language: str, texts: list[str]) -> None:
        self.links, stemmer = LINKS[language], Stemmer.Stemmer(STEMMERS[language])
        self.stem: Callable[[str], str] = stemmer.stemWord
        self.counts = Counter(stem for text in texts for stem in {self.stem(w) for w in words_of(prepare(text))})
        self._splits: dict[str, list[str]] = {}

    def split(self, word: str) -> list[str]:
        """Return the stems of a word's parts; none if it is not a compound."""
        if word not in self._splits:
            self._splits[word] = max(self._ways(word), key=self._mean_logarithm, default=[])
        return self._splits[word]

    def _mean_logarithm(self, parts: list[str]) -> float:
        return sum(math.log(self.counts[part]) for part in parts) / len(parts)

    def _ways(self, word: str, before: tuple[str, ...] = ()) -> Iterator[list[str]]:
        last = self.stem(word)
        if before and len(word) >= SHORTEST_PART and self.counts[last] >= MIN_PART_COUNT:
            yield [*before, last]
        if len(before) + 1 == MOST_PARTS:
            return
        for at in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
            for link in self.links:
                part = self.stem(word[: at - len(link)])
                if word[:at].endswith(link) and at - len(link) >= SHORTEST_PART and self.counts[part] >= MIN_PART_COUNT:
                    yield from self._ways(word[at:], (*before, part))
                    break

    def add_parts(self, text: str) -> str:
        """Return the stems of a text, their pairs, and the parts of its compounds, for a tagger of single words."""
        words = words_of(prepare(text))
        stems = list(map(self.stem, words))
        pairs = ["_".join(pair) for pair in pairwise(stems)]
        return " ".join([*stems, *pairs, *(part for word in words for part in self.split(word))])


def compounds(name: str, *, development: bool) -> dict[str, Any]:
    """Compare ways to use the parts of compounds, on all held-out rows and on those with an unknown long word."""
    found, language = load(name, development=development), COMPOUNDS[name]
    decompounder = Decompounder(language, [row.text for row in found.train])
    whole = {"language": None, "ngrams": 1}
    systems = {
        "stems": tagged(found, language=language, char_ngrams=None),
        "decompounder": tagged(found, decompounder.add_parts, **whole),
        "character n-grams (default)": tagged(found, language=language),
    }
    hits = {system: hits_of(ranked, found.held) for system, ranked in systems.items()}
    known, stem = decompounder.counts, decompounder.stem
    unknown = np.array(
        [any(len(w) >= LONG_WORD and stem(w) not in known for w in words_of(prepare(row.text))) for row in found.held]
    )
    return {
        "train": len(found.train),
        "held": len(found.held),
        "unknown": int(unknown.sum()),
        "p1": {system: float(of.mean()) for system, of in hits.items()},
        "unknown_p1": {system: float(of[unknown].mean()) for system, of in hits.items()},
        "gain": difference(hits["character n-grams (default)"][unknown], hits["stems"][unknown]),
    }


# -- tables --------------------------------------------------------------------------------------------


def show(result: dict[str, Any]) -> Iterator[str]:
    """Yield the tables of a result."""
    yield "| set | rows, labels | ranked | P@1 | LinearSVC, 1-3 characters | difference (95%) |"
    yield "|---|---|---|---|---|---|"
    for name, row in result["scripts"].items():
        mean, low, high = row["difference"]
        rows = f"{row['train']:,} + {row['held']:,}, {row['labels']:,}"
        figures = (
            f"{row['ranked']:.1%} | {row['p1']:.3f} | {row['baseline_p1']:.3f} | {mean:+.3f} ({low:+.3f}, {high:+.3f})"
        )
        yield f"| {name} | {rows} | {figures} |"
    yield ""
    yield "| set | texts | stems | decompounder | 5-grams of characters (default) | default - stems (95%) |"
    yield "|---|---|---|---|---|---|"
    for name, row in result["compounds"].items():
        mean, low, high = row["gain"]
        everything = " | ".join(f"{value:.3f}" for value in row["p1"].values())
        unknown = " | ".join(f"{value:.3f}" for value in row["unknown_p1"].values())
        yield f"| {name} | all {row['held']:,} | {everything} | - |"
        gain = f"{mean:+.3f} ({low:+.3f}, {high:+.3f})"
        yield f"| {name} | {row['unknown']:,} with an unknown compound | {unknown} | {gain} |"


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--set", help="comma-separated data sets")
    parser.add_argument("--development", action="store_true", help="hold out training rows instead of the test rows")
    parser.add_argument("--show", action="store_true", help="print the stored tables")
    given = parser.parse_args(argv)
    stored = json.loads(RESULT.read_text()) if RESULT.exists() else {"scripts": {}, "compounds": {}}
    if given.show:
        print("\n".join(show(stored)))
        return
    chosen = given.set.split(",") if given.set else [*sorted({*DESCRIPTIONS, *MESSAGES, *COMPOUNDS})]
    result: dict[str, Any] = {"machine": machine_line(), "scripts": {}, "compounds": {}}
    for name in chosen:
        print(name, file=sys.stderr)
        if name in COMPOUNDS:
            result["compounds"][name] = compounds(name, development=given.development)
        else:
            result["scripts"][name] = scripts(name, development=given.development)
    if not given.development:
        for part in ("scripts", "compounds"):
            result[part] = {**stored[part], **result[part]}
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print("\n".join(show(result)))


if __name__ == "__main__":
    main(sys.argv[1:])
