"""Sessions of a shared daemon: their names, what outlives a connection, who is notified, and what an agent may do.

R-HUB-1 (roles), R-HUB-2 (names), R-HUB-4 (survival), R-HUB-5 (events), R-HUB-6 (list), R-HUB-7 (documents).
"""

from pathlib import Path
from typing import Any

import pytest

from fileops.attach.handshake import Hook
from fileops.model.events import DidRead
from fileops.model.sessions import MAX_HOST_CHARS, SessionName, host_name
from fileops.service.hub.names import SharedSessionNames, agent_name, program_name
from fileops.service.hub.sessions import KEPT_S, MAX_KEPT, SessionRegistry
from support.shared_daemon import LspClient, Refused, SharedDaemon, code_of, shared_daemon

CLAUDE = {"session": "af9f"}


def did_read(session_id: str) -> DidRead:
    return DidRead(file_path="/f", session_id=SessionName(session_id), timestamp=1.0, size=1, modified=1.0)


@pytest.mark.parametrize(
    ("given", "full_name"), [("default", "bot-1"), ("reviewer", "bot-1/reviewer"), ("bot-1", "bot-1/bot-1")]
)
def test_session_of_a_request_has_one_full_name_and_its_given_local_name(given: str, full_name: str) -> None:
    names = SharedSessionNames("bot-1", lambda name, _own: name == "codex:7")
    assert names.full(given) == names.resolve(given) == full_name
    assert names.local(SessionName(full_name)) == given
    assert names.resolve("codex:7") == names.local(SessionName("codex:7")) == "codex:7"
    assert not names.is_own(SessionName("bot-11"))
    assert names.local_source(f"session:{full_name}") == f"session:{given}"
    assert names.local_source("external") == "external"


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("codex-mcp-client", "codex-mcp-client"),
        ("Code - OSS", "code-oss"),
        ("--a__b--", "a-b"),
        ("x" * (MAX_HOST_CHARS - 1) + " y", "x" * (MAX_HOST_CHARS - 1)),
        ("漢字", ""),
    ],
)
def test_program_name_is_reduced_to_words_and_single_hyphens(program: str, name: str) -> None:
    assert host_name(program) == name


@pytest.mark.parametrize("kind", ["lsp", "mcp option", "hint", "thread", "request"])
async def test_sessions_whose_long_ids_begin_alike_are_separate(daemon: SharedDaemon, file: Path, kind: str) -> None:
    """R-HUB-2: a long id is shortened with a hash, never cut."""
    first_id, second_id = "x" * 200 + "a", "x" * 200 + "b"
    edit = {"file_path": str(file), "old_string": "one", "new_string": "1"}
    if kind == "lsp":
        first, second = [await daemon.agent(file.parent, session=own_id) for own_id in (first_id, second_id)]
        await first.read(file)
        assert code_of(await second.edit(file, "one", "1")) == "not_read"
        assert code_of(await first.edit(file, "one", "1")) is None
    elif kind == "request":
        agent = await daemon.agent(file.parent)
        await agent.read(file, first_id)
        assert code_of(await agent.edit(file, "one", "1", second_id)) == "not_read"
        assert code_of(await agent.edit(file, "one", "1", first_id)) is None
    elif kind == "thread":
        host = await daemon.host(file.parent)
        await host.tool("Read", first_id, file_path=str(file))
        assert code_of(await host.tool("Edit", second_id, **edit)) == "not_read"
        assert code_of(await host.tool("Edit", first_id, **edit)) is None
    else:
        hosts = [
            await daemon.host(file.parent, hints={"session": own_id})
            if kind == "hint"
            else await daemon.host(file.parent, session=own_id)
            for own_id in (first_id, second_id)
        ]
        await hosts[0].tool("Read", file_path=str(file))
        absent = {**edit, "old_string": "a text that is not there"}  # so that no lines are shown, which count as read
        assert code_of(await hosts[1].tool("Edit", **absent)) == "not_read"
        assert code_of(await hosts[0].tool("Edit", **edit)) is None
        await hosts[0].tool("Read", file_path=str(file))
        file.write_text("changed\n")
        assert await daemon.state.notices(Hook("codex", second_id, 0)) == []
        assert len(await daemon.state.notices(Hook("codex", first_id, 0))) == 1


