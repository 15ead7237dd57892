"""Render the paper's tables, with its figures in parentheses after ours, as lines of Markdown."""

from collections.abc import Callable
from typing import Any

import numpy as np

from abound import FeatureFocus
from abound.components.votes import LONGEST_HORIZON
from abound.kernels.index import SIGHTINGS_FOR_FULL_VOTE
from benchmarks.papers.feature_focus import contents, paper
from benchmarks.papers.feature_focus.claims import FAILS, HOLDS, UNDECIDED, checks, of_trials, ours, pair, rival

Result = dict[str, Any]
Lines = list[str]


def short(number: float) -> str:
    """Return a count as the paper prints it."""
    if number >= 1e6:
        return f"{number / 1e6:.1f}M"
    return f"{number / 1e3:.0f}k" if number >= 1e4 else f"{number:,.0f}"


def seconds(number: float) -> str:
    return f"{number:.2f}" if number < 1 else f"{number:.1f}" if number < 10 else f"{number:.0f}"


def beside(ours: str, theirs: str | None) -> str:
    return ours if theirs is None else f"{ours} ({theirs})"


def table(heads: list[str], rows: list[list[str]]) -> Lines:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def accuracy(row: dict[str, Any]) -> str:
    return f"{row['R1']:.3f} ± {row['deviation']:.3f}" if row.get("trials", 1) > 1 else f"{row['R1']:.3f}"


def data(result: Result) -> Lines:
    """Return figure 8."""
    rows = []
    for name, corpus in result["corpora"].items():
        found, theirs = corpus["data"], paper.DATA.get(name, (None,) * 5)
        ours = (
            *(short(found[key]) for key in ("rows", "features", "labels")),
            f"{found['features_a_row']:.1f}",
            f"{found['labels_a_row']:.2f}",
        )
        cells = [beside(*pair) for pair in zip(ours, theirs, strict=True)]
        rows.append([name, corpus["about"], *cells])
    rows += [[f"({name})", "the paper's, not published", *(f"({x})" for x in row)] for name, row in _without(result)]
    return table(["data set", "content", "rows", "features", "labels", "features per row", "labels per row"], rows)


def _without(result: Result) -> list[tuple[str, tuple[str, ...]]]:
    return list(paper.DATA_ELSEWHERE.items()) if result["corpora"] else []


def spread(values: list[float]) -> str:
    """Return mean and standard deviation."""
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else f"{values[0]:.3f}"


def system_name(name: str, row: dict[str, Any], corpus: str) -> str:
    if name == "FF own choice":
        return "FF, settings chosen on development rows"
    if name == "SVM chosen":
        return "SVM, C chosen on development rows"
    if not name.startswith("FF"):
        return name.replace("frequency", "frequency baseline")
    plural = "" if row["passes"] == 1 else "es"
    text = f"FF, margin {row['margin']:g}, {row['passes']} pass{plural}"
    theirs = paper.BEST_SETTINGS.get(corpus) if name == "FF best" else None
    return beside(text, theirs)


def comparisons(result: Result) -> Lines:
    """Return figures 9 and 10."""
    rows = []
    for corpus, found in result["corpora"].items():
        rows.append([f"**{corpus}**, {found['trials']} trials", *[""] * 6])
        for name, row in found["systems"].items():
            theirs = paper.COMPARISONS.get(corpus, {}).get(name, {})
            index = name != "frequency"
            cells = {
                "HR": f"{row['HR']:.3f}" if row["HR"] < 10 else f"{row['HR']:.1f}",
                "R1": accuracy(row),
                "R5": f"{row['R5']:.3f}",
                "seconds": seconds(row["seconds"]) if index else "-",
                "d": f"{row['d']:.1f}" if index else "-",
                "W": short(row["W"]) if index else "-",
            }
            rows.append([system_name(name, row, corpus), *(beside(cells[c], theirs.get(c)) for c in paper.COLUMNS)])
    return table(["data set, system", "HR", "R1", "R5", "training s", "d", "weights"], rows)


