"""`abound merge`: merge models."""

from typing import Annotated

import typer

from abound.cli.common import JsonOption, emit, load_tagger, note, show_size, wants_json
from abound.cli.fit import ForceOption, TargetOption
from abound.cli.targets import lock_target

EPILOG = """\b
Example:
  abound merge monday tuesday --model week
  abound merge helsinki turku oulu --model finland
"""


def merge(
    ctx: typer.Context,
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Two or more model directories.")],
    model: TargetOption,
    force: ForceOption = False,
    as_json: JsonOption = None,
) -> None:
    """Merge models that were trained separately. Labels and words are matched by name, and counts are added."""
    if len(models) < 2:
        raise typer.BadParameter("give two or more models")
    lock_target(ctx, model, force)
    from abound.merging import merge as merge_models

    taggers = [load_tagger(path) for path in models]
    merged = merge_models(*taggers)
    merged.save(model)
    parts = [
        {"model": path, "rows": tagger.n_rows, "labels": tagger.n_labels, "features": tagger.n_features}
        for path, tagger in zip(models, taggers, strict=True)
    ]
    figures = {"rows": merged.n_rows, "labels": merged.n_labels, "features": merged.n_features, "edges": merged.n_edges}
    if wants_json(as_json):
        emit({"model": model, **figures, "memory_bytes": merged.nbytes, "merged": parts})
        return
    from abound.cli.tables import facts, table

    rows = [(str(part["model"]), *(f"{part[name]:,}" for name in ("rows", "labels", "features"))) for part in parts]
    table("merged", ("model", "rows", "labels", "features"), rows, " rrr")
    facts(model, [*figures.items(), ("memory", show_size(merged.nbytes))])
    note(f"saved to {model}; try: abound rank {model} 'a text'")
