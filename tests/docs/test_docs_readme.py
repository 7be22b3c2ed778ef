"""The commands of README.md, run as they are printed, in the order of the page: from a host's settings to an undo."""

import asyncio
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from fileops_client import FileOpsClient
from support.daemon_process import Place, place_of_test
from support.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^fileops-server (.+?)(?: +#.*)?$", README, re.MULTILINE)
FOR_A_PROGRAM = {
    "mcp config": ("--yes",),
    "review": ("--list",),
    "undo": ("--yes",),
    "redo": ("--yes",),
}  # in place of a terminal
OLD = "one\ntwo\n"


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    with place_of_test(monkeypatch) as made:
        yield made


async def until_recorded(client: FileOpsClient) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if all(folder.state != "starting" for folder in await client.record_status()):
                return
            await asyncio.sleep(0.01)


async def test_commands_lead_from_a_host_to_the_undo_of_its_edit(shared: Place, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text(OLD)

    def answer_to(command: str) -> str:
        options = next((more for name, more in FOR_A_PROGRAM.items() if command.startswith(name)), ())
        done = shared.run(*shlex.split(command), *options, cwd=project)
        assert (done.returncode, done.stderr) == (0, b""), command
        return done.stdout.decode()

    configure, review, changes, log, undo, redo = COMMANDS
    answer_to(configure)
    assert (project / ".claude" / "settings.local.json").is_file()
    async with FileOpsClient.attach(root=project, host="claude-code") as agent:
        await agent.read(project / "a.txt")
        assert (await agent.edit(project / "a.txt", "two", "2")).ok
        await until_recorded(agent)  # else `changes` begins the recording, and says so
    assert answer_to(review) == "Nothing waits.\n"
    assert "a.txt" in answer_to(changes)
    (turn_id,) = re.findall(r"^t-\w+", answer_to(log), re.MULTILINE)
    assert (project / "a.txt").read_text() == "one\n2\n"
    answer_to(undo.replace("ID", turn_id))
    assert (project / "a.txt").read_text() == OLD
    answer_to(redo)
    assert (project / "a.txt").read_text() == "one\n2\n"


@pytest.mark.parametrize("host", ["codex", "gemini", "opencode", "vscode", "cursor", "zed"])
def test_each_host_that_the_page_names_can_be_connected(host: str, shared: Place, tmp_path: Path) -> None:
    (named,) = re.findall(r"mcp config claude --write +# or (.+)$", README, re.MULTILINE)
    assert host in named.split(", ")
    done = shared.run("mcp", "config", host, "--write", "--yes", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")


def test_numbers_of_the_first_screen_are_those_of_the_comparison() -> None:
    comparison = (ROOT / "docs" / "guide" / "comparison.md").read_text(encoding="utf-8")
    lost = re.search(
        r"^\| Two agents make .+? \| (\d+) of 200 .+? \| (\d+) of 200 .+? \| (\d+) of 200", comparison, re.MULTILINE
    )
    wrong = [
        cell.split(" of ")
        for cell in re.findall(r"^\| Silently wrong \| (.+) \|$", comparison, re.MULTILINE)[0].split(" | ")
    ]
    assert lost is not None
    numbers = [(lost[1], wrong[0][0]), (lost[2], wrong[2][0]), (lost[3], wrong[5][0])]
    shown = re.findall(r"^\| .+? \| .+? \| (\d+) lost \| (\d+) silently wrong \|$", README, re.MULTILINE)
    assert shown == numbers
    assert f"| {wrong[0][1]} edits of files that others change |" in README