async def test_slash_in_the_id_of_a_session_makes_it_no_part_of_another(daemon: SharedDaemon, file: Path) -> None:
    """R-HUB-2: only a slash that the daemon has put there separates the id of a host from that of a request."""
    short, long = [await daemon.agent(file.parent, session=own, notices="details") for own in ("A", "A/x")]
    host = await daemon.host(file.parent, "bot", hints={"session": "A/x%2F"})
    await long.read(file)
    assert code_of(await short.edit(file, "one", "1", "x")) == "not_read"
    applied = await long.edit(file, "one", "1")
    assert code_of(applied) is None
    assert (await short.call("fileops/history"))["edits"] == []
    for wanted in ({"edit_id": applied["details"]["edit_id"]}, {"session_id": "x"}):
        assert code_of(await short.call("fileops/undo", wanted)) == "undo_conflict"
    await short.read(file, "x")
    assert short.notified("fileops/didEdit") == []
    await host.tool("Read", file_path=str(file))
    names = [session.session_id for session in daemon.state.hub.sessions.all()]
    assert names == ["bot:A%2Fx", "bot:A/x", "bot:A%2Fx%252F"]
    file.write_text("changed\n")
    assert len(await daemon.state.notices(Hook("bot", "A/x", 0))) == 1
    assert len(await daemon.state.notices(Hook("bot", "A/x%2F", 0))) == 1


# --- survival ------------------------------------------------------------------------------------------------------


async def test_session_with_a_host_id_continues_after_a_reconnect(daemon: SharedDaemon, file: Path) -> None:
    first = await daemon.host(file.parent, "claude-code", hints=CLAUDE)
    await first.tool("Read", file_path=str(file))
    await first.hang_up()
    second = await daemon.host(file.parent, "claude-code", hints=CLAUDE)
    assert code_of(await second.tool("Edit", file_path=str(file), old_string="two", new_string="2")) is None
    other = await daemon.host(file.parent, "claude-code", hints={"session": "else"})
    assert code_of(await other.tool("Edit", file_path=str(file), old_string="one", new_string="1")) == "not_read"


async def test_session_without_an_id_is_not_continued_by_the_next_connection(daemon: SharedDaemon, file: Path) -> None:
    first = await daemon.host(file.parent)
    await first.tool("Read", file_path=str(file))
    await first.hang_up()
    second = await daemon.host(file.parent)
    assert code_of(await second.tool("Edit", file_path=str(file), old_string="two", new_string="2")) == "not_read"


async def test_named_session_of_an_lsp_agent_continues_after_a_reconnect(daemon: SharedDaemon, file: Path) -> None:
    first = await daemon.agent(file.parent, session="night")
    await first.read(file, "a")
    await first.hang_up()
    second = await daemon.agent(file.parent, session="night")
    assert code_of(await second.edit(file, "one", "1")) == "not_read"
    assert code_of(await second.edit(file, "one", "1", "a")) is None


@pytest.mark.parametrize(("role", "code"), [("agent", None), ("editor", "not_read")])
async def test_editors_started_in_one_agents_shell_have_separate_sessions(
    daemon: SharedDaemon, file: Path, role: str, code: str | None
) -> None:
    first, second = await daemon.lsp(role, "bot", hints=CLAUDE), await daemon.lsp(role, "bot", hints=CLAUDE)
    for client in (first, second):
        await client.initialize(file.parent, options={"approval_fallback": "none"})
    await first.read(file)
    assert code_of(await second.edit(file, "one", "1")) == code


