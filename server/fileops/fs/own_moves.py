"""Moves of our own that everybody has been told of already, so that the watch of a folder need not tell of them again.

Known by the name of the temporary file, which is never used twice. Whoever writes after us is told of by events of his
own; what is forgotten here costs a look.
"""

from collections import deque

_MAX_KNOWN = 1024  # far more than the kernel has not told of yet
_known: set[bytes] = set()
_in_order: deque[bytes] = deque()


def note(name: str) -> None:
    """The file of this name is in its place, and its new state is noted wherever the old one was."""
    raw = name.encode()
    _known.add(raw)
    _in_order.append(raw)
    if len(_in_order) > _MAX_KNOWN:
        _known.discard(_in_order.popleft())


def is_noted(name: bytes) -> bool:
    return name in _known
