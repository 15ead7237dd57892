"""`abound spark export`: write the index as a table for ranking in SQL."""

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
    target: Annotated[
        str, typer.Argument(metavar="OUT", help="Parquet file to write: feature, label, label_number, weight.")
    ],
    k: Annotated[
        int, typer.Option("-k", min=1, metavar="N", help="Number of labels per document that the query returns.")
    ] = 10,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False,
    as_json: JsonOption = None,
) -> None:
    """Write the index as a Parquet table, and print the SQL query that ranks with it. No cluster is needed."""
    from abound.spark.table import export_index, query

    if Path(target).exists() and not force:
        raise ValueError(f"{target} exists; replace it with --force")
    rows = export_index(load_tagger(model), target)
    if wants_json(as_json):
        emit({"table": target, "rows": rows, "query": query(k)})
        return
    typer.echo(query(k))
    note(f"wrote {rows:,} rows of table label_index to {target}")
