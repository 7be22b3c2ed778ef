"""Who is played against: the tools, each behind the same few calls. An agent is a name, mostly of its own process."""

import difflib
import itertools
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from bench.reliability.scenario import (
    Call,
    EditCall,
    MultiCall,
    PatchCall,
    WriteCall,
    as_lf,
    as_pairs,
    to_bytes,
    to_text,
)

MCP_FILESYSTEM = "@modelcontextprotocol/server-filesystem"
MCP_FILESYSTEM_VERSION = "2026.8.31"
CODEX = "@openai/codex"
CODEX_VERSION = "0.169.0"
TESTS = Path(__file__).parents[2]
_ANSWER_S = 90


@dataclass(frozen=True)
class Said:
    """The answer to a call: whether it succeeded, what the model is told, and what the model sent."""

    is_ok: bool
    text: str
    sent: str


Part = tuple[int, int] | None  # offset and limit of a read


class Contender(ABC):
    """home: an empty folder of its own. splits: whether several edits are several calls.

    cannot: scenarios that its dialect cannot express.
    """

    splits = False
    cannot: tuple[str, ...] = ()
    shares_knowledge = False  # whether a second agent edits with the same program

    def __init__(self, name: str, home: Path) -> None:
        self.name, self.home = name, home
        self.root = home

    def start(self, root: Path) -> None:
        self.root = root

    @abstractmethod
    def stop(self) -> None: ...

    @abstractmethod
    def read(self, agent: str, path: str, part: Part = None) -> Said: ...

    @abstractmethod
    def call(self, agent: str, path: str, call: Call) -> Said: ...


SHARED_TREE = "tree-"  # how the names of its agents begin


def process_of(agent: str) -> str:
    """Return whose process an agent uses: its own in the shared tree; elsewhere they come one after another."""
    return agent if agent.startswith(SHARED_TREE) else "one"


def environment(home: Path) -> dict[str, str]:
    """Variables under which a program finds nothing of this machine's user."""
    folders = {
        "HOME": home,
        "XDG_STATE_HOME": home / "state",
        "XDG_CACHE_HOME": home / "cache",
        "XDG_DATA_HOME": home / "data",
        "XDG_CONFIG_HOME": home / "config",
        "XDG_RUNTIME_DIR": home / "run",
    }
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {"LANG": "C.UTF-8", **kept, **{name: str(folder) for name, folder in folders.items()}}


# --- the small tools ----------------------------------------------------------------------------------------------


class Small(Contender):
    """kind: of bench/reliability/small_tools.py."""

    splits = True

    def __init__(self, name: str, home: Path, kind: str) -> None:
        super().__init__(name, home)
        self._kind = kind
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._lock = threading.Lock()

    def _process(self, agent: str) -> "subprocess.Popen[str]":
        agent = process_of(agent)
        with self._lock:
            if agent not in self._processes:
                self._processes[agent] = subprocess.Popen(
                    [sys.executable, "-m", "bench.reliability.small_tools", self._kind],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    cwd=TESTS,
                    env=environment(self.home),
                )
            return self._processes[agent]

    def _ask(self, agent: str, tool: str, arguments: Mapping[str, object]) -> Said:
        process = self._process(agent)
        to, back = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        to.write(json.dumps({"tool": tool, "arguments": arguments}) + "\n")
        to.flush()
        answer = json.loads(back.readline())
        return Said(answer["ok"], answer["text"], _arguments({**arguments, "takes_all": False}, drop="takes_all"))

    def read(self, agent: str, path: str, part: Part = None) -> Said:
        offset, limit = part or (1, 2000)
        return self._ask(agent, "read", {"path": path, "offset": offset, "limit": limit})

    def call(self, agent: str, path: str, call: Call) -> Said:
        if isinstance(call, WriteCall):
            return self._ask(agent, "write", {"path": path, "text": call.text})
        takes_all = isinstance(call, EditCall) and call.all
        said = [Said(True, "", "")]
        for old, new in as_pairs(call):
            said.append(self._ask(agent, "edit", {"path": path, "old": old, "new": new, "takes_all": takes_all}))
            if not said[-1].is_ok:
                break
        return Said(said[-1].is_ok, "".join(each.text for each in said), "".join(each.sent for each in said))

    def stop(self) -> None:
        for process in self._processes.values():
            cast("IO[str]", process.stdin).close()
            process.wait(10)
            cast("IO[str]", process.stdout).close()
        self._processes = {}


