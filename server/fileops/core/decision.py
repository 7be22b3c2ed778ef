"""Applies a user's decision to a plan.

Pure: knows no client. A text that the user has modified and a choice of hunks both become splices over the same
snapshot, so that the bytes outside them survive here too.
"""

import codecs
import re
from collections.abc import Callable, Sequence
from typing import assert_never

from msgspec.structs import replace

from fileops.core import text
from fileops.core.approval import simplified
from fileops.core.diff.contents import Line, line_spans
from fileops.core.diff.lines import changed_ranges
from fileops.core.diff.unified import change_of
from fileops.core.splices import apply
from fileops.core.text import newline_of, return_of
from fileops.model.approval import Always, Decision, Modify, Once, Reject, SomeHunks, TimedOut
from fileops.model.edits import Plan, Splice
from fileops.model.errors import ApprovalTimedOut, Rejected
from fileops.model.files import Encoding, Text, TextFormat
from fileops.model.settings import Limits

_N_LIKE = 16  # lines around its counterpart from which a changed line may take invalid bytes
_PIECE_BYTES = 256
_DECODE: dict[Encoding, Callable[[bytes, str, bool], tuple[str, int]]] = {
    "utf-8": codecs.utf_8_decode,
    "utf-16-le": codecs.utf_16_le_decode,
    "utf-16-be": codecs.utf_16_be_decode,
    "utf-32-le": codecs.utf_32_le_decode,
    "utf-32-be": codecs.utf_32_be_decode,
}


def apply_decision(plan: Plan, decision: Decision, *, file_path: str, limits: Limits, removes: bool = False) -> Plan:
    """The plan that the decision leaves: `plan` itself if it was approved as proposed.

    A plan that removes its file (`removes`) can only be approved or rejected as a whole.
    Raises: Rejected, ApprovalTimedOut, NotEncodable.
    """
    decision = simplified(decision, plan)
    match decision:
        case Once() | Always():
            return plan
        case Reject():
            raise Rejected
        case TimedOut(timeout_s):
            raise ApprovalTimedOut(timeout_s=timeout_s)
        case Modify() | SomeHunks() if removes:
            raise Rejected
        case Modify(modified_text):
            wanted = modified_splices(Text(data=plan.snapshot.data, format=plan.format), modified_text)
        case SomeHunks(hunk_ids):
            wanted = hunk_splices(plan, hunk_ids)
        case _:
            assert_never(decision)
    if not wanted and not plan.creates:
        raise Rejected
    if wanted == plan.splices:
        return plan
    change = change_of(
        plan.snapshot.data, plan.format, wanted,
        file_path=file_path, operation="create" if plan.creates else "modify", limits=limits,
    )  # fmt: skip
    return replace(plan, splices=wanted, change=change)


def hunk_splices(plan: Plan, hunk_ids: Sequence[str]) -> tuple[Splice, ...]:
    """Return splices over the plan's snapshot that apply exactly the chosen hunks.

    Raises: Rejected, if the proposal has no hunk of that id.
    """
    wanted = set(hunk_ids)
    if not wanted <= {hunk.id for hunk in plan.change.hunks}:
        raise Rejected
    if not plan.change.truncated and len(wanted) == len(plan.change.hunks):
        return plan.splices
    before, fmt = plan.snapshot.data, plan.format
    after = apply(before, plan.splices)
    after_format = text.detect_format(after)
    old, new = line_spans(before, fmt), line_spans(after, after_format)
    chosen: list[Splice] = []
    for hunk in plan.change.hunks:
        if hunk.id in wanted:
            start, stop = _extent(old, hunk.old_start, hunk.old_lines)
            new_start, new_stop = _extent(new, hunk.new_start, hunk.new_lines)
            chosen.extend(_by_lines(before[start:stop], after[new_start:new_stop], start, fmt))
    return tuple(chosen)


def _extent(lines: Sequence[Line], first_line: int, n_lines: int) -> tuple[int, int]:
    """Return the bytes of `n_lines` lines; for no lines, the place after line `first_line`."""
    if not n_lines:
        at = lines[first_line - 1].stop if first_line else lines[0].start
        return at, at
    return lines[first_line - 1].start, lines[first_line + n_lines - 2].stop


def _by_lines(old: bytes, new: bytes, offset: int, fmt: TextFormat) -> list[Splice]:
    bare = TextFormat(encoding=fmt.encoding)
    old_lines, new_lines = line_spans(old, bare), line_spans(new, bare)
    old_parts = [old[line.start : line.stop] for line in old_lines]
    new_parts = [new[line.start : line.stop] for line in new_lines]
    result: list[Splice] = []
    stop, at = offset, 0
    for i, i_stop, j, j_stop in changed_ranges(old_parts, new_parts):
        start = stop + sum(map(len, old_parts[at:i]))
        stop, at = start + sum(map(len, old_parts[i:i_stop])), i_stop
        result.append(Splice(start, stop, b"".join(new_parts[j:j_stop])))
    return result


# --- the user's own text ------------------------------------------------------------------------------------