@pytest.mark.parametrize("given", [None, "s"])
async def test_session_has_its_own_name_in_stats_and_for_the_corrector(
    daemon: SharedDaemon, file: Path, given: str | None
) -> None:
    asked: list[str] = []

    async def correct(params: Any) -> dict[str, str]:
        asked.append(params["session_id"])
        return {"old_string": "two", "new_string": "2"}

    corrects = {"experimental": {"fileops": {"correct_edit": True}}}
    options = {"correction": True, "approval_fallback": "none"}
    editor, agent = await daemon.lsp("editor", "nvim"), await daemon.lsp("agent", "bot")
    for client in (editor, agent):
        client.answers["fileops/correctEdit"] = correct
        await client.initialize(file.parent, capabilities=corrects, options=options)
    for client in (editor, agent):
        await client.read(file, given)
        assert code_of(await client.edit(file, "zwei", "2", given)) is None
        file.write_text("one\ntwo\nthree\n")
    assert asked == [given or "default"] * 2
    for client in (editor, agent):
        stats = await client.call("fileops/stats", {"session_id": given or "default"})
        assert (stats["session_id"], stats["edits"]["applied"]) == (given or "default", 1)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("codex-mcp-client", "Codex"), ("codex", "Codex"), ("claude-code", "Claude Code"),
        ("gemini-cli-mcp-client-fileops", "Gemini CLI"), ("nvim", "Neovim"), ("Visual Studio Code", "VS Code"),
        ("my-bot", "my-bot"), ("opencode", "opencode"),
    ],
)  # fmt: skip
def test_program_has_its_usual_name(program: str, name: str) -> None:
    assert program_name(program) == name


@pytest.mark.parametrize("host", ["nvim", "Neovim", "VS Code", "code-server", "You", "outside"])
def test_agent_that_is_named_as_a_person_is_marked(host: str) -> None:
    assert agent_name(host).endswith(" (agent)")
    assert agent_name("codex-mcp-client") == "Codex"


async def test_agent_named_as_an_editor_is_told_apart_in_the_log(daemon: SharedDaemon, file: Path) -> None:
    editor, agent = await daemon.editor(file.parent, host="nvim"), await daemon.agent(file.parent, host="nvim")
    await agent.read(file)
    edit = await agent.edit(file, "two", "2")
    await editor.call("fileops/undo", {"edit_id": edit["details"]["edit_id"], "approved": True})
    entries = (await editor.call("fileops/log", {}))["entries"]
    assert [entry["by"]["label"] for entry in entries] == ["Neovim", "Neovim (agent)"]


def test_label_has_a_number_if_another_session_has_the_name_and_never_changes() -> None:
    registry = SessionRegistry()
    first = registry.meet(SessionName("codex:1"), "c-1", "codex", "Codex")
    assert (first.label, registry.meet(SessionName("codex:2"), "c-2", "codex", "Codex").label) == ("Codex", "Codex 2")
    registry.disconnect("c-1")
    registry.note(did_read("codex:3"), "c-3", "codex", "Codex")
    registry.drop(SessionName("codex:2"))
    registry.note(did_read("codex:1"), "c-4", "codex", "Codex CLI")
    assert [session.label for session in registry.all()] == ["Codex", "Codex 3"]


def test_session_ends_an_hour_after_its_connection_and_not_before() -> None:
    now = 0.0
    registry = SessionRegistry(lambda: now)
    registry.note(did_read("gone"), "c-1", "c", "c in f")
    registry.note(did_read("here"), "c-2", "c", "c in f")
    registry.disconnect("c-1")
    now = KEPT_S - 1
    assert registry.find_expired() == []
    now = KEPT_S
    assert registry.find_expired() == ["gone"]
    registry.note(did_read("gone"), "c-3", "c", "c in f")
    assert registry.find_expired() == []


