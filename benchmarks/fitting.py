"""Measure `abound fit` without options: in any row order, after corrections, and its memory.

python -m benchmarks.fitting orders [--set 20news]       P@1, P@3, P@5 on the test rows, rows in four orders
python -m benchmarks.fitting corrections [--set ...]     1,000 corrections after a fit, half with new words and labels
python -m benchmarks.fitting memory [--rows 1000000 10000000]   time and peak memory of large files
python -m benchmarks.fitting show                        the tables of the result file

Every fit runs the command itself, on a file of raw texts. Results are stored cell by cell in one file.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import documents
from benchmarks.machine import machine_line

RESULT = Path(__file__).parent / "results" / "fitting.json"
SETS = (
    *("20news", "debian-tags", "reuters-90", "gutenberg-lcsh", "wordnet-hypernym", "debian-depends"),
    *("finna-20k", "finna-100k", "finna-fi-100k"),
)
ORDERS = ("filed", "reversed", "by-label", "shuffled")
CORRECTED = ("reuters-90", "debian-tags", "gutenberg-lcsh", "finna-100k")
N_CORRECTIONS = 1000
MEASURES = ("P@1", "P@3", "P@5")


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    return found


def keep(part: str, key: str, cell: dict[str, Any]) -> None:
    """Write one cell to the result file, atomically."""
    result = {**read(), "machine": machine_line()}
    result.setdefault(part, {})[key] = cell
    beside = RESULT.with_suffix(".new")
    beside.write_text(json.dumps(result, indent=1) + "\n")
    os.replace(beside, RESULT)


def work_folder() -> Path:
    """Return a folder on disk that git ignores: rows of the data sets must not stay in the repository."""
    folder = Path(os.environ.get("ABOUND_CACHE", ".cache"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def fit(folder: Path, *arguments: Any) -> dict[str, Any]:
    """Run `abound fit` in a separate process; return its output, CPU seconds and peak memory."""
    before = time.perf_counter()
    command = [sys.executable, "-m", "abound", "fit", *map(str, arguments), "--model", "model", "--force", "--json"]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(said)
        out.seek(0)
        found: dict[str, Any] = json.loads(out.read())
    return {
        **found,
        "core_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "wall_seconds": round(time.perf_counter() - before, 1),
        "peak_megabytes": round(usage.ru_maxrss * 1024 / 1e6),
    }


# -- orders --------------------------------------------------------------------------------------------


def orders(set_name: str) -> None:
    """Fit the training rows of a data set in four orders, and measure each model on the test rows."""
    found = documents.final(set_name)
    for order in ORDERS:
        key = f"{set_name} | {order}"
        if key in read().get("orders", {}):
            continue
        with tempfile.TemporaryDirectory(dir=work_folder()) as name:
            folder = Path(name)
            documents.write(found, folder, "test", order)
            figures = fit(folder, "train.jsonl", "--holdout", "test.jsonl")
        measured = {name: figures["held_out"]["measures"][name] for name in MEASURES}
        shown = ("rows", "labels", "language", "passes", "second_stage", "core_seconds", "peak_megabytes")
        keep("orders", key, {**measured, **{name: figures[name] for name in shown}})
        print(key, f"P@1 {measured['P@1']['value']:.4f}", file=sys.stderr, flush=True)


# -- corrections ---------------------------------------------------------------------------------------


def corrections(set_name: str) -> None:
    """Correct a fitted model 1,000 times: test rows alternate with texts of unseen words and labels."""
    from abound import Tagger
    from abound.metrics import evaluate

    found = documents.final(set_name)
    train, held = documents.ordered(found.train, "filed"), [row for row in found.held if row.labels]
    n_known = min(N_CORRECTIONS // 2, len(held) // 2)
    taught = [(row.text, list(row.labels)) for row in held[:n_known]]
    unseen = [(f"zorb{n}xq quibble{n}vx flurn{n}kz", [f"unseen label {n}"]) for n in range(N_CORRECTIONS - n_known)]
    lessons = [lesson for pair in zip(taught, unseen, strict=False) for lesson in pair]
    lessons += unseen[len(taught) :]
    rest = held[n_known:]

    def precision(tagger: Tagger) -> float:
        ranking = tagger.rank_arrays([row.text for row in rest], 1)
        return float(evaluate(tagger.truth([row.labels for row in rest]), ranking, ["P@1"])["P@1"])

    with tempfile.TemporaryDirectory(dir=work_folder()) as name:
        tagger = Tagger().fit([row.text for row in train], [row.labels for row in train])
        tagger.save(Path(name) / "model")
        before = precision(tagger)
        first = {"known": 0, "unseen": 0}
        for number, (text, labels) in enumerate(lessons):
            tagger.learn(text, labels)
            kind = "unseen" if labels[0].startswith("unseen label") else "known"
            first[kind] += tagger.rank(text, 1)[0].label in labels
            if number == len(lessons) // 2:
                tagger.save(Path(name) / "half")
        after = precision(tagger)
        at_once = Tagger.load(Path(name) / "model")
        at_once.learn_many([text for text, _ in lessons], [labels for _, labels in lessons], insist=True)
        resumed = Tagger.load(Path(name) / "half")
        for text, labels in lessons[len(lessons) // 2 + 1 :]:
            resumed.learn(text, labels)
        hashes = [one.state_hash() for one in (tagger, at_once, resumed)]
    cell = {
        "rows": len(train),
        "corrections": len(lessons),
        "known": len(taught),
        "first_at_once": first["known"] + first["unseen"],
        "unseen_first_at_once": first["unseen"],
        "P@1_before": round(before, 4),
        "P@1_after": round(after, 4),
        "measured_rows": len(rest),
        "one_at_a_time_equals_at_once": hashes[0] == hashes[1],
        "saved_and_loaded_equals_going_on": hashes[0] == hashes[2],
    }
    keep("corrections", set_name, cell)
    print(set_name, cell, file=sys.stderr, flush=True)


# -- memory --------------------------------------------------------------------------------------------


def memory(sizes: list[int]) -> None:
    """Fit yso-finna-fi from its compressed file, and files of the given sizes with the same titles in other words."""
    source = documents.data_folder() / "yso-finna-fi"
    names = ("--format", "labels-tsv", "--label-names", source / "labels.tsv", "--holdout", "every:20")
    with tempfile.TemporaryDirectory(dir=work_folder()) as name:
        folder = Path(name)
        if "yso-finna-fi" not in read().get("memory", {}):
            keep("memory", "yso-finna-fi", fit(folder, source / "docs.tsv.xz", *names))
        for n_rows in sizes:
            path = folder / "rows.jsonl"
            with path.open("w", encoding="utf-8") as file:
                file.writelines(other_words(n_rows))
            keep("memory", f"{n_rows:,} rows", fit(folder, path, "--language", "none"))
            print(n_rows, read()["memory"][f"{n_rows:,} rows"], file=sys.stderr, flush=True)


def other_words(n_rows: int) -> Any:
    """Yield the rows of yso-finna-fi repeatedly as JSON lines; each time, a third of the words are replaced."""
    rows = [(re.findall(r"\w+", text), labels) for text, labels in documents.finna_rows("fi")]
    for number in range(n_rows):
        words, labels = rows[number % len(rows)]
        turn = number // len(rows)
        if turn:
            words = [f"{word}{turn}" if len(word) % 3 == 0 else word for word in words]
        yield json.dumps({"text": " ".join(words), "labels": labels}, ensure_ascii=False) + "\n"


# -- tables --------------------------------------------------------------------------------------------


def order_table(result: dict[str, Any]) -> list[str]:
    """Return a table of P@1 of each data set in each order, and the largest difference between orders."""
    lines = ["| data set | " + " | ".join(ORDERS) + " | largest difference |", "|---" * (len(ORDERS) + 2) + "|"]
    for set_name in SETS:
        cells = [result.get("orders", {}).get(f"{set_name} | {order}") for order in ORDERS]
        if all(cells):
            found = [cell["P@1"]["value"] for cell in cells if cell]
            row = " | ".join(f"{value:.3f}" for value in found)
            lines.append(f"| {set_name} | {row} | {max(found) - min(found):.4f} |")
    return lines


def correction_table(result: dict[str, Any]) -> list[str]:
    """Return a table of the effect of 1,000 corrections on each model."""
    lines = [
        "| data set | rows | first after one correction | of these unseen | P@1 before | after | in one call "
        "| after loading |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for set_name, cell in result.get("corrections", {}).items():
        unseen = cell["corrections"] - cell["known"]
        same = ["same state" if cell[name] else "**another**" for name in cell if name.startswith(("one_", "saved_"))]
        lines.append(
            f"| {set_name} | {cell['rows']:,} | {cell['first_at_once']:,} of {cell['corrections']:,} "
            f"| {cell['unseen_first_at_once']} of {unseen} | {cell['P@1_before']:.4f} | {cell['P@1_after']:.4f} "
            f"| {same[0]} | {same[1]} |"
        )
    return lines


def memory_table(result: dict[str, Any]) -> list[str]:
    """Return a table of the time and memory for large files."""
    lines = ["| file | rows | terms | passes | core s | peak MB | model MB |", "|---|---|---|---|---|---|---|"]
    for name, cell in result.get("memory", {}).items():
        lines.append(
            f"| {name} | {cell['rows']:,} | {cell['features']:,} | {cell['passes']} | {cell['core_seconds']:.0f} "
            f"| {cell['peak_megabytes']:,} | {cell['memory_bytes'] / 1e6:,.0f} |"
        )
    return lines


TABLES = {"orders": order_table, "corrections": correction_table, "memory": memory_table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("orders", "corrections", "memory", "show"))
    parser.add_argument("--set", action="append", choices=SETS)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    given = parser.parse_args()
    if given.part == "show":
        result = read()
        for table in TABLES.values():
            print(*table(result), "", sep="\n")
    elif given.part == "memory":
        memory(given.rows)
    else:
        for set_name in given.set or (SETS if given.part == "orders" else CORRECTED):
            (orders if given.part == "orders" else corrections)(set_name)


if __name__ == "__main__":
    main()
