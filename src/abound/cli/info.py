"""`abound info`: describe a model."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import JsonOption, ModelArgument, emit, load_tagger, show_size, wants_json

if TYPE_CHECKING:
    from abound.tagger import Tagger

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

    For the home of a served model, describe its newest state: what it was fitted on, and the corrections since.
    """
    tagger = load_tagger(model)
    params = tagger.params()
    counts = tagger.label_counts
    order = sorted(range(len(counts)), key=lambda number: (-counts[number], number))[:k]
    names = tagger.ranker.labels_.names
    frequent = [{"label": str(names[number]), "rows": int(counts[number])} for number in order]
    facts: dict[str, Any] = {
        "model": model,
        **_described(model, tagger),
        "ranker": params.get("ranker"),
        "params": params,
        "rows": tagger.n_rows,
        "labels": tagger.n_shown,
        "features": tagger.n_features,
        "edges": tagger.n_edges,
        "second_opinion": _opinion(tagger),
        "memory_bytes": tagger.nbytes,
        "disk_bytes": sum(path.stat().st_size for path in Path(model).rglob("*") if path.is_file()),
        "label_names": len(tagger.label_names or ()),
        "held_out": None if tagger.held_out is None else tagger.held_out.as_dict(),
        "concepts": 0 if tagger.hierarchy is None else len(tagger.hierarchy),
        "frequent": [{**entry, "name": tagger.name_of(str(entry["label"]))} for entry in frequent],
    }
    if wants_json(as_json):
        emit(facts)
    else:
        _show(facts)


def _described(path: str, tagger: "Tagger") -> dict[str, Any]:
    """Return the format version and the state hash; of a home, also what it was fitted on and its corrections."""
    from abound.cli.homes import count_corrections, is_home

    if not is_home(path):
        return _manifest(path)
    from abound.server import Home
    from abound.server.refitting import fitted_model
    from abound.server.served import ServedTagger
    from abound.store.journal import Journal

    home = Home(path)
    origin, snapshots = home.origin(), home.snapshots()
    rows = None if origin is None else origin.rows
    with Journal(home.journal_path) as journal:
        skipped, last, base = sorted(journal.skips()), journal.last, journal.lineage().base
    if base:
        rows = fitted_model(home).n_rows
    return {
        **_manifest(str(home.snapshot_path(snapshots[-1]))),
        "state_hash": tagger.state_hash(),
        "fitted_rows": rows,
        "corrections": count_corrections(home),
        "served_at": tagger.sequence if isinstance(tagger, ServedTagger) else None,
        "last_record": last,
        "snapshot_record": snapshots[-1],
        "skipped": skipped,
    }


def _opinion(tagger: "Tagger") -> dict[str, Any] | None:
    """Return the encoder, the number and length of the vectors, and whether they count; None if there are none."""
    opinion = tagger.second_opinion
    if opinion is None:
        return None
    return {
        "embeddings": tagger.embeddings_name,
        "dimensions": opinion.dimensions,
        "vectors": len(opinion.neighbours),
        "keeps_texts": opinion.keeps_texts,
        "votes": opinion.votes,
        "blend_is_used": tagger.blends,
    }


def _manifest(model: str) -> dict[str, Any]:
    """Return the format version and the state hash from the manifest, which loading has validated."""
    from abound.store.directory import MANIFEST

    content = json.loads((Path(model) / MANIFEST).read_text(encoding="utf-8"))["content"]
    return {name: content.get(name) for name in ("format_version", "state_hash")}


def _show(known: dict[str, Any]) -> None:
    from abound.cli.tables import facts, table

    plain = ("format_version", "ranker", "rows", "labels", "features", "edges")
    served = ("fitted_rows", "corrections", "served_at", "last_record", "snapshot_record", "skipped")
    rows: list[tuple[str, object]] = [(name.replace("_", " "), known[name]) for name in plain]
    rows += [(name.replace("_", " "), str(known[name])) for name in served if known.get(name) not in (None, [])]
    rows += [("concepts of the hierarchy", known["concepts"])] if known["concepts"] else []
    if known["second_opinion"]:
        found = known["second_opinion"]
        rows.append(("encoder", str(found["embeddings"])))
        rows.append(("vectors", f"{found['vectors']:,} of {found['dimensions']:,} numbers"))
        how = "and vectors" if found["blend_is_used"] else "alone: they rank better" if found["votes"] else "alone"
        rows.append(("rankings", f"by words {how}"))
    rows += [("in memory", show_size(known["memory_bytes"])), ("on disk", show_size(known["disk_bytes"]))]
    if known["held_out"]:
        measures = ", ".join(f"{name} {values[0]:.4f}" for name, values in known["held_out"]["measures"].items())
        rows.append(("when fitted", f"{measures} on {known['held_out']['rows']:,} held-out rows"))
    params = {name: value for name, value in known["params"].items() if name not in ("ranker", "ranker_params")}
    rows += [*params.items(), *known["params"].get("ranker_params", {}).items()]
    facts(known["model"], rows)
    if known["frequent"]:
        frequent = [(entry["name"], f"{entry['rows']:,}") for entry in known["frequent"]]
        table("most frequent labels", ("label", "rows"), frequent, " r")
