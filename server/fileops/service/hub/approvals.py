"""Approval routing: which editors are asked about a write of an agent, and what happens if no editor is left.

docs/PROTOCOL.md, section "Shared daemon", has the rules. `mode_at` is called in worker threads, all else on the
event loop. No lock is held while editors are asked.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.approval import is_protected, is_rule_file
from fileops.core.roots import Roots, is_inside
from fileops.model.approval import Always, ApprovalRequest, Decision, Once, Reject, SomeHunks
from fileops.model.settings import ApprovalMode
from fileops.ports import Approver
from fileops.service.hub.modes import SessionModes, strictest

Approve = Literal["person", "ask", "host", "never"]

log = logging.getLogger(__name__)

MAX_QUESTIONS = 32  # of one session at once: no person answers more
# Unless an editor says something else. "default" asks about each edit, "auto_edit" about protected files.
_WITH_EDITOR: dict[Approve, ApprovalMode] = {
    "person": "default", "ask": "default", "host": "auto_edit", "never": "yolo",
}  # fmt: skip
_WITHOUT_EDITOR: dict[Approve, ApprovalMode] = {
    "person": "auto_edit", "ask": "default", "host": "auto_edit", "never": "yolo",
}  # fmt: skip


class EditorGone(Exception):
    """The editor cannot answer any more."""


class MalformedDecision(Exception):
    """The editor's answer is no decision."""


class SessionInfo(Struct, frozen=True, kw_only=True):
    """What an editor is shown of the session that it is asked about."""

    session_id: str
    host: str
    label: str


class EditorApprover(Protocol):
    @property
    def can_ask(self) -> bool: ...

    async def ask(self, question: ApprovalRequest, session: SessionInfo, timeout_s: float) -> Decision:
        """Ask the editor's user. Cancelling the call withdraws the question. Raises: EditorGone, MalformedDecision."""
        ...


class AskedEditor(Struct, frozen=True, kw_only=True):
    """An editor as approvals see it. name: for people. stated_mode: its `agents_approval`, None if it says nothing."""

    name: str
    approver: EditorApprover
    stated_mode: ApprovalMode | None
    folders: Callable[[], tuple[str, ...]]
    is_open: Callable[[str], bool]

    def concerns(self, path: str) -> bool:
        return self.approver.can_ask and (
            any(is_inside(folder, path) for folder in self.folders()) or self.is_open(path)
        )


class AskedEditors:
    """The editors that are connected."""

    def __init__(self) -> None:
        self._editors: Mapping[str, AskedEditor] = {}  # replaced on the event loop, never mutated

    def connect(self, name: str, editor: AskedEditor) -> None:
        self._editors = {**self._editors, name: editor}

    def disconnect(self, name: str) -> None:
        self._editors = {known: editor for known, editor in self._editors.items() if known != name}

    def all(self) -> tuple[AskedEditor, ...]:
        """The editors that can ask their users."""
        return tuple(editor for editor in self._editors.values() if editor.approver.can_ask)

    def concerned(self, path: str) -> tuple[AskedEditor, ...]:
        """The editors that can ask their users about this canonical path."""
        return tuple(editor for editor in self._editors.values() if editor.concerns(path))


class OpenQuestions:
    """Counts the questions of each session that wait for a decision. Belongs to the event loop.

    They are counted by session, since a client may connect again while its questions are open.
    """

    def __init__(self) -> None:
        self._n_open: Counter[str] = Counter()

    @contextmanager
    def one_more(self, session_id: str) -> Generator[bool]:
        """Count a question inside the context. Yields whether the session may ask it."""
        if self._n_open[session_id] >= MAX_QUESTIONS:
            yield False
            return
        self._n_open[session_id] += 1
        try:
            yield True
        finally:
            self._n_open[session_id] -= 1
            if not self._n_open[session_id]:
                del self._n_open[session_id]


