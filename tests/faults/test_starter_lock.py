"""The lock that lets one starter at a time make the socket."""

import fcntl
import os

import pytest

from fileops.attach import starter
from fileops.attach.address import find_address
from fileops.attach.handshake import control_line
from support.daemon_process import place


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
