"""The pump between stdio and the shared daemon: both ends, back pressure, and many at once."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fileops.attach import handshake
from support.daemon_process import FILEOPS, Place, attached
from support.patience import PATIENCE_S
from support.rawclient import RawClient, frame

MAX_HELD_BYTES = 1 << 20
N_PUMPS = 50


def test_requests_before_the_end_of_input_are_answered_and_the_status_is_zero(here: Place, tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    file.write_text("one\n")
    with attached(here) as client:
        client.initialize()
        reads = [client.request("fileops/read", {"file_path": str(file)}) for _ in range(20)]
        client.close_stdin()
        assert [client.answer(read)["result"]["status"] for read in reads] == ["success"] * 20
        assert client.wait() == 0


@pytest.mark.parametrize("asks_first", [True, False])
def test_exit_ends_the_pump_with_the_status_of_a_private_daemon(here: Place, *, asks_first: bool) -> None:
    with attached(here) as client:
        client.initialize()
        if asks_first:
            assert client.shut_down() == 0
        else:
            client.notify("exit")
            assert client.wait() == 1


@pytest.mark.real_start  # which has the memory of no warm process
def test_slow_reader_makes_the_other_side_wait(here: Place) -> None:
    """A daemon that takes nothing: the pump stops taking from its client, and holds little."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(here.socket))
    listening.listen()
    client = RawClient((*FILEOPS, "attach"), env=here.env)
    try:
        connection, _ = listening.accept()
        assert connection.makefile("rb").readline()
        connection.sendall(handshake.answer_line("probe-1"))
        before = _bytes_read_by(client.process.pid)
        client.send_in_background(b"x" * (16 << 20))
        taken = _when_waiting(client.process.pid) - before
        assert taken < MAX_HELD_BYTES + (1 << 20)  # beside what the kernel's socket holds
        assert _anonymous_kilobytes(client.process.pid) < 12 << 10
        n_bytes = 0
        connection.settimeout(PATIENCE_S)
        while n_bytes < 16 << 20:
            n_bytes += len(connection.recv(1 << 20))
        connection.close()
    finally:
        listening.close()
        client.close()


def test_fifty_parallel_pumps_are_served_in_little_memory(here: Place, tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    file.write_text("one\n")
    here.start()
    hello = frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}})
    read = frame({"jsonrpc": "2.0", "id": 2, "method": "fileops/read", "params": {"file_path": str(file)}})
    pumps = [
        subprocess.Popen((*FILEOPS, "attach"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=here.process_env)
        for _ in range(N_PUMPS)
    ]
    for pump in pumps:
        assert pump.stdin is not None
        pump.stdin.write(hello + read)
        pump.stdin.flush()
    for pump in pumps:
        output, _ = pump.communicate(timeout=PATIENCE_S)  # which closes its stdin
        assert output.count(b'"status":"success"') == 1
        assert pump.returncode == 0
    assert here.status()["connections"] == []


def test_pump_imports_no_large_module(here: Place) -> None:
    here.start()
    loaded = _modules_of(here, "-m", "fileops", "attach")
    assert b"fileops.attach.pump" in loaded
    loaded -= _modules_of(here, "-c", "import argparse; argparse.ArgumentParser()")  # since 3.14 these are many
    assert loaded.isdisjoint({b"asyncio", b"msgspec", b"logging", b"subprocess", b"dataclasses", b"inspect"})


def _modules_of(here: Place, *arguments: str) -> set[bytes]:
    command = (sys.executable, "-X", "importtime", *arguments)
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=PATIENCE_S, env=here.process_env
    )
    return {line.rsplit(b"|", 1)[1].strip() for line in done.stderr.splitlines() if b"|" in line}


def _bytes_read_by(pid: int) -> int:
    fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(fields["rchar"])


def _anonymous_kilobytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def _when_waiting(pid: int) -> int:
    """How many bytes a process has read once it waits: several looks in a row see no progress."""
    until, last, n_same = time.monotonic() + PATIENCE_S, -1, 0
    while n_same < 20:
        assert time.monotonic() < until
        n_same = n_same + 1 if (now := _bytes_read_by(pid)) == last and now > 1 << 16 else 0
        last = now
        time.sleep(0.01)
    return last


PUMP = (
    "import socket, sys; from fileops.attach.pump import Bytes, Pump;"
    "sys.exit(Pump(socket.socket(fileno=int(sys.argv[1])), Bytes(), lambda: True).run())"
)


@pytest.mark.parametrize("end", ["gone", "hangup"])
def test_bytes_written_before_the_clients_end_reach_the_daemon(end: str) -> None:
    """R-END-1. An editor that is left rejects what waits; then its pipes close, or its terminal hangs up."""
    daemon, connection = socket.socketpair()
    command = [sys.executable, "-c", PUMP, str(connection.fileno())]
    with (
        daemon,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, pass_fds=[connection.fileno()]
        ) as pump,
    ):
        connection.close()
        assert pump.stdin is not None
        assert pump.stdout is not None
        pump.stdin.write(b"first")
        assert daemon.recv(100) == b"first"
        pump.send_signal(signal.SIGSTOP)
        pump.stdin.write(b"last")
        if end == "gone":
            pump.stdout.close()
            pump.stdin.close()
        else:
            pump.send_signal(signal.SIGHUP)
        pump.send_signal(signal.SIGCONT)
        daemon.settimeout(PATIENCE_S)
        assert b"".join(iter(lambda: daemon.recv(100), b"")) == b"last"
        daemon.close()
        assert pump.wait(PATIENCE_S) == (1 if end == "gone" else 128 + signal.SIGHUP)
