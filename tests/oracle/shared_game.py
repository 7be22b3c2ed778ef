"""One game of a shared daemon: agents over LSP and MCP, editors and another program, in two projects.

It is one module because a step is what its clients do, what users answer during it, and what is right afterwards.

The daemon and its clients are in this process, each client over a socket pair. A step is a name and a number, as in
`game.py`, so that a game is replayed by its seed and can do without a step. What a step does follows from its number
and from the state of the game; only the moments of a cancel and of a change during a read depend on the scheduler.

Judged are the bytes of all files, every answer, and who was asked (`consent.py`): nothing of the server is consulted.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oracle.consent import (
    ASK_OF,
    MODES,
    Approve,
    Consent,
    Due,
    EditorSeat,
    Mode,
    code_of_editors,
    codes_of_host,
    is_inside,
    stops_asking,
    strictest,
)
from oracle.contents import Wrong, judge_splice, require, shown
from oracle.game import Step
from oracle.texts import Vocabulary, words_of
from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, McpHost, Refused, SharedDaemon, code_of, shared_daemon

STEPS: dict[str, float] = {  # and how often, beside each other
    "edit": 20, "read": 8, "write_back": 12, "cancelled_edit": 8, "cancelled_read": 6, "outside_write": 6,
    "edits_in_both_projects": 6,
    "join_editor": 4, "leave_editor": 2, "join_agent": 5, "leave_agent": 3, "twin": 4,
    "loosen": 3, "history": 4, "undo_of_another": 4, "list_sessions": 4, "change_roots": 4,
}  # fmt: skip
MAX_AGENTS, MAX_EDITORS = 6, 3
LONG = "s" * 200
# Ids of a session, given by its host or by a request. What agrees in 200 characters, begins with another one's name,
# or is the name of another kind of source, is not the same.
HOST_IDS = (None, None, "A", "A/x", "A/x/y", "A:x", f"{LONG}1", f"{LONG}2", "ä/漢", "A%2Fx")
REQUEST_IDS = (
    None, None, "x", "x/y", "y", "default", "buffer", "external", f"{LONG}1", f"{LONG}2", " ", "ä", "A/x", "/", "x/",
)  # fmt: skip
SHOWN = "These lines are in the file now. They count as read"  # the beginning of what a refused edit shows
INVALID_PARAMS, CANCELLED = -32602, -32800
NO_CONSENT: tuple[object, ...] = (
    {"action": "accept", "content": {"decision": "reject", "apply": True}},
    {"action": "accept", "content": {"decision": "apply", "apply": False}},
    {"action": "accept", "content": {"decision": "reject"}},
    {"action": "accept", "content": {"apply": 1}}, {"action": "accept", "content": {"apply": "true"}},
    {"action": "accept", "content": {"decision": ["apply"]}}, {"action": "accept", "content": {}},
    {"action": "accept"}, {"action": "decline", "content": {"decision": "apply"}},
    {"action": "cancel"}, {"decision": "apply"}, [], "apply", None, True,
)  # fmt: skip
REJECTIONS: tuple[object, ...] = (
    {"outcome": "cancel"}, {"outcome": "cancel", "text": "x"},
)  # fmt: skip
MALFORMED: tuple[object, ...] = (
    None, [], "proceed_always", {}, {"outcome": True}, {"outcome": ["proceed_once"]},
    {"outcome": "proceed_once", "text": []},
)  # fmt: skip
BAD_ROOTS: tuple[object, ...] = (None, {"roots": "/"}, {"roots": [{"uri": 5}]}, [])
CONTENT_CODES = {"not_read", "modified_externally", "not_found", "no_match", "multiple_matches", "already_exists"}


@dataclass(slots=True)
class AgentSeat:
    """An agent that is connected. base: its identity; all sessions of it begin with it. roots: None if not confined."""

    client: LspClient | McpHost
    host: str
    base: tuple[str, ...]
    freshness: str
    approve: Approve = "person"
    host_asks: bool = False
    roots: tuple[str, ...] | None = None
    are_roots_fixed: bool = True
    used: set[str] = field(default_factory=set[str])  # sessions

    @property
    def is_mcp(self) -> bool:
        return isinstance(self.client, McpHost)

    def session(self, local: str | None) -> str:
        """What distinguishes a session from all others."""
        if local is None or (local == "default" and not self.is_mcp):
            return repr(self.base)
        return repr((self.host, local)) if self.is_mcp else repr((*self.base, "/", local))

    def owns(self, session: str) -> bool:
        return session == repr(self.base) or session.startswith(f"{repr(self.base)[:-1]}, '/', ")

    def may_edit(self, path: str) -> bool:
        return self.roots is None or any(is_inside(root, path) for root in self.roots)


@dataclass(slots=True)
class Sight:
    """What a session was shown last: the text and how many changes the file had had. text None: not sure.

    is_part: only some lines of it were shown, which suffices for an edit, and not for a write.
    """

    text: str | None
    n_changes: int
    is_part: bool = False


@dataclass(slots=True)
class Turn:
    """What people answer while one request is in flight, and who was asked.

    decider: the editor that decides; the others of `silent` wait for the end of the request.
    """

    decider: str | None = None
    decision: Any = None
    leaves: bool = False
    silent: frozenset[str] = frozenset()
    others: Any = None
    of_host: Any = None
    asked: list[str] = field(default_factory=list[str])
    n_asked_of_host: int = 0
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    def __str__(self) -> str:
        editors = (
            f"{sorted(self.asked)} {self.decider}: {'left' if self.leaves else self.decision}" if self.asked else ""
        )
        return f"{editors} {f'host: {self.of_host}' if self.n_asked_of_host else ''}".strip()


@dataclass(frozen=True, slots=True)
class Change:
    """who: a session, or None for the other program."""

    who: str | None
    edit_id: str | None = None


def steps_of(seed: int, n_steps: int) -> list[Step]:
    dice = random.Random(f"shared {seed}")
    names = dice.choices(list(STEPS), list(STEPS.values()), k=n_steps)
    return [Step(name, dice.randrange(10**6)) for name in names]


class SharedGame:
    """folder: a new one. Raises: Wrong, at the first thing that the oracle does not allow."""

    def __init__(self, folder: str, seed: int) -> None:
        self._dice = random.Random(f"shared setting {seed}")
        self.root = f"{folder}/w"
        self.outside = f"{folder}/away"
        self.words = Vocabulary()
        self.consent = Consent()
        self.outcomes: Counter[str] = Counter()
        self.trace: list[str] = []
        self.disk: dict[str, bytes] = {}
        self.changes: dict[str, list[Change]] = {}
        self.sights: dict[tuple[str, str], Sight] = {}
        self.edits: dict[str, str] = {}  # id -> session
        self.agents: list[AgentSeat] = []
        self._editors: dict[str, LspClient] = {}
        self._n = 0
        self._turn: Turn | None = None
        self._faults: list[str] = []
        self._daemon: SharedDaemon | None = None

    # --- the game ----------------------------------------------------------------------------------------------------

    def play(self, steps: list[Step]) -> None:
        try:
            asyncio.run(self._play(steps))
        except (Refused, TimeoutError) as fault:
            raise Wrong(f"{type(fault).__name__}: {fault}") from fault

    async def _play(self, steps: list[Step]) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, fault: self._faults.append(f"{fault}"))
        for project in ("a", "b"):
            for name in ("f0", "f1", ".env", ".git/config"):
                path = f"{self.root}/{project}/{name}"
                os.makedirs(os.path.dirname(path), exist_ok=True)
                self._write(path, self._content(self._dice), None)
        os.makedirs(self.outside)
        async with shared_daemon() as daemon:
            self._daemon = daemon
            for _ in range(2):
                await self.join_agent(self._dice)
            for step in steps:
                self.trace.append(f"{step}")
                await getattr(self, step.name)(random.Random(f"{step}"))
                self._check()

    def _check(self) -> None:
        require(not self._faults, "; ".join(self._faults))
        for path, data in self.disk.items():
            actual = Path(path).read_bytes()
            require(actual == data, f"{self._short(path)} has {actual!r}, not {data!r}")

    @property
    def daemon(self) -> SharedDaemon:
        assert self._daemon is not None
        return self._daemon

    # --- who is there ------------------------------------------------------------------------------------------------

    async def join_editor(self, dice: random.Random) -> None:
        if len(self._editors) >= MAX_EDITORS:
            return
        self._n += 1
        name = f"editor{self._n}"
        folders = dice.choice([("a",), ("b",), ("a", "b"), ("",)])
        stated: Mode | None = dice.choice([None, None, None, *MODES])
        seat = EditorSeat(
            name, tuple(f"{self.root}/{folder}".rstrip("/") for folder in folders), dice.random() < 0.85, stated
        )
        options: dict[str, Any] = {"review_grace_s": 0, "ask": None if stated is None else ASK_OF[stated]}
        client = await self.daemon.editor(*map(Path, seat.folders), host=name, confirms=seat.can_ask, **options)

        async def confirm(params: Any) -> Any:
            return await self._confirm(name, params)

        client.answers["fileops/confirmEdit"] = confirm
        await client.call("fileops/sessions", {})  # its folders have been resolved when this is answered
        self._editors[name], self.consent.editors[name] = client, seat
        self._note("joins", name, folders, f"stated {stated}", "" if seat.can_ask else "cannot ask")

    async def leave_editor(self, dice: random.Random) -> None:
        if self._editors:
            await self._leave_editor(dice.choice(list(self._editors)))

    async def _leave_editor(self, name: str) -> None:
        del self.consent.editors[name]
        await self._editors.pop(name).hang_up()
        self._note("leaves", name)

    async def join_agent(self, dice: random.Random) -> None:
        if len(self.agents) < MAX_AGENTS:
            await self._join(dice, dice.choice(["bot", "bot", "cat"]), dice.choice(HOST_IDS))

    async def twin(self, dice: random.Random) -> None:
        """A second connection of a session that its host has named, as after a restart of the host's server."""
        named = [agent for agent in self.agents if not agent.base[1].startswith("#")]
        if named and len(self.agents) < MAX_AGENTS + 2:
            agent = dice.choice(named)
            await self._join(dice, agent.host, agent.base[1], is_mcp=agent.is_mcp)

    async def _join(self, dice: random.Random, host: str, own_id: str | None, *, is_mcp: bool | None = None) -> None:
        self._n += 1
        base = (host, f"#{self._n}" if own_id is None else own_id)
        freshness = dice.choice(["mtime", "content", "relevant", "relevant"])
        roots = tuple(f"{self.root}{folder}" for folder in dice.choice([("",), ("/a",), ("/b",), ("/a/.git",)]))
        if (dice.random() < 0.4) if is_mcp is None else is_mcp:
            agent = await self._mcp_agent(dice, host, own_id, base, freshness, roots)
        else:
            agent = await self._lsp_agent(dice, host, own_id, base, freshness, roots)
        self.agents.append(agent)

    async def _lsp_agent(
        self,
        dice: random.Random,
        host: str,
        own_id: str | None,
        base: tuple[str, ...],
        freshness: str,
        roots: tuple[str, ...],
    ) -> AgentSeat:
        loose = dice.choice([{}, {"approval_mode": "yolo"}, {"approval_mode": "auto_edit", "ask": "never"}])
        options: dict[str, Any] = {
            "freshness": freshness,
            "notices": dice.choice(["details", "details", "output", "off"]),
            **loose,
        }
        client = await self.daemon.agent(*map(Path, roots), host=host, session=own_id, **options)
        self._note("joins", "lsp", base, options, *map(self._short, roots))
        return AgentSeat(client, host, base, freshness, roots=roots)

    async def _mcp_agent(
        self,
        dice: random.Random,
        host: str,
        own_id: str | None,
        base: tuple[str, ...],
        freshness: str,
        roots: tuple[str, ...],
    ) -> AgentSeat:
        approve: Approve = dice.choice(["person", "person", "ask", "host", "never"])
        is_fixed, elicits = dice.random() < 0.4, dice.random() < 0.6
        options: dict[str, Any] = {"freshness": freshness, "approve": approve, "further_tools": ["Write"]}
        if own_id is not None:
            options["session"] = own_id
        if is_fixed:
            options["roots"] = list(roots)
        client = await self.daemon.mcp(Path(self.outside), host, **options)
        agent = AgentSeat(client, host, base, freshness, approve, elicits, roots, is_fixed)

        async def name_roots(_params: Any) -> Any:
            return {"roots": [{"uri": f"file://{root}"} for root in roots]}

        async def elicit(_params: Any) -> Any:
            return await self._elicit()

        client.answers |= {"roots/list": name_roots, "elicitation/create": elicit}
        capabilities = {"roots": {"listChanged": True}, **({"elicitation": {}} if elicits else {})}
        await client.begin(host, capabilities)
        asks = "asks" if elicits else "asks nobody"
        self._note(
            "joins", "mcp", base, freshness, approve, asks, *map(self._short, roots), "fixed" if is_fixed else ""
        )
        return agent

    async def leave_agent(self, dice: random.Random) -> None:
        if len(self.agents) > 1:
            agent = self.agents.pop(dice.randrange(len(self.agents)))
            await agent.client.hang_up()
            self._note("leaves", agent.base)

    async def change_roots(self, dice: random.Random) -> None:
        """The host says that its folders are others now: one, none, or nothing that can be read."""
        agent = next((agent for agent in self.agents if isinstance(agent.client, McpHost)), None)
        if agent is None:
            return
        given: Any = dice.choice([[f"{self.root}/a"], [f"{self.root}/b"], [], [], None])
        answer: Any = (
            dice.choice(BAD_ROOTS) if given is None else {"roots": [{"uri": f"file://{root}"} for root in given]}
        )
        client = agent.client

        async def name_roots(_params: Any) -> Any:
            return answer

        await self._read(agent, None, f"{self.root}/a/f0")  # the first question for roots has been answered
        client.answers["roots/list"] = name_roots
        n_asked = len(client.asked)
        client.notify("notifications/roots/list_changed", {})
        if not agent.are_roots_fixed:
            await client.until(lambda: len(client.asked) > n_asked)
            if given is not None:
                agent.roots = tuple(given)
        for _ in range(3):
            await client.call("ping")
        await self._read(agent, None, f"{self.root}/a/f0")
        self._note("roots", agent.base, answer)

    async def loosen(self, dice: random.Random) -> None:
        """An agent sets its own mode. This may only add questions."""
        agent = next((agent for agent in self._shuffled(dice) if not agent.is_mcp), None)
        if agent is None:
            return
        local, mode = dice.choice(REQUEST_IDS), dice.choice(MODES)
        result = await self._call(agent, "fileops/setApprovalMode", {"mode": mode}, local)
        if result is not None:
            demanded = self.consent.demanded
            demanded[agent.session(local)] = strictest((mode, demanded.get(agent.session(local), "yolo")))
        self._note("loosen", agent.base, _cut(local), mode, "refused" if result is None else "accepted")

    # --- reads and edits ---------------------------------------------------------------------------------------------

    async def read(self, dice: random.Random) -> None:
        agent, local, path = self._who(dice)
        await self._read(agent, local, path)

    async def _read(
        self,
        agent: AgentSeat,
        local: str | None,
        path: str,
        *,
        meanwhile: Callable[[], None] | None = None,
        ticks: int = 0,
        is_raw: bool = False,
    ) -> str:
        """The text that was shown. `meanwhile`: what happens some turns of the event loop after the request is sent."""
        possible, n_changes = {shown(self.disk[path])}, len(self.changes[path])
        request = self._start_read(agent, local, path, is_raw=is_raw)
        if meanwhile is not None:
            await _turns(ticks)
            meanwhile()
            possible.add(shown(self.disk[path]))
        answer = await request
        require(code_of(answer) is None, f"a read was answered with {answer}")
        self._take_notices(agent, local, answer, except_for=path)
        text = _text_read(answer)
        require(text in possible, f"the read of {possible} gave {text!r}")
        session = agent.session(local)
        agent.used.add(session)
        is_latest = text == shown(self.disk[path])
        self.sights[session, path] = Sight(text, len(self.changes[path]) if is_latest else n_changes)
        self._note("read", agent.base, _cut(local), self._short(path), "raw" if is_raw else "")
        return text

    def _start_read(
        self, agent: AgentSeat, local: str | None, path: str, *, is_raw: bool = False
    ) -> "asyncio.Task[Any]":
        if isinstance(agent.client, McpHost):
            return agent.client.start_tool("Read", local, file_path=path)
        params: dict[str, Any] = {"file_path": path, **({} if local is None else {"session_id": local})}
        return agent.client.start("fileops/read", {**params, "raw": True} if is_raw else params)

    def _start_edit(self, agent: AgentSeat, local: str | None, path: str, old: str, new: str) -> "asyncio.Task[Any]":
        if isinstance(agent.client, McpHost):
            return agent.client.start_tool("Edit", local, file_path=path, old_string=old, new_string=new)
        return agent.client.start_edit(Path(path), old, new, local)

    def _start_write(self, agent: AgentSeat, local: str | None, path: str, content: str) -> "asyncio.Task[Any]":
        if isinstance(agent.client, McpHost):
            return agent.client.start_tool("Write", local, file_path=path, content=content)
        params = {"file_path": path, "content": content, **({} if local is None else {"session_id": local})}
        return agent.client.start("fileops/write", params)

    async def edit(self, dice: random.Random) -> None:
        agent, local, path = self._who(dice)
        if dice.random() < 0.75:
            await self._read(agent, local, path)
        await self._edit(dice, agent, local, path)

    async def edits_in_both_projects(self, dice: random.Random) -> None:
        """By one session: what people of one project allow counts for nothing in the other one."""
        agent = next((agent for agent in self._shuffled(dice) if agent.may_edit(f"{self.root}/f")), None)
        if agent is None:
            return
        local = dice.choice(REQUEST_IDS) if dice.random() < 0.3 else None
        for project in dice.sample(("a", "b"), 2):
            path = f"{self.root}/{project}/{dice.choice(('f0', 'f1', '.env'))}"
            await self._read(agent, local, path)
            await self._edit(dice, agent, local, path)

    async def _edit(self, dice: random.Random, agent: AgentSeat, local: str | None, path: str) -> None:
        old, new = self._change(dice, path)
        turn = self._begin_turn(dice, agent, local, path)
        request = self._start_edit(agent, local, path, old, new)
        code = await self._judged(agent, local, path, turn, request, (old, new))
        self._note("edit", agent.base, _cut(local), self._short(path), old.strip(), new.strip(), turn, "=>", code)

    async def write_back(self, dice: random.Random) -> None:
        """Read a text, change a word in it and write it back. Often another program changes the file in between."""
        agent, local, path = self._who(dice)
        is_raw = not agent.is_mcp
        if dice.random() < 0.7:
            await self._read(agent, local, path, is_raw=is_raw)
        meanwhile = (lambda: self._outside(dice, path)) if dice.random() < 0.7 else None
        ticks = dice.randrange(40)
        text = await self._read(agent, local, path, meanwhile=meanwhile, ticks=ticks, is_raw=is_raw)
        if dice.random() < 0.2:
            self._outside(dice, path)
        old, new = dice.choice(words_of(text)), self.words.word(dice)
        content = text.replace(old, new)
        turn = self._begin_turn(dice, agent, local, path)
        request = self._start_write(agent, local, path, content)
        code = await self._judged(agent, local, path, turn, request, content)
        self._note("write", agent.base, _cut(local), self._short(path), old, new, turn, "=>", code)

    async def cancelled_edit(self, dice: random.Random) -> None:
        """Some turns of the event loop after it was sent, or after its bytes were there."""
        agent, local, path = self._who(dice)
        await self._read(agent, local, path)
        if not self._is_free(agent, local, path):
            return
        if dice.random() < 0.5:  # so that there is something to notice after the commit
            other = dice.choice([known for known in self.disk if known != path])
            await self._read(agent, local, other)
            self._outside(dice, other)
        old, new = self._change(dice, path)
        before, session = self.disk[path], agent.session(local)
        request = self._start_edit(agent, local, path, old, new)
        msg_id = agent.client.last_id
        if dice.random() < 0.5:
            await _turns(dice.randrange(60))
        else:
            for _ in range(2000):
                if Path(path).read_bytes() != before or request.done():
                    break
                await _turns(1)
            await _turns(dice.randrange(12))
        agent.client.cancel(msg_id)
        if agent.is_mcp:
            answer = await self._answer_if_any(agent, path, request)
        else:
            try:
                answer = await request
            except Refused as refused:
                require(refused.args[0] == CANCELLED, f"a cancelled edit was answered with {refused}")
                answer = "cancelled"
        after = Path(path).read_bytes()
        is_applied = after != before
        if is_applied:
            judge_splice(before, old, new, after)
        if isinstance(answer, dict):
            require((code_of(answer) is None) == is_applied, f"answered with {answer}, and the file is {after!r}")
        elif answer == "cancelled":
            require(not is_applied, f"answered as cancelled, and applied: {old!r} -> {new!r}")
        elif is_applied:
            await self._require_told(agent, local, path)
        if is_applied:
            agent.used.add(session)
            edit_id = _edit_id(answer) if isinstance(answer, dict) else None
            self._took_place(session, path, after, edit_id)
        self._take_notices(agent, local, answer)
        self._note("cancelled edit", agent.base, self._short(path), "applied" if is_applied else "not applied")

    async def cancelled_read(self, dice: random.Random) -> None:
        """What was never shown may not be replaced."""
        agent, local, path = self._who(dice)
        session = agent.session(local)
        if not self._is_free(agent, local, path) or (session, path) in self.sights:
            return
        request = self._start_read(agent, local, path)
        msg_id = agent.client.last_id
        await _turns(dice.randrange(60))
        agent.client.cancel(msg_id)
        try:
            answer = await self._answer_if_any(agent, path, request) if agent.is_mcp else await request
        except Refused as refused:
            require(refused.args[0] == CANCELLED, f"a cancelled read was answered with {refused}")
            answer = None
        if answer is not None:
            self._note("cancelled read", agent.base, "answered")
            require(code_of(answer) is None, f"a read was answered with {answer}")
            agent.used.add(session)
            self.sights[session, path] = Sight(_text_read(answer), len(self.changes[path]))
            self._take_notices(agent, local, answer, except_for=path)
            return
        result = await self._start_write(agent, local, path, self._content(dice).decode())
        self._take_notices(agent, local, result)
        self._note("cancelled read", agent.base, _cut(local), self._short(path), "=>", code_of(result))
        require(code_of(result) == "not_read", f"a file was written whose read was never answered: {result}")

    async def outside_write(self, dice: random.Random) -> None:
        self._outside(dice, dice.choice(list(self.disk)))

    # --- history and sessions ----------------------------------------------------------------------------------------

    async def history(self, dice: random.Random) -> None:
        agent = next((agent for agent in self._shuffled(dice) if not agent.is_mcp), None)
        if agent is None:
            return
        result = await agent.client.call("fileops/history", {"limit": 100_000})
        listed = {edit["edit_id"] for edit in result["edits"]}
        foreign = {self.edits[edit_id] for edit_id in listed if edit_id in self.edits} - self._own(agent)
        require(not foreign, f"{agent.base} lists the edits of {foreign}")
        self._note("history", agent.base, len(listed))

    async def undo_of_another(self, dice: random.Random) -> None:
        agent = next((agent for agent in self._shuffled(dice) if not agent.is_mcp), None)
        foreign = [] if agent is None else [one for one, who in self.edits.items() if who not in self._own(agent)]
        if agent is None or not foreign:
            return
        edit_id = dice.choice(foreign[-8:])
        try:
            result = await agent.client.call("fileops/undo", {"edit_id": edit_id})
        except Refused:
            result = None
        self._take_notices(agent, None, result)
        is_refused = result is None or code_of(result) is not None
        require(is_refused, f"{agent.base} undid an edit of {self.edits[edit_id]}")
        self._note("undo", agent.base, "of", self.edits[edit_id])

    async def list_sessions(self, dice: random.Random) -> None:
        """A session is connected as long as one of its connections is."""
        if not self._editors:
            return
        editor = self._editors[dice.choice(list(self._editors))]
        listed = (await editor.call("fileops/sessions", {}))["sessions"]
        for host in {agent.host for agent in self.agents}:
            live = {session for agent in self.agents if agent.host == host for session in agent.used}
            n_connected = sum(record["connected"] for record in listed if record["host"] == host)
            require(n_connected >= len(live), f"{n_connected} sessions of {host} are connected, not {live}: {listed}")
        self._note("sessions", len(listed))

    # --- people ------------------------------------------------------------------------------------------------------

    def _begin_turn(self, dice: random.Random, agent: AgentSeat, local: str | None, path: str) -> Turn:
        turn = self._turn = Turn()
        concerned = sorted({name for due in self._due(agent, local, path) for name in due.editors})
        if concerned:
            turn.decider = dice.choice(concerned)
            turn.silent = frozenset(concerned) - {turn.decider}
            turn.leaves = len(concerned) == 1 and dice.random() < 0.1
            kind = dice.choice(["once", "once", "once", "always", "always", "no", "malformed"])
            turn.others = dice.choice(MALFORMED) if dice.random() < 0.3 else None
            if kind == "malformed" and turn.others is None:
                turn.others = {"outcome": "cancel"}
            turn.decision = {
                "once": {"outcome": "proceed_once"},
                "always": {"outcome": "proceed_always"},
                "no": dice.choice(REJECTIONS),
                "malformed": dice.choice(MALFORMED),
            }[kind]
        turn.of_host = dice.choice(
            [
                {"action": "accept", "content": {"decision": "apply"}},
                {"action": "accept", "content": {"decision": "apply and stop asking"}},
                dice.choice(NO_CONSENT),
            ]
        )
        return turn

    async def _confirm(self, name: str, params: Any) -> Any:
        turn = self._turn
        if turn is None:
            self._faults.append(f"{name} was asked although no edit was in flight: {params}")
            return {"outcome": "cancel"}
        turn.asked.append(name)
        if name == turn.decider:
            if turn.leaves:
                await self._leave_editor(name)
            return turn.decision
        if name in turn.silent:
            if turn.others is not None:
                return turn.others
            try:
                await asyncio.wait_for(turn.is_over.wait(), PATIENCE_S / 3)  # sooner than the request gives up
            except TimeoutError:
                self._faults.append(f"{name} was asked, and {turn.decider} was not")
        return {"outcome": "cancel"}

    async def _elicit(self) -> Any:
        turn = self._turn
        if turn is None:
            self._faults.append("a host was asked although no edit was in flight")
            return {"action": "cancel"}
        turn.n_asked_of_host += 1
        return turn.of_host

    def _due(self, agent: AgentSeat, local: str | None, path: str) -> list[Due]:
        return self.consent.due(
            agent.session(local),
            path,
            approve=agent.approve,
            host_asks=agent.host_asks,
            is_protected=_is_protected(path),
        )

    def _is_free(self, agent: AgentSeat, local: str | None, path: str) -> bool:
        return agent.may_edit(path) and all(due.is_free for due in self._due(agent, local, path))

    # --- judging -----------------------------------------------------------------------------------------------------

    async def _judged(
        self,
        agent: AgentSeat,
        local: str | None,
        path: str,
        turn: Turn,
        request: "asyncio.Task[Any]",
        wanted: tuple[str, str] | str,
    ) -> str | None:
        """The code of the answer, after everything about it was judged. wanted: the edit, or the text of a write."""
        dues, before = self._due(agent, local, path), self.disk[path]
        answer = await request
        turn.is_over.set()
        self._turn = None
        self._judge_answer(agent, agent.session(local), path, turn, answer, before, dues, wanted)
        self._take_notices(agent, local, answer)
        return code_of(answer)

    def _judge_answer(
        self,
        agent: AgentSeat,
        session: str,
        path: str,
        turn: Turn,
        answer: Any,
        before: bytes,
        dues: list[Due],
        wanted: tuple[str, str] | str,
    ) -> None:
        code, after = code_of(answer), Path(path).read_bytes()
        if code is not None:
            require(after == before, f"refused with {code}, and changed: {before!r} -> {after!r}")
        if not agent.may_edit(path):
            require(code is not None, f"an edit outside of {agent.roots} was answered with {answer}")
        elif self._is_refused_for_content(agent, session, path, code, answer, wanted):
            require(not turn.asked and not turn.n_asked_of_host, f"people were asked about an edit that is {code}")
            self._take_shown_lines(agent, session, path, answer)
        else:
            self._judge_consent(agent, session, path, turn, code, dues)
            if code is None:
                self._judge_bytes(session, path, before, after, wanted)
                agent.used.add(session)
                self._took_place(session, path, after, _edit_id(answer))

    def _is_refused_for_content(
        self,
        agent: AgentSeat,
        session: str,
        path: str,
        code: str | None,
        answer: Any,
        wanted: tuple[str, str] | str,
    ) -> bool:
        """Raises: Wrong, if the content was to be refused and was not, or the other way round."""
        sight = self.sights.get((session, path))
        if sight is None:
            require(code == "not_read", f"{session} has not read {self._short(path)}, and was answered with {answer}")
            return True
        if sight.is_part and isinstance(wanted, str):
            refusals = {"not_read", "modified_externally"}
            require(code in refusals, f"{session} has not read all of {self._short(path)}, and wrote it: {answer}")
            return True
        is_same = sight.text is not None and sight.text == shown(self.disk[path])
        if sight.text is not None and not is_same and agent.freshness != "relevant":
            require(code == "modified_externally", f"an edit of an unseen content was answered with {answer}")
        if code not in CONTENT_CODES:
            return False
        is_moved = sight.n_changes < len(self.changes[path]) or sight.text is None or not is_same
        require(is_moved or code == "no_match", f"an edit of what was read was refused: {answer}")
        if code == "modified_externally" and not agent.is_mcp:
            self._judge_changer(answer, self.changes[path][sight.n_changes :])
        return True

    def _take_shown_lines(self, agent: AgentSeat, session: str, path: str, answer: Any) -> None:
        """What a refused edit shows counts as read: the same edit succeeds. Under "relevant", by other rules."""
        if any(item["text"].startswith(SHOWN) for item in answer.get("content", ())):
            text = None if agent.freshness == "relevant" else shown(self.disk[path])
            self.sights[session, path] = Sight(text, len(self.changes[path]), is_part=True)

    def _judge_changer(self, answer: Any, changes: list[Change]) -> None:
        """A session is not called as another program or an editor is."""
        changed_by = answer["details"].get("changed_by")
        if changes and all(change.who is not None for change in changes):
            require(changed_by not in {"external", "buffer"}, f"{changes[-1].who} is called {changed_by!r}")

    def _judge_consent(
        self, agent: AgentSeat, session: str, path: str, turn: Turn, code: str | None, dues: list[Due]
    ) -> None:
        asked = Due(editors=frozenset(turn.asked), by_host=bool(turn.n_asked_of_host))
        if turn.asked and turn.leaves:
            # An editor that wanted no questions is asked when it is the only one left; it rejects (`_confirm`).
            of_editors = "rejected" if len(turn.asked) > 1 else "undecided"
        elif turn.asked:
            require(
                any(due.editors == asked.editors for due in dues),
                f"{session}: asked were {asked}, where {dues} was due for {self._short(path)}",
            )
            of_editors = code_of_editors([turn.decision, *(turn.others for _ in turn.silent)])
        else:
            self._judge_without_editors(session, path, turn, code, dues)
            return
        if of_editors != "undecided":
            require(not asked.by_host, f"the host was asked although the editors answered: {turn}")
            require(code == of_editors, f"answered with {code}, not {of_editors}: {turn}")
            if code is None and turn.decision == {"outcome": "proceed_always"}:
                assert turn.decider is not None
                self.consent.granted.setdefault(session, []).append(self.consent.editors[turn.decider])
            return
        require(asked.by_host == agent.host_asks, f"nobody in an editor decided, and the host was to be asked: {turn}")
        self._judge_host(session, turn, code)

    def _judge_without_editors(self, session: str, path: str, turn: Turn, code: str | None, dues: list[Due]) -> None:
        is_asked = bool(turn.n_asked_of_host)
        fitting = [due for due in dues if not due.editors and due.by_host == is_asked]
        require(fitting, f"{session}: the host was {'' if is_asked else 'not '}asked about {self._short(path)}: {dues}")
        if is_asked:
            self._judge_host(session, turn, code)
        else:
            codes = {None if due.is_free else "consent_unavailable" for due in fitting}
            require(code in codes, f"answered with {code}, where {dues} was due")

    def _judge_host(self, session: str, turn: Turn, code: str | None) -> None:
        """turn: no editor has decided; the host was asked if it can ask."""
        codes = codes_of_host(turn.of_host) if turn.n_asked_of_host else {"undecided"}
        require(code in codes, f"answered with {code}, not {codes}: {turn}")
        if code is None and stops_asking(turn.of_host):
            self.consent.granted_by_host.add(session)

    def _judge_bytes(self, session: str, path: str, before: bytes, after: bytes, wanted: tuple[str, str] | str) -> None:
        if isinstance(wanted, tuple):
            judge_splice(before, *wanted, after)
            return
        sight = self.sights[session, path]
        if sight.text is None or sight.text == shown(before):
            require(sight.text is None or shown(after) == wanted, f"{wanted!r} was to be written, not {after!r}")
            return
        seen, present, result = (Counter(words_of(text)) for text in (sight.text, shown(before), shown(after)))
        lost = [word for word in present if word not in seen and word not in result]
        require(not lost, f"{lost} of others went: {sight.text!r} was read, {before!r} -> {after!r}")
        risen = [word for word in seen if word not in present and word in result]
        require(not risen, f"{risen} was removed by others: {sight.text!r} was read, {before!r} -> {after!r}")

    # --- helpers -----------------------------------------------------------------------------------------------------

    async def _call(self, agent: AgentSeat, method: str, params: dict[str, Any], local: str | None) -> Any:
        """None if it was refused as such."""
        given = params if local is None else {**params, "session_id": local}
        try:
            return await agent.client.call(method, given)
        except Refused as refused:
            require(refused.args[0] == INVALID_PARAMS, f"answered with {refused}")
            return None

    async def _answer_if_any(self, agent: AgentSeat, path: str, request: "asyncio.Task[Any]") -> Any:
        """The answer of a cancelled call of MCP, which needs none; None once there will be no more."""
        for _ in range(3):
            await agent.client.call("ping")
        observer = await self.daemon.agent(Path(self.root), host="observer")
        await observer.read(Path(path))
        await observer.edit(Path(path), "no such text", "x")  # waits for the lock of the file
        await observer.hang_up()
        for _ in range(3):
            await agent.client.call("ping")
        if request.done():
            return request.result()
        request.cancel()
        return None

    async def _require_told(self, agent: AgentSeat, local: str | None, path: str) -> None:
        """An edit that was applied and not answered is reported with the session's next result."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while True:
            answer = await self._start_read(agent, local, path)
            self._take_notices(agent, local, answer)
            texts = [item["text"] for item in answer["content"][1:]]
            if any(path in text and "cancelled" in text for text in texts):
                return
            require(loop.time() < until, f"applied, not answered, and not reported: {answer}")
            await asyncio.sleep(0.01)

    def _took_place(self, session: str, path: str, after: bytes, edit_id: str | None) -> None:
        sight = self.sights.get((session, path))
        has_seen_all = sight is not None and sight.text == shown(self.disk[path])
        self.disk[path] = after
        self.changes[path].append(Change(session, edit_id))
        if edit_id is not None:
            self.edits[edit_id] = session
        is_part = sight is not None and sight.is_part
        text = shown(after) if has_seen_all else None
        self.sights[session, path] = Sight(text, len(self.changes[path]), is_part=is_part)

    def _take_notices(self, agent: AgentSeat, local: str | None, answer: Any, *, except_for: str | None = None) -> None:
        """What a notice has shown counts as read under "relevant": what the session knows then is not judged."""
        if agent.freshness != "relevant" or not isinstance(answer, dict):
            return
        for path in self.disk:
            sight = self.sights.get((agent.session(local), path))
            if sight is not None and path != except_for and sight.text != shown(self.disk[path]):
                sight.text = None

    def _outside(self, dice: random.Random, path: str) -> None:
        """Another program changes a word, or adds a line."""
        text = shown(self.disk[path])
        if dice.random() < 0.5:
            text = text.replace(dice.choice(words_of(text)), self.words.word(dice))
        else:
            lines = text.splitlines(keepends=True)
            lines.insert(dice.randrange(len(lines) + 1), f"{self.words.word(dice)}\n")
            text = "".join(lines)
        self._write(path, text.encode(), None)

    def _write(self, path: str, data: bytes, who: str | None) -> None:
        Path(f"{path}.new").write_bytes(data)
        os.replace(f"{path}.new", path)  # so that no reader sees a part
        self.disk[path] = data
        self.changes.setdefault(path, []).append(Change(who))

    def _content(self, dice: random.Random) -> bytes:
        return "".join(f"{self.words.word(dice)}\n" for _ in range(12)).encode()

    def _change(self, dice: random.Random, path: str) -> tuple[str, str]:
        """An edit that fits what is on the disk: a whole line, so that it occurs once."""
        word = dice.choice(words_of(shown(self.disk[path])))
        return f"{word}\n", f"{self.words.word(dice)}\n"

    def _who(self, dice: random.Random) -> tuple[AgentSeat, str | None, str]:
        agent = dice.choice(self.agents)
        local = dice.choice(REQUEST_IDS) if dice.random() < 0.5 else None
        paths = [path for path in self.disk if agent.may_edit(path)] if dice.random() < 0.85 else []
        return agent, local, dice.choice(paths or list(self.disk))

    def _shuffled(self, dice: random.Random) -> list[AgentSeat]:
        return dice.sample(self.agents, len(self.agents))

    def _own(self, agent: AgentSeat) -> set[str]:
        return {session for session in self.edits.values() if agent.owns(session)}

    def _short(self, path: str) -> str:
        return path.removeprefix(f"{self.root}/")

    def _note(self, what: str, *more: object) -> None:
        self.outcomes[what] += 1
        self.trace.append(f"    {what} " + " ".join(f"{one}" for one in more))


def _text_read(answer: Any) -> str:
    """The text of a raw read; of a numbered one, without its numbers."""
    if answer.get("details", {}).get("text") is not None:
        return answer["details"]["text"]
    output: str = answer["content"][0]["text"] if "content" in answer else answer["output"]
    lines = [line.partition("→") for line in output.split("\n\n<system-reminder>", maxsplit=1)[0].split("\n")]
    return "".join(f"{text}\n" for _, arrow, text in lines if arrow)


def _edit_id(answer: Any) -> str | None:
    if "_meta" in answer:
        return answer["_meta"]["fileops/result"].get("edit_id")
    return answer["details"].get("edit_id")


def _is_protected(path: str) -> bool:
    return "/.git/" in path or path.endswith(".env")


def _cut(local: str | None) -> str:
    return "" if local is None else repr(local if len(local) < 40 else f"{local[:4]}…{local[-4:]}")


async def _turns(n: int) -> None:
    """Let the event loop turn so often: about what other programs do within less than a millisecond."""
    for _ in range(n):
        await asyncio.sleep(0)
