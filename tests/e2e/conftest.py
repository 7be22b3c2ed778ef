"""Records of what the pytest-lsp suite sends and receives, one for each test."""

from collections.abc import Generator
from typing import cast

import pytest

from support.lsp_client import RECORDS, TRANSCRIPTS, Record


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Generator[None]:
    """Keep what the clients of this test have sent and received, when they are gone."""
    TRANSCRIPTS.clear()
    yield
    RECORDS[cast("pytest.Item", request.node).nodeid] = Record(
        methods={method for transcript in TRANSCRIPTS for method in transcript.methods},
        codes={code for transcript in TRANSCRIPTS for code in transcript.codes},
        faults=[fault for transcript in TRANSCRIPTS for fault in transcript.faults],
    )