class RoutedApprover:
    """See ports.Approver: of one agent, whose questions go to editors first, then to its own host.

    modes: what was decided about each session. own: asks through the agent's host, or refuses.
    on_wait: called with where the user is asked, before editors are.
    """

    can_ask = True

    def __init__(
        self,
        editors: AskedEditors,
        *,
        approve: Approve,
        modes: SessionModes,
        info_of: Callable[[str], SessionInfo],
        own: Approver,
        timeout_s: float,
        questions: OpenQuestions,
        on_wait: Callable[[str], None] = lambda _where: None,
    ) -> None:
        self._questions = questions
        self._editors, self._modes, self._info_of = editors, modes, info_of
        self._approve: Approve = approve
        self._own, self._timeout_s, self._on_wait = own, timeout_s, on_wait

    def mode_at(self, session_id: str, path: str) -> ApprovalMode:
        """The mode of a session for a write of this canonical path."""
        return self._mode(session_id, path, self._editors.concerned(path))

    def mode_in(self, session_id: str, folders: tuple[str, ...]) -> ApprovalMode:
        """The mode of a session in all of its client's folders; without any, where any editor is concerned."""
        if not folders:
            return self._mode(session_id, None, self._editors.all())
        return strictest(self.mode_at(session_id, folder) for folder in folders)

    def opened_at(self, path: str) -> Roots | None:
        """The folders of the editors that this canonical path concerns; None if there are none.

        The agent's own folders do not count: it would lift the protection of `.git` by naming `.git` its folder.
        """
        editors = self._editors.concerned(path)
        return Roots.of(folder for editor in editors for folder in editor.folders()) if editors else None

    def _mode(self, session_id: str, path: str | None, editors: tuple[AskedEditor, ...]) -> ApprovalMode:
        decided = self._modes.of(session_id)
        is_approved = path is not None and decided.is_approved_in(path)
        if not editors:  # the agent's host is asked, so what its user said counts
            is_approved = is_approved or decided.is_approved_by_own_user
        return decided.in_place_of(self._undecided_mode(editors), is_approved=is_approved)

    def _undecided_mode(self, editors: tuple[AskedEditor, ...]) -> ApprovalMode:
        if not editors:
            return _WITHOUT_EDITOR[self._approve]
        default = _WITH_EDITOR[self._approve]
        if self._approve in {"ask", "host"}:
            return default
        return strictest(editor.stated_mode or default for editor in editors)

    async def decide(self, question: ApprovalRequest) -> Decision:
        with self._questions.one_more(question.session_id) as may_ask:
            if not may_ask:
                log.warning("%s has %d open questions: an edit is rejected", question.session_id, MAX_QUESTIONS)
                return Reject()
            return await self._decide(question)

    async def _decide(self, question: ApprovalRequest) -> Decision:
        if editors := self._editors.concerned(question.path):
            asked = self._asked(editors)
            self._on_wait(asked[0].name if len(asked) == 1 else "your editor")
            decision = await self._first_decision(asked, question)
            if decision is not None:
                return decision
            mode = self._mode(question.session_id, question.path, ())
            if is_protected(question.path, None):  # the folders of the editors that left count no more
                question = replace(question, is_protected=True)
            is_free = mode == "yolo" or (mode == "auto_edit" and not question.is_protected)
            if is_free and not is_rule_file(question.path):
                return Once()
        return await self._own.decide(question)

    def _asked(self, editors: tuple[AskedEditor, ...]) -> tuple[AskedEditor, ...]:
        """An editor that says that it wants no questions is asked only if all say so."""
        asked = tuple(editor for editor in editors if editor.stated_mode != "yolo")
        return asked or editors

    async def _first_decision(self, editors: Iterable[AskedEditor], question: ApprovalRequest) -> Decision | None:
        """Ask all at once, and withdraw the other questions after the first decision. None if all editors are gone."""
        info = self._info_of(question.session_id)
        asked = {
            asyncio.ensure_future(editor.approver.ask(question, info, self._timeout_s)): editor for editor in editors
        }
        waiting = set(asked)
        is_malformed = False
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for answer in done:
                    match answer.exception():
                        case None:
                            return _limited(answer.result(), asked[answer], question.path)
                        case EditorGone():
                            continue
                        case MalformedDecision():
                            is_malformed = True
                        case fault:
                            raise fault
        finally:
            for unanswered in waiting:
                unanswered.cancel()
            await asyncio.gather(*asked, return_exceptions=True)  # also of those that answered at the same moment
        return Reject() if is_malformed else None


class UnaskedApprover:
    """See ports.Approver: of an agent whose host cannot ask. Protected files are refused, others not asked about."""

    can_ask = False

    async def decide(self, question: ApprovalRequest) -> Decision:
        return Reject() if question.is_protected else Once()


def _limited(decision: Decision, editor: AskedEditor, path: str) -> Decision:
    """The decision of an editor's user: "always" holds in the folders of that editor, and for this open file."""
    always = Always((*editor.folders(), path))
    match decision:
        case Always():
            return always
        case SomeHunks(always=Always()):
            return replace(decision, always=always)
        case _:
            return decision
