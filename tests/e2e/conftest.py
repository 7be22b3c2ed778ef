"""Records of what the pytest-lsp suite sends and receives, one file for each test, of whatever process."""

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from support.lsp_client import TRANSCRIPTS, record_name


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "pytest-lsp-records"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def recorded(request: pytest.FixtureRequest, records: Path) -> Generator[None]:
    """Write down the transcripts of this test when its clients are gone."""
    TRANSCRIPTS.clear()
    yield
    record = {
        "methods": sorted({method for transcript in TRANSCRIPTS for method in transcript.methods}),
        "codes": sorted({code for transcript in TRANSCRIPTS for code in transcript.codes}, key=str),
        "faults": [fault for transcript in TRANSCRIPTS for fault in transcript.faults],
    }
    unfinished = records / f"{record_name(request.node)}.new"
    unfinished.write_text(json.dumps(record), "utf-8")
    unfinished.rename(unfinished.with_suffix(".json"))