def modified_splices(content: Text, user_text: str) -> tuple[Splice, ...]:
    """Return splices that turn `content` into the user's text, line by line.

    Lines with equal text keep their bytes, invalid ones included. A changed line keeps the line end of the line that it
    replaces; a new one takes that of the line before. Raises: NotEncodable.
    """
    data, fmt = content.data, content.format
    if user_text.startswith("\ufeff") and fmt.bom:
        user_text = user_text[1:]
    old = line_spans(data, fmt)
    old_texts = [_decoded(data[line.start : line.end], fmt) for line in old]
    pieces: list[str] = re.split(r"(\r?\n)", user_text)
    new_texts, new_ends = pieces[::2], pieces[1::2]
    result: list[Splice] = []
    for i, i_stop, j, j_stop in changed_ranges(old_texts, new_texts):
        before = _pieces(data, old, i, i_stop)
        ends = _line_ends(data, old, new_ends, fmt, i, i_stop, j, j_stop)
        contents = [
            _encoded(part, data, old[max(i, at - _N_LIKE) : max(i, min(i_stop, at + _N_LIKE))], fmt)
            for at, part in enumerate(new_texts[j:j_stop], i)
        ]
        left = data[old[i - 1].start : old[i - 1].end] if i else None
        after = _with_ends(left, contents, ends, fmt)
        start = old[i - 1].end if i else len(fmt.bom)
        result.extend(_paired(before, after, start))
    return tuple(result)


def _pieces(data: bytes, lines: Sequence[Line], i: int, i_stop: int) -> list[bytes]:
    """Return the bytes of a gap, from the line end before it: line ends and contents in turn."""
    result = [data[lines[i - 1].end : lines[i - 1].stop]] if i else []
    for at in range(i, i_stop):
        result.append(data[lines[at].start : lines[at].end])
        if at < len(lines) - 1:
            result.append(data[lines[at].end : lines[at].stop])
    return result


def _line_ends(
    data: bytes, old: Sequence[Line], given: Sequence[str], fmt: TextFormat,
    i: int, i_stop: int, j: int, j_stop: int,
) -> list[bytes]:  # fmt: skip
    """Return a line end for each place of the gap that needs one, including the one before its first line."""
    first = next((data[line.end : line.stop] for line in old if line.stop > line.end), None)
    result: list[bytes] = []
    for at in range(j - 1 if i else j, min(j_stop, len(given))):
        counterpart = i + at - j
        if first is None:
            result.append(given[at].encode(fmt.encoding))
        elif counterpart < i_stop and counterpart < len(old) - 1:
            result.append(data[old[counterpart].end : old[counterpart].stop])
        elif result:
            result.append(result[-1])
        elif i and old[i - 1].stop > old[i - 1].end:
            result.append(data[old[i - 1].end : old[i - 1].stop])
        elif i > 1:
            result.append(data[old[i - 2].end : old[i - 2].stop])
        else:
            result.append(first)
    return result


def _with_ends(left: bytes | None, contents: Sequence[bytes], ends: Sequence[bytes], fmt: TextFormat) -> list[bytes]:
    """Return line ends and contents in turn. `left` is the unchanged line before them, None at the start."""
    rest = iter(ends)
    result: list[bytes] = []
    for content in contents if left is None else (left, *contents):
        result.append(content)
        if end := next(rest, b""):
            if end == newline_of(fmt) and content.endswith(return_of(fmt)):
                # Otherwise the carriage return of the content would become part of the line end.
                end = return_of(fmt) + end
            result.append(end)
    return result if left is None else result[1:]


def _paired(before: Sequence[bytes], after: Sequence[bytes], start: int) -> list[Splice]:
    """Return a splice per piece if both sides have as many, else one splice without the ends that both share."""
    if len(before) == len(after):
        result: list[Splice] = []
        at = start
        for old, new in zip(before, after, strict=True):
            if old != new:
                result.append(Splice(at, at + len(old), new))
            at += len(old)
        return result
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    at = start + sum(map(len, before[:head]))
    size = sum(map(len, before[head : len(before) - tail]))
    return [Splice(at, at + size, b"".join(after[head : len(after) - tail]))]


def _decoded(data: bytes, fmt: TextFormat) -> str:
    return data.decode(fmt.encoding, "replace")


def _encoded(line: str, data: bytes, replaced: Sequence[Line], fmt: TextFormat) -> bytes:
    """Encode a line. The parts that it shares with a replaced line keep the invalid bytes of that line."""
    if "\ufffd" in line:
        best, head, tail = b"", 0, 0
        for old in replaced:
            raw = data[old.start : old.end]
            n_head, n_tail = _shared_ends(_characters(raw, fmt), line)
            if n_head + n_tail > head + tail:
                best, head, tail = raw, n_head, n_tail
        if head + tail:
            characters = _characters(best, fmt)
            middle = text.encode(line[head : len(line) - tail], fmt)
            return (
                b"".join(raw for _, raw in characters[:head])
                + middle
                + b"".join(raw for _, raw in characters[len(characters) - tail :])
            )
    return text.encode(line, fmt)


def _shared_ends(characters: Sequence[tuple[str, bytes]], line: str) -> tuple[int, int]:
    shorter = min(len(characters), len(line))
    head = 0
    while head < shorter and characters[head][0] == line[head]:
        head += 1
    tail = 0
    while tail < shorter - head and characters[-1 - tail][0] == line[-1 - tail]:
        tail += 1
    return head, tail


def _characters(data: bytes, fmt: TextFormat) -> list[tuple[str, bytes]]:
    """Return each character as it is shown, with its bytes. An invalid run is one U+FFFD, as in decoding."""
    result: list[tuple[str, bytes]] = []
    decode = _DECODE[fmt.encoding]
    at = 0
    while at < len(data):
        piece = data[at : at + _PIECE_BYTES]  # short, because a failure copies it
        try:
            valid, n_valid = decode(piece, "strict", at + len(piece) == len(data))
            bad = b""
        except UnicodeDecodeError as error:
            valid, n_valid = decode(piece[: error.start], "strict", True)
            bad = piece[error.start : error.end]
        result.extend((character, character.encode(fmt.encoding)) for character in valid)
        if bad:
            result.append(("\ufffd", bad))
        at += n_valid + len(bad)
    return result
