"""The cells of the category-ranking experiments: one corpus and one seed each, computed once and kept in `.cache`."""

import functools
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from abound.metrics.label_ranking import figures
from benchmarks.papers.mmp import bounds, corpora, runs
from benchmarks.papers.mmp.paper import MEASURES, ROW_MEASURES

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / ".cache" / "mmp-paper"
CODE = ("bounds", "cells", "corpora", "runs")
DEBIAN_SYSTEMS = (*runs.OF_THE_PAPER, "MMP AvgP", "MMP l.1 averaged", "MMP defaults")
PROTOCOLS = {
    "chance": "random folds, learned in random order",
    "corpus order": "the same folds, learned oldest first",
    "runs": "each fold a run of neighbouring documents, learned in random order",
    "all words": "as by chance, but without selecting words",
}


class Plan(NamedTuple):
    """How much is run."""

    seeds: int
    protocol_seeds: int
    limit: int | None = None  # documents of Reuters-21578
    folds: int = corpora.FOLDS
    rcv1: tuple[int, int] = (5, corpora.RCV1_HALF)  # files, and documents of each half
    debian: bool = True
    kernel_rows: tuple[int, int] = runs.KERNEL_ROWS
    bound_rows: int = bounds.REUTERS_ROWS


FULL = Plan(seeds=10, protocol_seeds=6)
SHORT = Plan(seeds=6, protocol_seeds=0)
QUICK = Plan(2, 1, 900, 2, (1, 600), debian=False, kernel_rows=(150, 60), bound_rows=60)


class Cell(NamedTuple):
    """What one computation found: plain values, and figures of documents by system and measure."""

    values: dict[str, Any]
    rows: np.ndarray  # systems x row measures x documents, in the order of the documents


def of_corpus(corpus: corpora.Corpus, systems: tuple[str, ...] = tuple(runs.SYSTEMS), select: bool = True) -> Cell:
    """Return the figures of all systems on a corpus."""
    found = runs.run(corpus, systems, select)
    order = np.argsort(corpus.tested, kind="stable")
    each = {name: {m: figures(m, j) for m in ROW_MEASURES} for name, j in found.judgements.items()}
    rows = np.array([[row[m][order] for m in ROW_MEASURES] for row in each.values()], np.float32)
    means = {
        name: {
            m: float(row[m].mean()) if m in row else runs.measured(found.judgements[name], (m,))[m] for m in MEASURES
        }
        for name, row in each.items()
    }
    n_true = next(iter(found.judgements.values())).n_true[order]
    curves = {name: [c.tolist() for c in runs.precision_and_recall(j)] for name, j in found.judgements.items()}
    tied = {name: share_of_ties(j) for name, j in found.judgements.items()}
    values = {
        "about": corpus.about,
        "figures": means,
        "words": {"words": found.words, "selected": found.selected, "distinct": found.distinct},
        "documents": len(order),
        "labels": int(corpus.parts[0].Y_test.shape[1]),
        "label counts": np.bincount(n_true).tolist(),
        "training seconds": found.seconds,
        "curves": curves,
        "ties": tied,
        "systems": list(systems),
    }
    return Cell(values, rows)


def share_of_ties(judgement: Any) -> float:
    """Return the share of documents of which a relevant and another label have the same score."""
    hits, scores = judgement.hits, judgement.scores
    tied = (scores[:, 1:] == scores[:, :-1]) & (hits[:, 1:] != hits[:, :-1])
    return float(tied.any(axis=1).mean())


def plain(values: Any) -> Cell:
    """Return a cell without figures of documents."""
    return Cell(values, np.zeros((0, 0, 0), np.float32))


def reuters(plan: Plan, protocol: str, seed: int) -> corpora.Corpus:
    return corpora.reuters(protocol, plan.limit, plan.folds, seed)


def rcv1_half(plan: Plan, seed: int) -> corpora.Part:
    """Return another half for each seed."""
    parts = corpora.rcv1(*plan.rcv1, seed=seed).parts
    return parts[seed % len(parts)]


def bounds_of(plan: Plan, seed: int) -> dict[str, Any]:
    """Return losses and bounds on artificial rows and on documents."""
    result = {
        "orthonormal": bounds.measured_bounds(bounds.orthonormal(seed)),
        "artificial": bounds.measured_bounds(bounds.artificial(seed)),
    }
    stream = bounds.from_documents(reuters(plan, "chance", seed).parts[0], plan.bound_rows)
    return result if stream is None else {**result, "reuters-21578": bounds.measured_bounds(stream)}


def of_protocol(plan: Plan, protocol: str, seed: int) -> Cell:
    """Return the figures of the paper's systems with another way to divide and order Reuters-21578."""
    return of_corpus(reuters(plan, protocol, seed), runs.OF_THE_PAPER, protocol != "all words")


def cells(plan: Plan) -> dict[str, Callable[[], Cell]]:
    """Return how to compute each cell of a plan, by name."""
    kinds: dict[str, Callable[[int], Cell]] = {
        "reuters-21578": lambda seed: of_corpus(reuters(plan, "chance", seed)),
        "rcv1-subsets": lambda seed: of_corpus(corpora.rcv1(*plan.rcv1, seed=seed)),
        "rounds reuters-21578": lambda seed: plain(runs.round_averaged(reuters(plan, "chance", seed).parts[0])),
        "rounds rcv1-subsets": lambda seed: plain(runs.round_averaged(rcv1_half(plan, seed))),
        "bounds": lambda seed: plain(bounds_of(plan, seed)),
        "kernels": lambda seed: plain(runs.with_kernels(reuters(plan, "chance", seed).parts[0], *plan.kernel_rows)),
    }
    if plan.debian:
        kinds["debian-tags"] = lambda seed: of_corpus(corpora.debian(seed), DEBIAN_SYSTEMS)
    work: dict[str, Callable[[], Cell]] = {
        f"{kind} {seed}": functools.partial(make, seed) for kind, make in kinds.items() for seed in range(plan.seeds)
    }
    for protocol in tuple(PROTOCOLS)[1:]:
        for seed in range(plan.protocol_seeds):
            work[f"protocol {protocol} {seed}"] = functools.partial(of_protocol, plan, protocol, seed)
    return work


def code_hash(plan: Plan) -> str:
    """Return a hash of the code and of the amounts of a plan, so that no cell of other code is used."""
    amounts = repr(plan._replace(seeds=0, protocol_seeds=0)).encode()
    sources = [(Path(__file__).parent / f"{name}.py").read_bytes() for name in CODE]
    return hashlib.sha256(b"".join([amounts, *sources])).hexdigest()[:12]


def compute(plan: Plan, folder: Path = CACHE) -> dict[str, Cell]:
    """Compute the cells that are not in the cache, and return all."""
    found, version = {}, code_hash(plan)
    folder.mkdir(parents=True, exist_ok=True)
    for name, work in cells(plan).items():
        path = folder / f"{name.replace(' ', '-')}-{version}.npz"
        if not path.exists():
            start = time.perf_counter()
            cell = work()
            values = {"content": cell.values, "seconds": time.perf_counter() - start}
            partial = path.with_suffix(".part.npz")
            np.savez_compressed(partial, values=np.array(json.dumps(values)), rows=cell.rows)
            partial.rename(path)
            print(f"{name}: {values['seconds']:.0f} s", flush=True)
        with np.load(path) as stored:
            values = json.loads(str(stored["values"]))
            found[name] = Cell({"content": values["content"], "seconds": values["seconds"]}, stored["rows"])
    return found
