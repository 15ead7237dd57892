"""What docs/cluster.md says of sizes: what was measured on Spark, and arithmetic for what nobody here can hold."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MEASURED = ("fit", "rank", "growth")
DOCUMENTS, LABELS, FEATURES = 10**9, 10**7, 10**8
SHARDS = 1000
NODES, CORES, NODE_BYTES = 16, 16, 512 << 30
MOST_EDGES = 500  # of a feature, at w_min .002
EDGE_BYTES, PAGE_BYTES = 16, 4096
FEATURE_BYTES = 24 + 16  # on disk: where its list begins, total, rating; a term's place, length and count
HELD_BYTES = 16 + 2 * 8 + 32 + 1  # in a process: a term, its cells at half load, a header, whether it was met
SENT_BYTES = 4 + 4 + 8 + 8  # beside its edges
NAME_BYTES = 5  # a feature, on average: only words have bytes of their own, pairs of them have none
LABEL_BYTES = 200  # a name as Python's string, its place in a dictionary and in a list
ROUNDS = 4  # merges in a pass, as is usual with more than two shards


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
    """Return the table of what was measured."""
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
        "executors' processor seconds": growth["executor_processor_seconds_exponent"],
        "shuffled bytes": growth["shuffle_bytes_exponent"],
    }
    found = [
        ("rows, features, edges", f"{rows:,}, {run['features']:,}, {run['edges']:,}"),
        ("seconds", f"{run['seconds']:.0f} on {fit['engine']}; executors had the processor for {spent:.0f}"),
        ("processor time a row", f"{1e6 * spent / rows:.0f} µs: {by_step}, the rest is Spark's own"),
        (
            "shuffled a row",
            f"{run['shuffle_bytes'] / rows:.0f} bytes, compressed; deltas before that {run['delta_bytes'] / rows:.0f}",
        ),
        ("model an edge", f"{run['model_bytes'] / run['edges']:.0f} bytes, vocabulary and names included"),
        ("peak memory of an executor", f"{size(run['peak_executor_bytes'])}, Java and Python together"),
        (
            "P@1",
            f"{run['P@1']:.4f} in {run['shards']} shards, {one['P@1']:.4f} in one: {gain:+.4f} "
            f"({low:+.4f} to {high:+.4f})",
        ),
        ("same hash as local shards", "yes" if fit["same_hash_as_local_shards"] else "no"),
        (
            f"ranking {ranked['rows']:,} rows",
            f"{ranked['best_seconds']['rank']:.1f} s, {ranked['rank_to_bare']:.2f} times a bare job that reads, "
            f"tokenises and writes the same ({ranked['rank_to_bare_by_processor']:.2f} by processor time); {shares}",
        ),
        (
            f"growth from {growth['exponents_of_rows'][0]:,} to {growth['exponents_of_rows'][-1]:,} rows, one pass",
            "as rows to the power: " + ", ".join(f"{name} {value:.2f}" for name, value in exponents.items()),
        ),
        (
            "memory that a merging task adds",
            f"{', '.join(size(one['added_merge_bytes']) for one in memory)} with "
            f"{', '.join(str(one['shards']) for one in memory)} shards of {memory[0]['rows']:,} rows and {merges} "
            "merges, beyond what its process held before; all in all at most "
            f"{size(max(one['peak_merge_bytes'] for one in memory))}",
        ),
    ]
    where = f"{fit['set']}; {fit['machine']}. Commands: `python -m benchmarks.spark fit`, `rank`, `growth`."
    return [*table(["measured", ""], found), "", where]


def arithmetic() -> list[str]:
    """Return the arithmetic for a billion documents, from what one machine has measured on a million."""
    one, growth, run = read("text-whole-fi"), read("cascade-growth"), read("spark-fit")["spark"]
    a_row, slope = one["seconds"] / one["rows"], growth["exponent_of_edges_a_row"]
    in_tasks = run["task_processor_seconds"] / run["rows"]
    engine = run["executor_processor_seconds"] / run["task_processor_seconds"]  # reads, sorts, compresses, hands over
    edges_a_row, met_a_row = one["edges"] / one["rows"], one["features"] / one["rows"]
    edges = min(FEATURES * MOST_EDGES, DOCUMENTS * edges_a_row * (DOCUMENTS / one["rows"]) ** slope)
    model = edges * EDGE_BYTES + FEATURES * (FEATURE_BYTES + NAME_BYTES) + LABELS * 20
    met = met_a_row * DOCUMENTS / SHARDS / ROUNDS  # features that a shard meets in a round
    changed = min(model, met * max(PAGE_BYTES, edges / FEATURES * EDGE_BYTES))
    held = FEATURES * (HELD_BYTES + NAME_BYTES) + LABELS * LABEL_BYTES
    processes = max(1, min(CORES, int((0.8 * NODE_BYTES - model) / (held + changed))))
    first = DOCUMENTS / ROUNDS * (edges_a_row * EDGE_BYTES + met_a_row * SENT_BYTES)
    later = SHARDS * met * (SENT_BYTES + edges / FEATURES * EDGE_BYTES)
    hours = DOCUMENTS * engine * in_tasks / 3600
    found = [
        (
            "edges",
            f"{edges_a_row:.1f} a row at {one['rows']:,} rows, growing as rows to the power {1 + slope:.2f}; at most "
            f"{MOST_EDGES} a feature",
            f"{edges / 1e9:.1f} billion",
        ),
        (
            "model on disk",
            f"{EDGE_BYTES} bytes an edge, {FEATURE_BYTES + NAME_BYTES} a feature, 20 a label",
            size(model),
        ),
        (
            "memory of a process that learns",
            f"{HELD_BYTES + NAME_BYTES} bytes a feature, {LABEL_BYTES} a label: {size(held)}; and a page of "
            f"{PAGE_BYTES:,} bytes for each of the {met / 1e6:.1f} million features that a shard meets in a round: "
            f"{size(changed)}",
            size(held + changed),
        ),
        (
            "processes at once",
            f"{NODES} nodes of {CORES} cores and {NODE_BYTES >> 30} GiB: a fifth for Java, the model once in the "
            "system's cache, the rest for processes",
            f"{NODES * processes}, {processes} a node",
        ),
        (
            "hours of a pass",
            f"{1e6 * in_tasks:.0f} µs a row in our tasks, counting of words included, and {engine:.1f} times that with "
            "Spark's own work, as measured above",
            f"{hours / (NODES * processes):.1f} ({hours:,.0f} of one core)",
        ),
        (
            "shuffled in the first round",
            f"{edges_a_row:.1f} edges and {met_a_row:.1f} features a row, {EDGE_BYTES} and {SENT_BYTES} bytes: "
            f"{ROUNDS * first / DOCUMENTS:.0f} bytes a row before compression, and a quarter of the rows",
            f"{size(first)}, {size(first / NODES)} a node",
        ),
        (
            "shuffled in a later round",
            f"{SHARDS:,} shards send the lists of {met / 1e6:.1f} million features, at most {edges / FEATURES:.0f} "
            "edges each",
            f"{size(later)}, {size(later / NODES)} a node",
        ),
        (
            "disk for the working directory",
            f"100 bytes a row of short texts, and the models of {ROUNDS} rounds",
            size(DOCUMENTS * 100 + ROUNDS * model),
        ),
    ]
    small = read("text-speed")["abound"]["train_seconds"]
    return [
        f"### A billion documents, {LABELS / 1e6:.0f} million labels, {FEATURES / 1e6:.0f} million features",
        "",
        *table(["what", "how it is reckoned", ""], found),
        "",
        f"From `text-whole-fi.json` ({one['rows']:,} titles on one core in {one['seconds']:.0f} s) and "
        "`cascade-growth.json`. By the same figures",
        f"one core learns ten million short texts in {10**7 * a_row / 60:.0f} minutes, and 100,000 in {small:.1f} s: "
        "most people should take one machine.",
    ]


def section() -> list[str]:
    """Return what docs/cluster.md says of sizes; see `benchmarks.readme`."""
    known = all((RESULTS / f"spark-{name}.json").exists() for name in MEASURED)
    return ["## Sizing", "", *([*measured(), ""] if known else []), *arithmetic()]
