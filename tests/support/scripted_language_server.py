"""A language server that finds each "BAD" of a text, and misbehaves as it is told: one JSON object as its argument.

Asked to format a range, it makes one blank of two in the whole text.

It needs the standard library only, and is run as a program. `log`: a file that gets each method that it receives.
`gate`: a file without which it does not answer `initialize`. `pids`: a file that gets its process, and that of `stray`,
a child in a group of its own. Like ruff, it ends with status 2 at a message that LSP does not allow in its state, and
says so in the file `breaches`.
"""

import itertools
import json
import os
import subprocess
import sys
import time
from typing import Any

BEHAVIOUR: dict[str, Any] = {}
TEXTS: dict[str, tuple[int, str]] = {}
SAID: dict[str, list[Any]] = {}
STATE = {"life": "new"}
PULLS = itertools.count(1)


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def receive() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline():
        if not line.strip():
            return json.loads(sys.stdin.buffer.read(length))
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return None


def diagnostics(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n")):
        at = line.find("BAD")
        while at >= 0:
            place = {"start": {"line": number, "character": at}, "end": {"line": number, "character": at + 3}}
            found.append({"range": place, "severity": 1, "code": "B1", "source": "scripted", "message": "a bad word"})
            at = line.find("BAD", at + 1)
    return found


def publish(uri: str) -> None:
    version, text = TEXTS[uri]
    if BEHAVIOUR.get("stale_first"):
        send({
            "method": "textDocument/publishDiagnostics",
            "params": {"uri": uri, "version": version - 1, "diagnostics": diagnostics("BAD BAD BAD BAD")},
        })  # fmt: skip
    if BEHAVIOUR.get("empty_first"):
        params = {"uri": uri, "version": version, "diagnostics": list[Any]()}
        send({"method": "textDocument/publishDiagnostics", "params": params})
        time.sleep(0.1)
    found = diagnostics(text)
    if BEHAVIOUR.get("silent") and SAID.get(uri, []) == found:
        return
    SAID[uri] = found
    params: dict[str, Any] = {"uri": uri, "diagnostics": found}
    if not BEHAVIOUR.get("no_version"):
        params["version"] = version
    send({"method": "textDocument/publishDiagnostics", "params": params})


def take(uri: str, version: int, text: str) -> None:
    TEXTS[uri] = version, text
    if "CRASH" in text:
        sys.exit(3)
    if "GARBAGE" in text:
        sys.stdout.buffer.write(b"Traceback (most recent call last)\n" * 3)
        sys.stdout.buffer.flush()
    if "FLOOD" in text:
        sys.stdout.buffer.write(b"Content-Length: 999999999999\r\n\r\n" + b"x" * 100_000)
        sys.stdout.buffer.flush()
    if "HANG" in text:
        time.sleep(3600)
    if not BEHAVIOUR.get("pull"):
        publish(uri)


def answer_pull(message: dict[str, Any]) -> None:
    n_pulls = next(PULLS)
    if n_pulls == 1:
        time.sleep(BEHAVIOUR.get("first_pull_s", 0))
    if n_pulls <= BEHAVIOUR.get("n_cancelled", 0):
        send({"id": message["id"], "error": {"code": -32802, "message": "the server cancelled the request"}})
        return
    if BEHAVIOUR.get("bad_reply"):
        send({"id": message["id"], "result": {"kind": "full", "items": [{"range": 7}]}})
        return
    _, text = TEXTS[message["params"]["textDocument"]["uri"]]
    if n_pulls <= BEHAVIOUR.get("n_refreshed", 0):
        send({"id": f"refresh{n_pulls}", "method": "workspace/diagnostic/refresh"})
        text = ""
    send({"id": message["id"], "result": {"kind": "full", "items": diagnostics(text)}})


def answer_format(message: dict[str, Any]) -> None:
    time.sleep(BEHAVIOUR.get("format_s", 0))
    if fault := BEHAVIOUR.get("format_fault"):
        send({"id": message["id"], "error": {"code": -32603, "message": fault}})
        return
    _, text = TEXTS[message["params"]["textDocument"]["uri"]]
    edits: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n")):
        if "  " in line:
            place = {"start": {"line": number, "character": 0}, "end": {"line": number, "character": len(line)}}
            edits.append({"range": place, "newText": line.replace("  ", " ")})
    send({"id": message["id"], "result": edits * (2 if BEHAVIOUR.get("overlaps") else 1)})


def note(name: str, text: str) -> None:
    if path := BEHAVIOUR.get(name):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{text}\n")


def breach_of(method: str, params: dict[str, Any] | None) -> str | None:
    """Return what LSP does not allow about a message in the present state, and take note of the state after it."""
    if method == "exit":
        return None
    allowed = {"new": "initialize", "initializing": "initialized", "shut down": "exit"}.get(STATE["life"])
    if (allowed is not None and method != allowed) or (allowed is None and method in {"initialize", "initialized"}):
        return f"{method} while {STATE['life']}"
    after = {"initialize": "initializing", "initialized": "running", "shutdown": "shut down"}
    STATE["life"] = after.get(method, STATE["life"])
    document: dict[str, Any] = (params or {}).get("textDocument", {})
    uri: str = document.get("uri", "")
    if uri and (uri in TEXTS) == (method == "textDocument/didOpen"):
        return f"{method} of {uri}, which is{'' if uri in TEXTS else ' not'} open"
    if method == "textDocument/didChange" and document["version"] <= TEXTS[uri][0]:
        return f"{method} to version {document['version']}"
    return None


def serve() -> None:
    note("pids", str(os.getpid()))
    if BEHAVIOUR.get("stray"):
        note("pids", str(subprocess.Popen(["sleep", "3600"], start_new_session=True).pid))
    if BEHAVIOUR.get("child"):
        subprocess.Popen(["sleep", "3600"])
    while (message := receive()) is not None:
        method = message.get("method")
        note("log", f"{method} {json.dumps(message.get('params'))}")
        if method is not None and (breach := breach_of(method, message.get("params"))) is not None:
            note("breaches", breach)
            sys.exit(2)
        match method:
            case "initialize":
                if BEHAVIOUR.get("mute"):
                    continue
                while not os.path.exists(BEHAVIOUR.get("gate", "/")):
                    time.sleep(0.01)
                capabilities: dict[str, Any] = {"textDocumentSync": 1, "notebookDocumentSync": {"notebookSelector": []}}
                if BEHAVIOUR.get("pull") and not BEHAVIOUR.get("late_pull"):
                    capabilities["diagnosticProvider"] = {"interFileDependencies": True, "workspaceDiagnostics": False}
                if BEHAVIOUR.get("formats"):
                    capabilities["documentRangeFormattingProvider"] = True
                send({"id": message["id"], "result": {"capabilities": capabilities}})
            case "initialized":
                if BEHAVIOUR.get("late_pull"):
                    registration = {"id": "1", "method": "textDocument/diagnostic"}
                    params = {"registrations": [registration]}
                    send({"id": "register", "method": "client/registerCapability", "params": params})
                if BEHAVIOUR.get("deaf"):
                    time.sleep(3600)
            case "textDocument/didOpen":
                document = message["params"]["textDocument"]
                take(document["uri"], document["version"], document["text"])
            case "textDocument/didChange":
                document = message["params"]["textDocument"]
                take(document["uri"], document["version"], message["params"]["contentChanges"][0]["text"])
            case "textDocument/didClose":
                del TEXTS[message["params"]["textDocument"]["uri"]]
            case "textDocument/diagnostic":
                answer_pull(message)
            case "textDocument/rangeFormatting":
                answer_format(message)
            case "shutdown":
                send({"id": message["id"], "result": None})
            case "exit":
                return
            case _:
                pass


if __name__ == "__main__":
    BEHAVIOUR.update(json.loads(sys.argv[1]))
    serve()
