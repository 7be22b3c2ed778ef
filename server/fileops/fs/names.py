"""Names that a file can have, on Linux and on the hosts of mapped folders.

A separate module, because remote folders and the memory filesystem check names, and do not import each other.
"""

import os

from fileops.model.errors import FileMissing

_MAX_NAME_BYTES = 255


def require_possible(path: str) -> None:
    """Raise FileMissing for a name that no file can have."""
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise FileMissing from error
    if b"\0" in raw or any(len(name) > _MAX_NAME_BYTES for name in raw.split(b"/")):
        raise FileMissing
