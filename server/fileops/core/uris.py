"""Conversion between file: URIs and absolute paths.

A path is what os.fsdecode returns: bytes that are invalid in the encoding of file names are surrogates in it, so every
name keeps its exact bytes.
"""

import re
import sys
from urllib.parse import quote, unquote_to_bytes, urlsplit

_FILE_NAMES = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()


def path_of(uri: str) -> str | None:
    """Return the path that a file: URI names, None for any other URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file" or parts.netloc not in {"", "localhost"}:
        return None
    quoted = uri.split(":", 1)[1].removeprefix("//" + parts.netloc).split("#")[0].split("?")[0]
    try:
        path = str(unquote_to_bytes(quoted.encode("utf-8", "surrogateescape")), *_FILE_NAMES)
    except UnicodeEncodeError:  # a surrogate that encodes no byte
        return None
    return path if path.startswith("/") and "\0" not in path else None


def scheme_of(uri: str) -> str | None:
    """Return the scheme in lower case; None if there is none, as in a path."""
    match = re.match(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)", uri)
    return match and match[0].lower()


def uri_of(path: str) -> str:
    """Return the file: URI of an absolute path."""
    return "file://" + quote(path.encode(*_FILE_NAMES), safe="/-._~:@!$&'()*+,;=")
