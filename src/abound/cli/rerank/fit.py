"""`abound rerank fit`: learn to rank the documents of queries."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, note, wants_json
from abound.cli.reading import FormatOption
from abound.cli.targets import lock_target

if TYPE_CHECKING:
    from abound.cli.rerank.documents import Documents
    from abound.retrieval import Reranker

EPILOG = """\b
Example:
  abound rerank fit train.letor --model ranker --validate valid.letor
  abound rerank fit ranks.letor --model ranker -C 0.3 --lower-is-better
"""
GRID = (0.03, 0.1, 0.3, 1.0, 3.0)  # default candidates for --validate


def fit(
    ctx: typer.Context,
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT", help="Files of graded documents: LETOR or svmlight.")],
    model: Annotated[str, typer.Option("--model", "-m", metavar="DIR", help="Directory for the model.")],
    C: Annotated[
        str | None,
        typer.Option(
            "-C",
            "--C",
            metavar="X[,X...]",
            help="Weight of the loss. With several values, --validate chooses the best.",
        ),
    ] = None,
    validate: Annotated[
        str | None, typer.Option("--validate", metavar="FILE", help="Validation documents to choose C by MAP.")
    ] = None,
    loss: Annotated[str, typer.Option("--loss", metavar="map|roc|accuracy", help="Loss to minimise.")] = "map",
    thresholds: Annotated[
        int, typer.Option("--thresholds", min=0, metavar="N", help="Thermometer bits per feature; 0 for none.")
    ] = 50,
    per_query: Annotated[
        str | None,
        typer.Option(
            "--per-query", metavar="minmax|percentile|standard", help="Normalise features within each query first."
        ),
    ] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="Features are ranks: lower values are better, and NULL is worst.")
    ] = False,
    relevant_from: Annotated[
        float, typer.Option("--relevant-from", metavar="GRADE", help="Smallest grade of a relevant document.")
    ] = 1.0,
    tol: Annotated[
        float, typer.Option("--tol", metavar="X", help="Stop at this duality gap, relative to the objective.")
    ] = 1e-3,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Number of threads; -1 for all cores.")] = -1,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing model in DIR.")] = False,
    as_json: JsonOption = None,
    format_: FormatOption = None,
) -> None:
    """Learn to rank documents with SVM-map, and print the duality gap of the solution."""
    from abound.cli.rerank.documents import read_documents
    from abound.retrieval import Reranker

    values = _values(C, validate)
    lock_target(ctx, model, force)
    params: dict[str, Any] = {
        "tol": tol,
        "loss": loss,
        "n_thresholds": thresholds,
        "per_query": per_query,
        "lower_is_better": lower_is_better,
        "relevant_from": relevant_from,
        "n_jobs": jobs,
    }
    train = read_documents(inputs, format_)
    held = None if validate is None else read_documents([validate], format_, train.X.shape[1])
    fitted = (Reranker(C=value, **params).fit(train.X, train.grades, train.qids) for value in values)
    best, best_score = _best(fitted, held, str(validate))
    best.save(model)
    certificate = best.certificate_
    result = {
        "model": model,
        "documents": len(train.grades),
        "queries": best.ranker_.n_queries_,
        "C": float(best.C),
        "MAP": best.score(train.X, train.grades, train.qids),
        "validation_MAP": None if held is None else best_score,
        "primal": certificate.primal,
        "dual": certificate.dual,
        "gap": certificate.gap,
        "rounds": certificate.rounds,
        "seconds": certificate.seconds,
    }
    if wants_json(as_json):
        emit(result)
        return
    from abound.cli.tables import facts

    facts(f"{model} learned", [(name, f"{v:.6g}" if isinstance(v, float) else v) for name, v in result.items()])


def _values(text: str | None, validate: str | None) -> list[float]:
    if text is None:
        return [1.0] if validate is None else list(GRID)
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"-C must be a number or several numbers separated by commas, got {text!r}") from None
    if len(values) > 1 and validate is None:
        raise ValueError("several values of C need --validate FILE to choose the best")
    return values


def _best(fitted: Iterable["Reranker"], held: "Documents | None", file: str) -> "tuple[Reranker, float]":
    """Return the reranker with the highest MAP on the validation documents, or the first, and that MAP."""
    best, best_score = None, float("-inf")
    for reranker in fitted:
        if not reranker.ranker_.n_queries_:
            raise ValueError("there is nothing to learn: no query has both a relevant and an irrelevant document")
        score = 0.0 if held is None else reranker.score(held.X, held.grades, held.qids)
        if held is not None:
            note(f"C {reranker.C:g}: MAP {score:.4f} on {file}")
        if best is None or score > best_score:
            best, best_score = reranker, score
    assert best is not None
    return best, best_score
