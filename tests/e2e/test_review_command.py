"""`fileops-server review --list`, `accept` and `reject`, and the reviews in `status`: for scripts, with statuses."""

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fileops.daemon.listener import MAX_REVIEWS
from fileops_client import DidChangeReviews, FileOpsClient, ToolResult
from support.daemon_process import Place
from support.patience import PATIENCE_S


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


class Waiting:
    """Edits of an agent that wait, because a view is attached."""

    def __init__(self, ids: list[str], calls: "list[asyncio.Task[ToolResult]]") -> None:
        self.ids = ids
        self.calls = calls

    async def results(self) -> list[ToolResult]:
        return await asyncio.gather(*self.calls)


@asynccontextmanager
async def waiting(folder: Path, *names: str) -> AsyncGenerator[Waiting]:
    async with (
        FileOpsClient.attach(
            root=folder, role="editor", initialization_options={"ask": "each_edit"}, on_reviews=lambda _: None
        ) as board,
        FileOpsClient.attach(root=folder, host="codex") as agent,
    ):
        ids: list[str] = []
        calls: list[asyncio.Task[ToolResult]] = []
        with board.events(DidChangeReviews.METHOD) as changes:
            for name in names:
                (folder / name).write_text("one\n")
                await agent.read(folder / name)
                calls.append(asyncio.create_task(agent.edit(folder / name, "one", "1")))
                (review,) = (await changes.next(timeout_s=PATIENCE_S)).opened
                ids.append(review.review_id)
        yield Waiting(ids, calls)
        await asyncio.gather(*calls)


