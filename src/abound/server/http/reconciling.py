"""The Reconciliation Service API, version 0.2: OpenRefine finds the labels of the texts in a column."""

import html
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from abound.server.http.bodies import MAX_LABELS
from abound.server.http.endpoints import Call, Encoded, Endpoint
from abound.server.http.limits import BATCH_BYTES
from abound.server.http.problems import Problem
from abound.server.http.suggesting import suggest
from abound.server.introspection import find_label
from abound.server.replica import Replica
from abound.store.names import Name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION = "0.2"
MAX_QUERIES = 1_000
MATCH = 0.5  # the probability above which the first label is proposed as the right one
FOUND = 20  # labels of a search
SCHEMA = "https://reconciliation-api.github.io/specs/0.2"
Limit = Annotated[int, Meta(ge=1, le=MAX_LABELS)]


class Kind(Struct, frozen=True):
    """The type of an entity, or a property."""

    id: str
    name: str


LABEL = Kind("label", "Label")
PROPERTIES = (Kind("broader", "broader labels"), Kind("names", "names"), Kind("texts", "number of texts"))


class Reconciled(Struct, frozen=True):
    """A label for a text; the score is its probability in percent, and `match` is whether it is probably right."""

    id: str
    name: str
    score: float
    match: bool
    type: tuple[Kind, ...] = (LABEL,)


class ReconcileQuery(Struct, frozen=True):
    """A text."""

    query: str
    limit: Limit = 5


class ReconcileRequest(Struct, frozen=True):
    """Queries by their names, or an extension, as JSON; without both, the manifest is returned."""

    queries: str | UnsetType = UNSET
    extend: str | UnsetType = UNSET


class WantedProperty(Struct, frozen=True):
    """A requested property of labels."""

    id: str


class Extension(Struct, frozen=True):
    """Labels, and the properties to return."""

    ids: Annotated[list[str], Meta(max_length=MAX_QUERIES)]
    properties: Annotated[list[WantedProperty], Meta(max_length=100)]


class PrefixRequest(Struct, frozen=True):
    """The beginning of a name."""

    prefix: str = ""
    cursor: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class FoundEntity(Struct, frozen=True):
    """A label or a property."""

    id: str
    name: str
    description: str | UnsetType = UNSET
    notable: tuple[Kind, ...] | UnsetType = UNSET


class FoundEntities(Struct, frozen=True):
    """What was found."""

    result: list[FoundEntity]


class ProposeRequest(Struct, frozen=True):
    """The type whose properties to list."""

    type: str = LABEL.id
    limit: Limit = 10


class Proposed(Struct, frozen=True):
    """The properties of labels."""

    type: str
    properties: tuple[Kind, ...]
    limit: int


class PreviewRequest(Struct, frozen=True):
    """A label."""

    id: str


async def reconcile(call: Call[ReconcileRequest]) -> dict[str, Any]:
    """Return the manifest, the labels of texts, or properties of labels."""
    asked = call.request
    if isinstance(asked.queries, str):
        return await _reconcile(call, msgspec.json.decode(asked.queries, type=dict[str, ReconcileQuery]))
    if isinstance(asked.extend, str):
        return _extend(call.service.replica, msgspec.json.decode(asked.extend, type=Extension))
    return _manifest(call)


def _manifest(call: Call[Any]) -> dict[str, Any]:
    path = f"/reconcile/{call.service.name}"

    def service(tail: str) -> dict[str, str]:
        return {"service_url": call.base, "service_path": f"{path}/{tail}"}

    return {
        "versions": [VERSION],
        "name": f"{call.service.name} (abound)",
        "identifierSpace": f"{call.base}{path}#labels",
        "schemaSpace": SCHEMA,
        "defaultTypes": [LABEL],
        "view": {"url": f"{call.base}{path}/preview?id={{{{id}}}}"},
        "preview": {"url": f"{call.base}{path}/preview?id={{{{id}}}}", "width": 400, "height": 160},
        "suggest": {"entity": service("suggest/entity"), "property": service("suggest/property")},
        "extend": {"propose_properties": service("properties"), "property_settings": []},
        "batchSize": 50,
    }


async def _reconcile(call: Call[Any], queries: dict[str, ReconcileQuery]) -> dict[str, Any]:
    if len(queries) > MAX_QUERIES:
        raise Problem(413, f"a request may have {MAX_QUERIES:,} queries, got {len(queries):,}")
    limit = max((query.limit for query in queries.values()), default=1)
    rows = await suggest(call.service, [query.query for query in queries.values()], limit)
    answer = {}
    for (key, query), row in zip(queries.items(), rows, strict=True):
        found = [
            Reconciled(str(one.label), one.name, round(100 * one.score, 3), match=place == 0 and one.score >= MATCH)
            for place, one in enumerate(row[: query.limit])
        ]
        answer[key] = {"result": found}
    return answer


