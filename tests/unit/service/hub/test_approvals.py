"""Approval routing: in which order users are asked, and what happens if none is left. Who: test_who_is_asked.py.

R-ROUTE-2 (modes), R-ROUTE-3 (several editors), R-ROUTE-4 (the question).
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from fileops.lsp import progress
from fileops.mcp import elicitation
from fileops.mcp import options as mcp_options
from fileops.service.review import queue
from support.shared_daemon import LspClient, Refused, SharedDaemon, code_of, editor_capabilities

NO_CONSENT = "This edit needs a person's consent, and this host cannot ask for it. Nothing was written."
CONFIRM = "fileops/confirmEdit"
FORM = "elicitation/create"


async def once(_params: Any) -> Any:
    return {"outcome": "proceed_once"}


async def never(_params: Any) -> Any:
    await asyncio.Event().wait()


def answers(outcome: object) -> Any:
    async def answer(_params: Any) -> object:
        return outcome

    return answer


def edit_of(file: Path, old: str = "two", new: str = "2") -> dict[str, str]:
    return {"file_path": str(file), "old_string": old, "new_string": new}


async def asked_editor(daemon: SharedDaemon, file: Path, answer: Any, **options: Any) -> LspClient:
    options.setdefault("review_grace_s", 0)
    editor = await daemon.editor(file.parent, confirms=True, **options)
    editor.answers[CONFIRM] = answer
    return editor


@pytest.fixture
def protected(file: Path) -> Path:
    path = file.parent / ".env"
    path.write_text("one\ntwo\n")
    return path


async def test_edit_that_nobody_can_decide_is_refused_with_the_reason(daemon: SharedDaemon, protected: Path) -> None:
    host = await daemon.host(protected.parent)
    await host.tool("Read", file_path=str(protected))
    result = await host.tool("Edit", **edit_of(protected))
    assert code_of(result) == "consent_unavailable"
    assert NO_CONSENT in result["content"][-1]["text"]


async def test_protected_allow_lifts_the_refusal(daemon: SharedDaemon, protected: Path) -> None:
    host = await daemon.host(protected.parent, protected="allow")
    await host.tool("Read", file_path=str(protected))
    assert code_of(await host.tool("Edit", **edit_of(protected))) is None


async def test_editor_is_shown_which_session_asks(daemon: SharedDaemon, file: Path) -> None:
    editor = await asked_editor(daemon, file, once)
    host = await daemon.host(file.parent, "claude-code", hints={"session": "af9f"})
    await host.tool("Read", file_path=str(file))
    await host.tool("Edit", **edit_of(file))
    question = await editor.question()
    assert question["session_id"] == "claude-code:af9f"
    assert question["session"] == {
        "session_id": "claude-code:af9f", "host": "claude-code", "label": "Claude Code",
    }  # fmt: skip
    await editor.read(file)
    await editor.edit(file, "one", "1")
    assert "session" not in await editor.question(2)


async def test_first_decision_counts_and_the_other_question_is_withdrawn(daemon: SharedDaemon, file: Path) -> None:
    slow, fast = (
        await asked_editor(daemon, file, never),
        await asked_editor(daemon, file, answers({"outcome": "cancel"})),
    )
    agent = await daemon.agent(file.parent)
    await agent.read(file)
    assert code_of(await agent.edit(file, "two", "2")) == "rejected"
    await slow.until(lambda: len(slow.withdrawn) == 1)
    assert [len(slow.asked), len(fast.asked)] == [1, 1]
    assert "two" in file.read_text()


async def test_malformed_decision_excludes_its_editor_and_decides_nothing(daemon: SharedDaemon, file: Path) -> None:
    await asked_editor(daemon, file, answers({"outcome": "yes"}))
    agent = await daemon.agent(file.parent)
    await agent.read(file)
    assert code_of(await agent.edit(file, "two", "2")) == "undecided"
    await asked_editor(daemon, file, once)
    assert code_of(await agent.edit(file, "two", "2")) is None


@pytest.mark.parametrize(("is_protected", "elicits", "code"), [
    (False, False, "undecided"), (False, True, None), (True, True, None), (True, False, "undecided"),
])  # fmt: skip
async def test_question_of_an_editor_that_disconnects_goes_to_the_next(
    daemon: SharedDaemon, file: Path, protected: Path, is_protected: bool, elicits: bool, code: str | None
) -> None:
    editor = await asked_editor(daemon, file, never)
    host = await daemon.host(file.parent, elicits=elicits)
    host.answers[FORM] = answers({"action": "accept", "content": {"decision": "apply"}})
    path = protected if is_protected else file
    await host.tool("Read", file_path=str(path))
    editing = host.start_tool("Edit", **edit_of(path))
    await editor.question()
    await editor.hang_up()
    assert code_of(await editing) == code
    assert len(host.asked) == elicits


@pytest.mark.parametrize(("is_protected", "code"), [(False, None), (True, "consent_unavailable")])
async def test_lsp_agent_without_an_editor_edits_unprotected_files_only(
    daemon: SharedDaemon, file: Path, protected: Path, is_protected: bool, code: str | None
) -> None:
    agent = await daemon.agent(file.parent)
    path = protected if is_protected else file
    await agent.read(path)
    assert code_of(await agent.edit(path, "two", "2")) == code


async def test_strictest_editor_mode_applies_and_always_ends_the_questions(daemon: SharedDaemon, file: Path) -> None:
    loose = await asked_editor(daemon, file, never, ask="never")
    strict = await asked_editor(daemon, file, answers({"outcome": "proceed_always"}), ask="each_edit")
    host = await daemon.host(file.parent)
    await host.tool("Read", file_path=str(file))
    assert code_of(await host.tool("Edit", **edit_of(file))) is None
    assert [len(loose.asked), len(strict.asked)] == [1, 1]
    assert code_of(await host.tool("Edit", **edit_of(file, "one", "1"))) is None
    assert [len(loose.asked), len(strict.asked)] == [1, 1]
    (session,) = (await strict.call("fileops/sessions"))["sessions"]
    assert session["approval_mode"] == "auto_edit"


@pytest.fixture
def git_folder(file: Path) -> Path:
    """A protected folder in the project, in which an agent was started."""
    folder = file.parent / ".git"
    folder.mkdir()
    (folder / "config").write_text("one\ntwo\n")
    return folder


@pytest.mark.parametrize("protocol", ["lsp", "mcp"])
async def test_folder_of_an_agent_lifts_no_protection(daemon: SharedDaemon, git_folder: Path, protocol: str) -> None:
    """R-ROUTE-6: without an editor the whole path counts, for any folder of the agent."""
    path = git_folder / "config"
    if protocol == "lsp":
        agent = await daemon.agent(git_folder)
        await agent.read(path)
        refused = await agent.edit(path, "two", "2")
    else:
        host = await daemon.host(git_folder)
        await host.tool("Read", file_path=str(path))
        refused = await host.tool("Edit", **edit_of(path))
    assert code_of(refused) == "consent_unavailable"
    assert "2" not in path.read_text()


# the folders of editors, in the project -> how often one is asked
OPENED = [(["."], 1), ([".git"], 0), ([".git", "."], 2), (["elsewhere"], 0)]


@pytest.mark.parametrize(("opened", "n_asked"), OPENED)
async def test_protection_counts_below_the_folders_of_the_editors_concerned(
    daemon: SharedDaemon, git_folder: Path, opened: list[str], n_asked: int
) -> None:
    editors: list[LspClient] = []
    for folder in opened:
        editor = await daemon.editor(git_folder.parent / folder, confirms=True, ask="protected")
        editor.answers[CONFIRM] = never
        editors.append(editor)
    host = await daemon.host(git_folder)
    path = git_folder / "config"
    await host.tool("Read", file_path=str(path))
    editing = host.start_tool("Edit", **edit_of(path))
    if n_asked:
        for editor in editors:
            await editor.question()
        editing.cancel()
    else:
        assert code_of(await editing) == ("consent_unavailable" if opened == ["elsewhere"] else None)
    assert sum(len(editor.asked) for editor in editors) == n_asked


async def test_whole_path_counts_once_the_editor_of_its_folder_has_left(daemon: SharedDaemon, git_folder: Path) -> None:
    editor = await daemon.editor(git_folder, confirms=True, review_grace_s=0)
    editor.answers[CONFIRM] = never
    agent = await daemon.agent(git_folder)
    path = git_folder / "config"
    await agent.read(path)
    editing = agent.start_edit(path, "two", "2")
    await editor.question()
    await editor.hang_up()
    assert code_of(await editing) == "undecided"


# whether the editor can be asked, its option `ask`, the agent's --approve -> how often it is asked, and the outcome
LIFTS = [
    (True, "never", "person", 0, None),  # the person's own decision, protected files included
    (True, "protected", "person", 1, "rejected"),
    (True, "never", "host", 1, "rejected"),
    (True, "never", "ask", 1, "rejected"),
    (False, "never", "person", 0, "consent_unavailable"),
    (False, "never", "host", 0, "consent_unavailable"),
    (False, "never", "ask", 0, "consent_unavailable"),
]


@pytest.mark.parametrize(("confirms", "stated", "approve", "n_asked", "code"), LIFTS)
async def test_protection_is_lifted_only_by_an_editor_that_could_be_asked(
    daemon: SharedDaemon,
    file: Path,
    protected: Path,
    confirms: bool,
    stated: str,
    approve: str,
    n_asked: int,
    code: str | None,
) -> None:
    editor = await daemon.editor(file.parent, confirms=confirms, ask=stated)
    editor.answers[CONFIRM] = answers({"outcome": "cancel"})
    host = await daemon.host(file.parent, approve=approve)
    await host.tool("Read", file_path=str(protected))
    assert code_of(await host.tool("Edit", **edit_of(protected))) == code
    assert len(editor.asked) == n_asked


async def test_agent_with_yolo_in_its_own_options_lifts_no_protection(
    daemon: SharedDaemon, file: Path, protected: Path
) -> None:
    agent = await daemon.agent(file.parent, ask="never", approval_mode="yolo")
    await agent.read(protected)
    assert code_of(await agent.edit(protected, "two", "2")) == "consent_unavailable"


async def mode_of(client: LspClient) -> str:
    return (await client.call("fileops/approvalMode"))["mode"]


async def set_mode(client: LspClient, mode: str) -> int | None:
    """The code of the refusal, None if the mode was set."""
    try:
        await client.call("fileops/setApprovalMode", {"mode": mode})
    except Refused as refused:
        return refused.args[0]
    return None


@pytest.mark.parametrize("own", ["yolo", "auto_edit", "default"])
async def test_agent_cannot_loosen_its_mode_by_its_options(
    daemon: SharedDaemon, file: Path, protected: Path, own: str
) -> None:
    """R-HUB-1: it is compared with the mode that holds, not with what the agent says of itself."""
    agent = await daemon.agent(file.parent, approval_mode=own)
    assert await mode_of(agent) == "auto_edit"
    assert await set_mode(agent, "yolo") == -32602
    await agent.read(protected)
    assert code_of(await agent.edit(protected, "two", "2")) == "consent_unavailable"
    editor = await asked_editor(daemon, file, answers({"outcome": "cancel"}))
    assert await mode_of(agent) == "default"
    assert await set_mode(agent, "auto_edit") == -32602
    await agent.read(file)
    assert code_of(await agent.edit(file, "two", "2")) == "rejected"
    assert len(editor.asked) == 1


async def test_mode_that_an_agent_demands_never_loosens_what_holds_later(daemon: SharedDaemon, file: Path) -> None:
    agent = await daemon.agent(file.parent)
    assert await set_mode(agent, "auto_edit") is None  # as strict as what holds, as long as there is no editor
    editor = await asked_editor(daemon, file, answers({"outcome": "cancel"}))
    await agent.read(file)
    assert code_of(await agent.edit(file, "two", "2")) == "rejected"
    assert len(editor.asked) == 1


async def test_agent_may_demand_more_questions_until_a_user_decides_otherwise(daemon: SharedDaemon, file: Path) -> None:
    editor = await asked_editor(daemon, file, answers({"outcome": "proceed_always"}), ask="protected")
    agent = await daemon.agent(file.parent)
    assert await set_mode(agent, "default") is None
    assert await set_mode(agent, "auto_edit") == -32602
    await agent.read(file)
    for old, new in (("one", "1"), ("two", "2")):
        assert code_of(await agent.edit(file, old, new)) is None
    assert len(editor.asked) == 1
    assert await mode_of(agent) == "auto_edit"
    await editor.call("fileops/setApprovalMode", {"session_id": "bot-1", "mode": "yolo"})
    assert await mode_of(agent) == "yolo"


async def test_agent_that_demands_every_question_ends_what_always_has_allowed(daemon: SharedDaemon, file: Path) -> None:
    editor = await asked_editor(daemon, file, answers({"outcome": "proceed_always"}))
    agent = await daemon.agent(file.parent)
    await agent.read(file)
    assert code_of(await agent.edit(file, "one", "1")) is None
    assert (await mode_of(agent), len(editor.asked)) == ("auto_edit", 1)
    assert await set_mode(agent, "default") is None
    assert await mode_of(agent) == "default"
    assert code_of(await agent.edit(file, "two", "2")) is None
    assert len(editor.asked) == 2


async def test_editor_that_wants_each_edit_is_not_asked_where_the_host_decides(
    daemon: SharedDaemon, file: Path
) -> None:
    editor = await asked_editor(daemon, file, answers({"outcome": "cancel"}), ask="each_edit")
    host = await daemon.host(file.parent, approve="host")
    await host.tool("Read", file_path=str(file))
    assert code_of(await host.tool("Edit", **edit_of(file))) is None
    assert editor.asked == []


# --- "always" ------------------------------------------------------------------------------------------------------


ALWAYS_IN_THE_HOST = {"action": "accept", "content": {"decision": "apply and stop asking"}}


@pytest.mark.parametrize(("approve", "first"), [("ask", "notes.txt"), ("person", ".env")])
async def test_always_in_the_host_silences_no_editor(
    daemon: SharedDaemon, file: Path, protected: Path, approve: str, first: str
) -> None:
    """R-ROUTE-7: it holds where the host is asked, and not for people who were not there."""
    host = await daemon.host(file.parent, elicits=True, approve=approve)
    host.answers[FORM] = answers(ALWAYS_IN_THE_HOST)
    for path in (file, protected):
        await host.tool("Read", file_path=str(path))
    assert code_of(await host.tool("Edit", **edit_of(file.parent / first))) is None
    assert code_of(await host.tool("Edit", **edit_of(file, "one", "1"))) is None
    assert len(host.asked) == 1
    editor = await asked_editor(daemon, file, answers({"outcome": "cancel"}))
    assert code_of(await host.tool("Edit", **edit_of(file, "three", "3"))) == "rejected"
    assert len(editor.asked) == 1
    await editor.hang_up()
    assert code_of(await host.tool("Edit", **edit_of(file, "three", "3"))) is None
    assert len(host.asked) == 1


async def test_always_in_an_editor_holds_in_its_folders_only(
    daemon: SharedDaemon, file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """R-ROUTE-7."""

    async def always(params: Any) -> Any:
        del params
        return {"outcome": "proceed_always"}

    there = tmp_path_factory.mktemp("elsewhere") / "notes.txt"
    there.write_text("one\ntwo\nthree\n")
    here = await asked_editor(daemon, file, always)
    other = await asked_editor(daemon, there, answers({"outcome": "cancel"}))
    host = await daemon.host(file.parent, roots=[str(file.parent), str(there.parent)], approve="ask")
    for path in (file, there):
        await host.tool("Read", file_path=str(path))
    for old, new in (("one", "1"), ("two", "2")):
        assert code_of(await host.tool("Edit", **edit_of(file, old, new))) is None
    assert code_of(await host.tool("Edit", **edit_of(there))) == "rejected"
    assert [len(here.asked), len(other.asked)] == [1, 1]
    modes = [(await editor.call("fileops/sessions"))["sessions"][0]["approval_mode"] for editor in (here, other)]
    assert modes == ["auto_edit", "default"]
    await here.hang_up()
    again = await asked_editor(daemon, file, answers({"outcome": "cancel"}))
    assert code_of(await host.tool("Edit", **edit_of(file, "three", "3"))) is None
    assert again.asked == []
    await again.call("fileops/setApprovalMode", {"session_id": "codex-1", "mode": "default"})
    assert code_of(await host.tool("Edit", **edit_of(file, "2", "two"))) == "rejected"


async def test_always_about_an_open_file_outside_the_folders_holds_for_that_file(
    daemon: SharedDaemon, file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    editor = await daemon.editor(tmp_path_factory.mktemp("elsewhere"), confirms=True)
    editor.answers[CONFIRM] = answers({"outcome": "proceed_always"})
    second = file.parent / "second.txt"
    second.write_text("one\ntwo\n")
    for path in (file, second):
        editor.open(path)
    await editor.call("fileops/tracked")
    agent = await daemon.agent(file.parent)
    for path, n_asked in ((file, 1), (second, 2)):
        await agent.read(path)
        for old, new in (("one", "1"), ("two", "2")):
            await agent.edit(path, old, new)
        assert len(editor.asked) == n_asked


async def test_editor_sets_the_mode_of_a_session(daemon: SharedDaemon, file: Path) -> None:
    editor = await asked_editor(daemon, file, answers({"outcome": "cancel"}))
    agent = await daemon.agent(file.parent)
    await agent.read(file)
    mode = {"session_id": "bot-1", "mode": "yolo"}
    assert await editor.call("fileops/setApprovalMode", mode) == mode
    assert (await agent.notification("fileops/approvalMode")) == {"session_id": "default", "mode": "yolo"}
    assert code_of(await agent.edit(file, "two", "2")) is None
    await editor.call("fileops/setApprovalMode", {**mode, "mode": "default"})
    assert code_of(await agent.edit(file, "one", "1")) == "rejected"


async def test_editor_of_another_folder_is_asked_about_its_open_documents_only(
    daemon: SharedDaemon, file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    editor = await daemon.editor(tmp_path_factory.mktemp("elsewhere"), confirms=True)
    editor.answers[CONFIRM] = answers({"outcome": "cancel"})
    agent = await daemon.agent(file.parent)
    await agent.read(file)
    assert code_of(await agent.edit(file, "two", "2")) is None
    editor.open(file)
    await editor.call("fileops/tracked")
    assert code_of(await agent.edit(file, "one", "1")) == "rejected"


async def test_editor_without_the_plugin_is_asked_by_a_message(daemon: SharedDaemon, file: Path) -> None:
    editor = await daemon.lsp("editor", "helix")
    await editor.initialize(file.parent, options={"review_grace_s": 0, "ask": "each_edit"})
    editor.answers["window/showMessageRequest"] = answers({"title": "Apply"})
    host = await daemon.host(file.parent)
    await host.tool("Read", file_path=str(file))
    assert code_of(await host.tool("Edit", **edit_of(file))) is None
    assert (await editor.question())["message"].startswith("Codex: ")
    editor.answers["window/showMessageRequest"] = answers(None)
    assert code_of(await host.tool("Edit", **edit_of(file, "one", "1"))) == "undecided"


async def test_editor_that_does_not_know_the_question_cannot_ask_at_once(daemon: SharedDaemon, file: Path) -> None:
    """It answers -32601, as the protocol demands. Nothing waits for its return, for a minute in this test."""
    editor = await daemon.lsp("editor", "helix")
    await editor.initialize(file.parent, options={"review_grace_s": 60, "ask": "each_edit"})
    host = await daemon.host(file.parent)
    await host.tool("Read", file_path=str(file))
    async with asyncio.timeout(50):
        first = await host.tool("Edit", **edit_of(file))
        again = await host.tool("Edit", **edit_of(file))
    assert {code_of(first), code_of(again)} == {"consent_unavailable"}
    assert file.read_text() == "one\ntwo\nthree\n"
    assert [method for method, _ in editor.asked] == ["window/showMessageRequest"]


@pytest.mark.parametrize(("editors", "elicits", "told"), [
    (["nvim"], False, " in Neovim"), (["Visual Studio Code"], True, " in VS Code"), (["Lapce"], False, " in Lapce"),
    (["nvim", "helix"], False, " in your editor"), ([], True, ""),
])  # fmt: skip
async def test_progress_of_an_mcp_edit_names_the_deciding_editor(
    daemon: SharedDaemon, file: Path, editors: list[str], elicits: bool, told: str
) -> None:
    for name in editors:
        editor = await daemon.lsp("editor", "editor")
        await editor.initialize(file.parent, name=name, capabilities=editor_capabilities(confirms=True))
        editor.answers[CONFIRM] = once
    host = await daemon.host(file.parent, elicits=elicits, approve="ask")
    host.answers[FORM] = answers({"action": "accept", "content": {"decision": "apply"}})
    await host.tool("Read", file_path=str(file))
    call = {"name": "Edit", "arguments": edit_of(file), "_meta": {"progressToken": "t"}}
    assert code_of(await host.call("tools/call", call)) is None
    messages = [report["message"] for report in host.notified("notifications/progress")]
    assert f"Waiting for your decision{told}" in messages
    assert set(messages) <= {"Working", f"Waiting for your decision{told}"}


async def test_progress_of_an_edit_stops_while_a_person_is_asked_in_another_client(
    daemon: SharedDaemon, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "QUICK_S", 0.05)
    editor = await asked_editor(daemon, file, never)
    program = await daemon.lsp("agent", "bot")
    await program.initialize(file.parent, capabilities={"window": {"workDoneProgress": True}})
    program.answers[types.WINDOW_WORK_DONE_PROGRESS_CREATE] = answers(None)
    editing = program.start_edit(file.parent / "made.txt", "", "made\n")
    await editor.question()
    await program.call("fileops/tools")  # until all that was sent before is here
    if was_begun := bool(program.asked):  # on a busy machine, before anybody was asked
        await program.notification(types.PROGRESS, lambda told: told["value"].get("message") == progress.WAITING)
    # Its timer is checked as often as this one's, which began later.
    timed = program.start("fileops/edit", {**edit_of(file.parent / "timed.txt", "", "x\n"), "workDoneToken": "timed"})
    await program.notification(types.PROGRESS, lambda told: told["token"] == "timed")
    await program.call("fileops/tools")
    assert len(program.asked) == was_begun
    for call in (editing, timed):
        call.cancel()


async def test_cancelled_edit_withdraws_its_questions(daemon: SharedDaemon, file: Path) -> None:
    editors = [await asked_editor(daemon, file, never) for _ in range(2)]
    host = await daemon.host(file.parent)
    await host.tool("Read", file_path=str(file))
    editing = host.start_tool("Edit", **edit_of(file))
    for editor in editors:
        await editor.question()
    host.notify("notifications/cancelled", {"requestId": 3})
    for editor in editors:
        await editor.until(lambda editor=editor: len(editor.withdrawn) == 1)
    editing.cancel()
    assert "two" in file.read_text()


async def test_question_over_the_limit_is_refused_even_after_a_reconnect(
    daemon: SharedDaemon, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Section "Shared daemon", R-ROUTE-4: 32 questions of a session at once. Fewer here."""
    monkeypatch.setattr(queue, "MAX_WAITING", 2)
    editor = await asked_editor(daemon, file, never)
    files = [file.parent / f"{n}.txt" for n in range(3)]
    for path in files:
        path.write_text("two\n")
    first = await daemon.agent(file.parent, session="s")
    for path in files:
        await first.read(path)
    waiting = [first.start_edit(path, "two", "2") for path in files[:2]]
    await editor.question(2)
    assert code_of(await first.edit(files[2], "two", "2")) == "too_many_reviews"
    again = await daemon.agent(file.parent, session="s")  # the same session, over another connection
    assert code_of(await again.edit(files[2], "two", "2")) == "too_many_reviews"
    other = await daemon.agent(file.parent, session="t")
    await other.read(files[2])
    asked = other.start_edit(files[2], "two", "2")
    await editor.question(3)
    for edit in (*waiting, asked):
        edit.cancel()
    await first.hang_up()
    await editor.until(lambda: len(editor.withdrawn) == 2)
    again.start_edit(files[0], "two", "2").cancel()
    await editor.question(4)  # there is room again
    assert [path.read_text() for path in files] == ["two\n"] * 3


