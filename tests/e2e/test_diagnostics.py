"""Results say which problems an edit introduced and resolved: over LSP and MCP, in time, late, with bad settings."""

import asyncio
import hashlib
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support import scripted_language_server
from support.lsp_client import SUITE, FileOpsClient, Json, serving
from support.mcp_client import McpClient, mcp_client, texts_of
from support.patience import PATIENCE_S, wait_until
from support.rawclient import DAEMON

pytestmark = SUITE
PROGRAM = str(pathlib.Path(scripted_language_server.__file__))


def setting(**behaviour: object) -> Json:
    return {
        "name": "scripted",
        "command": [sys.executable, "-I", "-S", PROGRAM, json.dumps(behaviour)],
        "globs": ["*.txt"],
    }


def options(*, wait_s: float = 30.0, mode: str = "details", **behaviour: object) -> Json:
    return {"diagnostics": mode, "diagnostics_wait_s": wait_s, "language_servers": [setting(**behaviour)]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "a.txt"
    path.write_bytes(b"one\nBAD\nthree\n")
    return path


async def begin(client: FileOpsClient, folder: Path, **settings: Any) -> None:
    folders = [types.WorkspaceFolder(folder.as_uri(), "project")]
    await client.start_session(workspace_folders=folders, initialization_options=settings)


async def begin_as_editor(
    client: FileOpsClient, file: Path, answer: Callable[[Json], Awaitable[Json]], **settings: Any
) -> None:
    """Begin as an editor that has the file open, and has an answer to questions about its problems."""
    client.answer("fileops/diagnostics", answer)
    able = types.ClientCapabilities(experimental={"fileops": {"diagnostics": True}})
    folders = [types.WorkspaceFolder(file.parent.as_uri(), "project")]
    await client.start_session(capabilities=able, workspace_folders=folders, initialization_options=settings)
    item = types.TextDocumentItem(file.as_uri(), "plaintext", 1, file.read_text(encoding="utf-8"))
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))


async def test_edit_says_what_it_introduced_and_resolved(file: Path) -> None:
    """R-DIAG-4, R-DIAG-5"""
    async with serving() as client:
        await begin(client, file.parent, **options())
        await client.call("read", file_path=str(file))
        edit = await client.call("edit", file_path=str(file), old_string="three", new_string="a BAD end")
        report = edit["details"]["diagnostics"]
        assert report == {
            "state": "settled",
            "sources": ["scripted"],
            "edit_ids": [edit["details"]["edit_id"]],
            "file_paths": [str(file)],
            "n_introduced": 1,
            "n_resolved": 0,
            "resolved": [],
            "introduced": [
                {
                    "file_path": str(file),
                    "start_line": 3,
                    "start_column": 3,
                    "end_line": 3,
                    "end_column": 6,
                    "severity": "error",
                    "code": "B1",
                    "source": "scripted",
                    "message": "a bad word",
                }
            ],
        }
        assert "problem" not in edit["output"]
        mended = await client.call("edit", file_path=str(file), old_string="a BAD end", new_string="an end")
        assert mended["details"]["diagnostics"]["n_resolved"] == 1
        undone = await client.call("undo", edit_id=mended["details"]["edit_id"])
        assert undone["details"]["diagnostics"]["n_introduced"] == 1


async def test_change_set_is_one_comparison(file: Path) -> None:
    """R-DIAG-14"""
    other = file.parent / "b.txt"
    other.write_bytes(b"BAD\n")
    async with serving() as client:
        await begin(client, file.parent, **options(pull=True))
        for path in (file, other):
            await client.call("read", file_path=str(path))
        changes = [
            {"kind": "edit", "file_path": str(file), "edits": [{"old_string": "one", "new_string": "BAD"}]},
            {"kind": "delete", "file_path": str(other)},
            {"kind": "create", "file_path": str(file.parent / "c.txt"), "content": "BAD\n"},
        ]
        made = await client.call("applyChanges", changes=changes)
        report = made["details"]["diagnostics"]
        assert len(report["edit_ids"]) == 3
        assert (report["n_introduced"], report["n_resolved"]) == (2, 0)  # of a deleted file neither


async def test_report_that_is_not_known_in_time_comes_with_the_next_result(file: Path) -> None:
    """R-DIAG-7"""
    async with serving() as client:
        await begin(client, file.parent, **options(wait_s=0))
        await client.call("read", file_path=str(file))
        edit = await client.call("edit", file_path=str(file), old_string="one", new_string="BAD")
        pending = edit["details"]["diagnostics"]
        assert set(pending) == {"state", "sources", "edit_ids", "file_paths"}
        assert pending["state"] == "pending"
        event = await client.hear("didDiagnose")
        assert event["file_path"] == str(file)
        assert event["diagnostics"]["n_introduced"] == 1
        again = await client.call("read", file_path=str(file))
        assert [report["edit_ids"] for report in again["details"]["late_diagnostics"]] == [pending["edit_ids"]]
        assert "late_diagnostics" not in (await client.call("read", file_path=str(file)))["details"]


