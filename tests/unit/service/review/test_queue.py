"""The queue of reviews: random lives of reviews and views, judged by a model that knows the rules only.

R-REV-1 (states), R-REV-5 (what decides), R-REV-6 (grace and host), R-REV-9 (the first decision), R-REV-10 ("always").
"""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from fileops.model.approval import (
    Always,
    ApprovalRequest,
    Decision,
    NoConsent,
    Once,
    Reject,
    TimedOut,
    TooMany,
    Undecided,
)
from fileops.model.review import Decider, EndedReview, SessionInfo
from fileops.model.sessions import SessionName
from fileops.service.review.queue import MAX_WAITING, DecisionResult, ReviewQueue, WaitingReview
from support.virtual_time import VirtualTimeLoop
from unit.core.review.plans import plan_from

TIMEOUT_S = 240.0
FOLDERS = ("/p", "/q", "/r")
SESSIONS = ("codex:1", "gemini:2")


@dataclass
class Host:
    """The agent's host. answer: what its person says next; None: they think."""

    can_ask_now: bool = False
    allows_unasked: bool = False
    person: Decider = Decider("host")  # noqa: RUF009 - frozen
    asked: list[asyncio.Future[Decision]] = field(default_factory=list[asyncio.Future[Decision]])

    def note_asked(self, persons: Sequence[Decider]) -> None:
        assert persons

    async def decide(self, question: ApprovalRequest) -> Decision:
        del question
        self.asked.append(asyncio.get_running_loop().create_future())
        return await self.asked[-1]

    @property
    def is_asked(self) -> bool:
        return bool(self.asked) and not self.asked[-1].done()


@dataclass
class View:
    """Shows what it receives, as a window does."""

    folders: set[str]
    grace_s: float
    shown: dict[str, int] = field(default_factory=dict[str, int])
    ends: dict[str, EndedReview] = field(default_factory=dict[str, EndedReview])

    person: Decider = Decider("view")  # noqa: RUF009 - frozen

    def concerns(self, review: WaitingReview) -> bool:
        return any(review.asked.path.startswith(folder) for folder in self.folders)

    def show(self, opened: Sequence[WaitingReview], closed: Sequence[EndedReview]) -> None:
        for review in opened:
            assert review.review_id not in self.ends
            self.shown[review.review_id] = review.revision
        for end in closed:
            del self.shown[end.review_id]
            if end.state != "waiting":
                assert end.review_id not in self.ends
                self.ends[end.review_id] = end


@dataclass
class Asked:
    """What the model knows of one review."""

    review: WaitingReview
    path: str
    host: Host
    deciding: asyncio.Task[Decision]
    asked_at: float
    had_view: bool = False
    grace_s: float = 0.0
    alone_since: float | None = None
    by_person: Decision | None = None
    is_protected: bool = False
    blind: set[str] = field(default_factory=set[str])


