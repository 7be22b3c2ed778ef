"""Turns and commands, end to end: whose entry a change becomes, by what its session was doing.

R-TURN-1 to R-TURN-6, R-HOOK-1, R-HOOK-2.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fileops.attach.handshake import Hook
from fileops.record import folder_clients
from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, McpHost, Refused, SharedDaemon, shared_daemon

CODEX, CLAUDE = Hook("codex", "t1", 0), Hook("claude", "c1", 0)


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "p"
    path.mkdir()
    for name in ("a.py", "b.py", "c.py"):
        (path / name).write_text("one\ntwo\nthree\nfour\nfive\nsix\n")
    return path


@pytest.fixture
async def daemon() -> AsyncIterator[SharedDaemon]:
    async with shared_daemon() as daemon:
        yield daemon


@pytest.fixture
async def person(daemon: SharedDaemon, folder: Path) -> LspClient:
    """An editor in the folder, which is recorded from now on."""
    editor = await daemon.editor(folder)
    async with asyncio.timeout(PATIENCE_S):
        while True:
            status = (await editor.call("fileops/recordStatus", {"root": str(folder)}))["folders"]
            if status and status[0]["state"] != "starting" and status[0]["n_to_copy"] == 0:
                return editor
            await asyncio.sleep(0.01)


async def shell(folder: Path, line: str) -> None:
    process = await asyncio.create_subprocess_shell(line, cwd=folder)
    assert await process.wait() == 0


async def entries(client: LspClient, **query: object) -> list[dict[str, Any]]:
    """The log, oldest first."""
    return (await client.call("fileops/log", query))["entries"][::-1]


def authors(found: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(Path(entry["path"]).name, entry["by"]["kind"], entry["by"]["label"]) for entry in found]


async def test_write_of_a_program_is_the_commands_that_was_open_at_the_moment_of_the_write(
    daemon: SharedDaemon, folder: Path, person: LspClient
) -> None:
    """R-TURN-4, R-TURN-5: each line is written as close to an end of the command as a program can."""
    agent = await daemon.agent(folder)
    await shell(folder, "echo before >> a.py")
    label = "cd x && SECRET=1 /usr/bin/python fix.py --all"
    command_id = (await agent.call("fileops/beginCommand", {"command_id": "call-1", "label": label}))["command_id"]
    await shell(folder, "echo inside >> b.py")
    ended = await agent.call("fileops/endCommand", {"command_id": "call-1"})
    await shell(folder, "echo after >> c.py")
    found = await entries(person)
    assert authors(found) == [
        ("a.py", "outside", "outside"), ("b.py", "command", "bot · python fix.py"), ("c.py", "outside", "outside"),
    ]  # fmt: skip
    assert ended == {"command_id": command_id, "entries": [found[1]["entry_id"]], "unsettled": 0}
    assert (found[1]["command_id"], found[1]["evidence"]) == (command_id, "command")
    assert "SECRET" not in json.dumps(found)


async def test_first_command_of_an_agent_whose_folder_is_given_by_a_link_is_recorded(
    daemon: SharedDaemon, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-TURN-4: the command begins when it is known where the link leads, and that is watched."""
    monkeypatch.setattr(folder_clients, "_WATCHED_WITHIN_S", PATIENCE_S)  # a slow machine is not what this is about
    link = folder.with_name("link")
    link.symlink_to(folder)
    agent = await daemon.agent(link)
    begun = await agent.call("fileops/beginCommand", {"label": "make"})
    await shell(folder, "echo inside >> b.py")
    ended = await agent.call("fileops/endCommand", {"command_id": begun["command_id"]})
    assert (begun["recorded"], len(ended["entries"])) == (True, 1)
    (turn,) = (await agent.call("fileops/turns", {"root": str(link)}))["turns"]
    assert turn["n_entries"] == 1


async def test_first_command_of_a_hook_in_a_folder_that_is_not_open_is_recorded(
    daemon: SharedDaemon, folder: Path, person: LspClient
) -> None:
    """R-HOOK-1: an agent may change to another project between two commands."""
    other = folder.with_name("other")
    other.mkdir()
    (other / "d.py").write_text("one\n")
    await daemon.host(folder, "claude-code", hints={"session": "c1"})
    call = {"cwd": str(other), "tool_use_id": "u1"}
    await daemon.state.record(CLAUDE, {"what": "begin_command", "program": "make", **call})
    await shell(other, "echo inside >> d.py")
    await daemon.state.record(CLAUDE, {"what": "end_command", **call})
    editor = await daemon.editor(other)
    assert authors(await entries(editor)) == [("d.py", "command", "Claude Code · make")]


