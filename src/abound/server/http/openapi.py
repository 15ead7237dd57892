"""Build the OpenAPI document from the table of endpoints and the types of their bodies."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from abound.server.http.bodies import FileRequest, NoParameters
from abound.server.http.endpoints import Endpoint, Scope
from abound.server.http.model_bodies import HostedModel, HostedModels
from abound.server.http.problems import ProblemBody

_TEMPLATE = "#/components/schemas/{name}"
_SEEN = {
    "name": "X-Abound-Sequence",
    "in": "header",
    "description": "The sequence of an earlier answer; the request waits until that record is applied.",
    "schema": {"type": "integer", "minimum": 0},
}
_SEEN_JOURNAL = {
    "name": "X-Abound-Journal",
    "in": "header",
    "description": "The journal of that answer; the request does not wait if the server now has another one.",
    "schema": {"type": "string", "maxLength": 200},
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A request that is repeated with the same key is applied once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}
_MODEL = {
    "name": "model",
    "in": "path",
    "required": True,
    "description": "The name of a model; /v1/models lists them.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"},
}
FORM = "application/x-www-form-urlencoded"
SHARED = ("/v1/", "/v1/projects", "/v1/vocabs", "/v1/detect-language")  # paths about all models
_SEQUENCE = {
    "X-Abound-Sequence": {
        "description": "The last record that the answer reflects.",
        "schema": {"type": "integer"},
    },
    "X-Abound-Journal": {
        "description": "The journal that the sequence belongs to; another one after a restored backup.",
        "schema": {"type": "string"},
    },
}


def openapi(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """Return the OpenAPI document of a server with one model."""
    endpoints = tuple(endpoints)
    kinds = {kind for one in endpoints for kind in (one.request, one.response, one.query) if _is_described(kind)}
    bodies: list[Any] = [*sorted(kinds, key=_name_of), ProblemBody]
    schemas, components = msgspec.json.schema_components(bodies, ref_template=_TEMPLATE)
    refs = dict(zip(bodies, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, refs, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "abound",
            "version": version,
            "description": "Rank labels for texts with explanations, and learn every correction immediately.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def openapi_of_models(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """Return the OpenAPI document of a server with several models."""
    document = openapi(endpoints, version)
    bodies = (HostedModel, HostedModels)
    (one, several), components = msgspec.json.schema_components(bodies, ref_template=_TEMPLATE)
    document["components"]["schemas"] |= components
    paths: dict[str, Any] = {
        "/v1/models": {"get": _about_models("list_models", "List the models", several)},
        "/v1/models/{model}": {
            "parameters": [_MODEL],
            "get": _about_models("describe_model", "Describe a model", one),
            "put": _about_models("put_model", "Serve a model of the library, or read it again", one, "admin"),
            "delete": _about_models("remove_model", "Stop serving a model; its files stay", {}, "admin"),
        },
    }
    for path, operations in document["paths"].items():
        if path.startswith("/v1/") and path not in SHARED and "{model}" not in path:
            paths[path.replace("/v1/", "/v1/models/{model}/", 1)] = {"parameters": [_MODEL], **operations}
        else:
            paths[path] = operations
    return {**document, "paths": paths}


def _about_models(name: str, summary: str, schema: Any, scope: str = "read") -> dict[str, Any]:
    problem = {"application/problem+json": {"schema": {"$ref": _TEMPLATE.format(name="ProblemBody")}}}
    statuses = ("200", "201") if name == "put_model" else ("200",)
    responses: dict[str, Any] = {
        status: {"description": "Success.", "content": {"application/json": {"schema": schema}}} for status in statuses
    }
    for status in (401, 403, 404, 409, 422, 503):
        responses[str(status)] = {"description": HTTPStatus(status).phrase, "content": problem}
    security: list[dict[str, list[str]]] = [{"key": []}, {}]
    return {"operationId": name, "summary": summary, "responses": responses, "security": security, "x-scope": scope}


def _is_described(kind: Any) -> bool:
    return kind not in (None, bytes, NoParameters, FileRequest)


def _name_of(kind: Any) -> str:
    return str(getattr(kind, "__name__", "")) + str(kind)


def _operation(endpoint: Endpoint, refs: dict[type, Any], components: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": endpoint.handle.__name__,
        "summary": endpoint.summary,
        "parameters": [
            *([_MODEL] if "{model}" in endpoint.path else []),
            *([_SEEN, _SEEN_JOURNAL] if endpoint.waits else []),
        ],
        "responses": _responses(endpoint, refs),
    }
    if endpoint.keyed:
        found["parameters"] = [*found["parameters"], _KEY]
    if endpoint.scope != Scope.OPEN:
        found["security"] = [{"key": []}, {}]
        found["x-scope"] = endpoint.scope.name.lower()
    if endpoint.has_body:
        content: dict[str, Any] = {media_type: {} for media_type in endpoint.media_types}  # any bytes
        if not content:
            content = {FORM if endpoint.form else "application/json": {"schema": refs[endpoint.request]}}
        found["requestBody"] = {"required": True, "content": content, "x-limit": endpoint.limit}
    query = endpoint.query if endpoint.has_body else endpoint.request
    if query not in (None, NoParameters):
        schema = components[query.__name__]
        found["parameters"] = [
            *found["parameters"],
            *(
                {"name": name, "in": "query", "required": name in schema["required"], "schema": kind}
                for name, kind in schema["properties"].items()
            ),
        ]
    return found


def _responses(endpoint: Endpoint, refs: dict[type, Any]) -> dict[str, Any]:
    schema = refs.get(endpoint.response, {})  # anything of its media type
    content: dict[str, Any] = {media_type: {} for media_type in endpoint.other_media_types}
    content[endpoint.media_type] = {"schema": schema}
    success: dict[str, Any] = {"description": "Success.", "headers": _SEQUENCE}
    if endpoint.status != 204:
        success["content"] = content
    responses = {str(endpoint.status): success}
    statuses = {400, endpoint.invalid, *endpoint.errors}
    if "{model}" in endpoint.path:
        statuses.add(404)
    if endpoint.waits:
        statuses |= {412, 429, 503}
    if endpoint.has_body:
        statuses |= {408, 413, 415}
    else:
        statuses.add(414)
    if endpoint.keyed:
        statuses |= {409, 429, 503}
    if endpoint.scope != Scope.OPEN:
        statuses |= {401, 403}
    for status in sorted(statuses):
        responses[str(status)] = {
            "description": HTTPStatus(status).phrase,
            "content": {"application/problem+json": {"schema": refs[ProblemBody]}},
        }
    return responses
