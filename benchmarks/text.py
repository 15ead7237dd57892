"""Train abound's Tagger and fastText on the same 100,000 titles, from a text file to a model.

python -m benchmarks.text speed          our steps and fastText with words and pairs, alternating
python -m benchmarks.text accurate       fastText with the most accurate of five settings
python -m benchmarks.text corrections    1,000 corrections: whether each takes effect, and what it costs
python -m benchmarks.text whole en       all of yso-finna-en (or fi): seconds, memory, accuracy
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

from abound import Tagger, data
from abound.metrics import interval, judge
from benchmarks import sets
from benchmarks.machine import machine_line
from benchmarks.peers.environments import interpreter

RESULTS = Path(__file__).parent / "results"
N_TRAIN, N_TEST = 100_000, 10_000
FASTTEXT_SETTINGS = (
    {"lr": 0.1, "epoch": 5},
    {"lr": 0.5, "epoch": 5},
    {"lr": 0.5, "epoch": 25},
    {"lr": 1.0, "epoch": 25},
    {"lr": 1.0, "epoch": 50},
)
FASTTEXT = """
import json, sys, time, fasttext
train, test, params = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
start = time.perf_counter()
model = fasttext.train_supervised(train, loss="hs", wordNgrams=2, thread=2, verbose=0, **params)
seconds = time.perf_counter() - start
hits = n = 0
begin = time.perf_counter()
for line in open(test, encoding="utf-8"):
    words = line.split()
    truth = {w for w in words if w.startswith("__label__")}
    labels, _ = model.predict(" ".join(w for w in words if w not in truth), k=1)
    hits += bool(labels) and labels[0] in truth
    n += 1
print(json.dumps({"train_seconds": seconds, "P@1": hits / n, "texts_a_second": n / (time.perf_counter() - begin)}))
"""


def write_files(folder: Path) -> tuple[Path, Path]:
    """Write the titles as files for abound and, lower-cased and tokenised in the same way, as files for fastText."""
    from abound.text.words import prepare, words_of

    rows = [row for row, _ in zip(sets.finna_rows(), range(N_TRAIN + N_TEST), strict=False)]
    paths = folder / "train.ft", folder / "test.ft"
    for path, part in zip(paths, (rows[:N_TRAIN], rows[N_TRAIN:]), strict=True):
        records = (data.Document(tuple(labels), " ".join(words_of(prepare(text)))) for text, labels in part)
        data.write(path, list(records), "fasttext")
        data.write(path.with_suffix(".tsv"), data.read(path, "fasttext"), "labels-tsv")
    return paths


def fasttext(train: Path, test: Path, **params: Any) -> dict[str, Any]:
    """Train and test fastText in its own environment."""
    command = [interpreter("fasttext"), "-c", FASTTEXT, train, test, json.dumps(params)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def ours(train: Path, test: Path) -> dict[str, Any]:
    """Read, tokenise, weight and learn a file in chunks, timing each step; then rank the test file."""
    tagger, steps, chunk = Tagger(), dict.fromkeys(("read", "tokenise and weigh", "learn"), 0.0), 2048
    begin = time.perf_counter()
    reader = iter(data.read(train.with_suffix(".tsv"), "labels-tsv"))
    while True:
        start = time.perf_counter()
        records = [record for record, _ in zip(reader, range(chunk), strict=False)]
        read = time.perf_counter()
        steps["read"] += read - start
        if not records:
            break
        from abound.components.rows import Rows

        rows = Rows(*tagger.encoder.rows([record.text for record in records], learn=True))
        weighed = time.perf_counter()
        labels = [record.labels for record in records]
        tagger.ranker.learn(tagger.ranker.make_batch(rows, labels, "lists", tagger.n_features))
        steps["tokenise and weigh"] += weighed - read
        steps["learn"] += time.perf_counter() - weighed
    seconds = time.perf_counter() - begin
    held = list(data.read(test, "fasttext"))
    texts = [record.text for record in held]
    start = time.perf_counter()
    ranking = tagger.rank_arrays(texts, 5)
    rate = len(texts) / (time.perf_counter() - start)
    single = []
    for text in texts[:2000]:
        start = time.perf_counter()
        tagger.rank(text)
        single.append(time.perf_counter() - start)
    judgement = judge(tagger.truth([record.labels for record in held]), ranking)
    return {
        "train_seconds": seconds,
        "share": {step: value / seconds for step, value in steps.items()},
        "P@1": interval("P@1", judgement),
        "texts_a_second": rate,
        "median_microseconds_one": 1e6 * float(np.median(single)),
    }


def speed(rounds: int = 3) -> dict[str, Any]:
    """Train both alternately and keep the best time of each."""
    with tempfile.TemporaryDirectory() as folder:
        train, test = write_files(Path(folder))
        runs = [(ours(train, test), fasttext(train, test)) for _ in range(rounds)]
    best, theirs = (min((run[i] for run in runs), key=lambda r: r["train_seconds"]) for i in (0, 1))
    best["texts_a_second"] = max(run[0]["texts_a_second"] for run in runs)
    best["median_microseconds_one"] = min(run[0]["median_microseconds_one"] for run in runs)
    return {"abound": best, "fasttext": theirs, "times_as_fast": theirs["train_seconds"] / best["train_seconds"]}


def accurate() -> dict[str, Any]:
    """Try fastText's five settings once each, with ours before and after."""
    with tempfile.TemporaryDirectory() as folder:
        train, test = write_files(Path(folder))
        before = ours(train, test)
        tried = [{**setting, **fasttext(train, test, **setting)} for setting in FASTTEXT_SETTINGS]
        after = ours(train, test)
    best = max(tried, key=lambda run: run["P@1"])
    seconds = min(before["train_seconds"], after["train_seconds"])
    return {"tried": tried, "best": best, "abound": before, "times_as_fast": best["train_seconds"] / seconds}


