"""Lines out of chunks: the table of ends, blank lines, limits, and any split of the stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.rpc import line_framing
from fileops.rpc.framing import BadFrame
from fileops.rpc.line_framing import LineParser, line_frame


def lines_of(*chunks: bytes) -> list[bytes | str]:
    parser = LineParser()
    found = [line for chunk in (*chunks, b"") for line in parser.feed(chunk)]
    return [line.reason if isinstance(line, BadFrame) else line for line in found]


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ((b"",), []),
        ((b"{}\n",), [b"{}"]),
        ((b"{}\n[]\n",), [b"{}", b"[]"]),
        ((b"{", b"}", b"\n"), [b"{}"]),
        ((b"{}\r\n",), [b"{}"]),
        ((b"\n \t\n\r\n{}\n\n",), [b"{}"]),
        ((b"{}",), [b"{}"]),
        ((b"{}\n[",), [b"{}", b"["]),
        ((b"\xff\n",), [b"\xff"]),
    ],
)
def test_lines_are_split_at_newlines(chunks: tuple[bytes, ...], lines: list[bytes]) -> None:
    assert lines_of(*chunks) == lines


@pytest.mark.parametrize("n_bytes", [20, 21, 100])
def test_line_over_the_limit_is_reported_once_and_skipped(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    monkeypatch.setattr(line_framing, "MAX_LINE_BYTES", 20)
    line = b"x" * n_bytes
    wanted = line if n_bytes <= 20 else f"a line of {n_bytes} bytes is over the limit of 20"
    for size in (1, 7, 1000):
        stream = line + b"\n{}\n"
        chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert lines_of(*chunks) == [wanted, b"{}"]


@given(st.lists(st.binary(min_size=1, max_size=50).map(lambda line: b"x" + line.replace(b"\n", b"") + b"x")), st.data())
def test_framed_messages_are_read_back_from_any_chunks(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line_frame(line) for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert lines_of(*(chunk for chunk in chunks if chunk)) == lines
