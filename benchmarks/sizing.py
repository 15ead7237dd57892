"""Render the section Sizing of docs/cluster.md: measurements on Spark, and estimates for larger data."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MEASURED = ("fit", "rank", "growth")
DOCUMENTS, LABELS, FEATURES = 10**9, 10**7, 10**8
SHARDS = 1000
NODES, CORES, NODE_BYTES = 16, 16, 512 << 30
MOST_EDGES = 500  # per feature, at w_min .002
EDGE_BYTES, PAGE_BYTES = 16, 4096
FEATURE_BYTES = 24 + 16  # on disk: start of its list, total, rating; offset, length and count of a term
HELD_BYTES = 16 + 2 * 8 + 32 + 1  # in a process: a term, its hash cells at load 0.5, a header, a flag "seen"
SENT_BYTES = 4 + 4 + 8 + 8  # without its edges
NAME_BYTES = 5  # per feature, on average: only words store bytes, pairs of words store none
LABEL_BYTES = 200  # a name as a Python string, its entry in a dictionary and in a list
ROUNDS = 4  # merges per pass, the default with more than two shards


def read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def size(n_bytes: float) -> str:
    """Return bytes in decimal units.

    Examples
    --------
    >>> size(1_536_000)
    '1.5 MB'
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while n_bytes >= 1000 and len(units) > 1:
        n_bytes, units = n_bytes / 1000, units[1:]
    return f"{n_bytes:.0f} {units[0]}" if n_bytes >= 100 or units[0] == "B" else f"{n_bytes:.1f} {units[0]}"


def stage_seconds(run: dict[str, Any], name: str) -> float:
    return sum(stage["cpu_seconds"] for stage in run["stages"] if stage["stage"].split()[0] == name)


