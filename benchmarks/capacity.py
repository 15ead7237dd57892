"""Fit formulas for memory, time and machines to the result files of other benchmarks; nothing is measured again.

python -m benchmarks.capacity words    count the words and labels per text of the data sets (needs the data sets)
python -m benchmarks.capacity          fit the formulas to the stored results, and store them
python -m benchmarks.capacity show     print the formulas and their errors

Every formula is a product of powers: constant * words^a * labels_per_text^b * factors. It is fitted by least squares of
the logarithms. `estimate` has the same arithmetic as docs/javascripts/capacity.js.
"""

import json
import math
import re
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
RESULT = RESULTS / "capacity.json"
COMPOUND = "fi"  # the language of the measured data sets whose words are also split into character n-grams
FEW_LABELS, ONE_PASS_ROWS = 1_000, 1_000_000  # where `abound fit` changes its method
BUSY = 0.5  # share of the time that a serving core may be busy, so that waiting stays short
Point = dict[str, Any]
# The variables of each formula; "one" is the constant. Each is a number whose logarithm is used.
VARIABLES: dict[str, tuple[str, ...]] = {
    "train_seconds": ("one", "few_labels", "total_words", "labels_per_text", "compound"),
    "train_megabytes": ("one", "few_labels", "total_words", "labels_per_text", "compound"),
    "model_megabytes": ("one", "few_labels", "total_votes", "compound"),
    "rank_microseconds": ("one", "words_per_text", "compound"),
    "one_pass_seconds": ("one", "total_words", "compound"),
    "one_pass_megabytes": ("one", "total_words", "compound"),
    "one_pass_model_megabytes": ("one", "total_words", "compound"),
}


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


# -- known points --------------------------------------------------------------------------------------


def words() -> dict[str, dict[str, float]]:
    """Count the words and labels per training text of each data set."""
    from benchmarks import documents
    from benchmarks.fitting import SETS

    sources: dict[str, Any] = {name: (lambda name=name: _rows_of(documents.final(name).train)) for name in SETS}
    sources |= {f"yso-finna-{one}": (lambda one=one: list(documents.finna_rows(one))) for one in ("en", "fi")}
    found = {}
    for name, rows_of in sources.items():
        rows = rows_of()
        found[name] = {
            "words_per_text": round(sum(len(re.findall(r"\w+", text)) for text, _ in rows) / len(rows), 2),
            "labels_per_text": round(sum(len(labels) for _, labels in rows) / len(rows), 2),
        }
        print(name, found[name], file=sys.stderr, flush=True)
    return found


def _rows_of(train: Any) -> list[tuple[str, list[str]]]:
    return [(row.text, row.labels) for row in train]


def points(texts: dict[str, dict[str, float]]) -> dict[str, list[Point]]:
    """Return the known points of each formula from the result files."""
    trained, kept, once = [], [], []
    orders, defaults = read("fitting")["orders"], read("defaults")["cells"]
    for name in dict.fromkeys(key.split(" | ")[0] for key in orders):
        runs = [cell for key, cell in orders.items() if key.startswith(f"{name} | ")]
        about = {"set": name, "labels": runs[0]["labels"], "compound": runs[0]["language"] == COMPOUND, **texts[name]}
        seconds = statistics.median(run["core_seconds"] for run in runs)
        megabytes = statistics.median(run["peak_megabytes"] for run in runs)
        trained.append(
            {**about, "rows": runs[0]["rows"], "train_seconds": seconds, "train_megabytes": megabytes},
        )
        cells = [defaults[f"{name} | {names} | default"] for names in ("no names", "names")]
        quickest = min(cell["rank_microseconds_a_row"] for cell in cells)  # the machine was shared
        kept.append(
            {**about, "rows": cells[0]["rows"], "model_megabytes": cells[0]["model_megabytes"],
             "rank_microseconds": quickest},
        )  # fmt: skip
    runs = {**read("fitting")["memory"], **{f"text-whole-{one}": read(f"text-whole-{one}") for one in ("en", "fi")}}
    for name, run in runs.items():
        source = "yso-finna-en" if name.endswith("-en") else "yso-finna-fi"
        seconds = run.get("core_seconds", run["seconds"])
        once.append(
            {"set": name, "labels": run["labels"], "rows": run["rows"], "compound": run.get("language") == COMPOUND,
             **texts[source], "one_pass_seconds": seconds, "one_pass_megabytes": run["peak_megabytes"],
             "one_pass_model_megabytes": run["memory_bytes"] / 1e6},
        )  # fmt: skip
    return {name: once if name.startswith("one_pass") else trained if name.startswith("train") else kept
            for name in VARIABLES}  # fmt: skip


