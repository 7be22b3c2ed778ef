"""An agent's host as small as it can be: a program that starts a server of MCP, runs a command, and ends.

`python mcp_host.py COMMAND [SHELL...]` prints what the command prints, and ends with its status. The server is started
through these shells, the first of which is the host's child, as through `sh -c`, `uvx` or `npx`.
"""

import json
import shlex
import subprocess
import sys


def main(command: str, shells: list[str]) -> int:
    """Returns the status of the command."""
    start = [sys.executable, "-m", "fileops", "mcp"]
    for shell in reversed(shells):
        start = [shell, "-c", f"{shlex.join(start)}; exit $?"]
    server = subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
    server.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n"
    )
    server.stdin.flush()
    server.stdout.readline()
    try:
        return subprocess.run(shlex.split(command), check=False).returncode
    finally:
        server.stdin.close()
        server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
