"""Names of sessions: a client's name for a session on its own connection, and the whole daemon's name for it.

In a private daemon both are the same. In a shared daemon a full name is a *base*, followed by `/SESSION_ID` if the
request has a `session_id`. The base is `HOST:ID` if the host gives the session an id, otherwise `HOST-N` for the
connection.

A base contains no slash, so the first slash of a full name ends its base. Sessions of different bases are never the
same.

A local name is a `str`, a full one a `SessionName`. The front ends translate when they decode a request and before they
encode a result. Everything in between knows only full names.
"""

import dataclasses
import hashlib
import re
import time
from collections.abc import Callable, Container

from msgspec.structs import replace

from fileops.model.approval import ApprovalRequest
from fileops.model.changes import ChangeSetResult
from fileops.model.edits import Rebased
from fileops.model.errors import FileOpsError, ModifiedExternally
from fileops.model.history import AppliedEdit
from fileops.model.results import ChangeNotice, EditResult, Notices
from fileops.model.sessions import DEFAULT_SESSION, MAX_HOST_CHARS, SessionName, base_in, has_host_id, host_name

MAX_ID_CHARS = 200  # names are kept with each edit and sent in each event
KEPT_ID_CHARS = 160  # of a longer id; a hash follows
# Names as people write them, by `host_name` of the program's own name.
_EDITOR_NAMES = {
    "nvim": "Neovim", "neovim": "Neovim", "vim": "Vim", "vscode": "VS Code", "visual-studio-code": "VS Code",
    "helix": "Helix", "hx": "Helix", "emacs": "Emacs", "eglot": "Emacs", "zed": "Zed", "kate": "Kate",
    "sublime-text-lsp": "Sublime Text",
}  # fmt: skip
_PROGRAM_NAMES = {
    **_EDITOR_NAMES,
    "codex": "Codex", "codex-cli": "Codex", "claude": "Claude", "claude-ai": "Claude", "claude-code": "Claude Code",
    "gemini": "Gemini CLI", "gemini-cli": "Gemini CLI", "qwen-code": "Qwen Code", "cursor": "Cursor",
    "cursor-vscode": "Cursor", "goose": "Goose", "copilot-cli": "Copilot CLI", "antigravity": "Antigravity",
}  # fmt: skip
# The names of non-agents in lists of changes, and names by which an agent could look like one of them.
_OTHERS = frozenset({
    "you", "person", "a-person", "user", "the-user", "terminal", "outside", "unsure", "git", "code", "vs-code",
    "code-server", "sublime-text",
})  # fmt: skip
_MCP_CLIENT = re.compile(r"-mcp-client\b.*")  # `codex-mcp-client`, `gemini-cli-mcp-client-fileops`


def program_name(client_name: str) -> str:
    """Return the name of an editor or host as people write it, or the program's own name if it is unknown."""
    return _PROGRAM_NAMES.get(_MCP_CLIENT.sub("", host_name(client_name)), client_name[:MAX_HOST_CHARS])


def agent_name(client_name: str) -> str:
    """Return the name of an agent's host as people write it.

    A name like an editor's is marked, because an editor's name stands for a person.
    """
    name = program_name(client_name)
    known = _MCP_CLIENT.sub("", host_name(client_name))
    return f"{name} (agent)" if known in _EDITOR_NAMES or known in _OTHERS else name


def base_of(host: str, own_id: str) -> str:
    """Return the base of a session's full names, given its host and the host's id for it."""
    escaped = shorten(own_id).replace("%", "%25").replace("/", "%2F")
    return f"{host}:{escaped}"


def is_of_host(full_name: SessionName, host: str, own_id: str) -> bool:
    """Return whether the host has given the session this id. Args: host: the prefix of the host's name."""
    name = full_name.partition(":")[0]
    return full_name == base_of(name, own_id) and f"{name}-".startswith(f"{host}-")


def has_own_id(full_name: SessionName, own_id: str) -> bool:
    """Return whether a host has given the session, or one of its threads, this id."""
    host, _, _ = full_name.partition(":")
    return base_in(full_name) == base_of(host, own_id)


def shorten(own_id: str) -> str:
    """Return the id; if it is long, with a hash instead of its end. Long ids with the same beginning stay different."""
    if len(own_id) <= MAX_ID_CHARS:
        return own_id
    digest = hashlib.blake2b(own_id.encode("utf-8", "surrogatepass"), digest_size=16)
    return f"{own_id[:KEPT_ID_CHARS]}~{digest.hexdigest()}"


class KnownNames:
    """The labels of all sessions that there have been, by full name, so that none is given to another session.

    These are known to one daemon; `compose/session_file.py` keeps them for the next ones.
    """

    def __init__(self) -> None:
        self.labels: dict[SessionName, str] = {}
        self.since = time.time()  # a name that was recorded earlier, without a host's id, may be another session's

    def recall(self) -> None:
        """Learn what other daemons have added."""

    def claim(self, session_id: SessionName, choose: Callable[[Container[str]], str]) -> str:
        """Return a session's label; a new session gets one. Args: choose: returns a label that is not taken."""
        label = self.labels.get(session_id)
        if label is None:
            label = self.labels[session_id] = choose(frozenset(self.labels.values()))
        return label


