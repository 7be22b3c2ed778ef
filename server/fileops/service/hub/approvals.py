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

from fileops.core.approval import is_protected
from fileops.core.roots import Roots, is_inside
from fileops.model.approval import ApprovalRequest, Decision, Once, Reject
from fileops.model.settings import ApprovalMode
from fileops.ports import Approver

Approve = Literal["person", "ask", "host", "never"]

log = logging.getLogger(__name__)

MAX_QUESTIONS = 32  # of one session at once: no person answers more
STRICTNESS: Mapping[ApprovalMode, int] = {"yolo": 0, "auto_edit": 1, "default": 2}
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

    mode_of: the mode that was set for a session, None if none was. own: asks through the agent's host, or refuses.
    on_wait: called with where the user is asked, before editors are.
    """

    can_ask = True

    def __init__(
        self,
        editors: AskedEditors,
        *,
        approve: Approve,
        mode_of: Callable[[str], ApprovalMode | None],
        info_of: Callable[[str], SessionInfo],
        own: Approver,
        timeout_s: float,
        questions: OpenQuestions,
        on_wait: Callable[[str], None] = lambda _where: None,
    ) -> None:
        self._questions = questions
        self._editors, self._mode_of, self._info_of = editors, mode_of, info_of
        self._approve: Approve = approve
        self._own, self._timeout_s, self._on_wait = own, timeout_s, on_wait

    def mode_at(self, session_id: str, path: str) -> ApprovalMode:
        """The mode of a session for a write of this canonical path."""
        return self._mode(session_id, self._editors.concerned(path))

    def opened_at(self, path: str) -> Roots | None:
        """The folders of the editors that this canonical path concerns; None if there are none.

        The agent's own folders do not count: it would lift the protection of `.git` by naming `.git` its folder.
        """
        editors = self._editors.concerned(path)
        return Roots.of(folder for editor in editors for folder in editor.folders()) if editors else None

    def _mode(self, session_id: str, editors: tuple[AskedEditor, ...]) -> ApprovalMode:
        if (mode := self._mode_of(session_id)) is not None:
            return mode
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
            mode = self._mode(question.session_id, ())
            if is_protected(question.path, None):  # the folders of the editors that left count no more
                question = replace(question, is_protected=True)
            if mode == "yolo" or (mode == "auto_edit" and not question.is_protected):
                return Once()
        return await self._own.decide(question)

    def _asked(self, editors: tuple[AskedEditor, ...]) -> tuple[AskedEditor, ...]:
        """An editor that says that it wants no questions is asked only if all say so."""
        asked = tuple(editor for editor in editors if editor.stated_mode != "yolo")
        return asked or editors

    async def _first_decision(self, editors: Iterable[AskedEditor], question: ApprovalRequest) -> Decision | None:
        """Ask all at once, and withdraw the other questions after the first decision. None if all editors are gone."""
        info = self._info_of(question.session_id)
        waiting = {asyncio.ensure_future(editor.approver.ask(question, info, self._timeout_s)) for editor in editors}
        is_malformed = False
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for answer in done:
                    match answer.exception():
                        case None:
                            return answer.result()
                        case EditorGone():
                            continue
                        case MalformedDecision():
                            is_malformed = True
                        case fault:
                            raise fault
        finally:
            for unanswered in waiting:
                unanswered.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return Reject() if is_malformed else None


class UnaskedApprover:
    """See ports.Approver: of an agent whose host cannot ask. Protected files are refused, others not asked about."""

    can_ask = False

    async def decide(self, question: ApprovalRequest) -> Decision:
        return Reject() if question.is_protected else Once()


def strictest(modes: Iterable[ApprovalMode]) -> ApprovalMode:
    return max(modes, key=STRICTNESS.__getitem__)
