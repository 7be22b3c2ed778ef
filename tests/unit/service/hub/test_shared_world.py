"""Clients of one shared daemon: what they share, what becomes of it when one leaves, and R-HUB-8 (settings)."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from support.patience import PATIENCE_S
from support.shared_daemon import Refused, SharedDaemon, code_of, editor_capabilities, shared_daemon


async def test_edit_of_an_mcp_host_makes_the_read_of_an_editor_stale(daemon: SharedDaemon, file: Path) -> None:
    editor, host = await daemon.editor(file.parent), await daemon.host(file.parent)
    await editor.read(file)
    assert code_of(await host.tool("Edit", file_path=str(file), old_string="two", new_string="2")) == "not_read"
    await host.tool("Read", file_path=str(file))
    assert code_of(await host.tool("Edit", file_path=str(file), old_string="two", new_string="2")) is None
    stale = await editor.notification("fileops/didBecomeStale")
    assert (stale["session_id"], stale["source"]) == ("default", "session:codex-1")
    refused = await editor.edit(file, "one", "1")
    assert code_of(refused) == "modified_externally"
    assert refused["details"]["changed_by"] == "codex-1"
    assert file.read_text() == "one\n2\nthree\n"


async def test_editor_is_not_told_what_is_stale_for_an_agent_that_has_left(daemon: SharedDaemon, file: Path) -> None:
    """R-UI-7: it would not be refused, because it edits nothing any more."""
    editor = await daemon.editor(file.parent)
    leaving, staying = [await daemon.agent(file.parent, host=host, session="s") for host in ("left", "here")]
    for agent in (leaving, staying):
        await agent.read(file)
    await leaving.hang_up()
    async with asyncio.timeout(PATIENCE_S):
        while any(
            it["connected"] for it in (await editor.call("fileops/sessions"))["sessions"] if it["host"] == "left"
        ):
            pass
    await editor.read(file)
    assert code_of(await editor.edit(file, "two", "2")) is None
    await editor.notification("fileops/didBecomeStale", lambda params: params["session_id"] == "here:s")
    assert [params["session_id"] for params in editor.notified("fileops/didBecomeStale")] == ["here:s"]


async def test_unnamed_sessions_are_separate(daemon: SharedDaemon, file: Path) -> None:
    first, second = await daemon.agent(file.parent), await daemon.agent(file.parent)
    await first.read(file)
    assert code_of(await second.edit(file, "one", "1")) == "not_read"
    assert code_of(await first.edit(file, "one", "1")) is None


async def test_parallel_edits_of_many_clients_all_apply(daemon: SharedDaemon, file: Path) -> None:
    file.write_text("".join(f"line {n}\n" for n in range(40)))
    editors = [await daemon.editor(file.parent, freshness="content") for _ in range(2)]
    agents = [await daemon.agent(file.parent, freshness="content") for _ in range(3)]

    async def edit_all(client_index: int) -> None:
        client = [*editors, *agents][client_index]
        for n in range(client_index, 40, 5):
            code: str | None = "modified_externally"
            while code == "modified_externally":
                await client.read(file)
                code = code_of(await client.edit(file, f"line {n}\n", f"LINE {n} by {client_index}\n"))
            assert code is None

    await asyncio.gather(*map(edit_all, range(5)))
    assert file.read_text() == "".join(f"LINE {n} by {n % 5}\n" for n in range(40))


async def test_unsaved_text_of_an_editor_is_read_by_an_mcp_host(daemon: SharedDaemon, file: Path) -> None:
    editor, host = await daemon.editor(file.parent), await daemon.host(file.parent)
    editor.open(file, "typed\n")
    await editor.read(file)  # the daemon has handled what was sent before
    result = await host.tool("Read", file_path=str(file))
    assert "typed" in result["content"][0]["text"]
    await editor.hang_up()
    result = await host.tool("Read", file_path=str(file))
    assert "two" in result["content"][0]["text"]


async def test_daemon_continues_after_a_client_disconnects(daemon: SharedDaemon, file: Path) -> None:
    first, second = await daemon.agent(file.parent), await daemon.agent(file.parent)
    await first.read(file)
    await first.call("shutdown")
    first.notify("exit", None)
    assert (await first.ended()).status == 0
    await second.read(file)
    assert code_of(await second.edit(file, "one", "1")) is None


async def test_filesystems_other_than_the_first_clients_are_refused_by_name(
    daemon: SharedDaemon, tmp_path: Path
) -> None:
    await daemon.agent(tmp_path, history="memory")
    late = await daemon.lsp("agent", "bot")
    with pytest.raises(Refused) as refused:
        await late.initialize(tmp_path, options={"filesystems": [{"prefix": "/far", "url": "memory://x"}]})
    assert refused.value.args[0] == -32602
    assert "initializationOptions.filesystems" in str(refused.value.args)
    with pytest.raises(Refused) as refused:
        await late.initialize(tmp_path, options={"history": "persistent"})
    assert "initializationOptions.history" in str(refused.value.args)
    await late.initialize(tmp_path, options={"history": "memory", "filesystems": []})


async def test_client_that_wants_its_history_in_memory_joins_one_that_outlives_the_daemon(
    daemon: SharedDaemon, tmp_path: Path
) -> None:
    await daemon.agent(tmp_path)
    await daemon.agent(tmp_path, history="memory")
    await daemon.agent(tmp_path, history="persistent")


async def test_status_describes_each_connection(daemon: SharedDaemon, file: Path) -> None:
    await daemon.editor(file.parent)
    await daemon.host(file.parent)
    described = daemon.state.describe()
    assert [(entry["name"], entry["role"], entry["protocol"]) for entry in described] == [
        ("nvim-1", "editor", "lsp"), ("codex-1", "agent", "mcp"),
    ]  # fmt: skip


async def test_session_names_are_unique_even_for_hosts_of_equal_name(daemon: SharedDaemon, file: Path) -> None:
    first, second = await daemon.lsp("agent", "bot"), await daemon.lsp("agent", "robot")
    for client in (first, second):
        await client.initialize(file.parent, name="Bot")
    await first.read(file)
    assert code_of(await second.edit(file, "one", "1")) == "not_read"
    assert daemon.state.hub.session_base("bot", "bot-1") not in {"bot-1", "bot-2"}


async def test_telemetry_of_all_clients_continues_after_one_disconnects(
    file: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("opentelemetry.sdk")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    async with shared_daemon() as daemon:
        first, host = await daemon.agent(file.parent), await daemon.host(file.parent)
        await first.read(file)
        await first.hang_up()
        await host.tool("Read", file_path=str(file))
    assert capfd.readouterr().err.count('"name": "fileops/read"') == 2


async def test_disconnected_editor_keeps_no_threads(daemon: SharedDaemon, file: Path) -> None:
    editor, agent = await daemon.editor(file.parent), await daemon.agent(file.parent)

    async def apply(_params: object) -> dict[str, bool]:
        editor.change(file, "1\ntyped\n", version=2)
        return {"applied": True}

    editor.answers["workspace/applyEdit"] = apply
    editor.open(file, "one\ntyped\n")
    await editor.call("fileops/tracked")
    await agent.read(file)
    assert code_of(await agent.edit(file, "one", "1")) is None
    threads = [thread for thread in threading.enumerate() if "editor nvim-1" in thread.name]
    assert threads != []
    await editor.hang_up()
    for thread in threads:
        await asyncio.to_thread(thread.join, PATIENCE_S)
    assert [thread for thread in threads if thread.is_alive()] == []


@pytest.mark.parametrize(("freshness", "code"), [("content", None), ("mtime", "modified_externally")])
async def test_freshness_is_a_setting_of_the_connection(
    daemon: SharedDaemon, file: Path, freshness: str, code: str | None
) -> None:
    await daemon.agent(file.parent, freshness="relevant")  # came first, and decides for no other agent
    agent = await daemon.agent(file.parent, freshness=freshness)
    await agent.read(file)
    file.write_bytes(file.read_bytes())
    os.utime(file, ns=(0, 0))
    assert code_of(await agent.edit(file, "two", "2")) == code


async def test_relevant_freshness_of_one_connection_rebases_its_edits(daemon: SharedDaemon, file: Path) -> None:
    file.write_text("".join(f"line {n}\n" for n in range(20)))
    strict = await daemon.agent(file.parent)
    relevant = await daemon.agent(file.parent, freshness="relevant")
    for agent in (strict, relevant):
        await agent.read(file)
    file.write_text(file.read_text().replace("line 19\n", "line 19, formatted\n"))
    assert code_of(await strict.edit(file, "line 1\n", "LINE 1\n")) == "modified_externally"
    applied = await relevant.edit(file, "line 2\n", "LINE 2\n")
    assert code_of(applied) is None
    assert applied["details"]["rebased"]["changed_by"] == "external"


async def test_editor_is_shown_that_its_folder_does_not_exist(daemon: SharedDaemon, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    editor = await daemon.editor(missing)
    assert f"{missing} does not exist" in (await editor.notification("window/showMessage"))["message"]


@pytest.mark.parametrize("method", ["fileops/undo", "fileops/rewind"])
async def test_undo_right_after_initialize_knows_the_folders(daemon: SharedDaemon, file: Path, method: str) -> None:
    """It waits until it is known where they lead, as an edit does."""
    agent = await daemon.agent(file.parent)
    for n in range(5):
        await agent.read(file)
        assert code_of(await agent.edit(file, "two", f"two {n}")) is None
        late = await daemon.lsp("editor", "nvim")
        begun = asyncio.create_task(late.initialize(file.parent, capabilities=editor_capabilities()))
        await asyncio.sleep(0)  # it is sent, and the next request right behind it
        undone = await late.call(method, {"session_id": "bot-1", "approved": True})
        await begun
        assert code_of(undone) is None, undone
        assert file.read_text() == "one\ntwo\nthree\n"
        await late.hang_up()
