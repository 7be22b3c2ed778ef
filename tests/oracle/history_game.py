"""One history of a repository: two agents and two people change files, git carries them, and everyone is asked.

Every line is one word that was never used before and that names its author. So the oracle needs no alignment: it reads
off a line who wrote it. git is the real one, and so is the daemon: in this process, or in one of its own that is killed
with SIGKILL. A second daemon comes and goes, and records the same folder. Agents write by commands and by the tools
Edit and MultiEdit, people save in editors, a formatter indents lines, and changes are undone and redone.

After each step all views are asked for, for each file, and compared with the oracle:

- `blame` names the author of each line, or several candidates of whom the author is one, and nobody for lines that are
  older than the record. A wrong author or none for a line that was recorded is a fault.
- The log names an author, or candidates, of each word in the entry that first added it.
- A preview of the undo of one agent loses no line of others and moves none. Nor does an undo or a redo, and a redo that
  follows its undo leads to the content before.
- The list of changes has no line of a person in a change that an undo would take away, and the preview of the undo of
  one change has no other lines than the list says.

What was written when the daemon was killed or ended may have been seen by nobody, and so may be what the record says to
have found by comparing files, as on a disk that did not answer in time, and what was saved if it was reported too
late. Such a word may belong to nobody, to "outside", or be unsure. No view may give it to somebody else for certain.

`python tests/oracle/history_game.py --games 100` plays more of them; every fourth has a daemon in a process.
"""

import argparse
import asyncio
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from unittest import mock

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from fileops.model.settings import Settings
from oracle.process_game import DaemonProcess
from oracle.record_game import REPORTED_WITHIN_S
from support.daemon_process import Place
from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, Refused, SharedDaemon, shared_daemon, until_recorded

AGENTS, PEOPLE = ("alpha", "beta"), ("ann", "ben")
WORD = re.compile(r"\b([a-z]+)x\d+\b")
STEPS = {
    "command": 16, "edit": 10, "multi_edit": 5, "save": 18, "format": 3, "undo": 6, "redo": 4, "commit": 9, "switch": 8,
    "stash": 8, "merge": 6, "rebase": 5, "older": 4, "rename": 4, "reset": 3, "restart": 2, "kill": 2, "second": 4,
}  # fmt: skip
N_LINES = 14
ONE_IN = 4  # games has a daemon in a process


class Wrong(AssertionError):
    """A view says something else than the words."""


class _Daemon:
    """A daemon that serves the game, and a client of it for each actor."""

    def __init__(self, daemon: SharedDaemon | DaemonProcess, closing: AsyncExitStack) -> None:
        self.daemon, self.closing = daemon, closing
        self.clients: dict[str, LspClient] = {}

    async def join(self, root: Path) -> None:
        for name in PEOPLE:
            self.clients[name] = await self.daemon.editor(root, host=name)
        for name in AGENTS:
            self.clients[name] = await self.daemon.agent(root, host=name, session="s")
        await until_recorded(self.editor, root)

    @property
    def editor(self) -> LspClient:
        return self.clients["ann"]


