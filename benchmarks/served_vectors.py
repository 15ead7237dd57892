"""Teach a served model with embeddings, kill it, undo and forget records, and look for the texts that must be left.

python -m benchmarks.served_vectors FOLDER --learns 10000 --forgets 1000

A process learns records and is killed halfway; another one sends all records again, with the same keys. Then records
are undone and forgotten in batches. Measured are the recall of the 50 nearest texts, against an exact search over the
vectors in floating point of the texts that must be there, and whether all replicas have the same state.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound import Tagger
from abound.encoders import VectorEncoder
from abound.second_opinion import neighbours
from abound.server import Follower, Home, Writer
from abound.server.replay import follow
from abound.server.replica import Replica
from abound.store.journal import Journal
from abound.store.journal.records import Forget, Learn, Undo

TOPICS, WORDS, DIMENSIONS = 40, 50, 64  # words of a topic
FITTED = 400  # texts of the first model
BATCH = 64  # records that wait for a commit
CHANGED = 500  # records that one change undoes or forgets
NEAREST, QUERIES = 50, 200
ROOT = Path(__file__).parents[1]


def write_table(folder: Path) -> Path:
    """Write an encoder: a vector for each word, near that of its topic."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(0)
    topics = draw.normal(size=(TOPICS, 1, DIMENSIONS))
    table = (topics + draw.normal(size=(TOPICS, WORDS, DIMENSIONS))).reshape(-1, DIMENSIONS)
    names = {f"t{topic}w{word}": topic * WORDS + word for topic in range(TOPICS) for word in range(WORDS)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"type": "WordPiece", "vocab": names}}))
    np.save(folder / "table.npy", table.astype(np.float32))
    return folder


def text_of(number: int) -> str:
    """Return a text of twelve words, most of them of its topic."""
    chance = random.Random(number)
    topics = [number % TOPICS if chance.random() < 0.7 else chance.randrange(TOPICS) for _ in range(12)]
    return " ".join(f"t{topic}w{chance.randrange(WORDS)}" for topic in topics)


def label_of(number: int) -> str:
    """Return the label of a text."""
    return f"topic {number % TOPICS}"


def fitted(table: Path) -> Tagger:
    """Return a model with embeddings, fitted on the first texts."""
    numbers = range(FITTED)
    tagger = Tagger(language=None, embeddings=str(table))
    return tagger.fit([text_of(number) for number in numbers], [[label_of(number)] for number in numbers])


def teach(home: Home, learns: int) -> None:
    """Learn records, and print the sequence of each one that was acknowledged."""
    with Writer(home, snapshot_every=1000) as writer:
        for start in range(0, learns, BATCH):
            numbers = range(FITTED + start, FITTED + min(learns, start + BATCH))
            answers = [
                writer.submit(Learn(text_of(number), added=(label_of(number),)), f"text {number}") for number in numbers
            ]
            for answer in answers:
                print(answer.result().sequence, flush=True)


def killed_while_learning(home: Home, learns: int) -> int:
    """Kill a process that learns when half of the records are acknowledged; return the last acknowledged one."""
    acknowledged = 0
    with start("teach", home, learns) as process:
        assert process.stdout is not None
        for line in process.stdout:
            acknowledged = int(line)
            if acknowledged >= learns // 2:
                process.send_signal(signal.SIGKILL)
                break
    return acknowledged


