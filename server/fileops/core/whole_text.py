"""Splices that turn a file's content into a whole new text, for users and clients without edits.

Only differences are spliced: equal lines keep their bytes, changed lines keep their line ends and invalid bytes.
"""

import codecs
import re
from collections.abc import Callable, Sequence

from fileops.core import text
from fileops.core.diff.contents import Line, line_spans
from fileops.core.diff.lines import find_changed_ranges
from fileops.core.text import n_shared, newline_of, return_of
from fileops.model.edits import Splice
from fileops.model.files import Encoding, Text, TextFormat

MAX_COMPARED_LINES = 400_000  # of both texts together: 1.5 s and 150 MB
_N_LIKE = 16  # lines around its counterpart from which a changed line may take invalid bytes
_PIECE_BYTES = 256
_DECODE: dict[Encoding, Callable[[bytes, str, bool], tuple[str, int]]] = {
    "utf-8": codecs.utf_8_decode,
    "utf-16-le": codecs.utf_16_le_decode,
    "utf-16-be": codecs.utf_16_be_decode,
    "utf-32-le": codecs.utf_32_le_decode,
    "utf-32-be": codecs.utf_32_be_decode,
}


def splices_to_text(content: Text, new_text: str) -> tuple[Splice, ...]:
    """Return splices that turn `content` into the new text, line by line.

    Lines with equal text keep their bytes, invalid ones included. A changed line keeps the line end of the line that it
    replaces; a new one takes that of the line before. Raises: NotEncodable.
    """
    data, fmt = content.data, content.format
    if new_text.startswith("\ufeff") and fmt.bom:
        new_text = new_text[1:]
    if (whole := _as_one_splice(content, new_text)) is not None:
        return whole
    old = line_spans(data, fmt)
    old_texts = [_decode(data[line.start : line.end], fmt) for line in old]
    pieces: list[str] = re.split(r"(\r?\n)", new_text)
    new_texts, new_ends = pieces[::2], pieces[1::2]
    result: list[Splice] = []
    for i, i_stop, j, j_stop in find_changed_ranges(old_texts, new_texts):
        before = _pieces(data, old, i, i_stop)
        ends = _line_ends(data, old, new_ends, fmt, i, i_stop, j, j_stop)
        contents = [
            _encode(part, data, old[max(i, at - _N_LIKE) : max(i, min(i_stop, at + _N_LIKE))], fmt)
            for at, part in enumerate(new_texts[j:j_stop], i)
        ]
        left = data[old[i - 1].start : old[i - 1].end] if i else None
        after = _with_ends(left, contents, ends, fmt)
        start = old[i - 1].end if i else len(fmt.bom)
        result.extend(_pair(before, after, start))
    return tuple(result)


def _as_one_splice(content: Text, new_text: str) -> tuple[Splice, ...] | None:
    """Return one splice from the first line that differs to the last, for texts of very many lines.

    Comparing so many lines would take a minute and gigabytes. None if the text has fewer lines, or if its lines must be
    examined one by one because they end differently or have invalid bytes.
    """
    data, fmt = content.data, content.format
    n_old_lines = data.count(b"\n")
    if n_old_lines + new_text.count("\n") <= MAX_COMPARED_LINES or not n_old_lines or fmt.encoding != "utf-8":
        return None
    n_crlf = data.count(b"\r\n")
    ended = new_text.replace("\r\n", "\n")
    if n_crlf not in {0, n_old_lines} or data.count(b"\r") != n_crlf or "\r" in ended or not _is_valid(data):
        return None
    new = fmt.bom + text.encode(ended.replace("\n", "\r\n") if n_crlf else ended, fmt)
    if new == data:
        return ()
    start = data.rfind(b"\n", 0, n_shared(data, new)) + 1
    tail = n_shared(data[start:][::-1], new[start:][::-1])
    tail -= data[len(data) - tail :].find(b"\n") + 1 or tail
    return (Splice(start, len(data) - tail, new[start : len(new) - tail]),)


def _is_valid(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _pieces(data: bytes, lines: Sequence[Line], i: int, i_stop: int) -> list[bytes]:
    """Return the bytes of a gap, from the line end before it: line ends and contents in turn."""
    result = [data[lines[i - 1].end : lines[i - 1].stop]] if i else []
    for at in range(i, i_stop):
        result.append(data[lines[at].start : lines[at].end])
        if at < len(lines) - 1:
            result.append(data[lines[at].end : lines[at].stop])
    return result


def _line_ends(
    data: bytes,
    old: Sequence[Line],
    given: Sequence[str],
    fmt: TextFormat,
    i: int,
    i_stop: int,
    j: int,
    j_stop: int,
) -> list[bytes]:
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


def _pair(before: Sequence[bytes], after: Sequence[bytes], start: int) -> list[Splice]:
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


def _decode(data: bytes, fmt: TextFormat) -> str:
    return data.decode(fmt.encoding, "replace")


def _encode(line: str, data: bytes, replaced: Sequence[Line], fmt: TextFormat) -> bytes:
    """Encode a line. The parts that it shares with a replaced line keep the invalid bytes of that line."""
    if "\ufffd" in line:
        best, head, tail = b"", 0, 0
        for old in replaced:
            raw = data[old.start : old.end]
            n_head, n_tail = _count_shared_ends(_characters(raw, fmt), line)
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


def _count_shared_ends(characters: Sequence[tuple[str, bytes]], line: str) -> tuple[int, int]:
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