class HistoryGame:
    """See the module. folder: empty; the repository and the record are made in it."""

    def __init__(self, folder: Path, seed: int, n_steps: int, *, has_process: bool = False) -> None:
        self._dice = random.Random(f"history {seed}")
        self._n_steps, self._n_words = n_steps, 0
        self._root, self._place, self._has_process = folder / "p", Place(folder), has_process
        self._pid = 0
        self._first: _Daemon
        self._second_daemon: _Daemon | None = None
        self._formatted = set[str]()  # lines that a formatter has indented, so its author is named, too
        self._unknowable = set[str]()  # words that were written while no daemon looked
        self._returned = set[str]()  # words that have been away
        self._present: dict[Path, frozenset[str]] = {}  # at the end of the last step
        self._made = set[str]()  # in this step
        self._judged = set[str]()  # entries
        self._rewinds: list[tuple[str, Counter[str]]] = []  # ids of undos, and the words that they brought back
        self.done: list[str] = []
        self.n_asked = Counter[str]()

    async def play(self) -> None:
        with mock.patch.dict(os.environ, self._place.env):
            self._make_repository()
            try:
                await self._start()
                await self._ask("start")
                for step in self._dice.choices(list(STEPS), list(STEPS.values()), k=self._n_steps):
                    self._made.clear()
                    await getattr(self, f"_{step}")()
                    self.done.append(step)
                    await self._ask(step)
            except (Refused, TimeoutError) as fault:
                raise Wrong(f"after {self.done}: {type(fault).__name__}: {fault}") from fault
            finally:
                await self._end_second()
                await self._stop()

    # --- steps of agents ---------------------------------------------------------------------------------------

    async def _command(self) -> None:
        agent, path = self._dice.choice(AGENTS), self._any_file()
        async with self._running(agent):
            path.write_text(self._changed(path.read_text(), agent))

    @contextlib.asynccontextmanager
    async def _running(self, agent: str) -> AsyncGenerator[None]:
        client = self._any_daemon().clients[agent]
        command = await client.call("fileops/beginCommand", {"label": "make"})
        yield
        await client.call("fileops/endCommand", {"command_id": command["command_id"]})

    async def _format(self) -> None:
        """An agent's formatter indents some lines; they are then named its."""
        agent, path = self._dice.choice(AGENTS), self._any_file()
        lines = path.read_text().splitlines(keepends=True)
        chosen = set(self._dice.sample(range(len(lines)), min(2, len(lines))))
        self._formatted |= {lines[n].strip() for n in chosen}
        async with self._running(agent):
            path.write_text("".join("  " + line if n in chosen else line for n, line in enumerate(lines)))

    async def _edit(self) -> None:
        agent, path = self._dice.choice(AGENTS), self._any_file()
        client, (old, new) = self._any_daemon().clients[agent], self._edits(agent, path, 1)[0]
        await client.read(path)
        self._judge_edit(path, await client.edit(path, old, new))

    async def _multi_edit(self) -> None:
        agent, path = self._dice.choice(AGENTS), self._any_file()
        client = self._any_daemon().clients[agent]
        edits = [{"old_string": old, "new_string": new} for old, new in self._edits(agent, path, 3)]
        await client.read(path)
        self._judge_edit(path, await client.call("fileops/multiEdit", {"file_path": str(path), "edits": edits}))

    def _judge_edit(self, path: Path, result: Mapping[str, Any]) -> None:
        self.n_asked["edits"] += 1
        if result["status"] != "success":
            raise Wrong(f"an edit of {path.name} after {self.done}: {result['error']}")

    def _edits(self, agent: str, path: Path, n: int) -> list[tuple[str, str]]:
        """Return edits of as many lines: each gets a line behind it, or becomes another one."""
        text = path.read_text()  # a line is there twice if both sides of a conflict have it
        lines = [
            line for line in text.splitlines(keepends=True) if WORD.fullmatch(line.strip()) and text.count(line) == 1
        ]
        chosen = self._dice.sample(lines, n)
        return [(line, (line if self._dice.random() < 0.5 else "") + self._word(agent)) for line in chosen]

    # --- steps of people ---------------------------------------------------------------------------------------

    async def _save(self) -> None:
        person, path = self._dice.choice(PEOPLE), self._any_file()
        await self._save_text(person, path, self._changed(path.read_text(), person))

    async def _save_text(self, name: str, path: Path, text: str) -> None:
        client = self._any_daemon().clients[name]
        client.open(path)
        client.change(path, text, version=2)
        await client.call("fileops/recordStatus", {})  # answered after what was typed has been noted
        words, begun = set(text.split()) - set(path.read_text().split()), time.monotonic()
        path.write_text(text)
        document = {"textDocument": {"uri": path.as_uri()}}
        client.notify("textDocument/didSave", document)
        await client.call("fileops/recordStatus", {})  # answered after the report was taken
        if time.monotonic() - begun > REPORTED_WITHIN_S:
            self._unknowable |= words
        await self._drain()
        client.notify("textDocument/didClose", document)

    async def _undo(self) -> None:
        """A person undoes all that an agent has done, or one change; and at times redoes it at once."""
        agent, before, is_sure = self._dice.choice(AGENTS), self._texts(), True
        if self._dice.random() < 0.4:
            target: dict[str, object] = {"session_id": f"{agent}:s"}
        else:
            entries = [entry for entry in await self._entries() if entry["undoable"] and agent in _said_to_be(entry)]
            if not entries:
                return
            chosen = self._dice.choice(entries[:6])
            target, is_sure = {"entry_id": chosen["entry_id"]}, len(_said_to_be(chosen)) == 1
        is_redone = self._dice.random() < 0.3
        # What somebody undoes although its author is unsure may be all words of others.
        others = Counter[str]() if is_sure else _words_in(before)
        if (rewind_id := await self._rewind(target, agent, others)) is None:
            return
        back = _words_in(self._texts()) - _words_in(before)
        if not is_redone:
            self._rewinds.append((rewind_id, back))
        elif await self._rewind({"rewind_id": rewind_id}, agent, back) is not None and self._texts() != before:
            raise Wrong(f"an undo of {agent} and its redo change {before} to {self._texts()}")

    async def _redo(self) -> None:
        if self._rewinds:
            rewind_id, back = self._rewinds.pop()
            await self._rewind({"rewind_id": rewind_id}, "", back)

    async def _rewind(self, target: Mapping[str, object], agent: str, may_go: Mapping[str, int]) -> str | None:
        """Undo or redo, and return its id; None if there is nothing to undo.

        Args: agent: whose words may go; "" for a redo of anybody's. may_go: how often words of others may go.
        """
        editor, before = self._any_daemon().editor, self._texts()
        await self._drain()
        result = await editor.call("fileops/rewind", {**target, "approved": True})
        self.n_asked[f"undos: {'done' if result['error'] is None else result['error']['code']}"] += 1
        for path, text in self._texts().items():
            self._judge_undone(f"{target} in {path.name}", agent, before[path].splitlines(), text.split(), may_go)
        return None if result["error"] is not None else result["details"]["rewind_id"]

    # --- steps of git ------------------------------------------------------------------------------------------

    async def _commit(self) -> None:
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "of the game")

    async def _switch(self) -> None:
        """By an agent or by a person: it is the same git."""
        await self._commit()
        other = "side" if self._git("branch", "--show-current").strip() == "main" else "main"
        if self._dice.random() < 0.5:
            async with self._running(self._dice.choice(AGENTS)):
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
        return sorted(self._root.glob("*.txt"))

    def _any_file(self) -> Path:
        return self._dice.choice(self._files())

    def _word(self, author: str) -> str:
        self._n_words += 1
        self._made.add(word := f"{author}x{self._n_words}")
        return f"{word}\n"

    def _texts(self) -> dict[Path, str]:
        return {path: path.read_text() for path in self._files()}

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

    # --- daemons -----------------------------------------------------------------------------------------------

    async def _restart(self) -> None:
        """A daemon ends, and the next one begins."""
        await self._drain()
        await self._stop()
        await self._start()

    async def _kill(self) -> None:
        """A daemon ends in the middle of what an agent and a person do. In a process, it is killed."""
        agent, path = self._dice.choice(AGENTS), self._any_file()
        client, edits, will_edit = self._first.clients[agent], self._edits(agent, path, 1), self._dice.random() < 0.5
        started: list[asyncio.Task[Any]] = []
        if will_edit and self._has_process:
            await client.read(path)
            started.append(client.start_edit(path, *edits[0]))
        else:
            started.append(client.start("fileops/beginCommand", {"label": "make"}))
            path.write_text(path.read_text().replace(*edits[0]))
        self._unknowable |= self._made
        if self._has_process:
            os.kill(self._pid, signal.SIGKILL)
            await asyncio.to_thread(self._place.wait_for_end, self._pid)
            for task in started:
                task.cancel()
        await asyncio.gather(*started, return_exceptions=True)
        await self._stop()
        await self._start()

    async def _second(self) -> None:
        """A second daemon begins to record the folder, or ends."""
        if self._second_daemon is None:
            closing = AsyncExitStack()
            self._second_daemon = _Daemon(await closing.enter_async_context(shared_daemon()), closing)
            await self._second_daemon.join(self._root)
        else:
            await self._drain()
            await self._end_second()

    async def _end_second(self) -> None:
        if self._second_daemon is not None:
            second, self._second_daemon = self._second_daemon, None
            await second.closing.aclose()

    async def _start(self) -> None:
        closing = AsyncExitStack()
        if self._has_process:
            self._pid = await asyncio.to_thread(self._place.start)
            daemon: SharedDaemon | DaemonProcess = DaemonProcess(self._place, self._pid)
            closing.push_async_callback(daemon.close)
        else:
            daemon = await closing.enter_async_context(shared_daemon())
        self._first = _Daemon(daemon, closing)
        await self._first.join(self._root)

    async def _stop(self) -> None:
        if not hasattr(self, "_first"):
            return
        await self._first.closing.aclose()
        if self._has_process:
            for pid in self._place.daemons():
                os.kill(pid, signal.SIGTERM)
                await asyncio.to_thread(self._place.wait_for_end, pid)

    def _daemons(self) -> list[_Daemon]:
        return [self._first] if self._second_daemon is None else [self._first, self._second_daemon]

    def _any_daemon(self) -> _Daemon:
        return self._dice.choice(self._daemons())

    async def _drain(self) -> None:
        """Until everything is recorded, and every author is certain."""
        async with asyncio.timeout(PATIENCE_S):
            for daemon in self._daemons():
                await daemon.editor.call("fileops/recordStatus", {})
                while not all(entry["settled"] for entry in await _entries_of(daemon)):
                    if isinstance(daemon.daemon, SharedDaemon):
                        await asyncio.to_thread(_recorder_of(daemon.daemon).settle)
                    await asyncio.sleep(0.02)

    async def _entries(self) -> list[dict[str, Any]]:
        """The newest first."""
        return await _entries_of(self._first)

    # --- what is asked -----------------------------------------------------------------------------------------

    async def _ask(self, step: str) -> None:
        await self._drain()
        daemon, now = self._any_daemon(), {path: frozenset(text.split()) for path, text in self._texts().items()}
        for path, words in now.items():
            self._returned |= self._present.get(path, words) - words
        self._present = now
        entries = await _entries_of(daemon)
        try:
            await self._judge_log(daemon, entries)
            for path in self._files():
                await self._ask_about(daemon.editor, path)
            for agent in AGENTS:
                await self._judge_preview(daemon.editor, agent)
        except Wrong as wrong:
            seen = [f"{each['entry_id']} {each['by']['label']} {each['evidence']} {each['found']}" for each in entries]
            raise Wrong(f"after {step}, the last of {self.done}: {wrong}; newest entries: {seen[:8]}") from None

    async def _ask_about(self, editor: LspClient, path: Path) -> None:
        lines = path.read_text().splitlines()
        for part in (await editor.call("fileops/blame", {"file_path": str(path)}))["lines"]:
            for line in lines[part["first_line"] - 1 : part["first_line"] - 1 + part["n_lines"]]:
                self._judge_blame(f"{path.name}: {line}", line, part)
        listed = await editor.call("fileops/unkept", {"file_path": str(path)})
        changes = [change for file in listed["files"] for change in file["changes"]]
        for change in changes:
            self._judge_change(path, lines, change)
        undoable = [change for change in changes if change["undoable"]]
        if undoable:
            await self._judge_preview_of_change(editor, lines, self._dice.choice(undoable))

    def _judge_blame(self, where: str, line: str, part: Mapping[str, Any]) -> None:
        self.n_asked["lines"] += 1
        line, is_indented = line.strip(), line.startswith(" ")  # by a formatter; an undo may bring back another word
        if (word := WORD.fullmatch(line)) is None or line in self._formatted or is_indented:  # or a mark of a conflict
            return
        author, named = word[1], _said_to_be(part)
        if author == "base":
            if len(named) == 1:
                raise Wrong(f"blame of {where}: {named}, but it is older")
        elif author not in named and not self._may_be_called(line, named):
            raise Wrong(f"blame of {where}: {named or 'nobody'}")
        elif len(named) > 1:
            self.n_asked["unsure lines"] += 1

    async def _judge_log(self, daemon: _Daemon, entries: Sequence[Mapping[str, Any]]) -> None:
        """Whom the first entry names that has a word of this step."""
        left = set(self._made)
        for entry in reversed(entries):
            if not left or entry["entry_id"] in self._judged:
                continue
            self._judged.add(entry["entry_id"])
            shown = await daemon.editor.call("fileops/entry", {"entry_id": entry["entry_id"]})
            before, after = (set((shown[side] or "").split()) for side in ("before_text", "after_text"))
            for word in (after - before) & left:
                left.discard(word)
                author, named = word.partition("x")[0], _said_to_be(entry)
                if entry["found"] != "event" or entry["gap"] is not None:
                    self._unknowable.add(word)
                self.n_asked["words"] += 1
                self.n_asked["unsure words"] += len(named) > 1
                self.n_asked["words that nobody saw being written"] += word in self._unknowable
                if author not in named and not self._may_be_called(word, named):
                    raise Wrong(f"the log gives {word} to {named} ({entry['evidence']}, {entry['entry_id']})")

    def _may_be_called(self, word: str, named: Collection[str]) -> bool:
        """Whether a word may have these authors, of whom its author is none."""
        return word in self._unknowable and (len(named) != 1 or set(named) == {"outside"})

    async def _judge_preview(self, editor: LspClient, agent: str) -> None:
        result = await editor.call("fileops/rewind", {"session_id": f"{agent}:s", "dry_run": True})
        for file in result["details"].get("files", ()) if result["error"] is None else ():
            self.n_asked["previews"] += 1
            lines = Path(file["file_path"]).read_text().splitlines()
            rest = _with_hunks(lines, file["ui_extra"]["hunks"])
            where = f"a preview of {file['entries']} for {file['file_path']}"
            self._judge_undone(where, agent, lines, [line.strip() for line in rest])

    def _judge_undone(
        self,
        where: str,
        agent: str,
        lines: Sequence[str],
        words: Sequence[str],
        may_go: Mapping[str, int] | None = None,
    ) -> None:
        """Nothing of others may be lost or moved. Args: words: those after the undo. agent, may_go: see _rewind."""
        others = [line.strip() for line in lines if (word := WORD.search(line)) and word[1] != agent]
        others = [word for word in others if agent or word.partition("x")[0] not in AGENTS]
        if missing := find_lost(others, words, may_go or {}):
            raise Wrong(f"the undo of {agent} by {where} loses or moves {missing[:3]}")

    def _judge_change(self, path: Path, lines: Sequence[str], change: Mapping[str, Any]) -> None:
        self.n_asked["changes"] += 1
        for line in lines[change["start_line"] - 1 : change["end_line"]] if change["undoable"] else ():
            word = WORD.fullmatch(line.strip())
            if word is None or word[1] not in PEOPLE or line.strip() in self._formatted:
                continue
            if line.strip() in change["removed_text"].split():  # it is only moved
                continue
            if word[1] in change["label"].removeprefix("unsure: ").split(" or "):  # nobody saw who of these wrote it
                continue
            if line.strip() not in self._returned and line.strip() not in self._unknowable:
                raise Wrong(f"the change {change['entry_ids']} of {change['label']} in {path.name} has {line}")
            self.n_asked["lines of others that came back in changes"] += 1

    async def _judge_preview_of_change(
        self, editor: LspClient, lines: Sequence[str], change: Mapping[str, Any]
    ) -> None:
        """The preview of its undo takes away no other lines than those that are listed."""
        result = await editor.call("fileops/rewind", {"change_ids": [change["change_id"]], "dry_run": True})
        if result["error"] is not None:
            raise Wrong(f"the change {change['change_id']} is listed, and its undo is refused: {result['error']}")
        self.n_asked["previews of changes"] += 1
        hunks = [hunk for file in result["details"]["files"] for hunk in file["ui_extra"]["hunks"]]
        gone = [line["text"] for hunk in hunks for line in hunk["lines"] if line["kind"] == "-"]
        listed = lines[change["start_line"] - 1 : change["end_line"]]
        back = [line["text"] for hunk in hunks for line in hunk["lines"] if line["kind"] == "+"]
        if not set(gone) <= {*listed, *back}:
            raise Wrong(f"the change of {listed} is undone with {gone}")


