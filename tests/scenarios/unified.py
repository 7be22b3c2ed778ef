"""A strict reader of unified diffs: what `patch` would do, without fuzz, and complaining of anything malformed."""

import re
from typing import Any

_HEAD = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NO_NEWLINE = b"\\ No newline at end of file"


def apply_unified(old: bytes, diff: str) -> bytes:
    """Raises: AssertionError."""
    if not diff:
        return old
    lines = diff.encode().split(b"\n")
    assert lines.pop() == b"", "the diff ends with a newline"
    assert lines[0].startswith(b"--- ")
    assert lines[1].startswith(b"+++ ")
    old_lines = _split(old)
    new: list[bytes] = []
    at = 0
    index = 2
    while index < len(lines):
        head = _HEAD.match(lines[index])
        assert head is not None, lines[index]
        old_start, n_old, new_start, n_new = (1 if g is None else int(g) for g in head.groups())
        begin = old_start if n_old == 0 else old_start - 1
        assert begin >= at, "hunks overlap"
        new += old_lines[at:begin]
        assert len(new) == (new_start if n_new == 0 else new_start - 1), "the new side starts elsewhere"
        at = begin
        index += 1
        n_seen_old = n_seen_new = 0
        while n_seen_old < n_old or n_seen_new < n_new:
            kind, text = lines[index][:1], lines[index][1:] + b"\n"
            index += 1
            if index < len(lines) and lines[index] == NO_NEWLINE:
                text = text[:-1]
                index += 1
            if kind in b" -":
                assert old_lines[at] == text, f"line {at + 1} is not {text!r}"
                at += 1
                n_seen_old += 1
            if kind in b" +":
                new.append(text)
                n_seen_new += 1
            assert kind in (b" ", b"-", b"+"), kind
        assert (n_seen_old, n_seen_new) == (n_old, n_new)
    return b"".join(new + old_lines[at:])


def render(hunks: list[dict[str, Any]]) -> str:
    """The body of a unified diff from the answer's hunks."""
    out: list[str] = []
    for hunk in hunks:
        sides = [_side(hunk[f"{side}_start"], hunk[f"{side}_lines"]) for side in ("old", "new")]
        out.append(f"@@ -{sides[0]} +{sides[1]} @@\n")
        for line in hunk["lines"]:
            out.append(f"{line['kind']}{line['text']}\n")
            if line.get("no_newline"):
                out.append(NO_NEWLINE.decode() + "\n")
    return "".join(out)


def _side(start: int, n_lines: int) -> str:
    return f"{start}" if n_lines == 1 else f"{start},{n_lines}"


def _split(data: bytes) -> list[bytes]:
    """Lines with their newline; only `\\n` ends one."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
