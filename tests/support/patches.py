"""Patches of two texts, as a model or a program writes them. Lines end at "\\n"; a "\\r" is part of a line."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

NO_NEWLINE = "\\ No newline at end of file"


def lines_of(text: str) -> list[str]:
    """The lines without their newlines. A text that does not end in a newline still has a last line."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def dialect_of(path: str, old: str, new: str, *, n_context: int = 3) -> str | None:
    """The change in the dialect of `apply_patch`, without the first and last line of a patch.

    None if the dialect cannot say it: what it writes ends in a newline, and it has no word for a file without one.
    """
    opcodes = SequenceMatcher(None, lines_of(old), lines_of(new), autojunk=False).get_opcodes()
    keeps_last = bool(opcodes) and opcodes[-1][0] == "equal"
    ends_in_newline = old.endswith("\n") if keeps_last else True  # as the dialect leaves it
    if old == new or (new and new.endswith("\n") != ends_in_newline):
        return None
    hunks = ["\n".join(("@@", *body, "")) for _, body in _hunks(lines_of(old), lines_of(new), n_context)]
    return f"*** Update File: {path}\n{''.join(hunks)}"


def unified_of(path: str, old: str, new: str, *, n_context: int = 3) -> str:
    """The change as `diff -u` writes it, with git's names."""
    lines = [f"--- a/{path}", f"+++ b/{path}"]
    old_lines, new_lines = _with_ends(old), _with_ends(new)
    for header, body in _hunks(old_lines, new_lines, n_context):
        lines.append(header)
        for line in body:
            lines.append(line.removesuffix("\n"))
            if not line.endswith("\n"):
                lines.append(NO_NEWLINE)
    return "\n".join((*lines, ""))


def _hunks(old: Sequence[str], new: Sequence[str], n_context: int) -> Iterator[tuple[str, list[str]]]:
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(n_context):
        body: list[str] = []
        for kind, old_start, old_end, new_start, new_end in group:
            if kind == "equal":
                body += [f" {line}" for line in old[old_start:old_end]]
            else:
                body += [f"-{line}" for line in old[old_start:old_end]]
                body += [f"+{line}" for line in new[new_start:new_end]]
        (_, old_first, _, new_first, _), (_, _, old_last, _, new_last) = group[0], group[-1]
        yield f"@@ -{_range(old_first, old_last)} +{_range(new_first, new_last)} @@", body


def _range(start: int, end: int) -> str:
    return f"{start + (end > start)},{end - start}"


def _with_ends(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [line for line in text.split("\n")[-1:] if line]
