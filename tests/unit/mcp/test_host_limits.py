"""A read fits the host, and a host that cuts more than usual is warned of."""

import logging

import pytest

from fileops.mcp.host_limits import MAX_READ_BYTES, HostLimits
from fileops.mcp.host_sessions import CODEX_METADATA


@pytest.mark.parametrize(
    ("host", "given", "limit"),
    [
        ("codex-mcp-client", None, MAX_READ_BYTES),
        ("claude-code", None, None),
        ("claude-code", 5000, 5000),
        ("gemini-cli", 100_000, 100_000),
    ],
)
def test_limit_of_the_user_overrides_the_hosts(host: str, given: int | None, limit: int | None) -> None:
    assert HostLimits(given).max_read_bytes(host) == limit


@pytest.mark.parametrize(
    ("metadata", "given", "n_warnings"),
    [
        ({"model": "llama-of-mine"}, None, 1),
        ({"model": "llama-of-mine"}, 10_000, 0),
        ({"model": "gpt-5.5"}, None, 0),
        ({"model": 7}, None, 0),
        ("no object", None, 0),
        (None, None, 0),
    ],
)
def test_model_unknown_to_codex_is_warned_of_once(
    metadata: object, given: int | None, n_warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    limits = HostLimits(given)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            limits.check_model({CODEX_METADATA: metadata})
    assert len(caplog.records) == n_warnings
