"""Names of sessions and of clients' programs, as far as values need them. service/hub/names.py explains them.

A separate module, because most values name a session. It imports the standard library only, because `attach` uses it.
"""

import re
from typing import NewType

# What the whole daemon calls a session. What one client calls it is a `str`, which only the front ends know.
SessionName = NewType("SessionName", str)

DEFAULT_SESSION = SessionName("default")  # of a request that names none: a client's word, and a private daemon's name
NO_SESSION = SessionName("")  # of what the client's user does
MAX_HOST_CHARS = 24


def base_in(full_name: SessionName) -> str:
    return full_name.partition("/")[0]


def has_host_id(full_name: SessionName) -> bool:
    """Whether the session has an id of its host, and not the number of a connection."""
    return ":" in base_in(full_name)


def host_name(program: str, *, max_chars: int = MAX_HOST_CHARS) -> str:
    """Reduce a program's name to `[a-z0-9]` and single hyphens; "" if nothing of it is left."""
    return re.sub(r"[^a-z0-9]+", "-", program.lower()).strip("-")[:max_chars].rstrip("-")
