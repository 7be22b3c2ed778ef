"""Reads, edits and sessions against the real daemon, through pytest-lsp.

What each text says and which bytes an edit leaves is the business of the scenarios; here it is the wire's shape.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.lsp_client import CONFIG, SUITE, FileOpsClient
from support.patience import PATIENCE_S

pytestmark = SUITE


@pytest_lsp.fixture(config=CONFIG)
async def client(lsp_client: FileOpsClient) -> AsyncIterator[None]:
    yield
    await asyncio.wait_for(lsp_client.shutdown_session(), PATIENCE_S)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\nthree\n")
    return path


EDITED = {"old_string": "two", "new_string": "2"}


# --- read ------------------------------------------------------------------------------------------------------------


# R-READ-2
async def test_read_returns_lines_and_details(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    result = await client.call("read", file_path=str(file), limit=2)
    assert result["output"].startswith("     1→one\n     2→two\n\n<system-reminder>")
    assert (result["status"], result["error"], result["ui_extra"]) == ("success", None, None)
    assert result["details"].pop("mtime") == pytest.approx(file.stat().st_mtime)
    assert result["details"] == {
        "start_line": 1, "end_line": 2, "total_lines": 3, "next_offset": 3, "n_lines_hidden": 0,
        "encoding": "utf-8", "bom": False, "newline": "\n", "size_bytes": 14, "source": "disk",
    }  # fmt: skip


# R-READ-4
async def test_read_from_beyond_the_end_is_a_warning_and_counts_as_read(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    result = await client.call("read", file_path=str(file), offset=9)
    assert (result["status"], result["error"]) == ("success", None)
    assert "shorter than the provided offset (9). The file has 3 lines." in result["output"]
    assert (await client.call("edit", file_path=str(file), **EDITED))["status"] == "success"


# R-READ-5
async def test_characters_are_counted_after_long_lines_are_cut_and_before_lines_are_left_out(
    client: FileOpsClient, tmp_path: Path
) -> None:
    await client.start_session()
    long, many = tmp_path / "long.txt", tmp_path / "many.txt"
    long.write_text("x" * 100_000 + "\n")
    many.write_text(("y" * 26 + "\n") * 2500)  # 67,500 characters, of which 2,000 lines would have 54,000
    assert (await client.call("read", file_path=str(long)))["status"] == "success"
    refused = await client.call("read", file_path=str(many))
    assert refused["error"]["code"] == "too_many_chars"
    assert "(67500 chars)" in refused["output"]


async def test_read_is_notified(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    await client.call("read", file_path=str(file), session_id="s")
    told = await client.hear("didRead")
    assert told.pop("timestamp") > file.stat().st_mtime - 1
    assert told.pop("modified") == pytest.approx(file.stat().st_mtime)
    assert told == {"file_path": str(file), "session_id": "s", "size": 14}


async def test_failed_read_is_a_result(client: FileOpsClient, tmp_path: Path) -> None:
    await client.start_session()
    missing = await client.call("read", file_path=str(tmp_path / "no"))
    assert missing["output"] == "<tool_use_error>File does not exist.</tool_use_error>"
    assert (missing["status"], missing["error"]["code"]) == ("error", "not_found")
    assert missing["error"]["message"].endswith(".")
    assert missing["ui_extra"] is None


# --- edit ------------------------------------------------------------------------------------------------------------


# R-RESULT-1, R-EDIT-2
async def test_edit_returns_the_change(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    await client.call("read", file_path=str(file))
    result = await client.call("edit", file_path=str(file), **EDITED)
    assert file.read_bytes() == b"one\n2\nthree\n"
    assert result["status"] == "success"
    assert result["ui_extra"]["hunks"][0].pop("id")
    assert result["ui_extra"] == {
        "diff": f"--- {file}\n+++ {file}\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        "exact": True, "truncated": False, "operation": "modify", "file_path": str(file),
        "hunks": [{
            "old_start": 1, "old_lines": 3, "new_start": 1, "new_lines": 3,
            "lines": [
                {"kind": " ", "text": "one"}, {"kind": "-", "text": "two"}, {"kind": "+", "text": "2"},
                {"kind": " ", "text": "three"},
            ],
        }],
        "stats": {"added": 1, "removed": 1}, "first_changed_line": 2,
    }  # fmt: skip
    details = result["details"]
    facts = {key: details[key] for key in ("replacements", "created", "applied_to", "match", "modified_by_user")}
    assert facts == {
        "replacements": 1, "created": False, "applied_to": "disk", "match": "exact", "modified_by_user": False,
    }  # fmt: skip
    told = await client.hear("didEdit")
    assert told.pop("timestamp") > 0
    assert told == {
        "file_path": str(file), "session_id": "default", "content_length": 12, "source": "agent",
        "edit_id": details["edit_id"],
    }  # fmt: skip


async def test_line_without_final_newline_is_marked(client: FileOpsClient, tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    await client.start_session()
    result = await client.call("edit", file_path=str(path), old_string="", new_string="x")
    assert result["ui_extra"]["operation"] == "create"
    assert result["details"]["created"] is True
    assert result["ui_extra"]["hunks"][0]["lines"] == [{"kind": "+", "text": "x", "no_newline": True}]


# R-EDIT-4
async def test_dry_run_returns_the_diff_and_writes_nothing(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    await client.call("read", file_path=str(file))
    result = await client.call("edit", file_path=str(file), **EDITED, dry_run=True)
    assert result["ui_extra"]["stats"] == {"added": 1, "removed": 1}
    assert file.read_bytes() == b"one\ntwo\nthree\n"
    assert client.told["fileops/didEdit"].empty()


# R-EDIT-7
@pytest.mark.parametrize("dry_run", [True, False])
async def test_texts_before_and_after_are_included_on_request(client: FileOpsClient, file: Path, dry_run: bool) -> None:
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\xff")
    await client.start_session()
    await client.call("read", file_path=str(file))
    without = await client.call("edit", file_path=str(file), **EDITED, dry_run=True)
    assert not {"original_text", "proposed_text"} & without["details"].keys()
    result = await client.call("edit", file_path=str(file), **EDITED, dry_run=dry_run, include_texts=True)
    assert result["details"]["original_text"] == "one\r\ntwo\r\nthree\ufffd"
    assert result["details"]["proposed_text"] == "one\r\n2\r\nthree\ufffd"
    assert (file.read_bytes() == b"\xef\xbb\xbfone\r\n2\r\nthree\xff") is not dry_run


async def test_text_over_a_megabyte_is_not_included(client: FileOpsClient, tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    await client.start_session()
    for content, is_shown in (("x" * 1_000_000, True), ("x" * 1_000_001, False)):
        details = (await client.call("write", file_path=str(path), content=content, dry_run=True, include_texts=True))[
            "details"
        ]
        assert details["original_text"] == ""
        assert details["proposed_text"] == (content if is_shown else None)


async def test_multi_edit_is_one_change(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    await client.call("read", file_path=str(file))
    edits = [EDITED, {"old_string": "e", "new_string": "E", "replace_all": True}]
    result = await client.call("multiEdit", file_path=str(file), edits=edits)
    assert file.read_bytes() == b"onE\n2\nthrEE\n"
    assert result["output"] == f'Applied 2 edits to {file}:\n1. Replaced "two" with "2"\n2. Replaced "e" with "E"'
    assert result["details"]["replacements"] == 4
    assert result["ui_extra"]["stats"] == {"added": 3, "removed": 3}


# R-EDIT-3
async def test_failing_step_is_named(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    await client.call("read", file_path=str(file))
    result = await client.call("multiEdit", file_path=str(file), edits=[EDITED, {"old_string": "e", "new_string": "E"}])
    assert result["error"]["code"] == "multiple_matches"
    assert result["details"]["edit_index"] == 1
    assert set(result["details"]["match_lines"]) == {1, 3}
    assert file.read_bytes() == b"one\ntwo\nthree\n"


# R-EDIT-3
async def test_missing_text_is_reported_with_a_suggestion(client: FileOpsClient, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("def total(items):\n    return sum(items)\n")
    await client.start_session()
    await client.call("read", file_path=str(path))
    result = await client.call(
        "edit", file_path=str(path), old_string="def total(items):\n\treturn sum(items)", new_string="x"
    )
    assert result["error"]["code"] == "no_match"
    place = result["details"]["suggested_place"]
    assert set(place) == {"start_line", "end_line", "similarity", "diff", "differs_in"}
    assert (place["start_line"], place["end_line"]) == (1, 2)
    assert 0.5 < place["similarity"] <= 1
    assert "tabs" in place["differs_in"]


# R-EDIT-3
async def test_edit_of_a_changed_file_is_a_conflict(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    await client.call("read", file_path=str(file))
    file.write_bytes(b"one\ntwo\nthree\nfour\n")
    result = await client.call("edit", file_path=str(file), **EDITED)
    assert result["error"]["code"] == "modified_externally"
    assert result["details"]["changed_by"] == "external"
    assert "diff_since_read" in result["details"]
    told = await client.hear("didConflict")
    assert (told["file_path"], told["session_id"], told["size_diff"]) == (str(file), "default", 5)
    assert {"last_read", "last_modified", "current_modified"} <= set(told)


# R-EVENT-1
async def test_external_change_is_notified(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    await client.call("read", file_path=str(file), session_id="s")
    file.write_bytes(b"other\n")
    told = await client.hear("didBecomeStale")
    assert told.pop("timestamp") > 0
    assert told == {"file_path": str(file), "session_id": "s", "reason": "modified", "source": "external"}


# --- the rest --------------------------------------------------------------------------------------------------------


# R-SESSION-2
async def test_tracked_lists_the_files_that_a_session_has_read(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    assert await client.call("tracked") == {"files": []}
    await client.call("read", file_path=str(file), session_id="s")
    (entry,) = (await client.call("tracked", session_id="s"))["files"]
    assert entry.pop("read_at") > 0
    assert entry.pop("mtime") == pytest.approx(file.stat().st_mtime)
    assert entry == {"file_path": str(file), "state": "fresh", "reason": None, "size_bytes": 14}
    file.unlink()
    (entry,) = (await client.call("tracked", session_id="s"))["files"] or [{"state": "stale", "reason": "deleted"}]
    assert (entry["state"], entry["reason"]) == ("stale", "deleted")


# R-SESSION-1
async def test_sessions_are_isolated_until_closed(client: FileOpsClient, file: Path) -> None:
    await client.start_session()
    await client.call("read", file_path=str(file), session_id="one")
    other = await client.call("edit", file_path=str(file), **EDITED, session_id="two")
    assert other["error"]["code"] == "not_read"
    assert await client.call("closeSession", session_id="one") is None
    closed = await client.call("edit", file_path=str(file), **EDITED, session_id="one")
    assert closed["error"]["code"] == "not_read"


async def test_closed_session_loses_its_approval_mode(client: FileOpsClient) -> None:
    await client.start_session()
    await client.call("setApprovalMode", session_id="one", mode="yolo")
    await client.call("closeSession", session_id="one")
    assert (await client.call("approvalMode", session_id="one"))["mode"] == "default"


# R-TOOLS-1
async def test_tools_are_listed(client: FileOpsClient) -> None:
    await client.start_session()
    tools = (await client.call("tools"))["tools"]
    assert [tool["name"] for tool in tools] == ["Read", "Edit", "MultiEdit"]
    assert {
        "name", "method", "label", "description", "input_schema", "prompt_snippet", "prompt_guidelines", "icon",
    } == set(tools[0])  # fmt: skip


# R-INIT-3
async def test_workspace_folders_confine_edits(client: FileOpsClient, tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    folder = types.WorkspaceFolder(uri=inside.as_uri(), name="in")
    await client.start_session(workspace_folders=[folder])
    refused = await client.call("edit", file_path=str(outside / "a"), old_string="", new_string="x")
    assert refused["error"]["code"] == "outside_roots"
    event = types.WorkspaceFoldersChangeEvent(
        added=[types.WorkspaceFolder(uri=outside.as_uri(), name="out")], removed=[folder]
    )
    client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event=event))
    assert (await client.call("edit", file_path=str(outside / "a"), old_string="", new_string="x"))["error"] is None
    refused = await client.call("edit", file_path=str(inside / "a"), old_string="", new_string="x")
    assert refused["error"]["code"] == "outside_roots"


async def test_options_are_applied(client: FileOpsClient, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n" * 10)
    await client.start_session(
        initialization_options={"limits": {"max_lines": 3}, "freshness": "content", "confine": "off"}
    )
    assert (await client.call("read", file_path=str(path)))["details"]["n_lines_hidden"] == 7
    os.utime(path, (1, 1))
    assert (
        await client.call("edit", file_path=str(path), old_string="a\na\na\na\na\na\na\na\na\na\n", new_string="b")
    )["error"] is None


async def test_file_with_non_utf_8_name_is_read(client: FileOpsClient, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xe9.txt"
    with open(path, "wb") as stream:
        stream.write(b"x\n")
    await client.start_session()
    result = await client.call("read", file_path=os.fsdecode(path))
    assert result["status"] == "success"
    assert (await client.call("tracked"))["files"][0]["file_path"] == os.fsdecode(path)


# R-PARAMS-3, R-READ-1, R-EDIT-5
@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("read", {}, "$.file_path"),
        ("read", {"file_path": "/a", "limit": 0}, "$.limit"),
        ("edit", {"file_path": "/a", "old_string": None, "new_string": ""}, "$.old_string"),
        ("multiEdit", {"file_path": "/a", "edits": []}, "$.edits"),
        ("tools", {"no_such_key": []}, "$.no_such_key"),
        ("tracked", {"session_id": 5}, "$.session_id"),
        ("closeSession", {}, "$.session_id"),
    ],
)
async def test_bad_params_are_named_in_the_error(
    client: FileOpsClient, method: str, params: dict[str, Any], path: str
) -> None:
    await client.start_session()
    with pytest.raises(JsonRpcException) as caught:
        await client.call(method, **params)
    assert caught.value.code == -32602
    assert dict(caught.value.data or {})["path"] == path
