"""Names of sessions, as far as values need them. service/hub/names.py explains them.

A separate module, because most values name a session.
"""

from typing import NewType

# What the whole daemon calls a session. What one client calls it is a `str`, which only the front ends know.
SessionName = NewType("SessionName", str)

DEFAULT_SESSION = SessionName("default")  # of a request that names none: a client's word, and a private daemon's name
NO_SESSION = SessionName("")  # of what the client's user does


def base_in(full_name: SessionName) -> str:
    return full_name.partition("/")[0]


def has_host_id(full_name: SessionName) -> bool:
    """Whether the session has an id of its host, and not the number of a connection."""
    return ":" in base_in(full_name)