def elsewhere(_: Result) -> Lines:
    """Return the rows of figures 9 and 10 on data that cannot be had."""
    rows = []
    for name, systems in paper.ELSEWHERE.items():
        rows.append([f"**{name}**", *[""] * 6])
        rows += [[system, *(cells[c] for c in paper.COLUMNS)] for system, cells in systems.items()]
    return table(["the paper's data set, system", "HR", "R1", "R5", "training s", "d", "weights"], rows)


def signs(result: Result) -> Lines:
    """Return the index beside the best classifier of each data set."""
    rows = []
    for name, corpus in result["corpora"].items():
        other = rival(corpus)
        if other is None:
            continue
        mine, theirs = ours(corpus, other), corpus["systems"][other]
        cells = []
        for measure in ("R1", "R5"):
            made = pair(of_trials(mine, measure), of_trials(theirs, measure), corpus["held_out"])
            cells.append(f"{made}, p {made.p:.2g}")
        ratio = theirs["seconds"] / max(mine["seconds"], 1e-9)
        rows.append([name, other, accuracy(mine), accuracy(theirs), *cells, f"{ratio:,.{0 if ratio >= 10 else 1}f}"])
    heads = ["data set", "best classifier", "R1 of FF", "R1 of the classifier"]
    return table([*heads, "difference in R1", "difference in R5", "its training time / FF's"], rows)


def costs(result: Result) -> Lines:
    """Say how long classifiers would take where they are not run."""
    found = {n: c["hours of SVMs"] for n, c in result["corpora"].items() if "hours of SVMs" in c}
    lines = [
        f"{name}: one SVM per label would train for {row['hours']:.1f} hours of CPU time in each trial, estimated from "
        f"{row['labels']} labels."
        for name, row in found.items()
    ]
    missing = {name: corpus.get("not run", []) for name, corpus in result["corpora"].items()}
    parts = [name + " (" + " and ".join(f'"{one}"' for one in found) + ")" for name, found in missing.items() if found]
    if parts:
        lines.append(f"Systems of the full run that this result file does not have yet: {'; '.join(parts)}.")
    if result.get("not run"):
        lines.append(f"Data sets that it does not have yet: {', '.join(result['not run'])}.")
    return [" ".join(lines)]


OPTION_HEADS = ("default", "no constraints", "w_min 0.001", "w_min 0.1", "no leak", "no rating")


def options(result: Result) -> Lines:
    """Return figures 11, 13, 15 and 16."""
    rows = []
    for name, corpus in result["corpora"].items():
        found, theirs = corpus["options"], paper.OPTIONS.get(name, {})
        if len(found) == 1:
            continue
        cells = [
            beside(accuracy(found[o]) + (" (1 pass)" if found[o].get("tried passes") == 1 else ""), theirs.get(o))
            if o in found
            else "-"
            for o in OPTION_HEADS
        ]
        times = "-"
        if "no constraints" in found:
            pair = [seconds(found[o]["one_pass"]["seconds"]) for o in ("no constraints", "default")]
            other = paper.PASS_SECONDS.get(name)
            times = beside(" / ".join(pair), " / ".join(other) if other else None)
        rows.append([name, *cells, times])
    for name, theirs in paper.OPTIONS_ELSEWHERE.items():
        cells = [f"({theirs[o]})" if o in theirs else "-" for o in OPTION_HEADS]
        rows.append([f"({name})", *cells, f"({theirs['times']})"])
    return table(["R1", *OPTION_HEADS, "seconds per pass: no constraints / default"], rows)


def degrees(result: Result) -> Lines:
    """Return figure 12: R1 and edges by the limit of edges per feature."""
    found = {name: corpus["degrees"] for name, corpus in result["corpora"].items() if "degrees" in corpus}
    if not found:
        return []
    bounds = list(next(iter(found.values())))
    rows = [
        [name, *(f"{by[b]['R1']:.3f}, {by[b]['d']:.1f}" for b in bounds)]
        for name, by in found.items()
        if set(bounds) <= set(by)
    ]
    return table(["R1, edges touched per feature", *(f"d_max {b}" for b in bounds)], rows)


