"""Load the model of the `rerank` commands."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abound.retrieval import Reranker


def load_reranker(path: str) -> "Reranker":
    """Load a reranker from a directory. Raise an error if it contains another kind of model."""
    from abound.errors import UnknownFormat
    from abound.retrieval import Reranker
    from abound.store import read_model

    model = read_model(path)
    kind = model.content.get("kind")
    if kind != Reranker.kind:
        raise UnknownFormat(f"{path} contains a {kind!r}, not a reranker; create one with `abound rerank fit`")
    return Reranker.from_model(model)
