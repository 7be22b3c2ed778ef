"""OpenTelemetry, if the standard environment variables enable it: a span and some metrics per request.

Only this module names OpenTelemetry, which is imported only when it is enabled. What is sent are methods, codes, counts
and durations: no path, and nothing from any file.
"""

import logging
import sys
import threading
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from fileops import __version__
from fileops.telemetry.calls import FAULT, CallRecord

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger(__name__)

FLUSH_S = 2.0  # at the end: the daemon must not wait for a dead receiver
CONSOLE = "console"


class Telemetry:
    """A sink of calls."""

    def __init__(self, tracers: "TracerProvider | None", meters: "MeterProvider | None") -> None:
        self._tracers = tracers
        self._meters = meters
        self._tracer = None if tracers is None else tracers.get_tracer("fileops", __version__)
        if meters is not None:
            meter = meters.get_meter("fileops", __version__)
            self._n_calls = meter.create_counter("fileops.calls", unit="{call}", description="Requests")
            self._durations = meter.create_histogram(
                "fileops.call.duration",
                unit="s",
                description="Without the time for which the user or the model was asked",
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
        """Send what is waiting, within a time limit."""
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
    """Return None if nothing is enabled, or the extra `fileops-server[otel]` is not installed."""
    spans, metrics = exporter_names(environ, "TRACES"), exporter_names(environ, "METRICS")
    if not spans and not metrics:
        return None
    try:
        tracers, meters = _tracers(environ, spans), _meters(environ, metrics)
    except ImportError as missing:
        log.warning("no telemetry: %s; install fileops-server[otel]", missing)
        return None
    return None if tracers is None and meters is None else Telemetry(tracers, meters)


def exporter_names(environ: Mapping[str, str], signal: str) -> list[str]:
    """Return the names of entry points: those of OTEL_*_EXPORTER, or otlp if an endpoint is set."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    has_endpoint = any(environ.get(f"OTEL_EXPORTER_OTLP{part}_ENDPOINT") for part in ("", f"_{signal}"))
    named = environ.get(f"OTEL_{signal}_EXPORTER") or ("otlp" if has_endpoint else "")
    names = [name.strip() for name in named.split(",")]
    protocol = environ.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    otlp = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    return [otlp if name == "otlp" else name for name in names if name not in {"", "none"}]


def _tracers(environ: Mapping[str, str], names: list[str]) -> "TracerProvider | None":
    if not (exporters := _exporters("traces", names)):
        return None
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

    provider = TracerProvider(resource=_resource(environ), shutdown_on_exit=False)
    for name, exporter in exporters:
        processor = SimpleSpanProcessor if name == CONSOLE else BatchSpanProcessor
        provider.add_span_processor(processor(exporter))
    return provider


def _meters(environ: Mapping[str, str], names: list[str]) -> "MeterProvider | None":
    if not (exporters := _exporters("metrics", names)):
        return None
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader

    readers = [  # a pull exporter may be a reader itself, like Prometheus'
        made if isinstance(made, MetricReader) else PeriodicExportingMetricReader(made) for _name, made in exporters
    ]
    return MeterProvider(readers, resource=_resource(environ), shutdown_on_exit=False)


def _exporters(signal: str, names: list[str]) -> list[tuple[str, Any]]:
    """Make exporters by the SDK's entry points, as its own configurator does, which is private and sets globals.

    Raises: ImportError.
    """
    from opentelemetry.sdk import resources  # noqa: F401  # else it is missing

    made: list[tuple[str, Any]] = []
    for name in names:
        found = list(entry_points(group=f"opentelemetry_{signal}_exporter", name=name))
        if not found:
            log.warning("OTEL_%s_EXPORTER: no exporter %s is installed", signal.upper(), name)
            continue
        make = found[0].load()
        made.append((name, make(out=sys.stderr) if name == CONSOLE else make()))  # stdout carries messages
    return made


def _resource(environ: Mapping[str, str]) -> "Resource":
    """Return the resource. The environment takes precedence over our values."""
    from opentelemetry.sdk.resources import Resource

    ours = {"service.version": __version__}
    if "OTEL_SERVICE_NAME" not in environ and "service.name" not in environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        ours["service.name"] = "fileops-server"
    return Resource.create(ours)
