"""What a new interpreter imports, and what it does without a package that is optional."""

import subprocess
import sys

import pytest

import fileops
from support.patience import PATIENCE_S


def output_of(code: str) -> "subprocess.CompletedProcess[str]":
    """The code in an interpreter with an empty environment."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S, env={})


def test_missing_telemetry_extra_is_reported_and_the_daemon_serves() -> None:
    done = output_of(
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from fileops.telemetry.otel import telemetry_from\n"
        "assert telemetry_from({'OTEL_TRACES_EXPORTER': 'console'}) is None\n"
    )
    assert "install fileops-server[otel]" in done.stderr


# R-STATS-4
def test_opentelemetry_is_not_imported_unless_enabled() -> None:
    done = output_of("import sys, fileops.compose.files as m; m.telemetry(); print('opentelemetry' in sys.modules)")
    assert done.stdout == "False\n"


def test_import_of_the_package_loads_no_server_modules() -> None:
    done = output_of("import fileops, sys; print(sorted(m for m in sys.modules if m.startswith('fileops.')))")
    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = fileops.nothing_here
