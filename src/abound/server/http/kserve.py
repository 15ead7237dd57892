"""KServe's open inference protocol, version 2, over REST: texts in, labels with scores out."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from abound.server.http.about import ready
from abound.server.http.bodies import MAX_LABELS, NoParameters
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.limits import BATCH_BYTES
from abound.server.http.problems import Problem
from abound.server.http.suggesting import Suggestion, suggest

LENGTH = 4  # bytes before each string that is sent in binary form
MAX_TEXTS = 10_000
K = Annotated[int, Meta(ge=1, le=MAX_LABELS)]


class Live(Struct, frozen=True):
    """Whether the server is alive."""

    live: bool


class Ready(Struct, frozen=True):
    """Whether the server, or a model, is ready; `name` is that of the model."""

    ready: bool
    name: str | UnsetType = UNSET


class ServerMetadata(Struct, frozen=True):
    """The server."""

    name: str
    version: str
    extensions: list[str]


class TensorMetadata(Struct, frozen=True):
    """An input or an output; -1 stands for any size."""

    name: str
    datatype: str
    shape: list[int]


class ModelMetadata(Struct, frozen=True):
    """A model."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]


class InputParameters(Struct, frozen=True):
    """The size of an input that follows the JSON in binary form."""

    binary_data_size: Annotated[int, Meta(ge=0)] | UnsetType = UNSET


class InputTensor(Struct, frozen=True):
    """Texts."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Any] | UnsetType = UNSET
    parameters: InputParameters = InputParameters()


class InferParameters(Struct, frozen=True):
    """How many labels to rank for each text."""

    k: K = 10


class RequestedOutput(Struct, frozen=True):
    """A requested output."""

    name: Literal["labels", "names", "scores"]


class InferRequest(Struct, frozen=True):
    """Texts to rank labels for."""

    inputs: Annotated[list[InputTensor], Meta(min_length=1, max_length=100)]
    id: str | None = None
    parameters: InferParameters = InferParameters()
    outputs: list[RequestedOutput] = []


class OutputTensor(Struct, frozen=True):
    """A row of labels, names or scores for each text; rows with fewer labels are padded."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Any]


class InferResponse(Struct, frozen=True):
    """The labels of texts."""

    model_name: str
    model_version: str
    outputs: list[OutputTensor]
    id: str | None = None


OUTPUTS = [
    TensorMetadata("labels", "BYTES", [-1, -1]),
    TensorMetadata("names", "BYTES", [-1, -1]),
    TensorMetadata("scores", "FP64", [-1, -1]),
]


def server_metadata(version: str) -> ServerMetadata:
    """Describe the server."""
    return ServerMetadata("abound", version, ["binary_tensor_data"])


def describe_server(call: Call[NoParameters]) -> ServerMetadata:
    """Describe the server."""
    return server_metadata(call.service.version)


def is_live(call: Call[NoParameters]) -> Live:
    """Report that the process is alive."""
    call.service.replica.check_usable()
    return Live(live=True)


def is_ready(call: Call[NoParameters]) -> Ready:
    """Report whether requests should be sent here."""
    ready(call)
    return Ready(ready=True)


def is_model_ready(call: Call[NoParameters]) -> Ready:
    """Report whether a model is ready."""
    ready(call)
    return Ready(ready=True, name=call.service.name)


def describe_model(call: Call[NoParameters]) -> ModelMetadata:
    """Describe a model; its version is the number of the last record."""
    inputs = [TensorMetadata("text", "BYTES", [-1])]
    return ModelMetadata(call.service.name, [str(call.service.replica.sequence)], "abound", inputs, OUTPUTS)


async def infer(call: Call[InferRequest]) -> InferResponse:
    """Rank labels for texts."""
    asked, service = call.request, call.service
    texts = _texts(asked, call.attached)
    k = asked.parameters.k
    rows = await suggest(service, texts, k)
    wanted: set[str] = {output.name for output in asked.outputs} or {output.name for output in OUTPUTS}
    outputs = [_output(output, rows) for output in OUTPUTS if output.name in wanted]
    return InferResponse(service.name, str(service.replica.sequence), outputs, asked.id)


def _output(output: TensorMetadata, rows: list[list[Suggestion]]) -> OutputTensor:
    width = max(map(len, rows), default=0)
    data: list[Any] = []
    for row in rows:
        match output.name:
            case "labels":
                found: list[Any] = [str(one.label) for one in row]
            case "names":
                found = [one.name for one in row]
            case _:
                found = [one.score for one in row]
        data += found + [0.0 if output.name == "scores" else ""] * (width - len(row))
    return OutputTensor(output.name, [len(rows), width], output.datatype, data)


def _texts(asked: InferRequest, attached: bytes) -> list[str]:
    """Return the texts of all inputs; those in binary form follow the JSON in the order of the inputs."""
    texts: list[str] = []
    start = 0
    for tensor in asked.inputs:
        if tensor.datatype != "BYTES":
            raise Problem(400, f"the input {tensor.name!r} must have the datatype BYTES, and contain texts")
        size = tensor.parameters.binary_data_size
        if isinstance(size, int):
            texts += _binary_texts(tensor.name, attached[start : start + size], size)
            start += size
        elif isinstance(tensor.data, list):
            texts += _flat(tensor.name, tensor.data)
        else:
            raise Problem(400, f"the input {tensor.name!r} must have data, or binary_data_size and data after the JSON")
    if len(texts) > MAX_TEXTS:
        raise Problem(413, f"a request may have {MAX_TEXTS:,} texts, got {len(texts):,}")
    return texts


def _flat(name: str, data: list[Any]) -> list[str]:
    """Return the texts of an array, which may be nested once: one row for each text."""
    texts = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in data]
    if not all(isinstance(text, str) for text in texts):
        raise Problem(400, f"the data of {name!r} must be texts")
    return texts


def _binary_texts(name: str, raw: bytes, size: int) -> list[str]:
    """Split strings that each have their length before them."""
    texts, at = [], 0
    try:
        if len(raw) != size:
            raise ValueError("it is shorter than binary_data_size")
        while at < size:
            length = int.from_bytes(raw[at : at + LENGTH], "little")
            end = at + LENGTH + length
            if end > size:
                raise ValueError("a string is longer than what is left")
            texts.append(raw[at + LENGTH : end].decode("utf-8"))
            at = end
    except ValueError as error:  # includes UnicodeDecodeError
        raise Problem(400, f"the binary data of {name!r} cannot be read: {error}") from None
    return texts


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/v2", describe_server, NoParameters, ServerMetadata, "KServe: describe the server", Scope.OPEN),
    Endpoint("GET", "/v2/health/live", is_live, NoParameters, Live, "KServe: is it alive?", Scope.OPEN, errors=(503,)),
    Endpoint(
        "GET", "/v2/health/ready", is_ready, NoParameters, Ready, "KServe: is it ready?", Scope.OPEN, errors=(503,)
    ),
    Endpoint("GET", "/v2/models/{model}", describe_model, NoParameters, ModelMetadata, "KServe: describe a model"),
    Endpoint(
        "GET",
        "/v2/models/{model}/ready",
        is_model_ready,
        NoParameters,
        Ready,
        "KServe: is a model ready?",
        errors=(503,),
    ),
    Endpoint(
        "POST",
        "/v2/models/{model}/infer",
        infer,
        InferRequest,
        InferResponse,
        "KServe: rank labels for texts",
        limit=BATCH_BYTES,
        attaches=True,
        invalid=400,
        errors=(429, 503),
    ),
)