def corrections(n: int = 1000) -> dict[str, Any]:
    """Correct n further titles, and check whether one of their subjects ranks first afterwards.

    A second run uses random labels, which nothing in the title supports.
    """
    return {"true_labels": _corrections(n, False), "random_labels": _corrections(n, True)}


def _corrections(n: int, random_label: bool) -> dict[str, Any]:
    rows = [row for row, _ in zip(sets.finna_rows(), range(N_TRAIN + N_TEST + n), strict=False)]
    tagger = Tagger()
    tagger.learn_many([text for text, _ in rows[:N_TRAIN]], [labels for _, labels in rows[:N_TRAIN]])
    held = rows[N_TRAIN : N_TRAIN + N_TEST]

    def accuracy() -> float:
        ranking = tagger.rank_arrays([text for text, _ in held], 1)
        judgement = judge(tagger.truth([labels for _, labels in held]), ranking)
        return interval("P@1", judgement, n_resamples=1).value

    before, first, fell, rejections, rng = accuracy(), 0, 0, 0, np.random.default_rng(0)
    known = tagger.ranker.labels_.names
    for text, true in rows[N_TRAIN + N_TEST :]:
        labels = [known[rng.integers(len(known))]] if random_label else true
        tagger.learn(text, labels)
        entries = tagger.rank(text, 1)
        first += bool(entries) and entries[0].label in labels
    taught = accuracy()
    for text, true in rows[N_TRAIN + N_TEST :]:
        wrong = [entry for entry in tagger.rank(text, 5) if entry.label not in true][:1]
        if wrong:
            tagger.learn(text, [], wrong=[wrong[0].label])
            now = {entry.label: entry.score for entry in tagger.rank(text, tagger.n_labels)}
            fell += now.get(wrong[0].label, -np.inf) < wrong[0].score
            rejections += 1
    return {
        "corrections": n,
        "first_after_one_learn": first / n,
        "rejections": rejections,
        "rejected_label_fell": fell / max(1, rejections),
        "P@1_before": before,
        "P@1_after_corrections": taught,
        "P@1_after_rejections": accuracy(),
    }


def whole(language: str = "en", max_memory: str = "") -> dict[str, Any]:
    """Run the command line on a whole data set, with every 20th row held out."""
    source = sets.data_folder() / f"yso-finna-{language}"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "abound", "fit", source / "docs.tsv.xz", "--format", "labels-tsv", "--json"]
        command += ["--model", Path(folder) / "model", "--label-names", source / "labels.tsv", "--holdout", "every:20"]
        command += ["--max-memory", max_memory] if max_memory else []
        start = time.perf_counter()
        # An intermediate process, so that the peak is that of this child and not of an earlier one.
        watch = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        done = subprocess.run([sys.executable, "-c", watch, *command], capture_output=True, text=True, check=True)
        line, peak = done.stdout.strip().splitlines()
        wall = time.perf_counter() - start
        return {"wall_seconds": wall, "peak_megabytes": int(peak) / 1024, **json.loads(line), "model": None}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.text", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("speed", "accurate", "corrections", "whole"))
    parser.add_argument("arguments", nargs="*")
    arguments = parser.parse_args()
    result = {"machine": machine_line(), **globals()[arguments.command](*arguments.arguments)}
    RESULTS.mkdir(exist_ok=True)
    name = "-".join(["text", arguments.command, *arguments.arguments])
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
