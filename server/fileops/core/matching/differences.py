"""Kinds of differences between a text and the place that it most likely meant, for a caller to act on."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import get_args

from fileops.core.matching.similarity import (
    ratio_of,
    unescape,
    visible,
    with_plain_quotes,
    without_blanks,
)
from fileops.model.edits import DiffersIn

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")

ALL_KINDS: tuple[DiffersIn, ...] = get_args(DiffersIn)
_FOLDS: tuple[tuple[DiffersIn, Callable[[str], str]], ...] = (
    ("invisible", visible),
    ("quotes", with_plain_quotes),
    ("escapes", unescape),
    ("case", str.casefold),
    ("line_ends", lambda text: text.replace("\r", "")),
)


def differences_of(pairs: Iterable[tuple[str, str]]) -> set[DiffersIn]:
    """Return how the lines of the pairs differ. A line without a counterpart is paired with ""."""
    kinds: set[DiffersIn] = set()
    for old, new in pairs:
        if old != new:
            kinds |= _kinds(old, new)
    return kinds


def _kinds(old: str, new: str) -> set[DiffersIn]:
    kinds: set[DiffersIn] = set()
    old_body, new_body = old.strip(" \t\r"), new.strip(" \t\r")
    if not old_body and not new_body:
        return {"trailing_blanks"}
    if not old_body or not new_body:
        return {"words"}
    old_tail, new_tail = old[len(old.rstrip(" \t\r")) :], new[len(new.rstrip(" \t\r")) :]
    if old_tail != new_tail:
        kinds.add("line_ends" if "\r" in old_tail + new_tail else "trailing_blanks")
    old_indent, new_indent = old[: len(old) - len(old.lstrip(" \t"))], new[: len(new) - len(new.lstrip(" \t"))]
    if old_indent != new_indent:
        kinds.add("tabs" if ("\t" in old_indent) != ("\t" in new_indent) else "indentation")
    if old_body != new_body:
        kinds |= _body_kinds(old_body, new_body)
    return kinds


def _body_kinds(old: str, new: str) -> set[DiffersIn]:
    """Return the folds that make the two equal or more similar, and "words" if they still differ."""
    kinds: set[DiffersIn] = set()
    if "\ufffd" in new and _NOT_ASCII.search(old):
        kinds.add("invalid_bytes")
        old, new = _NOT_ASCII.sub("?", old), _NOT_ASCII.sub("?", new)
    for kind, fold in _FOLDS:
        folded = fold(old), fold(new)
        if old != new and folded != (old, new) and (folded[0] == folded[1] or ratio_of(*folded) > ratio_of(old, new)):
            kinds.add(kind)
            old, new = folded
    if old != new:
        kinds.add("tabs" if without_blanks(old) == without_blanks(new) and "\t" in old + new else "words")
    return kinds


def unseen(there: Sequence[str]) -> DiffersIn:
    """Return the kind of difference between texts that are equal after decoding."""
    return "invalid_bytes" if any("\ufffd" in line for line in there) else "line_ends"
