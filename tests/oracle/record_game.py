"""One game of the record: two agents with commands and tools, an editor and another program, as fast as a machine is.

It is one module because a step is what its actors do to the files, and what of it may be said about them.

Every line is a word that was never used before and that names its author. So the oracle needs no alignment: it reads
which words each entry added, and compares the entry's author with theirs. Nothing of the server is consulted. Judged
are the authors of all entries, that every word on the disk was recorded, and at the end that an undo of one agent loses
no word of others. What may be `unsure` after a fault is allowed to be; what is said for certain must be true.

The daemon is in this process. Its recorder is stopped, its events are lost, its database is locked, its descriptors are
taken away, its clock is set, and it is ended and started again, all while the others go on.
"""

import asyncio
import os
import random
import re
import resource
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

from fileops.model.files import FolderEvents
from fileops.model.settings import Settings
from fileops.platform.steady_clock import steady_time
from fileops.ports import EventStream
from fileops.record.command_windows import CommandWindows
from fileops.record.recorder import Recorder
from fileops.record.turns import TurnRegistry
from fileops.watch.factory import FolderStreams
from oracle.contents import Wrong, require
from oracle.game import Step
from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, Refused, shared_daemon, until_recorded

STEPS: dict[str, float] = {  # and how often, beside each other
    "begin": 10, "end": 8, "command_write": 16, "command_burst": 6, "command_copy": 3, "command_rename": 4,
    "command_remove": 3, "command_replace": 4, "tool_edit": 8, "type": 12, "save": 12, "reload": 5, "close": 1,
    "outside_write": 6, "outside_rename": 2, "outside_remove": 2,
    "stop": 2, "lose": 2, "lock": 2, "descriptors": 1.5, "clock": 2, "restart": 0.5, "wait": 6,
}  # fmt: skip
AGENTS = ("alpha", "beta")
PERSON, OUTSIDE = "person", "outside"
WORD = re.compile(r"\b(alpha|beta|person|outside)x\d+\b")
FILES = ("a.txt", "b.txt", "c.txt", "sub/d.txt", "sub/e.txt")
PAUSES_S = (0.0, 0.0, 0.0, 0.001, 0.005, 0.03, 0.07)
OPENS_NO_FILE = {
    "begin", "end", "command_rename", "command_remove", "outside_rename", "outside_remove", "stop", "lose", "clock",
    "wait",
}  # fmt: skip
REPORTED_WITHIN_S = 1.0  # of a change: a save that is reported later explains none (R-BY-1, row 2)
TOGETHER = 6  # a stop, a loss, a lock or a lack of descriptors lasts so many steps at most


def steps_of(seed: int, n_steps: int) -> list[Step]:
    return steps_among(STEPS, f"record {seed}", n_steps)


def steps_among(steps: Mapping[str, float], seed: str, n_steps: int) -> list[Step]:
    """Args: steps: and how often each is, beside the others."""
    dice = random.Random(seed)
    names = dice.choices(list(steps), list(steps.values()), k=n_steps)
    return [Step(name, dice.randrange(10**6)) for name in names]


class _FaultyStream:
    """Events of which some are lost while `is_losing`, and whose reader stands still unless it `goes_on`.

    It is a port of the recorder, so that the kernel's queue need not be filled, nor a process be stopped.
    """

    def __init__(self, stream: EventStream, game: "RecordGame") -> None:
        self._stream, self._game = stream, game
        self.has_barrier, self.add, self.remove_below = stream.has_barrier, stream.add, stream.remove_below
        self.is_in_place = stream.is_in_place
        self.is_alive, self.close = stream.is_alive, stream.close

    def read(self) -> FolderEvents:
        self._game.goes_on.wait(PATIENCE_S)
        batch = self._stream.read()
        if not self._game.is_losing:
            return batch
        return FolderEvents((), is_lost=batch.is_lost or bool(batch.events))


