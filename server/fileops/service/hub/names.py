"""Names of sessions: what a client calls a session on its own connection, and what everybody else calls it.

In a private daemon both are the same. In a shared one a full name is a *base*, with `/SESSION_ID` after it for a
`session_id` of a request. The base is `HOST:ID` if the host gives the session an id, else `HOST-N` for the connection.

A base contains no slash, so the first slash of a full name ends its base, and two bases have no session in common.
"""

import hashlib
import re
from collections.abc import Callable

from msgspec.structs import replace

from fileops.model.approval import ApprovalRequest
from fileops.model.edits import Rebased
from fileops.model.host_names import MAX_HOST_CHARS, host_name
from fileops.model.sessions import DEFAULT_SESSION, base_in, has_host_id

MAX_ID_CHARS = 200  # names are kept with each edit and sent with each event
KEPT_ID_CHARS = 160  # of a longer id; a hash follows
# As people write them; by `host_name` of what the program calls itself.
_PROGRAM_NAMES = {
    "nvim": "Neovim", "neovim": "Neovim", "vim": "Vim", "vscode": "VS Code", "visual-studio-code": "VS Code",
    "helix": "Helix", "hx": "Helix", "emacs": "Emacs", "eglot": "Emacs", "zed": "Zed", "kate": "Kate",
    "sublime-text-lsp": "Sublime Text",
    "codex": "Codex", "codex-cli": "Codex", "claude": "Claude", "claude-ai": "Claude", "claude-code": "Claude Code",
    "gemini": "Gemini CLI", "gemini-cli": "Gemini CLI", "qwen-code": "Qwen Code", "cursor": "Cursor",
    "cursor-vscode": "Cursor", "goose": "Goose",
}  # fmt: skip
_MCP_CLIENT = re.compile(r"-mcp-client\b.*")  # `codex-mcp-client`, `gemini-cli-mcp-client-fileops`


def program_name(client_name: str) -> str:
    """The name of an editor or a host as people write it; what it calls itself if it is not a known one."""
    return _PROGRAM_NAMES.get(_MCP_CLIENT.sub("", host_name(client_name)), client_name[:MAX_HOST_CHARS])


def base_of(host: str, own_id: str) -> str:
    """The base of the full names of a session to which its host gives this id."""
    escaped = shortened(own_id).replace("%", "%25").replace("/", "%2F")
    return f"{host}:{escaped}"


def is_of_host(full_name: str, host: str, own_id: str) -> bool:
    """Whether the host has given the session this id. Args: host: the first words of the host's name."""
    name = full_name.partition(":")[0]
    return full_name == base_of(name, own_id) and f"{name}-".startswith(f"{host}-")


def shortened(own_id: str) -> str:
    """The id, with a hash in place of its end if it is long. Long ids that begin alike remain different."""
    if len(own_id) <= MAX_ID_CHARS:
        return own_id
    digest = hashlib.blake2b(own_id.encode("utf-8", "surrogatepass"), digest_size=16)
    return f"{own_id[:KEPT_ID_CHARS]}~{digest.hexdigest()}"


SESSION = "session:"  # how the source of a change begins if a session made it


class SessionNames:
    """The names of a private daemon's only client: as given."""

    def full(self, given: str) -> str:
        """The full name of a session of this connection."""
        return given

    def local(self, full_name: str) -> str:
        """The name that this client is shown: its own for its sessions, the full name of others."""
        return full_name

    def is_own(self, full_name: str) -> bool:
        """Whether the session is one of this connection."""
        del full_name
        return True

    def lasts(self, full_name: str) -> bool:
        """Whether the name means the same session in a later daemon. An unnamed one does not continue."""
        return full_name != DEFAULT_SESSION

    def resolve(self, given: str) -> str:
        """The full name of a session that a request is about, which may be another connection's."""
        return self.full(given)

    def local_source(self, source: str) -> str:
        """See model.events.BecameStale.source."""
        kind, colon, full_name = source.partition(":")
        return f"{kind}:{self.local(full_name)}" if colon else source

    def changed_by(self, source: str) -> str:
        """A source as `changed_by` has it: of a session its bare name, unless that could be taken for a source."""
        local = self.local_source(source)
        name = local.removeprefix(SESSION)
        return local if name in {"buffer", "external"} or name.startswith(SESSION) else name

    def shown_rebased(self, rebased: Rebased) -> Rebased:
        return replace(rebased, changed_by=self.changed_by(rebased.changed_by))

    def shown_question(self, question: ApprovalRequest) -> ApprovalRequest:
        rebased = None if question.rebased is None else self.shown_rebased(question.rebased)
        return replace(question, session_id=self.local(question.session_id), rebased=rebased)


class SharedSessionNames(SessionNames):
    """The names of one of many clients. base: the full name of its unnamed session.

    is_other: whether there is a session of another connection with this full name, and this client may name it.
    """

    def __init__(self, base: str, is_other: Callable[[str], bool]) -> None:
        self.base = base
        self._is_other = is_other

    def full(self, given: str) -> str:
        return self.base if given == DEFAULT_SESSION else f"{self.base}/{shortened(given)}"

    def local(self, full_name: str) -> str:
        if full_name == self.base:
            return DEFAULT_SESSION
        return full_name[len(self.base) + 1 :] if self.is_own(full_name) else full_name

    def is_own(self, full_name: str) -> bool:
        return base_in(full_name) == self.base

    def lasts(self, full_name: str) -> bool:
        return has_host_id(full_name)

    def resolve(self, given: str) -> str:
        return given if self._is_other(given) else self.full(given)