def question(path: str, *, is_protected: bool = False) -> ApprovalRequest:
    plan = plan_from(b"a\n", b"b\n")
    return ApprovalRequest(
        title="",
        description="",
        file_path=path,
        session_id=SessionName(""),
        change=plan.change,
        original_text=None,
        proposed_text=None,
        path=path,
        is_protected=is_protected,
    )


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualTimeLoop()
        self.queue = self.run(self._new_queue())
        self.views: dict[str, View] = {}
        self.asked: dict[str, Asked] = {}
        self.n_views = 0
        self.pending: list[tuple[Asked, asyncio.Task[DecisionResult]]] = []

    async def _new_queue(self) -> ReviewQueue:
        return ReviewQueue()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def settle(self) -> None:
        """Let all that is due happen; no time passes."""

        async def turns() -> None:
            for _ in range(12):
                await asyncio.sleep(0)

        self.run(turns())

    def teardown(self) -> None:
        async def end() -> None:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self.run(end())
        self.loop.close()

    def counting(self, asked: Asked) -> list[str]:
        return [
            name
            for name, view in self.views.items()
            if any(asked.path.startswith(folder) for folder in view.folders) and name not in asked.blind
        ]

    def note_views(self) -> None:
        """What the model knows after views, or reviews, have changed."""
        for asked in self.waiting():
            if names := self.counting(asked):
                asked.had_view = True
                asked.alone_since = None
                asked.grace_s = max(asked.grace_s, *(self.views[name].grace_s for name in names))
            elif asked.alone_since is None:
                asked.alone_since = self.loop.time()

    def waiting(self) -> list[Asked]:
        return [asked for asked in self.asked.values() if not asked.deciding.done() and asked.by_person is None]

    # --- what happens --------------------------------------------------------------------------------------------

    @rule(
        session=st.sampled_from(SESSIONS),
        folder=st.sampled_from(FOLDERS),
        can_ask=st.booleans(),
        is_protected=st.booleans(),
    )
    def ask(self, session: str, folder: str, can_ask: bool, is_protected: bool) -> None:
        host, path = Host(can_ask), f"{folder}/a.py"

        async def begin() -> tuple[WaitingReview, asyncio.Task[Decision]]:
            review = self.queue.open(SessionInfo(session_id=SessionName(session), host="h", label="H"), host, TIMEOUT_S)
            return review, asyncio.ensure_future(review.decide(question(path, is_protected=is_protected)))

        review, task = self.run(begin())
        asked = Asked(review, path, host, task, self.loop.time(), is_protected=is_protected)
        self.asked[review.review_id] = asked
        self.note_views()
        self.settle()

    @rule(folders=st.sets(st.sampled_from(FOLDERS)), grace_s=st.sampled_from([0.0, 30.0, 600.0]))
    def connect(self, folders: set[str], grace_s: float) -> None:
        name = f"view-{self.n_views}"
        self.n_views += 1
        self.views[name] = View(folders, grace_s)
        self.queue.connect(name, self.views[name])
        self.note_views()
        self.settle()

    @precondition(lambda self: self.views)
    @rule(data=st.data())
    def disconnect(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.views)))
        del self.views[name]
        self.queue.disconnect(name)
        self.note_views()
        self.settle()

    @precondition(lambda self: self.views)
    @rule(data=st.data(), folders=st.sets(st.sampled_from(FOLDERS)))
    def open_folders(self, data: st.DataObject, folders: set[str]) -> None:
        name = data.draw(st.sampled_from(sorted(self.views)))
        self.views[name].folders = folders
        self.queue.update(name)
        self.note_views()
        self.settle()

    @precondition(lambda self: self.views and self.waiting())
    @rule(data=st.data())
    def fail_to_show(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from(self.waiting()))
        name = data.draw(st.sampled_from(sorted(self.views)))
        if asked.review.review_id in self.views[name].shown:
            del self.views[name].shown[asked.review.review_id]  # it has taken the question away itself
            asked.blind.add(name)
            self.queue.cannot_show(name, asked.review.review_id)
            self.note_views()
            self.settle()

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), decision=st.sampled_from([Once(), Always(), Reject("no")]), is_stale=st.booleans())
    def decide(self, data: st.DataObject, decision: Decision, is_stale: bool) -> None:
        asked = data.draw(st.sampled_from(list(self.asked.values())))
        review = asked.review
        revision = review.revision - 1 if is_stale else data.draw(st.sampled_from([None, review.revision]))
        is_open = asked in self.waiting()

        async def begin() -> asyncio.Task[DecisionResult]:
            return asyncio.ensure_future(
                self.queue.decide(review.review_id, decision, Decider("view"), revision=revision)
            )

        task = self.run(begin())
        if is_open and not is_stale:
            self.pending.append((asked, task))
            asked.by_person = decision
            if decision == Always():
                for other in self.waiting():
                    if other.review.session == review.session and not other.is_protected:
                        other.by_person = Once()
        self.settle()
        if is_open and is_stale:
            assert task.result().reason == "review_changed"
        elif not is_open and asked.by_person is None:
            assert task.result().reason == "already_decided"

    @precondition(lambda self: any(asked.host.is_asked for asked in self.asked.values()))
    @rule(data=st.data(), decision=st.sampled_from([Once(), Reject(), Undecided()]))
    def answer_in_host(self, data: st.DataObject, decision: Decision) -> None:
        asked = data.draw(st.sampled_from([asked for asked in self.asked.values() if asked.host.is_asked]))
        assert asked in self.waiting()
        asked.host.asked[-1].set_result(decision)
        if decision != Undecided():
            asked.by_person = decision
        self.settle()
        if decision == Undecided() and self.counting(asked):
            assert not asked.deciding.done()

    @precondition(lambda self: any(asked.review.state == "deciding" for asked in self.asked.values()))
    @rule(data=st.data(), reopens=st.booleans())
    def write(self, data: st.DataObject, reopens: bool) -> None:
        deciding = [asked for asked in self.asked.values() if asked.review.state == "deciding"]
        asked = data.draw(st.sampled_from(deciding))
        if not reopens:
            asked.review.close()
        else:

            async def again() -> asyncio.Task[Decision]:
                return asyncio.ensure_future(asked.review.decide(question(asked.path, is_protected=asked.is_protected)))

            asked.by_person = None
            asked.deciding = self.run(again())
            asked.alone_since = None
            self.note_views()
        self.settle()
        for of, task in tuple(self.pending):
            if of is asked:
                self.pending.remove((of, task))
                assert task.result().reason == ("reopened" if reopens else None)

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from(self.waiting()))
        asked.deciding.cancel()
        self.settle()
        assert asked.review.state == "withdrawn"

    @rule(seconds=st.sampled_from([1.0, 29.0, 31.0, 250.0]))
    def wait(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))
        self.settle()

    # --- what always holds ---------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_decided_without_a_person(self) -> None:
        for asked in self.asked.values():
            if not asked.deciding.done() or asked.deciding.cancelled():
                continue
            decision = asked.deciding.result()
            match decision:
                case TimedOut():
                    assert self.loop.time() - asked.asked_at >= TIMEOUT_S
                case Undecided():
                    assert asked.had_view or asked.host.asked
                    alone_s = 0.0 if asked.alone_since is None else self.loop.time() - asked.alone_since
                    assert alone_s >= asked.grace_s or asked.host.asked
                    assert asked.by_person is None
                case NoConsent():
                    assert not asked.had_view
                    assert not asked.host.can_ask_now
                case TooMany():
                    same = [other for other in self.asked.values() if other.review.session == asked.review.session]
                    assert len(same) > MAX_WAITING
                case Reject():
                    assert isinstance(asked.by_person, Reject)
                    assert (decision.reason, decision.by) == (asked.by_person.reason, asked.review.by)
                case _:
                    assert decision == asked.by_person

    @invariant()
    def views_show_what_concerns_them(self) -> None:
        for name, view in self.views.items():
            expected = {
                asked.review.review_id: asked.review.revision
                for asked in self.waiting()
                if name in self.counting(asked)
            }
            deciding = {asked.review.review_id for asked in self.asked.values() if asked.review.state == "deciding"}
            assert {key: value for key, value in view.shown.items() if key not in deciding} == expected

    @invariant()
    def reviews_wait_as_long_as_they_may(self) -> None:
        """A review with a view waits until its limit, one without for its grace, or while its host is asked."""
        for asked in self.waiting():
            assert self.loop.time() - asked.asked_at <= TIMEOUT_S
            if asked.alone_since is not None and not asked.host.is_asked:
                assert asked.had_view
                assert self.loop.time() - asked.alone_since <= asked.grace_s

    @invariant()
    def ends_are_remembered(self) -> None:
        for asked in self.asked.values():
            is_open = asked.review.state in ("waiting", "deciding")
            assert (self.queue.get(asked.review.review_id) is not None) == (asked in self.waiting())
            assert is_open or asked.deciding.done()


