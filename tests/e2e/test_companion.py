"""A host keeps its own tools; hooks guard and record them. The rules are in docs/protocol/companion.md."""

import asyncio
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fileops.attach.bodies import BadBody, pack, unpack
from fileops.attach.handshake import BadRequest, Hook
from fileops.compose import hook_connection
from fileops.compose.hook_connection import QUIET_S, SETTINGS
from fileops.service import formatting
from support import scripted_language_server
from support.hooked_host import HookedHost
from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, SharedDaemon, shared_daemon, until_recorded

TEXT = "".join(f"line {n}\n" for n in range(1, 31))


@pytest.fixture(autouse=True)
def record_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text(TEXT)
    return folder


@pytest.fixture
async def daemon() -> AsyncIterator[SharedDaemon]:
    async with shared_daemon() as made:
        yield made


@pytest.fixture
async def person(daemon: SharedDaemon, project: Path) -> LspClient:
    editor = await daemon.editor(project)
    await until_recorded(editor, project)
    return editor


@pytest.fixture
def host(daemon: SharedDaemon, project: Path, person: LspClient) -> HookedHost:
    del person
    return HookedHost(daemon.state, project)


async def entries(person: LspClient, path: Path) -> list[dict[str, Any]]:
    log = await person.call("fileops/log", {"file_path": str(path)})
    return log["entries"]


async def author(person: LspClient, path: Path) -> dict[str, Any]:
    """The newest entry of a file, once its author is certain."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await entries(person, path)
            if found and found[0]["settled"]:
                return found[0]
            await asyncio.sleep(0.02)


# --- reads ---------------------------------------------------------------------------------------------------------


async def test_read_of_the_host_counts_for_the_session(host: HookedHost, project: Path, person: LspClient) -> None:
    """R-COMP-11"""
    path = project / "a.txt"
    assert (await host.read(path)).reason is None
    assert (await host.write(path, "whole\n")).reason is None
    assert path.read_text() == "whole\n"
    assert (await author(person, path))["by"]["session_id"] == "claude-code:s1"


async def test_part_that_was_read_does_not_allow_a_write_of_the_whole_file(host: HookedHost, project: Path) -> None:
    """R-COMP-16"""
    path = project / "a.txt"
    await host.read(path, 2, 3)
    refused = await host.write(path, "whole\n")
    assert refused.reason is not None and refused.reason.startswith(f"This session has not read all of {path}")
    assert path.read_text() == TEXT
    assert "    30→line 30" in refused.reason
    assert (await host.write(path, "whole\n")).reason is None  # what the refusal shows counts as read


@pytest.mark.parametrize(("last", "changes"), [(30, False), (30, True), (29, False)])
async def test_read_whose_text_the_host_does_not_report_counts_if_the_file_stayed_as_it_was(
    daemon: SharedDaemon, project: Path, person: LspClient, last: int, *, changes: bool
) -> None:
    """R-COMP-11: VS Code's agent host does not say which text it has shown."""
    del person
    path = project / "a.txt"
    vscode = HookedHost(daemon.state, project, more={"timestamp": "2026-11-20T10:00:00.000Z"})

    def show() -> dict[str, Any]:
        if changes:
            path.write_text(TEXT + "fresh\n")
        return {"result_type": "success"}

    await vscode.call("Read", {"path": str(path), "view_range": [1, last]}, show)
    written = await vscode.call("Write", {"path": str(path), "file_text": "whole\n"}, lambda: None)
    assert (written.reason is None) is (last == 30 and not changes)


@pytest.mark.parametrize(
    ("given", "shown", "is_whole"),
    [
        ({}, TEXT, True),
        ({"view_range": [1, -1]}, TEXT.removesuffix("\n"), True),
        ({"view_range": [2, 3]}, "line 2\nline 3", False),
        ({}, "File too large to read at once (175.8 KB). Consider using the grep tool.", False),
    ],
)
async def test_what_copilot_says_it_has_shown_counts_and_nothing_else(
    daemon: SharedDaemon, project: Path, person: LspClient, given: dict[str, object], shown: str, *, is_whole: bool
) -> None:
    """R-COMP-11"""
    del person
    path = project / "a.txt"
    copilot = HookedHost(daemon.state, project, more={"timestamp": "2026-11-20T10:00:00.000Z"})
    result = {"result_type": "success", "text_result_for_llm": shown}
    await copilot.call("Read", {"path": str(path), **given}, lambda: result)
    written = await copilot.call("Write", {"path": str(path), "file_text": "whole\n"}, lambda: None)
    assert (written.reason is None) is is_whole


async def test_unreadable_file_is_refused(host: HookedHost, project: Path) -> None:
    """R-COMP-10"""
    (project / ".agentsignore").write_text("*.pem\n")
    secret = project / "key.pem"
    secret.write_text("secret\n")
    for outcome in (await host.read(secret), await host.edit(secret, "secret", "x"), await host.write(secret, "x")):
        assert outcome.reason is not None and "Agents may not read" in outcome.reason
    assert secret.read_text() == "secret\n"


async def test_unsaved_text_is_shown_in_place_of_the_file(host: HookedHost, project: Path, person: LspClient) -> None:
    """R-COMP-12, R-COMP-13"""
    path = project / "a.txt"
    person.open(path)
    person.change(path, TEXT.replace("line 4\n", "line 4 typed\n"), version=2)
    await person.call("fileops/sessions", {})  # the change has arrived
    seen = await host.read(path, 3, 2)
    assert seen.shown == "line 3\nline 4 typed"
    assert "Neovim has unsaved text of" in seen.context
    assert "+line 4 typed" in seen.context


async def test_unsaved_text_of_a_file_that_a_command_names_is_told_once_in_a_turn(
    daemon: SharedDaemon, project: Path, person: LspClient
) -> None:
    """R-COMP-12: Codex has no tool to read, and prints files by its shell."""
    path = project / "a.txt"
    person.open(path)
    person.change(path, TEXT.replace("line 4\n", "line 4 typed\n"), version=2)
    await person.call("fileops/sessions", {})  # the change has arrived
    codex = HookedHost(daemon.state, project, host="codex")
    await codex.hook("UserPromptSubmit")
    hook = Hook("codex", "s1", os.getpid())

    async def said() -> str:
        return "\n".join(await daemon.state.note_views(hook, [str(path), str(project / "b.txt")], TEXT))

    first = await said()
    assert f"Neovim has unsaved text of {path}." in first
    assert "+line 4 typed" in first
    assert await said() == ""
    await codex.hook("UserPromptSubmit")
    assert await said() == first
    person.change(path, TEXT.replace("line 5\n", "line 5 typed\n"), version=3)
    await person.call("fileops/sessions", {})
    assert "+line 5 typed" in await said()