def _arguments(arguments: Mapping[str, object], *, drop: str) -> str:
    """Return the arguments as a model sends them. drop: one that a model need not send."""
    return json.dumps({name: value for name, value in arguments.items() if name != drop}, ensure_ascii=False)


# --- MCP ------------------------------------------------------------------------------------------------------------


class McpClient:
    """A client over a child's pipes. Several threads may call."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(env), cwd=cwd
        )
        self._in, self._out = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        self._ids = itertools.count(1)
        self._waiting: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._take, daemon=True)
        self._reader.start()
        client = {"name": "reliability", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def _take(self) -> None:
        for line in self._out:
            message = json.loads(line)
            if "method" not in message:
                self._waiting.pop(message["id"]).put(message)
            elif "id" in message:
                self._send({"id": message["id"], "error": {"code": -32601, "message": "not supported"}})

    def _send(self, message: Mapping[str, object]) -> None:
        with self._lock:
            self._in.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._in.flush()

    def request(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        answers: queue.Queue[dict[str, Any]] = queue.Queue()
        with self._lock:
            msg_id = next(self._ids)
            self._waiting[msg_id] = answers
        self._send({"id": msg_id, "method": method, "params": params})
        message = answers.get(timeout=_ANSWER_S)
        if "error" in message:
            return {"isError": True, "content": [{"type": "text", "text": message["error"]["message"]}]}
        return message["result"]

    def call_tool(self, name: str, arguments: Mapping[str, object], meta: Mapping[str, object] | None = None) -> Said:
        params: dict[str, object] = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
        result = self.request("tools/call", params)
        text = "\n".join(item.get("text", "") for item in result.get("content", ()))
        return Said(not result.get("isError"), text, json.dumps(arguments, ensure_ascii=False))

    def close(self) -> None:
        self._in.close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._out.close()


class McpFilesystem(Contender):
    """The reference file server of MCP."""

    def __init__(self, home: Path, command: Sequence[str]) -> None:
        super().__init__(f"MCP server-filesystem {MCP_FILESYSTEM_VERSION}", home)
        self._command = command
        self._clients: dict[str, McpClient] = {}
        self._lock = threading.Lock()

    def _ask(self, agent: str, tool: str, arguments: Mapping[str, object]) -> Said:
        agent = process_of(agent)
        with self._lock:
            if agent not in self._clients:
                self._clients[agent] = McpClient([*self._command, str(self.root)], environment(self.home), self.root)
        return self._clients[agent].call_tool(tool, arguments)

    def read(self, agent: str, path: str, part: Part = None) -> Said:
        return self._ask(agent, "read_text_file", {"path": path, **({"head": sum(part) - 1} if part else {})})

    def call(self, agent: str, path: str, call: Call) -> Said:
        if isinstance(call, WriteCall):
            return self._ask(agent, "write_file", {"path": path, "content": call.text})
        pairs = as_pairs(call)
        if isinstance(call, EditCall) and call.all:
            pairs *= to_text(Path(path).read_bytes()).count(call.old)
        return self._ask(
            agent, "edit_file", {"path": path, "edits": [{"oldText": old, "newText": new} for old, new in pairs]}
        )

    def stop(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients = {}


class Ours(Contender):
    """15 agents are 15 sessions of one server."""

    shares_knowledge = True

    def __init__(self, home: Path, freshness: str, *options: str) -> None:
        name = "strict" if freshness == "mtime" else freshness
        super().__init__(" ".join((f"fileops-server, {name}", *options)), home)
        self._freshness, self._options = freshness, options
        self._client: McpClient | None = None

    def start(self, root: Path) -> None:
        super().start(root)
        command = [sys.executable, "-m", "fileops", "mcp", "--private", "--freshness", self._freshness]
        command += ["--notices", "on", "--tools", "+write,+patch", "--root", str(root), *self._options]
        self._client = McpClient(command, environment(self.home), root)

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()

    def _ask(self, agent: str, tool: str, arguments: Mapping[str, object]) -> Said:
        assert self._client is not None
        return self._client.call_tool(tool, arguments, {"threadId": f"agent-{agent}"})

    def read(self, agent: str, path: str, part: Part = None) -> Said:
        more = {"offset": part[0], "limit": part[1]} if part else {}
        return self._ask(agent, "Read", {"file_path": path, **more})

    def call(self, agent: str, path: str, call: Call) -> Said:
        match call:
            case WriteCall(text=text):
                return self._ask(agent, "Write", {"file_path": path, "content": text})
            case PatchCall():
                return self._ask(agent, "ApplyPatch", {"patch": _patch_text(path, call)})
            case MultiCall(edits=edits):
                steps = [{"old_string": old, "new_string": new} for old, new in edits]
                return self._ask(agent, "MultiEdit", {"file_path": path, "edits": steps})
            case EditCall(old=old, new=new, all=takes_all):
                more = {"replace_all": True} if takes_all else {}
                return self._ask(agent, "Edit", {"file_path": path, "old_string": old, "new_string": new, **more})


def _patch_text(path: str, call: PatchCall) -> str:
    """A unified diff if the model wrote numbers, else the dialect of apply_patch."""
    if not all(hunk.header for hunk in call.hunks):
        body = "".join("@@\n" + "".join(f"{line}\n" for line in hunk.lines) for hunk in call.hunks)
        return f"*** Begin Patch\n*** Update File: {path}\n{body}*** End Patch\n"
    body = "".join(f"@@ {hunk.header} @@\n" + "".join(f"{line}\n" for line in hunk.lines) for hunk in call.hunks)
    return f"--- {path}\n+++ {path}\n{body}"


# --- codex ------------------------------------------------------------------------------------------------------------


class Codex(Contender):
    """The `apply_patch` of Codex: a process for each call, which keeps nothing of what was read."""

    cannot = ("empty-old",)

    def __init__(self, home: Path, program: Path) -> None:
        super().__init__(f"codex apply_patch {CODEX_VERSION}", home)
        self._program = program
        self._seen: dict[tuple[str, str], str] = {}

    def start(self, root: Path) -> None:
        super().start(root)
        self._seen = {}
        self._env = environment(self.home)
        self._link = self.home / "apply_patch"  # the program does what its name says
        if not self._link.is_symlink():
            self._link.symlink_to(self._program)

    def stop(self) -> None:
        """Nothing runs."""

    def read(self, agent: str, path: str, part: Part = None) -> Said:
        command = ["sed", "-n", f"{part[0]},{part[0] + part[1] - 1}p" if part else "p", path]
        done = subprocess.run(command, capture_output=True, check=False)
        file = Path(path)
        self._seen[agent, path] = as_lf(to_text(file.read_bytes())) if file.exists() else ""
        return Said(done.returncode == 0, to_text(done.stdout + done.stderr), " ".join(command))

    def call(self, agent: str, path: str, call: Call) -> Said:
        lines = ["*** Begin Patch"]
        if isinstance(call, WriteCall):
            lines += [f"*** Add File: {path}", *(f"+{line}" for line in call.text.split("\n")[:-1])]
        else:
            lines.append(f"*** Update File: {path}")
            for hunk in self._hunks(agent, path, call):
                lines += ["@@", *hunk]
        body = "\n".join((*lines, "*** End Patch", ""))
        done = subprocess.run(
            [str(self._link)], input=to_bytes(body), capture_output=True, env=self._env, cwd=self.root, check=False
        )
        return Said(done.returncode == 0, to_text(done.stdout + done.stderr), body)

    def _hunks(self, agent: str, path: str, call: EditCall | MultiCall | PatchCall) -> list[list[str]]:
        """A model that writes patches shows up to 3 lines around what it changes, from what it has read."""
        if isinstance(call, PatchCall):
            return [list(hunk.lines) for hunk in call.hunks]
        file = Path(path)  # if it was not read, the lines are known from a search
        text = self._seen.get((agent, path)) or (as_lf(to_text(file.read_bytes())) if file.exists() else "")
        hunks: list[list[str]] = []
        for old, new in as_pairs(call):
            n = text.count(old) if old else 0
            if n == 0 or (n > 1 and not (isinstance(call, EditCall) and call.all)):
                hunks.append([*_signed("-", old), *_signed("+", new)])
                continue
            changed = text.replace(old, new)
            hunks += _with_context(text.split("\n"), changed.split("\n"))
            text = changed
        return hunks


def _signed(sign: str, text: str) -> list[str]:
    return [sign + line for line in text.removesuffix("\n").split("\n")]


def _with_context(before: list[str], after: list[str]) -> list[list[str]]:
    hunks: list[list[str]] = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(3):
        hunk: list[str] = []
        for kind, start, stop, new_start, new_stop in group:
            if kind == "equal":
                hunk += [f" {line}" for line in before[start:stop]]
            else:
                hunk += [f"-{line}" for line in before[start:stop]]
                hunk += [f"+{line}" for line in after[new_start:new_stop]]
        while hunk and hunk[-1] == " ":
            hunk.pop()
        hunks.append(hunk)
    return [hunk for hunk in hunks if hunk]


# --- all of them ------------------------------------------------------------------------------------------------------

STR_REPLACE = "str_replace in 40 lines"
UNIQUE = "unique text still there"
STRICT = "fileops-server, strict"
RELEVANT = "fileops-server, relevant"
OWN: Mapping[str, Callable[[Path], Contender]] = {
    STR_REPLACE: lambda home: Small(STR_REPLACE, home, "str_replace"),
    UNIQUE: lambda home: Small(UNIQUE, home, "unique"),
    STRICT: lambda home: Ours(home, "mtime"),
    RELEVANT: lambda home: Ours(home, "relevant"),
}


def contenders(home: Path, peers_folder: Path | None) -> dict[str, Contender]:
    """Return who is played against, by name. peers_folder: where peers are installed; None for none of them."""
    found = {name: make(home / name.replace(" ", "-")) for name, make in OWN.items()}
    if peers_folder is None:
        return found
    peers: list[Contender] = []
    if (script := _installed(peers_folder, MCP_FILESYSTEM, MCP_FILESYSTEM_VERSION, "dist/index.js")) is not None:
        peers.append(McpFilesystem(home / "mcp", (shutil.which("node") or "node", str(script))))
    if (launcher := _installed(peers_folder, CODEX, CODEX_VERSION, "bin/codex.js")) is not None:
        programs = [each for each in launcher.parents[3].rglob("vendor/*/*/codex") if os.access(each, os.X_OK)]
        peers += [Codex(home / "codex", each) for each in programs[:1]]
    ours = {name: found.pop(name) for name in (STRICT, RELEVANT)}
    return {**found, **{peer.name: peer for peer in peers}, **ours}


def _installed(folder: Path, package: str, version: str, file: str) -> Path | None:
    """Install a package from npm by name and version, and return one of its files; None if that is impossible."""
    path = folder / f"{package.rpartition('/')[2]}-{version}"
    found = path / "node_modules" / package / file
    npm = shutil.which("npm")
    if not found.exists() and npm is not None:
        path.mkdir(parents=True, exist_ok=True)
        options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(path))
        subprocess.run([npm, "install", *options, f"{package}@{version}"], capture_output=True, check=False)
    return found if found.exists() else None