class RecordGame:
    """folder: a new one. Raises: Wrong, at the first thing that the oracle does not allow."""

    ENDS = frozenset({"restart"})  # steps after which another daemon serves

    def __init__(self, folder: str, seed: int) -> None:
        self.root = Path(folder) / "w"
        self._state_home = f"{folder}/state"
        self._dice = random.Random(f"record setting {seed}")
        self.outcomes: Counter[str] = Counter()
        self.trace: list[str] = []
        self.is_losing = False
        self.goes_on = threading.Event()
        self.goes_on.set()
        self._n_words = 0
        # Where each word was written first; nowhere, if a copy brought it back there, perhaps before the first entry.
        self._made_at: dict[str, str | None] = {}
        # Files that an agent made by a copy. Those that it renamed count if their first name was used again since.
        self._copied: set[str] = set()
        self._saved_again: set[str] = set()  # words of others that only an editor's buffer had when it was saved
        self._saved_late: set[str] = set()  # words of texts whose save was reported too late
        self._seen: set[str] = set()  # in any entry
        # Words that came back by a copy, a rename, a save of an earlier text or an undo, which may bring back pieces.
        self._returned: set[str] = set()
        self._renamed: dict[str, set[str]] = {}  # files that an agent renamed, with their names before
        self._buffers: dict[str, list[Any]] = {}  # path -> [text, text of the file, version]
        self._open: dict[str, str] = {}  # agent -> command
        self._undo: list[tuple[int, Callable[[], None]]] = []  # what ends a fault, and after which step
        self._reports: set[asyncio.Task[None]] = set()
        self._has_descriptors = True
        self._n_steps = 0
        self._clock_s = 0.0

    # --- the game ----------------------------------------------------------------------------------------------------

    def play(self, steps: list[Step]) -> None:
        with self._surroundings():
            try:
                asyncio.run(self._play(steps))
            except (Refused, TimeoutError) as fault:
                raise Wrong(f"{type(fault).__name__}: {fault}") from fault

    @contextmanager
    def _surroundings(self) -> Generator[None]:
        """The environment of a daemon of its own, whose clock and watch of folders the game has in its hands."""
        events, now = FolderStreams.events, time.time

        def lossy(streams: FolderStreams, on_event: Callable[[], None]) -> EventStream:
            return _FaultyStream(events(streams, on_event), self)

        def wall() -> float:
            return now() + self._clock_s

        with (
            mock.patch.dict(os.environ, {"XDG_STATE_HOME": self._state_home}),
            mock.patch.object(FolderStreams, "events", lossy),
            # All clocks of a machine are set together. Defaults would be those of the game that imported the module.
            mock.patch("time.time", wall),
            mock.patch("time.time_ns", lambda: int(wall() * 1e9)),
            mock.patch.dict(Recorder.__init__.__kwdefaults__ or {}, wall=wall),
            mock.patch.object(CommandWindows.__init__, "__defaults__", (steady_time, wall)),
            mock.patch.object(TurnRegistry.__init__, "__defaults__", (wall,)),
        ):
            yield

    async def _play(self, steps: list[Step]) -> None:
        for name in FILES[:3]:
            self._put(self.root / name, [self._word(PERSON, self.root / name) for _ in range(4)])
        rest = steps
        while True:
            async with self._serving() as daemon:
                await self._join(daemon)
                rest = await self._take(rest)
                if rest is None:
                    self._end_faults()
                    await self._judge()
                    return
            self._open.clear()
            self._buffers.clear()
            self._put(
                self.root / "a.txt", [*self._lines(self.root / "a.txt"), self._word(OUTSIDE, self.root / "a.txt")]
            )

    def _serving(self) -> AbstractAsyncContextManager[Any]:
        """A daemon, until the game goes on without it. It connects clients: see SharedDaemon."""
        return shared_daemon()

    async def _join(self, daemon: Any) -> None:
        self._daemon = daemon
        self._editor = await daemon.editor(self.root)
        self._agents: dict[str, LspClient] = {}
        for agent in AGENTS:
            self._agents[agent] = await daemon.agent(self.root, host=agent, session="s")
        await until_recorded(self._editor, self.root)

    async def _take(self, steps: list[Step]) -> list[Step] | None:
        """Take the steps until the daemon is to be started again. Returns those that are left; None: none is."""
        for n, step in enumerate(steps):
            self.trace.append(f"{step.name}:{step.number}")
            dice = random.Random(step.number)
            if step.name in self.ENDS:
                self.outcomes[step.name] += 1
                await getattr(self, step.name)(dice)
                return steps[n + 1 :]
            did = self._can_take(step.name) and await getattr(self, step.name)(dice)
            self.outcomes[step.name if did is not False else f"({step.name})"] += 1
            self._n_steps += 1
            self._note_copies()
            for due, end in tuple(self._undo):
                if due <= self._n_steps:
                    self._undo.remove((due, end))
                    end()
            pause_s = dice.choice(PAUSES_S)
            if pause_s:
                await asyncio.sleep(pause_s)
        return None

    def _can_take(self, name: str) -> bool:
        return self._has_descriptors or name in OPENS_NO_FILE

    def _end_faults(self) -> None:
        while self._undo:
            self._undo.pop()[1]()

    def _fault(self, dice: random.Random, end: Callable[[], None]) -> None:
        self._undo.append((self._n_steps + dice.randint(1, TOGETHER), end))

    def _note(self, text: str) -> None:
        self.trace.append(f"    {text}")

    # --- files -------------------------------------------------------------------------------------------------------

    def _word(self, author: str, path: Path) -> str:
        self._n_words += 1
        word = f"{author}x{self._n_words}"
        self._made_at[word] = str(path)
        return word

    def _lines(self, path: Path) -> list[str]:
        return path.read_text().splitlines() if path.exists() else []

    def _put(self, path: Path, lines: list[str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))

    def _some_file(self, dice: random.Random, *, exists: bool = True) -> Path | None:
        found = [self.root / name for name in FILES if (self.root / name).exists() is exists]
        return dice.choice(found) if found else None

    def _change(self, dice: random.Random, author: str, path: Path, how: str) -> None:
        """Change a file as programs do: add a word, in place, by a new file of its name, or by a rename over it."""
        lines = self._lines(path)
        word = self._word(author, path)
        lines.insert(dice.randint(0, len(lines)), word)
        self._note(f"{author} writes {word} into {path.name}, {how}")
        path.parent.mkdir(parents=True, exist_ok=True)
        match how:
            case "append":
                with path.open("a") as file:
                    file.write(f"{word}\n")
            case "in place":
                self._put(path, lines)
            case "new file":
                path.unlink(missing_ok=True)
                self._put(path, lines)
            case _:
                beside = path.with_name(f".{path.name}.{word}")
                self._put(beside, lines)
                beside.rename(path)

    def _how(self, dice: random.Random) -> str:
        return dice.choice(("append", "in place", "new file", "rename"))

    # --- agents ------------------------------------------------------------------------------------------------------

    def _running(self, dice: random.Random) -> str | None:
        """An agent with an open command. While both have one, nobody can tell them apart."""
        return dice.choice(list(self._open)) if self._open else None

    async def begin(self, dice: random.Random) -> bool:
        agent = dice.choice(AGENTS)
        if agent in self._open:
            return False
        command = await self._agents[agent].call("fileops/beginCommand", {"label": "make all"})
        self._open[agent] = command["command_id"]
        self._note(f"{agent} begins {command['command_id']}")
        return True

    async def end(self, dice: random.Random) -> bool:
        if not self._open:
            return False
        agent = dice.choice(list(self._open))
        await self._end(agent)
        self._note(f"{agent} has ended its command")
        return True

    async def _end(self, agent: str) -> None:
        await self._before_end(agent)
        await self._agents[agent].call("fileops/endCommand", {"command_id": self._open.pop(agent)})

    async def _before_end(self, agent: str) -> None:
        """Let the processes of a command end."""

    async def command_write(self, dice: random.Random) -> bool:
        agent, path = self._running(dice), self._some_file(dice, exists=dice.random() < 0.85)
        if agent is None or path is None:
            return False
        self._change(dice, agent, path, self._how(dice))
        return True

    async def command_burst(self, dice: random.Random) -> bool:
        """Several acts of one command, without a pause."""
        agent = self._running(dice)
        if agent is None:
            return False
        for _ in range(dice.randint(2, 5)):
            path = self._some_file(dice, exists=dice.random() < 0.85)
            if path is not None:
                self._change(dice, agent, path, self._how(dice))
        return True

    async def command_copy(self, dice: random.Random) -> bool:
        agent, source, target = self._running(dice), self._some_file(dice), self._some_file(dice, exists=False)
        if agent is None or source is None or target is None:
            return False
        self._note(f"{agent} copies {source.name} to {target.name}")
        self._put(target, self._lines(source))
        self._copied.add(str(target))
        self._made_at |= {word: None for word in self._lines(source) if self._made_at.get(word) == str(target)}
        return True

    async def command_rename(self, dice: random.Random) -> bool:
        agent, source, target = self._running(dice), self._some_file(dice), self._some_file(dice, exists=False)
        if agent is None or source is None or target is None:
            return False
        self._rename(agent, source, target)
        return True

    async def command_remove(self, dice: random.Random) -> bool:
        agent, path = self._running(dice), self._some_file(dice)
        if agent is None or path is None:
            return False
        self._note(f"{agent} removes {path.name}")
        path.unlink()
        return True

    async def command_replace(self, dice: random.Random) -> bool:
        """A line is taken out, and another one put in."""
        agent, path = self._running(dice), self._some_file(dice)
        if agent is None or path is None or not self._lines(path):
            return False
        lines = self._lines(path)
        gone, word = lines.pop(dice.randrange(len(lines))), self._word(agent, path)
        self._note(f"{agent} replaces {gone} in {path.name} by {word}")
        self._put(path, [*lines, word])
        return True

    async def tool_edit(self, dice: random.Random) -> bool:
        agent, path = dice.choice(AGENTS), self._some_file(dice)
        if path is None or not self._lines(path):
            return False
        client, line = self._agents[agent], dice.choice(self._lines(path))
        word = self._word(agent, path)
        await client.read(path)
        result = await client.edit(path, f"{line}\n", f"{line}\n{word}\n")
        self._note(f"{agent} edits {path.name}: {word}, {result['status']}")
        if result["status"] == "success" and result["details"]["applied_to"] == "buffer":
            self._buffers.pop(str(path), None)  # the editor of this game does not apply edits
        return True

    # --- the person --------------------------------------------------------------------------------------------------

    async def type(self, dice: random.Random) -> bool:
        path = self._some_file(dice)
        if path is None:
            return False
        key = str(path)
        if key not in self._buffers:
            text = path.read_text()
            self._buffers[key] = [text, text, 1]
            self._editor.open(path, text)
        buffer, word = self._buffers[key], self._word(PERSON, path)
        lines = buffer[0].splitlines()
        lines.insert(dice.randint(0, len(lines)), word)
        self._note(f"the person types {word} into {path.name}")
        self._show(path, "".join(f"{line}\n" for line in lines))
        return True

    def _show(self, path: Path, text: str) -> None:
        buffer = self._buffers[str(path)]
        buffer[0], buffer[2] = text, buffer[2] + 1
        self._editor.change(path, text, version=buffer[2])

    async def save(self, dice: random.Random) -> bool:
        """What was typed is written, over what others have written since. The report of it comes a moment later."""
        dirty = [key for key, (text, of_file, _) in self._buffers.items() if text != of_file]
        if not dirty:
            return False
        path = Path(dice.choice(dirty))
        text, how = self._buffers[str(path)][0], self._how(dice)
        self._note(f"the person saves {path.name}, {how}")
        gone = set(text.splitlines()) - set(self._lines(path))
        self._saved_again |= {word for word in gone if not word.startswith(f"{PERSON}x")}
        begun = steady_time()
        if how == "rename":
            beside = path.with_name(f".{path.name}.new")
            beside.write_text(text)
            beside.rename(path)
        else:
            if how == "new file":
                path.unlink(missing_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._buffers[str(path)][1] = text
        report = asyncio.create_task(self._report(path, text, begun, dice.choice((0.0, 0.0, 0.005, 0.05))))
        self._reports.add(report)
        report.add_done_callback(self._reports.discard)
        return True

    async def _report(self, path: Path, text: str, begun: float, after_s: float) -> None:
        if after_s:
            await asyncio.sleep(after_s)
        self._editor.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
        await self._editor.call("fileops/ask")  # answered after the report was taken
        if steady_time() - begun > REPORTED_WITHIN_S:
            self._note(f"the save of {path.name} was reported late")
            self._saved_late |= {match[0] for match in WORD.finditer(text)}

    async def reload(self, dice: random.Random) -> bool:
        """The editor shows what others have written."""
        clean = [key for key, (text, of_file, _) in self._buffers.items() if text == of_file and os.path.exists(key)]
        if not clean or self._reports:
            return False
        path = Path(dice.choice(clean))
        text = path.read_text()
        if text == self._buffers[str(path)][0]:
            return False
        self._note(f"the editor reloads {path.name}")
        self._show(path, text)
        self._buffers[str(path)][1] = text
        return True

    async def close(self, dice: random.Random) -> bool:
        clean = [key for key, (text, of_file, _) in self._buffers.items() if text == of_file]
        if not clean or self._reports:
            return False
        path = Path(dice.choice(clean))
        del self._buffers[str(path)]
        self._editor.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
        return True

    # --- another program: never within a command, where it would be taken for the command's (R-BY-5) ------------------

    async def outside_write(self, dice: random.Random) -> bool:
        path = self._some_file(dice, exists=dice.random() < 0.8)
        if self._open or path is None:
            return False
        self._change(dice, OUTSIDE, path, self._how(dice))
        return True

    async def outside_rename(self, dice: random.Random) -> bool:
        source, target = self._some_file(dice), self._some_file(dice, exists=False)
        if self._open or source is None or target is None:
            return False
        self._rename(OUTSIDE, source, target)
        return True

    async def outside_remove(self, dice: random.Random) -> bool:
        path = self._some_file(dice)
        if self._open or path is None:
            return False
        self._note(f"another program removes {path.name}")
        path.unlink()
        return True

    def _rename(self, author: str, source: Path, target: Path) -> None:
        self._note(f"{author} renames {source.name} to {target.name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
        if str(source) in self._copied:  # an undo may bring back the first name
            self._copied.add(str(target))
        names = self._renamed.get(str(source), set[str]()) | ({str(source)} if author in AGENTS else set[str]())
        if names := names - {str(target)}:
            self._renamed[str(target)] = names

    def _note_copies(self) -> None:
        self._copied |= {path for path, names in self._renamed.items() if any(map(os.path.exists, names))}

    # --- faults ------------------------------------------------------------------------------------------------------

    @property
    def _recorder(self) -> Any:
        return self._daemon.state.parts(Settings(), print, "mtime", self._daemon.state.hub.router).recorder

    async def stop(self, dice: random.Random) -> bool:
        """The recorder's thread stands still, as that of a process that was stopped, and then goes on."""
        if not self.goes_on.is_set():
            return False
        self.goes_on.clear()
        self._note("the recorder stands still")

        def end() -> None:
            self.goes_on.set()
            self._note("the recorder goes on")

        self._undo.append((self._n_steps + dice.randint(1, 3), end))  # each request waits for it for a second or more
        return True

    async def lose(self, dice: random.Random) -> bool:
        if self.is_losing:
            return False
        self.is_losing = True
        self._note("events are lost")

        def end() -> None:
            self.is_losing = False
            self._note("events are reported again")

        self._fault(dice, end)
        return True

    async def lock(self, dice: random.Random) -> bool:
        """Another program has locked the database."""
        database = Path(self._state_home) / "fileops-server" / "record" / "record.db"
        other = sqlite3.connect(database, isolation_level=None, timeout=0)
        try:
            other.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:  # the daemon writes just now
            other.close()
            return False
        self._note("the database is locked")

        def end() -> None:
            other.close()
            self._note("the database is free")

        self._fault(dice, end)
        return True

    async def descriptors(self, dice: random.Random) -> bool:
        """The process has no descriptors: nothing can be opened, here either."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
        self._has_descriptors = False
        self._note("no descriptors")

        def end() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            self._has_descriptors = True
            self._note("descriptors again")

        self._fault(dice, end)
        return True

    async def clock(self, dice: random.Random) -> None:
        self._clock_s += dice.choice((-3600.0, -30.0, -3.0, -1.0, 1.0, 3.0, 30.0))
        self._note(f"the clock is set by {self._clock_s} s in all")

    async def restart(self, _dice: random.Random) -> None:
        """The daemon is ended; the next one begins with the steps that are left."""
        self._end_faults()
        await self._settled()

    async def wait(self, dice: random.Random) -> None:
        await asyncio.sleep(dice.choice((0.03, 0.1, 0.3)))

    # --- the oracle --------------------------------------------------------------------------------------------------

    async def _settled(self) -> None:
        """Wait until everything is recorded, and every author is certain."""
        if self._reports:
            await asyncio.gather(*self._reports)
        for agent in tuple(self._open):
            await self._end(agent)
        async with asyncio.timeout(PATIENCE_S):
            while True:
                (folder,) = (await self._editor.call("fileops/recordStatus", {}))["folders"]
                if folder["state"] == "on":
                    break
                await asyncio.sleep(0.02)
        await self._settle_record()

    async def _settle_record(self) -> None:
        await asyncio.to_thread(self._recorder.settle)

    async def _judge(self) -> None:
        await self._settled()
        recorded: set[str] = set()
        for entry in await self._entries():
            shown = await self._editor.call("fileops/entry", {"entry_id": entry["entry_id"]})
            self._judge_entry(entry, shown, recorded)
        missing = {word: path for word, path in self._words_on_disk().items() if word not in recorded}
        missing = {word: path for word, path in missing.items() if not _is_first(word)}
        if missing:
            known = [
                f"{entry['kind']} {entry['content']} {entry['gap']} {entry['found']} {entry['by']['label']}"
                for entry in await self._entries()
                if entry["path"] in missing.values()
            ]
            status = await self._editor.call("fileops/recordStatus", {})
            raise Wrong(f"nothing is recorded of {missing}; entries of these files: {known}; {status}")
        for key in tuple(self._buffers):  # an undo goes to the disk then; what was not saved is dropped
            del self._buffers[key]
            self._editor.notify("textDocument/didClose", {"textDocument": {"uri": Path(key).as_uri()}})
        await self._judge_views()
        for agent in AGENTS:
            await self._judge_undo(agent)
        await self._judge_views()

    async def _entries(self) -> list[dict[str, Any]]:
        return (await self._editor.call("fileops/log", {"limit": 1000}))["entries"][::-1]

    def _judge_entry(self, entry: dict[str, Any], shown: dict[str, Any], recorded: set[str]) -> None:
        before = {match[0] for match in WORD.finditer(shown["before_text"] or "")}
        after = {match[0] for match in WORD.finditer(shown["after_text"] or "")}
        is_whole = entry["content"] == "kept" and entry["gap"] is None
        # A first word may come back to its file by a copy, before the entry of the name from which it was copied.
        added = {
            word for word in after - before if word not in recorded and not (_is_first(word) and word in self._seen)
        }
        if entry["rewind_id"] is None and not entry["undoes"]:
            is_new_name = entry["moved_from"] is not None  # the entry of the first name may come after this one
            self._returned |= after if is_new_name else (after - before) & self._seen
        self._seen |= before | after
        recorded |= after
        by = entry["by"]
        for word in added if is_whole else ():
            author = word.partition("x")[0]
            if self._made_at[word] != entry["path"]:
                continue  # it came by a copy or a rename
            if word in self._saved_late:
                self.outcomes["(a word whose save was reported late)"] += 1
                continue
            self.outcomes[f"a word of {'an agent' if author in AGENTS else author}: {by['kind']}"] += 1
            authors = {author, PERSON} if word in self._saved_again else {author}
            require(
                bool(authors & _said_to_be(by)),
                f"{word} in {Path(entry['path']).name} is called {by['label']}, by {entry['entry_id']} "
                f"({entry['kind']}, {entry['evidence']}, {entry['found']})",
            )

    async def _judge_views(self) -> None:
        """Raises: Wrong, if two lists disagree. They are asked for in turn, and an author may settle between."""
        for _ in range(2):
            await self._settle_record()
            with suppress(Wrong):
                await self._compare_views()
                return
        await self._settle_record()
        await self._compare_views()

    async def _compare_views(self) -> None:
        """What is not kept, `blame` and the log name the same changes of the present files.

        A line is one word here, so a line that is listed is of one of its place's entries, and the other way round.
        Not so where a word came back: whose it is then, depends on whether one follows the file or the text. And where
        an undo brought text back into a file that an agent renamed, only `blame` follows the rename.
        """
        entries = {entry["entry_id"]: entry for entry in await self._entries()}
        renamed = {entry["path"] for entry in entries.values() if entry["moved_from"] and _is_by_agent(entry["by"])}
        unkept = await self._editor.call("fileops/unkept", {})
        listed = {file["file_path"]: file for file in unkept["files"]}
        for path in sorted({*listed, *map(str, self._files())}):
            if not os.path.exists(path):
                continue
            blame = await self._editor.call("fileops/blame", {"file_path": path})
            owners: dict[int, str | None] = {}
            for owned in blame["lines"]:
                owners |= dict.fromkeys(
                    range(owned["first_line"], owned["first_line"] + owned["n_lines"]), owned["entry_id"]
                )
            placed: dict[int, set[str]] = {}
            name, words = Path(path).name, Path(path).read_text().splitlines()
            changes = listed.get(path, {"changes": ()})["changes"]
            together = {entry_id for change in changes for entry_id in change["entry_ids"]}
            for change in changes:
                if not change["undoable"]:  # others wrote in it
                    lines = range(change["start_line"], change["end_line"] + 1)
                    own = {line for line in lines if owners.get(line) in change["entry_ids"]}
                    is_back = any(words[line - 1] in self._returned for line in lines)
                    require(bool(own) or is_back, f"nobody listed is blamed for lines {lines} of {name}")
                    placed |= {line: set(change["entry_ids"]) for line in own}
                    continue
                if len(together) > 1 and together == set(change["entry_ids"]):
                    continue  # an undo would change it, but of which of them it is, is not known
                for line in range(change["start_line"], change["end_line"] + 1):
                    placed.setdefault(line, set()).update(change["entry_ids"])
            for line, entry_ids in placed.items():
                require(
                    owners.get(line) in entry_ids or words[line - 1] in self._returned,
                    f"line {line} of {name} is not kept of {entry_ids}, and blame names {owners.get(line)}",
                )
            vague = {
                line
                for change in changes
                if together == set(change["entry_ids"])
                for line in range(change["start_line"], change["end_line"] + 1)
            }
            for line, entry_id in owners.items():
                entry = entries.get(entry_id or "")
                if entry is None or not _is_by_agent(entry["by"]) or entry["kept"] or entry["undone_by"]:
                    continue
                if entry["path"] != path and path in renamed:
                    continue
                require(
                    line in placed or line in vague or words[line - 1] in self._returned,
                    f"blame names {entry_id} for line {line} of {name}, which is not listed",
                )
                self.outcomes["a line that is listed and blamed alike"] += line in placed

    def _files(self) -> list[Path]:
        return [path for path in sorted(self.root.rglob("*")) if path.is_file()]

    def _words_on_disk(self) -> dict[str, str]:
        """Each word that is in a file, with one of them."""
        return {match[0]: str(path) for path in self._files() for match in WORD.finditer(path.read_text())}

    async def _judge_undo(self, agent: str) -> None:
        """Nothing that others wrote is lost by it; what an agent copied is the agent's, and may go with it."""
        sessions = {
            entry["by"]["session_id"]
            for entry in await self._entries()
            if entry["by"]["kind"] in {"session", "command"} and entry["by"]["session_id"].startswith(agent)
        }
        before = {word: path for word, path in self._words_on_disk().items() if word not in self._saved_late}
        texts = {path: path.read_text() for path in self._files()}
        for session in sorted(sessions):
            result = await self._editor.call("fileops/rewind", {"session_id": session, "approved": True})
            self.outcomes[f"undo: {result['error'] and result['error']['code']}"] += 1
        for path in self._files():
            self._returned |= set(path.read_text().split()) - set(texts.get(path, "").split())
        after = self._words_on_disk()
        self._note_copies()
        lost = [
            word
            for word, path in before.items()
            if word not in after and not word.startswith(f"{agent}x") and path not in self._copied
        ]
        require(not lost, f"an undo of {agent} lost {lost[:5]} of {before[lost[0]] if lost else ''}")


def _is_first(word: str) -> bool:
    """Whether it was in the files when the game began."""
    return int(word.partition("x")[2]) <= 12


def _is_by_agent(by: dict[str, Any]) -> bool:
    """Whether an agent may have made it."""
    return not _said_to_be(by).isdisjoint(AGENTS)


def _said_to_be(by: dict[str, Any]) -> set[str]:
    """The authors of whom an entry may be. A person whose editor was not heard of is another program."""
    match by["kind"]:
        case "unsure":
            return {author for candidate in by["candidates"] for author in _said_to_be(candidate)}
        case "person" | "outside":
            return {PERSON, OUTSIDE}
        case _:
            return {agent for agent in AGENTS if by["session_id"].startswith(agent)}