async def test_end_of_a_command_that_is_unknown_or_another_clients_is_refused(
    daemon: SharedDaemon, folder: Path, person: LspClient
) -> None:
    agent = await daemon.agent(folder)
    command_id = (await agent.call("fileops/beginCommand", {}))["command_id"]
    for client, given in ((agent, "c-none"), (person, command_id)):
        with pytest.raises(Refused) as refused:
            await client.call("fileops/endCommand", {"command_id": given})
        assert refused.value.args[0] == -32602
    assert (await agent.call("fileops/endCommand", {"command_id": command_id}))["entries"] == []


async def test_entries_name_their_turn_and_turns_are_listed_with_counts(
    daemon: SharedDaemon, folder: Path, person: LspClient
) -> None:
    """R-TURN-2, R-TURN-3."""
    agent, other = await daemon.agent(folder), await daemon.agent(folder, host="other")
    first = await agent.call("fileops/beginTurn", {"turn_id": "p1", "title": "fix the login test\nand more"})
    assert await agent.call("fileops/beginTurn", {"turn_id": "p1"}) == first
    await agent.read(folder / "a.py")
    await agent.edit(folder / "a.py", "one", "1")
    second = await agent.call("fileops/beginTurn", {"title": "x" * 100})
    await agent.edit(folder / "a.py", "two", "2")
    found = await entries(person)
    assert [entry["turn_id"] for entry in found] == [first["turn_id"], second["turn_id"]]
    assert found[1]["during"] == [second["turn_id"]]
    turns = (await person.call("fileops/turns", {"root": str(folder)}))["turns"]
    assert [(turn["turn_id"], turn["label"], turn["title"]) for turn in turns] == [
        (second["turn_id"], "bot", "x" * 60), (first["turn_id"], "bot", "fix the login test"),
    ]  # fmt: skip
    assert (turns[0]["ended"], turns[1]["ended"] is None, turns[1]["n_entries"], turns[1]["n_files"]) == (
        None, False, 1, 1,
    )  # fmt: skip
    assert (await person.call("fileops/turns", {"limit": 1}))["turns"] == turns[:1]
    assert len((await agent.call("fileops/turns", {}))["turns"]) == 2
    assert (await other.call("fileops/turns", {}))["turns"] == []  # R-HUB-1


async def test_titles_are_not_kept_with_the_option_of_the_first_client(daemon: SharedDaemon, folder: Path) -> None:
    """R-TURN-3: `record_titles`."""
    agent = await daemon.agent(folder, record_titles=False)
    await agent.call("fileops/beginTurn", {"title": "secret"})
    (turn,) = (await agent.call("fileops/turns", {}))["turns"]
    assert turn["title"] is None
    with pytest.raises(Refused, match="record_titles"):
        await daemon.agent(folder, record_titles=True)


async def test_command_of_the_daemon_is_a_command_of_its_session(
    daemon: SharedDaemon, folder: Path, person: LspClient
) -> None:
    """R-TURN-5: `fileops/bash` needs no other requests. R-TURN-6: the label."""
    del person
    editor = await daemon.lsp("editor", "vscode")
    capabilities = {"experimental": {"fileops": {"confirm_command": True}}}
    await editor.initialize(folder, capabilities=capabilities, options={"bash": True, "approval_mode": "yolo"})
    await editor.call("fileops/bash", {"command": "cd . && sed -i s/one/1/ a.py", "cwd": str(folder)})
    (entry,) = await entries(editor)
    assert (entry["by"]["kind"], entry["by"]["label"]) == ("command", "VS Code · sed")


async def test_write_after_a_background_command_is_unsure(
    daemon: SharedDaemon, folder: Path, person: LspClient
) -> None:
    """R-BY-4, for commands in the background and for those whose end no hook reported."""
    await daemon.host(folder, "claude-code", hints={"session": "c1"})
    begin = {"what": "begin_command", "program": "npm start", "background": True, "cwd": str(folder)}
    await daemon.state.record(CLAUDE, begin)
    await daemon.state.record(CLAUDE, {"what": "end_command", "background": True})
    await shell(folder, "echo late >> a.py")
    await daemon.state.record(CLAUDE, {**begin, "program": "make", "background": False})
    await daemon.state.record(CLAUDE, {"what": "end_turn"})
    await shell(folder, "echo later >> b.py")
    found = await entries(person)
    assert [(name, kind) for name, kind, _ in authors(found)] == [("a.py", "unsure"), ("b.py", "unsure")]
    assert found[0]["by"]["candidates"][0]["label"] == "Claude Code · npm start"
    assert "Claude Code · make" in found[1]["by"]["label"]