@pytest.mark.parametrize("answer", ["saved", "kept", "refused", "file has changed"])
async def test_editor_that_saves_before_an_agent_reads_makes_its_tools_see_the_text(
    daemon: SharedDaemon, project: Path, answer: str
) -> None:
    """R-COMP-19: else, and over changes that the editor has not seen, unsaved text is handled as unsaved."""
    path = project / "a.txt"
    editor = await daemon.editor(project, saves=True)
    await until_recorded(editor, project)
    host = HookedHost(daemon.state, project)
    typed = TEXT.replace("line 4\n", "line 4 typed\n")
    editor.open(path)
    await editor.read(path)  # the document was compared with its file
    editor.change(path, typed, version=2)
    asked: list[Any] = []

    async def save(params: Any) -> Any:
        asked.append(params)
        if answer == "refused":
            return {"saved": "perhaps"}
        if answer == "saved":
            path.write_text(typed)
            editor.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}, "text": typed})
        return {"saved": answer == "saved"}

    editor.answers["fileops/saveDocument"] = save
    if answer == "file has changed":
        path.write_text(TEXT + "fresh\n")
    await editor.call("fileops/sessions", {})  # the change has arrived
    host.mode = "default"
    seen = await host.read(path)
    if answer == "saved":
        assert (seen.shown, seen.context) == (None, "")
        assert (await host.edit(path, "line 4 typed\n", "mine\n")).reason is None
        assert path.read_text() == typed.replace("line 4 typed\n", "mine\n")
        saved = (await entries(editor, path))[-1]
        assert (saved["by"]["kind"], saved["evidence"]) == ("person", "save")
    else:
        assert "Neovim has unsaved text of" in seen.context
    expected = [] if answer == "file has changed" else [{"uri": path.as_uri(), "version": 2}]
    assert asked == expected


# --- before an edit ------------------------------------------------------------------------------------------------


async def test_edit_that_relies_on_lines_that_others_changed_is_refused_once(host: HookedHost, project: Path) -> None:
    """R-COMP-15"""
    path = project / "a.txt"
    await host.read(path)
    path.write_text(TEXT.replace("line 7\n", "other 7\n"))
    refused = await host.edit(path, "line 6\n", "mine 6\n")
    assert refused.reason is not None and "changed since you read it, where your change relies on it" in refused.reason
    assert "+other 7" in refused.reason
    assert (await host.edit(path, "line 6\n", "mine 6\n")).reason is None
    assert path.read_text() == TEXT.replace("line 7\n", "other 7\n").replace("line 6\n", "mine 6\n")


async def test_edit_beside_a_change_elsewhere_passes_and_is_told_of_it(host: HookedHost, project: Path) -> None:
    """R-COMP-15, R-COMP-23"""
    path = project / "a.txt"
    await host.read(path)
    path.write_text(TEXT.replace("line 30\n", "other 30\n"))
    made = await host.edit(path, "line 3\n", "mine 3\n")
    assert made.reason is None
    assert "+other 30" in made.context