async def test_nothing_is_said_or_started_without_the_option_or_a_source(file: Path) -> None:
    """R-DIAG-2, R-DIAG-8"""
    log = file.parent.parent / f"{file.parent.name}.log"
    async with serving() as client:
        await begin(client, file.parent, **options(log=str(log)) | {"diagnostics": "off"})
        await client.call("read", file_path=str(file))
        edit = await client.call("edit", file_path=str(file), old_string="one", new_string="BAD")
        assert "diagnostics" not in edit["details"]
    async with serving() as client:
        await begin(client, file.parent, **options(log=str(log)))
        path = file.parent / "a.md"
        edit = await client.call("edit", file_path=str(path), old_string="", new_string="BAD")
        assert "diagnostics" not in edit["details"]
    assert not log.exists()


async def test_output_has_the_sentences_if_the_client_wants_that(file: Path) -> None:
    """R-DIAG-16"""
    async with serving() as client:
        await begin(client, file.parent, **options(mode="output"))
        await client.call("read", file_path=str(file))
        edit = await client.call("edit", file_path=str(file), old_string="one", new_string="BAD")
        assert edit["output"].endswith(
            "\n\nThe edit was applied. It introduced 1 problem (scripted):\na.txt:1:1: error B1: a bad word"
        )


async def test_cancel_during_the_wait_gives_the_result_of_the_edit(file: Path) -> None:
    """R-DIAG-3"""
    async with serving() as client:
        await begin(client, file.parent, **options(mute=True))
        await client.call("read", file_path=str(file))
        reply = client.begin("edit", "1", file_path=str(file), old_string="one", new_string="two")
        await asyncio.to_thread(wait_until, lambda: file.read_bytes() == b"two\nBAD\nthree\n")
        client.cancel_request(types.CancelParams(id="1"))
        edit = await asyncio.wait_for(reply, PATIENCE_S)
        assert edit["status"] == "success"
        assert edit["details"]["diagnostics"]["state"] == "pending"


async def test_editor_that_has_the_file_open_is_asked_by_the_digest_of_its_text(file: Path) -> None:
    """R-DIAG-15, R-DIAG-8"""
    asked: list[Json] = []
    opened = file.read_text(encoding="utf-8")

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    async def answer(params: Json) -> Json:
        asked.append(params)
        # The question that a read causes may arrive after the edit: an editor answers it with what it shows.
        text = opened if params["sha256"] is None else file.read_text(encoding="utf-8")
        lines = text.splitlines()
        places = [(number, line.find("BAD")) for number, line in enumerate(lines) if "BAD" in line]
        return {
            "state": "settled",
            "sha256": digest(text),
            "diagnostics": [
                {
                    "range": {
                        "start": {"line": line, "character": at},
                        "end": {"line": line, "character": at + 3},
                    },
                    "message": "a bad word",
                    "severity": 2,
                }
                for line, at in places
            ],
        }

    async with serving() as client:
        await begin_as_editor(client, file, answer, diagnostics="details", diagnostics_wait_s=30)
        await client.call("read", file_path=str(file))
        edit = await client.call("edit", file_path=str(file), old_string="one", new_string="a BAD one")
        report = edit["details"]["diagnostics"]
        assert (report["state"], report["n_introduced"], report["n_resolved"]) == ("settled", 1, 0)
        assert report["introduced"][0]["start_column"] == 3
        assert [params["sha256"] for params in asked] == [None, digest("a BAD one\nBAD\nthree\n")]


async def test_malformed_answer_of_an_editor_is_none(file: Path) -> None:
    """R-DIAG-15"""

    async def malformed(_params: Json) -> Json:
        return {"state": "settled", "diagnostics": [{"message": 7}]}

    async with serving() as client:
        await begin_as_editor(client, file, malformed, **options())
        await client.call("read", file_path=str(file))
        edit = await client.call("edit", file_path=str(file), old_string="one", new_string="BAD")
        report = edit["details"]["diagnostics"]
        assert (report["state"], report["sources"], report["n_introduced"]) == ("settled", ["scripted"], 1)


async def test_editor_without_a_language_server_for_the_file_is_no_source(file: Path) -> None:
    """R-DIAG-15, R-DIAG-2, R-DIAG-8"""

    async def unavailable(_params: Json) -> Json:
        return {"state": "unavailable"}

    async with serving() as client:
        await begin_as_editor(client, file, unavailable, diagnostics="details", diagnostics_wait_s=30)
        await client.call("read", file_path=str(file))
        edit = await client.call("edit", file_path=str(file), old_string="one", new_string="BAD")
        assert edit["status"] == "success"
        assert "diagnostics" not in edit["details"]


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        ({"diagnostics": "on"}, "$.initializationOptions.diagnostics"),
        ({"diagnostics_wait_s": 31}, "$.initializationOptions.diagnostics_wait_s"),
        ({"diagnostics_severity": "fatal"}, "$.initializationOptions.diagnostics_severity"),
        ({"language_servers": [{"name": "x"}]}, "$.initializationOptions.language_servers[0]"),
        ({"language_servers": [setting() | {"command": ["./x"]}]}, "language_servers[0].command[0]"),
    ],
    ids=str,
)
async def test_bad_setting_fails_initialize_and_names_its_place(file: Path, bad: Json, place: str) -> None:
    """R-DIAG-1"""
    async with serving() as client:
        with pytest.raises(Exception, match="initializationOptions") as refused:
            await begin(client, file.parent, **bad)
        assert place in str(refused.value)
        await client.start_session()


