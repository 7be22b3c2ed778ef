"""What a starter reports when the socket, its lock or its daemon is not what it should be."""

import errno
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from fileops.attach import control, starter
from fileops.attach.address import Address, AttachRefused, find_address
from fileops.attach.handshake import MAX_ANSWER_BYTES, MAX_LINE_BYTES, answer_line, control_line, refusal_line
from support.children import NOBODY, as_root, in_child
from support.daemon_process import Place, place

STATUS = control_line("status")
OK = answer_line("a-1")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Generator[Place]:
    with place() as made:
        monkeypatch.setenv("XDG_STATE_HOME", made.env["XDG_STATE_HOME"])
        yield made


@contextmanager
def listener(here: Place, answers: Sequence[bytes]) -> Generator[Address]:
    """A process that listens as a daemon does: each connection gets the next answer, and is closed."""
    address = find_address(str(here.socket), {})

    def serve() -> None:
        for answer in answers:
            connection, _ = listening.accept()
            with connection:
                connection.recv(MAX_LINE_BYTES)
                connection.sendall(answer)

    with starter.create_socket(address) as listening:
        serving = threading.Thread(target=serve)
        serving.start()
        yield address
        serving.join()


# --- who answers --------------------------------------------------------------------------------------------------


def test_daemon_that_is_ending_is_waited_for(here: Place) -> None:
    ending = refusal_line("retiring", "The shared daemon is ending.", ends_soon=True)
    with listener(here, [ending, b"", ending, OK]) as address:
        attached = starter.attach(address, STATUS)
    attached.connection.close()
    assert attached.answer.is_ok


def test_daemon_that_ends_before_every_answer_is_tried_a_few_times(here: Place) -> None:
    said = f"ended {starter.ATTEMPTS} times before it answered. Its log is {here.log}."
    with (
        listener(here, [b""] * starter.ATTEMPTS) as address,
        pytest.raises(starter.NotAttached, match=re.escape(said)),
    ):
        starter.attach(address, STATUS)


def test_unanswered_status_request_is_repeated_and_no_daemon_is_started(
    here: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    with listener(here, [b""] * starter.ATTEMPTS):
        assert control.status(str(here.socket), as_json=False) == 1
    assert f"No shared daemon is running at {here.socket}." in capsys.readouterr().out
    assert here.daemons() == []


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"[1]\n", b"{}\n", b"x" * (MAX_ANSWER_BYTES + 1)],
    ids=["http", "list", "no-answer", "endless"],
)  # fmt: skip
def test_listener_that_is_no_daemon_is_named_as_such(here: Place, answer: bytes) -> None:
    with (
        listener(here, [answer]) as address,
        pytest.raises(starter.NotAttached, match="is not one: the daemon's first"),
    ):
        starter.attach(address, STATUS)


def test_full_queue_of_a_daemon_that_hangs_is_not_waited_for_without_end(here: Place) -> None:
    address = find_address(str(here.socket), {})
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as first:
        listening.bind(address.socket)
        listening.listen(0)
        first.connect(address.socket)
        with pytest.raises(
            starter.NotAttached, match=r"did not answer within 0.1 s. `fileops-server status --stop --now`"
        ):
            starter.ask(address, STATUS, 0.1)


def test_refusals_are_reported_by_the_commands(here: Place, capsys: pytest.CaptureFixture[str]) -> None:
    full = refusal_line("full", "64 clients are connected.")
    commands: list[Callable[[], int]] = [
        lambda: control.status(str(here.socket), as_json=False),
        lambda: control.stop(str(here.socket), now=False),
        lambda: control.detach(str(here.socket), 1.0),
    ]
    for command in commands:
        with listener(here, [full]):
            assert command() == 1
        shown = capsys.readouterr()
        assert (shown.out or shown.err).endswith("64 clients are connected.\n")


# --- what is at the address --------------------------------------------------------------------------------------


def test_datagram_socket_is_refused(here: Place) -> None:
    address = find_address(str(here.socket), {})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(address.socket)
        with pytest.raises(AttachRefused, match=f"cannot be connected: {os.strerror(errno.EPROTOTYPE)}"):
            starter.attach(address, STATUS)
    assert here.socket.exists()


def test_lock_that_is_a_link_is_not_followed(here: Place) -> None:
    address = find_address(str(here.socket), {})
    os.symlink(here.folder / "target", address.lock)
    with pytest.raises(AttachRefused, match=r"a\.lock could not be opened"):
        starter.attach(address, STATUS)
    assert not (here.folder / "target").exists()


@as_root
@pytest.mark.parametrize(("mode", "said"), [(0o700, "NotAttached"), (0o500, "AttachRefused")], ids=["socket", "folder"])
def test_missing_permissions_are_distinguished(here: Place, mode: int, said: str) -> None:
    """A socket that may not be connected is what sandboxes make; in a folder that may not be written none is made."""
    address = find_address(str(here.socket), {})
    Path(address.lock).touch()
    os.chown(address.lock, NOBODY, NOBODY)
    with socket.socket(socket.AF_UNIX) as listening:
        if said == "NotAttached":
            listening.bind(address.socket)
            listening.listen()
            os.chmod(address.socket, 0)
            os.chown(address.socket, NOBODY, NOBODY)
        os.chmod(here.folder, mode)
        os.chown(here.folder, NOBODY, NOBODY)
        assert in_child(lambda: starter.attach(address, STATUS), uid=NOBODY).value == said
    assert here.daemons() == []


# --- the daemon ---------------------------------------------------------------------------------------------------


def test_daemon_that_cannot_be_executed_is_a_failed_start_with_its_log(
    here: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade that removed the interpreter under a running client."""
    monkeypatch.setattr(sys, "executable", str(here.folder / "python"))
    with pytest.raises(starter.NotAttached, match=re.escape(f"could not be started. Its log is {here.log}.")):
        starter.attach(find_address(str(here.socket), {}), STATUS)
    assert "the daemon could not be started: [Errno 2]" in here.log_text()


def test_daemon_that_ends_at_once_is_a_failed_start_with_its_log(here: Place) -> None:
    with pytest.raises(starter.NotAttached, match=re.escape(f"could not be started. Its log is {here.log}.")):
        starter.attach(find_address(str(here.socket), {}), STATUS, options=["--no-such-option"])
    assert "--no-such-option" in here.log_text()


def test_daemon_serves_without_a_log_that_can_be_written(here: Place) -> None:
    (here.folder / "state").write_text("in the way")
    attached = starter.attach(find_address(str(here.socket), {}), STATUS)
    attached.connection.close()
    assert here.daemons() == [attached.answer.fields["pid"]]
    assert attached.answer.fields["log"] == os.devnull