async def run(shared: Place, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    return await asyncio.to_thread(shared.run, *arguments, cwd=folder)


def lines_of(done: "subprocess.CompletedProcess[bytes]") -> list[str]:
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


async def test_list_names_what_waits_and_all_is_accepted_in_order(shared: Place, folder: Path) -> None:
    async with waiting(folder, "a.txt", "b.txt") as edits:
        listed = lines_of(await run(shared, folder, "review", "--list"))
        first, second = edits.ids
        assert [line.split("  ")[:4] for line in listed] == [
            [first, "Codex", "a.txt", "+1 -1"], [second, "Codex", "b.txt", "+1 -1"],
        ]  # fmt: skip
        described = json.loads((await run(shared, folder, "review", "--list", "--json")).stdout)["reviews"]
        assert [review["review_id"] for review in described] == edits.ids
        assert [review["proposed_text"] for review in described] == [None, None]
        done = await run(shared, folder, "review", "accept", "--all")
        assert lines_of(done) == [f"{first}  a.txt  accepted", f"{second}  b.txt  accepted"]
        assert done.returncode == 0
        assert all(result.ok for result in await edits.results())
        done = await run(shared, folder, "review", "--list")
        assert (lines_of(done), done.returncode) == (["Nothing waits."], 0)
    assert (folder / "a.txt").read_text() == (folder / "b.txt").read_text() == "1\n"


async def test_reason_of_a_rejection_reaches_the_model_from_any_folder(
    shared: Place, folder: Path, tmp_path: Path
) -> None:
    async with waiting(folder, "a.txt") as edits:
        done = await run(shared, tmp_path, "review", "reject", edits.ids[0], "--reason", "Not on a Friday.")
        assert (lines_of(done), done.returncode) == ([f"{edits.ids[0]}  project/a.txt  rejected"], 0)
        (result,) = await edits.results()
        assert (result.ok, result.code) == (False, "rejected")
        assert "Not on a Friday." in result.output
        done = await run(shared, folder, "review", "accept", edits.ids[0])
        assert (lines_of(done), done.returncode) == ([f"{edits.ids[0]}  left: was decided before"], 1)
    assert (folder / "a.txt").read_text() == "one\n"


async def test_ambiguous_beginning_of_an_id_decides_nothing(shared: Place, folder: Path) -> None:
    async with waiting(folder, "a.txt", "b.txt") as edits:
        common = edits.ids[0][:-1]  # they differ in the count at the end
        done = await run(shared, folder, "review", "accept", common)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"Nothing was decided" in done.stderr
        assert (await run(shared, folder, "review", "reject", "--all")).returncode == 0
        assert [result.code for result in await edits.results()] == ["rejected", "rejected"]


async def test_unknown_id_is_left_and_the_others_are_decided(shared: Place, folder: Path) -> None:
    async with waiting(folder, "a.txt") as edits:
        done = await run(shared, folder, "review", "accept", "r-none", edits.ids[0])
        assert lines_of(done) == [
            "r-none  no waiting edit has this id: `fileops-server review --list` shows all that wait",
            f"{edits.ids[0]}  a.txt  accepted",
        ]
        assert done.returncode == 1


async def test_no_edit_waits_for_a_command(shared: Place, folder: Path) -> None:
    async with waiting(folder, "a.txt") as edits:
        (listed,) = json.loads((await run(shared, folder, "review", "--list", "--json")).stdout)["reviews"]
        assert listed["n_editors"] == 1
        await run(shared, folder, "review", "accept", *edits.ids)


@pytest.mark.parametrize("arguments", [("accept",), ("reject", "--all", "r-1"), ("accept", "--reason", "x", "--all")])
def test_wrong_arguments_are_status_2(shared: Place, folder: Path, arguments: tuple[str, ...]) -> None:
    done = shared.run("review", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"fileops-server" in done.stderr


@pytest.mark.parametrize("arguments", [("--list",), ("accept", "--all"), ("reject", "r-1")])
def test_missing_daemon_is_status_1_and_none_is_started(
    shared: Place, folder: Path, arguments: tuple[str, ...]
) -> None:
    done = shared.run("review", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"No shared daemon is running" in done.stderr
    assert shared.daemons() == []


def test_full_screen_without_a_terminal_is_refused(shared: Place, folder: Path) -> None:
    done = shared.run("review", cwd=folder)
    assert done.returncode == 2
    assert b"review --list" in done.stderr


async def test_status_lists_what_waits_within_its_bound(shared: Place, folder: Path) -> None:
    names = [f"{n:02}-{'x' * 200}" for n in range(32)]  # the limit of one session
    async with waiting(folder, *names) as edits, waiting(folder, *(f"more-{name}" for name in names)) as more:
        described = json.loads((await run(shared, folder, "status", "--json")).stdout)
        shown = [review["review_id"] for review in described["reviews"]]
        assert shown == [*edits.ids, *more.ids][: len(shown)]
        assert 0 < len(shown) <= MAX_REVIEWS
        assert described["n_reviews"] == 64
        assert set(described["reviews"][0]) == {"review_id", "label", "file_path", "asked_at"}
        text = (await run(shared, folder, "status")).stdout.decode()
        assert "64 edits wait for a decision" in text
        assert f"  {edits.ids[0]}  Codex  {folder / names[0]}  for " in text
        assert text.endswith(f"  and {64 - len(shown)} more\n")
        assert (await run(shared, folder, "review", "reject", "--all")).returncode == 0


# --- an agent that acts as a person --------------------------------------------------------------------------------

PERSONS = ("review accept --all", "keep --all", "log --forget all", "undo --agent codex --yes", "undo {id} --yes")


@pytest.mark.parametrize(
    ("shell", "persons"),
    [("sh -c '{line}'", PERSONS), ("setsid sh -c '{line}; exit $?'", PERSONS[:1])],
    ids=["child", "session of its own"],
)
async def test_command_of_an_agents_shell_decides_nothing(
    shared: Place, folder: Path, shell: str, persons: tuple[str, ...]
) -> None:
    """R-ROUTE-8: a host of MCP starts a shell. In a shell beside it the same commands are a person's."""
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        assert (await agent.write(folder / "new.txt", "made\n")).ok
        (entry, *_) = (await agent.log(file_path=folder / "new.txt")).entries
    async with waiting(folder, "a.txt") as edits:
        (review,) = edits.ids
        server = shlex.join([sys.executable, "-m", "fileops"])
        for words in persons:
            line = f"{server} {words.format(id=entry.entry_id)}"
            done = await asyncio.to_thread(in_host, shared, folder, shell.format(line=line))
            assert done.returncode == 1, (words, done)
            assert "only a person may do that" in done.stderr, (words, done)
        seen = await asyncio.to_thread(in_host, shared, folder, shell.format(line=f"{server} log new.txt"))
        assert "A new.txt" in seen.stdout
        assert (folder / "new.txt").exists()
        done = await run(shared, folder, "review", "accept", review)
        assert (lines_of(done), done.returncode) == ([f"{review}  a.txt  accepted"], 0)


@pytest.mark.parametrize("names", [["uvx", "uv", "sh"], ["npm exec fileo", "sh"]])
async def test_command_of_an_agent_whose_server_a_launcher_started_decides_nothing(
    shared: Place, folder: Path, tmp_path: Path, names: list[str]
) -> None:
    """`npx` is a process that calls itself `npm exec NAME`, and starts a shell, which starts the server."""
    launchers = [tmp_path / name for name in names]
    for launcher in launchers:
        launcher.symlink_to("/bin/sh")
    async with waiting(folder, "a.txt") as edits:
        accept = f"{shlex.join([sys.executable, '-m', 'fileops'])} review accept --all"
        done = await asyncio.to_thread(in_host, shared, folder, f"sh -c '{accept}'", *map(str, launchers))
        assert done.returncode == 1
        assert "only a person may do that" in done.stderr
        await run(shared, folder, "review", "reject", *edits.ids)


def in_host(shared: Place, folder: Path, command: str, *launchers: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a shell of a host that has a server of MCP, and runs nothing else."""
    return subprocess.run(
        [sys.executable, str(Path(__file__).parents[1] / "support" / "mcp_host.py"), command, *launchers],
        cwd=folder, env=shared.process_env, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


async def test_command_with_the_mark_of_an_agents_host_decides_nothing(shared: Place, folder: Path) -> None:
    """Its ancestors may have ended by then."""
    async with waiting(folder, "a.txt") as edits:
        done = await asyncio.to_thread(shared.run, "review", "accept", "--all", cwd=folder, env={"CLAUDECODE": "1"})
        assert done.returncode == 1
        assert b"Claude Code has started this command" in done.stderr
        await run(shared, folder, "review", "reject", *edits.ids)
