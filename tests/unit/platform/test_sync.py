"""What is asked of the system for a sync. How macOS answers is simulated: fcntl and fsync are not ours."""

import errno
import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator

import pytest

from fileops.platform import sync

F_FULLFSYNC = 51  # <sys/fcntl.h> of macOS


@pytest.fixture
def fd() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []

    def fsync(_fd: int) -> None:
        calls.append("fsync")

    monkeypatch.setattr(os, "fsync", fsync)
    return calls


def on_macos(monkeypatch: pytest.MonkeyPatch, calls: list[str], number: int | None) -> None:
    """Args: number: of the error that F_FULLFSYNC raises, None if it succeeds."""

    def answer(fd: int, command: int) -> int:
        assert command == F_FULLFSYNC
        calls.append("F_FULLFSYNC")
        if number is not None:
            raise OSError(number, os.strerror(number))
        return 0

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", F_FULLFSYNC, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", answer)


def test_sync_on_linux_is_one_fsync(fd: int, calls: list[str]) -> None:
    assert sync.sync(fd)
    assert sync.sync_folder(fd) is None
    assert calls == ["fsync", "fsync"]


def test_sync_on_macos_empties_the_cache_of_the_drive(
    fd: int, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_macos(monkeypatch, calls, None)
    assert sync.sync(fd)
    assert sync.sync_folder(fd) is None
    assert calls == ["F_FULLFSYNC", "F_FULLFSYNC"]


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.EINVAL, errno.ENOTTY, errno.ENODEV])
def test_volume_that_does_not_know_f_fullfsync_gets_fsync(
    fd: int, calls: list[str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    on_macos(monkeypatch, calls, number)
    assert sync.sync(fd)
    assert calls == ["F_FULLFSYNC", "fsync"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_failed_f_fullfsync_is_an_error(
    fd: int, calls: list[str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    on_macos(monkeypatch, calls, number)
    with pytest.raises(OSError, match=os.strerror(number)):
        sync.sync(fd)
    assert calls == ["F_FULLFSYNC"]