SESSION = "session:"  # prefix of the source of a change by a session


class SessionNames:
    """The names of a private daemon's only client: unchanged."""

    # --- of what a client sends ------------------------------------------------------------------------------

    def full(self, given: str | None) -> SessionName:
        """Return the full name of a session of this connection. Args: given: None if a request names no session."""
        return DEFAULT_SESSION if given is None else SessionName(given)

    def resolve(self, given: str | None) -> SessionName:
        """Return the full name of the session that a request is about, which may be another connection's."""
        return self.full(given)

    # --- of sessions -----------------------------------------------------------------------------------------

    def is_own(self, full_name: SessionName) -> bool:
        """Return whether the session belongs to this connection."""
        del full_name
        return True

    def lasts(self, full_name: SessionName) -> bool:
        """Return whether the name means the same session in a later daemon. An unnamed session does not continue."""
        return full_name != DEFAULT_SESSION

    # --- of what a client is sent ----------------------------------------------------------------------------

    def local(self, full_name: SessionName) -> str:
        """Return the name that this client sees: its own for its sessions, the full name for others."""
        return full_name

    def local_source(self, source: str) -> str:
        """See model.events.BecameStale.source."""
        kind, colon, full_name = source.partition(":")
        return f"{kind}:{self.local(SessionName(full_name))}" if colon else source

    def to_changed_by(self, source: str) -> str:
        """Return a source as `changed_by`: a session's bare name, unless that could be taken for a source."""
        local = self.local_source(source)
        name = local.removeprefix(SESSION)
        return local if name in {"buffer", "external"} or name.startswith(SESSION) else name

    def show_rebased(self, rebased: Rebased) -> Rebased:
        return replace(rebased, changed_by=self.to_changed_by(rebased.changed_by))

    def show_result(self, result: EditResult) -> EditResult:
        rebased = result.rebased
        if rebased is not None:
            return replace(result, rebased=self.show_rebased(rebased))
        return result if result.error is None else replace(result, error=self._show_error(result.error))

    def show_set_result(self, result: ChangeSetResult) -> ChangeSetResult:
        if result.error is None:
            return result
        problems = (replace(problem, error=self._show_error(problem.error)) for problem in result.problems)
        return replace(result, error=self._show_error(result.error), problems=tuple(problems))

    def _show_error(self, error: FileOpsError) -> FileOpsError:
        if not isinstance(error, ModifiedExternally):
            return error
        also = error.also_changed_by
        return dataclasses.replace(
            error,
            changed_by=self.to_changed_by(error.changed_by),
            also_changed_by=None if also is None else self.to_changed_by(also),
        )

    def show_notices(self, notices: Notices) -> Notices:
        def show(notice: ChangeNotice) -> ChangeNotice:
            return replace(notice, changed_by=self.to_changed_by(notice.changed_by))

        about = None if notices.about is None else show(notices.about)
        return Notices(about=about, others=tuple(map(show, notices.others)))

    def show_edit(self, edit: AppliedEdit) -> AppliedEdit:
        by = None if edit.changed_by is None else self.to_changed_by(edit.changed_by)
        return replace(edit, session_id=self.local(edit.session_id), changed_by=by)

    def show_question(self, question: ApprovalRequest) -> ApprovalRequest:
        rebased = None if question.rebased is None else self.show_rebased(question.rebased)
        files = tuple(map(self.show_question, question.files))
        return replace(question, session_id=self.local(question.session_id), rebased=rebased, files=files)


class SharedSessionNames(SessionNames):
    """The names of one of many clients. base: the full name of its unnamed session.

    is_other: whether another connection has, or had, a session with this full name, which this client may name. Its
    second argument is the full name that the given name would have as this client's own.
    """

    def __init__(self, base: str, is_other: Callable[[SessionName, SessionName], bool]) -> None:
        self.base = base
        self._is_other = is_other

    def full(self, given: str | None) -> SessionName:
        if given is None or given == DEFAULT_SESSION:
            return SessionName(self.base)
        return SessionName(f"{self.base}/{shorten(given)}")

    def local(self, full_name: SessionName) -> str:
        if full_name == self.base:
            return DEFAULT_SESSION
        return full_name[len(self.base) + 1 :] if self.is_own(full_name) else full_name

    def is_own(self, full_name: SessionName) -> bool:
        return base_in(full_name) == self.base

    def lasts(self, full_name: SessionName) -> bool:
        return has_host_id(full_name)

    def resolve(self, given: str | None) -> SessionName:
        if given is not None and self._is_other(full_name := SessionName(given), self.full(given)):
            return full_name
        return self.full(given)
