"""Names of sessions and of clients' programs, as far as values need them. service/hub/names.py explains them.

A separate module, because most values name a session. It imports only the standard library, because `attach` uses it.
"""

import re
from typing import NewType

# The whole daemon's name for a session. One client's name for it is a `str`, which only the front ends know.
SessionName = NewType("SessionName", str)

DEFAULT_SESSION = SessionName("default")  # for a request that names none
NO_SESSION = SessionName("")  # of what the client's user does
MAX_HOST_CHARS = 24


def base_in(full_name: SessionName) -> str:
    return full_name.partition("/")[0]


def has_host_id(full_name: SessionName) -> bool:
    """Return whether the session has a host's id, and not a connection's number."""
    return ":" in base_in(full_name)


def host_name(program: str, *, max_chars: int = MAX_HOST_CHARS) -> str:
    """Reduce a program's name to `[a-z0-9]` and single hyphens; "" if nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", program.lower()).strip("-")[:max_chars].rstrip("-")