def _extend(replica: Replica, wanted: Extension) -> dict[str, Any]:
    known = {one.id: one for one in PROPERTIES}
    asked = list(dict.fromkeys(one.id for one in wanted.properties))
    for name in asked:
        if name not in known:
            raise Problem(422, f"there is no property {name!r}; the properties are {', '.join(known)}")
    rows = {}
    with replica.reading():
        counts = replica.search.counts() if "texts" in asked else None  # of all labels, so it is made once
        for given in wanted.ids:
            label = find_label(replica, given)
            rows[given] = {name: [] if label is None else _values(replica, label, name, counts) for name in asked}
    meta = [{"id": name, "name": known[name].name, **({"type": LABEL} if name == "broader" else {})} for name in asked]
    return {"meta": meta, "rows": rows}


def _values(replica: Replica, label: Name, name: str, counts: "NDArray[np.int64] | None") -> list[dict[str, Any]]:
    if name == "broader":
        hierarchy = replica.tagger.hierarchy
        above = [] if hierarchy is None or label not in hierarchy else hierarchy.parents(label)
        return [{"id": str(one), "name": _shown(replica, one)} for one in above]
    if name == "names":
        return [{"str": known} for known in dict.fromkeys(replica.names.all_of(label)[1:])]
    assert counts is not None
    return [{"int": int(counts[replica.labels.book.known([[label]])[1][0]])}]


def _shown(replica: Replica, label: Name) -> str:
    names = replica.names.shown(label)
    return names[0] if names else str(label)


def _n_texts(count: int) -> str:
    return "1 text" if count == 1 else f"{count:,} texts"


async def suggest_entity(call: Call[PrefixRequest]) -> FoundEntities:
    """Find labels by their names; if there are none, take what is typed for a text, and rank labels.

    OpenRefine's search begins with the text of the cell.
    """
    asked, replica = call.request, call.service.replica
    with replica.reading():
        _, matches = replica.search.find(asked.prefix, FOUND, offset=asked.cursor)
    found = [FoundEntity(str(one.label), one.name or str(one.label), _n_texts(one.texts), (LABEL,)) for one in matches]
    if not found and not asked.cursor and asked.prefix.strip():
        [ranked] = await suggest(call.service, [asked.prefix], FOUND)
        found = [FoundEntity(str(one.label), one.name, f"{one.score:.0%}", (LABEL,)) for one in ranked]
    return FoundEntities(found)


def suggest_property(call: Call[PrefixRequest]) -> FoundEntities:
    """Find properties by their names."""
    prefix = call.request.prefix.casefold()
    return FoundEntities([FoundEntity(one.id, one.name) for one in PROPERTIES if prefix in one.name])


def propose_properties(call: Call[ProposeRequest]) -> Proposed:
    """List the properties of labels."""
    asked = call.request
    return Proposed(asked.type, PROPERTIES[: asked.limit], asked.limit)


def preview(call: Call[PreviewRequest]) -> Encoded:
    """Show a label as a small page."""
    replica = call.service.replica
    with replica.reading() as sequence:
        label = find_label(replica, call.request.id)
        if label is None:
            raise Problem(404, f"there is no label {call.request.id!r}")
        name, names = _shown(replica, label), dict.fromkeys(replica.names.all_of(label)[1:])
        above = replica.tagger.path_of(label)[:-1] if replica.tagger.hierarchy is not None else []
        path = " › ".join(_shown(replica, one) for one in above)
    parts = (path, ", ".join(one for one in names if one != name), str(label))
    body = "".join(f"<p>{html.escape(part)}</p>" for part in parts if part)
    title = html.escape(name)
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    return Encoded(sequence, f"{head}<body><h1>{title}</h1>{body}</body></html>".encode())


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        "/reconcile/{model}",
        reconcile,
        ReconcileRequest,
        dict[str, Any],
        "OpenRefine: manifest, queries",
        shared=True,
    ),
    Endpoint(
        "POST",
        "/reconcile/{model}",
        reconcile,
        ReconcileRequest,
        dict[str, Any],
        "OpenRefine: labels of texts, or properties of labels",
        limit=BATCH_BYTES,
        form=True,
        shared=True,
        errors=(429, 503),
    ),
    Endpoint(
        "GET",
        "/reconcile/{model}/suggest/entity",
        suggest_entity,
        PrefixRequest,
        FoundEntities,
        "OpenRefine: find labels",
        shared=True,
    ),
    Endpoint(
        "GET",
        "/reconcile/{model}/suggest/property",
        suggest_property,
        PrefixRequest,
        FoundEntities,
        "OpenRefine: find properties",
        shared=True,
    ),
    Endpoint(
        "GET",
        "/reconcile/{model}/properties",
        propose_properties,
        ProposeRequest,
        Proposed,
        "OpenRefine: properties",
        shared=True,
    ),
    Endpoint(
        "GET",
        "/reconcile/{model}/preview",
        preview,
        PreviewRequest,
        bytes,
        "OpenRefine: show a label",
        shared=True,
        media_type="text/html; charset=utf-8",
    ),
)
