"""Render the figures of the paper's page as lines of Markdown."""

from collections.abc import Callable
from typing import Any

from benchmarks.papers.prank import paper
from benchmarks.papers.prank.claims import FAILS, HOLDS, UNDECIDED, UNTESTED, checks
from benchmarks.papers.prank.learners import PRANK, WH

Result = dict[str, Any]
Lines = list[str]
VERDICTS = (HOLDS, FAILS, UNDECIDED)
TITLES = {"jester-people": "Jester, people as features", "jester-jokes": "Jester, jokes as features"}


def title(name: str) -> str:
    """Return the title of an experiment."""
    whole = name.removesuffix("-shrunk")
    return TITLES.get(whole, whole) + (", rows shrunk" if whole != name else "")


def table(heads: list[str], rows: list[list[str]]) -> Lines:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def figure(found: dict[str, Any] | None) -> str:
    return "-" if found is None else f"{found['mean']:.3f} ± {found['deviation']:.3f}"


def counted(found: list[str]) -> str:
    """Return how often each verdict occurs."""
    if len(set(found)) == 1:
        return bold(found[0])
    return ", ".join(f"{bold(one)} ({found.count(one)})" for one in VERDICTS if one in found)


def bold(found: str) -> str:
    return f"**{found}**" if found == FAILS else found


def setting(result: Result) -> Lines:
    """Return how the figures were computed."""
    options = {"short": "", "full": " --full"}.get(result["run"], f" --seeds {result['seeds']}")
    return [
        f"The figures on this page are of {result['seeds']} seeds (`python -m benchmarks.papers.prank{options}`), "
        f"which took {result['processor_seconds'] / 60:.0f} minutes of processor time on one core. "
        f"{result['machine']}, shared with others."
    ]


def brief(result: Result) -> Lines:
    """Return how many claims hold."""
    found = checks(result)
    of_paper = [one["verdict"] for one in found if not one["ours"]]
    words = {HOLDS: "hold", FAILS: "do not hold", UNDECIDED: "are undecided"}
    counts = ", ".join(f"{of_paper.count(one)} {word}" for one, word in words.items())
    return [
        f"Of {len(of_paper)} checks of the paper's claims, counted for each set: {counts}. EachMovie itself {UNTESTED}."
    ]


def claims(result: Result) -> Lines:
    """Return every claim with its verdict and its evidence."""
    rows = []
    for one in checks(result):
        claim = f"{one['claim']} (ours)" if one["ours"] else one["claim"]
        rows.append([claim, title(one["where"]), bold(one["verdict"]), "<br>".join(one["evidence"])])
    return table(["claim", "data", "verdict", "evidence: mean difference in rank loss [99% interval]"], rows)


def inventory(result: Result) -> Lines:
    """Return every part of the paper with its file, its test and its verdict."""
    found, rows = checks(result), []
    for part in paper.PARTS:
        verdicts = [one["verdict"] for one in found if part.claims and one["claim"].startswith(part.claims)]
        test = part.test.removeprefix("tests/").replace("::", "`<br>`")
        cells = [name if name == "-" else f"`{name}`" for name in (part.file, test)]
        rows.append([part.name, *cells, counted(verdicts) if verdicts else part.verdict])
    return table(["part of the paper", "file", "test", "verdict"], rows)


def lost(result: Result) -> Lines:  # noqa: ARG001  every part has the same arguments
    """Return what was typed in."""
    return table(["setting (typed in)", "value"], [[name, value] for name, value in paper.LOST.items()])


def online(result: Result) -> Lines:
    """Return the mean rank loss of every learner after the last round."""
    runs = result["online"]
    systems = list(dict.fromkeys(name for run in runs.values() for name in run["loss"]))
    heads = [
        "mean rank loss, online",
        *(f"{title(name)}, {run['rounds']:,} rounds" for name, run in runs.items()),
    ]
    rows = [[system, *(figure(run["loss"].get(system)) for run in runs.values())] for system in systems]
    rows.append(["mean norm of a row", *(f"{run['length']:.2f}" if "length" in run else "-" for run in runs.values())])
    return table(heads, rows)


