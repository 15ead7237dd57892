"""`abound spark export`: the index as a table that SQL ranks by."""

from pathlib import Path
from typing import Annotated

import typer

from abound.cli.common import JsonOption, ModelArgument, emit, load_tagger, note, wants_json

EPILOG = """\b
Example:
  abound spark export subjects index.parquet
"""


def export(
    model: ModelArgument,
    target: Annotated[str, typer.Argument(metavar="OUT", help="The Parquet file: feature, label, number, weight.")],
    k: Annotated[int, typer.Option("-k", min=1, metavar="N", help="How many labels a document the query gives.")] = 10,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT.")] = False,
    as_json: JsonOption = None,
) -> None:
    """Write the index as a Parquet table, and print the SQL that ranks by it; no cluster is needed."""
    from abound.spark.table import export_index, query

    if Path(target).exists() and not force:
        raise ValueError(f"{target} exists; --force replaces it")
    rows = export_index(load_tagger(model), target)
    if wants_json(as_json):
        emit({"table": target, "rows": rows, "query": query(k)})
        return
    typer.echo(query(k))
    note(f"{rows:,} rows of table label_index are in {target}")