MARKS = ("<<<<<<<", "=======", ">>>>>>>")


def find_lost(before: Sequence[str], after: Sequence[str], may_go: Mapping[str, int]) -> list[str]:
    """Return the words that are lost, or at another place.

    Args: may_go: how often; an undo may have brought a line back beside its other copy. The order of these is free.
    """
    rest = iter(after)
    lost = [word for word in before if word not in may_go and word not in rest]
    return [*lost, *(Counter(word for word in before if word in may_go) - Counter(may_go) - Counter(after)).elements()]


def _words_in(texts: Mapping[Path, str]) -> Counter[str]:
    return Counter(word for text in texts.values() for word in text.split())


def _said_to_be(part: Mapping[str, Any]) -> set[str]:
    """Whom an entry or blamed lines name: one, several candidates, or nobody."""
    by = part["by"]
    if by is None:
        return set()
    return {
        each["session_id"].partition(":")[0] if each["kind"] in {"session", "command"} else each["label"]
        for each in (by["candidates"] if by["kind"] == "unsure" else (by,))
    }


def _with_hunks(lines: Sequence[str], hunks: Sequence[Mapping[str, Any]]) -> list[str]:
    result, at = list[str](), 0
    for hunk in hunks:
        start = hunk["old_start"] - (1 if hunk["old_lines"] else 0)
        result += [*lines[at:start], *(line["text"] for line in hunk["lines"] if line["kind"] != "-")]
        at = start + hunk["old_lines"]
    return [*result, *lines[at:]]


async def _entries_of(daemon: _Daemon) -> list[dict[str, Any]]:
    return (await daemon.editor.call("fileops/log", {"limit": 1000}))["entries"]


def _recorder_of(daemon: SharedDaemon) -> Any:
    return daemon.state.parts(Settings(), print, "mtime", daemon.state.hub.router).recorder


async def play(seed: int, n_steps: int = 25, *, has_process: bool = False) -> HistoryGame:
    """Raises: Wrong."""
    with tempfile.TemporaryDirectory() as folder:
        game = HistoryGame(Path(folder).resolve(), seed, n_steps, has_process=has_process)
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
    asked, faults, n_steps = Counter[str](), list[str](), 0
    for seed in range(given.seed, given.seed + given.games):
        try:
            game = asyncio.run(play(seed, given.steps, has_process=seed % ONE_IN == 0))
            asked, n_steps = asked + game.n_asked, n_steps + len(game.done)
        except Wrong as wrong:
            faults.append(str(wrong))
            sys.stdout.write(f"{wrong}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{given.games} games, {n_steps} steps, {len(faults)} with a fault; asked: {dict(asked)}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
