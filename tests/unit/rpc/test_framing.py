"""The frame reader, driven with bytes in one piece and byte by byte. R-FRAME-* of docs/PROTOCOL.md."""

import io
import os
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.rpc import framing
from fileops.rpc.framing import BadFrame, FrameParser, StreamBroken
from fileops.rpc.writer import FrameWriter
from support.patience import PATIENCE_S
from support.rawclient import frame


def in_one_piece(data: bytes) -> Callable[[int], bytes]:
    return io.BytesIO(data).read


def byte_by_byte(data: bytes) -> Callable[[int], bytes]:
    stream = io.BytesIO(data)
    return lambda _n: stream.read(1)


def read_all(read: Callable[[int], bytes]) -> list[bytes | str]:
    """Bodies; "bad" for a frame that was refused; "broken" where the stream could not be followed."""
    parser = FrameParser()
    seen: list[bytes | str] = []
    chunk = b"not yet"
    try:
        while chunk:
            chunk = read(parser.n_wanted_bytes)
            seen.extend("bad" if isinstance(one, BadFrame) else one for one in parser.feed(chunk))
    except StreamBroken:
        seen.append("broken")
    return seen


def frames_of(read: Callable[[int], bytes]) -> Iterator[bytes]:
    parser = FrameParser()
    while chunk := read(1 << 16):
        for one in parser.feed(chunk):
            assert isinstance(one, bytes)
            yield one


GOOD = frame(b'{"a":1}')
CASES: dict[str, tuple[bytes, list[bytes | str]]] = {
    "nothing": (b"", []),
    "one": (GOOD, [b'{"a":1}']),
    "two": (GOOD * 2, [b'{"a":1}'] * 2),
    "empty body": (b"Content-Length: 0\r\n\r\n" + GOOD, [b"", b'{"a":1}']),
    "lower case": (b"content-length: 2\r\n\r\n{}", [b"{}"]),
    "upper case": (b"CONTENT-LENGTH: 2\r\n\r\n{}", [b"{}"]),
    "no blank": (b"Content-Length:2\r\n\r\n{}", [b"{}"]),
    "many blanks": (b"Content-Length  :   2  \r\n\r\n{}", [b"{}"]),
    "line feeds only": (b"Content-Length: 2\n\n{}", [b"{}"]),
    "further header before": (
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
        [b"{}"],
    ),
    "further header behind": (b"Content-Length: 2\r\nX-Other: y\r\n\r\n{}", [b"{}"]),
    "same length twice": (b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
    "blank lines between": (GOOD + b"\r\n\n\r\n" + GOOD + b"\r\n", [b'{"a":1}'] * 2),
    "two lengths": (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n" + GOOD, ["bad", b'{"a":1}']),
    "negative length": (b"Content-Length: -5\r\n\r\n" + GOOD, ["bad", b'{"a":1}']),
    "no number": (b"Content-Length: two\r\n\r\n" + GOOD, ["bad", b'{"a":1}']),
    "no length at all": (b"X-Other: y\r\n\r\n" + GOOD, ["bad", b'{"a":1}']),
    "text before": (b"hello\n" + GOOD, ["bad", b'{"a":1}']),
    "text glued before": (b"hello" + GOOD, ["bad", b'{"a":1}']),
    "length too short": (b'Content-Length: 3\r\n\r\n{"a":1}' + GOOD, [b'{"a', "bad", b'{"a":1}']),
    "long text before": (b"x" * 100_000 + GOOD, ["bad", b'{"a":1}']),
    "end inside header": (b"Content-Length: 2\r\n", ["broken"]),
    "end inside body": (b"Content-Length: 20\r\n\r\n{}", ["broken"]),
    "end behind text": (GOOD + b"hello", [b'{"a":1}', "broken"]),
    "length of 2 GB": (b"Content-Length: 2000000000\r\n\r\n{}", ["broken"]),
    "length of a million digits": (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}", ["broken"]),
}


# R-FRAME-2, R-FRAME-3, R-FRAME-4
@pytest.mark.parametrize("split", [in_one_piece, byte_by_byte])
@pytest.mark.parametrize("name", CASES)
def test_bytes_become_frames(name: str, split: Callable[[bytes], Callable[[int], bytes]]) -> None:
    data, expected = CASES[name]
    assert read_all(split(data)) == expected


# R-FRAME-3
def test_body_over_the_limit_is_skipped_and_the_next_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "MAX_BODY_BYTES", 10)
    assert read_all(in_one_piece(frame(b"x" * 100_000) + frame(b"{}"))) == ["bad", b"{}"]


# R-FRAME-4
def test_endless_garbage_ends_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "MAX_GARBAGE_BYTES", 50_000)
    assert read_all(lambda _n: b"x" * 1000) == ["broken"]


