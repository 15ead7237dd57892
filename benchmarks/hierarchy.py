"""Choose how a hierarchy of labels is used, on held-out training rows.

python -m benchmarks.hierarchy rules       labels with those above them: in rankings, and in labels to apply
python -m benchmarks.hierarchy evidence    texts and names of labels as examples of their parents
python -m benchmarks.hierarchy scores      scores of parents that are added to those of their children
python -m benchmarks.hierarchy size        time and memory for a vocabulary of many concepts
python -m benchmarks.hierarchy show        print the stored results

WordNet has hypernyms. The subject headings of Project Gutenberg have subdivisions: "England -- Fiction" is below
"England". The test rows are not used.
"""

import argparse
import json
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from abound import Tagger
from abound.errors import AboundWarning
from abound.hierarchy import Hierarchy, read_hierarchy
from benchmarks import documents
from benchmarks.machine import machine_line

RESULT = Path(__file__).parent / "results" / "hierarchy.json"
SETS = ("gutenberg-lcsh", "wordnet-hypernym")
DEPTH = 60
Pairs = list[tuple[str, str]]


def pairs_of(name: str, rows: documents.Rows) -> Pairs:
    """Return children and parents among the labels of a data set."""
    if name == "wordnet-hypernym":
        synsets = documents.json_lines("wordnet-hypernym/wordnet31.jsonl.xz")
        return [(synset["id"], parent) for synset in synsets for parent in synset["hyper"]]
    found = {}
    for label in {label for row in rows for label in row.labels}:
        parts = label.split(" -- ")
        for end in range(2, len(parts) + 1):
            found[" -- ".join(parts[:end])] = " -- ".join(parts[: end - 1])
    return sorted(found.items())


def difference(values: np.ndarray, base: np.ndarray) -> list[float]:
    """Return the mean difference of paired values, and half of its 95% interval."""
    paired = values - base
    return [round(float(paired.mean()), 4), round(float(1.96 * paired.std() / len(paired) ** 0.5), 4)]


# -- rules ---------------------------------------------------------------------------------------------


def better_wins(ranked: Sequence[str], k: int, above: Callable[[str], set[str]]) -> list[str]:
    """Leave out a label if a better one is above or below it."""
    kept: list[str] = []
    for label in ranked:
        if len(kept) < k and all(label not in above(other) and other not in above(label) for other in kept):
            kept.append(label)
    return kept


def specific_wins(ranked: Sequence[str], k: int, above: Callable[[str], set[str]]) -> list[str]:
    """Leave out a label if one of the first k labels is below it, and fill up."""
    first = ranked[:k]
    kept = [label for label in first if not any(label in above(other) for other in first)]
    return better_wins([*kept, *ranked[k:]], k, above)


RULES = {
    "all labels": lambda ranked, k, _: list(ranked[:k]),
    "the better of two": better_wins,
    "the more specific": specific_wins,
}


def rules(name: str) -> dict[str, Any]:
    found = documents.development(name)
    hierarchy = Hierarchy.from_pairs(pairs_of(name, [*found.train, *found.held]))
    known: dict[str, set[str]] = {}

    def above(label: str) -> set[str]:
        if label not in known:
            known[label] = set(hierarchy.ancestors_of(label))
        return known[label]

    tagger = Tagger().fit([row.text for row in found.train], [row.labels for row in found.train])
    texts, true = [row.text for row in found.held], [set(row.labels) for row in found.held]
    rankings = [[str(entry.label) for entry in row] for row in tagger.rank_many(texts, DEPTH)]
    assigned = [[str(entry.label) for entry in row] for row in tagger.assign_many(texts, keep_parents=True)]
    result: dict[str, Any] = {
        "rows": len(texts),
        "true labels with one above": round(float(np.mean([any(above(a) & row for a in row) for row in true])), 4),
    }
    for rule, choose in RULES.items():
        figures: dict[str, Any] = {}
        for k in (3, 5, 10):
            hits, plain = (
                np.array([len(set(of(row, k, above)) & right) / k for row, right in zip(rankings, true, strict=True)])
                for of in (choose, RULES["all labels"])
            )
            figures[f"P@{k}"], figures[f"change of P@{k}"] = round(float(hits.mean()), 4), difference(hits, plain)
        given = [choose(row, len(row), above) for row in assigned]
        right = sum(len(set(row) & of) for row, of in zip(given, true, strict=True))
        f1, base = (
            np.array([2 * len(set(row) & of) / (len(row) + len(of)) for row, of in zip(rows, true, strict=True)])
            for rows in (given, assigned)
        )
        figures |= {"precision of assigned labels": round(right / sum(map(len, given)), 4)}
        figures |= {"F1 of assigned labels": round(float(f1.mean()), 4), "change of F1": difference(f1, base)}
        result[rule] = figures
    return result


