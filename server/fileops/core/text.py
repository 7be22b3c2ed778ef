r"""Bytes as text: detection of the format, encoding and decoding, and boundaries of lines.

A line ends at "\n" only; a final newline does not start another line. Offsets are in bytes and include the BOM.
In UTF-16 and UTF-32 a newline counts only if it is aligned to a code unit (U+0A0A contains the byte of a newline).
The length of the BOM is a multiple of the unit, so units are counted from the start of the file.
"""

import re
import sys
from array import array
from codecs import (
    BOM_UTF8,
    BOM_UTF16_BE,
    BOM_UTF16_LE,
    BOM_UTF32_BE,
    BOM_UTF32_LE,
    getincrementaldecoder,
    register_error,
)
from typing import AnyStr, Literal

from fileops.model.documents import PositionEncoding
from fileops.model.errors import NotEncodable
from fileops.model.files import Encoding, NewlineStyle, Text, TextFormat

SNIFF_BYTES = 8192  # of a file's head, examined for NUL bytes
_BLOCK_BYTES = 1 << 16  # decoded at once to count newlines of wide encodings

_BOMS: tuple[tuple[bytes, Encoding], ...] = (
    (BOM_UTF32_LE, "utf-32-le"),  # begins with the BOM of UTF-16-LE, so it is first
    (BOM_UTF32_BE, "utf-32-be"),
    (BOM_UTF16_LE, "utf-16-le"),
    (BOM_UTF16_BE, "utf-16-be"),
    (BOM_UTF8, "utf-8"),
)
_NEWLINES: dict[Encoding, bytes] = {encoding: "\n".encode(encoding) for _, encoding in _BOMS}
_WITH_BOM = tuple(TextFormat(encoding=encoding, bom=bom) for bom, encoding in _BOMS)
_BOM_STARTS = frozenset(bom[:1] for bom, _ in _BOMS)
_PLAIN = TextFormat()
_RETURNS: dict[Encoding, bytes] = {encoding: "\r".encode(encoding) for _, encoding in _BOMS}
_WIDE_CHARACTER = (
    re.compile(  # in UTF-8, table 3-7 of the Unicode standard; and surrogates, as `surrogatepass` has them
        rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}"
        rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
    )
)


def detect_format(head: bytes) -> TextFormat:
    """Detect the format from the first bytes of a file (four are enough); UTF-8 if there is no BOM."""
    if head[:1] in _BOM_STARTS:
        for fmt in _WITH_BOM:
            if head.startswith(fmt.bom):
                return fmt
    return _PLAIN


def may_begin_bom(head: bytes) -> bool:
    """Return whether the head may be the beginning of a longer BOM."""
    return any(len(bom) > len(head) and bom.startswith(head) for bom, _ in _BOMS)


def is_binary(head: bytes, fmt: TextFormat) -> bool:
    """Return whether the first 8 KB contain a NUL byte and no BOM."""
    return not fmt.bom and head.find(b"\0", 0, SNIFF_BYTES) >= 0


def encode(text: str, fmt: TextFormat) -> bytes:
    """Encode a text without a BOM. Raises: NotEncodable (lone surrogates)."""
    try:
        return text.encode(fmt.encoding)
    except UnicodeEncodeError as failure:
        raise NotEncodable(encoding=fmt.encoding, characters=failure.object[failure.start : failure.end]) from None


def decode(data: bytes | memoryview, fmt: TextFormat) -> str:
    """Decode the whole content of a file, without its BOM. Invalid bytes become U+FFFD."""
    n_bom = len(fmt.bom)
    if n_bom and data[:n_bom] == fmt.bom:
        data = memoryview(data)[n_bom:]
    return decode_part(data, fmt)


def decode_part(data: bytes | memoryview, fmt: TextFormat) -> str:
    """Decode a piece of a file that begins and ends on code units. A BOM in it is kept."""
    return str(data, fmt.encoding, "replace")


def decode_for_display(data: bytes) -> str:
    """Decode UTF-8, and show each byte that is not UTF-8 as its letter in Windows-1252, which contains that of Latin-1.

    What this returns is for people only: it is not known that the file has this encoding.
    """
    return data.decode("utf-8", _AS_LETTERS)


def _letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    escaped = _ESCAPED_BYTE.match(error.object, error.start)
    if escaped is not None:  # a byte that a named encoding does not have, see legacy_text
        return "\ufffd", escaped.end()
    bad = error.object[error.start : error.end]
    return "".join(_LETTERS[byte] for byte in bad), error.end


