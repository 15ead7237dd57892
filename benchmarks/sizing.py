"""What docs/cluster.md says of sizes: what was measured on Spark, and arithmetic for what nobody here can hold."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCUMENTS, LABELS, FEATURES = 10**9, 10**7, 10**8
NODES, CORES, NODE_BYTES = 16, 16, 512 << 30
MOST_EDGES = 100  # of a feature, at w_min .01
# What a process holds of a feature: a term of 16 bytes, its cells at half load, a header, and whether it was met.
FEATURE_BYTES = 16 + 2 * 8 + 32 + 1
EDGE_BYTES = 16
LABEL_BYTES = 200  # a name as Python's string, its place in a dictionary and in a list


def read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"spark-{name}.json").read_text())


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
    fit, ranked, growth = read("fit"), read("rank"), read("growth")
    run, rows = fit["spark"], fit["spark"]["rows"]
    one, (gain, low, high) = fit["local_one_shard"], fit["P@1_difference_to_one_shard"]
    sizes, memory = growth["runs"], growth["shards"]
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
            f"tokenises and writes the same; {shares}",
        ),
        (
            f"growth from {sizes[0]['rows']:,} to {sizes[-1]['rows']:,} rows",
            "as rows to the power: " + ", ".join(f"{name} {value:.2f}" for name, value in exponents.items()),
        ),
        (
            "peak memory of a merging task",
            f"{', '.join(size(one['peak_merge_bytes']) for one in memory)} with "
            f"{', '.join(str(one['shards']) for one in memory)} shards of {memory[0]['rows']:,} rows",
        ),
    ]
    where = f"{fit['set']}; {fit['machine']}. Commands: `python -m benchmarks.spark fit`, `rank`, `growth`."
    return [*table(["measured", ""], found), "", where]


def arithmetic() -> list[str]:
    """Return the arithmetic for a billion documents."""
    run, growth = read("fit")["spark"], read("growth")
    last = growth["runs"][-1]
    steeper = growth["edges_exponent"] - growth["features_exponent"]
    a_feature = last["edges"] / last["features"]
    edges = FEATURES * min(MOST_EDGES, a_feature * (DOCUMENTS / last["rows"]) ** steeper)
    names, a_row = run["name_bytes_a_feature"], run["executor_processor_seconds"] / run["rows"]
    model = edges * EDGE_BYTES + FEATURES * (40 + names) + LABELS * 20
    process = FEATURES * (FEATURE_BYTES + names) + edges * EDGE_BYTES + LABELS * LABEL_BYTES
    processes = max(1, min(CORES, int(0.8 * NODE_BYTES / process)))
    hours = DOCUMENTS * a_row / 3600
    shuffled = DOCUMENTS * run["shuffle_bytes"] / run["rows"]
    words = FEATURES * stage_seconds(run, "words") / run["features"] / 60
    written = edges * stage_seconds(run, "write") / run["edges"] / 60
    found = [
        (
            "edges",
            f"{a_feature:.1f} a feature at {last['rows']:,} rows, growing as rows to the power {steeper:.2f}; at most "
            f"{MOST_EDGES}",
            f"{edges / 1e6:,.0f} million",
        ),
        ("model on disk", f"{EDGE_BYTES} bytes an edge, {40 + names:.0f} a feature, 20 a label", size(model)),
        (
            "memory of a process that learns",
            f"{FEATURE_BYTES + names:.0f} bytes a feature, {EDGE_BYTES} an edge that it changes, {LABEL_BYTES} a label",
            size(process),
        ),
        (
            "processes at once",
            f"{NODES} nodes of {CORES} cores and {NODE_BYTES >> 30} GiB, a fifth of it for Java and the cache",
            f"{NODES * processes}, {processes} a node",
        ),
        (
            "hours of one pass",
            f"{1e6 * a_row:.0f} µs a row, shared by the processes",
            f"{hours / (NODES * processes):.1f} ({hours:,.0f} of one core)",
        ),
        (
            "shuffled",
            f"{run['shuffle_bytes'] / run['rows']:.0f} bytes a row, rows and deltas",
            f"{size(shuffled)}, {size(shuffled / NODES)} a node",
        ),
        (
            "disk for the working directory",
            f"{run['row_bytes']:.0f} bytes a row, and two models",
            size(DOCUMENTS * run["row_bytes"] + 2 * model),
        ),
        (
            "what one core does while others wait",
            "the last task of `words`, and the edges' file in `write`",
            f"{words:.0f} and {written:.0f} minutes",
        ),
    ]
    return [
        f"### A billion documents, {LABELS / 1e6:.0f} million labels, {FEATURES / 1e6:.0f} million features",
        "",
        *table(["what", "how it is reckoned", ""], found),
        "",
        *(f"With {hours / 100:.1f} hours of one core for ten million documents, Spark's own work included, most people "
          "should take").splitlines(),
        "one machine: `abound fit` needs neither the sort nor the shuffle.",
    ]  # fmt: skip


def section() -> list[str]:
    """Return what docs/cluster.md says of sizes; see `benchmarks.readme`."""
    if not (RESULTS / "spark-growth.json").exists():
        return ["Not measured yet."]
    return ["## Sizing", "", *measured(), "", *arithmetic()]
