"""Facts beside the texts, by which the author of an agent decides: why an undo was refused, who would be asked, shares.

Requirements: R-EDIT-4, R-EDIT-8, R-UNDO-6, R-APPROVE-1, R-STATS-1 of docs/PROTOCOL.md.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled

from support.lsp_client import SUITE, FileOpsClient, Json, serving
from support.patience import PATIENCE_S

pytestmark = SUITE
ASKS = types.ClientCapabilities(experimental={"fileops": {"confirm_edit": True}})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\nthree\n")
    return path


async def reason_of(client: FileOpsClient, **params: Any) -> str:
    refused = await client.call("undo", **params)
    assert refused["error"]["code"] == "undo_conflict"
    return refused["details"]["reason"]


async def test_refused_undo_names_its_kind_of_conflict(file: Path) -> None:
    """R-UNDO-6"""
    async with serving() as client:
        await client.start_session()
        await client.call("read", file_path=str(file))
        assert await reason_of(client, session_id="default") == "nothing_to_undo"
        assert await reason_of(client, edit_id="e-of-nobody") == "unknown_edit"
        edit = await client.call("edit", file_path=str(file), old_string="two", new_string="TWO")
        edit_id = edit["details"]["edit_id"]
        file.write_bytes(b"one\nTWOS\nthree\n")
        assert await reason_of(client, edit_id=edit_id) == "later_changes"
        file.write_bytes(b"one\nTWO\nthree\n")
        assert (await client.call("undo", edit_id=edit_id))["status"] == "success"
        assert await reason_of(client, edit_id=edit_id) == "already_undone"
        assert await reason_of(client, session_id="default") == "nothing_to_undo"


async def test_undo_conflicts_with_a_file_made_again(file: Path) -> None:
    async with serving() as client:
        await client.start_session()
        made = file.parent / "new.txt"
        edit = await client.call("edit", file_path=str(made), old_string="", new_string="x")
        made.write_text("others")
        assert await reason_of(client, edit_id=edit["details"]["edit_id"]) == "later_changes"


async def test_dry_run_reports_whether_a_user_would_be_asked(file: Path) -> None:
    """R-EDIT-8"""
    asked: list[Json] = []

    async def confirm(params: Json) -> Json:
        asked.append(params)
        return {"outcome": "proceed_once"}

    async def is_needed(method: str = "edit", **params: Any) -> bool:
        return (await client.call(method, dry_run=True, **params))["details"]["needs_approval"]

    edit = {"file_path": str(file), "old_string": "two", "new_string": "2"}
    steps: Json = {"file_path": str(file), "edits": [{"old_string": "two", "new_string": "2"}]}
    nothing = {"file_path": str(file), "edits": [*steps["edits"], {"old_string": "2", "new_string": "two"}]}
    secret = {"file_path": str(file.parent / ".env"), "old_string": "", "new_string": "KEY=1"}
    async with serving() as client:
        client.answer("fileops/confirmEdit", confirm)
        await client.start_session(capabilities=ASKS)
        await client.call("read", file_path=str(file))
        assert await is_needed(**edit)
        assert await is_needed("multiEdit", **steps)
        assert await is_needed("write", file_path=str(file), content="2\n")
        assert not await is_needed("multiEdit", **nothing)
        assert not await is_needed("write", file_path=str(file), content=file.read_text())
        await client.call("setApprovalMode", mode="auto_edit")
        assert not await is_needed(**edit)
        assert await is_needed(**secret)
        await client.call("setApprovalMode", mode="yolo")
        assert not await is_needed(**secret)
        assert asked == []
        applied = await client.call("edit", **edit)
        assert "needs_approval" not in applied["details"]
        await client.call("setApprovalMode", mode="default")
        assert await is_needed("undo", session_id="default")
        assert not await is_needed("undo", session_id="default", approved=True)
        assert asked == []
        assert "needs_approval" not in (await client.call("undo", session_id="default"))["details"]
        assert [question["type"] for question in asked] == ["edit"]


async def test_dry_run_of_a_client_that_cannot_be_asked_needs_no_approval(file: Path) -> None:
    """R-EDIT-8"""
    async with serving() as client:
        await client.start_session()
        await client.call("read", file_path=str(file))
        edit = await client.call("edit", file_path=str(file), old_string="two", new_string="2", dry_run=True)
        assert edit["details"]["needs_approval"] is False


async def test_count_mismatch_has_the_specified_text_and_a_sentence_for_the_user(file: Path) -> None:
    file.write_bytes(b"a\na\na\n")
    async with serving() as client:
        await client.start_session()
        await client.call("read", file_path=str(file))
        edit = {"file_path": str(file), "old_string": "a", "new_string": "b"}
        for expected, sentence in ((1, "1 occurrence"), (2, "2 occurrences")):
            refused = await client.call("edit", **edit, expected_replacements=expected)
            assert f"expected {expected} occurrence(s) but found 3." in refused["output"]
            assert refused["error"]["message"] == f"Failed to edit, expected {sentence} but found 3."


async def test_errors_are_counted_and_have_a_share(file: Path) -> None:
    """R-STATS-1"""
    async with serving() as client:
        await client.start_session()
        assert (await client.call("stats", session_id="s"))["errors"] == {"n": 0, "share": 0.0}
        for path in (file, file, file, file.parent / "nothing"):
            await client.call("read", file_path=str(path), session_id="s")
        assert (await client.call("stats", session_id="s"))["errors"] == {"n": 1, "share": 0.2}  # with the first stats


async def test_diff_has_three_lines_of_context_on_both_sides_of_a_change(file: Path) -> None:
    """R-RESULT-1"""
    file.write_text("".join(f"line {n}\n" for n in range(1, 21)))
    async with serving() as client:
        await client.start_session()
        await client.call("read", file_path=str(file))
        edit = await client.call("edit", file_path=str(file), old_string="line 10\n", new_string="ten\n")
        body = edit["ui_extra"]["diff"].splitlines()[2:]
        kept = [f" line {n}" for n in (7, 8, 9)], [f" line {n}" for n in (11, 12, 13)]
        assert body == ["@@ -7,7 +7,7 @@", *kept[0], "-line 10", "+ten", *kept[1]]
        (hunk,) = edit["ui_extra"]["hunks"]
        assert [line["kind"] for line in hunk["lines"]] == [*"   ", "-", "+", *"   "]


async def test_parallel_edits_of_one_file_all_apply_except_the_cancelled_one(file: Path) -> None:
    """R-CANCEL-1"""
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def confirm(params: Json) -> Json:
        if "+never" not in params["diff"]:
            return {"outcome": "proceed_once"}
        asked.set()
        await withdrawn.wait()
        return {"outcome": "proceed_once"}

    names = [f"word{n}" for n in range(20)]
    file.write_text("".join(f"{name}\n\n\n\n" for name in (*names, "last")))
    async with serving() as client:
        client.answer("fileops/confirmEdit", confirm)
        await client.start_session(capabilities=ASKS)
        await client.call("read", file_path=str(file))
        held = client.begin("edit", "held", file_path=str(file), old_string="last", new_string="never")
        await asyncio.wait_for(asked.wait(), PATIENCE_S)
        edits = [
            client.call("edit", file_path=str(file), old_string=f"{name}\n", new_string=f"{name}!\n") for name in names
        ]
        assert {edit["status"] for edit in await asyncio.gather(*edits)} == {"success"}
        client.cancel_request(types.CancelParams(id="held"))
        with pytest.raises(JsonRpcRequestCancelled):
            await asyncio.wait_for(held, PATIENCE_S)
        withdrawn.set()
        assert file.read_text() == "".join(f"{name}\n\n\n\n" for name in (*(f"{n}!" for n in names), "last"))
