"""A small ACP agent for tests: it carries out the steps of its prompt, and says what each of them came to.

The prompt is JSON: a list of [method, params] of requests to the client.
"""

import json
import sys
from typing import Any


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text + "\n"}}
    send({"method": "session/update", "params": {"sessionId": "s1", "update": update}})


def receive() -> dict[str, Any]:
    return json.loads(sys.stdin.readline() or sys.exit())


def carry_out(steps: list[tuple[str, dict[str, Any]]]) -> None:
    for number, (method, params) in enumerate(steps):
        send({"id": number, "method": method, "params": {"sessionId": "s1", **params}})
        answer = receive()
        say(json.dumps(answer.get("result", answer.get("error")), ensure_ascii=False))


while True:
    request = receive()
    match request["method"]:
        case "initialize":
            result: Any = {"protocolVersion": 1, "agentCapabilities": {}}
        case "session/new":
            say(f"servers: {[server['name'] for server in request['params']['mcpServers']]}")
            result = {"sessionId": "s1"}
        case _:
            carry_out(json.loads(request["params"]["prompt"][0]["text"]))
            result = {"stopReason": "end_turn"}
    send({"id": request["id"], "result": result})
