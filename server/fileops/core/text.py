r"""How bytes are text: the format from the BOM, encoding and decoding, and where lines begin and end.

A line ends at "\n" and nowhere else; a final newline starts no further line. Offsets are bytes, BOM included.
In UTF-16 and UTF-32 a newline counts only where it stands on a code unit (U+0A0A holds the byte of a newline);
units are counted from the BOM, whose length is a multiple of the unit, so from the start of the file.
"""

import re
import sys
from array import array
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from typing import Literal

from fileops.model.errors import NotEncodable
from fileops.model.files import Encoding, NewlineStyle, Text, TextFormat

SNIFF_BYTES = 8192  # how much of a file's head decides whether it is binary (semantics: "first 8 KB")
_BLOCK_BYTES = 1 << 16  # wide encodings are decoded in blocks of this size to count their newlines

_BOMS: tuple[tuple[bytes, Encoding], ...] = (
    (BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its BOM begins with the one of UTF-16-LE
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
    """From the first bytes of a file (four are enough); UTF-8 where no BOM says otherwise."""
    if head[:1] in _BOM_STARTS:
        for fmt in _WITH_BOM:
            if head.startswith(fmt.bom):
                return fmt
    return _PLAIN


def may_begin_bom(head: bytes) -> bool:
    """Whether bytes that follow a head this short could still change its format."""
    return any(len(bom) > len(head) and bom.startswith(head) for bom, _ in _BOMS)


def is_binary(head: bytes, fmt: TextFormat) -> bool:
    """A NUL in the first 8 KB of a file that does not begin with a BOM."""
    return not fmt.bom and head.find(b"\0", 0, SNIFF_BYTES) >= 0


def encode(text: str, fmt: TextFormat) -> bytes:
    """Without a BOM. Raises: NotEncodable (lone surrogates)."""
    try:
        return text.encode(fmt.encoding)
    except UnicodeEncodeError as failure:
        raise NotEncodable(encoding=fmt.encoding, characters=failure.object[failure.start : failure.end]) from None


def decode(data: bytes | memoryview, fmt: TextFormat) -> str:
    """The whole content of a file: BOM dropped, invalid bytes shown as U+FFFD."""
    n_bom = len(fmt.bom)
    if n_bom and data[:n_bom] == fmt.bom:
        data = memoryview(data)[n_bom:]
    return decode_part(data, fmt)


def decode_part(data: bytes | memoryview, fmt: TextFormat) -> str:
    """A piece of a file that begins and ends on code units; nothing is dropped."""
    return str(data, fmt.encoding, "replace")


def wide_text(text: Text) -> str:
    """The content of a file whose units have several bytes, reversibly: `n_bytes_of` counts it back.

    A lone surrogate stays one; what is no character (in UTF-32) shows as one, and half a unit at the end not at all.
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
    """How many bytes of the file characters [start, end) of its `wide_text` are."""
    if fmt.unit_bytes == 4:
        return 4 * (end - start)
    return len(text[start:end].encode(fmt.encoding, "surrogatepass"))


def count_characters(data: bytes, fmt: TextFormat) -> int:
    """Code points of the whole content, the BOM not counted, an invalid sequence as the U+FFFDs it shows as."""
    if fmt.encoding == "utf-8" and data.isascii():
        return len(data)
    return len(decode(data, fmt))


def is_inside_character(data: bytes, at: int) -> bool:
    """Whether `at` cuts a character of UTF-8. Each byte that belongs to none stands for itself."""
    if not 0 < at < len(data) or data[at] & 0xC0 != 0x80:
        return False
    lead = next((start for start in range(at - 1, max(-1, at - 4), -1) if data[start] & 0xC0 != 0x80), None)
    found = None if lead is None else _WIDE_CHARACTER.match(data, lead)
    return found is not None and found.end() > at


def newline_of(fmt: TextFormat) -> bytes:
    return _NEWLINES[fmt.encoding]


def return_of(fmt: TextFormat) -> bytes:
    """The carriage return."""
    return _RETURNS[fmt.encoding]


def find_aligned(data: bytes, needle: bytes, fmt: TextFormat, start: int, end: int | None = None) -> int:
    """As bytes.find, on code units only. `start` is on one."""
    end = len(data) if end is None else end
    unit = fmt.unit_bytes
    hit = data.find(needle, start, end)
    while hit % unit and hit >= 0:
        hit = data.find(needle, hit + 1, end)
    return hit


def rfind_aligned(data: bytes, needle: bytes, fmt: TextFormat, start: int, end: int) -> int:
    """As bytes.rfind, on code units only."""
    unit = fmt.unit_bytes
    hit = data.rfind(needle, start, end)
    while hit % unit and hit >= 0:
        hit = data.rfind(needle, start, hit + len(needle) - 1)
    return hit


def count_newlines(data: bytes, fmt: TextFormat, start: int = 0, end: int | None = None) -> int:
    """How many newlines begin in [start, end); both on code units."""
    end = len(data) if end is None else min(end, len(data))
    if fmt.unit_bytes == 1:
        return data.count(b"\n", start, end)
    view = memoryview(data)
    blocks = range(start, end, _BLOCK_BYTES)
    return sum(decode_part(view[at : min(at + _BLOCK_BYTES, end)], fmt).count("\n") for at in blocks)


def count_lines(data: bytes, fmt: TextFormat) -> int:
    """Of the whole content of a file."""
    n_bom = len(fmt.bom)
    if len(data) <= n_bom:
        return 0
    ends_in_newline = rfind_aligned(data, newline_of(fmt), fmt, n_bom, len(data)) == len(data) - fmt.unit_bytes
    return count_newlines(data, fmt, n_bom) + (not ends_in_newline)


def line_start(data: bytes, fmt: TextFormat, offset: int) -> int:
    """Where the line that holds `offset` begins. The BOM belongs to line 1."""
    if fmt.unit_bytes == 1:
        return data.rfind(b"\n", 0, offset) + 1
    newline = newline_of(fmt)
    hit = rfind_aligned(data, newline, fmt, 0, offset)
    return 0 if hit < 0 else hit + len(newline)


def line_end(data: bytes, fmt: TextFormat, offset: int) -> int:
    """Behind the newline of the line that holds `offset`, or the end of the data."""
    if fmt.unit_bytes == 1:
        return data.find(b"\n", offset) + 1 or len(data)
    newline = newline_of(fmt)
    hit = find_aligned(data, newline, fmt, offset)
    return len(data) if hit < 0 else hit + len(newline)


def split_lines(data: bytes, fmt: TextFormat) -> list[bytes]:
    """The lines with their newlines; joined they are the data again. `data` begins on a code unit."""
    if not data:
        return []
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
    """What the line ends are; None where there is no line end. A lone carriage return is none."""
    if fmt.unit_bytes > 1:
        return newline_style(decode_part(memoryview(data)[: _whole(len(data), fmt)], fmt).encode(), TextFormat())
    n_newlines = data.count(b"\n")
    if not n_newlines:
        return None
    n_crlf = data.count(b"\r\n") if b"\r" in data else 0
    return style_of(n_newlines=n_newlines, n_crlf=n_crlf)


def style_of(*, n_newlines: int, n_crlf: int) -> NewlineStyle | None:
    """n_newlines counts every line end, those written as CRLF included."""
    if not n_newlines:
        return None
    if not n_crlf:
        return "\n"
    return "\r\n" if n_crlf == n_newlines else "mixed"


def to_lf(text: str) -> str:
    """The text as it is compared: CRLF as LF, a lone carriage return as it is."""
    return text.replace("\r\n", "\n")


def numbered(number: int, line: str, max_chars: int) -> str:
    """A line as a read shows it."""
    return f"{number:>6}→{cut(line, max_chars)}"


def cut(line: str, max_chars: int) -> str:
    """A line as far as it is shown, with the notice of what is not."""
    return line if len(line) <= max_chars else line[:max_chars] + cut_notice(len(line) - max_chars)


def cut_notice(n_more: int) -> str:
    return f"... (more {n_more} characters in this line are truncated)"


def _whole(n_bytes: int, fmt: TextFormat) -> int:
    return n_bytes - n_bytes % fmt.unit_bytes
