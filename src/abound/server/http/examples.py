"""The examples of `/docs`: a body for each type of a request, and values of query parameters."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

TITLE = "Growing roses in a cold climate"
_CONFIG = (
    '<View><Text name="title" value="$text"/><Choices name="subjects" toName="title" choice="multiple">'
    '<Choice value="roses"/></Choices></View>'
)
_HELD = {"name": "spring", "item": 1, "holder": "4f1c"}
BODIES: Mapping[str, Any] = {
    "RankRequest": {"text": TITLE, "k": 3, "explain": True},
    "BatchRequest": {"texts": [TITLE, "A beginner's guide to chess"], "k": 3},
    "AssignRequest": {"text": TITLE},
    "ExplainRequest": {"text": TITLE, "label": "roses"},
    "SimilarRequest": {"text": TITLE},
    "LearnRequest": {"text": TITLE, "added": ["roses"], "rejected": ["climate changes"]},
    "FeedbackRequest": {"text": TITLE, "label": "roses", "score": 0.4, "shown": "suggest", "wanted": "apply"},
    "RefitRequest": {"base": "base-2"},
    "CompletionRequest": {"text": TITLE, "query": "ro", "limit": 5},
    "LabelEditRequest": {"add": {"label": "pruning", "names": ["Pruning of plants"]}},
    "ExcludeRequest": {"records": [1], "reason": "a wrong click"},
    "QueueRequest": {"name": "spring", "texts": [{"text": "Pruning roses"}], "guidelines": "At most five subjects."},
    "NextRequest": {"name": "spring", "holder": "4f1c"},
    "HeldRequest": _HELD,
    "DecideRequest": {**_HELD, "added": ["roses"]},
    "ForgetQueuedRequest": {"text": "roses", "dry_run": True},
    "SuggestForm": {"text": TITLE, "limit": 5},
    "SuggestBatch": {"documents": [{"text": TITLE, "document_id": "1"}]},
    "IndexedDocument": {"text": TITLE, "subjects": [{"uri": "roses", "label": "roses"}]},
    "DetectRequest": {"text": TITLE, "languages": ["en", "fi"]},
    "InferRequest": {
        "inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": [TITLE]}],
        "parameters": {"k": 3},
    },
    "ReconcileRequest": {"queries": '{"q0": {"query": "Growing roses"}}'},
    "SetupRequest": {"project": 1, "schema": _CONFIG},
    "PredictRequest": {"tasks": [{"id": 1, "data": {"text": TITLE}}], "label_config": _CONFIG},
    "WebhookRequest": {
        "action": "ANNOTATION_CREATED",
        "project": {"id": 1, "created_at": "2030-01-31T09:00:00Z", "label_config": _CONFIG},
        "task": {"id": 1, "data": {"text": TITLE}},
        "annotation": {
            "id": 1,
            "updated_at": "2030-01-31T12:00:00Z",
            "result": [
                {"from_name": "subjects", "to_name": "title", "type": "choices", "value": {"choices": ["roses"]}}
            ],
        },
    },
}
VALUES: Mapping[str, str] = {"name": "roses", "word": "roses", "id": "roses"}  # of parameters that are required
_SIMPLE: Mapping[str, Any] = {"string": "roses", "integer": 1, "number": 0.5, "boolean": True, "null": None}


def body_example(schema: Mapping[str, Any], components: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return an example of a request's body.

    A type without one in `BODIES` gets simple values for the fields that it requires.

    Examples
    --------
    >>> body_example({"type": "array", "items": {"type": "integer"}}, {})
    [1]
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return BODIES[name] if name in BODIES else body_example(components[name], components)
    if "anyOf" in schema:
        return body_example(schema["anyOf"][0], components)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [body_example(schema["items"], components)] if "items" in schema else []
    if schema.get("type") == "object":
        fields = schema.get("properties", {})
        return {name: body_example(fields[name], components) for name in schema.get("required", ())}
    return _SIMPLE.get(schema.get("type", "null"))


def query_example(parameters: Iterable[Mapping[str, Any]]) -> str:
    """Return a query with the parameters that are required, such as `?name=roses`; an empty string without them."""
    needed = [one["name"] for one in parameters if one["in"] == "query" and one.get("required")]
    return "?" + urlencode({name: VALUES.get(name, "1") for name in needed}) if needed else ""
