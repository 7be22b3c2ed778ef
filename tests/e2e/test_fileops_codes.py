"""Each error code of docs/PROTOCOL.md, through pytest-lsp: those of tools, and those of JSON-RPC.

How a failure comes about, and what its text says, is the business of other tests; here it is the code on the wire.
"""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.protocol import LanguageServerProtocol

from fileops.service.review.queue import MAX_WAITING
from support.daemon_process import place
from support.hostile_package import hostile_in
from support.lsp_client import SUITE, serving
from support.patience import PATIENCE_S
from support.rawclient import DAEMON, SEAM_DAEMON
from support.sample_package import SOURCES

pytestmark = SUITE
EXPERIMENTAL = {"fileops": {"confirm_edit": True}}


def code_of(result: Any) -> str | None:
    return None if result["error"] is None else str(result["error"]["code"])


async def test_codes_of_reads(tmp_path: Path) -> None:
    def made(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    reads: list[tuple[str, str]] = [
        ("not_found", str(tmp_path / "missing")),
        ("is_directory", str(tmp_path)),
        ("not_absolute", "relative.txt"),
        ("not_regular_file", "/dev/zero"),
        ("binary", made("binary", b"\0\1\2" * 100)),
        ("image_unreadable", made("a.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 50)),
        ("too_large", made("large", b"line\n" * 1000)),
        ("too_many_chars", made("many", b"0123456789\n" * 30)),
        ("connection_lost", "/far/f.txt"),
        ("not_permitted", made("key.secret", b"one\n")),
    ]
    options = {
        "limits": {"max_file_kb": 2, "max_chars": 100},
        "filesystems": [{"prefix": "/far", "url": "sftp://127.0.0.1:9/folder"}],
        "unreadable": ["*.secret"],
    }
    async with serving() as client:
        await client.start_session(initialization_options=options)
        assert [code_of(await client.call("read", file_path=path)) for _, path in reads] == [code for code, _ in reads]


async def test_codes_of_notebooks(tmp_path: Path) -> None:
    path, torn = tmp_path / "study.ipynb", tmp_path / "torn.ipynb"
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title"]}]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    torn.write_text('{"cells": [')
    async with serving() as client:
        await client.start_session()
        for each in (path, torn):
            await client.call("read", file_path=str(each))
        wanted = [
            ("no_cell", path, {"kind": "delete", "cell_id": "other"}),
            ("cell_conflict", path, {"kind": "clear_outputs", "cell_id": "intro"}),
            ("notebook_invalid", torn, {"kind": "delete", "cell_id": "intro"}),
        ]
        for code, each, step in wanted:
            assert code_of(await client.call("editNotebook", file_path=str(each), cells=[step])) == code


async def test_codes_of_edits(tmp_path: Path) -> None:
    async def refuse(_params: Any) -> Any:
        return {"outcome": "cancel"}

    def made(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    text = made("text.txt", b"one\ntwo\ntwo\n")
    legacy, notebook, data = made("legacy.txt", b"caf\xe9\n"), made("a.ipynb", b"{}\n"), made("data.json", b"[1]\n")
    edits: list[tuple[str, dict[str, Any]]] = [
        ("not_read", {"file_path": str(made("unread.txt", b"x\n")), "old_string": "x", "new_string": "y"}),
        ("no_match", {"file_path": text, "old_string": "three", "new_string": "3"}),
        ("multiple_matches", {"file_path": text, "old_string": "two", "new_string": "2"}),
        ("count_mismatch", {"file_path": text, "old_string": "two", "new_string": "2", "expected_replacements": 3}),
        ("no_change", {"file_path": text, "old_string": "one", "new_string": "one"}),
        ("already_exists", {"file_path": text, "old_string": "", "new_string": "x"}),
        ("invalid_pattern", {"file_path": text, "old_string": "(", "new_string": "x", "strategy": "regex"}),
        ("strategy_failed", {"file_path": text, "old_string": "one", "new_string": "1", "strategy": "leaving"}),
        ("not_encodable", {"file_path": legacy, "old_string": "caf", "new_string": "thé"}),
        ("notebook", {"file_path": notebook, "old_string": "{", "new_string": "["}),
        ("validation_failed", {"file_path": data, "old_string": "]", "new_string": ""}),
        ("outside_roots", {"file_path": "/outside.txt", "old_string": "", "new_string": "x"}),
        ("io_error", {"file_path": str(tmp_path / ("n" * 300)), "old_string": "", "new_string": "x"}),
        ("rejected", {"file_path": text, "old_string": "one", "new_string": "1"}),
    ]
    plugins = f"{hostile_in(tmp_path / 'plugins')}:{SOURCES}"
    options = ("--validator", "json-syntax=my_plugin:json_syntax")
    folder = types.WorkspaceFolder(uri=tmp_path.as_uri(), name="p")
    async with serving(*options, env={"PYTHONPATH": plugins}) as client:
        client.answer("fileops/confirmEdit", refuse)
        await client.start_session(
            capabilities=types.ClientCapabilities(experimental=EXPERIMENTAL),
            workspace_folders=[folder],
            initialization_options={"validators": ["json-syntax"]},
        )
        for path in (text, legacy, notebook, data):
            assert code_of(await client.call("read", file_path=path)) is None
        assert [code_of(await client.call("edit", **params)) for _, params in edits] == [code for code, _ in edits]
        unknown = await client.call("undo", edit_id="no-such-edit")
        assert code_of(unknown) == "undo_conflict"


async def test_codes_of_patches(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    folder = types.WorkspaceFolder(uri=tmp_path.as_uri(), name="p")
    patch = "*** Begin Patch\n*** Update File: a.txt\n-one\n+two\n*** End Patch\n"
    async with serving() as client:
        await client.start_session(workspace_folders=[folder], initialization_options={"approval_mode": "yolo"})
        assert code_of(await client.call("applyPatch", patch="no patch")) == "invalid_patch"
        assert code_of(await client.call("applyPatch", patch=patch)) == "not_read"
        assert code_of(await client.call("read", file_path=str(tmp_path / "a.txt"))) is None
        assert code_of(await client.call("applyPatch", patch=patch.replace("-one", "-three"))) == "no_match"
        assert code_of(await client.call("applyPatch", patch=patch)) is None
    assert (tmp_path / "a.txt").read_text() == "two\n"


async def test_unanswered_question_is_withdrawn(tmp_path: Path) -> None:
    """R-ASK-1"""
    withdrawn = asyncio.Event()

    async def think(_params: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()

    async with serving() as client:
        client.answer("fileops/confirmEdit", think)
        await client.start_session(
            capabilities=types.ClientCapabilities(experimental=EXPERIMENTAL),
            initialization_options={"approval_timeout_s": 0.1},
        )
        result = await client.call("edit", file_path=str(tmp_path / "f"), old_string="", new_string="x")
        assert code_of(result) == "approval_timeout"
        await asyncio.wait_for(withdrawn.wait(), PATIENCE_S)


async def test_question_that_a_client_cannot_show_is_undecided(tmp_path: Path) -> None:
    """R-REV-6"""

    async def fail(_params: Any) -> Any:
        raise JsonRpcInternalError("the window is closing")

    file = tmp_path / "f"
    async with serving() as client:
        client.answer("fileops/confirmEdit", fail)
        await client.start_session(
            capabilities=types.ClientCapabilities(experimental=EXPERIMENTAL),
            initialization_options={"review_grace_s": 0},
        )
        result = await client.call("edit", file_path=str(file), old_string="", new_string="x")
        assert code_of(result) == "undecided"
    assert not file.exists()


async def test_agent_edit_of_a_protected_file_without_a_user_lacks_consent(tmp_path: Path) -> None:
    """R-REV-7"""
    file = tmp_path / ".env"
    with place() as here:
        async with serving("attach", env=here.process_env) as client:
            await client.start_session()
            result = await client.call("write", file_path=str(file), content="KEY=1\n")
            assert code_of(result) == "consent_unavailable"
            assert result["details"]["decided_by"] == {"kind": "policy", "rule": "protected"}
    assert not file.exists()


async def test_edit_beyond_those_that_a_user_can_look_at_is_refused(tmp_path: Path) -> None:
    """R-REV-7"""
    async with serving() as client:
        await client.start_session(
            capabilities=types.ClientCapabilities(experimental={"fileops": {"reviews": True}}),
        )
        waiting = [
            client.begin("write", f"write-{n}", file_path=str(tmp_path / f"{n}.txt"), content="x\n")
            for n in range(MAX_WAITING)
        ]
        for _ in waiting:
            assert len((await client.hear("didChangeReviews"))["opened"]) == 1
        more = await client.call("write", file_path=str(tmp_path / "more.txt"), content="x\n")
        assert code_of(more) == "too_many_reviews"
        decided = await client.call("decideReviews", outcome="reject")
        assert len(decided["decided"]) == MAX_WAITING
        results = await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE_S)
        assert {code_of(result) for result in results} == {"rejected"}
    assert list(tmp_path.iterdir()) == []


async def test_codes_of_commands(tmp_path: Path) -> None:
    async with serving() as client:
        await client.start_session(initialization_options={"bash": True})
        result = await client.call("bash", command="sleep 3600", timeout_s=0.1)
        assert code_of(result) == "command_timeout"
        assert code_of(await client.call("bash", command="true", cwd=str(tmp_path / "missing"))) == "command_failed"


def own_mounts() -> str | None:
    """Why a daemon cannot have its own mounts here."""
    if shutil.which("unshare") is None:
        return "there is no unshare"
    done = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
    )
    return "only root may mount" if done.returncode else None


async def test_codes_of_disks(tmp_path: Path) -> None:
    if (reason := own_mounts()) is not None:
        pytest.skip(reason)
    full, locked = tmp_path / "full", tmp_path / "locked"
    full.mkdir()
    locked.mkdir()
    script = (
        f"set -e; mount -t tmpfs -o size=8k tmpfs '{full}'; head -c 8192 /dev/zero > '{full}/filler'; "
        f"mount -t tmpfs -o ro tmpfs '{locked}'; exec \"$@\""
    )
    async with serving(command=("unshare", "--mount", "sh", "-c", script, "sh", *DAEMON)) as client:
        await client.start_session()
        for code, folder in (("disk_full", full), ("permission_denied", locked)):
            result = await client.call("edit", file_path=str(folder / "f"), old_string="", new_string="x" * 5000)
            assert code_of(result) == code


async def refusal(work: Any) -> int:
    """The code of the JSON-RPC error that the server answers with."""
    with pytest.raises(JsonRpcException) as caught:
        await asyncio.wait_for(work, PATIENCE_S)
    return int(caught.value.code)


async def test_codes_of_requests_that_are_not_accepted(tmp_path: Path) -> None:
    """R-LIFE-1, R-RPC-3, R-PARAMS-3, R-CANCEL-1"""
    asked = asyncio.Event()

    async def think(_params: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    async with serving() as client:
        client.answer("fileops/confirmEdit", think)
        # pytest-lsp itself sends nothing before `initialize`
        early = LanguageServerProtocol.send_request_async(client.protocol, "fileops/tracked", {})
        assert await refusal(early) == -32002
        await client.start_session(capabilities=types.ClientCapabilities(experimental=EXPERIMENTAL))
        again = types.InitializeParams(capabilities=types.ClientCapabilities())
        assert await refusal(client.initialize_async(again)) == -32600
        assert await refusal(client.call("noSuchRequest")) == -32601
        assert await refusal(client.call("read")) == -32602
        params = {"file_path": str(tmp_path / "f"), "old_string": "", "new_string": "x"}
        edit = client.begin("edit", "edit-1", **params)
        await asyncio.wait_for(asked.wait(), PATIENCE_S)
        client.cancel_request(types.CancelParams(id="edit-1"))
        assert await refusal(edit) == -32800


async def test_codes_of_an_internal_error_and_of_the_last_notification() -> None:
    """R-RPC-5, R-END-2: what only a daemon with a fault on purpose does."""
    async with serving(command=SEAM_DAEMON) as client:
        await client.start_session()
        assert await refusal(client.protocol.send_request_async("test/fail", {})) == -32603
    assert (await client.hear("watcherHealth"))["reason"] == "closed"