def start(task: str, home: Home, number: int) -> "subprocess.Popen[str]":
    """Start another process of this program."""
    command = [sys.executable, "-m", "benchmarks.served_vectors", str(home.path), "--task", task]
    return subprocess.Popen([*command, "--learns", str(number)], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def change(home: Home, learns: int, forgets: int) -> set[int]:
    """Undo half of the records to forget and forget the others, in batches; return their sequences."""
    chosen = sorted(random.Random(1).sample(range(1, learns + 1), forgets))
    with Writer(home) as writer:
        for at in range(0, forgets, CHANGED):
            part = chosen[at : at + CHANGED]
            half = len(part) // 2
            changes = [writer.change(Undo(part[:half])), writer.change(Forget(part[half:]))]
            for answer in changes:
                answer.result(600)
    return set(chosen)


def from_scratch(home: Home) -> Replica:
    """Return a replica that replays the whole journal on the first model, without an encoder."""
    replica = Replica.load(home.snapshot_path(0))
    replica.tagger.settings = replace(replica.tagger.settings, embeddings=Silent())
    with Journal(home.journal_path) as journal:
        replica.journal = journal.id
        follow(replica, journal, lineage=journal.lineage())
    return replica


class Silent(VectorEncoder):
    """An encoder that must not be asked."""

    name, dimensions = "table-64", DIMENSIONS

    def raw(self, texts: list[str]) -> object:
        """Raise an error."""
        raise AssertionError(f"the encoder was asked for {len(texts)} texts")


def recalls(tagger: Tagger, numbers: list[int]) -> dict[str, float]:
    """Return the shares of the nearest texts that are found, of texts that must be there."""
    opinion, encoder = tagger.second_opinion, tagger.vector_encoder
    assert opinion is not None
    assert encoder is not None
    texts = [text_of(number)[: neighbours.LONGEST_TEXT] for number in numbers]
    vectors = encoder.encode(texts).astype(np.float64)
    queries = [text_of(number) for number in range(10**6, 10**6 + QUERIES)]
    floats = encoder.encode(queries).astype(np.float64)
    found = {"exact search": 0, "floating point": 0, "floating point, selected by sign bits": 0}
    for code, query in zip(tagger.codes_of(queries), floats, strict=True):
        rows = [opinion.neighbours.search(code, NEAREST, exactly=exactly)[0].tolist() for exactly in (False, True)]
        selected = select(opinion.neighbours, code)
        nearest = {texts[place] for place in np.argsort(-(vectors @ query), kind="stable")[:NEAREST].tolist()}
        found["exact search"] += len({*rows[0]} & {*rows[1]})
        found["floating point"] += len({opinion.neighbours.shown(row)[0] for row in rows[0]} & nearest)
        found["floating point, selected by sign bits"] += len(
            {opinion.neighbours.shown(row)[0] for row in selected} & nearest
        )
    return {name: count / (NEAREST * QUERIES) for name, count in found.items()}


def select(known: neighbours.Neighbours, code: NDArray[np.int8]) -> list[int]:
    """Return the rows of the nearest texts as a model with very many texts finds them."""
    many, neighbours.MANY_ROWS = neighbours.MANY_ROWS, 0
    try:
        return known.search(code, NEAREST)[0].tolist()
    finally:
        neighbours.MANY_ROWS = many


def run(folder: Path, learns: int, forgets: int) -> dict[str, Any]:
    """Return what was measured."""
    home = Home.create(folder / "home", fitted(write_table(folder / "table")))
    began = time.perf_counter()
    acknowledged = killed_while_learning(home, learns)
    with Journal(home.journal_path) as journal:
        survived = journal.last
    sequences = [int(line) for line in start("teach", home, learns).communicate()[0].split()]
    learned = time.perf_counter()
    gone = change(home, learns, forgets)
    changed = time.perf_counter()
    others = [start("hash", home, 0) for _ in range(2)]
    hashes = [process.communicate()[0].strip() for process in others]
    scratch = from_scratch(home)
    with Follower(home) as follower:
        hashes += [follower.replica.state_hash(), scratch.state_hash()]
        left = [FITTED + sequence - 1 for sequence in range(1, learns + 1) if sequence not in gone]
        numbers = [*range(FITTED), *left]
        assert follower.replica.tagger.second_opinion is not None
        rows = len(follower.replica.tagger.second_opinion.neighbours)
        recall = recalls(follower.replica.tagger, numbers)
    return {
        "learns": learns,
        "forgets": forgets,
        "acknowledged before the kill": acknowledged,
        "records after the kill": survived,
        "learned in order": sequences == list(range(1, learns + 1)),
        "texts expected": len(numbers),
        "texts found": rows,
        "recall": recall,
        "states": len(set(hashes)),
        "replicas": len(hashes),
        "seconds to learn": round(learned - began, 1),
        "seconds to undo and forget": round(changed - learned, 1),
    }


def main() -> None:
    """Run a task, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--learns", type=int, default=10_000)
    parser.add_argument("--forgets", type=int, default=1000)
    parser.add_argument("--task", choices=["run", "teach", "hash"], default="run")
    given = parser.parse_args()
    if given.task == "teach":
        teach(Home(given.folder), given.learns)
    elif given.task == "hash":
        with Follower(Home(given.folder)) as follower:
            print(follower.replica.state_hash())
    else:
        print(json.dumps(run(given.folder, given.learns, given.forgets), indent=2))


if __name__ == "__main__":
    main()
