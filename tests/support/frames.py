"""What the daemon makes of bytes on its stdin, however they are split into chunks."""

from collections.abc import Iterable

from fileops.rpc.framing import BadFrame, FrameParser, StreamBroken

BAD, BROKEN = "bad", "broken"


def frames_of(chunks: Iterable[bytes]) -> list[bytes | str]:
    """Bodies; BAD for a frame that was refused; BROKEN, at the end, where the stream could not be followed."""
    parser = FrameParser()
    seen: list[bytes | str] = []
    try:
        for chunk in (*filter(None, chunks), b""):  # an empty one is the end
            seen.extend(BAD if isinstance(one, BadFrame) else one for one in parser.feed(chunk))
    except StreamBroken:
        seen.append(BROKEN)
    return seen