def test_review_ends_by_a_decision_of_its_user_or_writes_nothing() -> None:
    run_state_machine_as_test(QueueMachine, settings=settings(max_examples=150, stateful_step_count=40, deadline=None))


# whether the file is protected, whether the user allows such edits without a question, whether the view is shown the
# review before it leaves -> what holds
LEAVING: list[tuple[bool, bool, bool, Decision]] = [
    (True, False, False, NoConsent("protected")),
    (False, False, False, NoConsent("ask")),
    (True, True, False, Once()),
    (True, False, True, Undecided(editor_left=True)),
    (False, False, True, Undecided(editor_left=True)),
    (True, True, True, Undecided(editor_left=True)),  # a person who was asked is not passed over
]


@pytest.mark.parametrize(("is_protected", "allows_unasked", "is_shown", "outcome"), LEAVING)
def test_edit_whose_only_editor_leaves_needs_consent_unless_the_editor_was_asked(
    *, is_protected: bool, allows_unasked: bool, is_shown: bool, outcome: Decision
) -> None:
    """The edit was planned while the editor was there, so it needs a decision."""

    async def story() -> Decision:
        queue, view = ReviewQueue(), View({"/p"}, 0.0)
        queue.connect("view", view)
        session = SessionInfo(session_id=SessionName("codex:1"), host="h", label="H")
        review = queue.open(session, Host(allows_unasked=allows_unasked), TIMEOUT_S)
        asking = asyncio.ensure_future(review.decide(question("/p/a.py", is_protected=is_protected)))
        if is_shown:
            await asyncio.sleep(0)
        assert bool(view.shown) == is_shown
        queue.disconnect("view")
        decision = await asking
        assert review.state == ("deciding" if decision == Once() else "undecided")
        return decision

    with closing(VirtualTimeLoop()) as loop:
        assert loop.run_until_complete(story()) == outcome


