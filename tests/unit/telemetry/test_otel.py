"""OpenTelemetry from the environment, and what a call becomes in it."""

import logging

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fileops.model.sessions import SessionName
from fileops.telemetry.calls import CallRecord
from fileops.telemetry.otel import Telemetry, exporter_names, telemetry_from

EDIT = CallRecord(
    method="fileops/edit",
    session_id=SessionName("s"),
    started_ns=10**18,
    duration_ns=2_000_000,
    waited_ns=5_000_000,
    matches=("exact",),
    n_added=3,
    n_removed=1,
    is_applied=True,
)


def test_call_becomes_a_span() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = Telemetry(provider, None)
    telemetry.record(EDIT)
    telemetry.record(CallRecord(method="fileops/read", session_id=SessionName("s"), started_ns=1, code="fault"))
    edit, read = exporter.get_finished_spans()
    assert (edit.name, edit.start_time, edit.end_time) == ("fileops/edit", 10**18, 10**18 + 7_000_000)
    assert dict(edit.attributes or {}) == {
        "rpc.system": "jsonrpc", "rpc.method": "fileops/edit", "fileops.session_id": "s", "fileops.code": "ok",
        "fileops.waited_ms": 5, "fileops.matches": ("exact",), "fileops.lines.added": 3, "fileops.lines.removed": 1,
        "fileops.modified_by_user": False,
    }  # fmt: skip
    assert edit.status.is_ok
    assert not read.status.is_ok
    telemetry.close()


def test_calls_become_metrics() -> None:
    reader = InMemoryMetricReader()
    telemetry = Telemetry(None, MeterProvider([reader]))
    telemetry.record(EDIT)
    telemetry.record(EDIT)
    data = reader.get_metrics_data()
    assert data is not None
    metrics = {metric.name: metric.data.data_points for metric in data.resource_metrics[0].scope_metrics[0].metrics}
    assert set(metrics) == {"fileops.calls", "fileops.call.duration", "fileops.lines"}
    (calls,) = metrics["fileops.calls"]
    assert (calls.value, calls.attributes) == (2, {"rpc.method": "fileops/edit", "fileops.code": "ok"})  # pyrefly: ignore[missing-attribute]
    assert sorted(point.value for point in metrics["fileops.lines"]) == [2, 6]  # pyrefly: ignore[missing-attribute]
    telemetry.close()


@pytest.mark.parametrize(
    "environ",
    [
        {}, {"OTEL_SERVICE_NAME": "x"}, {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_SDK_DISABLED": "True"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_TRACES_EXPORTER": "none",
         "OTEL_METRICS_EXPORTER": "none"},
    ],
    ids=str,
)  # fmt: skip
def test_exporters_are_off_by_default(environ: dict[str, str]) -> None:
    assert telemetry_from(environ) is None


def test_unknown_exporter_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert telemetry_from({"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_METRICS_EXPORTER": "none"}) is None
    assert "no exporter zipkin is installed" in caplog.text


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({"OTEL_TRACES_EXPORTER": "otlp"}, ["otlp_proto_http"]),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ["otlp_proto_grpc"]),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1"}, ["otlp_proto_http"]),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:1"}, ["otlp_proto_http"]),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://localhost:1"}, []),
        ({"OTEL_TRACES_EXPORTER": "console, zipkin"}, ["console", "zipkin"]),
    ],
)
def test_exporters_are_those_named_by_the_environment(environ: dict[str, str], names: list[str]) -> None:
    assert exporter_names(environ, "TRACES") == names


@pytest.mark.parametrize("exporter", ["otlp", "console"])
def test_exporter_of_the_sdk_is_made_for_both_signals(exporter: str) -> None:
    telemetry = telemetry_from(
        {"OTEL_TRACES_EXPORTER": exporter, "OTEL_METRICS_EXPORTER": exporter, "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    )
    assert telemetry is not None
    telemetry.close()