# -- formulas ------------------------------------------------------------------------------------------


def variables(given: Point) -> dict[str, float]:
    """Return the variables of the formulas for one collection."""
    total = given["rows"] * given["words_per_text"]
    return {
        "one": math.e,
        "few_labels": math.e if given["labels"] <= FEW_LABELS else 1.0,
        "total_words": total,
        "labels_per_text": given["labels_per_text"],
        "total_votes": total * given["labels_per_text"],
        "words_per_text": given["words_per_text"],
        "compound": math.e if given["compound"] else 1.0,
    }


def fit(known: list[Point], name: str) -> dict[str, Any]:
    """Fit one formula; return its exponents and the ratio of formula to measurement at each point.

    `left_out` is the ratio at a point that was left out of the fit. It is null if the other points cannot determine
    all exponents: if a factor applies to none of them, or if their sizes differ by less than a factor of two.
    """
    names = VARIABLES[name]
    rows = np.array([[math.log(variables(point)[one]) for one in names] for point in known])
    logs = np.log([point[name] for point in known])
    exponents = np.linalg.lstsq(rows, logs, rcond=None)[0]
    ratios, left_out = {}, {}
    for number, point in enumerate(known):
        others = np.arange(len(known)) != number
        solved = np.linalg.lstsq(rows[others], logs[others], rcond=None)
        ratios[point["set"]] = round(math.exp(rows[number] @ exponents - logs[number]), 3)
        sizes = [column for one, column in zip(names, rows[others].T, strict=True) if one.startswith("total_")]
        enough = solved[2] == len(names) and all(np.ptp(column) > math.log(2) for column in sizes)
        left_out[point["set"]] = round(math.exp(rows[number] @ solved[0] - logs[number]), 3) if enough else None
    return {
        "exponents": dict(zip(names, (round(float(one), 5) for one in exponents), strict=True)),
        "ratio": ratios,
        "left_out": left_out,
    }


def served() -> dict[str, float]:
    """Return the cost of a request besides ranking, and the corrections that one server can acknowledge."""
    server, text = read("server"), read("text-speed")["abound"]
    request = 1e6 / server["rank"]["abound"]["a_processor_second"] - text["median_microseconds_one"]
    return {
        "request_microseconds": round(request, 1),
        "corrections_per_second": server["learns"]["acknowledged_a_second"],
    }


