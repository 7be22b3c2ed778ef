"""An undo never removes the last copy of what it cannot prove to be the target's (R-REW-3).

An agent's command and a person's program change the same few names, at machine pace: they write, copy, rename and
remove. Each line that is written has its author in it. Then the agent's session is undone.
"""

import os
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.shared_daemon import LspClient, SharedDaemon, code_of, shared_daemon, until_recorded

N_GAMES = 25
NAMES = ("a.txt", "b.txt", "c.txt", "d/a.txt")


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "p"
    (folder / "d").mkdir(parents=True)
    (folder / "a.txt").write_text("first\nsecond\nthird\n")
    return folder


class Players:
    """An agent that runs commands, and a person's editor, which undoes its session."""

    def __init__(self, daemon: SharedDaemon, editor: LspClient, agent: LspClient) -> None:
        self._daemon, self._editor, self._agent = daemon, editor, agent

    @asynccontextmanager
    async def command(self) -> AsyncGenerator[None]:
        """What is written in it is the agent's."""
        command_id = (await self._agent.call("fileops/beginCommand", {"label": "make"}))["command_id"]
        yield
        await self._agent.call("fileops/endCommand", {"command_id": command_id})

    async def settled(self) -> None:
        """What was written until now is in the log."""
        await self._editor.call("fileops/log", {})

    async def n_unkept(self) -> int:
        await self.settled()
        return (await self._editor.call("fileops/unkept", {}))["n_changes"]

    async def undone(self) -> Any:
        await self.settled()
        sessions = {entry["by"].get("session_id") for entry in (await self._editor.call("fileops/log", {}))["entries"]}
        (session_id,) = {name for name in sessions if name and name.startswith("bot")} or {None}
        if session_id is None:
            return None
        return await self._editor.call("fileops/rewind", {"session_id": session_id, "approved": True})


@asynccontextmanager
async def players(project: Path) -> AsyncGenerator[Players]:
    async with shared_daemon() as daemon:
        editor = await daemon.editor(project)
        await until_recorded(editor, project)
        yield Players(daemon, editor, await daemon.agent(project))


def texts(project: Path) -> dict[str, str]:
    return {
        str(path.relative_to(project)): path.read_text()
        for path in sorted(project.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


async def test_file_that_a_person_made_stays_where_the_agent_removed_a_copy_of_it(project: Path) -> None:
    async with players(project) as game:
        (project / "p.txt").write_text("by the person\n")
        async with game.command():
            shutil.copy(project / "p.txt", project / "q.txt")
        async with game.command():
            (project / "q.txt").unlink()
        await game.undone()
    assert texts(project) == {"a.txt": "first\nsecond\nthird\n", "p.txt": "by the person\n"}


async def test_file_that_a_person_removed_stays_removed_where_the_agent_made_an_equal_one(project: Path) -> None:
    (project / "d" / "__init__.py").touch()
    async with players(project) as game:
        (project / "d" / "__init__.py").unlink()
        async with game.command():
            (project / "__init__.py").touch()
        await game.undone()
    assert texts(project) == {"a.txt": "first\nsecond\nthird\n"}


@pytest.mark.parametrize("others", ["of the old name", "of the new name", "of both"])
async def test_rename_with_an_edit_in_one_command_loses_and_doubles_nothing_of_others(
    project: Path, others: str
) -> None:
    old, new = project / "a.txt", project / "b.txt"
    async with players(project) as game:
        async with game.command():
            old.rename(new)
            changed = project / "sed"  # as sed does it
            changed.write_text(new.read_text().replace("second", "2nd by the agent"))
            changed.rename(new)
        await game.settled()
        if "new" in others or "both" in others:
            new.write_text(new.read_text() + "by the person, in b\n")
        if "old" in others or "both" in others:
            old.write_text("by the person, in a\n")
        await game.undone()
    words = Counter(line for text in texts(project).values() for line in text.splitlines())
    if others != "of the new name":
        assert words["by the person, in a"] == 1
    if others != "of the old name":
        assert words["by the person, in b"] == 1
    assert words["first"] == words["third"] == 1, texts(project)


GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")


def git(project: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=project, check=True, capture_output=True)


@pytest.mark.parametrize("way", ["checkout", "reset", "stash", "switch"])
async def test_file_that_git_restored_is_no_change_to_undo_and_stays(project: Path, way: str) -> None:
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "one")
    async with players(project) as game:
        async with game.command():
            git(project, "mv", "a.txt", "b.txt")
        await game.settled()
        if way == "stash":
            git(project, "stash", "-q")
        else:
            git(project, "commit", "-q", "-m", "two")
        back = {
            "checkout": ("checkout", "-q", "HEAD~1"),
            "reset": ("reset", "-q", "--hard", "HEAD~1"),
            "switch": ("switch", "-q", "--detach", "HEAD~1"),
        }
        if way in back:
            git(project, *back[way])
        assert await game.n_unkept() == 0
        await game.undone()
        assert texts(project)["a.txt"] == "first\nsecond\nthird\n"
        assert not (project / "b.txt").exists()


async def test_command_is_undone_in_nested_repositories_too(project: Path) -> None:
    """A repository in it, a submodule and an inner work tree, as agents make them."""
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "one")
    nested, module, tree = project / "nested", project / "sub", project / ".wt" / "a"
    for folder in (nested, project.parent / "library"):
        shutil.copytree(project, folder, ignore=shutil.ignore_patterns("nested"))
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(project.parent / "library"), "sub")
    git(project, "worktree", "add", "-q", str(tree))
    folders = (project, nested, module, tree)
    async with shared_daemon() as daemon:
        editor = await daemon.editor(project)
        await until_recorded(editor, *folders)
        game = Players(daemon, editor, await daemon.agent(project))
        async with game.command():
            for folder in folders:
                (folder / "a.txt").write_text("by the agent\n")
        result = await game.undone()
        assert result["details"]["n_undone"] == len(folders), result["output"]
    assert {(folder / "a.txt").read_text() for folder in folders} == {"first\nsecond\nthird\n"}


