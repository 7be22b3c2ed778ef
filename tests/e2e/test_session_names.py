"""What a list prints is accepted by every command, before and after a restart, from any folder of the project."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fileops_client import FileOpsClient
from support.daemon_process import Place, place_of_test
from support.patience import PATIENCE_S


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "sub" / "deep").mkdir(parents=True)
    (made / "other").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=made, check=True)
    (made / "sub" / "a.txt").write_text("one\ntwo\n")
    return made


async def run(shared: Place, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    return await asyncio.to_thread(shared.run, *arguments, cwd=folder)


async def until_started(client: FileOpsClient) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not any(known.state != "starting" for known in await client.record_status()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def edited(project: Path, host: str, old: str, new: str, session: str | None = None) -> None:
    async with FileOpsClient.attach(root=project, host=host, session=session) as agent:
        await until_started(agent)
        await agent.read(project / "sub" / "a.txt")
        assert (await agent.edit(project / "sub" / "a.txt", old, new)).ok


def kill(shared: Place) -> None:
    for pid in shared.daemons():
        os.kill(pid, signal.SIGKILL)
        shared.wait_for_end(pid)


async def test_what_a_list_prints_is_accepted_by_every_command(shared: Place, project: Path) -> None:
    """R-CLI-5"""
    shared.start()
    await edited(project, "claude-code", "one", "1", session="c0ffee")
    await edited(project, "codex", "two", "2")  # its host gives it no id
    deep, other = project / "sub" / "deep", project / "other"
    for is_restarted, folder in ((False, deep), (True, other)):
        if is_restarted:
            kill(shared)
        log = json.loads((await run(shared, folder, "log", "--json")).stdout)
        turns = json.loads((await run(shared, folder, "log", "--turns", "--json")).stdout)["turns"]
        authors = [entry["by"] for entry in log["entries"]]
        assert {by["label"] for by in authors} == {"Claude Code", "Codex"}
        names = {name for by in authors for name in (by["label"], by["session_id"])}
        names |= {name for turn in turns for name in (turn["label"], turn["session_id"])}
        for name in names:
            for command in (
                ["log", "--agent", name], ["log", "--turns", "--agent", name], ["diff", "--agent", name],
                ["undo", "--agent", name, "--dry-run"], ["undo", "--agent", name, "--since", "1d", "--dry-run"],
            ):  # fmt: skip
                done = await run(shared, folder, *command)
                assert (done.returncode, done.stderr) == (0, b""), (is_restarted, folder, command, done)
                assert b"a.txt" in done.stdout or "--turns" in command, (is_restarted, folder, command, done)
        ids = [entry["entry_id"] for entry in log["entries"]] + [turn["turn_id"] for turn in turns]
        for found in ids:
            for command in (["log", found], ["undo", found, "--dry-run"]):
                done = await run(shared, folder, *command)
                assert (done.returncode, done.stderr) == (0, b""), (is_restarted, folder, command, done)
    done = await run(shared, project, "keep", "--agent", "Codex")
    assert (done.returncode, done.stderr) == (0, b"")
    done = await run(shared, project, "undo", "--agent", "claude code", "--yes")  # in any case
    assert (done.returncode, (project / "sub" / "a.txt").read_text()) == (0, "one\n2\n")


async def test_unknown_name_is_an_error_that_lists_the_known_ones(shared: Place, project: Path) -> None:
    shared.start()
    await edited(project, "codex", "one", "1")
    for command in (["log"], ["diff"], ["undo", "--yes"], ["keep"], ["log", "--turns"]):
        done = await run(shared, project, *command, "--agent", "codexx")
        assert done.returncode == 1
        assert (
            b"No session in this folder is named codexx. Did you mean Codex? The sessions are: Codex (" in done.stderr
        )
    async with FileOpsClient.attach(root=project, host="nvim", role="editor") as person:
        undone = await person.rewind(session_id="codexx", approved=True)
    assert undone.error is not None
    assert "sessions with entries are Codex (codex-1)" in undone.error.message


async def test_name_is_never_given_to_another_session(shared: Place, project: Path) -> None:
    shared.start()
    await edited(project, "zed", "one", "1")
    await edited(project, "zed", "1", "11")
    await run(shared, project, "log")  # everything is recorded
    kill(shared)
    await edited(project, "zed", "11", "111")
    log = json.loads((await run(shared, project, "log", "--json")).stdout)
    authors = [(entry["by"]["session_id"], entry["by"]["label"]) for entry in reversed(log["entries"])]
    assert [label for _, label in authors] == ["Zed (agent)", "Zed (agent) 2", "Zed (agent) 3"]
    assert len({session_id for session_id, _ in authors}) == 3
