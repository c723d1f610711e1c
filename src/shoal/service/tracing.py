"""Traces by OpenTelemetry, where it is installed (extra ``telemetry``) and switched on (``--traces``).

A request is one span, a child of what the caller's ``traceparent`` names; the charge, the computation and the storing
of the answer are spans within it. Attributes are those of the log: route, status, request id, client, model, ε. No
feature value, body or key. Where to send them is said by OpenTelemetry's own variables (OTEL_EXPORTER_OTLP_ENDPOINT and
so on).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from shoal import __version__
from shoal.extras import need

__all__ = ["Traces"]

_NOTES = {"client": "shoal.client", "model": "shoal.model", "epsilon": "shoal.epsilon", "id": "http.request_id"}
_NOTHING = nullcontext()


class Traces:
    """The tracer of this process; without one, every span is nothing.

    Examples
    --------
    >>> with Traces().span("charge"):
    ...     pass
    """

    def __init__(self, tracer: Any = None) -> None:
        self._tracer = tracer

    @classmethod
    def started(cls) -> Traces:
        """Traces that are sent by OTLP over HTTP; a ParameterError where OpenTelemetry is not installed."""
        need("opentelemetry.sdk", "--traces")
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        quiet = logging.getLogger("opentelemetry")  # what it complains about is no line of JSON, and nobody's answer
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False
        provider = TracerProvider(resource=Resource.create({"service.name": "shoal", "service.version": __version__}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        return cls(provider.get_tracer("shoal.service", __version__))

    def request(self, scope: Mapping[str, Any], notes: dict[str, Any]) -> AbstractContextManager[None]:
        """The span of a request; the trace's id is noted for the log."""
        return _NOTHING if self._tracer is None else self._request(scope, notes)

    def span(self, name: str) -> AbstractContextManager[None]:
        """One step of a request."""
        return _NOTHING if self._tracer is None else self._span(name)

    @contextmanager
    def _request(self, scope: Mapping[str, Any], notes: dict[str, Any]) -> Iterator[None]:
        from opentelemetry.trace import SpanKind, Status, StatusCode, format_trace_id
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        parent = TraceContextTextMapPropagator().extract(carrier)
        with self._tracer.start_as_current_span(str(scope["method"]), context=parent, kind=SpanKind.SERVER) as span:
            notes["trace"] = format_trace_id(span.get_span_context().trace_id)
            try:
                yield
            finally:
                route = str(scope.get("template") or getattr(scope.get("route"), "path", "none"))
                span.update_name(f"{scope['method']} {route}")
                span.set_attribute("http.route", route)
                span.set_attribute("http.response.status_code", notes["status"])
                for name, attribute in _NOTES.items():
                    if name in notes:
                        span.set_attribute(attribute, str(notes[name]))
                if notes["status"] >= 500:
                    span.set_status(Status(StatusCode.ERROR))

    @contextmanager
    def _span(self, name: str) -> Iterator[None]:
        with self._tracer.start_as_current_span(name, record_exception=False):
            yield
