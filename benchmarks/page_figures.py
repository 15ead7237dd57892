"""Render the figures of the site's pages; `benchmarks.readme` writes them into the pages."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.fields import table

RESULTS = Path(__file__).parent / "results"


def read(name: str) -> dict[str, Any]:
    """Return a result file."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def annif() -> list[str]:
    result = read("annif")
    lines = [
        "| system | train&nbsp;s | texts/s | P@1 | P@3 | P@5 | nDCG@5 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in result["systems"].items():
        measures = " | ".join(f"{row[m][0]:.3f}" for m in ("P@1", "P@3", "P@5", "nDCG@5"))
        seconds = f"{row['train_seconds']:.1f}" if "train_seconds" in row else "as above"
        lines.append(f"| {name} | {seconds} | {row['texts_a_second']:,.0f} | {measures} |")
    http = next(row for name, row in result["systems"].items() if "http" in name)
    both = "Annif omikuji-bigrams" in result["systems"]
    form = "words, and with pairs of words" if both else "words and pairs of words"
    return [
        *lines,
        "",
        f"{result['train_rows']:,} training records and the next {result['test_rows']:,} as test records; Annif "
        f"{http['version']}, omikuji as Bonsai with {form}. Over HTTP, {http['same_as_direct']:.1%} of the answers "
        f"have the same labels as the model itself. {result['machine']}.",
    ]


def bands() -> list[str]:
    lines = [
        "| data set | target | precision of applied labels | labels applied per text | report |",
        "|---|---|---|---|---|",
    ]
    for name in ("debian-tags", "finna-100k"):
        result = read(f"bands-feature-focus-{name}")
        for target, row in result["runs"]["as it is"].items():
            precision = "none applied" if math.isnan(row["precision"]) else f"{row['precision']:.1%}"
            lines.append(
                f"| {name} | {float(target):.0%} | {precision} | {row['applied_a_row']:.2f} | {row['report']} |"
            )
    stream, measured = result["stream"], result["measured"]
    return [
        *lines,
        "",
        f"The plain index on a stream of feedback. On finna-100k the stream has {stream:,} texts, and the last "
        f"{measured:,} are measured (`python -m benchmarks.bands --ranker feature-focus`). {result['machine']}.",
    ]


def corrections() -> list[str]:
    result = read("text-corrections")
    lines = [
        "| 1,000 corrections of a model of 100,000 titles | with right labels | with random labels |",
        "|---|---|---|",
    ]
    rows = {
        "a label of the text ranks first after one `learn`": ("first_after_one_learn", "{:.1%}"),
        "a rejected label ranks lower": ("rejected_label_fell", "{:.1%}"),
        "P@1 on 10,000 other titles before": ("P@1_before", "{:.4f}"),
        "after the corrections": ("P@1_after_corrections", "{:.4f}"),
        "and after the rejections": ("P@1_after_rejections", "{:.4f}"),
    }
    for title, (key, form) in rows.items():
        right, chance = (form.format(result[kind][key]) for kind in ("true_labels", "random_labels"))
        lines.append(f"| {title} | {right} | {chance} |")
    return [*lines, "", f"`python -m benchmarks.text corrections`. {result['machine']}."]


def memory() -> list[str]:
    size, english, finnish = (read(name) for name in ("index-size", "text-whole-en", "text-whole-fi"))
    lines = ["| data | rows | words and pairs | edges | peak memory, MB | P@1 |", "|---|---|---|---|---|---|"]
    for title, row in {
        "English titles": english,
        "the same with `--max-memory 300M`": read("text-whole-en-300M"),
        "Finnish titles": finnish,
    }.items():
        lines.append(
            f"| {title} | {row['rows']:,} | {row['features']:,} | {row['edges']:,} | {row['peak_megabytes']:,.0f} "
            f"| {row['held_out']['measures']['P@1']['value']:.3f} |"
        )
    return [
        *lines,
        "",
        f"The index alone takes {size['bytes_an_edge']:.1f} bytes per edge while learning and "
        f"{size['bytes_an_edge_compact']:.1f} when compact: {size['edges'] / 1e6:.0f} million edges take "
        f"{size['index_megabytes']:.0f} MB. They load in {size['load_seconds']:.1f} s, or in "
        f"{size['load_verified_seconds']:.1f} s if all checksums are verified. {size['machine']}.",
    ]


def ratings() -> list[str]:
    result = read("cascade-ratings")
    lines = ["| on finna-100k | train&nbsp;s | P@1 | P@3 | P@5 | edges |", "|---|---|---|---|---|---|"]
    for name, row in result["runs"].items():
        measures = " | ".join(f"{row[m]:.3f}" for m in ("P@1", "P@3", "P@5"))
        lines.append(f"| {name} | {row['seconds']:.2f} | {measures} | {row['edges']:,} |")
    return [*lines, "", f"`python -m benchmarks.cascade ratings`. {result['machine']}."]


def ordinal() -> list[str]:
    result = read("ordinal-peers")
    lines = ["| mean absolute error, train&nbsp;s | " + " | ".join(result["tasks"]) + " |", "|---|---|---|---|"]
    for name in next(iter(result["tasks"].values()))["systems"]:
        cells = []
        for task in result["tasks"].values():
            row = task["systems"].get(name, {})
            cells.append(
                f"{row['MAE']:.3f}, {row['train_seconds']:.2f}" if "MAE" in row else row.get("failed", "not run")
            )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    synthetic = read("prank-paper")["online"]["synthetic"]["loss"]
    losses = ", ".join(f"{name} {row['mean']:.3f}" for name, row in synthetic.items())
    return [
        *lines,
        "",
        f"`python -m benchmarks.papers.ordinal_peers`. Mean rank loss on the paper's synthetic sequences: "
        f"{losses} (`python -m benchmarks.papers.prank`). {result['machine']}.",
    ]


def drift() -> list[str]:
    last = read("index-drift")["last_tenth"]
    precisions = ", ".join(f"{value:.3f} with {name}" for name, value in last.items())
    return [f"On a stream whose labels all change halfway, P@1 on the last tenth is {precisions}."]


def fields() -> list[str]:
    result = read("fields")
    sets = [f"{name}: {s['train']:,} and {s['held_out']:,} rows" for name, s in result["sets"].items()]
    return [
        *table(result["sets"]),
        "",
        f"Training and test rows of {'; '.join(sets)} (`python -m benchmarks.fields`). {result['machine']}.",
    ]


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "annif": annif,
    "bands": bands,
    "corrections": corrections,
    "drift": drift,
    "fields": fields,
    "memory": memory,
    "ordinal": ordinal,
    "ratings": ratings,
}