_AS_LETTERS = "fileops-letters"
_ESCAPED_BYTE = re.compile(rb"\xed[\xb0-\xb3][\x80-\xbf]")
_LETTERS = [bytes([byte]).decode("cp1252", "replace").replace("\ufffd", chr(byte)) for byte in range(256)]
register_error(_AS_LETTERS, _letters)


def wide_text(text: Text) -> str:
    """Decode a file whose code units have several bytes, so that `n_bytes_of` can translate offsets back.

    A lone surrogate is kept. An invalid UTF-32 unit becomes a surrogate; half a unit at the end is dropped.
    """
    fmt = text.format
    content = memoryview(text.data)[len(fmt.bom) : _whole(len(text.data), fmt)]
    try:
        return str(content, fmt.encoding, "surrogatepass")
    except UnicodeDecodeError:
        order: Literal["little", "big"] = "little" if fmt.encoding.endswith("le") else "big"
        units = array("I", content.tobytes())
        if sys.byteorder != order:
            units.byteswap()
        return "".join(chr(unit) if unit <= sys.maxunicode else "\ud800" for unit in units)


def n_bytes_of(text: str, start: int, end: int, fmt: TextFormat) -> int:
    """Return how many bytes of the file the characters [start, end) of its `wide_text` take."""
    if fmt.unit_bytes == 4:
        return 4 * (end - start)
    return len(text[start:end].encode(fmt.encoding, "surrogatepass"))


def count_characters(data: bytes, fmt: TextFormat) -> int:
    """Count the code points of the whole content without the BOM. Invalid sequences count as decoded (U+FFFD)."""
    if fmt.encoding == "utf-8" and data.isascii():
        return len(data)
    return len(decode(data, fmt))


def is_inside_character(data: bytes, at: int) -> bool:
    """Return whether `at` is inside a UTF-8 character. An invalid byte counts as a character."""
    if not 0 < at < len(data) or data[at] & 0xC0 != 0x80:
        return False
    lead = next((start for start in range(at - 1, max(-1, at - 4), -1) if data[start] & 0xC0 != 0x80), None)
    found = None if lead is None else _WIDE_CHARACTER.match(data, lead)
    return found is not None and found.end() > at


def is_utf8(data: bytes) -> bool:
    """Return whether the data is valid UTF-8. Decodes block by block."""
    if data.isascii():
        return True
    decoder, view = getincrementaldecoder("utf-8")(), memoryview(data)
    try:
        for at in range(0, len(data), _BLOCK_BYTES):
            decoder.decode(view[at : at + _BLOCK_BYTES], at + _BLOCK_BYTES >= len(data))
    except UnicodeDecodeError:
        return False
    return True


def newline_of(fmt: TextFormat) -> bytes:
    return _NEWLINES[fmt.encoding]


def return_of(fmt: TextFormat) -> bytes:
    """Return the carriage return in the file's encoding."""
    return _RETURNS[fmt.encoding]


def find_aligned(data: bytes, needle: bytes, fmt: TextFormat, start: int, end: int | None = None) -> int:
    """Find as `bytes.find` does, aligned to code units. `start` is aligned."""
    end = len(data) if end is None else end
    unit = fmt.unit_bytes
    hit = data.find(needle, start, end)
    while hit % unit and hit >= 0:
        hit = data.find(needle, hit + 1, end)
    return hit


def rfind_aligned(data: bytes, needle: bytes, fmt: TextFormat, start: int, end: int) -> int:
    """Find as `bytes.rfind` does, aligned to code units."""
    unit = fmt.unit_bytes
    hit = data.rfind(needle, start, end)
    while hit % unit and hit >= 0:
        hit = data.rfind(needle, start, hit + len(needle) - 1)
    return hit


def count_newlines(data: bytes, fmt: TextFormat, start: int = 0, end: int | None = None) -> int:
    """Count the newlines that begin in [start, end). Both are aligned to code units."""
    end = len(data) if end is None else min(end, len(data))
    if fmt.unit_bytes == 1:
        return data.count(b"\n", start, end)
    view = memoryview(data)
    blocks = range(start, end, _BLOCK_BYTES)
    return sum(decode_part(view[at : min(at + _BLOCK_BYTES, end)], fmt).count("\n") for at in blocks)


