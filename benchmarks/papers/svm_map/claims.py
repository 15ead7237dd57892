"""What the paper claims, and whether it holds here."""

from typing import Any

from benchmarks.papers.rankers import LEARNERS
from benchmarks.papers.svm_map.splits import PLACES
from benchmarks.papers.svm_map.verdicts import FAILS, HOLDS, UNDECIDED, UNTESTED, against, alike, better, not_worse

CONVENTIONAL = tuple(name for name in LEARNERS if name.startswith("SVM-acc"))
INDRI, SUBMITTED, REDUCED = "trec-web-2012", "letor-agg", "letor-agg, without the best"
METHOD_TABLES = {INDRI: "table 9", SUBMITTED: "table 10", REDUCED: "table 11"}
HOUR = 3600
SORT_LIKE, QUADRATIC = 1.3, 1.6  # exponents: up to the first the search grows like a sort, from the second it does not
Claim = tuple[str, str, str, str]  # where in the paper, what it claims, the verdict, the evidence


def compare(result: dict[str, Any], label: str, ours: str, theirs: str) -> dict[str, Any]:
    """Compare two systems of a collection query by query."""
    systems = result["sets"][label]["systems"]
    return against(*(dict(zip(map(str, range(len(s))), s, strict=True)) for s in (systems[ours], systems[theirs])))


def evidence(label: str, ours: str, theirs: str, row: dict[str, Any]) -> str:
    """Describe a comparison in one line."""
    return (
        f"{label}: {ours} − {theirs} = {row['difference']:+.4f} (90%: {row['low']:+.4f} to {row['high']:+.4f}), "
        f"{row['wins']} : {row['losses']}, p {row['p']:.2g}"
    )


def tested(result: dict[str, Any], where: str, text: str, label: str, ours: str, theirs: str, judge: Any) -> Claim:
    """Judge a claim about two systems of a collection."""
    row = compare(result, label, ours, theirs)
    return where, text, judge(row), evidence(label, ours, theirs, row)


def about_functions(result: dict[str, Any]) -> list[Claim]:
    claims = [
        tested(result, "table 6", f"SVM-map beats the {place} of Indri", INDRI, "SVM-map", place, better)
        for place in PLACES
    ]
    text = "With submissions, SVM-map has a higher MAP than the best of them"
    claims.append(tested(result, "table 7", text, SUBMITTED, "SVM-map", PLACES[0], better))
    text = "With submissions, SVM-map and the best of them hardly differ"
    claims.append(tested(result, "table 7", text, SUBMITTED, "SVM-map", PLACES[0], alike))
    text = "Without the best submission, SVM-map is still comparable with it"
    claims.append(tested(result, "table 8", text, REDUCED, "SVM-map", PLACES[0], not_worse))
    return claims


def about_methods(result: dict[str, Any]) -> list[Claim]:
    claims = []
    for label, table in METHOD_TABLES.items():
        for other in CONVENTIONAL:
            claims.append(tested(result, table, f"SVM-map is better than {other}", label, "SVM-map", other, better))
        text = "SVM-roc is better than SVM-acc"
        claims.append(tested(result, table, text, label, "SVM-roc", "SVM-acc", better))
    text = "With Indri functions, SVM-map and SVM-roc hardly differ"
    claims.append(tested(result, "table 9", text, INDRI, "SVM-map", "SVM-roc", alike))
    text = "SVM-map is better than SVM-roc"
    return claims + [
        tested(result, METHOD_TABLES[label], text, label, "SVM-map", "SVM-roc", better) for label in METHOD_TABLES
    ]


def about_the_best(result: dict[str, Any]) -> list[Claim]:
    """Compare each model with itself without the best function."""
    whole, reduced = (result["sets"][label]["systems"] for label in (SUBMITTED, REDUCED))
    rows = {}
    for name in LEARNERS:
        sides = (dict(zip(map(str, range(len(s[name]))), s[name], strict=True)) for s in (whole, reduced))
        rows[name] = against(*sides)
    text = "; ".join(f"{name} {row['difference']:+.4f}, p {row['p']:.2g}" for name, row in rows.items())
    found = [better(row) for row in rows.values()]
    verdict = HOLDS if found.count(HOLDS) > len(found) / 2 else UNDECIDED
    if found.count(FAILS) > len(found) / 2:
        verdict = FAILS
    return [
        ("table 11", "Most models lose MAP without the best submission", verdict, f"with − without: {text}"),
        ("table 8", "SVM-map loses little without it", alike(rows["SVM-map"]), f"at most 0.01: {text.split(';')[0]}"),
    ]


def about_theory(result: dict[str, Any]) -> list[Claim]:
    roc, accuracy = result["toys"].values()
    kept = roc["h1"]["MAP"] > roc["h2"]["MAP"] and roc["h1"]["ROC area"] < roc["h2"]["ROC area"]
    best = accuracy["h1"]["MAP"] > accuracy["h2"]["MAP"]
    best = best and accuracy["h1"]["best accuracy"] < accuracy["h2"]["best accuracy"]
    bounds, rows = result["upper_bound"], [row for each in result["algorithm_1"]["rows"].values() for row in each]
    share = max(row["constraints"] / row["bound"] for row in rows)
    slowest = max(one["longest_fit_seconds"] for each in result["sets"].values() for one in each["learners"].values())
    gaps = [each["learners"][name]["largest_relative_gap"] for each in result["sets"].values() for name in LEARNERS]
    ranking = [each["learners"]["SVM-map"]["largest_relative_gap"] for each in result["sets"].values()]
    exponent = result["algorithm_2"]["exponent"]
    growth = HOLDS if exponent < SORT_LIKE else FAILS if exponent > QUADRATIC else UNDECIDED
    slack = min(row["mean_slack"] - row["risk"] for row in bounds)
    return [
        ("tables 1, 2", "The best ROC area need not have the best MAP", HOLDS if kept else FAILS, "the table of toys"),
        ("tables 3, 4", "The best accuracy need not have the best MAP", HOLDS if best else FAILS, "the table of toys"),
        (
            "proposition 1",
            "The mean slack bounds the loss",
            HOLDS if slack >= 0 else FAILS,
            f"{len(bounds)} fits: the slack is larger by at least {slack:.3f}",
        ),
        (
            "theorem 1",
            "Algorithm 1 adds at most so many constraints",
            HOLDS if share <= 1 else FAILS,
            f"{len(rows)} fits: at most {share:.2g} of the bound",
        ),
        (
            "abstract",
            "The solution is the global optimum",
            HOLDS if max(ranking) <= 0.001 else FAILS,
            f"certified to {max(ranking):.2g} of the objective of SVM-map, {max(gaps):.2g} of any learner",
        ),
        (
            "running time",
            "Algorithm 2 takes about the time of a sort",
            growth,
            f"documents to the power {exponent:.2f}",
        ),
        (
            "running time",
            "A model is trained within an hour",
            HOLDS if slowest < HOUR else FAILS,
            f"the slowest fit took {slowest:.1f} s",
        ),
        (
            "introduction",
            "It is faster than two earlier methods that optimise MAP",
            UNTESTED,
            "no program of them is free",
        ),
        ("conclusion", "Fewer models have to be tuned than with other methods", UNTESTED, "no measure is given"),
        ("conclusion", "It is as easy to use as other SVMs", UNTESTED, "an opinion"),
    ]


def judged(result: dict[str, Any]) -> list[Claim]:
    """Return every claim with its verdict."""
    return [*about_theory(result), *about_functions(result), *about_methods(result), *about_the_best(result)]