# --- MCP ------------------------------------------------------------------------------------------------------------


def configured(folder: Path, **behaviour: object) -> dict[str, str]:
    """Write the settings as the user has them; returns the environment."""
    config = folder / "config" / "fileops"
    config.mkdir(parents=True)
    (config / "language-servers.json").write_text(json.dumps([setting(**behaviour)]), encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(folder / "config")}


def begin_mcp(client: McpClient, file: Path) -> None:
    client.begin()
    client.tool("Read", file_path=str(file))


def test_model_reads_what_its_edit_introduced(tmp_path: Path) -> None:
    """R-DIAG-16, R-DIAG-17"""
    project = tmp_path / "project"
    project.mkdir()
    file = project / "a.txt"
    file.write_bytes(b"one\n")
    root = ("--root", str(project), "--diagnostics-wait-s", "30")
    with mcp_client(project, *root, env=configured(tmp_path)) as client:
        begin_mcp(client, file)
        edit = client.tool("Edit", file_path=str(file), old_string="one", new_string="BAD")
        assert not edit["isError"]
        assert texts_of(edit)[-1] == (
            "The edit was applied. It introduced 1 problem (scripted):\na.txt:1:1: error B1: a bad word"
        )
        facts = edit["_meta"]["fileops/result"]
        assert facts["diagnostics"] == {"state": "settled", "n_introduced": 1, "n_resolved": 0}
        mended = client.tool("Edit", file_path=str(file), old_string="BAD", new_string="good")
        assert texts_of(mended)[-1] == "No new problems in a.txt (scripted). It resolved 1 problem."


def test_reason_why_nothing_is_known_is_said_once(tmp_path: Path) -> None:
    """R-DIAG-16"""
    project = tmp_path / "project"
    project.mkdir()
    file = project / "a.txt"
    file.write_bytes(b"one\n")
    env = configured(tmp_path)
    broken = [setting() | {"command": ["no-such-program"]}]
    (tmp_path / "config" / "fileops" / "language-servers.json").write_text(json.dumps(broken), encoding="utf-8")
    with mcp_client(project, "--root", str(project), env=env) as client:
        begin_mcp(client, file)
        first = client.tool("Edit", file_path=str(file), old_string="one", new_string="two")
        assert texts_of(first)[-1] == (
            "The edit was applied. Its problems in a.txt are not known: scripted: there is no program no-such-program "
            "in the PATH outside of the project."
        )
        second = client.tool("Edit", file_path=str(file), old_string="two", new_string="three")
        assert "not known" not in "".join(texts_of(second))


@pytest.mark.parametrize("where", ["project", "link"])
def test_settings_that_a_project_brings_are_refused(tmp_path: Path, where: str) -> None:
    """R-DIAG-17"""
    project = tmp_path / "project"
    project.mkdir()
    (project / "servers.json").write_text(json.dumps([setting()]), encoding="utf-8")
    (tmp_path / "link.json").symlink_to(project / "servers.json")
    given = project / "servers.json" if where == "project" else tmp_path / "link.json"
    command = [*DAEMON, "mcp", "--private", "--root", str(project), "--language-servers", str(given)]
    env = os.environ | {"HOME": "/nonexistent"}
    refused = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, check=False)
    assert refused.returncode == 2
    assert f"the file is in the root {project}" in refused.stderr


def test_bad_file_of_the_user_is_named(tmp_path: Path) -> None:
    """R-DIAG-1"""
    env = os.environ | configured(tmp_path)
    file = tmp_path / "config" / "fileops" / "language-servers.json"
    file.write_text('[{"name": "x", "command": [], "globs": ["*"]}]', encoding="utf-8")
    (tmp_path / "project").mkdir()
    command = [*DAEMON, "mcp", "--private", "--root", str(tmp_path / "project")]
    refused = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, check=False)
    assert refused.returncode == 2
    assert f"In {file}, $[0].command" in refused.stderr


def test_language_servers_end_with_the_daemon(tmp_path: Path) -> None:
    """R-DIAG-9"""
    project = tmp_path / "project"
    project.mkdir()
    file, log = project / "a.txt", tmp_path / "log"
    file.write_bytes(b"one\n")
    env = configured(tmp_path, log=str(log))
    with mcp_client(project, "--root", str(project), "--diagnostics-wait-s", "30", env=env) as client:
        begin_mcp(client, file)
        client.tool("Edit", file_path=str(file), old_string="one", new_string="two")
        client.close_stdin()
        assert client.wait() == 0
    assert "shutdown" in log.read_text(encoding="utf-8")
