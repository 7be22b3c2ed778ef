"""The lock that lets one starter at a time make the socket."""

import fcntl
import os
import socket
import sys
import threading

import pytest

from fileops.attach import starter
from fileops.attach.address import find_address
from fileops.attach.handshake import answer_line, control_line
from support.daemon_process import Place, place


def test_daemon_is_not_started_while_another_starter_holds_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starter, "LOCK_S", 0.05)
    with place() as here:
        address = find_address(str(here.socket), {})
        monkeypatch.setenv("XDG_STATE_HOME", here.env["XDG_STATE_HOME"])
        with open(address.lock, "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with pytest.raises(starter.NotAttached, match="Another program"):
                starter.attach(address, control_line("status"))
            assert not os.path.exists(address.socket)
        attached = starter.attach(address, control_line("status"))
        attached.connection.close()
        assert here.daemons() == [attached.answer.fields["pid"]]


def test_starter_that_gets_the_lock_after_another_takes_the_others_daemon(
    here: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one makes its socket after the first look for a daemon, and before the lock is taken."""
    monkeypatch.setenv("XDG_STATE_HOME", here.env["XDG_STATE_HOME"])
    address = find_address(str(here.socket), {})
    listening: list[socket.socket] = []
    answering = threading.Thread(target=lambda: _answer_one(listening[0]), daemon=True)

    def start_another(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and arguments[0] == address.lock and not listening:
            listening.append(starter.create_socket(address))
            answering.start()

    sys.addaudithook(start_another)  # it cannot be removed, and does nothing for other places
    attached = starter.attach(address, control_line("status"))
    attached.connection.close()
    assert attached.answer.connection == "the-other-one"
    assert here.daemons() == []
    answering.join()
    listening[0].close()


def _answer_one(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(1 << 16)
        connection.sendall(answer_line("the-other-one"))