def margins(result: Result) -> Lines:
    """Return figure 14 as a table: R1 after the first pass, the best and the last, by margin."""
    rows = []
    for name, corpus in result["corpora"].items():
        for margin, curve in corpus["curves"].items():
            values = curve["R1"]
            best = max(range(len(values)), key=values.__getitem__)
            off = curve["deviation"]
            cells = [f"{values[at]:.3f} ± {off[at]:.3f}" for at in (0, best, -1)]
            training = f"{curve['training'][-1]:.3f}" if "training" in curve else "-"
            rows.append([name, margin, cells[0], f"{cells[1]} (pass {best + 1})", cells[2], training])
    heads = ["data set", "margin", "R1 after one pass", "best", "after the last pass", "on training rows"]
    return table(heads, rows)


def boolean(result: Result) -> Lines:
    """Return figure 17."""
    rows = []
    for name, corpus in result["corpora"].items():
        if "boolean" in corpus:
            forms, theirs = corpus["boolean"], paper.BOOLEAN.get(name, (None,) * 4)
            found = (forms["IND"], forms["one pass"], forms["best"], corpus["systems"]["FF best"])
            cells = [beside(accuracy(row), their) for row, their in zip(found, theirs, strict=True)]
            uncut = spread(forms["IND"]["R1 without threshold"])
            p_ind = beside(f"{forms['IND']['p_ind']:g}", paper.P_IND.get(name))
            rows.append([name, *cells, p_ind, uncut, str(forms["best"]["margin"])])
    for name, (*theirs, p_ind) in paper.BOOLEAN_ELSEWHERE.items():
        rows.append([f"({name})", *(f"({cell})" for cell in theirs), f"({p_ind})", "-", "-"])
    heads = ["R1", "IND", "Boolean FF, 1 pass", "best Boolean FF", "best FF", "p_ind", "IND without p_ind"]
    return table([*heads, "Boolean margin"], rows)


def older(result: Result) -> Lines:
    """Return figure 18."""
    rows = []
    for name, corpus in result["corpora"].items():
        if "unweighted" in corpus:
            theirs = paper.UNWEIGHTED.get(name, (None,) * 3)
            found = [corpus["unweighted"][f"{kind} classifiers"] for kind in ("no", "with")]
            cells = [
                beside(f"{spread(of_trials(row))} (tolerance {row['tolerance']}, {row['passes']} passes)", their)
                for row, their in zip(found, theirs, strict=False)
            ]
            cells.append(beside(accuracy(corpus["systems"]["FF best"]), theirs[2]))
            rows.append([name, *cells, f"{found[1]['retrieved']:.1f}"])
    for name, theirs in paper.UNWEIGHTED_ELSEWHERE.items():
        rows.append([f"({name})", *(f"({cell})" for cell in theirs), "-"])
    return table(["R1", "unweighted index", "with classifiers", "FF", "labels retrieved per row"], rows)


def class_f1(result: Result) -> Lines:
    """Return section 6.4.3."""
    found = {name: corpus["class F1"] for name, corpus in result["corpora"].items() if "class F1" in corpus}
    heads = list(dict.fromkeys(system for by in found.values() for system in by))
    rows = [[name, *(spread(by[h]) if h in by else "-" for h in heads)] for name, by in found.items()]
    return table(["mean of the labels' maximum F1", *heads], rows)


def cases(result: Result) -> Lines:
    """Return section 4.3.1."""
    if "cases" not in result:
        return []
    rows = []
    for name in ("case 1", "case 2"):
        theirs = paper.CASE_2 if name == "case 2" else {"always": "about 0.5 at worst", "after errors": "1"}
        cells = [beside(spread(values), theirs[way]) for way, values in result["cases"][name].items()]
        rows.append([name, *cells])
    return table(["R1", "updates on every row", "updates after errors"], rows)


