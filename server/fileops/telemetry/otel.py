"""OpenTelemetry, where the standard environment variables ask for it: a span and some metrics per request.

Only here is OpenTelemetry named, and nothing of it is imported before it is asked for. What goes out are methods,
codes, counts and durations: no path, nothing of any file.
"""

import logging
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fileops import __version__
from fileops.telemetry.calls import FAULT, CallRecord

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

log = logging.getLogger(__name__)

FLUSH_S = 2.0  # at the end: the daemon does not outlive its client for a receiver that does not answer
ENDPOINT, PROTOCOL = "OTEL_EXPORTER_OTLP{}_ENDPOINT", "OTEL_EXPORTER_OTLP{}_PROTOCOL"


class Telemetry:
    """A sink of calls."""

    def __init__(self, tracers: "TracerProvider | None", meters: "MeterProvider | None") -> None:
        self._tracers, self._meters = tracers, meters
        self._tracer = None if tracers is None else tracers.get_tracer("fileops", __version__)
        if meters is not None:
            meter = meters.get_meter("fileops", __version__)
            self._n_calls = meter.create_counter("fileops.calls", unit="{call}", description="Requests")
            self._durations = meter.create_histogram(
                "fileops.call.duration", unit="s", description="Without the time for which somebody was asked"
            )
            self._n_lines = meter.create_counter("fileops.lines", unit="{line}", description="Of applied edits")

    def record(self, call: CallRecord) -> None:
        if self._tracer is not None:
            self._span(call)
        if self._meters is not None:
            labels = {"rpc.method": call.method, "fileops.code": call.code}
            self._n_calls.add(1, labels)
            self._durations.record(call.duration_ns / 1e9, labels)
            for direction, n in (("added", call.n_added), ("removed", call.n_removed)):
                if n:
                    self._n_lines.add(n, {"fileops.direction": direction})

    def _span(self, call: CallRecord) -> None:
        from opentelemetry.trace import SpanKind, StatusCode

        assert self._tracer is not None
        attributes: dict[str, str | int | bool | list[str]] = {
            "rpc.system": "jsonrpc",
            "rpc.method": call.method,
            "fileops.session_id": call.session_id.encode("utf-8", "replace").decode(),
            "fileops.code": call.code,
            "fileops.waited_ms": call.waited_ns // 1_000_000,
        }
        if call.is_applied:
            attributes |= {
                "fileops.matches": list(call.matches),
                "fileops.lines.added": call.n_added,
                "fileops.lines.removed": call.n_removed,
                "fileops.modified_by_user": call.is_modified_by_user,
            }
        span = self._tracer.start_span(
            call.method, kind=SpanKind.SERVER, attributes=attributes, start_time=call.started_ns
        )
        if call.code == FAULT:
            span.set_status(StatusCode.ERROR)
        span.end(call.started_ns + call.waited_ns + call.duration_ns)

    def close(self) -> None:
        """Send what is waiting, within a bound."""
        thread = threading.Thread(target=self._shut_down, name="fileops-telemetry-end", daemon=True)
        thread.start()
        thread.join(FLUSH_S)

    def _shut_down(self) -> None:
        if self._tracers is not None:
            self._tracers.shutdown()
        if self._meters is not None:
            self._meters.shutdown()


# --- from the environment ----------------------------------------------------------------------------------------


def telemetry_from(environ: Mapping[str, str]) -> Telemetry | None:
    """None where nothing is asked for, or the extra `fileops-server[otel]` is not installed."""
    traces, metrics = _exporters(environ, "TRACES"), _exporters(environ, "METRICS")
    if not traces and not metrics:
        return None
    try:
        return Telemetry(_tracers(environ, traces), _meters(environ, metrics))
    except ImportError as missing:
        log.warning("no telemetry: %s; install fileops-server[otel]", missing)
        return None


def _exporters(environ: Mapping[str, str], signal: str) -> tuple[str, ...]:
    """Names as OTEL_*_EXPORTER has them; without it, otlp where an endpoint is set."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    names = [name.strip() for name in environ.get(f"OTEL_{signal}_EXPORTER", "").split(",") if name.strip()]
    has_endpoint = any(environ.get(ENDPOINT.format(part)) for part in ("", f"_{signal}"))
    if not names:
        return ("otlp",) if has_endpoint else ()
    for name in names:
        if name not in {"otlp", "console", "none"}:
            log.warning("OTEL_%s_EXPORTER: %s is not known here; there are otlp, console, none", signal, name)
    return tuple(name for name in names if name in {"otlp", "console"})


def _tracers(environ: Mapping[str, str], names: tuple[str, ...]) -> "TracerProvider | None":
    if not names:
        return None
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

    provider = TracerProvider(resource=_resource(environ), shutdown_on_exit=False)
    for name in names:
        if name == "console":  # not to stdout, which carries frames
            provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
        else:
            provider.add_span_processor(BatchSpanProcessor(_otlp_spans(_protocol(environ, "TRACES"))))
    return provider


def _meters(environ: Mapping[str, str], names: tuple[str, ...]) -> "MeterProvider | None":
    if not names:
        return None
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader

    protocol = _protocol(environ, "METRICS")
    exporters = [
        ConsoleMetricExporter(out=sys.stderr) if name == "console" else _otlp_metrics(protocol) for name in names
    ]
    readers = [PeriodicExportingMetricReader(exporter) for exporter in exporters]
    return MeterProvider(readers, resource=_resource(environ), shutdown_on_exit=False)


def _protocol(environ: Mapping[str, str], signal: str) -> str:
    return environ.get(PROTOCOL.format(f"_{signal}")) or environ.get(PROTOCOL.format("")) or "http/protobuf"


def _otlp_spans(protocol: str) -> "SpanExporter":
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # pyright: ignore[reportMissingImports]
            OTLPSpanExporter,  # pyright: ignore[reportUnknownVariableType]
        )
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    return OTLPSpanExporter()  # pyright: ignore[reportUnknownVariableType]


def _otlp_metrics(protocol: str) -> "MetricExporter":
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import (  # pyright: ignore[reportMissingImports]
            OTLPMetricExporter,  # pyright: ignore[reportUnknownVariableType]
        )
    else:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    return OTLPMetricExporter()  # pyright: ignore[reportUnknownVariableType]


def _resource(environ: Mapping[str, str]) -> "Resource":
    """What the environment says of the service goes before what we say."""
    from opentelemetry.sdk.resources import Resource

    ours = {"service.version": __version__}
    if "OTEL_SERVICE_NAME" not in environ and "service.name" not in environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        ours["service.name"] = "fileops-server"
    return Resource.create(ours)
