"""Compare Annif's tfidf and omikuji back ends with abound on the same 20,000 records, also abound as an HTTP back end.

python -m benchmarks.annif          train, suggest and measure; takes some minutes
python -m benchmarks.annif --rows 300 --test-rows 50 --no-json
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from abound import Ranking, Tagger
from abound.data import read_label_names
from abound.metrics import interval, judge
from benchmarks import sets
from benchmarks.machine import machine_line
from benchmarks.peers.environments import interpreter
from benchmarks.server import free_port, started

RESULTS = Path(__file__).parent / "results"
SYSTEMS = Path(__file__).parent / "peers" / "systems"
URI = "http://www.yso.fi/onto/yso/p"
MEASURES = ("P@1", "P@3", "P@5", "nDCG@5")
PROJECT = "[{name}]\nname={name}\nlanguage=en\nvocab=yso\nlimit=100\n{settings}\n"
# As the documentation of Annif suggests: omikuji as Bonsai, with words, and with pairs of words seen at least twice.
BONSAI = "backend=omikuji\nanalyzer=snowball(english)\ncluster_balanced=False\ncluster_k=100\nmax_depth=3"
SETTINGS = {
    "tfidf": "backend=tfidf\nanalyzer=snowball(english)",
    "omikuji": BONSAI,
    "omikuji-bigrams": f"{BONSAI}\nmin_df=2\nngram=2",
}
FORMS: dict[str, dict[str, Any]] = {"abound": {}, "abound, stems": {"stem": "english"}}

Suggestions = list[list[tuple[str, float]]]


def run(n_train: int, n_test: int) -> dict[str, Any]:
    """Run everything on the first rows of yso-finna-en."""
    rows = [row for row, _ in zip(sets.finna_rows(), range(n_train + n_test), strict=False)]
    rows = [(text, [URI + label for label in labels]) for text, labels in rows]
    names = read_label_names(sets.data_folder() / "yso-finna-en" / "labels.tsv")
    called = {URI + label: found for label, found in names.items()}
    train, test = rows[:n_train], rows[n_train:]
    systems: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        python = prepare(work, train, test, called)
        for name, params in FORMS.items():
            systems[name], direct = ours(params, train, test, called, work / name)
        for name in SETTINGS:
            figures, suggested = suggest(python, work, name)
            systems[f"Annif {name}"] = figures | measured(suggested, test)
        model = work / "abound, stems"
        systems["abound, stems, asked by Annif over http"] = over_http(python, work, model, test, direct)
    return {"train_rows": n_train, "test_rows": n_test, "systems": systems, "machine": machine_line()}


def prepare(work: Path, train: list[Any], test: list[Any], called: dict[str, list[str]]) -> str:
    """Write the files that Annif reads, load its vocabulary, and return the path of its Python."""
    for name, rows in (("train", train), ("test", test)):
        lines = (f"{text}\t{' '.join(f'<{uri}>' for uri in uris)}\n" for text, uris in rows)
        (work / f"{name}.tsv").write_text("".join(lines))
    (work / "subjects.tsv").write_text("".join(f"<{uri}>\t{found[0]}\n" for uri, found in called.items()))
    write_projects(work)
    python = interpreter("annif")
    annif = Path(python).absolute().parent / "annif"
    command = [annif, "load-vocab", "--language", "en", "yso", "subjects.tsv"]
    subprocess.run(command, cwd=work, check=True, capture_output=True)
    return str(Path(python).absolute())


def write_projects(work: Path, url: str = "http://127.0.0.1") -> None:
    settings = SETTINGS | {"http": f"backend=http\nendpoint={url}/suggest"}
    text = "".join(PROJECT.format(name=name, settings=found) for name, found in settings.items())
    (work / "projects.cfg").write_text(text)


def suggest(python: str, work: Path, name: str) -> tuple[dict[str, Any], Suggestions]:
    """Run one of Annif's projects in a separate process."""
    script = SYSTEMS / "annif_projects.py"
    done = subprocess.run([python, script, work, name], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"Annif's {name} failed: {done.stderr[-2000:]}")
    found = json.loads((work / f"{name}.json").read_text())
    return found["figures"], found["suggestions"]


def ours(
    params: dict[str, Any], train: list[Any], test: list[Any], called: dict[str, list[str]], path: Path
) -> tuple[dict[str, Any], Suggestions]:
    start = time.perf_counter()
    tagger = Tagger(**params).fit([t for t, _ in train], [uris for _, uris in train], label_names=called)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    ranked = tagger.rank_many([text for text, _ in test])
    rate = len(test) / (time.perf_counter() - start)
    tagger.save(path)
    suggested = [[(str(entry.label), entry.score) for entry in row] for row in ranked]
    return {"train_seconds": seconds, "texts_a_second": rate} | measured(suggested, test), suggested


def over_http(python: str, work: Path, model: Path, test: list[Any], direct: Suggestions) -> dict[str, Any]:
    """Let Annif query a server, and compare the answers with those of the model itself."""
    port = free_port()
    served = model.rename(model.with_name("stems"))
    with started("abound", "serve", str(served), "--port", str(port), port=port):
        write_projects(work, f"http://127.0.0.1:{port}/v1/projects/{served.name}")
        figures, suggested = suggest(python, work, "http")
    positive = [[uri for uri, score in row if score > 0] for row in direct[: len(suggested)]]
    same = sum({uri for uri, _ in row} == set(wanted) for row, wanted in zip(suggested, positive, strict=True))
    return figures | measured(suggested, test[: len(suggested)]) | {"same_as_direct": same / len(suggested)}


def measured(suggested: Suggestions, test: list[Any]) -> dict[str, Any]:
    """Measure the suggestions of a system."""
    labels = sorted({uri for row in suggested for uri, _ in row} | {uri for _, uris in test for uri in uris})
    number = {uri: i for i, uri in enumerate(labels)}
    indices, scores = np.full((len(suggested), 10), -1, np.int32), np.zeros((len(suggested), 10))
    for i, row in enumerate(suggested):
        for j, (uri, score) in enumerate(row[:10]):
            indices[i, j], scores[i, j] = number[uri], score
    truth = np.zeros((len(test), len(labels)), bool)
    for i, (_, uris) in enumerate(test):
        truth[i, [number[uri] for uri in uris]] = True
    judgement = judge(truth, Ranking(indices, scores, labels))
    return {m: interval(m, judgement) for m in MEASURES}


def main() -> None:
    """Run the benchmark, print the result and write it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.annif")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--test-rows", type=int, default=1_000)
    parser.add_argument("--no-json", action="store_true", help="do not write the result file")
    arguments = parser.parse_args()
    result = run(arguments.rows, arguments.test_rows)
    for name, figures in result["systems"].items():
        accuracy = "  ".join(f"{m} {figures[m][0]:.3f}" for m in MEASURES)
        print(f"{name:42} {figures.get('train_seconds', 0):8.1f} s {figures['texts_a_second']:10,.0f}/s  {accuracy}")
    if not arguments.no_json:
        (RESULTS / "annif.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
