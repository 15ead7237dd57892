"""What a run computes, from its cells."""

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.prank import batch, experiments
from benchmarks.papers.prank.cells import Cells
from benchmarks.papers.prank.learners import best_rate
from benchmarks.papers.ratings import Ratings, jester, movielens

Figures = dict[str, Any]
MOVES = 300  # rows whose updates are followed for figure 1


@dataclass(frozen=True)
class Size:
    """How much is computed; a seed of the short run has the same cells in the full one."""

    seeds: int
    sequences: int = 1  # synthetic sequences for each seed
    rounds: int = 7_000
    people: int = 5  # columns to predict for each seed
    jokes: int = 1
    joke_rounds: int = 1_000
    separable_rows: int = 500
    draws: int = 2  # training sets of the batch experiment for each seed
    development: int = 6


SHORT, FULL = Size(seeds=6), Size(seeds=100)  # the full run has the paper's 100 sequences and 500 people
TINY = Size(3, sequences=1, rounds=300, people=2, jokes=1, joke_rounds=200, separable_rows=100, draws=2, development=2)


def say(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


def with_seeds(name: str, size: Size, one: Any) -> list[Any]:
    """Return the cells of all seeds."""
    found = []
    for seed in range(size.seeds):
        say(f"\r{name}: seed {seed + 1} of {size.seeds}   ")
        found.append(one(seed))
    say("\n")
    return found


def spread(values: list[float]) -> dict[str, Any]:
    """Return the mean over seeds, its standard deviation, and the value of each seed."""
    return {"mean": float(np.mean(values)), "deviation": float(np.std(values, ddof=1)), "seeds": values}


def online(cells: list[Any], rounds: int) -> Figures:
    """Join the curves of all seeds: losses after the last round, and curves with their values of each seed."""
    names = list(cells[0]["curves"])
    curves = {name: np.array([cell["curves"][name] for cell in cells]) for name in names}
    return {
        "rounds": rounds,
        "loss": {name: spread(curve[:, -1].tolist()) for name, curve in curves.items()},
        "shown": experiments.rounds_shown(rounds).tolist(),
        "curves": {name: np.round(curve, 5).tolist() for name, curve in curves.items()},
    }


def synthetic(cells: Cells, size: Size) -> Figures:
    """Run the left plot of figure 3."""
    tried = cells.get("synthetic-rates", experiments.synthetic_rates, sequences=size.development // 2, n=size.rounds)
    rates = {name: best_rate(found) for name, found in tried.items()}
    found = with_seeds(
        "synthetic",
        size,
        lambda seed: cells.get(
            "synthetic", experiments.synthetic, seed=seed, sequences=size.sequences, n=size.rounds, rates=rates
        ),
    )
    return {
        "about": f"{size.sequences} sequences for each seed",
        "tried": tried,
        "rates": rates,
        **online(found, size.rounds),
        "support": spread([cell["support"] for cell in found]),
    }


def collaborative(
    cells: Cells, size: Size, name: str, ratings: Ratings, n: int, rounds: int, *, shrink: bool
) -> Figures:
    """Run one of the other plots on a table of ratings."""
    development, targets = experiments.targets_of(ratings, rounds, size.development)
    table = hashlib.sha256(b"".join(part.tobytes() for part in (ratings.rows, ratings.columns, ratings.values)))
    key = f"{name}-{table.hexdigest()[:8]}"
    tried = cells.get(
        f"{key}-rates",
        lambda rounds, shrink, columns: experiments.ratings_rates(ratings, development, rounds, shrink=shrink),  # noqa: ARG005
        rounds=rounds,
        shrink=shrink,
        columns=len(development),
    )
    rates = {system: best_rate(found) for system, found in tried.items()}

    def one(seed: int) -> Any:
        return cells.get(
            key,
            lambda seed, n, rounds, shrink, rates, left_out: experiments.collaborative(  # noqa: ARG005
                seed, ratings, targets, n, rounds, rates, shrink=shrink
            ),
            seed=seed,
            n=n,
            rounds=rounds,
            shrink=shrink,
            rates=rates,
            left_out=len(development),
        )

    found = with_seeds(name, size, one)
    return {
        "about": f"{min(n, len(targets))} of {len(targets)} columns for each seed",
        "table": list(ratings.shape),
        "length": float(np.mean([cell["length"] for cell in found])),
        "tried": tried,
        "rates": rates,
        **online(found, rounds),
        "batch": {system: spread([cell["batch"][system] for cell in found]) for system in found[0]["batch"]},
    }


def bounds(cells: Cells, size: Size) -> Figures:
    """Compare the rank loss with theorem 2's bound."""
    found = with_seeds(
        "bounds", size, lambda seed: cells.get("bounds", experiments.bounds, seed=seed, n=size.separable_rows)
    )
    return {
        k: {
            **{part: spread([cell[k][part] for cell in found]) for part in ("rows", "loss", "bound")},
            "largest_share": max(cell[k]["loss"] / cell[k]["bound"] for cell in found),
            "out_of_order": sum(cell[k]["out_of_order"] for cell in found),
        }
        for k in found[0]
    }


def moves(cells: Cells, size: Size, tables: dict[str, tuple[Ratings, bool]]) -> Figures:
    """Count what updates do to their own rows, as in figure 1."""

    def of_points(seed: int) -> dict[str, int]:
        X, y = experiments.synthetic_stream(np.random.default_rng(seed), MOVES)
        return experiments.moves(experiments.explicit(X), y, experiments.RANKS)

    def of_ratings(name: str, seed: int) -> dict[str, int]:
        ratings, shrink = tables[name]
        rng = np.random.default_rng(seed)
        X, y = ratings.stream(int(rng.integers(ratings.shape[1])), rng, ratings.features(shrink=shrink))
        return experiments.moves(X[:MOVES], y[:MOVES], ratings.ranks)

    found = {"synthetic": [cells.get("moves-synthetic", of_points, seed=seed) for seed in range(size.seeds)]}
    for name in tables:
        found[name] = [cells.get(f"moves-{name}", of_ratings, name, seed=seed) for seed in range(size.seeds)]
    return {
        name: {kind: spread([cell[kind] / max(1, sum(cell.values())) for cell in done]) for kind in done[0]}
        for name, done in found.items()
    }


def batch_runs(cells: Cells, size: Size) -> Figures:
    """Compare PRank with support vector machines on a few rows."""
    penalties = cells.get("batch-penalties", batch.chosen_penalties, draws=size.development)
    found = with_seeds(
        "batch",
        size,
        lambda seed: cells.get("batch", batch.batch, seed=seed, draws=size.draws, penalties=penalties),
    )
    return {
        "draws": size.draws,
        "penalties": penalties,
        "sizes": {
            rows: {system: spread([cell[rows][system] for cell in found]) for system in found[0][rows]}
            for rows in found[0]
        },
    }


def run(size: Size, cells: Cells) -> Figures:
    """Run all experiments that need no file of the user."""
    jokes = jester()
    people = jokes.transposed()
    online_runs = {"synthetic": synthetic(cells, size)}
    for name, ratings, n, rounds in (
        ("people", people, size.people, 100),
        ("jokes", jokes, size.jokes, size.joke_rounds),
    ):
        for shrink in (False, True):
            full = f"jester-{name}" + ("-shrunk" if shrink else "")
            online_runs[full] = collaborative(cells, size, full, ratings, n, rounds, shrink=shrink)
    tables = {"jester-people": (people, False), "jester-jokes": (jokes, False), "jester-jokes-shrunk": (jokes, True)}
    return {
        "seeds": size.seeds,
        "online": online_runs,
        "batch": batch_runs(cells, size),
        "bounds": bounds(cells, size),
        "moves": moves(cells, size, tables),
        "parameters": experiments.parameters(),
    }


def run_movielens(path: Path, size: Size, cells: Cells, least: tuple[int, ...] = (100, 200)) -> Figures:
    """Run the middle and the right plot of figure 3 on a MovieLens file: viewers with at least so many ratings."""
    whole, found = movielens(path), {}
    for rounds in least:
        ratings = whole.with_columns(np.flatnonzero(whole.column_counts() >= rounds))
        for shrink in (False, True):
            name = f"movielens-{rounds}" + ("-shrunk" if shrink else "")
            found[name] = collaborative(cells, size, name, ratings, size.people, rounds, shrink=shrink)
    return {"seeds": size.seeds, "file": path.name, "online": found}