# -- evidence ------------------------------------------------------------------------------------------


def evidence(name: str) -> dict[str, Any]:
    found = documents.development(name)
    labels = {label for row in found.train for label in row.labels}
    held = {row.text for row in found.held}
    parents: dict[str, list[str]] = {}
    if name == "wordnet-hypernym":  # the parents of a synset with a held-out gloss are what is to be found
        for synset in documents.json_lines("wordnet-hypernym/wordnet31.jsonl.xz"):
            if synset["gloss"] not in held and synset["id"] in labels:
                parents[synset["id"]] = [parent for parent in synset["hyper"] if parent in labels]
    else:
        for child, parent in pairs_of(name, found.train):
            if {child, parent} <= labels:
                parents[child] = [parent]
    texts, given = [row.text for row in found.train], [row.labels for row in found.train]
    by_name = [(text, above) for label, above in parents.items() if above for text in found.names.get(label, ())]
    by_text = []
    for row in found.train:
        above = sorted({parent for label in row.labels for parent in parents.get(label, ())} - {*row.labels})
        by_text += [(row.text, above)] if above else []

    def p1(more: list[tuple[str, list[str]]], weight: float) -> np.ndarray:
        weights = None if not more else [1.0] * len(texts) + [weight] * len(more)
        tagger = Tagger().fit(
            [*texts, *(text for text, _ in more)],
            [*given, *(above for _, above in more)],
            label_names=found.names,
            sample_weight=weights,
        )
        first = tagger.rank_many([row.text for row in found.held], 1)
        return np.array([bool(e) and e[0].label in row.labels for e, row in zip(first, found.held, strict=True)], float)

    started = time.process_time()
    base = p1([], 1.0)
    result: dict[str, Any] = {"P@1": round(float(base.mean()), 4), "seconds": round(time.process_time() - started, 1)}
    for what, more, weights in (("names", by_name, (0.1, 0.5)), ("texts", by_text, (0.05, 0.2))):
        for weight in weights:
            started = time.process_time()
            values = p1(more, weight)
            result[f"{what} of children at {weight:g}"] = {
                "examples": len(more),
                "P@1": round(float(values.mean()), 4),
                "change": difference(values, base),
                "seconds": round(time.process_time() - started, 1),
            }
    return result


def scores(name: str) -> dict[str, Any]:
    found = documents.development(name)
    parents: dict[str, list[str]] = {}
    for child, parent in pairs_of(name, found.train):
        parents.setdefault(child, []).append(parent)
    tagger = Tagger().fit([row.text for row in found.train], [row.labels for row in found.train])
    rankings = tagger.rank_many([row.text for row in found.held], DEPTH)

    def p1(weight: float) -> np.ndarray:
        hits = []
        for entries, row in zip(rankings, found.held, strict=True):
            known = {str(entry.label): entry.score for entry in entries}
            added = {
                label: score + weight * max((known[up] for up in parents.get(label, ()) if up in known), default=0.0)
                for label, score in known.items()
            }
            hits.append(bool(added) and max(added, key=added.__getitem__) in row.labels)
        return np.array(hits, float)

    base = p1(0.0)
    result: dict[str, Any] = {"P@1": round(float(base.mean()), 4)}
    for weight in (0.05, 0.1, 0.2, 0.4):
        result[f"scores of parents at {weight:g}"] = {"change": difference(p1(weight), base)}
    return result