async def edit(host: McpHost, thread: str | None, file: Path, old: str, new: str) -> None:
    await host.tool("Read", thread, file_path=str(file))
    result = await host.tool("Edit", thread, file_path=str(file), old_string=old, new_string=new)
    assert not result.get("isError")


async def test_user_undoes_what_codex_did_since_lunch_shell_commands_too(
    daemon: SharedDaemon, folder: Path, person: LspClient
) -> None:
    """With Claude Code and Codex in one project, exactly that is undone: the morning, Claude and the user remain."""
    claude = await daemon.host(folder, "claude-code", hints={"session": "c1"})
    codex = await daemon.host(folder, "codex-mcp-client")
    cwd = {"cwd": str(folder)}
    # Before lunch.
    await daemon.state.record(CODEX, {"what": "begin_turn", "turn_id": "1", "title": "the morning", **cwd})
    await edit(codex, "t1", folder / "a.py", "one", "morning")
    await daemon.state.record(CODEX, {"what": "end_turn"})
    # After lunch.
    await daemon.state.record(CODEX, {"what": "begin_turn", "turn_id": "2", "title": "the afternoon", **cwd})
    await daemon.state.record(CLAUDE, {"what": "begin_turn", "turn_id": "p1", "title": "other work", **cwd})
    await edit(codex, "t1", folder / "a.py", "three", "codex")
    await edit(claude, None, folder / "a.py", "six", "claude")
    await daemon.state.record(CODEX, {"what": "begin_command", "tool_use_id": "u1", "program": "python fix.py", **cwd})
    await shell(folder, "sed -i s/two/codex/ b.py && echo codex > new.py && rm c.py")
    await daemon.state.record(CODEX, {"what": "end_command", "tool_use_id": "u1"})
    await daemon.state.record(CLAUDE, {"what": "begin_command", "tool_use_id": "u2", "program": "make", **cwd})
    await shell(folder, "sed -i s/six/claude/ b.py")
    await daemon.state.record(CLAUDE, {"what": "end_command", "tool_use_id": "u2"})
    await daemon.state.record(CODEX, {"what": "begin_turn", "turn_id": "3", "title": "and then", **cwd})
    await edit(codex, "t1", folder / "a.py", "four", "codex again")

    turns = (await person.call("fileops/turns", {}))["turns"]
    (lunch,) = [turn for turn in turns if turn["title"] == "the afternoon"]
    result = await person.call("fileops/rewind", {"since_turn": lunch["turn_id"], "approved": True})

    assert result["error"] is None
    assert (result["details"]["conflicts"], result["details"]["n_left"]) == ([], 0)
    assert (folder / "a.py").read_text() == "morning\ntwo\nthree\nfour\nfive\nclaude\n"
    assert (folder / "b.py").read_text() == "one\ntwo\nthree\nfour\nfive\nclaude\n"
    assert (folder / "c.py").read_text() == "one\ntwo\nthree\nfour\nfive\nsix\n"
    assert not (folder / "new.py").exists()


async def test_session_without_an_id_of_its_host_is_another_one_in_the_next_daemon(folder: Path) -> None:
    """R-HUB-4: it has another name, so what the first one did is not undone with it, nor listed as its turn."""
    texts: list[str] = []
    names: list[str] = []
    for new in ("first", "second"):
        async with shared_daemon() as daemon:
            person = await daemon.editor(folder)
            gemini = await daemon.host(folder, "gemini-cli")
            await edit(gemini, None, folder / "a.py", "one" if new == "first" else "six", new)
            session_id = (await entries(person))[-1]["by"]["session_id"]
            names.append(session_id)
            texts.append((folder / "a.py").read_text())
            turns = (await person.call("fileops/turns", {}))["turns"]
            own_turns = (await person.call("fileops/turns", {"session_id": session_id}))["turns"]
            assert (len(turns), len(own_turns)) == (len(texts), 1)
            if new == "second":
                assert len(await entries(person, session_id=session_id)) == 1
                since = {"since_turn": turns[-1]["turn_id"], "approved": True, "dry_run": True}
                assert (await person.call("fileops/rewind", since))["details"]["n_undone"] == 1
                await person.call("fileops/rewind", {"session_id": session_id, "approved": True})
            assert names == [f"gemini-cli-{n + 1}" for n in range(len(names))]
    assert (folder / "a.py").read_text() == texts[0]
