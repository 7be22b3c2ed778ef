"""The switch "ask before each edit": one for all agents of a project, in every editor, over a restart (R-UI-6)."""

from pathlib import Path
from typing import Any

import pytest

from fileops.compose import ask_file
from support.shared_daemon import LspClient, Refused, SharedDaemon, code_of, shared_daemon

CONFIRM, CHANGED = "fileops/confirmEdit", "fileops/didChangeAsk"


async def accepts(_params: Any) -> Any:
    return {"outcome": "proceed_once"}


async def editor_of(daemon: SharedDaemon, *folders: Path, ask: str | None = None) -> LspClient:
    editor = await daemon.editor(*folders, confirms=True, ask=ask)
    editor.answers[CONFIRM] = accepts
    return editor


async def ask_of(editor: LspClient) -> str:
    return (await editor.call("fileops/ask"))["ask"]


async def set_ask(editor: LspClient, ask: str) -> None:
    assert await editor.call("fileops/setAsk", {"ask": ask}) == {"ask": ask}


async def edited(daemon: SharedDaemon, file: Path, host: str = "bot") -> None:
    agent = await daemon.agent(file.parent, host=host)
    await agent.read(file)
    content = file.read_text()
    assert code_of(await agent.edit(file, content, content + "more\n")) is None


async def test_switch_holds_for_the_agents_of_now_and_later_in_every_editor(daemon: SharedDaemon, file: Path) -> None:
    first, second = [await editor_of(daemon, file.parent) for _ in range(2)]
    agent = await daemon.agent(file.parent)
    await agent.read(file)
    assert [await ask_of(first), await ask_of(second)] == ["protected", "protected"]
    assert code_of(await agent.edit(file, "one", "1")) is None
    assert first.asked == second.asked == []

    await set_ask(first, "each_edit")
    assert await second.notification(CHANGED) == {"ask": "each_edit"}
    assert await ask_of(second) == "each_edit"
    assert code_of(await agent.edit(file, "two", "2")) is None
    await edited(daemon, file, "later")
    assert [len(first.asked), len(second.asked)] == [2, 2]

    await set_ask(second, "never")
    await first.notification(CHANGED, lambda params: params == {"ask": "never"})
    protected = file.parent / ".env"
    protected.write_text("A=1\n")
    await edited(daemon, protected, "latest")
    assert len(first.asked) == 2


async def test_switch_replaces_what_was_said_of_single_sessions(daemon: SharedDaemon, file: Path) -> None:
    editor = await editor_of(daemon, file.parent)
    agent = await daemon.agent(file.parent)
    await agent.read(file)
    (session,) = (await editor.call("fileops/sessions"))["sessions"]
    await editor.call("fileops/setApprovalMode", {"session_id": session["session_id"], "mode": "yolo"})
    await set_ask(editor, "each_edit")
    assert code_of(await agent.edit(file, "one", "1")) is None
    assert len(editor.asked) == 1


async def test_switch_is_one_for_the_project_and_no_other(
    daemon: SharedDaemon, file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An editor in a folder of the work tree sets it for all of it."""
    (file.parent / ".git").mkdir()
    (file.parent / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (below := file.parent / "below").mkdir()
    other = tmp_path_factory.mktemp("other")
    whole, part, elsewhere = [await editor_of(daemon, folder) for folder in (file.parent, below, other)]
    await set_ask(part, "each_edit")
    assert await whole.notification(CHANGED) == {"ask": "each_edit"}
    assert await ask_of(elsewhere) == "protected"


async def test_switch_is_kept_over_a_restart(file: Path) -> None:
    async with shared_daemon() as daemon:
        await set_ask(await editor_of(daemon, file.parent), "each_edit")
    async with shared_daemon() as daemon:
        editor = await editor_of(daemon, file.parent, ask="never")
        assert await ask_of(editor) == "each_edit"
        await edited(daemon, file)
        assert len(editor.asked) == 1


async def test_option_of_editors_holds_until_a_person_sets_the_switch(daemon: SharedDaemon, file: Path) -> None:
    editor = await editor_of(daemon, file.parent, ask="each_edit")
    other = await editor_of(daemon, file.parent, ask="never")
    assert [await ask_of(editor), await ask_of(other)] == ["each_edit", "each_edit"]
    await set_ask(other, "never")
    assert await ask_of(editor) == "never"


async def test_switch_is_refused_without_a_folder_and_to_agents(daemon: SharedDaemon, file: Path) -> None:
    for client in (await editor_of(daemon), await daemon.agent(file.parent)):
        with pytest.raises(Refused):
            await client.call("fileops/setAsk", {"ask": "never"})


@pytest.mark.parametrize("content", ["", "[]", "{", '{"/a": "sometimes"}', '{"/a": ["never"]}', "\udcff"])
def test_damaged_file_sets_nothing(content: str) -> None:
    file = Path(ask_file.default_file())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, errors="surrogateescape")
    file.chmod(0o600)
    assert ask_file.read(str(file)) == {}
