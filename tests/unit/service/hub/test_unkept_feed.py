"""What editors are told about changes to keep. Requirement: R-KEEP-3."""

import asyncio

from fileops.service.hub.unkept_feed import UnkeptFeed

PATH, OTHER = "/p/a.py", "/p/b.py"


async def test_notification_says_whether_a_file_was_only_typed_in() -> None:
    """An agent's change is never taken for typing, whichever of them comes first."""
    sent: asyncio.Queue[tuple[str | None, bool]] = asyncio.Queue()

    def send(path: str | None, /, *, is_typed: bool) -> None:
        sent.put_nowait((path, is_typed))

    feed = UnkeptFeed()
    feed.resume([PATH, OTHER])
    feed.connect("editor", send, lambda _path: True)
    feed.note_text(PATH)
    feed.note_text(PATH)
    feed.note_text(OTHER)
    feed.note_kept([OTHER])
    assert [await sent.get(), await sent.get()] == [(PATH, True), (OTHER, False)]
    feed.note_kept([PATH])
    feed.note_text(PATH)
    feed.note_text(OTHER)
    assert [await sent.get(), await sent.get()] == [(PATH, False), (OTHER, True)]