def batch(result: Result) -> Lines:
    """Return the mean rank loss on test rows."""
    runs = {name: run["batch"] for name, run in result["online"].items() if "batch" in run}
    systems = list(next(iter(runs.values())))
    heads = ["mean rank loss on test rows", *(title(name) for name in runs)]
    lines = table(heads, [[system, *(figure(run[system]) for run in runs.values())] for system in systems])
    if "batch" not in result:
        return lines
    sizes = result["batch"]["sizes"]
    systems = list(next(iter(sizes.values())))
    heads = ["mean rank loss on 1,000 synthetic test rows", *(f"{rows} training rows" for rows in sizes)]
    return [*lines, "", *table(heads, [[name, *(figure(found[name]) for found in sizes.values())] for name in systems])]


def rates(result: Result) -> Lines:
    """Return Widrow-Hoff's loss for every learning rate, on development rows."""
    tried = {(name, system): found for name, run in result["online"].items() for system, found in run["tried"].items()}
    heads = ["rate", *(f"{title(name)}: {system}" for name, system in tried)]
    rows = []
    for rate in next(iter(tried.values())):
        cells = [
            f"**{found[rate]:.3f}**" if found[rate] == min(found.values()) else f"{found[rate]:.3f}"
            for found in tried.values()
        ]
        rows.append([rate, *cells])
    losses = [f"{result['online'][name]['loss'][PRANK]['mean']:.3f}" for name, _ in tried]
    return [*table(heads, [*rows, ["PRank, on the measured rows", *losses]]), *compared_rates(result)]


def compared_rates(result: Result) -> Lines:
    """Say at which rates PRank is better than Widrow-Hoff on the synthetic task, and at which it is not."""
    if "synthetic" not in result["online"]:
        return []
    run = result["online"]["synthetic"]
    loss, found = run["loss"][PRANK]["mean"], run["tried"][WH]
    lower = [rate for rate in found if loss < found[rate]]
    return [
        "",
        f"On the synthetic task, PRank's loss of {loss:.3f} is lower than Widrow-Hoff's at the rates "
        f"{', '.join(lower)}, and higher at the rates {', '.join(rate for rate in found if rate not in lower)}.",
    ]


def theorem(result: Result) -> Lines:
    """Return the rank loss beside the bound of theorem 2."""
    rows = [
        [
            k,
            f"{row['rows']['mean']:.0f}",
            f"{row['loss']['mean']:.0f} ± {row['loss']['deviation']:.0f}",
            f"{row['bound']['mean']:,.0f}",
            f"{100 * row['largest_share']:.2f}%",
        ]
        for k, row in result["bounds"].items()
    ]
    heads = ["ranks k", "rows", "measured rank loss", "bound (k - 1)(R² + 1) / γ²", "highest loss / bound of a seed"]
    return table(heads, rows)


def moves(result: Result) -> Lines:
    """Return what updates do to the rank of their own row."""
    kinds = ("right", "nearer", "as far", "farther")
    rows = [
        [
            title(name),
            *(f"{100 * row[kind]['mean']:.0f}%" for kind in kinds),
        ]
        for name, row in result["moves"].items()
    ]
    return table(["after an update, its row's rank is", *kinds], rows)


PARTS: dict[str, Callable[[Result], Lines]] = {
    "setting": setting,
    "brief": brief,
    "inventory": inventory,
    "claims": claims,
    "lost": lost,
    "online": online,
    "rates": rates,
    "batch": batch,
    "theorem": theorem,
    "moves": moves,
}


OF_A_FILE = ("setting", "brief", "claims", "online", "rates", "batch")  # what a run on a user's file has figures for


def report(result: Result) -> Lines:
    """Return the tables that a result has figures for."""
    names = PARTS if "bounds" in result else OF_A_FILE
    return [line for name in names for line in ("", f"== {name}", *PARTS[name](result))]
