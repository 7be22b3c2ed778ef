"""The clients of the shared daemon: their names, their sessions, and how the most recent ones ended."""

import itertools
import os
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from fileops.attach.handshake import AttachRequest
from fileops.daemon.peer import PeerProcess
from fileops.rpc.standard_io import ServedSession

MAX_CONNECTIONS = 64
MAX_NAME_CHARS = 24
_MAX_ENDED = 256  # connections whose outcome is kept for their pumps
_MAX_PRIVATE = 64  # clients that were refused and serve themselves

# What the service knows about each connection: its `name`, the `roots` in force, `sessions`, their ids, and for people
# their `labels`, and the `label` of the connection.
Describe = Callable[[], Sequence[Mapping[str, object]]]


class AttachedClient(Struct):
    """One attached client. session: None until its first line was answered."""

    name: str
    attachment: AttachRequest
    peer: PeerProcess
    session: ServedSession | None = None


class Refused(Struct, frozen=True):
    """A client that was refused, and serves itself while its process exists. about: from its first line."""

    about: Mapping[str, str]
    pid: int
    reason: str


class Connections:
    """Belongs to the event loop."""

    def __init__(self, describe: Describe) -> None:
        """Args: describe: returns what the service knows about each connection."""
        self._describe = describe
        self._clients: dict[str, AttachedClient] = {}
        self._numbers: Counter[str] = Counter()
        self._outcomes: OrderedDict[str, int] = OrderedDict()
        self._refused: OrderedDict[int, Refused] = OrderedDict()

    def __len__(self) -> int:
        return len(self._clients)

    def __iter__(self) -> "itertools.chain[AttachedClient]":
        return itertools.chain(self._clients.values())

    @property
    def is_full(self) -> bool:
        return len(self._clients) >= MAX_CONNECTIONS

    def enter(self, attachment: AttachRequest, peer: PeerProcess) -> AttachedClient:
        """Name a new client. A name is not used twice: the history and other sessions may still mention it."""
        self._numbers[attachment.host] += 1
        suffix = f"-{self._numbers[attachment.host]}"
        name = attachment.host[: MAX_NAME_CHARS - len(suffix)].rstrip("-") + suffix
        attachment = attachment._replace(pid=peer.pid or attachment.pid)  # the kernel's, if known
        self._clients[name] = client = AttachedClient(name, attachment, peer)
        return client

    def leave(self, client: AttachedClient, status: int) -> None:
        del self._clients[client.name]
        self._outcomes[client.name] = status
        while len(self._outcomes) > _MAX_ENDED:
            self._outcomes.popitem(last=False)

    def outcome_of(self, name: object) -> int | None:
        """Return the exit status with which a connection ended; None if unknown."""
        return self._outcomes.get(name) if isinstance(name, str) else None

    def note_refused(self, about: Mapping[str, str], peer: PeerProcess, reason: str) -> None:
        self._refused[peer.pid] = Refused(about, peer.pid, reason)
        while len(self._refused) > _MAX_PRIVATE:
            self._refused.popitem(last=False)

    def describe(self) -> list[dict[str, object]]:
        """Return the attached clients, as `status --json` prints them."""
        known = {description["name"]: description for description in self._describe()}
        return [
            {
                "name": client.name,
                **describe(client.attachment),
                "pid": client.peer.pid or client.attachment.pid,
                "roots": known.get(client.name, {}).get("roots", list(client.attachment.roots)),
                "sessions": known.get(client.name, {}).get("sessions", []),
                "label": known.get(client.name, {}).get("label", client.attachment.host),
                "labels": known.get(client.name, {}).get("labels", []),
            }
            for client in self
        ]

    def describe_private(self) -> list[dict[str, object]]:
        """Return the clients that were refused and still run, in the same form."""
        for pid in [pid for pid in self._refused if not _exists(pid)]:
            del self._refused[pid]
        return [{**refused.about, "pid": refused.pid, "reason": refused.reason} for refused in self._refused.values()]


def describe(attachment: AttachRequest) -> dict[str, str]:
    return {
        "host": attachment.host,
        "role": attachment.role,
        "protocol": attachment.protocol,
        "version": attachment.version,
    }


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid > 0