async def test_links_that_a_command_changed_are_listed_and_lose_nothing(project: Path) -> None:
    shared = project / "shared"
    shared.mkdir()
    (shared / "conf.ini").write_text("by the person\n")
    for name in ("conf.ini", "removed", "moved"):
        (project / name).symlink_to("shared/conf.ini")
    async with players(project) as game:
        async with game.command():
            (project / "new").write_text((project / "conf.ini").read_text() + "by the agent\n")
            (project / "new").rename(project / "conf.ini")  # as `sed -i` does it, which replaces the link
            (project / "removed").unlink()
            (project / "moved").unlink()
            (project / "moved").symlink_to("shared")
            (project / "made").symlink_to("shared")
            (project / "a.txt").write_text("by the agent\n")
        result = await game.undone()
        left = {Path(conflict["file_path"]).name for conflict in result["details"]["conflicts"]}
        assert left == {"conf.ini", "removed", "moved", "made"}, result["output"]
        assert result["details"]["n_left"] == 4
    assert (project / "a.txt").read_text() == "first\nsecond\nthird\n"
    assert (project / "conf.ini").read_text() == "by the person\nby the agent\n"
    assert (shared / "conf.ini").read_text() == "by the person\n"
    assert (project / "made").is_symlink()


async def test_text_that_became_binary_or_large_comes_back_and_a_folder_in_its_place_is_listed(project: Path) -> None:
    for name in ("binary.txt", "large.txt", "folder"):
        (project / name).write_text("by the person\n")
    async with players(project) as game:
        async with game.command():
            (project / "binary.txt").write_bytes(b"\0 by the agent")
            (project / "large.txt").write_text("by the agent\n" * 300_000)
            (project / "folder").unlink()
            (project / "folder").mkdir()
            os.mkfifo(project / "a.fifo")
            (project / "a.txt").write_text("by the agent\n")
        result = await game.undone()
        left = {Path(conflict["file_path"]).name: conflict["reason"] for conflict in result["details"]["conflicts"]}
    assert (project / "a.txt").read_text() == "first\nsecond\nthird\n"
    assert "folder" in left, left
    assert left.keys().isdisjoint({"binary.txt", "large.txt"}), left
    assert {(project / name).read_text() for name in ("binary.txt", "large.txt")} == {"by the person\n"}
    assert (project / "folder").is_dir()


@pytest.mark.parametrize("place", ["/", "above"])
async def test_command_of_an_agent_that_names_a_folder_of_several_projects_is_no_author(
    project: Path, place: str
) -> None:
    folder = Path("/") if place == "/" else project.parent
    async with shared_daemon() as daemon:
        editor = await daemon.editor(project)
        await until_recorded(editor, project)
        agent = await daemon.agent(folder)
        command_id = (await agent.call("fileops/beginCommand", {"label": "make"}))["command_id"]
        (project / "b.txt").write_text("by the person\n")
        await agent.call("fileops/endCommand", {"command_id": command_id})
        (entry,) = (await editor.call("fileops/log", {"file_path": str(project / "b.txt")}))["entries"]
        assert entry["by"]["kind"] == "outside"
        assert code_of(await agent.call("fileops/rewind", {"command_id": command_id})) is not None
    assert (project / "b.txt").read_text() == "by the person\n"


async def test_games_of_an_agent_and_a_person_at_machine_pace_lose_no_text_of_the_person(tmp_path: Path) -> None:
    for seed in range(N_GAMES):
        await play(tmp_path.resolve() / str(seed), random.Random(seed))


async def play(project: Path, draw: random.Random) -> None:
    (project / "d").mkdir(parents=True)
    for name in NAMES[:2]:
        (project / name).write_text(f"old {name}\nsecond of {name}\n")
    acts: list[str] = []
    async with players(project) as game:
        for n in range(draw.randint(3, 7)):
            if draw.random() < 0.5:
                async with game.command():
                    acts += [act(project, draw, f"agent {n}.{m}") for m in range(draw.randint(1, 3))]
            else:
                acts.append(act(project, draw, f"person {n}"))
                await game.settled()
        before = texts(project)
        result = await game.undone()
    after = texts(project)
    kept = "".join(after.values())
    lost = [line for text in before.values() for line in text.splitlines() if "person" in line and line not in kept]
    assert lost == [], f"{acts}\n{before}\n{after}\n{result and result['output']}"


def act(project: Path, draw: random.Random, author: str) -> str:
    """One change of a file. Returns what was done. The person removes and overwrites nothing, the agent anything."""
    name, other = draw.sample(NAMES, 2)
    path, target = project / name, project / other
    is_person = author.startswith("person")
    kind = draw.choice(("write", "append", "copy", "rename", "remove", "replace"))
    overwrites = {"write": path, "copy": target, "rename": target, "remove": path}.get(kind)
    if is_person and overwrites is not None and overwrites.exists():
        return f"{author}: nothing"
    if kind == "write":
        path.write_text(f"{author} wrote {name}\n")
    elif not path.exists():
        return f"{author}: nothing"
    elif kind == "append":
        with path.open("a") as file:
            file.write(f"{author} was in {name}\n")
    elif kind == "copy":
        shutil.copy2(path, target)
    elif kind == "rename":
        path.rename(target)
    elif kind == "remove":
        path.unlink()
    else:
        made = project / f".{os.getpid()}"
        made.write_text(f"{author} replaced {name}\n" + path.read_text())
        made.rename(path)
    return f"{author}: {kind} {name} {other}"
