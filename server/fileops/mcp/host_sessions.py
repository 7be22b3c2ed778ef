"""The names of a connection's sessions: HOST:ID if the host has an id for them, otherwise HOST-1."""

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from fileops.model.sessions import SessionName, base_in, has_host_id, host_name
from fileops.service.hub.names import SessionNames, base_of, is_of_host

UNKNOWN_HOST = "mcp"
CODEX_METADATA = "x-codex-turn-metadata"  # of each call of Codex
MAX_TURN_ID_CHARS = 200
_VARIABLES = {"copilot-cli": "COPILOT_AGENT_SESSION_ID"}  # of hosts that do not name it like Claude Code


def turn_of(meta: Mapping[str, object]) -> str | None:
    """Return the host's id of the turn that a call belongs to, or None. Codex names it in the call's `_meta`."""
    metadata = meta.get(CODEX_METADATA)
    turn_id = cast("Mapping[str, object]", metadata).get("turn_id") if isinstance(metadata, dict) else None
    return turn_id if isinstance(turn_id, str) and 0 < len(turn_id) <= MAX_TURN_ID_CHARS else None


class HostSessions(SessionNames):
    """SessionNames for the calls of one host; the full names are made here.

    The host is the first one that one of the client's messages names, and stays the same for the whole connection.
    """

    def __init__(
        self,
        given: str | None,
        environ: Mapping[str, str],
        unnamed: Callable[[str], str] = lambda host: f"{host}-1",
    ) -> None:
        """Args: given: the option `--session`. unnamed: the session of a host that names none."""
        self._unnamed = unnamed
        self._name: str | None = None  # the unnamed session's, once it is needed
        self._given, self._environ = given, environ
        self._host: str | None = None
        self._own: set[str] = set()  # the sessions of its calls
        self.is_named = asyncio.Event()  # set once the host is known

    @property
    def host(self) -> str:
        return self._host or UNKNOWN_HOST

    @property
    def named_host(self) -> str | None:
        """None until a message has named it."""
        return self._host

    @property
    def _id(self) -> str | None:
        """The id for the whole connection. A host that runs below another one inherits that one's, too."""
        variable = _VARIABLES.get(self.host, "CLAUDE_CODE_SESSION_ID")
        return self._given or self._environ.get(variable) or None

    def note_host(self, name: str | None) -> None:
        if self._host is None and name is not None:
            self._host = host_name(name) or None
            if self._host is not None:
                self.is_named.set()

    def is_given(self, host: str, own_id: str) -> bool:
        """Return whether the sessions keep this id for the whole connection. Args: host: see is_of_host."""
        return own_id == self._id and (
            self._host is None or is_of_host(SessionName(base_of(self._host, own_id)), host, own_id)
        )

    def session_of(self, meta: Mapping[str, object]) -> SessionName:
        """Return the session of a call. Codex names its thread in the call's `_meta`."""
        if self._host is None:
            self._host = UNKNOWN_HOST  # a session must not change its name
            self.is_named.set()
        thread = meta.get("threadId")
        own_id = thread if isinstance(thread, str) and thread else self._id
        if own_id is not None:
            name = base_of(self._host, own_id)
        else:
            name = self._name = self._name or self._unnamed(self._host)
        self._own.add(name)
        return SessionName(name)

    def is_own(self, full_name: SessionName) -> bool:
        """Return whether one of this host's calls was of the session."""
        return base_in(full_name) in self._own

    def lasts(self, full_name: SessionName) -> bool:
        return has_host_id(full_name)
