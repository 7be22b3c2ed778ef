"""One game of the queue of reviews: agents whose edits wait, views that come and go, and another program.

It is one module because a step is what its clients do, what the person decides, and what is right afterwards.

The daemon and its clients are in this process, each client over a socket pair. A step is a name and a number, as in
`game.py`. Judged are the bytes of all files, every answer, and what every view is shown after each step: nothing of the
server is consulted. Every word is written once and is part of no other word, so words say who wrote them.
"""

import asyncio
import os
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oracle.contents import Wrong, judge_merge, require
from oracle.game import Step
from oracle.texts import words_of
from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, McpHost, Refused, SharedDaemon, code_of, shared_daemon

STEPS: dict[str, float] = {  # and how often, beside each other
    "edit": 22, "create": 2, "decide": 18, "outside_write": 16, "outside_delete": 1,
    "attach": 7, "leave": 5, "change_folders": 3, "host_decides": 5,
    "decide_badly": 3, "decide_twice": 4, "decide_and_cancel": 3, "decide_and_leave": 3, "cancel": 3,
    "decide_many": 2, "approve_rest": 2, "join_agent": 2, "leave_agent": 1,
}  # fmt: skip
N_LINES = 24
MAX_VIEWS, MAX_AGENTS, MAX_WAITING = 4, 5, 12
LONG_GRACE_S = 600.0  # a game ends long before
INVALID_PARAMS = -32602
CHANGED, ELICIT = "fileops/didChangeReviews", "elicitation/create"
LISTS = {"experimental": {"fileops": {"reviews": True}}}
BAD_DECISIONS: tuple[dict[str, Any], ...] = (
    {}, {"outcome": "yes"}, {"outcome": True}, {"outcome": "modify"}, {"outcome": "accept", "text": "x"},
    {"outcome": "accept", "change_ids": []}, {"outcome": "accept", "change_ids": ["9-none"]},
    {"outcome": "reject", "change_ids": ["9-none"]}, {"outcome": "accept", "extra": 1},
)  # fmt: skip


@dataclass(slots=True, eq=False)
class View:
    """An editor that keeps the list of reviews. shown: what its notifications have made of it, with revisions."""

    name: str
    client: LspClient
    folders: tuple[str, ...]
    grace_s: float
    n_replayed: int = 0
    shown: dict[str, int] = field(default_factory=dict[str, int])

    def concerns(self, path: str) -> bool:
        return any(path.startswith(f"{folder}/") for folder in self.folders)

    def replay(self) -> None:
        changes = self.client.notified(CHANGED)
        for change in changes[self.n_replayed :]:
            for closed in change["closed"]:
                require(closed["review_id"] in self.shown, f"{self.name}: closed without having been shown: {closed}")
                del self.shown[closed["review_id"]]
            for opened in change["opened"]:
                self.shown[opened["review_id"]] = opened["revision"]
        self.n_replayed = len(changes)


@dataclass(slots=True, eq=False)
class Question:
    """What the host of an agent is asked to show."""

    message: str
    answer: "asyncio.Future[Any]"

    def is_about(self, asked: "Waiting") -> bool:
        """By the words of its diff, which may have been cut."""
        signs = {
            sign: {*words_of("\n".join(re.findall(rf"^\{sign}(.*)$", self.message, re.MULTILINE)))} for sign in "+-"
        }
        diffs = "\n".join(change["diff"] for change in asked.changes)
        return f"{asked.path}\n" in f"{self.message}\n" and all(
            found <= {*words_of("\n".join(re.findall(rf"^\{sign}(.*)$", diffs, re.MULTILINE)))}
            for sign, found in signs.items()
        )


@dataclass(slots=True, eq=False)
class Agent:
    """questions: of its host, the newest last: a host is asked one after the other."""

    client: LspClient | McpHost
    questions: list[Question] = field(default_factory=list[Question])

    @property
    def has_host(self) -> bool:
        return isinstance(self.client, McpHost)


@dataclass(slots=True, eq=False)
class Waiting:
    """A review that waits. base, proposed: as it was shown; base None: there was no file.

    dropped: words that the person does not want. kept: words that the person did not want to be removed. grace_s: the
    longest of the views that it had.
    """

    review_id: str
    agent: Agent
    session: str
    call: "asyncio.Task[Any]"
    msg_id: int
    path: str
    base: str | None
    proposed: str
    changes: list[dict[str, Any]]
    grace_s: float
    revision: int = 1
    dropped: set[str] = field(default_factory=set[str])
    kept: set[str] = field(default_factory=set[str])
    is_asked_of_host: bool = False
    has_previous: bool = False

    @property
    def is_approvable(self) -> bool:
        return bool(self.changes) or not self.has_previous