def inside(result: Result) -> Lines:
    """Return sections 6.4.4 and 6.4.5."""
    rows, examples = [], []
    for name, corpus in result["corpora"].items():
        found = corpus["inside"]
        first = beside(short(found["degree of the first"]), paper.DEGREES.get(name))
        ranks = ", ".join(short(value) for value in found["degree by rank"])
        cells = [first, ranks, short(found["degree of the true"]), short(found["degree of any"])]
        rows.append(
            [
                *(name, *cells, beside(short(found["strong edges"]), paper.STRONG.get(name))),
                *(short(found["leaking"]), str(found["longest list"])),
            ]
        )
        if found.get("strong examples"):
            strong = "; ".join(found["strong examples"])
            examples.append(f"- {name}: strong {strong}. Leaking: {', '.join(found['leaking examples']) or 'none'}.")
    for name, degree in paper.DEGREES_ELSEWHERE.items():
        rows.append([f"({name})", f"({degree})", *["-"] * 6])
    heads = [
        *("data set", "features of the first label", "by rank", "of the true label", "of any label"),
        *("edges > 0.9", "leaking features", "longest list"),
    ]
    return [*table(heads, rows), "", *examples]


def appendix(result: Result) -> Lines:
    """Return figures 21 and 22."""
    if "appendix" not in result:
        return []
    off, far = result["appendix"]["deviations"], result["appendix"]["distances"]
    lines: Lines = []
    for regime in ("100 labels", "labels alike"):
        rows = [[w, *(f"{v:.3f}" for v in curve)] for w, curve in off[regime].items()]
        lines += [*table([f"{regime}: w_min", *(f"p* {p:g}" for p in off["highest"])], rows), ""]
    rows = [[w, f"{far['l1'][w]:.3f}", f"{far['max'][w]:.3f}"] for w in far["l1"]]
    lines += [*table(["random shares: w_min", "l1 distance", "largest"], rows), ""]
    lost = result["appendix"]["losses"]
    rows = [
        ["formula: (1 − p)^100", *(f"{value:.3f}" for value in lost["formula"])],
        ["measured: no edge after 1,000 draws", *(f"{value:.3f}" for value in lost["lost"])],
    ]
    return [*lines, *table(["chance to lose a label, w_min 0.01", *(f"p {p:g}" for p in lost["shares"])], rows)]


def readings(result: Result) -> Lines:
    """Return results for several interpretations of what the paper leaves open."""
    theirs = {
        "20news": ("60k", "80", "0.798", "0.865", "0.852", "0.25"),
        "reuters-10": ("33k", "80.9", "0.860", "0.884", "0.906", "0.86"),
    }
    rows = []
    for name, found in result.get("vectors", {}).items():
        if name == "trials":
            continue
        for reading, row in found.items():
            accuracies = [f"{row[key]:.3f}" for key in ("FF margin 0", "FF margin 0.5", "SVM C=1", "frequency R5")]
            rows.append([name, reading, short(row["features"]), f"{row['features_a_row']:.0f}", *accuracies])
        rows.append([name, "the paper", *theirs[name]])
    heads = [
        *("data set", "interpretation", "features", "per row"),
        *("FF margin 0", "FF margin 0.5", "SVM C=1", "frequency R5"),
    ]
    if not rows:
        return []
    return [*table(heads, rows), "", f"Means over {result['vectors']['trials']} trials, after one pass."]


def claims(result: Result) -> Lines:
    """Return each claim of the paper, with the data sets on which it holds, does not hold or is undecided."""
    rows = []
    for check in checks(result):
        for verdict in (HOLDS, FAILS, UNDECIDED):
            where = {name: text for name, (found, text) in check["sets"].items() if found == verdict}
            if where:
                text = "<br>".join(f"{name}: {evidence}" for name, evidence in where.items())
                mark = verdict if verdict == HOLDS else f"**{verdict}**"
                rows.append([f"{check['claim']} ({check['section']})", mark, text])
    rows += [[claim, "**cannot be tested here**", why] for claim, why in UNTESTED]
    return table(["claim", "verdict", "where: difference [95% interval], trials won : lost"], rows)


UNTESTED = (
    (
        "Accuracy and cost on Industry, RCV1, Ads and Web (6.1 to 6.4)",
        "Ads and Web were not published. Of RCV1 we have 944 words of samples, and Industry is not in our data.",
    ),
    (
        "FF ties the best published result on 20 Newsgroups (6.1)",
        "It needs the vectors of Rennie et al. (2003), which we do not have.",
    ),
    (
        "Trees of classifiers need much engineering, and the index does not (6.2)",
        "It is a judgement, not a measurement.",
    ),
)


