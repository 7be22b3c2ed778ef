"""Small models of the core's rules in plain Python on decoded text, and strategies that make awkward texts."""

import re

from hypothesis import strategies as st

from fileops.model.edits import Splice
from fileops.model.files import Snapshot, Stamp, Text, TextFormat
from fileops.model.settings import Limits

LIMITS = Limits()
FORMATS = (
    TextFormat(),
    TextFormat(encoding="utf-8", bom=b"\xef\xbb\xbf"),
    TextFormat(encoding="utf-16-le", bom=b"\xff\xfe"),
    TextFormat(encoding="utf-16-be", bom=b"\xfe\xff"),
    TextFormat(encoding="utf-32-le", bom=b"\xff\xfe\x00\x00"),
    TextFormat(encoding="utf-32-be", bom=b"\x00\x00\xfe\xff"),
)
formats = st.sampled_from(FORMATS)

# Line ends whole and halved, what other tools take for line ends, the byte of a newline inside a UTF-16 unit
# (U+0A0A, U+0A00, U+000A's neighbours), characters of every width.
awkward_characters = st.sampled_from(
    ["a", "b", " ", "\t", "\n", "\r", "\r\n", "\f", "\x85", "\u2028", "é", "ਊ", "\u0a00", "\u0d0a", "𝄞"]
)
awkward_texts = st.lists(awkward_characters, max_size=24).map("".join)


def text_of(content: str, fmt: TextFormat = FORMATS[0]) -> Text:
    return Text(data=fmt.bom + content.encode(fmt.encoding), format=fmt)


def snapshot_of(data: bytes, path: str = "/w/file.txt") -> Snapshot:
    stamp = Stamp(dev=1, ino=2, size_bytes=len(data), mtime_ns=3, ctime_ns=4, mode=0o100644, uid=0, gid=0, n_links=1)
    return Snapshot(path=path, stamp=stamp, data=data, taken_ns=5)


def missing_snapshot(path: str = "/w/file.txt") -> Snapshot:
    return Snapshot(path=path, stamp=None, data=b"", taken_ns=5)


def model_spans(content: str, old: str, fmt: TextFormat) -> tuple[list[tuple[int, int]], int]:
    """Byte spans of non-overlapping matches on the text with LF line ends, and how many positions match at all."""
    tokens = re.findall(r"\r\n|.", content, re.DOTALL)
    flat = "".join("\n" if token == "\r\n" else token for token in tokens)
    needle = old.replace("\r\n", "\n")
    offsets = [len(fmt.bom)]
    for token in tokens:
        offsets.append(offsets[-1] + len(token.encode(fmt.encoding)))
    spans: list[tuple[int, int]] = []
    at = 0
    while (hit := flat.find(needle, at)) >= 0:
        at = hit + len(needle)
        spans.append((offsets[hit], offsets[at]))
    n_positions = sum(flat.startswith(needle, index) for index in range(len(flat)))
    return spans, n_positions


def model_new(content: str, start: int, end: int, new: str) -> str | None:
    """The new text with the line ends it gets in place of content[start:end]; None where those are mixed."""
    inside = set(re.findall(r"\r?\n", content[start:end]))
    if len(inside) > 1:
        return None
    if inside:
        kind = inside.pop()
    else:
        after = re.search(r"\r?\n", content[end:])
        before = re.findall(r"\r?\n", content[:start])
        if not after and not before:
            return new
        kind = after.group() if after else before[-1]
    return new.replace("\r\n", "\n").replace("\n", kind)


def model_edit(content: str, old: str, new: str, fmt: TextFormat) -> str | None:
    spans, _ = model_spans(content, old, fmt)
    encoded = fmt.bom + content.encode(fmt.encoding)
    pieces: list[str] = []
    at = len(fmt.bom)
    for start_bytes, end_bytes in spans:
        start = len(encoded[len(fmt.bom) : start_bytes].decode(fmt.encoding))
        end = len(encoded[len(fmt.bom) : end_bytes].decode(fmt.encoding))
        replaced = model_new(content, start, end, new)
        if replaced is None:
            return None
        pieces += (encoded[at:start_bytes].decode(fmt.encoding), replaced)
        at = end_bytes
    return "".join((*pieces, encoded[at:].decode(fmt.encoding)))


def model_lines(content: str) -> list[str]:
    """Lines as they are shown."""
    lines = content.split("\n")
    last = lines.pop()
    return [line.removesuffix("\r") for line in lines] + ([last] if last else [])


def model_shown(line: str, limits: Limits = LIMITS) -> str:
    if len(line) <= limits.max_line_chars:
        return line
    n_more = len(line) - limits.max_line_chars
    return line[: limits.max_line_chars] + f"... (more {n_more} characters in this line are truncated)"


def patched(old: str, diff: str) -> str:
    """A unified diff applied, strictly: every context and removed line must be there."""
    old_lines = re.findall(r"[^\n]*\n|[^\n]+", old)
    rows = diff.split("\n")[:-1][2:]
    new_lines: list[str] = []
    at = index = 0
    while index < len(rows):
        head = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", rows[index])
        assert head is not None, rows[index]
        old_start, n_old, new_start, n_new = (1 if group is None else int(group) for group in head.groups())
        start = old_start - (n_old > 0)
        new_lines += old_lines[at:start]
        assert len(new_lines) == new_start - (n_new > 0)
        at = start
        index += 1
        while index < len(rows) and not rows[index].startswith("@@"):
            kind, line = rows[index][:1], rows[index][1:] + "\n"
            index += 1
            if index < len(rows) and rows[index].startswith("\\"):
                line = line[:-1]
                index += 1
            if kind in " -":
                assert old_lines[at] == line
                at += 1
                n_old -= 1
            if kind in " +":
                new_lines.append(line)
                n_new -= 1
        assert n_old == n_new == 0
    return "".join(new_lines + old_lines[at:])


@st.composite
def splices_over(draw: st.DrawFn, size: int, *, pieces: st.SearchStrategy[bytes] | None = None) -> list[Splice]:
    """Sorted, never overlapping, sometimes touching."""
    cuts = sorted(draw(st.lists(st.integers(0, size), max_size=10)))
    cuts = cuts[: len(cuts) // 2 * 2]
    pieces = st.binary(max_size=4) if pieces is None else pieces
    return [Splice(a, b, draw(pieces)) for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