def count_lines(data: bytes, fmt: TextFormat) -> int:
    """Count the lines of the whole content of a file."""
    n_bom = len(fmt.bom)
    if len(data) <= n_bom:
        return 0
    ends_in_newline = rfind_aligned(data, newline_of(fmt), fmt, n_bom, len(data)) == len(data) - fmt.unit_bytes
    return count_newlines(data, fmt, n_bom) + (not ends_in_newline)


def line_start(data: bytes, fmt: TextFormat, offset: int) -> int:
    """Return where the line that contains `offset` begins. The BOM belongs to line 1."""
    if fmt.unit_bytes == 1:
        return data.rfind(b"\n", 0, offset) + 1
    newline = newline_of(fmt)
    hit = rfind_aligned(data, newline, fmt, 0, offset)
    return 0 if hit < 0 else hit + len(newline)


def line_end(data: bytes, fmt: TextFormat, offset: int) -> int:
    """Return the offset after the newline of the line that contains `offset`, or the end of the data."""
    if fmt.unit_bytes == 1:
        return data.find(b"\n", offset) + 1 or len(data)
    newline = newline_of(fmt)
    hit = find_aligned(data, newline, fmt, offset)
    return len(data) if hit < 0 else hit + len(newline)


def nth_line_end(data: bytes, fmt: TextFormat, number: int, at: int = 0) -> int:
    """Return the offset after the number-th newline from `at` on, which must exist."""
    newline = newline_of(fmt)
    end = len(data)
    while number > 64 and end - at > 4096:  # a count is far cheaper than a find per line
        middle = at + (end - at) // 2
        middle -= middle % fmt.unit_bytes
        n_first = count_newlines(data, fmt, at, middle)
        if n_first >= number:
            end = middle
        else:
            number -= n_first
            at = middle
    for _ in range(number):
        at = find_aligned(data, newline, fmt, at) + len(newline)
    return at


def split_lines(data: bytes, fmt: TextFormat) -> list[bytes]:
    """Split into lines with their newlines. `data` begins on a code unit."""
    if not data:
        return []
    if fmt.unit_bytes == 1 and b"\r" not in data:
        return data.splitlines(keepends=True)
    if fmt.unit_bytes == 1:
        lines = [line + b"\n" for line in data.split(b"\n")]
        lines[-1] = lines[-1][:-1]
        return lines if lines[-1] else lines[:-1]
    lines: list[bytes] = []
    start = 0
    while start < len(data):
        end = line_end(data, fmt, start)
        lines.append(data[start:end])
        start = end
    return lines


def newline_style(data: bytes, fmt: TextFormat) -> NewlineStyle | None:
    """Return the kind of line ends; None if there are none. A lone carriage return is not a line end."""
    if fmt.unit_bytes > 1:
        return newline_style(decode_part(memoryview(data)[: _whole(len(data), fmt)], fmt).encode(), TextFormat())
    n_newlines = data.count(b"\n")
    if not n_newlines:
        return None
    n_crlf = data.count(b"\r\n") if b"\r" in data else 0
    return style_of(n_newlines=n_newlines, n_crlf=n_crlf)


def style_of(*, n_newlines: int, n_crlf: int) -> NewlineStyle | None:
    """Return the kind of line ends by their numbers. `n_newlines` includes the CRLFs."""
    if not n_newlines:
        return None
    if not n_crlf:
        return "\n"
    return "\r\n" if n_crlf == n_newlines else "mixed"


def n_shared(one: AnyStr, other: AnyStr) -> int:
    """Return how many leading bytes or characters the two share."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # each step compares the half that is left, so all of them compare each byte once or twice
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def to_lf(text: str) -> str:
    """Replace CRLF with LF. A lone carriage return stays."""
    return text.replace("\r\n", "\n")


def number_line(number: int, line: str, max_chars: int) -> str:
    """Format a line as a read shows it."""
    return f"{number:>6}→{cut(line, max_chars)}"


def cut(line: str, max_chars: int) -> str:
    """Cut a long line and append a notice of the cut."""
    return line if len(line) <= max_chars else line[:max_chars] + cut_notice(len(line) - max_chars)


def cut_notice(n_more: int) -> str:
    return f"... (more {n_more} characters in this line are truncated)"


CUT_END = re.compile(r"\.\.\. \(more [0-9]+ characters in this line are truncated\)\Z")  # as `cut_notice` has it


def _whole(n_bytes: int, fmt: TextFormat) -> int:
    return n_bytes - n_bytes % fmt.unit_bytes


def n_units(text: str, encoding: PositionEncoding) -> int:
    """Return the length of a text in units of a position encoding."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass"))
