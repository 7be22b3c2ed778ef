"""Games of agents, programs and people in the same files, with the truth about each byte, for the attribution.

A game is 8 s of virtual time: agents edit by tools and run commands, some in parallel, in the background, or without a
reported end; people type in attached editors, save, and have formatters. A content is the tuple of the writes that made
it, so what a change really contains is known. The daemon's part is the real one: attribution, with the entries of the
record settled as the recorder settles them.
"""

import heapq
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fileops.model.record import ByCommand, ByOutside, ByPerson, BySession, ByUnsure, CommandRecord
from fileops.model.sessions import SessionName
from fileops.record.attribution import FORMATTER_S, SETTLE_S, Author, Observation, Save, attribute
from fileops.record.command_windows import LINGERING_S

LENGTH_S = 8.0
PERSON = "person"
Content = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """What a game varies. settles, has_formatter_rule: switch a rule off, to see that the games notice it."""

    n_files: int = 4
    n_agents: int = 3
    settles: bool = True
    has_formatter_rule: bool = True
    has_unattached_editor: bool = False


@dataclass(slots=True, eq=False)
class _Observed:
    """An observed change that is decided later."""

    path: str
    before: Content
    after: Content
    change: Observation


class Game:
    """One game. outcome: how many entries there are, by how right their authors are."""

    def __init__(self, rules: Rules, seed: int) -> None:
        self.rules = rules
        self.outcome: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._events: list[tuple[float, int, str, tuple[Any, ...]]] = []
        self._n = self._n_writes = 0
        self._files = [f"/p/f{n}" for n in range(rules.n_files)]
        self._disk: dict[str, Content] = dict.fromkeys(self._files, ("base",))
        self._known = dict(self._disk)
        self._buffers: dict[tuple[str, str], Content] = {}
        self._bases: dict[tuple[str, str], Content] = {}
        self._typed: dict[tuple[str, str], tuple[float, Content]] = {}
        self._open: dict[str, set[str]] = {}
        self._touched: dict[str, float] = {}
        self._n_puts: Counter[str] = Counter()  # since the file was read last
        self._saves: dict[str, list[Save]] = {path: [] for path in self._files}
        self._commands: dict[str, CommandRecord] = {}
        self._observed: dict[str, list[_Observed]] = {path: [] for path in self._files}

    def play(self) -> Counter[str]:
        self._plan_agents(self._files)
        self._plan_people(self._files)
        while self._events:
            now, _, kind, arguments = heapq.heappop(self._events)
            getattr(self, f"_on_{kind}")(now, *arguments)
        return self.outcome

    # --- plans -------------------------------------------------------------------------------------------------

    def _at(self, time: float, kind: str, *arguments: object) -> None:
        self._n += 1
        heapq.heappush(self._events, (time, self._n, kind, arguments))

    def _plan_agents(self, files: Sequence[str]) -> None:
        chance = self._random
        for agent in ("A", "B", "C")[: chance.randint(1, self.rules.n_agents)]:
            now = chance.uniform(0, 1.5)
            while now < LENGTH_S:
                if chance.random() < 0.35:
                    self._at(now, "tool", agent, chance.choice(files))
                    now += chance.uniform(0.05, 0.9)
                else:
                    now = self._plan_command(agent, now, files)

    def _plan_command(self, agent: str, now: float, files: Sequence[str]) -> float:
        chance = self._random
        length = chance.choice([chance.uniform(0.03, 0.2), chance.uniform(0.2, 3.0)])
        name, is_background = f"{agent}c{self._n}", chance.random() < 0.1
        self._at(now, "begin", agent, name, is_background)
        for _ in range(chance.randint(0, 4)):
            self._at(chance.uniform(now + 0.01, now + length - 0.001), "write", f"{agent}.{name}", chance.choice(files))
        if chance.random() < 0.4:  # just before the hook
            self._at(now + length - chance.uniform(0, 0.002), "write", f"{agent}.{name}", chance.choice(files))
        if is_background or chance.random() < 0.1:  # it left a process
            for _ in range(chance.randint(1, 3)):
                self._at(now + length + chance.uniform(0.001, 3), "write", f"{agent}.{name}", chance.choice(files))
        if chance.random() >= 0.05:  # else its end is never reported
            self._at(now + length, "end", name)
        if chance.random() < 0.15:  # in parallel with the next one
            return now + chance.uniform(0.005, length)
        return now + length + chance.uniform(0.02, 1.2)

    def _plan_people(self, files: Sequence[str]) -> None:
        chance = self._random
        for editor in ("V", "N"):
            now = chance.uniform(0, 1) if chance.random() < 0.8 else LENGTH_S
            while now < LENGTH_S:
                path = chance.choice(files)
                self._at(now, "type", editor, path)
                for _ in range(chance.randint(1, 3)):
                    now += chance.uniform(0.03, 0.4)
                    self._at(now, "type", editor, path)
                now += chance.uniform(0.01, 0.6)
                if chance.random() < 0.85:
                    self._at(now, "save", editor, path)
                now += chance.uniform(0.1, 2.5)
        if self.rules.has_unattached_editor:
            for _ in range(4):
                self._at(chance.uniform(0, LENGTH_S), "write", PERSON, chance.choice(files))

    # --- what happens ------------------------------------------------------------------------------------------

    def _word(self, writer: str) -> str:
        self._n_writes += 1
        return f"{writer}.{self._n_writes}"

    def _put(self, now: float, path: str, content: Content) -> None:
        """The file changes; the event is read a moment later."""
        self._disk[path] = content
        self._n_puts[path] += 1
        self._touched.setdefault(path, now)
        self._at(now + self._random.uniform(0.001, 0.04), "read", path)

    def _reload(self, now: float, path: str) -> None:
        for editor in sorted(self._open.get(path, ())):
            self._at(now + self._random.uniform(0.04, 0.5), "reload", editor, path)

    def _on_tool(self, now: float, agent: str, path: str) -> None:
        self._observe(now, path)
        self._disk[path] = self._known[path] = (*self._disk[path], self._word(f"{agent}.tool"))
        self.outcome["entries"] += 1
        self.outcome["right agent"] += 1
        self._touched.pop(path, None)
        self._reload(now, path)

    def _on_begin(self, now: float, agent: str, name: str, is_background: bool) -> None:  # of an event
        for path in list(self._touched):
            self._observe(now, path)
        self._commands[name] = CommandRecord(
            command_id=name, session_id=SessionName(agent), label=f"{agent} · {name}", began=now, roots=("/p",),
            is_background=is_background,
        )  # fmt: skip

    def _on_end(self, now: float, name: str) -> None:
        for path in list(self._touched):
            self._observe(now, path)
        command = self._commands[name]
        self._commands[name] = CommandRecord(
            command_id=name, session_id=command.session_id, label=command.label, began=command.began, roots=("/p",),
            is_background=command.is_background, ended=now,
        )  # fmt: skip

    def _on_write(self, now: float, writer: str, path: str) -> None:
        is_whole = writer != PERSON and self._random.random() < 0.1
        before = self._disk[path][:1] if is_whole else self._disk[path]
        self._put(now, path, (*before, self._word(writer)))
        self._reload(now, path)

    def _on_read(self, now: float, path: str) -> None:
        self._observe(now, path)

    def _on_type(self, now: float, editor: str, path: str) -> None:
        key = (editor, path)
        if key not in self._buffers:
            self._buffers[key] = self._bases[key] = self._disk[path]
            self._open.setdefault(path, set()).add(editor)
        self._buffers[key] = (*self._buffers[key], self._word(PERSON))
        delay = self._random.uniform(0.001, 0.02) + (0.15 if editor == "N" else 0)
        self._at(now + delay, "report", editor, path, self._buffers[key], True)

    def _on_report(self, now: float, editor: str, path: str, content: Content, is_typed: bool) -> None:
        if is_typed:
            self._typed[editor, path] = (now, content)
        else:
            self._typed.pop((editor, path), None)

    def _on_save(self, now: float, editor: str, path: str) -> None:
        key, chance = (editor, path), self._random
        if key not in self._buffers or self._buffers[key] == self._bases[key]:
            return
        if chance.random() < 0.3:  # the editor formats, and then writes
            self._buffers[key] = (*self._buffers[key], self._word(PERSON))
        self._bases[key] = self._buffers[key]
        self._put(now, path, self._buffers[key])
        lag = chance.uniform(0.001, 0.06)
        self._at(now + lag, "saved", editor, path, self._buffers[key])
        if chance.random() < 0.25:  # a formatter runs as a program of the editor
            self._at(now + chance.uniform(0.05, 0.8), "write", PERSON, path)

    def _on_saved(self, now: float, editor: str, path: str, content: Content) -> None:
        self._typed.pop((editor, path), None)
        self._saves[path].append(Save(person=ByPerson(session_id=editor, label=editor), time=now, text=_text(content)))

    def _on_reload(self, now: float, editor: str, path: str) -> None:
        key = (editor, path)
        if self._buffers.get(key) == self._bases.get(key):
            self._buffers[key] = self._bases[key] = self._disk[path]
            self._at(now + self._random.uniform(0.001, 0.16), "report", editor, path, self._disk[path], False)

    # --- the daemon --------------------------------------------------------------------------------------------

    def _observe(self, now: float, path: str) -> None:
        before, after = self._known[path], self._disk[path]
        began, n_writes = self._touched.pop(path, now), self._n_puts.pop(path, 0)
        if before == after:
            return
        self._known[path] = after
        commands = tuple(
            command
            for command in self._commands.values()
            if command.began <= now and (command.ended is None or command.ended >= began)
        )
        typist = next(
            (
                ByPerson(session_id=editor, label=editor)
                for (editor, of), (typed, content) in self._typed.items()
                if of == path and content == after and typed < began
            ),
            None,
        )
        change = Observation(
            before_text=_text(before), after_text=_text(after), began=began, read=now, commands=commands,
            n_writes=n_writes, typed_by=typist,
        )  # fmt: skip
        pending = _Observed(path, before, after, change)
        self._observed[path].append(pending)
        is_near = any(save.time > began - FORMATTER_S for save in self._saves[path])
        if self.rules.settles and (self._open.get(path) or is_near):
            self._at(now + SETTLE_S, "settle", pending)
        else:
            self._on_settle(now, pending)

    def _on_settle(self, _now: float, pending: _Observed) -> None:
        change, changes = pending.change, self._observed[pending.path]
        saves = self._saves[pending.path]
        if not self.rules.has_formatter_rule:
            saves = [save for save in saves if save.time >= change.began]
        has_later = changes[-1] is not pending
        lingering = [
            command
            for command in self._commands.values()
            if command.is_background and command.ended is not None
            and change.began - LINGERING_S <= command.ended <= change.read
        ]  # fmt: skip
        author = attribute(change, saves=saves, lingering=lingering, has_later=has_later)
        self._judge(author, [word for word in pending.after if word not in pending.before])

    def _judge(self, author: Author, words: Sequence[str]) -> None:
        if not words:
            self.outcome["nothing left"] += 1
            return
        self.outcome["entries"] += 1
        self.outcome[_verdict(author, words)] += 1


def _text(content: Content) -> str:
    return " ".join(content)


def _verdict(author: Author, words: Sequence[str]) -> str:
    writers = {word.partition(".")[0] for word in words}
    match author.by:
        case ByUnsure():
            return "unsure"
        case ByOutside():
            return "outside"
        case ByPerson():
            return "right person" if writers == {PERSON} else "an agent's words called the person's"
        case BySession(session_id=agent) | ByCommand(session_id=agent):
            if PERSON in writers:
                return "a person's words called an agent's"
            return "right agent" if writers == {agent} else "one agent called another"
