"""`abound rerank apply`: rank the documents of queries with a model."""

import sys
from typing import Annotated

import typer

from abound.cli.common import emit
from abound.cli.reading import FormatOption

EPILOG = """\b
Example:
  abound rerank apply ranker test.letor > test.run
  abound rerank apply ranker test.letor --json -k 10
"""


def apply(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model directory that `abound rerank fit` wrote.")],
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT", help="Files of documents: LETOR or svmlight.")],
    k: Annotated[
        int | None, typer.Option("-k", min=1, metavar="N", help="Print only the best N documents of each query.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per query instead of a TREC run.")
    ] = False,
    tag: Annotated[str, typer.Option("--tag", metavar="NAME", help="Name of the run.")] = "abound",
    format_: FormatOption = None,
) -> None:
    """Rank the documents of each query and print a TREC run."""
    from abound.cli.rerank.documents import read_documents
    from abound.cli.rerank.model import load_reranker
    from abound.data import RunLine, write

    reranker = load_reranker(model)
    documents = read_documents(inputs, format_, reranker.n_features_in_)
    ranked = reranker.rank(documents.X, documents.qids)
    if as_json:
        for query in ranked:
            pairs = zip(documents.names[query.rows[:k]].tolist(), query.scores[:k].tolist(), strict=True)
            emit({"qid": query.qid, "documents": [{"id": name, "score": score} for name, score in pairs]})
        return
    sys.stdout.flush()
    write(
        "-",
        (
            RunLine(query.qid, str(documents.names[row]), rank, float(score), tag)
            for query in ranked
            for rank, (row, score) in enumerate(zip(query.rows[:k], query.scores[:k], strict=True), 1)
        ),
        "trec-run",
    )
