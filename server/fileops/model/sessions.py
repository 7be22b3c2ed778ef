"""Names of sessions, see service/hub/names.py. A separate module, because most values name a session."""

from typing import NewType

# What the whole daemon calls a session. What one client calls it is a `str`, which only the front ends know.
SessionName = NewType("SessionName", str)

DEFAULT_SESSION = SessionName("default")  # of a request that names none: a client's word, and a private daemon's name
NO_SESSION = SessionName("")  # of what the client's user does
