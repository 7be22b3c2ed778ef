"""The private parts of watchdog that watch/inotify.py uses. If a test fails, read the head of that module again."""

import inspect
import os
import sys
import threading
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("inotify exists on Linux only", allow_module_level=True)

from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyEvent, InotifyFD, Mask, WatchDescriptor

from support.abilities import needs_inotify
from support.patience import PATIENCE_S


class Callbacks:
    """Records the calls of the reader's thread."""

    def __init__(self) -> None:
        self.names: list[bytes] = []
        self.has_event = threading.Event()
        self.is_deleted = threading.Event()

    def on_event(self, event: InotifyEvent) -> None:
        self.names.append(event.name)
        self.has_event.set()

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        self.is_deleted.set()

    def on_queue_overflow(self) -> None:
        raise AssertionError("a few events overflowed the queue")


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("__init__", ["self"]),
        ("add_callback", ["self", "path", "mask", "callback", "id_"]),
        ("remove_callbacks", ["self", "callbacks"]),
        ("handle_event", ["self", "event"]),
        ("_parse_event_buffer", ["event_buffer"]),
        ("_check_inotify_fd", ["self"]),
        ("_close_resources", ["self"]),
        ("stop", ["self"]),
    ],
)
def test_method_that_we_call_or_replace_has_the_same_parameters(method: str, parameters: list[str]) -> None:
    assert list(inspect.signature(getattr(InotifyFD, method)).parameters) == parameters


def test_each_reader_is_a_thread_of_one_queue() -> None:
    assert issubclass(InotifyFD, threading.Thread)
    closing = inspect.getsource(InotifyFD.close)
    assert "if self._is_reading:\n" in closing, "the descriptors would be closed while our thread waits for them"
    assert closing.index("with self._lock:") < closing.index("os.write(self._kill_w"), "a closed pipe may be written to"
    assert "self._is_reading = True" in inspect.getsource(InotifyFD.__init__), "nor may they be closed before it waits"


@pytest.mark.parametrize(
    "flag",
    [
        "IN_MODIFY", "IN_ATTRIB", "IN_CLOSE_WRITE", "IN_MOVE", "IN_CREATE", "IN_DELETE", "IN_DELETE_SELF",
        "IN_MOVE_SELF", "IN_ONLYDIR", "IN_DONT_FOLLOW",
    ],
)  # fmt: skip
def test_flag_of_our_mask_exists(flag: str) -> None:
    assert isinstance(getattr(InotifyConstants, flag), int)


@pytest.mark.parametrize("name", ["is_delete_self", "is_move_self", "is_move"])
def test_event_has_the_properties_that_we_read(name: str) -> None:
    assert isinstance(getattr(InotifyEvent, name), property)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_watch_of_folder_without_permission_returns_no_descriptor(tmp_path: Path) -> None:
    """watchdog swallows EACCES and returns -1, which `InotifyWatch.add` checks."""
    folder = tmp_path / "folder"
    folder.mkdir(mode=0)
    reader = InotifyFD()
    reader.start()
    try:
        mask = Mask(InotifyConstants.IN_CREATE)
        assert reader.add_callback(os.fsencode(folder), mask, Callbacks(), CallbackId(1)) == -1
    finally:
        reader.stop()
        reader.join(PATIENCE_S)


@needs_inotify
def test_callback_is_called_for_events_and_for_the_end_of_its_watch(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    callbacks, reader = Callbacks(), InotifyFD()
    reader.start()
    try:
        mask = Mask(InotifyConstants.IN_CREATE | InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_ONLYDIR)
        descriptor = reader.add_callback(os.fsencode(folder), mask, callbacks, CallbackId(1))
        assert descriptor > 0
        (folder / "a").touch()
        assert callbacks.has_event.wait(PATIENCE_S)
        assert callbacks.names[0] == b"a"
        (folder / "a").unlink()
        folder.rmdir()
        assert callbacks.is_deleted.wait(PATIENCE_S)
    finally:
        reader.stop()
        reader.join(PATIENCE_S)
    assert not reader.is_alive()
