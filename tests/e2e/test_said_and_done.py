"""A game: what `undo`, `redo` and `keep` say, and the status that they end with, is what the disk has.

Status 0 means all of it: nothing is left, each file that is named has changed as it says, and no other has.
"""

import asyncio
import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fileops_client import FileOpsClient
from support.daemon_process import Place, place_of_test
from support.patience import PATIENCE_S

DONE, FAILED, LEFT = 0, 1, 3
N_ROUNDS = 4


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "sub").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=made, check=True)
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        (made / name).write_text("".join(f"{n}\n" for n in range(12)))
    return made


def disk(project: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in project.rglob("*.txt")}


class Game:
    def __init__(self, shared: Place, project: Path, seed: int) -> None:
        self.shared, self.project, self.random = shared, project, random.Random(seed)
        self.n_edits = 0

    async def edit(self, agents: dict[str, FileOpsClient]) -> None:
        """An agent edits, creates or runs a command, or a person writes."""
        self.n_edits += 1
        path = self.random.choice(sorted(self.project.rglob("*.txt")))
        agent = agents[self.random.choice(sorted(agents))]
        lines = path.read_text().splitlines(keepends=True) or ["\n"]
        line = self.random.randrange(len(lines))
        lines[line] = f"{line} edit {self.n_edits}\n"
        match self.random.randrange(4):
            case 0:
                path.write_text("".join(lines))  # by a person, with no editor
            case 1:
                command = await agent.begin_command("sed -i s/x/y/")
                path.write_text("".join(lines))
                (self.project / f"made {self.n_edits}.txt").write_text("made\n")
                await agent.end_command(command)
            case _:
                await agent.read(path)
                assert (await agent.write(path, "".join(lines))).ok

    async def said(self, *command: str) -> tuple[int, dict[str, Any] | None]:
        done = await asyncio.to_thread(self.shared.run, *command, "--json", cwd=self.project)
        said = json.loads(done.stdout) if done.stdout else None
        assert done.returncode in {DONE, FAILED, LEFT}, done
        assert (done.returncode == FAILED) == bool(done.stderr), done
        return done.returncode, said

    async def undo(self, command: list[str]) -> None:
        before = disk(self.project)
        await self.said(*command, "--dry-run")
        assert disk(self.project) == before, command
        status, said = await self.said(*command, "--yes")
        after = disk(self.project)
        self.require_true(command, status, said, before, after)
        if status == DONE and said is not None and said["rewind_id"] is not None:
            redo = ["redo", said["rewind_id"]]
            status, said = await self.said(*redo, "--yes")
            self.require_true(redo, status, said, after, disk(self.project))
            assert (status, disk(self.project)) == (DONE, before), redo

    def require_true(
        self,
        command: list[str],
        status: int,
        said: dict[str, Any] | None,
        before: dict[str, bytes],
        after: dict[str, bytes],
    ) -> None:
        about = command, status, said
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        if status == FAILED or said is None:
            assert changed == set(), about
            return
        assert (status == LEFT) == (said["n_left"] > 0), about
        outcomes = {file["file_path"]: file["outcome"] for file in said["files"]}
        assert changed == {path for path, outcome in outcomes.items() if outcome != "unchanged"}, about
        for path, outcome in outcomes.items():
            is_there = {"created": (False, True), "removed": (True, False)}.get(outcome, (True, True))
            assert (path in before, path in after) == is_there, (path, about)


@pytest.mark.parametrize("seed", [1, 4])
async def test_status_and_report_of_a_command_are_what_the_disk_has(shared: Place, project: Path, seed: int) -> None:
    shared.start()
    game = Game(shared, project, seed)
    async with (
        FileOpsClient.attach(root=project, host="codex") as codex,
        FileOpsClient.attach(root=project, host="gemini-cli") as gemini,
    ):
        async with asyncio.timeout(PATIENCE_S):
            while not any(known.state != "starting" for known in await codex.record_status()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        for _ in range(N_ROUNDS):
            for _ in range(3):
                await game.edit({"codex": codex, "gemini": gemini})
            log = (await codex.log(limit=20)).entries
            file = game.random.choice(["a.txt", "b.txt", "sub", "."])
            targets = [
                ["undo", "--agent", "codex"],
                ["undo", file],
                ["undo", "--all"],
                ["undo", "--agent", "Gemini CLI"],
            ]
            targets += [["undo", entry.entry_id] for entry in log[:2]]
            await game.undo(game.random.choice(targets))
        before = disk(project)
        status, said = await game.said("keep", "--all")
        assert (status, disk(project)) == (DONE, before)
        assert said is not None
        left = json.loads((await asyncio.to_thread(shared.run, "changes", "--json", cwd=project)).stdout)["unkept"]
        assert (left["n_changes"], left["n_files"]) == (0, 0), said
