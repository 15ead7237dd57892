"""`abound info`: describe a model."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from abound.cli.common import JsonOption, ModelArgument, emit, load_tagger, show_size, wants_json

EPILOG = """\b
Example:
  abound info subjects
  abound info subjects --json | jq .labels
"""


def info(
    model: ModelArgument,
    k: Annotated[int, typer.Option("-k", min=0, metavar="N", help="Number of the most frequent labels to list.")] = 10,
    as_json: JsonOption = None,
) -> None:
    """Describe a model: its parameters, the number of rows, labels and features, and its size.

    For the home of a served model, describe its last snapshot, and print the number of the journal's last record.
    """
    served, given = _served(model), model
    model = served.pop("snapshot", model)
    tagger = load_tagger(model)
    params = tagger.params()
    counts = tagger.label_counts
    order = sorted(range(len(counts)), key=lambda number: (-counts[number], number))[:k]
    names = tagger.rank_arrays([""], 1).names if order else ()
    frequent = [{"label": str(names[number]), "rows": int(counts[number])} for number in order]
    facts: dict[str, Any] = {
        "model": given,
        **_manifest(model),
        **served,
        "ranker": params.get("ranker"),
        "params": params,
        "rows": tagger.n_rows,
        "labels": tagger.n_labels,
        "features": tagger.n_features,
        "edges": tagger.n_edges,
        "memory_bytes": tagger.nbytes,
        "disk_bytes": sum(path.stat().st_size for path in Path(model).rglob("*") if path.is_file()),
        "label_names": len(tagger.label_names or ()),
        "concepts": 0 if tagger.hierarchy is None else len(tagger.hierarchy),
        "frequent": [{**entry, "name": tagger.name_of(str(entry["label"]))} for entry in frequent],
    }
    if wants_json(as_json):
        emit(facts)
    else:
        _show(facts)


def _served(path: str) -> dict[str, Any]:
    """Return the last snapshot of a served model and the state of its journal; empty for other directories."""
    if not (Path(path) / "journal.sqlite").is_file():
        return {}
    from abound.server import Home
    from abound.store.journal import Journal

    home = Home(path)
    snapshots = home.snapshots()
    if not snapshots:
        return {}
    with Journal(home.journal_path) as journal:
        facts = {"snapshot_record": snapshots[-1], "last_record": journal.last, "skipped": sorted(journal.skips())}
    return {"snapshot": str(home.snapshot_path(snapshots[-1])), **facts}


def _manifest(model: str) -> dict[str, Any]:
    """Return the format version and the state hash from the manifest, which loading has validated."""
    from abound.store.directory import MANIFEST

    content = json.loads((Path(model) / MANIFEST).read_text(encoding="utf-8"))["content"]
    return {name: content.get(name) for name in ("format_version", "state_hash")}


def _show(known: dict[str, Any]) -> None:
    from abound.cli.tables import facts, table

    plain = ("format_version", "ranker", "rows", "labels", "features", "edges")
    served = ("snapshot_record", "last_record", "skipped")
    rows: list[tuple[str, object]] = [(name.replace("_", " "), known[name]) for name in plain]
    rows += [(name.replace("_", " "), str(known[name])) for name in served if known.get(name)]
    rows += [("concepts of the hierarchy", known["concepts"])] if known["concepts"] else []
    rows += [("in memory", show_size(known["memory_bytes"])), ("on disk", show_size(known["disk_bytes"]))]
    params = {name: value for name, value in known["params"].items() if name not in ("ranker", "ranker_params")}
    rows += [*params.items(), *known["params"].get("ranker_params", {}).items()]
    facts(known["model"], rows)
    if known["frequent"]:
        frequent = [(entry["name"], f"{entry['rows']:,}") for entry in known["frequent"]]
        table("most frequent labels", ("label", "rows"), frequent, " r")
