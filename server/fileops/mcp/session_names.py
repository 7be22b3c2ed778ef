"""What the sessions of a connection are called: HOST:ID where the host has an id for them, else HOST-1."""

import re
from collections.abc import Mapping

MAX_HOST_CHARS = 24
MAX_ID_CHARS = 200
UNKNOWN_HOST = "mcp"


class SessionNames:
    """The host is the first one that a message of the client names; it is kept for the whole connection."""

    def __init__(self, given: str | None, environ: Mapping[str, str]) -> None:
        """Args: given: with the option `--session`."""
        self._id = given or environ.get("CLAUDE_CODE_SESSION_ID") or None
        self._host: str | None = None

    @property
    def host(self) -> str:
        return self._host or UNKNOWN_HOST

    def note_host(self, name: str | None) -> None:
        if self._host is None and name is not None:
            cleaned = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")[:MAX_HOST_CHARS]
            self._host = cleaned or None

    def session_of(self, meta: Mapping[str, object]) -> str:
        """The session of a call. Codex names its thread in the call's `_meta`."""
        if self._host is None:
            self._host = UNKNOWN_HOST  # a session must not change its name
        thread = meta.get("threadId")
        own_id = thread if isinstance(thread, str) and thread else self._id
        return f"{self._host}-1" if own_id is None else f"{self._host}:{own_id[:MAX_ID_CHARS]}"