def assemble(texts: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return the content of the result file: counts of words, formulas, and constants of serving."""
    known = points(texts)
    return {
        "machine": read("fitting")["machine"],
        "texts": texts,
        "formulas": {name: fit(known[name], name) for name in VARIABLES},
        "constants": {
            "few_labels": FEW_LABELS,
            "one_pass_rows": ONE_PASS_ROWS,
            "busy": BUSY,
            **served(),
        },
    }


def estimate(given: Point, result: dict[str, Any]) -> dict[str, float]:
    """Estimate memory, time and machines for a collection; `given` has rows, labels, words_per_text and so on."""
    constants, exponents = result["constants"], {k: v["exponents"] for k, v in result["formulas"].items()}

    def value(name: str, one: Point) -> float:
        found = variables(one)
        return math.prod(found[variable] ** power for variable, power in exponents[name].items())

    if given["rows"] >= constants["one_pass_rows"] and given["labels"] > constants["few_labels"]:
        seconds, megabytes = value("one_pass_seconds", given), value("one_pass_megabytes", given)
        model = value("one_pass_model_megabytes", given)
    else:
        seconds, megabytes = value("train_seconds", given), value("train_megabytes", given)
        model = value("model_megabytes", given)
    microseconds = value("rank_microseconds", given)
    per_request = constants["request_microseconds"] + microseconds
    cores = given["requests_per_second"] * per_request / 1e6 / constants["busy"]
    return {
        "train_seconds": seconds,
        "train_megabytes": max(megabytes, model),
        "model_megabytes": model,
        "texts_per_second": 1e6 / microseconds,
        "requests_per_second_per_core": 1e6 / per_request,
        "cores": cores,
        "machines": max(1, math.ceil(cores / given["cores_per_machine"])),
    }


# -- tables --------------------------------------------------------------------------------------------


TITLES = {
    "train_seconds": "training, core-seconds",
    "train_megabytes": "training, peak MB",
    "model_megabytes": "the model in memory, MB",
    "rank_microseconds": "ranking one text, µs",
    "one_pass_seconds": "training in one pass, core-seconds",
    "one_pass_megabytes": "training in one pass, peak MB",
    "one_pass_model_megabytes": "the model after one pass, MB",
}
WORDS = {
    "total_words": "words",
    "total_votes": "(words × labels per text)",
    "labels_per_text": "labels per text",
    "words_per_text": "words per text",
}


def formula(name: str, result: dict[str, Any]) -> str:
    """Return one formula in words."""
    exponents = result["formulas"][name]["exponents"]
    parts = [f"{math.exp(exponents['one']):.2g}"]
    parts += [f"{WORDS[one]}<sup>{power:.2f}</sup>" for one, power in exponents.items() if one in WORDS]
    conditions = {"few_labels": "up to 1,000 labels", "compound": "compounds"}
    parts += [f"{math.exp(power):.2f} ({conditions[one]})" for one, power in exponents.items() if one in conditions]
    return " × ".join(parts)


def formulas_table(result: dict[str, Any]) -> list[str]:
    """Return a table of the formulas with their errors at the known points."""
    lines = [
        "| quantity | formula | data sets | estimate / measured | if the data set is left out |",
        "|---|---|---|---|---|",
    ]
    for name, title in TITLES.items():
        found = result["formulas"][name]
        left = [one for one in found["left_out"].values() if one is not None]
        lines.append(
            f"| {title} | {formula(name, result)} | {len(found['ratio'])} | {_range(found['ratio'].values())} "
            f"| {_range(left)} |"
        )
    return [*lines, "", *ranges(result)]


def ranges(result: dict[str, Any]) -> list[str]:
    """Return a sentence on the sizes that were measured."""
    known = points(result["texts"])
    sizes = [
        [variables(point)["total_words"] / 1e6 for point in known[name]]
        for name in ("train_seconds", "one_pass_seconds")
    ]
    several, once = (f"{min(one):.1f} to {max(one):.1f} million words" for one in sizes)
    return [
        f"The collections that were measured have {several}, and {once} where one pass is made. Beyond these sizes the "
        "formulas extrapolate."
    ]


def _range(values: Any) -> str:
    found = list(values)
    return f"{min(found):.2f} to {max(found):.2f}" if found else "too few"


def points_table(result: dict[str, Any]) -> list[str]:
    """Return a table of the known points: measured and estimated."""
    known = points(result["texts"])
    lines = [
        "| data set | rows | labels | words per text | labels per text | core-seconds: measured / formula "
        "| peak MB: measured / formula |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in ("train", "one_pass"):
        for point in known[f"{kind}_seconds"]:
            cells = []
            for name in (f"{kind}_seconds", f"{kind}_megabytes"):
                ratio = result["formulas"][name]["ratio"][point["set"]]
                cells.append(f"{point[name]:,.0f} / {point[name] * ratio:,.0f}")
            lines.append(
                f"| {point['set']} | {point['rows']:,} | {point['labels']:,} | {point['words_per_text']:.1f} "
                f"| {point['labels_per_text']:.2f} | {cells[0]} | {cells[1]} |"
            )
    return lines


# Rows, labels, words per text and labels per text.
COLLECTIONS = {
    "20,000 reports of 300 words, 50 labels": (20_000, 50, 300, 1),
    "100,000 titles of 12 words, 20,000 labels": (100_000, 20_000, 12, 2.5),
    "500,000 abstracts of 70 words, 30,000 labels": (500_000, 30_000, 70, 5),
    "10 million titles of 9 words, 30,000 labels": (10_000_000, 30_000, 9, 2.2),
}
INPUTS = ("rows", "labels", "words_per_text", "labels_per_text")
EXAMPLES: dict[str, Point] = {name: dict(zip(INPUTS, one, strict=True)) for name, one in COLLECTIONS.items()}
SERVED = {"compound": False, "requests_per_second": 1_000, "cores_per_machine": 4}


def examples_table(result: dict[str, Any]) -> list[str]:
    """Return a table of estimates for some collections."""
    lines = [
        "| collection | training memory | training time, one core | model in memory | texts ranked per core-second "
        "| machines of 4 cores for 1,000 requests/s |",
        "|---|---|---|---|---|---|",
    ]
    for name, given in EXAMPLES.items():
        found = estimate({**given, **SERVED}, result)
        lines.append(
            f"| {name} | {_gigabytes(found['train_megabytes'])} | {_time(found['train_seconds'])} "
            f"| {_gigabytes(found['model_megabytes'])} | {_rounded(found['texts_per_second'])} | {found['machines']} |"
        )
    return lines


def _gigabytes(megabytes: float) -> str:
    return f"{megabytes / 1000:.1f} GB"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _rounded(value: float) -> str:
    """Return a number with two significant digits."""
    return f"{float(f'{value:.2g}'):,.0f}"


def data_block(result: dict[str, Any]) -> list[str]:
    """Return the formulas as JSON in the page, which the calculator reads."""
    shown = {name: {"exponents": found["exponents"]} for name, found in result["formulas"].items()}
    text = json.dumps({"constants": result["constants"], "formulas": shown})
    return [f'<script type="application/json" id="capacity-data">{text}</script>']


def serving(result: dict[str, Any]) -> list[str]:
    """Return the sentences on serving."""
    constants = result["constants"]
    return [
        f"A request costs {constants['request_microseconds']:.0f} µs of processor time for HTTP and JSON, and the "
        f"ranking of its text. One server acknowledges {constants['corrections_per_second']:,} corrections per second. "
        f"The number of machines assumes that a core is busy {constants['busy']:.0%} of the time, so that a request "
        f"rarely waits. {result['machine']}.",
    ]


def _with_machine(table: Any) -> Any:
    return lambda result: [*table(result), "", f"{result['machine']}, shared with others."]


TABLES = {
    "examples": examples_table,
    "formulas": formulas_table,
    "points": _with_machine(points_table),
    "serving": serving,
    "data": data_block,
}


def main() -> None:
    """Count words, fit the formulas, or show them."""
    result = read("capacity") if RESULT.exists() else {}
    if sys.argv[1:] == ["show"]:
        for name in ("formulas", "points", "examples"):
            print(*TABLES[name](result), "", sep="\n")
        return
    texts = words() if sys.argv[1:] == ["words"] else result["texts"]
    RESULT.write_text(json.dumps(assemble(texts), indent=1) + "\n")


if __name__ == "__main__":
    main()