@given(st.lists(st.one_of(st.binary(max_size=60), st.just(GOOD), st.just(b"Content-Length: "), st.just(b"\r\n"))))
def test_arbitrary_bytes_raise_no_other_exception(pieces: list[bytes]) -> None:
    read_all(in_one_piece(b"".join(pieces)))


@given(st.lists(st.binary(max_size=200), max_size=8), st.integers(1, 50))
def test_framed_messages_are_read_back_from_any_chunks(bodies: list[bytes], size: int) -> None:
    stream = io.BytesIO(b"".join(frame(body) for body in bodies))
    assert read_all(lambda _n: stream.read(size)) == bodies


@given(st.binary(max_size=300).filter(lambda data: b"ontent" not in data))
def test_second_good_frame_after_garbage_is_read(garbage: bytes) -> None:
    assert read_all(in_one_piece(garbage + GOOD + GOOD))[-1] == b'{"a":1}'


# --- the writer ------------------------------------------------------------------------------------------------------


def test_writer_accepts_frames_without_waiting_and_writes_them_in_order() -> None:
    read_fd, write_fd = os.pipe()
    drained = threading.Event()
    writer = FrameWriter(write_fd, on_broken=lambda: None, on_drained=drained.set)
    for number in range(100):
        writer.write(b"%d" % number + b"x" * 5000)  # far more than a pipe holds: no reader yet
    with os.fdopen(read_fd, "rb") as stream:
        bodies = frames_of(stream.read1)
        for number in range(100):
            assert next(bodies).startswith(b"%dx" % number)
    assert drained.wait(PATIENCE_S)
    assert writer.n_pending_bytes == 0
    assert writer.close(10)
    os.close(write_fd)


def test_writer_sends_a_batch_in_one_write() -> None:
    read_fd, write_fd = os.pipe()
    writer = FrameWriter(write_fd, on_broken=lambda: None, on_drained=lambda: None)
    os.set_blocking(read_fd, False)
    with writer.batch():
        writer.write(b"{}")
        with writer.batch():
            writer.write(b"[]")
        with pytest.raises(BlockingIOError):
            os.read(read_fd, 100)
    assert os.read(read_fd, 100) == b"Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\n[]"
    with writer.batch():
        for number in range(100):  # more than a pipe holds, and than is held back
            writer.write(b"%d" % number + b"x" * 5000)
    os.set_blocking(read_fd, True)
    with os.fdopen(read_fd, "rb") as stream:
        bodies = frames_of(stream.read1)
        for number in range(100):
            assert next(bodies).startswith(b"%dx" % number)
    assert writer.close(10)
    os.close(write_fd)


def test_writer_reports_a_closed_reading_end() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    broken = threading.Event()
    writer = FrameWriter(write_fd, on_broken=broken.set, on_drained=lambda: None)
    writer.write(b"{}")
    assert broken.wait(PATIENCE_S)
    writer.write(b"{}")  # harmless
    writer.close(10)
    os.close(write_fd)


def test_writer_waits_on_a_non_blocking_pipe() -> None:
    read_fd, write_fd = os.pipe()
    os.set_blocking(write_fd, False)
    writer = FrameWriter(write_fd, on_broken=lambda: None, on_drained=lambda: None)
    body = b"x" * 1_000_000
    writer.write(body)
    with os.fdopen(read_fd, "rb") as stream:
        assert next(frames_of(stream.read1)) == body
    assert writer.close(10)
    os.close(write_fd)
