"""One history of a repository: two agents and two people change files, git carries them, and everyone is asked.

Every line is one word that was never used before and that names its author. So the oracle needs no alignment: it reads
off a line who wrote it. The recorder is in this process, and is stopped and started again; git is the real one.

After each step the views are compared with the oracle, for each file:

- `blame` names the author of each line, or several candidates of whom the author is one, and nobody for lines that are
  older than the record. A wrong author or none for a line that was recorded is a fault.
- The log names an author of what each entry added, unless git may have brought it.
- A preview of the undo of one agent loses no line of others and moves none.
- The list of changes has no line of others in a change that an undo would take away.

`python tests/oracle/history_game.py --games 100` plays more of them.
"""

import argparse
import asyncio
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.record import ByPerson, Entry, LogQuery, session_of
from fileops.platform.steady_clock import steady_time
from fileops.record.history import History, Look
from fileops.record.recorder import TypedDocument
from fileops.service.rewind.blame import blame
from fileops.service.rewind.files import rewind_of_file
from fileops.service.rewind.lineage import Lineages, follows_all
from fileops.service.rewind.unkept import UnkeptPlaces
from support.recorded_folder import RecordedFolder, author_of, recorded_folder

AGENTS, PEOPLE = ("alpha", "beta"), ("ann", "ben")
WORD = re.compile(r"\b([a-z]+)x\d+\b")
STEPS = {
    "command": 22, "save": 18, "format": 3, "commit": 10, "switch": 8, "stash": 8, "merge": 6, "rebase": 5,
    "older": 4, "rename": 4, "reset": 3, "restart": 3,
}  # fmt: skip
N_LINES = 14

Step = Callable[[], Coroutine[Any, Any, None]]


class Wrong(AssertionError):
    """A view says something else than the words."""


