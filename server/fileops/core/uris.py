"""file: URIs ⇄ absolute paths. Paths carry bytes that are not UTF-8 as surrogates, as os.fsdecode has it."""

import os
import re
from urllib.parse import quote, unquote_to_bytes, urlsplit


def path_of(uri: str) -> str | None:
    """The path that a file: URI names, None for any other URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file" or parts.netloc not in {"", "localhost"}:
        return None
    given = uri.split(":", 1)[1].removeprefix("//" + parts.netloc).split("#")[0].split("?")[0]
    try:
        path = os.fsdecode(unquote_to_bytes(given.encode("utf-8", "surrogateescape")))
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return None
    return path if path.startswith("/") and "\0" not in path else None


def scheme_of(uri: str) -> str | None:
    """In lower case; None where there is none, as in a path."""
    match = re.match(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)", uri)
    return match and match[0].lower()


def uri_of(path: str) -> str:
    """path: absolute."""
    return "file://" + quote(os.fsencode(path), safe="/-._~:@!$&'()*+,;=")
