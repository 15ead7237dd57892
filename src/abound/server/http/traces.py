"""OpenTelemetry traces: one span for each request, sent to a collector in the background."""

import os
import threading
from collections.abc import Mapping
from typing import Any

from abound.data.extras import require
from abound.server.http.observing import UNKNOWN, Answered
from abound.version import __version__

SCOPE = "abound.server"
SERVICE = "abound"  # the name of the service unless OpenTelemetry's variables set it
END_SECONDS = 2.0  # for which the end of a process waits for the collector
METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
CONTINUED = (b"traceparent", b"tracestate")
NANOSECONDS = 1_000_000_000


def require_traces() -> None:
    """Raise ImportError with the pip command if OpenTelemetry is not installed."""
    _part("sdk.trace.export")
    _part("exporter.otlp.proto.http.trace_exporter")


def _part(name: str) -> Any:
    return require(f"opentelemetry.{name}", "traces", "traces")


class Tracer:
    """Record a span of kind SERVER for each request, which continues the trace of the client.

    OpenTelemetry's own variables, such as OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_TRACES_SAMPLER, configure it. Spans wait
    in a queue for a thread that sends them. If the collector does not answer, the queue fills, and further spans are
    dropped.
    """

    def __init__(self) -> None:
        trace, export = _part("sdk.trace"), _part("sdk.trace.export")
        exporter = _part("exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
        self._provider = trace.TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self._provider.add_span_processor(export.BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer(SCOPE, __version__)
        self._propagator = _part("trace.propagation.tracecontext").TraceContextTextMapPropagator()
        api = _part("trace")
        self._server, self._failed = api.SpanKind.SERVER, api.Status(api.StatusCode.ERROR)
        self._nothing = _part("context").Context()  # not that of this task

    def observe(self, answered: Answered) -> None:
        """Record the span of one request."""
        headers = dict(answered.headers)
        carrier = {name.decode(): headers[name].decode("latin-1") for name in CONTINUED if name in headers}
        context = self._propagator.extract(carrier, self._nothing) if carrier else self._nothing
        began = int(answered.started * NANOSECONDS)
        span = self._tracer.start_span(
            _name(answered),
            context=context,
            kind=self._server,
            attributes=attributes_of(answered, headers),
            start_time=began,
        )
        if answered.status >= 500:
            span.set_status(self._failed)
        span.end(began + int(answered.seconds * NANOSECONDS))

    def close(self) -> None:
        """Send the spans that are left, for at most two seconds."""
        ending = threading.Thread(target=self._provider.shutdown, name="abound-traces", daemon=True)
        ending.start()
        ending.join(END_SECONDS)


def _resource() -> Any:
    resource = _part("sdk.resources").Resource
    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    service = {} if named else {"service.name": SERVICE}
    return resource.create({**service, "service.version": __version__, "process.pid": os.getpid()})


def _name(answered: Answered) -> str:
    if answered.endpoint != UNKNOWN:
        return answered.endpoint
    return answered.method if answered.method in METHODS else "HTTP"


def attributes_of(answered: Answered, headers: Mapping[bytes, bytes]) -> dict[str, str | int]:
    """Return the attributes of a span, by OpenTelemetry's names for HTTP."""
    forwarded = headers.get(b"x-forwarded-proto") == b"https"
    found: dict[str, str | int] = {
        "http.request.method": answered.method if answered.method in METHODS else "_OTHER",
        "url.path": answered.path,
        "url.scheme": "https" if forwarded else "http",
        "http.response.status_code": answered.status,
        "http.response.body.size": answered.n_bytes,
        "client.address": answered.client,
        "network.protocol.version": "1.1",
        "abound.request_id": answered.request_id,
    }
    if answered.endpoint != UNKNOWN:
        found["http.route"] = answered.endpoint.partition(" ")[2]
    if answered.method not in METHODS:
        found["http.request.method_original"] = answered.method
    if answered.caller is not None:
        found["user.name"] = answered.caller
    if answered.status >= 500:
        found["error.type"] = str(answered.status)
    if b"user-agent" in headers:
        found["user_agent.original"] = headers[b"user-agent"].decode("latin-1")
    return found