async def test_question_of_an_mcp_host_that_times_out_is_a_rejection(
    daemon: SharedDaemon, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mcp_options.McpOptions().settings.approval_timeout_s == 240  # Codex ends calls after 300 s
    monkeypatch.setattr(mcp_options, "APPROVAL_TIMEOUT_S", 0.05)
    editor = await asked_editor(daemon, file, never)
    host = await daemon.host(file.parent)
    await host.tool("Read", file_path=str(file))
    result = await host.tool("Edit", **edit_of(file))
    assert code_of(result) == "approval_timeout"
    await editor.until(lambda: len(editor.withdrawn) == 1)
    assert "2" not in file.read_text()


async def test_question_has_its_whole_time_after_those_before_it_in_the_host(
    daemon: SharedDaemon, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host shows one form at a time. The first here is never answered; the other is, after the time of the first."""
    monkeypatch.setattr(elicitation, "APPROVAL_TIMEOUT_S", 1.0)
    host = await daemon.host(file.parent, elicits=True, approve="ask")
    is_first_over = asyncio.Event()

    async def answer(_params: Any) -> Any:
        if len(host.asked) == 1:
            await asyncio.Event().wait()
        await is_first_over.wait()
        return {"action": "accept", "content": {"decision": "apply"}}

    host.answers[FORM] = answer
    files = [file.parent / f"{n}.txt" for n in range(2)]
    for path in files:
        path.write_text("two\n")
        await host.tool("Read", file_path=str(path))
    edits = [host.start_tool("Edit", **edit_of(path)) for path in files]
    (first,), (second,) = await asyncio.wait(edits, return_when=asyncio.FIRST_COMPLETED)
    is_first_over.set()
    assert code_of(await first) == "approval_timeout"
    assert code_of(await second) is None
    assert sorted(path.read_text() for path in files) == ["2\n", "two\n"]