@dataclass(frozen=True, slots=True)
class Decision:
    """params: of the request. wanted: the text that the file should have, None for a rejection."""

    params: dict[str, Any]
    wanted: str | None

    @property
    def change_ids(self) -> list[str] | None:
        return self.params.get("change_ids")


def steps_of(seed: int, n_steps: int) -> list[Step]:
    dice = random.Random(f"reviews {seed}")
    names = dice.choices(list(STEPS), list(STEPS.values()), k=n_steps)
    return [Step(name, dice.randrange(10**6)) for name in names]


class ReviewGame:
    """folder: a new one. Raises: Wrong, at the first thing that the oracle does not allow."""

    def __init__(self, folder: str, seed: int) -> None:
        self._dice = random.Random(f"reviews setting {seed}")
        self.root = f"{folder}/w"
        self.outcomes: Counter[str] = Counter()
        self.trace: list[str] = []
        self.disk: dict[str, str | None] = {}
        self.views: list[View] = []
        self.agents: list[Agent] = []
        self.waiting: list[Waiting] = []
        self.retired: set[tuple[int, str]] = set()  # sessions of which the person has approved the rest
        self._n = 0
        self._faults: list[str] = []
        self._daemon: SharedDaemon | None = None
        self._observer: LspClient | None = None  # lists reviews, as a command does; no edit waits for it

    # --- the game ----------------------------------------------------------------------------------------------------

    def play(self, steps: list[Step]) -> None:
        try:
            asyncio.run(self._play(steps))
        except (Refused, TimeoutError) as fault:
            raise Wrong(f"{type(fault).__name__}: {fault}") from fault

    async def _play(self, steps: list[Step]) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, fault: self._faults.append(f"{fault}"))
        for path in (f"{self.root}/{project}/f{n}" for project in ("a", "b") for n in range(2)):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._write(path, "".join(f"{self._line(self._dice)}\n" for _ in range(N_LINES)))
        async with shared_daemon() as daemon:
            self._daemon = daemon
            self._observer = await daemon.editor(Path(self.root), host="observer")
            await self.join_agent(self._dice)
            await self.attach(self._dice)
            for step in steps:
                self.trace.append(f"{step}")
                await getattr(self, step.name)(random.Random(f"{step}"))
                await self._settle()
        self._check_files()  # the end of the daemon decides nothing

    @property
    def daemon(self) -> SharedDaemon:
        assert self._daemon is not None
        return self._daemon

    @property
    def observer(self) -> LspClient:
        assert self._observer is not None
        return self._observer

    async def _settle(self) -> None:
        """What follows from the rules without a person's act; then each view has to show what the oracle knows."""
        for asked in tuple(self.waiting):
            if self._viewers(asked):
                asked.grace_s = max(asked.grace_s, *(view.grace_s for view in self._viewers(asked)))
            elif asked.grace_s == 0 and not asked.is_asked_of_host:
                await self._left_alone(asked)
        for view in self.views:
            listed = (await view.client.call("fileops/reviews"))["reviews"]
            expected = {asked.review_id: asked.revision for asked in self.waiting if view.concerns(asked.path)}
            actual = {review["review_id"]: review["revision"] for review in listed}
            require(actual == expected, f"{view.name} lists {actual}, not {expected}")
            for review in listed:
                self._judge_listed(review)

            def is_shown(view: View = view, expected: dict[str, int] = expected) -> bool:
                view.replay()
                return view.shown == expected

            try:
                await view.client.until(is_shown)
            except TimeoutError:
                raise Wrong(f"{view.name} shows {view.shown}, not {expected}") from None
        for asked in self.waiting:
            require(not asked.call.done(), f"{asked.review_id} waits, and its call has ended")
        self._check_files()
        require(not self._faults, "; ".join(self._faults))

    def _judge_listed(self, review: dict[str, Any]) -> None:
        asked = next(asked for asked in self.waiting if asked.review_id == review["review_id"])
        shown = (review["original_text"] or "", review["proposed_text"], review["changes"])
        require(shown == (asked.base or "", asked.proposed, asked.changes), f"{asked} is listed as {review}")

    def _check_files(self) -> None:
        for path, text in self.disk.items():
            actual = self._read(path)
            require(actual == text, f"{self._short(path)} has {actual!r}, not {text!r}")

    async def _left_alone(self, asked: Waiting) -> None:
        """The last view has gone: the host is asked if it can, else the review ends."""
        if not asked.agent.has_host:
            require(code_of(await asked.call) == "undecided", f"{asked.review_id}: {asked.call.result()}")
            self._over(asked, "undecided")
            return
        asked.is_asked_of_host = True
        agent = asked.agent
        n_answered = sum(question.answer.done() for question in agent.questions)
        # What the client was asked is known with its message; `questions` has it a turn of the event loop later.
        await agent.client.until(lambda: sum(method == ELICIT for method, _ in agent.client.asked) > n_answered)

    # --- who is there ------------------------------------------------------------------------------------------------

    async def attach(self, dice: random.Random) -> None:
        if len(self.views) >= MAX_VIEWS:
            return
        self._n += 1
        name, grace_s = f"view{self._n}", dice.choice([0.0, 0.0, LONG_GRACE_S])
        folders = self._folders(dice)
        client = await self.daemon.lsp("editor", name)
        options = {"review_grace_s": int(grace_s), "ask": "each_edit"}
        await client.initialize(*map(Path, folders), capabilities=LISTS, options=options)
        view = View(name, client, folders, grace_s)
        await client.call("fileops/sessions", {})  # its folders have been resolved when this is answered
        self.views.append(view)
        self._note("attaches", name, *map(self._short, folders), f"{grace_s:g} s")

    async def leave(self, dice: random.Random) -> None:
        if len(self.views) > (dice.random() < 0.7):
            view = self.views.pop(dice.randrange(len(self.views)))
            await view.client.hang_up()
            self._note("leaves", view.name)

    async def change_folders(self, dice: random.Random) -> None:
        if not self.views:
            return
        view, folders = dice.choice(self.views), self._folders(dice)
        added, removed = [*{*folders} - {*view.folders}], [*{*view.folders} - {*folders}]
        event = {key: [{"uri": Path(folder).as_uri(), "name": folder} for folder in changed] for key, changed in
                 (("added", added), ("removed", removed))}  # fmt: skip
        view.client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        await view.client.call("fileops/sessions", {})
        view.folders = folders
        self._note("folders", view.name, *map(self._short, folders))

    def _folders(self, dice: random.Random) -> tuple[str, ...]:
        return tuple(f"{self.root}/{name}" for name in dice.choice([("a",), ("b",), ("a", "b"), ("a", "b")]))

    async def join_agent(self, dice: random.Random) -> None:
        if len(self.agents) >= MAX_AGENTS:
            return
        self._n += 1
        freshness = dice.choice(["mtime", "content", "relevant"])
        if dice.random() < 0.6:
            agent = Agent(await self.daemon.agent(Path(self.root), host=f"bot{self._n}", freshness=freshness))
        else:
            agent = await self._mcp_agent(f"host{self._n}", freshness)
        self.agents.append(agent)
        self._note("joins", "mcp" if agent.has_host else "lsp", freshness)

    async def _mcp_agent(self, name: str, freshness: str) -> Agent:
        client = await self.daemon.mcp(
            Path(self.root), name, freshness=freshness, roots=[self.root], further_tools=["Write"]
        )
        agent = Agent(client)

        async def elicit(params: Any) -> Any:
            agent.questions.append(Question(params["message"], asyncio.get_running_loop().create_future()))
            return await agent.questions[-1].answer

        client.answers[ELICIT] = elicit
        await client.begin(name, {"elicitation": {}})
        return agent

    async def leave_agent(self, dice: random.Random) -> None:
        """Its edits are withdrawn."""
        if len(self.agents) < 2:
            return
        agent = self.agents.pop(dice.randrange(len(self.agents)))
        await agent.client.hang_up()
        for asked in [asked for asked in self.waiting if asked.agent is agent]:
            asked.call.cancel()
            self._over(asked, "withdrawn")
        self._note("agent leaves")

    # --- edits -------------------------------------------------------------------------------------------------------

    async def edit(self, dice: random.Random) -> None:
        paths = [path for path, text in self.disk.items() if text and any(view.concerns(path) for view in self.views)]
        if not paths or len(self.waiting) >= MAX_WAITING:
            return
        path = dice.choice(paths)
        text = self.disk[path] or ""
        changes = self._changes(dice, text)
        proposed = text
        for old, new in changes:
            proposed = proposed.replace(old, new)
        if dice.random() < 0.2:
            await self._ask(dice, path, proposed, "Write", content=proposed)
            return
        steps = [{"old_string": old, "new_string": new} for old, new in changes]
        await self._ask(dice, path, proposed, "MultiEdit", edits=steps)

    async def create(self, dice: random.Random) -> None:
        path = f"{self.root}/{dice.choice('ab')}/n{self._n}"
        if any(view.concerns(path) for view in self.views) and len(self.waiting) < MAX_WAITING:
            self._n += 1
            self.disk[path] = None
            content = "".join(f"{self._line(dice)}\n" for _ in range(3))
            await self._ask(dice, path, content, "Write", content=content)

    async def _ask(self, dice: random.Random, path: str, proposed: str, tool: str, **arguments: Any) -> None:
        agent = dice.choice(self.agents)
        session = "default" if agent.has_host else f"s{dice.randrange(3)}"
        if (id(agent), session) in self.retired:
            return
        exists = self.disk[path] is not None
        given = {"file_path": path, **arguments}
        if isinstance(agent.client, McpHost):
            if exists:
                require(code_of(await agent.client.tool("Read", file_path=path)) is None, "a read failed")
            call = agent.client.start_tool(tool, **given)
        else:
            if exists:
                await agent.client.read(Path(path), session)
            method = "fileops/multiEdit" if tool == "MultiEdit" else "fileops/write"
            call = agent.client.start(method, {**given, "session_id": session})
        msg_id = agent.client.last_id
        view = next(view for view in self.views if view.concerns(path))
        known = {asked.review_id for asked in self.waiting}

        def new(review_ids: Any) -> Any:
            return [review_id for review_id in review_ids if review_id not in known]

        def is_shown() -> bool:
            view.replay()
            return bool(new(view.shown)) or call.done()

        await view.client.until(is_shown)
        require(not call.done(), f"an edit was to wait, and was answered: {call.done() and call.result()}")
        (review,) = (await view.client.call("fileops/reviews", {"review_ids": new(view.shown)}))["reviews"]
        asked = Waiting(
            review_id=review["review_id"], agent=agent, session=session, call=call, msg_id=msg_id, path=path,
            base=self.disk[path], proposed=proposed, changes=review["changes"], grace_s=0.0,
        )  # fmt: skip
        chosen = _with_changes(asked.base or "", asked.changes)
        require(chosen == proposed, f"all changes of {review} make {chosen!r}, not {proposed!r}")
        self.waiting.append(asked)
        self._note("asks", asked.review_id, session, self._short(path), given)

    def _changes(self, dice: random.Random, text: str) -> list[tuple[str, str]]:
        """Small changes of different lines, as a model asks for them. Each old text occurs once."""
        lines = text.splitlines(keepends=True)
        chosen = dice.sample(lines, min(len(lines), dice.randint(1, 4)))
        return [self._change(dice, line) for line in chosen]

    def _change(self, dice: random.Random, line: str) -> tuple[str, str]:
        word = dice.choice(words_of(line))
        match dice.randrange(6):
            case 0:
                return line, ""
            case 1:
                return line, f"{line}{self._line(dice)}\n"
            case 2:
                return line, f"{self._line(dice)}\n{self._line(dice)}\n"
            case _:
                return word, self._word()

    # --- another program ---------------------------------------------------------------------------------------------

    async def outside_write(self, dice: random.Random) -> None:
        asked = [asked.path for asked in self.waiting]
        path = dice.choice(asked) if asked and dice.random() < 0.8 else dice.choice(list(self.disk))
        text = self.disk[path]
        if text is None:
            text = "".join(f"{self._line(dice)}\n" for _ in range(N_LINES if dice.random() < 0.5 else 2))
        else:
            for old, new in self._changes(dice, text)[: dice.choice([1, 1, 2])]:
                text = text.replace(old, new)
            if dice.random() < 0.15:  # a line moves
                lines = text.splitlines(keepends=True)
                lines.insert(dice.randrange(len(lines) + 1), lines.pop(dice.randrange(len(lines)))) if lines else None
                text = "".join(lines)
        self._write(path, text)
        self._note("outside", self._short(path), repr(text))

    async def outside_delete(self, dice: random.Random) -> None:
        path = dice.choice(list(self.disk))
        if self.disk[path] is not None:
            os.unlink(path)
            self.disk[path] = None
            self._note("deleted", self._short(path))

    # --- decisions ---------------------------------------------------------------------------------------------------

    async def decide(self, dice: random.Random) -> None:
        if (found := self._decidable(dice)) is not None:
            view, asked = found
            decision = self._decision(dice, asked)
            await self._judged(asked, decision, await self._decide(view, asked, decision))

    async def decide_badly(self, dice: random.Random) -> None:
        """Of an unknown shape, about an unknown review, or about what was shown before: nothing is decided."""
        if (found := self._decidable(dice)) is None:
            return
        view, asked = found
        bad = dice.choice([*BAD_DECISIONS, None, None])
        if bad is None:
            stale = {"review_id": asked.review_id, "outcome": "accept", "revision": asked.revision + 1}
            params = dice.choice([stale, {"review_id": "r-none", "outcome": "accept"}])
            answer = await view.client.call("fileops/decideReview", params)
            require(answer["reason"] in {"review_changed", "unknown_review"}, f"{params}: {answer}")
        else:
            try:
                answer = await view.client.call("fileops/decideReview", {"review_id": asked.review_id, **bad})
            except Refused as refused:
                require(refused.args[0] == INVALID_PARAMS, f"{bad}: {refused}")
            else:
                raise Wrong(f"{bad} was answered with {answer}")
        self._note("bad decision", asked.review_id, bad)

    async def decide_twice(self, dice: random.Random) -> None:
        """Two views, or one, in the same moment."""
        if (found := self._decidable(dice)) is None:
            return
        view, asked = found
        other = dice.choice(self._viewers(asked))
        decisions = [self._decision(dice, asked), self._decision(dice, asked)]
        answers = await asyncio.gather(
            self._decide(view, asked, decisions[0]), self._decide(other, asked, decisions[1])
        )
        counted = [at for at, answer in enumerate(answers) if answer["reason"] is None]
        require(len(counted) <= 1, f"two decisions counted: {answers}")
        if not counted:
            require({answer["reason"] for answer in answers} == {"reopened"}, f"no decision counted: {answers}")
            review = (await self._list([asked]))[0]
            counted = [at for at, made in enumerate(decisions) if made.wanted == review["previous"]["text"]]
            require(counted, f"{review['previous']} is none of {decisions}")
        else:
            require(answers[1 - counted[0]]["reason"] == "already_decided", f"{answers}")
        await self._judged(asked, decisions[counted[0]], answers[counted[0]])

    async def decide_and_cancel(self, dice: random.Random) -> None:
        """The agent cancels its call in the moment of the decision: it is written as decided, or not at all."""
        if (found := self._decidable(dice)) is None:
            return
        view, asked = found
        decision = self._decision(dice, asked)
        deciding = asyncio.ensure_future(self._decide(view, asked, decision))
        for _ in range(dice.choice([0, 0, 1, 3, 10, 30])):
            await asyncio.sleep(0)
        asked.agent.client.cancel(asked.msg_id)
        answer = await deciding
        if answer["state"] == "decided" and answer["error"] is None and decision.wanted is not None:
            self._judge_written(asked, decision.wanted)
        else:
            self._check_files()
        await self._cancelled(asked)
        self._note("decides, cancelled", asked.review_id, decision, answer["state"])

    async def decide_and_leave(self, dice: random.Random) -> None:
        """The editor ends in the moment of the decision: it counts if it has arrived, else the review waits on."""
        if (found := self._decidable(dice)) is None:
            return
        view, asked = found
        if len(self._viewers(asked)) < 2:
            return
        decision = self._decision(dice, asked)
        view.client.start("fileops/decideReview", self._params(asked, decision)).cancel()
        self.views.remove(view)
        await view.client.hang_up()
        answer = await self._end_of(asked)
        if answer is not None:
            await self._judged(asked, decision, answer)
        self._note("decides and leaves", view.name, asked.review_id, decision, answer)

    async def _end_of(self, asked: Waiting, *, counts: bool = False) -> dict[str, Any] | None:
        """What a decision came to whose answer was not received; None if it did not count. counts: it has to."""
        async with asyncio.timeout(PATIENCE_S):
            while not asked.call.done():
                for review in await self._list([asked]):
                    if review["revision"] != asked.revision:
                        return {"reason": "reopened"}
                    if not counts:
                        return None
        code = code_of(asked.call.result())
        return {"reason": None, "state": "decided", "error": None if code in {None, "rejected"} else code}

    async def cancel(self, dice: random.Random) -> None:
        if self.waiting:
            asked = dice.choice(self.waiting)
            asked.agent.client.cancel(asked.msg_id)
            await self._cancelled(asked)
            self._note("cancels", asked.review_id)

    async def _cancelled(self, asked: Waiting) -> None:
        if asked.agent.has_host:
            for _ in range(3):
                await asked.agent.client.call("ping")
            asked.call.cancel()
        else:
            try:
                await asked.call
            except Refused as refused:
                require(refused.args[0] == -32800, f"cancelled: {refused}")
        if asked in self.waiting:
            self._over(asked, "withdrawn")
        async with asyncio.timeout(PATIENCE_S):
            while await self._list([asked]):
                pass

    async def decide_many(self, dice: random.Random) -> None:
        if (found := self._decidable(dice)) is None:
            return
        view, asked = found
        by = dice.choice([{"file_path": asked.path}, {"review_ids": [asked.review_id]}, {}])
        outcome = dice.choice(["accept", "reject"])
        chosen = [
            other
            for other in self.waiting
            if view.concerns(other.path)
            and by.get("file_path", other.path) == other.path
            and other.review_id in by.get("review_ids", [other.review_id])
        ]
        answer = await view.client.call("fileops/decideReviews", {"outcome": outcome, **by})
        told = {entry["review_id"] for entry in (*answer["decided"], *answer["left"])}
        require(told == {other.review_id for other in chosen}, f"{by}: {answer}, not {chosen}")
        if outcome == "reject":
            for other in chosen:
                require(code_of(await other.call) == "rejected", f"{other.call.result()}")
                self._over(other, "rejected")
        else:
            await self._judge_together([other for other in chosen if other.is_approvable])
        self._note("decides many", view.name, outcome, by, answer)

    async def approve_rest(self, dice: random.Random) -> None:
        """`accept_always`: all that waits of this session in the folders of this editor is approved."""
        if (found := self._decidable(dice)) is None or not found[1].is_approvable:
            return
        view, asked = found
        chosen = [
            other
            for other in self.waiting
            if (other.agent, other.session) == (asked.agent, asked.session)
            and view.concerns(other.path)
            and (other is asked or other.is_approvable)
        ]
        self.retired.add((id(asked.agent), asked.session))
        answer = await view.client.call(
            "fileops/decideReview", {"review_id": asked.review_id, "outcome": "accept_always"}
        )
        self._note("approves the rest", view.name, asked.review_id, answer)
        await self._judge_together(chosen)

    async def host_decides(self, dice: random.Random) -> None:
        """The person answers the question of the agent's host. `cancel` decides nothing."""
        asking = [
            (agent.questions[-1], found)
            for agent in self.agents
            if agent.questions and not agent.questions[-1].answer.done()
            if len(found := self._asked_in(agent)) == 1
        ]
        if not asking:
            return
        question, (asked,) = dice.choice(asking)
        answer = dice.choice(
            [{"action": "accept", "content": {"decision": "apply"}}, {"action": "decline"}, {"action": "cancel"}]
        )
        self._note("host answers", asked.review_id, answer)
        asked.is_asked_of_host = False
        question.answer.set_result(answer)
        if answer["action"] == "cancel":
            if not self._viewers(asked):
                require(code_of(await asked.call) == "undecided", f"{asked.call}")
                self._over(asked, "undecided")
        elif answer["action"] == "decline":
            require(code_of(await asked.call) == "rejected", f"{asked.call.result()}")
            self._over(asked, "rejected")
        elif not asked.is_approvable:
            require(code_of(await asked.call) == "modified_externally", f"{asked.call.result()}")
            self._over(asked, "modified_externally")
        else:
            ended = await self._end_of(asked, counts=True)
            await self._judged(asked, Decision({}, asked.proposed), ended or {})

    def _asked_in(self, agent: Agent) -> list[Waiting]:
        """The reviews that the newest question of this host may be about."""
        waiting = [asked for asked in self.waiting if asked.agent is agent and asked.is_asked_of_host]
        return [asked for asked in waiting if agent.questions[-1].is_about(asked)]

    def _decidable(self, dice: random.Random) -> tuple[View, Waiting] | None:
        seen = [(view, asked) for asked in self.waiting for view in self._viewers(asked)]
        return dice.choice(seen) if seen else None

    def _decision(self, dice: random.Random, asked: Waiting) -> Decision:
        kind = dice.choice(["accept", "accept", "some", "some", "type", "reject"])
        if not asked.is_approvable and kind in {"accept", "some"}:
            kind = "type"
        match kind:
            case "accept":
                return Decision({"outcome": "accept"}, asked.proposed)
            case "some" if len(asked.changes) > 1:
                chosen = dice.sample(asked.changes, dice.randint(1, len(asked.changes) - 1))
                chosen.sort(key=asked.changes.index)
                ids = [change["id"] for change in chosen]
                return Decision({"outcome": "accept", "change_ids": ids}, _with_changes(asked.base or "", chosen))
            case "some" | "type":
                lines = asked.proposed.splitlines(keepends=True)
                if lines and dice.random() < 0.4:  # one of the agent's, or one that was there before
                    lines.pop(dice.randrange(len(lines)))
                lines.insert(dice.randrange(len(lines) + 1), f"{self._line(dice)}\n")
                text = "".join(lines)
                return Decision({"outcome": "modify", "text": text}, text)
            case _:
                return Decision({"outcome": "reject", "reason": "no"}, None)

    def _params(self, asked: Waiting, decision: Decision) -> dict[str, Any]:
        return {"review_id": asked.review_id, **decision.params}

    async def _decide(self, view: View, asked: Waiting, decision: Decision) -> Any:
        self._note("decides", view.name, asked.review_id, decision.params)
        return await view.client.call("fileops/decideReview", self._params(asked, decision))

    # --- judging -----------------------------------------------------------------------------------------------------

    async def _judged(self, asked: Waiting, decision: Decision, answer: dict[str, Any]) -> None:
        if answer["reason"] == "reopened":
            await self._judge_reopened(asked, decision)
            return
        require((answer["reason"], answer["state"]) == (None, "decided"), f"{decision}: {answer}")
        code = code_of(await asked.call)
        if decision.wanted is None:
            require(code == "rejected" and answer["error"] is None, f"rejected: {code}, {answer}")
            self._over(asked, "rejected")
            return
        require(code is None and answer["error"] is None, f"{decision} was answered with {asked.call.result()}")
        self._judge_written(asked, decision.wanted)
        self._over(asked, "written")

    def _judge_written(self, asked: Waiting, wanted: str) -> None:
        present, result = self.disk[asked.path], self._read(asked.path)
        require(result is not None, f"{asked} was to be written")
        assert result is not None
        if present == asked.base:
            require(result == wanted, f"{asked}: {wanted!r} was decided, and {result!r} is written")
        else:
            require(present is not None and asked.base is not None, f"{asked} was written over {present!r}")
            assert present is not None
            assert asked.base is not None
            judge_merge(asked.base, wanted, present, result)
            _judge_order(present, result)
            self.outcomes["merged"] += 1
        self.disk[asked.path] = result

    async def _judge_reopened(self, asked: Waiting, decision: Decision, *, is_alone: bool = True) -> None:
        """is_alone: no other review of its file was decided with it, so it is about the present content."""
        wanted, present = decision.wanted, self.disk[asked.path]
        require(wanted is not None, f"{decision} rejected it, and it is open again")
        assert wanted is not None
        require(present != asked.base, f"{asked} is open again, though nothing has changed")
        (review,) = await self._list([asked])
        previous, proposed = review["previous"], review["proposed_text"] or ""
        require(review["revision"] == asked.revision + 1, f"{review} follows {asked}")
        if is_alone:
            require((review["original_text"] or "") == (present or ""), f"{review} is about {present!r}")
        else:
            present = None if review["operation"] == "create" else review["original_text"]  # "" is an empty file, too
        require(previous["text"] == wanted, f"{previous}, not {wanted!r}")
        require(previous["change_ids"] == decision.change_ids, f"{previous}, not {decision.change_ids}")
        base_words, wanted_words = {*words_of(asked.base or "")}, {*words_of(wanted)}
        proposed_words = {*words_of(asked.proposed)}
        asked.dropped |= proposed_words - base_words - wanted_words
        asked.kept |= (base_words - proposed_words) & wanted_words
        asked.dropped -= wanted_words
        asked.kept &= wanted_words
        now, again = {*words_of(present or "")}, {*words_of(proposed)}
        story = f"{asked} was decided as {wanted!r}; {present!r} stood, and {review} is asked"
        require(not (found := asked.dropped & again - now), f"{found} was dropped, and is proposed again: {story}")
        require(not (found := asked.kept & now - again), f"{found} was to stay, and is to go: {story}")
        require(not (found := now - base_words - again), f"{found} of others is to go: {story}")
        require(not (found := again - now - wanted_words - proposed_words), f"{found} is of nobody: {story}")
        chosen = _with_changes(present or "", review["changes"])
        require(chosen == proposed, f"all changes of {review} make {chosen!r}, not {proposed!r}")
        asked.base, asked.proposed, asked.changes = present, proposed, review["changes"]
        asked.revision, asked.has_previous, asked.is_asked_of_host = review["revision"], True, False
        self.outcomes["reopened" if asked.changes else "reopened, nothing left"] += 1

    async def _judge_together(self, chosen: list[Waiting]) -> None:
        """Each of them is approved as proposed, in any order, or open again after another one was written."""
        before = dict(self.disk)
        ended = {asked.review_id: await self._end_of(asked) for asked in chosen}
        for path in {asked.path for asked in chosen}:
            was, now = {*words_of(before[path] or "")}, {*words_of(self._read(path) or "")}
            self.disk[path] = self._read(path)
            of_path = [asked for asked in chosen if asked.path == path]
            written = [asked for asked in of_path if (end := ended[asked.review_id]) and end["reason"] is None]
            added, removed = set[str](), set[str]()
            for asked in written:
                require(code_of(asked.call.result()) is None, f"{asked} was approved: {asked.call.result()}")
                base_words, wanted_words = {*words_of(asked.base or "")}, {*words_of(asked.proposed)}
                added |= wanted_words - base_words
                removed |= base_words - wanted_words
            require(now == (was | added) - removed, f"{written} made {now} of {was}")
        for asked in chosen:
            end = ended[asked.review_id]
            require(end is not None, f"{asked} was approved, and waits as before")
            if end is not None and end["reason"] == "reopened":
                is_alone = not any(other.path == asked.path for other in chosen if other is not asked)
                await self._judge_reopened(asked, Decision({}, asked.proposed), is_alone=is_alone)
            else:
                self._over(asked, "approved")

    async def _list(self, waiting: list[Waiting]) -> list[dict[str, Any]]:
        ids = [asked.review_id for asked in waiting]
        return (await self.observer.call("fileops/reviews", {"review_ids": ids}))["reviews"]

    # --- helpers -----------------------------------------------------------------------------------------------------

    def _viewers(self, asked: Waiting) -> list[View]:
        return [view for view in self.views if view.concerns(asked.path)]

    def _over(self, asked: Waiting, outcome: str) -> None:
        self.waiting.remove(asked)
        self._note(outcome, asked.review_id)

    def _word(self) -> str:
        self._n += 1
        return f"w{self._n}z"

    def _line(self, dice: random.Random) -> str:
        return " ".join(self._word() for _ in range(dice.randint(1, 3)))

    def _write(self, path: str, text: str) -> None:
        Path(f"{path}.new").write_text(text)
        os.replace(f"{path}.new", path)
        self.disk[path] = text

    def _read(self, path: str) -> str | None:
        return Path(path).read_text() if os.path.exists(path) else None

    def _short(self, path: str) -> str:
        return path.removeprefix(f"{self.root}/")

    def _note(self, what: str, *more: object) -> None:
        self.outcomes[what] += 1
        self.trace.append(f"    {what} " + " ".join(f"{one}" for one in more))


def _with_changes(base: str, changes: list[dict[str, Any]]) -> str:
    """The text with these changes made: their diffs are applied line by line, nothing of the server is used."""
    lines = base.splitlines(keepends=True)
    for change in reversed(changes):
        rows = change["diff"].splitlines(keepends=True)[1:]
        old = [row[1:] for row in rows if row.startswith("-")]
        new = [row[1:] for row in rows if row.startswith("+")]
        at = change["old_start"] - 1 if change["old_lines"] else change["old_start"]
        require(lines[at : at + change["old_lines"]] == old, f"{change} does not fit {base!r}")
        lines[at : at + change["old_lines"]] = new
    return "".join(lines)


def _judge_order(present: str, result: str) -> None:
    """Words that stay keep their order."""
    now = {*words_of(result)}
    kept = [word for word in words_of(present) if word in now]
    were = {*kept}
    require(
        kept == [word for word in words_of(result) if word in were], f"words changed places: {present!r} {result!r}"
    )
