"""The model that the commands take."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abound.retrieval import Reranker


def load_reranker(path: str) -> "Reranker":
    """Load the model of a directory, or say that it is of another kind."""
    from abound.errors import UnknownFormat
    from abound.retrieval import Reranker
    from abound.store import read_model

    model = read_model(path)
    kind = model.content.get("kind")
    if kind != Reranker.kind:
        raise UnknownFormat(f"{path} holds a {kind!r}; `abound rerank fit` makes a model that ranks documents")
    return Reranker.from_model(model)
