"""What an agent's own word does not decide: its undo, its folders after a question, and modes of other sessions.

R-HUB-1 (roles), R-HUB-5 (events), R-APPROVE-2 (the check after a decision).
"""

from pathlib import Path
from typing import Any

import pytest

from support.shared_daemon import SharedDaemon, code_of

CONFIRM = "fileops/confirmEdit"


async def test_undo_of_an_agent_is_asked_about_even_if_marked_as_approved(daemon: SharedDaemon, file: Path) -> None:
    agent = await daemon.agent(file.parent)
    await agent.read(file)
    edit_id = (await agent.edit(file, "two", "2"))["details"]["edit_id"]
    editor = await daemon.editor(file.parent, confirms=True)

    async def refuse(_params: Any) -> Any:
        return {"outcome": "cancel"}

    editor.answers[CONFIRM] = refuse
    undone = await agent.call("fileops/undo", {"edit_id": edit_id, "approved": True})
    assert code_of(undone) == "rejected"
    assert [method for method, _ in editor.asked] == [CONFIRM]
    assert file.read_text() == "one\n2\nthree\n"


async def test_undo_of_an_agent_is_its_sessions_even_if_marked_as_approved(daemon: SharedDaemon, file: Path) -> None:
    agent = await daemon.agent(file.parent)
    await agent.read(file)
    await agent.edit(file, "two", "2")
    undone = await agent.call("fileops/undo", {"session_id": "default", "approved": True})
    assert code_of(undone) is None
    history = (await agent.call("fileops/history"))["edits"]
    assert [entry["session_id"] for entry in history] == ["default", "default"]  # a user's undo has no session


async def test_edit_is_refused_if_its_folder_is_closed_while_the_user_decides(daemon: SharedDaemon, file: Path) -> None:
    editor = await daemon.editor(file.parent, confirms=True)
    agent = await daemon.agent(file.parent)

    async def close_the_folder(_params: Any) -> Any:
        folder = {"uri": file.parent.as_uri(), "name": "p"}
        agent.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}})
        await agent.call("fileops/tracked")  # the notification has arrived
        return {"outcome": "proceed_once"}

    editor.answers[CONFIRM] = close_the_folder
    await agent.read(file)
    assert code_of(await agent.edit(file, "two", "2")) == "outside_roots"
    assert len(editor.asked) == 1
    assert file.read_text() == "one\ntwo\nthree\n"


async def test_roots_given_with_the_command_outlast_a_change_of_the_hosts_roots(
    daemon: SharedDaemon, file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other") / "f.txt"
    other.write_text("one\n")
    host = await daemon.mcp(file.parent, roots=[str(file.parent)])

    async def name_other_roots(_params: Any) -> Any:
        return {"roots": [{"uri": other.parent.as_uri()}]}

    host.answers["roots/list"] = name_other_roots
    await host.begin(capabilities={"roots": {"listChanged": True}})
    host.notify("notifications/roots/list_changed", {})
    for path in (file, other):
        await host.tool("Read", file_path=str(path))
    refused = await host.tool("Edit", file_path=str(other), old_string="one", new_string="1")
    assert code_of(refused) == "outside_roots"
    assert code_of(await host.tool("Edit", file_path=str(file), old_string="one", new_string="1")) is None


async def test_change_of_mode_is_reported_to_its_session_alone(daemon: SharedDaemon, file: Path) -> None:
    editor, bystander = [await daemon.editor(file.parent) for _ in range(2)]
    agent, other = [await daemon.agent(file.parent) for _ in range(2)]
    await agent.read(file)
    await editor.call("fileops/setApprovalMode", {"session_id": "bot-1", "mode": "yolo"})
    changed = await agent.notification("fileops/approvalMode")
    assert changed == {"session_id": "default", "mode": "yolo"}
    for client in (editor, bystander, other):
        await client.read(file)  # its own event comes after those of others
        await client.notification("fileops/didRead", lambda params: params["session_id"] == "default")
        assert client.notified("fileops/approvalMode") == []
