"""Names of clients' programs, as parts of the names of connections and sessions.

It imports the standard library only, because `attach` uses it.
"""

import re

MAX_HOST_CHARS = 24


def host_name(program: str, *, max_chars: int = MAX_HOST_CHARS) -> str:
    """Reduce a program's name to `[a-z0-9]` and single hyphens; "" if nothing of it is left."""
    return re.sub(r"[^a-z0-9]+", "-", program.lower()).strip("-")[:max_chars].rstrip("-")