async def test_problems_that_an_edit_introduced_follow_it(
    daemon: SharedDaemon, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-COMP-23: found by the language servers that the user lets the daemon start."""
    program = str(scripted_language_server.__file__)
    named = {"name": "scripted", "command": [sys.executable, "-I", "-S", program, "{}"], "globs": ["*.txt"]}
    own = tmp_path / "config" / "fileops" / "language-servers.json"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps([named]))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(hook_connection, "SETTINGS", replace(hook_connection.SETTINGS, diagnostics_wait_s=30.0))
    editor = await daemon.editor(project)
    await until_recorded(editor, project)
    host, path = HookedHost(daemon.state, project), project / "a.txt"
    await host.read(path)
    assert "a bad word" in (await host.edit(path, "line 3\n", "BAD 3\n")).context
    assert "a bad word" not in (await host.edit(path, "line 9\n", "good 9\n")).context
    assert "resolved" in (await host.edit(path, "BAD 3\n", "good 3\n")).context


async def test_edit_of_a_file_that_was_never_read_passes(host: HookedHost, project: Path, person: LspClient) -> None:
    """R-COMP-16: the old text is what it relies on."""
    path = project / "a.txt"
    assert (await host.edit(path, "line 3\n", "mine 3\n")).reason is None
    entry = await author(person, path)
    assert (entry["by"]["session_id"], entry["evidence"]) == ("claude-code:s1", "commit")


async def test_whole_write_over_a_change_that_was_not_seen_is_refused(host: HookedHost, project: Path) -> None:
    """R-COMP-16"""
    path = project / "a.txt"
    await host.read(path)
    path.write_text(TEXT + "appended\n")
    refused = await host.write(path, "whole\n")
    assert refused.reason is not None and "+appended" in refused.reason
    assert path.read_text() == TEXT + "appended\n"


async def test_what_the_host_says_better_is_left_to_it(host: HookedHost, project: Path) -> None:
    """R-COMP-14"""
    await host.read(project / "a.txt")
    assert (await host.edit(project / "a.txt", "no such line", "x")).reason is None
    assert (await host.call("Edit", {"file_path": "relative"}, lambda: None)).reason is None
    assert (await host.write(project / "new.txt", "new\n")).reason is None


@pytest.mark.parametrize(
    ("name", "tool", "read", "names"),
    [
        ("gemini", "replace", "read_file", ("old_string", "new_string")),
        ("opencode", "edit", "read", ("oldString", "newString")),
    ],
)
async def test_text_that_can_only_mean_one_place_is_corrected_before_the_host_looks_for_it(
    daemon: SharedDaemon, project: Path, person: LspClient, name: str, tool: str, read: str, names: tuple[str, str]
) -> None:
    path = project / "a.txt"
    key = "file_path" if name == "gemini" else "filePath"
    host = HookedHost(daemon.state, project, session="c1", host=name)
    before, after = ("BeforeTool", "AfterTool") if name == "gemini" else ("PreToolUse", "PostToolUse")
    slip = {key: str(path), names[0]: "line 4  \n", names[1]: "mine 4\n", "more": "kept"}
    unread = await host.hook(before, tool_name=tool, tool_input=slip, tool_use_id="t0")
    assert unread == {}  # the session has not seen what it may mean
    asked = {key: str(path)}
    await host.hook(before, tool_name=read, tool_input=asked, tool_use_id="t1")
    await host.hook(after, tool_name=read, tool_input=asked, tool_use_id="t1", tool_response={"output": TEXT})
    said = await host.hook(before, tool_name=tool, tool_input=slip, tool_use_id="t2")
    given = said["hookSpecificOutput"]["tool_input"] if name == "gemini" else said["arguments"]
    assert path.read_text().count(given[names[0]]) == 1
    assert {key: given[key], "more": given["more"]} == {key: str(path), "more": "kept"}
    path.write_text(TEXT.replace(given[names[0]], given[names[1]]))
    done = await host.hook(
        after, tool_name=tool, tool_input=given, tool_use_id="t2", tool_response={"output": "Edited."}
    )
    assert "matched after ignoring blanks at the ends of lines" in done["hookSpecificOutput"]["additionalContext"]
    assert path.read_text() == TEXT.replace("line 4\n", "mine 4\n")
    assert (await author(person, path))["evidence"] == "commit"


FORMATTING = {"name": "scripted", "globs": ["*.txt"]}
NAMES = {
    "claude": ("Edit", "Write", ("file_path", "old_string", "new_string", "content")),
    "copilot": ("edit", "create", ("path", "old_str", "new_str", "file_text")),
    "gemini": ("replace", "write_file", ("file_path", "old_string", "new_string", "content")),
    "opencode": ("edit", "write", ("filePath", "oldString", "newString", "content")),
}
CLIENTS = {"claude": "claude-code", "copilot": "copilot-cli"}


def rewritten(name: str, said: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a hook gives to a host in place of its model's."""
    match name:
        case "opencode":
            return said["arguments"]
        case "gemini":
            return said["hookSpecificOutput"]["tool_input"]
        case "copilot":
            return said["modifiedArgs"]
        case _:
            return said["hookSpecificOutput"]["updatedInput"]


async def until_formatted(host: HookedHost, event: str, fields: dict[str, Any]) -> dict[str, Any]:
    """What the hook says once the language server runs, which is started for the first edit."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if said := await host.hook(event, **fields):
                return said
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("name", NAMES)
async def test_lines_that_the_hosts_own_edit_changes_are_formatted_before_it_writes(
    daemon: SharedDaemon, project: Path, person: LspClient, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """R-COMP-34: the host writes, shows and records one text, so its own check for changes finds none."""
    monkeypatch.setattr(formatting, "WAIT_S", PATIENCE_S)
    program = str(scripted_language_server.__file__)
    server = {**FORMATTING, "command": [sys.executable, "-I", "-S", program, json.dumps({"formats": True})]}
    edit_tool, write_tool, (path_key, old, new, content) = NAMES[name]
    path = project / "a.txt"
    path.write_text("same\nsame  too\nhis  line\nsame\n")
    host = HookedHost(daemon.state, project, session="s1", host=name)
    hints = {"copilot_session" if name == "copilot" else "session": "s1"}
    await daemon.host(project, CLIENTS.get(name, name), hints=hints, format="changed", language_servers=[server])
    before, after = ("BeforeTool", "AfterTool") if name == "gemini" else ("PreToolUse", "PostToolUse")
    given: dict[str, Any] = {path_key: str(path), old: "his  line", new: "my  line", "more": "kept"}
    about = {"tool_name": edit_tool, "tool_use_id": "t1"}
    said = await until_formatted(host, before, {**about, "tool_input": given})
    made = rewritten(name, said)
    assert (made[path_key], made["more"], made[new]) == (str(path), "kept", "my line")
    assert "permissionDecision" not in said.get("hookSpecificOutput", {})  # the host asks as before
    path.write_text(path.read_text().replace(made[old], made[new]))
    done = await host.hook(after, **about, tool_input=made, tool_response={"output": "Edited."})
    assert "scripted format changed the lines of your edit" in done["hookSpecificOutput"]["additionalContext"]
    assert path.read_text() == "same\nsame  too\nmy line\nsame\n"  # no other line is formatted
    entry = await author(person, path)
    assert (entry["by"]["kind"], entry["evidence"]) == ("session", "commit")

    # An insertion between lines that are elsewhere, too.
    given = {path_key: str(path), old: "my line\nsame", new: "my line\nsame\nlast  words"}
    about = {"tool_name": edit_tool, "tool_use_id": "t2"}
    made = rewritten(name, await host.hook(before, **about, tool_input=given))
    assert path.read_text().count(made[old]) == 1
    path.write_text(path.read_text().replace(made[old], made[new]))
    await host.hook(after, **about, tool_input=made, tool_response={"output": "Edited."})
    assert path.read_text() == "same\nsame  too\nmy line\nsame\nlast words\n"

    about = {"tool_name": write_tool, "tool_use_id": "t3"}
    fresh = project / "new.txt"
    said = await host.hook(before, **about, tool_input={path_key: str(fresh), content: "two  blanks\n"})
    made = rewritten(name, said)
    assert made == {path_key: str(fresh), content: "two blanks\n"}
    fresh.write_text(made[content])
    await host.hook(after, **about, tool_input=made, tool_response={"output": "Created."})
    assert (await author(person, fresh))["evidence"] == "commit"


async def test_plan_mode_asks_and_announces_nothing(host: HookedHost, project: Path, daemon: SharedDaemon) -> None:
    """R-COMP-18a"""
    host.mode = "plan"
    env = project / ".env"
    env.write_text("A=1\n")
    before = await host.hook("PreToolUse", tool_name="Write", tool_input={"file_path": str(env), "content": "A=2\n"})
    assert before == {}
    assert daemon.state.waiting_reviews() == []


@pytest.mark.parametrize("mode", ["acceptEdits", "auto"])
async def test_edit_beside_unsaved_text_is_made_in_the_editor(
    host: HookedHost, project: Path, person: LspClient, mode: str
) -> None:
    """R-COMP-18"""
    path = project / "a.txt"
    typed = TEXT.replace("line 4\n", "line 4 typed\n")
    person.open(path)
    person.change(path, typed, version=2)
    applied: list[Any] = []

    async def apply(params: Any) -> Any:
        applied.append(params)
        person.change(path, typed.replace("line 9\n", "mine 9\n"), version=3)
        return {"applied": True}

    person.answers["workspace/applyEdit"] = apply
    await host.read(path)
    host.mode = mode
    made = await host.edit(path, "line 9\n", "mine 9\n")
    assert made.reason is not None and made.reason.startswith("Done, although your host shows a refusal: Neovim has")
    assert "was made in Neovim" in made.person
    assert len(applied) == 1
    assert path.read_text() == TEXT


async def test_slip_beside_unsaved_text_is_corrected_in_the_editor(
    host: HookedHost, project: Path, person: LspClient
) -> None:
    path = project / "a.txt"
    typed = TEXT.replace("line 4\n", "line 4 typed\n")
    person.open(path)
    person.change(path, typed, version=2)

    async def apply(_params: Any) -> Any:
        person.change(path, typed.replace("line 9\n", "mine 9\n"), version=3)
        return {"applied": True}

    person.answers["workspace/applyEdit"] = apply
    await host.read(path)
    host.mode = "acceptEdits"
    made = await host.edit(path, "line 9  \n", "mine 9\n")
    assert made.reason is not None and made.reason.startswith("Done, although your host shows a refusal")
    assert "matched after ignoring blanks at the ends of lines" in made.reason


async def test_edit_beside_unsaved_text_is_not_made_behind_the_hosts_own_question(
    host: HookedHost, project: Path, person: LspClient
) -> None:
    """R-COMP-18"""
    path = project / "a.txt"
    person.open(path)
    person.change(path, TEXT.replace("line 4\n", "line 4 typed\n"), version=2)
    await host.read(path)
    refused = await host.edit(path, "line 9\n", "mine 9\n")
    assert refused.reason is not None and "which this tool would not see. Nothing was written." in refused.reason
    assert "Ask the user to save it in Neovim" in refused.reason  # its model does not have our Edit
    assert "     4→line 4 typed" in refused.reason


@pytest.mark.parametrize("mode", ["acceptEdits", "default"])
@pytest.mark.parametrize("reads", [True, False])
async def test_edit_of_what_only_the_file_has_is_refused_beside_unsaved_text(
    host: HookedHost, project: Path, person: LspClient, mode: str, *, reads: bool
) -> None:
    """R-COMP-18: the host would write the file under the unsaved text, with which the edit has nothing in common."""
    path = project / "a.txt"
    person.open(path)
    person.change(path, TEXT.replace("line 4\n", "typed\n"), version=2)
    await person.call("fileops/sessions", {})  # the change has arrived
    if reads:
        await host.read(path)
    host.mode = mode
    refused = await host.edit(path, "line 4\n", "mine 4\n")
    assert refused.reason is not None and "which this tool would not see. Nothing was written." in refused.reason
    assert "     4→typed" in refused.reason
    assert path.read_text() == TEXT


async def test_edit_that_was_made_of_the_file_alone_is_not_made_of_a_line_that_is_unsaved(
    host: HookedHost, project: Path, person: LspClient
) -> None:
    """R-COMP-18: a session that has read nothing can only mean the line that is in the file."""
    path = project / "a.txt"
    asked: list[Any] = []

    async def apply(params: Any) -> Any:
        asked.append(params)
        return {"applied": False}

    person.answers["workspace/applyEdit"] = apply
    person.open(path)
    person.change(path, TEXT.replace("line 4\n", "line 45\n"), version=2)
    await person.call("fileops/sessions", {})  # the change has arrived
    host.mode = "acceptEdits"
    refused = await host.edit(path, "line 4", "mine 4")
    assert refused.reason is not None and "which this tool would not see. Nothing was written." in refused.reason
    assert "     4→line 45" in refused.reason
    assert (asked, path.read_text()) == ([], TEXT)


# --- after an edit -------------------------------------------------------------------------------------------------


async def test_person_who_saves_while_the_hosts_question_is_open_stays_the_author(
    host: HookedHost, project: Path, person: LspClient
) -> None:
    """R-COMP-21: the author is decided by content, not by time."""
    path = project / "a.txt"
    await host.read(path)

    def saved_by_another_program() -> None:
        path.write_text(TEXT.replace("line 20\n", "other 20\n"))

    host.n_calls += 1
    about = {"tool_name": "Edit", "tool_use_id": "toolu_x"}
    given = {"file_path": str(path), "old_string": "line 3\n", "new_string": "mine 3\n"}
    assert await host.hook("PreToolUse", **about, tool_input=given) == {}
    saved_by_another_program()
    await author(person, path)
    path.write_text(path.read_text().replace("line 3\n", "mine 3\n"))
    await host.hook("PostToolUse", **about, tool_input=given, tool_response={"originalFile": TEXT})
    found = await entries(person, path)
    assert [(entry["by"]["kind"], entry["added"], entry["removed"]) for entry in found] == [
        ("session", 1, 1),
        ("outside", 1, 1),
    ]
    assert found[0]["evidence"] == "commit"
    undone = await person.call("fileops/undo", {"edit_id": found[0]["edit_id"]})
    assert undone["error"] is None
    assert path.read_text() == TEXT.replace("line 20\n", "other 20\n")


@pytest.mark.parametrize("by", ["the person", "the agent"])
async def test_lines_of_others_that_a_write_removed_are_named_and_come_back(
    host: HookedHost, project: Path, person: LspClient, daemon: SharedDaemon, by: str
) -> None:
    """R-COMP-24"""
    path = project / "a.txt"
    await host.read(path)
    about = {"tool_name": "Write", "tool_use_id": "toolu_x"}
    mine = TEXT.replace("line 3\n", "mine 3\n")
    given = {"file_path": str(path), "content": mine}
    assert await host.hook("PreToolUse", **about, tool_input=given) == {}
    path.write_text(TEXT + "fresh\n")
    await author(person, path)
    path.write_text(mine)
    after = await host.hook("PostToolUse", **about, tool_input=given, tool_response={"originalFile": TEXT})
    said = after["hookSpecificOutput"]["additionalContext"]
    assert "removed 1 line that another program or person had just written. The lines:\nfresh\n" in said
    loss_id = said.partition("undo ")[2].partition(":")[0]
    assert f"`fileops-server undo {loss_id}` brings them back." in after["systemMessage"]
    path.write_text(mine.replace("line 20\n", "later 20\n"))
    restored = mine.replace("line 20\n", "later 20\n") + "fresh\n"
    person.claim_all()
    if by == "the person":
        undone = await person.call("fileops/undo", {"edit_id": loss_id})
        assert undone["error"] is None
    else:
        agent = await daemon.host(project, "claude-code", hints={"session": "s1"}, further_tools=["Undo"])
        undone = await agent.tool("Undo", edit_id=loss_id)
        assert not undone.get("isError"), undone
    assert path.read_text() == restored
    assert (await person.notification("fileops/didEdit"))["file_path"] == str(path)
    again = await person.call("fileops/undo", {"edit_id": loss_id})
    assert again["error"]["code"] == "undo_conflict"  # they are there
    assert path.read_text() == restored
    unknown = await person.call("fileops/undo", {"edit_id": "l-0"})
    assert "no lost lines have this id" in unknown["output"]


@pytest.mark.parametrize("name", ["a.txt", ".env"])
async def test_lost_lines_come_back_after_the_daemon_was_started_again(project: Path, name: str) -> None:
    """R-COMP-24: but those of a protected file, whose contents are compared and never stored (R-COMP-21a)."""
    path = project / name
    path.write_text(TEXT)
    async with shared_daemon() as daemon:
        editor = await daemon.editor(project, confirms=True)
        await until_recorded(editor, project)

        async def confirm(_params: Any) -> Any:
            return {"outcome": "proceed_once"}

        editor.answers["fileops/confirmEdit"] = confirm
        host = HookedHost(daemon.state, project)
        await host.read(path)
        about = {"tool_name": "Edit", "tool_use_id": "toolu_x"}
        given = {"file_path": str(path), "old_string": "line 3\n", "new_string": "mine 3\n"}
        await host.hook("PreToolUse", **about, tool_input=given)
        path.write_text(TEXT + "fresh\n")
        await entries_of(editor, path, 1)
        path.write_text(TEXT.replace("line 3\n", "mine 3\n"))
        after = await host.hook("PostToolUse", **about, tool_input=given, tool_response={"originalFile": TEXT})
        loss_id = after["systemMessage"].partition("fileops-server undo ")[2].partition("`")[0]
        by = [entry["by"] for entry in await entries_of(editor, path, 2)]
        assert [author.get("session_id") for author in by] == ["claude-code:s1", None]
    async with shared_daemon() as daemon:
        editor = await daemon.editor(project)
        undone = await editor.call("fileops/undo", {"edit_id": loss_id})
        is_stored = name == "a.txt"
        assert (undone["error"] is None) is is_stored, undone
        assert path.read_text() == TEXT.replace("line 3\n", "mine 3\n") + ("fresh\n" if is_stored else "")
    assert not any(b"fresh" in file.read_bytes() for file in losses_of(project)) or is_stored


def losses_of(project: Path) -> list[Path]:
    return [*(project.parent / "state").glob("fileops-server/losses/*")]


async def entries_of(person: LspClient, path: Path, n: int) -> list[dict[str, Any]]:
    """The entries of a file, once there are n."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if len(found := await entries(person, path)) >= n:
                return found
            await asyncio.sleep(0.02)


async def test_formatted_write_is_the_sessions_all_the_same(host: HookedHost, project: Path, person: LspClient) -> None:
    """R-COMP-22"""
    path = project / "a.txt"
    await host.read(path)
    assert (await host.edit(path, "line 3\n", "mine 3\n", adds="formatted\n")).reason is None
    entry = await author(person, path)
    assert entry["by"].get("session_id") == "claude-code:s1"
    assert (await host.edit(path, "line 5\n", "mine 5\n")).reason is None  # and it knows what it has written


@pytest.mark.parametrize(
    ("original", "kind"), [("what it replaced", "session"), ("another text", "unsure"), (None, "unsure")]
)
async def test_texts_that_the_host_reports_say_which_write_was_its_own(
    host: HookedHost, project: Path, person: LspClient, original: str | None, kind: str
) -> None:
    """R-COMP-22: a person saved while the host's question was open, and the host wrote other quotes than announced."""
    path = project / "a.txt"
    path.write_text(TEXT.replace("line 3\n", "say \u201cline 3\u201d\n"))
    await host.read(path)
    about = {"tool_name": "Edit", "tool_use_id": "toolu_x"}
    given = {"file_path": str(path), "old_string": 'say "line 3"\n', "new_string": 'say "mine 3"\n'}
    assert await host.hook("PreToolUse", **about, tool_input=given) == {}
    saved = path.read_text().replace("line 20\n", "other 20\n")
    path.write_text(saved)
    await author(person, path)
    path.write_text(saved.replace("\u201cline 3\u201d", "\u201cmine 3\u201d"))
    told = saved if original == "what it replaced" else original
    await host.hook("PostToolUse", **about, tool_input=given, tool_response={"originalFile": told})
    newest = await author(person, path)
    assert newest["by"]["kind"] == kind
    assert (await entries(person, path))[1]["by"]["kind"] == "outside"
    if kind == "session":
        await person.call("fileops/rewind", {"entry_id": newest["entry_id"]})
        assert path.read_text() == saved


async def test_formatted_lines_of_a_host_stay_the_hosts_and_are_undone(
    host: HookedHost, project: Path, person: LspClient
) -> None:
    """R-LOG-3: a formatter, such as a hook of the user's, writes after the host's own tool."""
    path = project / "a.txt"
    await host.read(path)
    assert (await host.edit(path, "line 3\n", "x=[1,2]\n")).reason is None
    written = await author(person, path)
    path.write_text(path.read_text().replace("x=[1,2]", "x = [1, 2]"))
    assert (await author(person, path))["by"]["kind"] == "outside"
    blamed = (await person.call("fileops/blame", {"file_path": str(path)}))["lines"]
    (owned,) = [lines for lines in blamed if lines["entry_id"] is not None]
    assert (owned["first_line"], owned["n_lines"], owned["entry_id"]) == (3, 1, written["entry_id"])
    await person.call("fileops/rewind", {"entry_id": written["entry_id"]})
    assert path.read_text() == TEXT


async def test_what_a_formatter_makes_of_the_hosts_own_text_is_not_the_hosts(
    daemon: SharedDaemon, project: Path, person: LspClient
) -> None:
    """R-COMP-22: Gemini CLI reports the text that it has written."""
    path = project / "a.txt"
    gemini = HookedHost(daemon.state, project, host="gemini")
    given = {"file_path": str(path), "old_string": "line  3\n", "new_string": "mine 3\n", "instruction": "c"}
    about = {"tool_name": "replace", "tool_input": given}
    await gemini.hook("BeforeTool", **about)
    written = TEXT.replace("line 3\n", "mine 3\n")
    path.write_text(written)
    await author(person, path)
    path.write_text(written + "formatted\n")
    await author(person, path)
    response = {"llmContent": "Done.", "returnDisplay": {"originalContent": TEXT, "newContent": written}}
    await gemini.hook("AfterTool", **about, tool_response=response)
    await author(person, path)
    found = await entries(person, path)
    assert [entry["by"].get("session_id") for entry in found] == [None, "gemini-cli:s1"]
    assert [entry["added"] for entry in found] == [1, 1]


# --- a person decides ----------------------------------------------------------------------------------------------


async def test_protected_file_is_decided_before_the_host_writes(
    daemon: SharedDaemon, project: Path, tmp_path: Path
) -> None:
    """R-COMP-17"""
    del tmp_path
    env = project / ".env"
    env.write_text("A=1\n")
    editor = await daemon.editor(project, confirms=True)
    await until_recorded(editor, project)
    host = HookedHost(daemon.state, project)
    replies = iter([{"outcome": "proceed_once"}, {"outcome": "cancel"}])

    async def confirm(_params: Any) -> Any:
        return next(replies)

    editor.answers["fileops/confirmEdit"] = confirm
    await host.read(env)
    assert (await host.edit(env, "A=1", "A=2")).reason is None
    assert env.read_text() == "A=2\n"
    refused = await host.edit(env, "A=2", "A=3")
    assert refused.reason is not None and refused.reason.startswith("A person rejected this change.")
    assert env.read_text() == "A=2\n"
    assert (await entries(editor, env))[0]["kept"] is True


async def test_protected_file_is_asked_about_by_the_host_if_nobody_else_can(
    daemon: SharedDaemon, project: Path
) -> None:
    """R-COMP-17"""
    env = project / ".env"
    env.write_text("A=1\n")
    host = HookedHost(daemon.state, project)
    asked = await host.edit(env, "A=1", "A=2")
    assert asked.is_asked and asked.reason == f"{env} is a file that a person decides about."
    codex = HookedHost(daemon.state, project, host="codex")
    patch = "*** Begin Patch\n*** Update File: .env\n@@\n-A=1\n+A=2\n*** End Patch\n"
    denied = await codex.call("apply_patch", {"command": patch}, lambda: None)
    assert denied.reason is not None and "Nobody could be asked. Nothing was written" in denied.reason


# --- patches -------------------------------------------------------------------------------------------------------


async def test_patch_that_deletes_renames_and_creates_is_recorded_as_the_sessions(
    daemon: SharedDaemon, project: Path, person: LspClient
) -> None:
    """R-COMP-16, R-COMP-21"""
    for name in ("gone.txt", "old.txt"):
        (project / name).write_text(f"{name}\nsecond\n")
    await until_recorded(person, project)
    codex = HookedHost(daemon.state, project, host="codex")
    patch = (
        "*** Begin Patch\n*** Delete File: gone.txt\n*** Update File: old.txt\n*** Move to: new.txt\n@@\n-second\n"
        "+changed\n*** Add File: added.txt\n+added\n*** End Patch\n"
    )

    def work() -> dict[str, Any]:
        (project / "gone.txt").unlink()
        (project / "new.txt").write_text("old.txt\nchanged\n")
        (project / "old.txt").unlink()
        (project / "added.txt").write_text("added\n")
        return {"output": "Success."}

    assert (await codex.call("apply_patch", {"command": patch}, work)).reason is None
    for name in ("gone.txt", "old.txt", "new.txt", "added.txt"):
        entry = await author(person, project / name)
        assert entry["by"].get("session_id") == "codex-mcp-client:s1", name


async def test_deletion_of_a_file_that_changed_since_it_was_read_is_refused(
    daemon: SharedDaemon, project: Path, person: LspClient
) -> None:
    """R-COMP-16"""
    del person
    path = project / "a.txt"
    host = HookedHost(daemon.state, project)
    await host.read(path)
    path.write_text(TEXT + "fresh\n")
    patch = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"
    refused = await host.call("apply_patch", {"input": patch}, lambda: None)
    assert refused.reason is not None and "It was not deleted. Read it again" in refused.reason


async def test_agent_is_told_once_that_its_folder_is_not_recorded(
    daemon: SharedDaemon, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home folder is none that is recorded."""
    monkeypatch.setenv("HOME", str(project))
    host, path = HookedHost(daemon.state, project), project / "a.txt"
    assert "does not record" not in (await host.read(path)).context
    assert "does not record this folder" in (await host.edit(path, "line 3\n", "mine 3\n")).context
    assert "does not record" not in (await host.edit(path, "line 5\n", "mine 5\n")).context


# --- calls that the host itself refused ----------------------------------------------------------------------------


async def test_call_that_the_host_refused_is_helped_after_its_batch(host: HookedHost, project: Path) -> None:
    """R-COMP-25"""
    path = project / "a.txt"
    await host.read(path)
    path.write_text(TEXT.replace("line 7\n", "other 7\n"))
    call = {
        "tool_name": "Edit",
        "tool_input": {"file_path": str(path), "old_string": "line 7\n", "new_string": "mine 7\n"},
        "tool_use_id": "toolu_9",
        "tool_response": "<tool_use_error>String to replace not found in file.\nString: line 7</tool_use_error>",
    }
    said = await host.hook("PostToolBatch", tool_calls=[call])
    assert "+other 7" in said["hookSpecificOutput"]["additionalContext"]


# --- sessions, bad input, limits -----------------------------------------------------------------------------------


async def test_client_that_attaches_later_shares_what_the_session_has_read(
    host: HookedHost, daemon: SharedDaemon, project: Path
) -> None:
    """R-COMP-6"""
    path = project / "a.txt"
    await host.read(path)
    agent = await daemon.host(project, "claude-code", hints={"session": "s1"})
    edited = await agent.tool("Edit", file_path=str(path), old_string="line 3\n", new_string="mine 3\n")
    assert not edited.get("isError"), edited
    path.write_text(path.read_text().replace("line 20\n", "other 20\n"))
    refused = await host.edit(path, "line 19\n", "mine 19\n")
    assert refused.reason is not None and "+other 20" in refused.reason


async def test_turn_that_began_before_the_client_of_its_host_attached_has_the_edits(
    daemon: SharedDaemon, project: Path, person: LspClient
) -> None:
    """opencode tells of the prompt before it starts our server, to which it gives no id."""
    host, hook = (
        HookedHost(daemon.state, project, host="opencode", session="ses_1"),
        Hook("opencode", "ses_1", os.getpid()),
    )
    path = project / "a.txt"
    await host.hook("UserPromptSubmit", prompt="Please edit")
    await daemon.state.record(hook, {"what": "begin_turn", "cwd": str(project), "title": "Please edit"})
    await daemon.host(project, "opencode")
    call = {"tool_name": "edit", "tool_use_id": "c1", "tool_input": {
        "filePath": str(path), "oldString": "line 3\n", "newString": "mine 3\n",
    }}  # fmt: skip
    await host.hook("PreToolUse", **call)
    path.write_text(TEXT.replace("line 3\n", "mine 3\n"))
    await host.hook("PostToolUse", **call, tool_response="Edit applied successfully.")
    await daemon.state.record(hook, {"what": "end_turn"})
    entry = await author(person, path)
    (turn,) = (await person.call("fileops/turns", {}))["turns"]
    assert (turn["turn_id"], turn["title"]) == (entry["turn_id"], "Please edit")
    assert (turn["label"], turn["ended"] is None, turn["n_entries"]) == ("opencode", False, 1)
    assert [guard["label"] for guard in daemon.state.describe_guarded()] == ["opencode"]


@pytest.mark.parametrize(
    ("sessions", "is_in_its_folder", "is_taken"),
    [(["ses_1"], True, True), (["ses_1", "ses_2"], True, False), (["ses_1"], False, False)],
    ids=["one", "two sessions", "another folder"],
)
async def test_client_without_an_id_takes_the_session_of_hooks_only_if_it_can_be_no_other(
    daemon: SharedDaemon, project: Path, person: LspClient, sessions: list[str], is_in_its_folder: bool, is_taken: bool
) -> None:
    """One process of opencode may serve several sessions, and several folders."""
    path, folder = project / "a.txt", project if is_in_its_folder else project.parent
    for session in sessions:
        await HookedHost(daemon.state, folder, host="opencode", session=session).hook("UserPromptSubmit", prompt="Edit")
    agent = await daemon.host(project, "opencode")
    await agent.tool("Read", file_path=str(path))
    await agent.tool("Edit", file_path=str(path), old_string="line 3\n", new_string="mine 3\n")
    entry = await author(person, path)
    assert (entry["by"]["session_id"] == "opencode:ses_1") is is_taken


async def test_session_of_hooks_is_listed_and_ends_with_the_session(
    host: HookedHost, daemon: SharedDaemon, project: Path, person: LspClient
) -> None:
    """R-COMP-6"""
    await host.read(project / "a.txt")

    async def connected() -> list[str]:
        listed = await person.call("fileops/sessions", {})
        return [session["session_id"] for session in listed["sessions"] if session["connected"]]

    assert "claude-code:s1" in await connected()
    assert daemon.state.n_hooked() == 1
    await host.hook("SessionEnd")
    assert "claude-code:s1" not in await connected()
    assert daemon.state.n_hooked() == 0


async def test_session_of_hooks_ends_with_the_hosts_process(
    daemon: SharedDaemon, project: Path, person: LspClient
) -> None:
    """R-COMP-6"""
    del person
    program, pid = program_with_a_hook()
    await daemon.state.companion(Hook("claude", "s9", pid), {"event": "start", "cwd": str(project)})
    daemon.state.hooked.end_lost()
    assert daemon.state.n_hooked() == 1
    await asyncio.to_thread(program.communicate)
    daemon.state.hooked.end_lost()
    assert daemon.state.n_hooked() == 0


async def test_status_names_no_session_whose_host_has_just_ended(daemon: SharedDaemon, project: Path) -> None:
    """R-COMP-33"""
    program, pid = program_with_a_hook()
    await daemon.state.companion(Hook("claude", "s9", pid), {"event": "start", "cwd": str(project)})
    assert [session["pid"] for session in daemon.state.describe_guarded()] == [program.pid]
    await asyncio.to_thread(program.communicate)
    assert daemon.state.describe_guarded() == []


def program_with_a_hook() -> tuple["subprocess.Popen[bytes]", int]:
    """Start a host that runs a hook until its input ends. Returns the hook's process, too."""
    script = """if True:
        import subprocess, sys
        hook = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        print(hook.pid, flush=True)
        sys.stdin.read()
        hook.kill()
    """
    program = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout is not None
    return program, int(program.stdout.readline())


async def test_session_of_hooks_ends_if_nothing_was_heard_of_it_for_half_an_hour(
    host: HookedHost, daemon: SharedDaemon, project: Path
) -> None:
    """R-COMP-6"""
    hooked, began = daemon.state.hooked, time.monotonic()
    await host.read(project / "a.txt")
    hooked.now = lambda: began + QUIET_S - 1
    hooked.end_lost()
    assert daemon.state.n_hooked() == 1
    await host.read(project / "a.txt")
    hooked.now = lambda: began + 2 * QUIET_S - 2
    hooked.end_lost()
    assert daemon.state.n_hooked() == 1
    hooked.now = lambda: began + 2 * QUIET_S
    hooked.end_lost()
    assert daemon.state.n_hooked() == 0


async def test_newest_call_counts_if_the_host_gives_its_calls_no_ids(
    daemon: SharedDaemon, project: Path, person: LspClient
) -> None:
    """R-COMP-5a"""
    path = project / "a.txt"
    gemini = HookedHost(daemon.state, project, host="gemini")
    for n in (3, 5):
        given = {"file_path": str(path), "old_string": f"line {n}\n", "new_string": f"mine {n}\n"}
        await gemini.hook("BeforeTool", tool_name="replace", tool_input=given)
    path.write_text(TEXT.replace("line 3\n", "mine 3\n"))
    assert (await author(person, path))["by"]["kind"] == "outside"
    path.write_text(path.read_text().replace("line 5\n", "mine 5\n"))
    newest = (await entries_of(person, path, 2))[0]
    assert (newest["by"].get("session_id"), newest["evidence"]) == ("gemini-cli:s1", "commit")


async def test_call_that_failed_is_announced_no_longer(host: HookedHost, project: Path, person: LspClient) -> None:
    """R-COMP-20"""
    path = project / "a.txt"
    await host.read(path)
    assert (await host.call("Edit", edit_of(path), lambda: None)).reason is None
    path.write_text(TEXT.replace("line 3\n", "mine 3\n"))
    assert (await author(person, path))["by"]["kind"] == "outside"


def edit_of(path: Path) -> dict[str, Any]:
    return {"file_path": str(path), "old_string": "line 3\n", "new_string": "mine 3\n"}


async def test_large_file_is_checked_and_not_announced(host: HookedHost, project: Path, daemon: SharedDaemon) -> None:
    """R-COMP-31"""
    path = project / "large.txt"
    path.write_text("x" * 99 + "\n" + ("y" * 99 + "\n") * 50_000)
    about = {"tool_name": "Edit", "tool_use_id": "toolu_1"}
    given = {"file_path": str(path), "old_string": "x" * 99, "new_string": "z"}
    assert await host.hook("PreToolUse", **about, tool_input=given) == {}
    parts = daemon.state.parts(SETTINGS, print, "mtime", daemon.state.hub.router)
    assert not parts.workspace.announced.has_any
    await host.hook("PreToolUse", **about, tool_input={**edit_of(project / "a.txt")})
    assert parts.workspace.announced.has_any


BAD_BODIES: list[dict[str, Any]] = [
    {},
    {"event": "paint"},
    {"event": "before", "calls": [{"kind": "read", "path": "relative"}]},
    {"event": "before", "calls": [{"kind": "edit", "path": "/a", "edits": []}]},
    {"event": "before", "calls": "all"},
]


@pytest.mark.parametrize("body", BAD_BODIES)
async def test_body_that_is_not_a_report_is_refused(daemon: SharedDaemon, body: dict[str, Any]) -> None:
    """R-COMP-5"""
    with pytest.raises(BadRequest):
        await daemon.state.companion(Hook("claude", "s1", os.getpid()), body)


@pytest.mark.parametrize("data", [b"", b"x", pack({"a": 1})[:-3], zlib.compress(b"[1]"), zlib.compress(b"nothing")])
def test_body_is_deflated_json_of_a_limited_size(data: bytes) -> None:
    """R-COMP-5"""
    if data:
        with pytest.raises(BadBody):
            unpack(data)
    else:
        assert unpack(data) == {}
    assert unpack(pack({"text": "\ud800é" * 1000})) == {"text": "\ud800é" * 1000}


# --- subagents -----------------------------------------------------------------------------------------------------


async def test_what_one_subagent_has_read_the_other_has_not(
    host: HookedHost, daemon: SharedDaemon, project: Path, person: LspClient
) -> None:
    """R-COMP-32: one edits, the other writes the whole text that it read before."""
    path = project / "a.txt"
    one = HookedHost(daemon.state, project, more={"agent_id": "a1", "agent_type": "Explore"})
    other = HookedHost(daemon.state, project, more={"agent_id": "a2", "agent_type": "Plan"}, n_calls=50)
    await one.read(path)
    await other.read(path)
    assert (await one.edit(path, "line 3\n", "one 3\n")).reason is None
    entry = await author(person, path)
    assert entry["by"]["session_id"] == "claude-code:s1/a1"
    assert entry["by"]["label"].startswith("Claude Code (Explore)")
    refused = await other.write(path, TEXT.replace("line 20\n", "other 20\n"))
    assert refused.reason is not None and "+one 3" in refused.reason
    assert (await host.write(path, "whole\n")).reason is not None  # the main agent has read nothing


# --- an older text over fresh lines --------------------------------------------------------------------------------


@pytest.mark.parametrize("is_older", [True, False])
async def test_older_text_that_another_program_writes_over_fresh_lines_is_told_and_taken_back(
    daemon: SharedDaemon, project: Path, person: LspClient, *, is_older: bool
) -> None:
    """Such as an editor that saves by itself what it had read before the agent's edit."""
    path = project / "a.txt"
    agent = await daemon.host(project, "claude-code", hints={"session": "s2"}, further_tools=["Undo"])
    await agent.tool("Read", file_path=str(path))
    edited = await agent.tool("Edit", file_path=str(path), old_string="line 3\n", new_string="mine 3\n")
    assert not edited.get("isError"), edited
    mine, theirs = path.read_text(), TEXT.replace("line 20\n", "typed 20\n")
    path.write_text(theirs if is_older else mine.replace("line 20\n", "typed 20\n"))
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if (await author(person, path))["by"]["kind"] == "outside":
                break
            await asyncio.sleep(0.02)
    read = await agent.tool("Read", file_path=str(project / "a.txt"), limit=1)
    said = "\n".join(item["text"] for item in read["content"])
    assert ("wrote an older text over 1 line of your edit" in said) is is_older
    if is_older:
        loss_id = said.partition("fileops-server undo ")[2].partition("`")[0]
        undone = await agent.tool("Undo", edit_id=loss_id)
        assert not undone.get("isError"), undone
        assert path.read_text() == mine.replace("line 20\n", "typed 20\n")
        warned = [params["message"] for method, params in person.notifications if method == "window/showMessage"]
        assert any(loss_id in message for message in warned)