def table(head: list[str], rows: list[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def measured() -> list[str]:
    """Return the table of measurements."""
    fit, ranked, growth = (read(f"spark-{name}") for name in MEASURED)
    run, rows = fit["spark"], fit["spark"]["rows"]
    one, (gain, low, high) = fit["local_one_shard"], fit["P@1_difference_to_one_shard"]
    memory = growth["shards"]
    merges = sum(stage["stage"].startswith("merge") for stage in memory[0]["stages"])
    spent = run["executor_processor_seconds"]
    steps = {"rows": "counting", "learn": "learning", "merge": "merging", "write": "writing"}
    by_step = ", ".join(f"{word} {1e6 * stage_seconds(run, step) / rows:.0f}" for step, word in steps.items())
    shares = ", ".join(f"{name} {100 * share:.0f}%" for name, share in ranked["shares"].items())
    exponents = {
        "seconds": growth["seconds_exponent"],
        "CPU seconds of the executors": growth["executor_processor_seconds_exponent"],
        "shuffled bytes": growth["shuffle_bytes_exponent"],
    }
    figures = [
        ("rows, features, edges", f"{rows:,}, {run['features']:,}, {run['edges']:,}"),
        ("seconds", f"{run['seconds']:.0f} on {fit['engine']}; CPU time of the executors: {spent:.0f}"),
        ("CPU time per row", f"{1e6 * spent / rows:.0f} µs: {by_step}, the rest is Spark itself"),
        (
            "shuffled per row",
            f"{run['shuffle_bytes'] / rows:.0f} bytes, compressed; deltas before compression "
            f"{run['delta_bytes'] / rows:.0f}",
        ),
        ("model per edge", f"{run['model_bytes'] / run['edges']:.0f} bytes, including vocabulary and names"),
        ("peak memory of an executor", f"{size(run['peak_executor_bytes'])}, Java and Python together"),
        (
            "P@1",
            f"{run['P@1']:.4f} in {run['shards']} shards, {one['P@1']:.4f} in one: {gain:+.4f} "
            f"({low:+.4f} to {high:+.4f})",
        ),
        ("same hash as local shards", "yes" if fit["same_hash_as_local_shards"] else "no"),
        (
            f"ranking {ranked['rows']:,} rows",
            f"{ranked['best_seconds']['rank']:.1f} s, {ranked['rank_to_bare']:.2f} times a minimal job that reads, "
            f"tokenises and writes the same ({ranked['rank_to_bare_by_processor']:.2f} by CPU time); {shares}",
        ),
        (
            f"growth from {growth['exponents_of_rows'][0]:,} to {growth['exponents_of_rows'][-1]:,} rows, one pass",
            "exponents of the number of rows: " + ", ".join(f"{name} {value:.2f}" for name, value in exponents.items()),
        ),
        (
            "additional memory of a merging task",
            f"{', '.join(size(one['added_merge_bytes']) for one in memory)} with "
            f"{', '.join(str(one['shards']) for one in memory)} shards of {memory[0]['rows']:,} rows and {merges} "
            "merges, above the memory of its process before; at most "
            f"{size(max(one['peak_merge_bytes'] for one in memory))} in total",
        ),
    ]
    where = f"{fit['set']}; {fit['machine']}. Commands: `python -m benchmarks.spark fit`, `rank`, `growth`."
    return [*table(["measured", ""], figures), "", where]


def arithmetic() -> list[str]:
    """Return estimates for a billion documents, from measurements of a million on one machine."""
    one, growth, run = read("text-whole-fi"), read("cascade-growth"), read("spark-fit")["spark"]
    seconds_per_row, exponent = one["seconds"] / one["rows"], growth["exponent_of_edges_a_row"]
    in_tasks = run["task_processor_seconds"] / run["rows"]
    engine = run["executor_processor_seconds"] / run["task_processor_seconds"]  # it reads, sorts, compresses, transfers
    edges_a_row, seen_a_row = one["edges"] / one["rows"], one["features"] / one["rows"]
    edges = min(FEATURES * MOST_EDGES, DOCUMENTS * edges_a_row * (DOCUMENTS / one["rows"]) ** exponent)
    model = edges * EDGE_BYTES + FEATURES * (FEATURE_BYTES + NAME_BYTES) + LABELS * 20
    seen = seen_a_row * DOCUMENTS / SHARDS / ROUNDS  # features that a shard sees in a round
    changed = min(model, seen * max(PAGE_BYTES, edges / FEATURES * EDGE_BYTES))
    held = FEATURES * (HELD_BYTES + NAME_BYTES) + LABELS * LABEL_BYTES
    processes = max(1, min(CORES, int((0.8 * NODE_BYTES - model) / (held + changed))))
    first = DOCUMENTS / ROUNDS * (edges_a_row * EDGE_BYTES + seen_a_row * SENT_BYTES)
    later = SHARDS * seen * (SENT_BYTES + edges / FEATURES * EDGE_BYTES)
    hours = DOCUMENTS * engine * in_tasks / 3600
    estimates = [
        (
            "edges",
            f"{edges_a_row:.1f} per row at {one['rows']:,} rows; "
            f"the total grows as n<sup>{1 + exponent:.2f}</sup> with n rows; at most {MOST_EDGES} per feature",
            f"{edges / 1e9:.1f} billion",
        ),
        (
            "model on disk",
            f"{EDGE_BYTES} bytes per edge, {FEATURE_BYTES + NAME_BYTES} per feature, 20 per label",
            size(model),
        ),
        (
            "memory of a process that learns",
            f"{HELD_BYTES + NAME_BYTES} bytes per feature, {LABEL_BYTES} per label: {size(held)}; and a page of "
            f"{PAGE_BYTES:,} bytes for each of the {seen / 1e6:.1f} million features that a shard sees in a round: "
            f"{size(changed)}",
            size(held + changed),
        ),
        (
            "concurrent processes",
            f"{NODES} nodes with {CORES} cores and {NODE_BYTES >> 30} GiB: a fifth for Java, the model once in the "
            "page cache, the rest for processes",
            f"{NODES * processes}, {processes} per node",
        ),
        (
            "hours per pass",
            f"{1e6 * in_tasks:.0f} µs per row in our tasks, including counting of words, and {engine:.1f} times that "
            "with Spark's own work, as measured above",
            f"{hours / (NODES * processes):.1f} ({hours:,.0f} on one core)",
        ),
        (
            "shuffled in the first round",
            f"{edges_a_row:.1f} edges and {seen_a_row:.1f} features per row, {EDGE_BYTES} and {SENT_BYTES} bytes: "
            f"{ROUNDS * first / DOCUMENTS:.0f} bytes per row before compression, for a quarter of the rows",
            f"{size(first)}, {size(first / NODES)} per node",
        ),
        (
            "shuffled in a later round",
            f"{SHARDS:,} shards send the lists of {seen / 1e6:.1f} million features, at most {edges / FEATURES:.0f} "
            "edges each",
            f"{size(later)}, {size(later / NODES)} per node",
        ),
        (
            "disk for the working directory",
            f"100 bytes per row of short texts, and the models of {ROUNDS} rounds",
            size(DOCUMENTS * 100 + ROUNDS * model),
        ),
    ]
    small = read("text-speed")["abound"]["train_seconds"]
    return [
        f"### A billion documents, {LABELS / 1e6:.0f} million labels, {FEATURES / 1e6:.0f} million features",
        "",
        *table(["quantity", "calculation", ""], estimates),
        "",
        f"Calculated from `text-whole-fi.json` ({one['rows']:,} titles on one core in {one['seconds']:.0f} s) and "
        "`cascade-growth.json`. By the same figures,",
        f"one core learns ten million short texts in {10**7 * seconds_per_row / 60:.0f} minutes, and 100,000 in "
        f"{small:.1f} s: most people should use one machine.",
    ]


def section() -> list[str]:
    """Return the section Sizing of docs/cluster.md; see `benchmarks.readme`."""
    known = all((RESULTS / f"spark-{name}.json").exists() for name in MEASURED)
    return ["## Sizing", "", *([*measured(), ""] if known else []), *arithmetic()]
