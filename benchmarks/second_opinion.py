"""Measure words, neighbours and their blend on the test rows of data sets, with the product as a person gets it.

python -m benchmarks.second_opinion run --set finna-20k --encoder minilm
python -m benchmarks.second_opinion run --set finna-20k --encoder minilm --development   to choose settings
python -m benchmarks.second_opinion show

A tagger with default settings and embeddings learns the training texts and the names of labels. `words` are the
rankings of its ranker alone, `neighbours` the votes of the 100 most similar texts, `prototypes` the scores of label
vectors, and `blend` its rankings. Vectors are those of `benchmarks.vectors`, which keeps them in files. Intervals are
95% bootstrap intervals over the texts. A result has the hash of the source files that it depends on.
"""

import argparse
import hashlib
import json
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from abound import Tagger
from abound.encoders import CallableEncoder
from abound.rankers.ranking import Ranking
from abound.tagger.evaluation import Evaluation
from benchmarks import documents
from benchmarks.machine import machine_line
from benchmarks.vectors import encode, encode_known

RESULT = Path(__file__).parent / "results" / "second_opinion.json"
SOURCES = Path(__file__).parents[1] / "src" / "abound"
PARTS = ("second_opinion", "rankers", "components", "kernels", "calibration", "tagger", "text")
SETS = ("finna-20k", "finna-100k", "gutenberg-5k", "gutenberg-lcsh", "wordnet-hypernym", "debian-tags")
ENCODERS = ("static", "minilm")
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
DEPTH = 20


def source_key() -> str:
    """Return a hash of the sources that decide the figures."""
    digest = hashlib.sha256()
    for part in PARTS:
        for path in sorted((SOURCES / part).glob("*.p*")):
            if path.suffix in (".py", ".pyx", ".pxd"):
                digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def encoder_of(name: str, model: str, found: documents.Documents) -> CallableEncoder:
    """Return an encoder that knows the vectors of all texts and names of a data set."""
    texts = [row.text for row in [*found.train, *found.held]]
    vectors = encode_known(name, model, texts)
    known = dict(zip(texts, vectors, strict=True))
    names = [one for given in found.names.values() for one in given]
    known |= {text: vector for text, vector in zip(names, encode(model, names), strict=True) if text not in known}
    return CallableEncoder(lambda given: np.stack([known[text] for text in given]), model, vectors.shape[1])


def voters(tagger: Tagger, texts: list[str]) -> dict[str, Ranking]:
    """Return the rankings of each voter alone."""
    opinion, names = tagger.second_opinion, tagger.ranker.labels_.names
    assert opinion is not None
    labels = {voter: np.full((len(texts), DEPTH), -1, np.int32) for voter in ("neighbours", "prototypes")}
    for row, code in enumerate(tagger.codes_of(texts)):
        votes = opinion.neighbours.votes(*opinion.neighbours.search(code))
        best = votes.labels[np.lexsort((votes.labels, -votes.shares))[:DEPTH]]
        labels["neighbours"][row, : len(best)] = best
        ranked = opinion.prototypes.best(opinion.prototypes.query(code), DEPTH)
        labels["prototypes"][row, : len(ranked)] = ranked
    found = {voter: Ranking(ranked, -np.arange(DEPTH) * (ranked >= 0.0), names) for voter, ranked in labels.items()}
    return {"words": tagger.ranker.rank_rows(tagger.rows_of(texts), DEPTH), **found}


def figures_of(evaluation: Evaluation) -> dict[str, list[float]]:
    """Return metrics with the ends of their intervals."""
    found = evaluation.metrics(METRICS)
    return {name: [round(float(x), 4) for x in (one.value, one.low, one.high)] for name, one in found.items()}


def measure(name: str, model: str, *, development: bool) -> dict[str, Any]:
    """Fit a tagger and measure its voters and their blend."""
    found = documents.development(name) if development else documents.final(name)
    encoder = encoder_of(name, model, found)
    begin = time.process_time()
    labels = [row.labels for row in found.train]
    tagger = Tagger(embeddings=encoder).fit([row.text for row in found.train], labels, label_names=found.names)
    fitted = time.process_time() - begin
    held = [row for row in found.held if row.labels]
    texts, true = [row.text for row in held], [row.labels for row in held]
    begin = time.process_time()
    blended = tagger.evaluate(texts, true, k=DEPTH)
    per_text = (time.process_time() - begin) / len(texts)
    rankings = voters(tagger, texts)
    padding = ((0, 0), (0, max(0, DEPTH - rankings["words"].indices.shape[1])))
    alone = {
        voter: figures_of(
            replace(
                blended,
                ranking=Ranking(
                    np.pad(one.indices, padding, constant_values=-1)[:, :DEPTH],
                    np.pad(one.scores, padding)[:, :DEPTH],
                    (),
                ),
            )
        )
        for voter, one in rankings.items()
    }
    opinion = tagger.second_opinion
    assert opinion is not None
    return {
        "sources": source_key(),
        "machine": machine_line(),
        "rows": len(found.train),
        "measured": len(texts),
        "labels": tagger.n_labels,
        "voters": {**alone, "blend": figures_of(blended)},
        "is_used": opinion.blend.is_used,
        "calibration_error": round(float(blended.calibration_error or 0.0), 4),
        "fit_seconds": round(fitted, 1),
        "rank_ms": round(1e3 * per_text, 2),
        "vectors_mb": round(opinion.nbytes / 1e6, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def read() -> dict[str, Any]:
    empty: dict[str, Any] = {"command": "python -m benchmarks.second_opinion run", "development": {}, "test": {}}
    return json.loads(RESULT.read_text()) if RESULT.exists() else empty


def shown(values: dict[str, list[float]], names: tuple[str, ...]) -> str:
    """Return metrics in a cell of a table."""
    return " / ".join(f"{values[name][0]:.3f}"[1:] for name in names)


def table(part: str = "test") -> list[str]:
    """Return the results as a table in Markdown."""
    lines = [
        "| data set | vectors | words | neighbours | prototypes | blend | P@1 from - to | PSP, words | PSP, blend |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key, cell in read()[part].items():
        of = cell["voters"]
        cells = [shown(of[voter], METRICS[:3]) for voter in ("words", "neighbours", "prototypes", "blend")]
        low, high = (f"{value:.3f}"[1:] for value in of["blend"]["P@1"][1:])
        psp = [shown(of[voter], METRICS[3:]) for voter in ("words", "blend")]
        lines.append(f"| {' | '.join(key.split(', '))} | {' | '.join(cells)} | {low} - {high} | {' | '.join(psp)} |")
    return lines


def main() -> None:
    """Run or show."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.second_opinion",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--set", choices=SETS, default="finna-20k")
    parser.add_argument("--encoder", choices=ENCODERS, default="static")
    parser.add_argument("--development", action="store_true", help="measure rows held out of the training rows")
    given = parser.parse_args()
    if given.command == "run":
        cell = measure(given.set, given.encoder, development=given.development)
        result = read()
        result["development" if given.development else "test"][f"{given.set}, {given.encoder}"] = cell
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
        print(json.dumps(cell))
    else:
        print("\n".join(table("development" if given.development else "test")))


if __name__ == "__main__":
    main()