def test_session_of_two_connections_is_connected_until_both_have_left() -> None:
    now = 0.0
    registry = SessionRegistry(lambda: now)
    for connection in ("c-1", "c-2", "c-1"):
        registry.note(did_read("c:7"), connection, "c", "c in f")
    registry.disconnect("c-1")  # the one that read last
    assert registry.find_named("c", "7") is not None
    now = KEPT_S
    assert registry.find_expired() == []
    registry.disconnect("c-2")
    assert registry.find_named("c", "7") is None
    assert registry.find_expired() == []
    now = 2 * KEPT_S
    assert registry.find_expired() == ["c:7"]


async def test_sessions_say_whether_they_are_of_the_editors_project(daemon: SharedDaemon, file: Path) -> None:
    elsewhere, inside = file.parent / "elsewhere", file.parent / "here" / "inside"
    for folder in (elsewhere, inside):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("one\n")
        agent = await daemon.host(folder, "codex")
        await agent.tool("Read", file_path=str(folder / "a.txt"))
    agent = await daemon.host(file.parent, "codex")
    await agent.tool("Read", file_path=str(file))
    editor = await daemon.editor(inside.parent)
    sessions = (await editor.call("fileops/sessions"))["sessions"]
    assert [session["in_folders"] for session in sessions if session["host"] == "codex"] == [False, True, True]


async def test_session_continues_when_one_of_its_two_connections_leaves(daemon: SharedDaemon, file: Path) -> None:
    """A host that starts its server again has two for a moment."""
    editor = await daemon.editor(file.parent)
    old, new = [await daemon.host(file.parent, "claude-code", hints=CLAUDE) for _ in range(2)]
    for client in (new, old):
        await client.tool("Read", file_path=str(file))
    await old.hang_up()
    await editor.until(lambda: "claude-code-1" not in {c["name"] for c in daemon.state.describe()})
    (session,) = (await editor.call("fileops/sessions"))["sessions"]
    assert (session["session_id"], session["connected"]) == ("claude-code:af9f", True)
    (described,) = [c for c in daemon.state.describe() if c["role"] == "agent"]
    assert described["sessions"] == ["claude-code:af9f"]
    file.write_text("one\n2\nthree\n")
    assert "+2" in "\n".join(await daemon.state.notices(Hook("claude", "af9f", 0)))
    for n in range(MAX_KEPT):
        daemon.state.hub.sessions.note(did_read(f"s{n}"), "c-1", "c", "c in f")
    daemon.state.hub.sessions.disconnect("c-1")
    daemon.state.hub.end_expired_sessions()
    assert code_of(await new.tool("Read", file_path=str(file))) is None
    await daemon.state.reset(Hook("claude", "af9f", 0))
    assert code_of(await new.tool("Edit", file_path=str(file), old_string="one", new_string="1")) == "not_read"


def test_least_recently_used_sessions_over_the_limit_end() -> None:
    now = 0.0
    registry = SessionRegistry(lambda: now)
    for n in range(MAX_KEPT + 2):
        now = float(n)
        registry.note(did_read(f"s{n}"), f"c-{n}", "c", "c in f")
        registry.disconnect(f"c-{n}")
    assert registry.find_expired() == ["s0", "s1"]


async def test_expired_session_has_read_nothing(daemon: SharedDaemon, file: Path) -> None:
    first = await daemon.host(file.parent, "claude-code", hints=CLAUDE)
    await first.tool("Read", file_path=str(file))
    await first.hang_up()
    record = daemon.state.hub.sessions.get(SessionName("claude-code:af9f"))
    assert record is not None and not record.is_connected
    for n in range(MAX_KEPT):
        daemon.state.hub.sessions.note(did_read(f"s{n}"), "c-1", "c", "c in f")
    daemon.state.hub.sessions.disconnect("c-1")
    daemon.state.hub.end_expired_sessions()
    assert daemon.state.hub.sessions.get(SessionName("claude-code:af9f")) is None
    second = await daemon.host(file.parent, "claude-code", hints=CLAUDE)
    assert code_of(await second.tool("Edit", file_path=str(file), old_string="two", new_string="2")) == "not_read"