# -- size ----------------------------------------------------------------------------------------------


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the CPU time that it took."""
    started = time.process_time()
    return run(), round(time.process_time() - started, 4)


def written_skos(path: Path) -> int:
    """Write all synsets of WordNet as SKOS in Turtle."""
    lines = ["@prefix skos: <http://www.w3.org/2004/02/skos/core#> .", "@prefix w: <http://wordnet.example/> ."]
    synsets = list(documents.json_lines("wordnet-hypernym/wordnet31.jsonl.xz"))
    for synset in synsets:
        names = [json.dumps(word.replace("_", " "), ensure_ascii=False) + "@en" for word in synset["words"]]
        others = f" ; skos:altLabel {', '.join(names[1:])}" if names[1:] else ""
        broader = f" ; skos:broader {', '.join(f'w:{parent}' for parent in synset['hyper'])}" if synset["hyper"] else ""
        lines.append(f"w:{synset['id']} a skos:Concept ; skos:prefLabel {names[0]}{others}{broader} .")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(synsets)


def size() -> dict[str, Any]:
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        n = written_skos(Path(folder) / "wordnet.ttl")
        hierarchy, seconds = timed(lambda: read_hierarchy(Path(folder) / "wordnet.ttl"))
        result["WordNet in Turtle"] = {"concepts": n, "seconds to read": seconds}
    million = 1_000_000
    pairs = [(f"http://example.org/concept/{i}", f"http://example.org/concept/{i // 10}") for i in range(1, million)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    hierarchy, seconds = timed(lambda: Hierarchy.from_pairs(pairs))
    arrays = hierarchy.arrays()
    again, loading = timed(lambda: Hierarchy.from_arrays(arrays))
    _, first = timed(lambda: again.path("http://example.org/concept/999999"))
    _, path = timed(lambda: again.path("http://example.org/concept/999998"))
    _, branch = timed(lambda: again.branches([again.number_of("http://example.org/concept/1") or 0]))
    result["a million concepts"] = {
        "seconds to build": seconds,
        "MB in files": round(sum(array.nbytes for array in arrays.values()) / 1e6),
        "peak MB": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3),
        "seconds to load": loading,
        "seconds of the first path": first,
        "seconds of a path": path,
        "seconds of a branch": branch,
    }
    found = documents.development("wordnet-hypernym")
    tree = Hierarchy.from_pairs(pairs_of("wordnet-hypernym", found.train))
    tagger = Tagger().fit([row.text for row in found.train], [row.labels for row in found.train], hierarchy=tree)
    texts = [row.text for row in found.held[:1000]]
    tagger.rank_many(texts[:10], only="n00001740", keep_parents=False)
    result["ranking of 1,000 glosses"] = {"labels": tagger.n_labels} | {
        name: timed(lambda chosen=chosen: tagger.rank_many(texts, **chosen))[1]
        for name, chosen in (
            ("all", {}),
            ("without parents", {"keep_parents": False}),
            ("a branch of most labels", {"only": _branch(tree, tagger, 1.0)}),
            ("a branch of about 1% of the labels", {"only": _branch(tree, tagger, 0.01)}),
            ("10 labels", {"only": [f"={label}" for label in tagger.ranker.labels_.names[:10]]}),
        )
    }
    return result


def _branch(tree: Hierarchy, tagger: Tagger, share: float) -> str:
    """Return the concept whose branch has the share of the labels that is nearest."""
    known = {str(label) for label in tagger.ranker.labels_.names}
    sizes: dict[str, int] = {}
    for label in known:
        for above in (label, *tree.ancestors_of(label)):
            sizes[above] = sizes.get(above, 0) + 1
    return min(sizes, key=lambda label: (abs(sizes[label] - share * len(known)), label))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("rules", "evidence", "scores", "size", "show"))
    part = parser.parse_args().part
    warnings.simplefilter("ignore", AboundWarning)
    stored = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    if part == "size":
        stored[part] = size()
    elif part != "show":
        measure = {"rules": rules, "evidence": evidence, "scores": scores}[part]
        stored[part] = {name: measure(name) for name in SETS}
    if part != "show":
        stored["machine"] = machine_line()
        RESULT.write_text(json.dumps(stored, indent=1) + "\n")
    print(json.dumps(stored, indent=1))


if __name__ == "__main__":
    main()
