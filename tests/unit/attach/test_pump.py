"""How long the pump waits for a side."""

import os
import select
import socket
import threading
from types import SimpleNamespace
from typing import Any

from fileops.attach import pump
from support.children import in_child

N_REQUESTS = 3
Waits = list[tuple[float, ...]]


def _serve_one_client() -> tuple[Waits, list[bytes], int]:
    """Play a client and a daemon around a pump.

    Returns: how it waited before the client ended, what the client received, and the exit status.
    """
    waits: Waits = []
    received: list[bytes] = []
    n_waits: list[int] = []  # before the end

    class Poll:
        def __init__(self) -> None:
            self._poll = select.poll()

        def register(self, *given: Any) -> None:
            self._poll.register(*given)

        def poll(self, *limit: float) -> list[tuple[int, int]]:
            waits.append(limit)
            return self._poll.poll(*limit)

    module: Any = pump
    module.select = SimpleNamespace(**{**vars(select), "poll": Poll})
    stdin, client_writes = os.pipe()
    client_reads, stdout = os.pipe()
    os.dup2(stdin, pump.STDIN)
    os.dup2(stdout, pump.STDOUT)
    own, daemon = socket.socketpair()

    def play() -> None:
        for n in range(N_REQUESTS):
            os.write(client_writes, b"%d" % n)
            daemon.sendall(daemon.recv(1))
            received.append(os.read(client_reads, 1))
        n_waits.append(len(waits))
        os.close(client_writes)
        assert daemon.recv(1) == b""
        daemon.close()

    playing = threading.Thread(target=play)
    playing.start()
    status = pump.Pump(own, pump.Bytes(), lambda: True).run()
    playing.join()
    return waits[: n_waits[0]], received, status


def test_client_that_may_still_write_is_waited_for_without_limit() -> None:
    waits, received, status = in_child(_serve_one_client).value
    assert (received, status) == ([b"0", b"1", b"2"], 0)
    assert waits == [()] * len(waits)
    assert len(waits) > N_REQUESTS  # for each request, and to write it to the daemon