class HistoryGame:
    """See the module. folder: empty; the repository and the record are made in it."""

    def __init__(self, folder: Path, seed: int, n_steps: int) -> None:
        self._dice = random.Random(f"history {seed}")
        self._n_steps, self._n_words = n_steps, 0
        self._root = folder / "p"
        self._running: AbstractAsyncContextManager[RecordedFolder] | None = None
        self._it: RecordedFolder
        self._formatted = set[str]()  # lines that a formatter has indented, so its author is named, too
        self.done: list[str] = []
        self.n_asked = Counter[str]()

    async def play(self) -> None:
        self._make_repository()
        await self._start()
        try:
            await self._ask("start")
            for step in self._dice.choices(list(STEPS), list(STEPS.values()), k=self._n_steps):
                await getattr(self, f"_{step}")()
                self.done.append(step)
                await self._ask(step)
        finally:
            await self._stop()

    # --- steps -------------------------------------------------------------------------------------------------

    async def _command(self) -> None:
        agent, path = self._dice.choice(AGENTS), self._any_file()
        async with self._it.command(agent):
            path.write_text(self._changed(path.read_text(), agent))

    async def _save(self) -> None:
        person, path = self._dice.choice(PEOPLE), self._any_file()
        await self._save_text(person, path, self._changed(path.read_text(), person))

    async def _save_text(self, name: str, path: Path, text: str) -> None:
        person = ByPerson(session_id=name, label=name)
        self._it.documents[str(path)] = TypedDocument(person=person, text=text, changed=steady_time(), is_typed=True)
        path.write_text(text)
        await self._it.recorder.flush()
        self._it.recorder.note_save(str(path), person, text)
        await asyncio.to_thread(self._it.recorder.settle)
        del self._it.documents[str(path)]

    async def _format(self) -> None:
        """An agent's formatter indents some lines; they are then named its."""
        agent, path = self._dice.choice(AGENTS), self._any_file()
        lines = path.read_text().splitlines(keepends=True)
        chosen = set(self._dice.sample(range(len(lines)), min(2, len(lines))))
        self._formatted |= {lines[n].strip() for n in chosen}
        async with self._it.command(agent):
            path.write_text("".join("  " + line if n in chosen else line for n, line in enumerate(lines)))

    async def _commit(self) -> None:
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "of the game")

    async def _switch(self) -> None:
        """By an agent or by a person: it is the same git."""
        await self._commit()
        other = "side" if self._git("branch", "--show-current").strip() == "main" else "main"
        if self._dice.random() < 0.5:
            async with self._it.command(self._dice.choice(AGENTS)):
                self._git("switch", "-q", other)
        else:
            self._git("switch", "-q", other)

    async def _stash(self) -> None:
        """With an edit of a person in between, which may be in conflict."""
        self._git("add", "-A")
        is_stashed = "Saved" in self._git("stash")
        await self._drain()
        if self._dice.random() < 0.5:
            await self._save()
            await self._commit()
        if is_stashed and not self._succeeds("stash", "pop", "-q"):
            await self._drain()
            await self._resolve()
            self._git("stash", "drop", "-q")

    async def _merge(self) -> None:
        await self._commit()
        other = "side" if self._git("branch", "--show-current").strip() == "main" else "main"
        if not self._succeeds("merge", "-q", "-m", "merge", other):
            await self._drain()
            await self._resolve()
        await self._commit()

    async def _rebase(self) -> None:
        await self._commit()
        other = "side" if self._git("branch", "--show-current").strip() == "main" else "main"
        if not self._succeeds("rebase", "-q", other):
            await self._drain()
            self._git("rebase", "--abort")

    async def _older(self) -> None:
        """Look at an older commit, and come back."""
        await self._commit()
        branch = self._git("branch", "--show-current").strip()
        if self._succeeds("checkout", "-q", f"HEAD~{self._dice.randint(1, 4)}"):
            await self._drain()
        self._git("checkout", "-q", branch)

    async def _reset(self) -> None:
        """Throw away what is not committed."""
        self._git("reset", "-q", "--hard")

    async def _rename(self) -> None:
        """A person renames a file, somebody writes it, and it gets its name back.

        A rename that git carries to another branch is not followed: git removes one file and creates another.
        """
        path = self._any_file()
        other = path.with_name("renamed.txt")
        path.rename(other)
        await self._drain()
        await self._save_text("ann", other, self._changed(other.read_text(), "ann"))
        await self._drain()
        other.rename(path)

    async def _restart(self) -> None:
        await self._stop()
        await self._start()

    async def _resolve(self) -> None:
        """A person keeps both sides of each conflict."""
        for path in self._files():
            if "<<<<<<<" in (text := path.read_text()):
                kept = [line for line in text.splitlines(keepends=True) if line[:7] not in MARKS]
                await self._save_text(self._dice.choice(PEOPLE), path, "".join(kept))
        self._git("add", "-A")

    # --- files and git -----------------------------------------------------------------------------------------

    def _make_repository(self) -> None:
        self._root.mkdir()
        self._git("init", "-q", "-b", "main")
        for name in ("a.txt", "b.txt"):
            (self._root / name).write_text("".join(self._word("base") for _ in range(N_LINES)))
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "base")
        self._git("branch", "side")

    def _git(self, *words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        done = subprocess.run(["git", *identity, *words], cwd=self._root, check=True, capture_output=True, text=True)
        return done.stdout

    def _succeeds(self, *words: str) -> bool:
        try:
            self._git(*words)
        except subprocess.CalledProcessError:
            return False
        return True

    def _files(self) -> list[Path]:
        return sorted(self._it.folder.glob("*.txt"))

    def _any_file(self) -> Path:
        return self._dice.choice(self._files())

    def _word(self, author: str) -> str:
        self._n_words += 1
        return f"{author}x{self._n_words}\n"

    def _changed(self, text: str, author: str) -> str:
        lines = text.splitlines(keepends=True)
        for _ in range(self._dice.randint(1, 3)):
            at, kind = self._dice.randint(0, len(lines)), self._dice.random()
            if kind < 0.5 or at == len(lines):
                lines.insert(at, self._word(author))
            elif kind < 0.85:
                lines[at] = self._word(author)
            elif len(lines) > N_LINES // 2:
                del lines[at]
        return "".join(lines)

    # --- the recorder ------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        self._running = recorded_folder(self._root)
        self._it = await self._running.__aenter__()

    async def _stop(self) -> None:
        if self._running is not None:
            running, self._running = self._running, None
            await running.__aexit__(None, None, None)

    async def _drain(self) -> None:
        await self._it.recorder.drain()
        await self._it.recorder.flush()

    # --- what is asked -----------------------------------------------------------------------------------------

    async def _ask(self, step: str) -> None:
        await self._drain()
        await asyncio.to_thread(self._it.recorder.settle)
        try:
            for path in self._files():
                await asyncio.to_thread(self._ask_about, path)
        except Wrong as wrong:
            raise Wrong(f"after {step}, the last of {self.done}: {wrong}") from None

    def _ask_about(self, path: Path) -> None:
        store, lines = self._it.recorder.store, path.read_text().splitlines()
        entries = {entry.entry_id: entry for entry in store.entries(LogQuery())[0]}
        for part in blame(store, LocalFileSystem(), str(path)):
            for line in lines[part.first_line - 1 : part.first_line - 1 + part.n_lines]:
                entry = None if part.entry_id is None else entries[part.entry_id]
                self._judge_blame(f"{path.name}: {line}", line.strip(), entry)
        for agent in AGENTS:
            self._judge_preview(path, agent, lines)
        self._judge_changes(path, lines)

    def _judge_blame(self, where: str, line: str, entry: Entry | None) -> None:
        self.n_asked["lines"] += 1
        if (word := WORD.fullmatch(line)) is None or line in self._formatted:  # a mark of a conflict, or two authors
            return
        author = word[1]
        named = [] if entry is None else author_of(entry).split(" or ")
        if author == "base":
            if named and len(named) == 1:
                raise Wrong(f"blame of {where}: {named}, but it is older")
        elif author not in named:
            raise Wrong(f"blame of {where}: {named or 'nobody'}")
        elif len(named) > 1:
            self.n_asked["unsure"] += 1

    def _judge_preview(self, path: Path, agent: str, lines: Sequence[str]) -> None:
        look = Look(self._it.recorder.store, History().own, 0.0)
        lineage = Lineages(look.store, follows_all).of(str(path))
        chosen = [entry for entry in reversed(lineage) if session_of(entry.by) == f"{agent}:1" and entry.is_undoable]
        if not chosen:
            return
        self.n_asked["previews"] += 1
        rewind = rewind_of_file(look, str(path), chosen, LocalFileSystem().read(str(path)))
        others = [line.strip() for line in lines if (word := WORD.search(line)) and word[1] != agent]
        rest = iter((rewind.content or b"").decode().split())
        if missing := [line for line in others if line not in rest]:
            raise Wrong(f"the undo of {agent} in {path.name} loses or moves {missing[:3]}")

    def _judge_changes(self, path: Path, lines: Sequence[str]) -> None:
        places = UnkeptPlaces(self._it.recorder.store, LocalFileSystem())
        for found in places.places(str(path), LocalFileSystem().read(str(path))):
            change = found.change
            self.n_asked["changes"] += 1
            for line in lines[change.start_line - 1 : change.end_line] if change.undoable else ():
                word = WORD.fullmatch(line.strip())
                is_back = line.strip() in change.removed_text.split()
                if word is not None and word[1] in PEOPLE and not is_back and line.strip() not in self._formatted:
                    self.n_asked["lines of others in changes"] += 1


MARKS = ("<<<<<<<", "=======", ">>>>>>>")


async def play(seed: int, n_steps: int = 25) -> HistoryGame:
    """Raises: Wrong."""
    with tempfile.TemporaryDirectory() as folder:
        game = HistoryGame(Path(folder).resolve(), seed, n_steps)
        try:
            await game.play()
        except Wrong as wrong:
            raise Wrong(f"seed {seed}, {wrong}") from None
        return game


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--games", type=int, default=20)
    options.add_argument("--seed", type=int, default=0, help="the first seed")
    options.add_argument("--steps", type=int, default=25)
    given = options.parse_args()
    asked, faults = Counter[str](), list[str]()
    for seed in range(given.seed, given.seed + given.games):
        try:
            asked += asyncio.run(play(seed, given.steps)).n_asked
        except Wrong as wrong:
            faults.append(str(wrong))
    sys.stdout.write(f"{given.games} games, {len(faults)} with a fault; asked: {dict(asked)}\n")
    sys.stdout.write("".join(f"{fault}\n" for fault in faults[:20]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
