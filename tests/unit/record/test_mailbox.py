"""What wakes the recorder's thread, and what comes after its end."""

import os

from fileops.record.mailbox import Mailbox


def test_event_after_the_end_writes_to_no_file_that_was_opened_since() -> None:
    """The watch of a folder that hangs may report one: its numbers of the pipe may be anybody's by then."""
    mailbox = Mailbox()
    mailbox.close()
    mailbox.end()
    pipes = [os.pipe() for _ in range(2)]  # they get the lowest numbers that are free
    try:
        mailbox.wake_for_events()
        for reading, _ in pipes:
            os.set_blocking(reading, False)
            try:
                said = os.read(reading, 1)
            except BlockingIOError:
                said = b""
            assert said == b""
    finally:
        for pipe in pipes:
            for fd in pipe:
                os.close(fd)


def test_event_wakes_the_thread_without_a_message() -> None:
    mailbox = Mailbox()
    mailbox.wake_for_events()
    assert mailbox.wait(0.0) is True
    mailbox.end()