def content(result: Result) -> Lines:
    """Return every algorithm, theorem, table and figure of the paper."""
    return table(["in the paper", "content", "file", "test", "verdict"], contents.rows(result))


def setting(result: Result) -> Lines:
    """Return the machine, the versions and the time of the measurements."""
    spent = {name: corpus["processor_seconds"] for name, corpus in result["corpora"].items()}
    names = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    trials = sorted({corpus["trials"] for corpus in result["corpora"].values()})
    each = ", ".join(f"{name} {seconds / 60:.0f}" for name, seconds in spent.items())
    return [
        f"{result['machine']}; {names}. The figures below are of {' to '.join(map(str, trials))} trials. They took "
        f"{sum(spent.values()) / 60:.0f} minutes of CPU time, which is half of that on two cores (minutes: {each})."
    ]


def constants(_: Result) -> Lines:
    """Return every constant of the product beside the paper's."""
    ranker = FeatureFocus()
    rows = [
        ["`margin`", f"{ranker.margin:g}", "0, 0.1 or 0.5, whichever is best", "a row is learned again up to here"],
        ["`w_min`", f"{ranker.w_min:g}", "0.01", "the least share of an edge"],
        ["`d_max`", f"{ranker.d_max}", "25", "edges of a feature that vote"],
        ["`passes`", f"{ranker.passes}", "1 to 10, whichever is best", "passes of `fit`"],
        ["`rating`", f'"{ranker.rating}"', "min(1, n / 10)", f"full votes from n = {SIGHTINGS_FOR_FULL_VOTE:g} on"],
        ["`leak`", f"{ranker.leak}", "yes", "dropped weight stays in the total"],
        ["`boolean`", f"{ranker.boolean}", "no", "values count as 1"],
        ["`candidates`", f"{ranker.candidates}", "50", "a true label below this rank scores 0; None: no limit"],
        ["`horizon`", f"{LONGEST_HORIZON:,.0f}", "none", "total at which a feature's weights are halved"],
        ["smallest value", "2^-126", "none", "smaller values count as absent, for single precision"],
    ]
    return table(["constant", "default", "the paper", "meaning"], rows)


def brief(result: Result) -> Lines:
    """Return the index and the best classifier, one line per data set, and how many verdicts there are."""
    rows = []
    for name, corpus in result["corpora"].items():
        systems, other = corpus["systems"], rival(corpus)
        theirs = paper.COMPARISONS.get(name, {})
        mine = beside(accuracy(systems["FF best"]), theirs.get("FF best", {}).get("R1"))
        if other is None:
            hours = corpus.get("hours of SVMs", {}).get("hours")
            rows.append([name, mine, "not run" + (f": {hours:.1f} hours per trial" if hours else ""), "-"])
            continue
        best = f"{other}: " + beside(accuracy(systems[other]), theirs.get(other, {}).get("R1"))
        ratio = systems[other]["seconds"] / max(systems["FF best"]["seconds"], 1e-9)
        rows.append([name, mine, best, f"{ratio:,.{0 if ratio >= 10 else 1}f}"])
    found = [verdict for check in checks(result) for verdict, _ in check["sets"].values()]
    return [
        *table(["R1, ours (paper)", "feature focus", "best classifier that can run", "its training time / ours"], rows),
        "",
        f"Of {len(found)} tests of the paper's claims, {found.count(HOLDS)} hold, {found.count(FAILS)} do not hold and "
        f"{found.count(UNDECIDED)} are undecided.",
    ]


PARTS: dict[str, Callable[[Result], Lines]] = {
    "brief": brief,
    "setting": setting,
    "data": data,
    "comparisons": comparisons,
    "elsewhere": elsewhere,
    "signs": signs,
    "costs": costs,
    "options": options,
    "degrees": degrees,
    "margins": margins,
    "boolean": boolean,
    "older": older,
    "class-f1": class_f1,
    "cases": cases,
    "inside": inside,
    "appendix": appendix,
    "readings": readings,
    "claims": claims,
    "contents": content,
    "constants": constants,
}


def report(result: Result) -> Lines:
    """Return all tables, each after its name."""
    lines: Lines = []
    for name, part in PARTS.items():
        lines += ["", f"== {name}", "", *part(result)]
    return lines
