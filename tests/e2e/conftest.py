"""What tests of whole processes share: a place for a daemon, and records of what the pytest-lsp suite exchanges."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import cast

import pytest

from support.daemon_process import Place, place_of_test
from support.hostile_package import hostile_in
from support.lsp_client import RECORDS, TRANSCRIPTS, Record
from support.once import made_once
from support.sample_package import installed_in


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


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Where a shared daemon of this test belongs; clients of the test find it there. It is ended with the test."""
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory) -> str:
    """For PYTHONPATH: the example of a plugin as an installed package, and one that misbehaves.

    The same for all tests, so that their daemons are forked from one server.
    """

    def make(folder: Path) -> None:
        installed_in(folder / "example")
        hostile_in(folder / "hostile")

    made = made_once("sites", make, tmp_path_factory)
    return f"{made}/example/site:{made}/hostile/site"