async def test_numbered_session_is_not_continued_by_that_of_a_later_daemon(
    file: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-HUB-4: numbers begin again with each daemon, and a persistent history outlives it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    async with shared_daemon() as daemon:
        numbered = await daemon.agent(file.parent, history="persistent")
        named = await daemon.agent(file.parent, session="night")
        for agent, old, new in ((numbered, "one", "1"), (named, "two", "2")):
            await agent.read(file)
            assert code_of(await agent.edit(file, old, new)) is None
    async with shared_daemon() as daemon:
        numbered = await daemon.agent(file.parent, history="persistent")
        named = await daemon.agent(file.parent, session="night")
        editor = await daemon.editor(file.parent)
        newest, oldest = (await editor.call("fileops/history"))["edits"]
        assert [newest["session_id"], oldest["session_id"]] == ["bot:night", "bot-1"]
        assert (await numbered.call("fileops/history"))["edits"] == []
        for wanted in ({"session_id": "default"}, {"edit_id": oldest["edit_id"]}):
            assert code_of(await numbered.call("fileops/undo", wanted)) == "undo_conflict"
        assert code_of(await editor.call("fileops/undo", {"session_id": "bot-1"})) == "undo_conflict"
        assert len((await named.call("fileops/history"))["edits"]) == 1
        assert code_of(await named.call("fileops/undo", {"session_id": "default"})) is None
        assert file.read_text() == "1\ntwo\nthree\n"


# --- events and the list of sessions ---------------------------------------------------------------------------------


async def test_events_reach_their_session_and_the_editors_of_the_file(
    daemon: SharedDaemon, file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    here, opener, far = [await daemon.editor(folder) for folder in (file.parent, elsewhere, elsewhere)]
    agent, bystander = await daemon.agent(file.parent), await daemon.agent(file.parent)
    opener.open(file)
    await opener.call("fileops/tracked")  # the document has arrived
    await agent.read(file, "a")
    assert code_of(await agent.edit(file, "two", "2", "a")) is None
    own = await agent.notification("fileops/didEdit")
    assert own["session_id"] == "a"
    for editor in (here, opener):
        told = await editor.notification("fileops/didEdit")
        assert (told["session_id"], told["edit_id"]) == ("bot-1/a", own["edit_id"])
    for client in (far, bystander):
        await client.read(file)  # its own event comes after those of others
        await client.notification("fileops/didRead")
        assert client.notified("fileops/didEdit") == []


async def test_events_of_a_file_named_through_a_link_reach_the_editors_of_the_file(
    daemon: SharedDaemon, file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """R-HUB-5: only the canonical path decides if a file is in a folder or open, not the session's name for it."""
    links, elsewhere = tmp_path_factory.mktemp("links"), tmp_path_factory.mktemp("elsewhere")
    (links / "project").symlink_to(file.parent)
    link = links / "project" / file.name
    here, opener, far = [await daemon.editor(folder) for folder in (file.parent, elsewhere, elsewhere)]
    opener.open(file)
    await opener.call("fileops/tracked")  # the document has arrived
    first, second = await daemon.agent(links, file.parent), await daemon.agent(file.parent)
    await first.read(link)
    await second.read(file)
    assert code_of(await first.edit(link, "two", "2")) is None
    assert code_of(await second.edit(file, "one", "1")) == "modified_externally"
    await second.read(file)
    assert code_of(await second.edit(file, "one", "1")) is None
    for editor in (here, opener):
        for event in ("fileops/didRead", "fileops/didEdit", "fileops/didBecomeStale"):
            told = await editor.notification(event, lambda params: params["session_id"] == "bot-1")
            assert told["file_path"] == str(link)
    await far.read(file)  # its own event comes after those of others
    await far.notification("fileops/didRead")
    assert [params["session_id"] for params in far.notified("fileops/didRead")] == ["default"]
    assert far.notified("fileops/didEdit") == far.notified("fileops/didBecomeStale") == []


async def test_editor_lists_the_sessions_and_is_notified_of_changes(daemon: SharedDaemon, file: Path) -> None:
    editor = await daemon.editor(file.parent, ask="protected")
    host = await daemon.host(file.parent, "claude-code", hints=CLAUDE)
    await host.tool("Read", file_path=str(file))
    await editor.notification("fileops/didChangeSessions", lambda params: len(params["sessions"]) == 1)
    (session,) = (await editor.call("fileops/sessions"))["sessions"]
    assert session.pop("last_seen") > 0
    assert session == {
        "session_id": "claude-code:af9f", "full_name": "claude-code:af9f",
        "host": "claude-code", "label": "Claude Code", "connected": True, "approval_mode": "auto_edit",
        "n_reads": 1, "n_edits": 0, "in_folders": True,
    }  # fmt: skip
    await host.hang_up()
    await editor.notification(
        "fileops/didChangeSessions", lambda params: not any(entry["connected"] for entry in params["sessions"])
    )


async def test_person_who_undoes_in_an_editor_is_no_session(daemon: SharedDaemon, file: Path) -> None:
    editor = await daemon.editor(file.parent, ask="never")
    host = await daemon.host(file.parent, "claude-code", hints=CLAUDE)
    await host.tool("Read", file_path=str(file))
    await host.tool("Edit", file_path=str(file), old_string="one", new_string="two")
    (edit,) = (await editor.call("fileops/history"))["edits"]
    undone = await editor.call("fileops/undo", {"edit_id": edit["edit_id"], "approved": True})
    assert undone["status"] == "success"
    sessions = (await editor.call("fileops/sessions"))["sessions"]
    assert [session["label"] for session in sessions] == ["Claude Code"]


async def test_listed_session_has_the_same_full_name_for_every_client(daemon: SharedDaemon, file: Path) -> None:
    owner, other = [await daemon.editor(file.parent) for _ in range(2)]
    await owner.call("fileops/read", {"file_path": str(file), "session_id": "writer-1"})
    await other.notification("fileops/didChangeSessions", lambda params: len(params["sessions"]) == 1)
    listed = [(await editor.call("fileops/sessions"))["sessions"][0] for editor in (owner, other)]
    assert [session["session_id"] for session in listed] == ["writer-1", listed[0]["full_name"]]
    assert listed[0]["full_name"] == listed[1]["full_name"] != "writer-1"


async def test_host_has_the_name_of_its_client_info(daemon: SharedDaemon, file: Path) -> None:
    """A host starts a generic command, so the first line of its connection does not know who it is."""
    editor = await daemon.editor(file.parent)
    host = await daemon.mcp(file.parent, "agent")
    await host.begin("Codex CLI", {})
    await host.tool("Read", file_path=str(file))
    await editor.notification("fileops/didChangeSessions", lambda params: len(params["sessions"]) == 1)
    (session,) = (await editor.call("fileops/sessions"))["sessions"]
    assert (session["session_id"], session["host"]) == ("codex-cli-1", "codex-cli")
    assert session["label"] == "Codex"


async def test_capability_names_the_connection_and_the_requests_of_an_editor(daemon: SharedDaemon, file: Path) -> None:
    for role in ("editor", "agent"):
        client = await daemon.lsp(role, "bot")
        block = (await client.initialize(file.parent))["capabilities"]["experimental"]["fileops"]
        assert block["shared"]["role"] == role
        assert block["shared"]["connection"].startswith("bot-")
        assert ("fileops/sessions" in block["requests"]) == (role == "editor")
        assert ("fileops/didChangeSessions" in block["notifications"]) == (role == "editor")


# --- roles -----------------------------------------------------------------------------------------------------------


async def refusal_of(client: LspClient, method: str, params: object) -> int:
    with pytest.raises(Refused) as refused:
        await client.call(method, params)
    return refused.value.args[0]


async def test_agent_cannot_run_commands_list_sessions_or_loosen_its_mode(daemon: SharedDaemon, file: Path) -> None:
    agent = await daemon.agent(file.parent, bash=True, approval_mode="auto_edit")
    assert await refusal_of(agent, "fileops/bash", {"command": "true"}) == -32601
    assert await refusal_of(agent, "fileops/sessions", {}) == -32601
    assert await refusal_of(agent, "fileops/setApprovalMode", {"mode": "yolo"}) == -32602
    stricter = await agent.call("fileops/setApprovalMode", {"mode": "default"})
    assert stricter == {"session_id": "default", "mode": "default"}
    assert await refusal_of(agent, "fileops/setApprovalMode", {"mode": "auto_edit"}) == -32602


async def test_documents_of_an_agent_are_ignored_with_one_warning(daemon: SharedDaemon, file: Path) -> None:
    agent = await daemon.agent(file.parent)
    agent.open(file, "mine\n")
    agent.change(file, "mine again\n", version=2)
    assert "two" in (await agent.read(file))["output"]
    await agent.notification("window/showMessage")
    await agent.read(file)
    assert len(agent.notified("window/showMessage")) == 1


async def test_agent_sees_and_undoes_its_own_edits_only(daemon: SharedDaemon, file: Path) -> None:
    mine, other, editor = await daemon.agent(file.parent), await daemon.agent(file.parent), await daemon.editor()
    for client, old, new in ((mine, "one", "1"), (other, "two", "2")):
        await client.read(file)
        assert code_of(await client.edit(file, old, new)) is None
    (shown,) = (await mine.call("fileops/history"))["edits"]
    assert shown["session_id"] == "default"
    everything = (await editor.call("fileops/history"))["edits"]
    assert [edit["session_id"] for edit in everything] == ["bot-2", "bot-1"]
    foreign = {"edit_id": everything[0]["edit_id"], "approved": True}
    assert code_of(await mine.call("fileops/undo", foreign)) == "undo_conflict"
    assert code_of(await mine.call("fileops/undo", {"session_id": "bot-2"})) == "undo_conflict"
    assert file.read_text() == "1\n2\nthree\n"
    assert code_of(await editor.call("fileops/undo", {"session_id": "bot-2", "approved": True})) is None
    assert code_of(await mine.call("fileops/undo", {"edit_id": shown["edit_id"]})) is None
    assert file.read_text() == "one\ntwo\nthree\n"


# --- documents of several editors ------------------------------------------------------------------------------------


async def test_two_different_unsaved_texts_are_refused_naming_the_editors(daemon: SharedDaemon, file: Path) -> None:
    first, second = await daemon.editor(file.parent), await daemon.editor(file.parent, host="vscode")
    agent = await daemon.agent(file.parent)
    first.open(file, "one\ntyped here\n")
    second.open(file, "one\ntyped there\n")
    for editor in (first, second):
        await editor.call("fileops/tracked")
    await agent.read(file)
    refused = await agent.edit(file, "one", "1")
    assert code_of(refused) == "apply_refused"
    assert "nvim-1 and vscode-1" in refused["error"]["message"]
    await second.hang_up()
    first.answers["workspace/applyEdit"] = lambda params: applied(first, file, "1\ntyped here\n")
    await agent.read(file)
    assert code_of(await agent.edit(file, "one", "1")) is None
    assert file.read_text() == "one\ntwo\nthree\n"


async def applied(editor: LspClient, file: Path, text: str) -> dict[str, bool]:
    editor.change(file, text, version=2)
    return {"applied": True}


async def test_stats_without_a_session_cover_all_clients_for_editors_only(daemon: SharedDaemon, file: Path) -> None:
    """R-STATS-1."""
    editor, agent = await daemon.editor(file.parent), await daemon.agent(file.parent)
    other = await daemon.agent(file.parent)
    for client in (agent, agent, other):
        await client.read(file)
    assert (await editor.call("fileops/stats", {}))["calls"]["fileops/read"] == 3
    assert (await agent.call("fileops/stats", {}))["calls"]["fileops/read"] == 2
    assert (await editor.call("fileops/stats", {"session_id": "bot-2"}))["calls"]["fileops/read"] == 1