def test_decisions_about_two_reviews_are_answered_if_one_is_open_again_before() -> None:
    async def story() -> None:
        queue = ReviewQueue()
        queue.connect("view", View({"/p"}, 0.0))
        session = SessionInfo(session_id=SessionName("codex:1"), host="h", label="H")
        first, second = (queue.open(session, Host(), TIMEOUT_S) for _ in range(2))
        asking = [asyncio.ensure_future(review.decide(question("/p/a.py"))) for review in (first, second)]
        await asyncio.sleep(0)
        deciding = asyncio.ensure_future(queue.decide_all([(first, Once()), (second, Once())], Decider("view")))
        await asyncio.gather(*asking)
        again = asyncio.ensure_future(second.decide(question("/p/a.py")))
        await asyncio.sleep(0)
        first.close()
        await asyncio.sleep(1.0)
        assert deciding.done()
        assert [result.reason for result in deciding.result()] == [None, "reopened"]
        again.cancel()

    loop = VirtualTimeLoop()
    loop.run_until_complete(story())
    loop.close()


def test_decision_that_an_earlier_always_has_made_counts_only_once() -> None:
    async def story() -> None:
        queue = ReviewQueue()
        queue.connect("view", View({"/p"}, 0.0))
        session = SessionInfo(session_id=SessionName("codex:1"), host="h", label="H")
        reviews = [queue.open(session, Host(), TIMEOUT_S) for _ in range(2)]
        asking = [asyncio.ensure_future(review.decide(question("/p/a.py"))) for review in reviews]
        await asyncio.sleep(0)
        decisions: list[Decision] = [Always(), Reject("no")]
        deciding = asyncio.ensure_future(queue.decide_all(zip(reviews, decisions, strict=True), Decider("view")))
        assert await asyncio.gather(*asking) == [Always(), Once()]
        for review in reviews:
            review.close()
        assert [result.outcome for result in await deciding] == ["accept_always", "accept"]

    with closing(VirtualTimeLoop()) as loop:
        loop.run_until_complete(story())


def test_question_that_is_asked_again_is_none_too_many() -> None:
    async def story() -> None:
        queue = ReviewQueue()
        queue.connect("view", View({"/p"}, 0.0))
        session, asked = SessionInfo(session_id=SessionName("codex:1"), host="h", label="H"), question("/p/a.py")
        reviews = [queue.open(session, Host(), TIMEOUT_S) for _ in range(MAX_WAITING)]
        asking = [asyncio.ensure_future(review.decide(asked)) for review in reviews]
        await asyncio.sleep(0)
        assert await queue.open(session, Host(), TIMEOUT_S).decide(asked) == TooMany(MAX_WAITING)
        deciding = asyncio.ensure_future(queue.decide(reviews[0].review_id, Once(), Decider("view")))
        assert await asking[0] == Once()
        asking[0] = asyncio.ensure_future(reviews[0].decide(asked))  # the file has changed in between
        assert (await deciding).reason == "reopened"
        assert (reviews[0].state, len(queue.list_waiting())) == ("waiting", MAX_WAITING)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    with closing(VirtualTimeLoop()) as loop:
        loop.run_until_complete(story())
