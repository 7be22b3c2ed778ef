"""What the pytest-lsp suite has sent and received: every message and error code of the protocol, as the schema says."""

from pathlib import Path

import pytest

from fileops.model.errors import FAILURES
from fileops.schema.openrpc import ERRORS
from support.lsp_client import GROUP, RECORDS, Record
from support.wire_schema import ENTRIES

pytestmark = GROUP

HERE = Path(__file__).parent
MODULES = {path for path in HERE.glob("test_*.py") if "pytestmark = SUITE\n" in path.read_text("utf-8")}
# What pytest-lsp cannot send, by the raw-byte client elsewhere: bytes that are no JSON (test_hostile_messages.py).
RAW_ONLY = {-32700}
# Only where root may mount filesystems (test_fileops_codes.py::test_codes_of_disks).
OF_DISKS = {"disk_full", "permission_denied"}
# Only where another program writes in the middle of a commit: test_write_into_a_new_file_is_left_when_the_set_fails.
OF_RACES = {"set_conflict"}
# Only for hooks of a host's own tools: test_companion.py::test_editor_that_saves_before_an_agent_reads….
OF_HOOKS = {("server", "fileops/saveDocument")}


@pytest.fixture
def suite(request: pytest.FixtureRequest) -> list[Record]:
    """The records of all tests of the suite."""
    config = request.config
    tests = [item for item in request.session.items if item.path in MODULES]
    is_part = config.getoption("keyword") or config.getoption("markexpr") or any("::" in arg for arg in config.args)
    if is_part or config.getoption("lf", default=False) or MODULES - {item.path for item in tests}:
        pytest.skip("only a part of the pytest-lsp suite was asked for")
    missing = [test.nodeid for test in tests if test.nodeid not in RECORDS]
    assert not missing, "these tests of the suite have left no record"
    return [RECORDS[test.nodeid] for test in tests]


def test_pytest_lsp_suite_covers_every_message_and_code_of_the_schema(
    suite: list[Record],
) -> None:
    """R-SCHEMA-1"""
    sent = {(sender, method) for record in suite for sender, method in record.methods}
    assert sorted(set(ENTRIES) - sent - OF_HOOKS) == []
    received = {code for record in suite for code in record.codes}
    codes: set[str | int] = {failure.code for failure in FAILURES} | set(ERRORS)
    assert codes - received - RAW_ONLY - OF_RACES - (set() if "disk_full" in received else OF_DISKS) == set()
    assert [fault for record in suite for fault in record.faults] == []
