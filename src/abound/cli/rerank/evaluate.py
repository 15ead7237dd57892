"""`abound rerank evaluate`: measure a model on graded documents, or a run on judgements."""

from typing import TYPE_CHECKING, Annotated

import typer

from abound.cli.common import JsonOption, emit, wants_json
from abound.cli.reading import FormatOption

if TYPE_CHECKING:
    from abound.metrics import QueryJudgement

EPILOG = """\b
Example:
  abound rerank evaluate ranker test.letor --metrics MAP,nDCG@10
  abound rerank evaluate test.run --qrels judgements.qrels
"""


def evaluate(
    what: Annotated[str, typer.Argument(metavar="MODEL|RUN", help="A model directory; with --qrels, a TREC run.")],
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="INPUT", help="Files of graded documents: LETOR or svmlight.")
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(
            "--qrels", metavar="FILE", help="Relevance judgements of a run; metrics are computed as in trec_eval."
        ),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", metavar="NAMES", help="Metrics, separated by commas, such as MAP,P@5.")
    ] = None,
    relevant_from: Annotated[
        float | None, typer.Option("--relevant-from", metavar="GRADE", help="Smallest grade of a relevant document.")
    ] = None,
    as_json: JsonOption = None,
    format_: FormatOption = None,
) -> None:
    """Rank documents and print metrics of the rankings, averaged over queries."""
    from abound.metrics import DEFAULT_QUERY_METRICS, query_metric, summarize_queries

    names = list(DEFAULT_QUERY_METRICS) if metrics is None else [n.strip() for n in metrics.split(",") if n.strip()]
    if not names:
        raise ValueError("--metrics must name at least one metric")
    for name in names:
        query_metric(name)
    if (qrels is None) == (not inputs):
        raise typer.BadParameter("give a model and files of documents, or a run and --qrels")
    if qrels is not None:
        judgement = _judge_run(what, qrels, 1.0 if relevant_from is None else relevant_from)
    else:
        judgement = _judge_model(what, inputs or [], format_, relevant_from)
    figures = summarize_queries(judgement, names, keep_empty=qrels is not None)
    n_relevant = int((judgement.n_relevant > 0).sum())
    if wants_json(as_json):
        emit({"of": what, "queries": len(judgement.names), "with_relevant": n_relevant, "measures": figures})
        return
    from abound.cli.tables import table

    table(f"{what} on {n_relevant:,} queries", ("metric", "value"), [(n, f"{v:.4f}") for n, v in figures.items()], " r")


def _judge_run(run: str, qrels: str, relevant_from: float) -> "QueryJudgement":
    from abound.data import read
    from abound.metrics import judge_run

    return judge_run(read(run, "trec-run"), read(qrels, "trec-qrels"), relevant_from=relevant_from)


def _judge_model(model: str, inputs: list[str], format_: str | None, relevant_from: float | None) -> "QueryJudgement":
    from abound.cli.rerank.documents import read_documents
    from abound.cli.rerank.model import load_reranker
    from abound.metrics import judge_queries

    reranker = load_reranker(model)
    documents = read_documents(inputs, format_, reranker.n_features_in_)
    scores = reranker.decision_function(documents.X, documents.qids)
    level = reranker.relevant_from if relevant_from is None else relevant_from
    judgement = judge_queries(documents.grades, scores, documents.qids, documents=documents.names, relevant_from=level)
    if not judgement.n_relevant.any():
        raise ValueError(f"there is nothing to measure: no query of {', '.join(inputs)} has a relevant document")
    return judgement
