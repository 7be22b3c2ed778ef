"""What attaching costs: python tests/bench/attach.py [N_ATTACHES]. Prints one line for each figure.

The daemon runs at its own place and is ended afterwards.
"""

import json
import socket
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fileops.attach import handshake
from support.daemon_process import Place, attached, place
from support.mcp_client import McpClient, mcp_client

N_STARTS = 20
N_CALLS = 500
N_CLIENTS = 20


def main() -> int:
    n_attaches = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with place() as here:
        pid = here.start()
        _say(f"memory of an idle daemon: {_megabytes(pid):.1f} MiB")
        starts = sorted(_first_answer_ms(here) for _ in range(N_STARTS))
        _say(f"first answer of `mcp`: least {starts[0]:.0f} ms, median {statistics.median(starts):.0f} ms")
        with mcp_client(here.folder, env=here.env) as shared, mcp_client(here.folder, "--private") as private:
            difference = _call_ms(shared) - _call_ms(private)
            _say(f"a call over the pump: {difference:+.3f} ms")
            _say(f"memory of the pump: {_megabytes(shared.process.pid):.1f} MiB")
        clients = [attached(here) for _ in range(N_CLIENTS)]
        for client in [each.__enter__() for each in clients]:
            client.initialize()
        _say(f"memory of a daemon with {N_CLIENTS} clients: {_megabytes(pid):.1f} MiB")
        for each in clients:
            each.__exit__(None, None, None)
        before = _megabytes(pid)
        for _ in range(n_attaches):
            _attach(here)
        _say(f"growth by {n_attaches} attaches: {_megabytes(pid) - before:.2f} MiB")
    return 0


def _first_answer_ms(here: Place) -> float:
    start = time.perf_counter()
    with mcp_client(here.folder, env=here.env) as client:
        client.begin()
        return (time.perf_counter() - start) * 1000


def _call_ms(client: McpClient) -> float:
    client.begin()
    times: list[float] = []
    for _ in range(N_CALLS):
        start = time.perf_counter()
        client.result("ping")
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def _attach(here: Place) -> None:
    attachment = handshake.AttachRequest(version="0", protocol="lsp", role="agent", host="bench", cwd="/")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(here.socket))
        connection.sendall(handshake.attach_line(attachment))
        assert json.loads(connection.makefile("rb").readline())["ok"]
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""


def _megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
