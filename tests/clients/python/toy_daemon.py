"""A daemon in forty lines for the client's own tests: it speaks frames and misbehaves on request.

Started as a child: `python toy_daemon.py`. It needs no code of the project, so that the tests look at the client alone.
"""

import json
import os
import signal
import sys
from typing import Any


def receive() -> Any:
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if not line.strip():
            break
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length))


def send(**fields: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **fields}).encode()
    os.write(1, b"Content-Length: %d\r\n\r\n" % len(body) + body)


def main() -> None:
    seen: list[Any] = []
    waiting: dict[Any, Any] = {}
    while True:
        message = receive()
        seen.append(message)
        method, call_id, params = message.get("method"), message.get("id"), message.get("params")
        if method is None:  # an answer to `ask`
            send(id=waiting.pop("ask"), result={k: message.get(k) for k in ("result", "error")})
        elif method == "initialize":
            send(id=call_id, result={"capabilities": {"experimental": params}, "serverInfo": {"name": "toy"}})
        elif method == "toy/seen":
            send(id=call_id, result=[m for m in seen if m.get("method") != "toy/seen"])
        elif method == "toy/echo":
            send(id=call_id, result=params)
        elif method == "toy/refuse":
            send(id=call_id, error={"code": -32602, "message": "no", "data": {"path": "$.x"}})
        elif method == "toy/hang":
            waiting[call_id] = params
        elif method == "$/cancelRequest" and waiting.pop(params["id"], None) == "late":
            send(id=params["id"], result="too late")
        elif method == "$/cancelRequest":
            send(id=params["id"], error={"code": -32800, "message": "cancelled"})
        elif method == "toy/tell":
            for event in params:
                send(**event)
            send(id=call_id, result=None)
        elif method == "toy/ask":
            waiting["ask"] = call_id
            send(id="q1", **params)
            if params.get("withdraw"):
                send(method="$/cancelRequest", params={"id": "q1"})
        elif method == "toy/withdraw":
            send(method="$/cancelRequest", params={"id": "q1"})
        elif method == "toy/die":
            sys.stderr.write("something broke\n")
            sys.stderr.flush()
            os._exit(params)
        elif method == "toy/babble":
            os.write(1, b"hello, I am a print statement\r\n\r\n")
        elif method == "toy/deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                signal.pause()
        elif method == "fileops/read" and params["file_path"].endswith("trip.py"):
            send(id=call_id, error={"code": -32601, "message": "no fileops here"})
        elif method == "shutdown":
            send(id=call_id, result=None)
        elif method == "exit":
            sys.exit(0)


main()
