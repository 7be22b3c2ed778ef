"""Who is measured: ours, raw Python, stock pygls, and peers that install by name.

Each contender offers the operations that it has; a scenario skips those that it lacks. An operation does the whole
work of a caller: ask, wait, take the answer.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.pipes import LinePipe, LspPipe
from fileops_client._process import DEFAULT_COMMAND

EditPair = tuple[str, str]
SHORT_TOOL = Path(__file__).with_name("str_replace.py")
STOCK_SERVER = Path(__file__).with_name("stock_pygls.py")


class Raw:
    """What a caller would write in ten lines of Python, in its own process; durable, without any checks."""

    name = "raw Python, fsync"

    def read(self, path: str, offset: int = 1, limit: int = 2000) -> object:
        out: list[str] = []
        with open(path, encoding="utf-8", newline="") as file:
            for number, line in enumerate(file, 1):
                if number >= offset + limit:
                    break
                if number >= offset:
                    out.append(f"{number:6}→{line}")
        return "".join(out)

    def scan(self, path: str, offset: int, limit: int) -> object:
        """A plain line scan in bytes: the fastest loop over lines that Python offers."""
        out: list[bytes] = []
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if number >= offset + limit:
                    break
                if number >= offset:
                    out.append(line)
        return b"".join(out).decode()

    def edit(self, path: str, old: str, new: str, *, replace_all: bool = False) -> object:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        n = text.count(old)
        if n == 0 or (n > 1 and not replace_all):
            raise ValueError(n)
        self._write(path, text.replace(old, new))
        return n

    def edits(self, path: str, pairs: Sequence[EditPair]) -> object:
        for old, new in pairs:
            self.edit(path, old, new)
        return len(pairs)

    def _write(self, path: str, text: str) -> None:
        fd, temp = tempfile.mkstemp(dir=os.path.dirname(path))
        with open(fd, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temp, path)

    def close(self) -> None:
        pass


class RawDurable(Raw):
    """As raw, and what was written is still there after a power cut: the folder is synced, too."""

    name = "raw Python, both fsyncs"

    def _write(self, path: str, text: str) -> None:
        super()._write(path, text)
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)


class Ours:
    name = "fileops-server"

    def __init__(self, root: str, *, env: Mapping[str, str] | None = None, **options: Any) -> None:
        self.rpc = LspPipe(DEFAULT_COMMAND, env)
        self.root = root
        self.rpc.call(
            "initialize",
            {
                "processId": os.getpid(),
                "capabilities": {},
                "rootUri": Path(root).as_uri(),
                "workspaceFolders": [{"uri": Path(root).as_uri(), "name": "bench"}],
                "initializationOptions": options,
            },
        )
        self.rpc.notify("initialized", {})

    def read(self, path: str, offset: int | None = None, limit: int | None = None, **more: Any) -> object:
        params = {"file_path": path, **more}
        if offset is not None:
            params["offset"] = offset
        if limit is not None:
            params["limit"] = limit
        return self._ok(self.rpc.call("fileops/read", params))

    scan = read

    def edit(self, path: str, old: str, new: str, *, replace_all: bool = False, **more: Any) -> object:
        return self._ok(
            self.rpc.call(
                "fileops/edit",
                {
                    "file_path": path,
                    "old_string": old,
                    "new_string": new,
                    "replace_all": replace_all,
                    **more,
                },
            )
        )

    def edits(self, path: str, pairs: Sequence[EditPair]) -> object:
        steps = [{"old_string": old, "new_string": new} for old, new in pairs]
        return self._ok(self.rpc.call("fileops/multiEdit", {"file_path": path, "edits": steps}))

    def _ok(self, result: Any) -> Any:
        if result["status"] != "success":
            raise RuntimeError(result["output"])
        return result

    def close(self) -> None:
        self.rpc.call("shutdown", None)
        self.rpc.notify("exit", None)
        self.rpc.close()

    def kill(self) -> None:
        """End it without another word, also while a thread waits for what it sends."""
        self.rpc.kill()


class Earlier(Ours):
    """An earlier version of this project, from a checkout of it."""

    name = "fileops-server, earlier"

    def __init__(self, checkout: Path, root: str) -> None:
        super().__init__(root, env={**os.environ, "PYTHONPATH": str(checkout / "server")})


class StockPygls:
    """A server of pygls as it comes, that answers one custom request with a given reply."""

    name = "stock pygls echo"

    def __init__(self, reply: object = None) -> None:
        self.rpc = LspPipe([sys.executable, str(STOCK_SERVER)])
        self.rpc.call("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.rpc.notify("initialized", {})
        self.rpc.call("bench/set", {"reply": json.dumps(reply)})

    def echo(self, params: object) -> object:
        return self.rpc.call("bench/echo", params)

    def close(self) -> None:
        self.rpc.close()


class StrReplace:
    """The tool that many agents begin with."""

    def __init__(self, root: str, env: Mapping[str, str] | None) -> None:
        self.rpc = LinePipe([sys.executable, str(SHORT_TOOL)], env)
        self.close = self.rpc.close
        self.kill = self.rpc.kill

    def look_at(self, path: str) -> str:
        return self.rpc.call("view", {"path": path, "start": 1, "end": 3})

    def edit(self, path: str, old: str, new: str) -> object:
        return self.rpc.call("str_replace", {"path": path, "old": old, "new": new})


class McpFilesystem:
    """@modelcontextprotocol/server-filesystem, the reference server of that protocol."""

    name = "MCP server-filesystem"

    def __init__(self, root: str, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self.rpc = LinePipe([*command, root], env)
        self.rpc.call(
            "initialize",
            {
                "protocolVersion": "2024-11-05",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        )
        self.rpc.notify("notifications/initialized", {})

    def _tool(self, name: str, **arguments: Any) -> object:
        result = self.rpc.call("tools/call", {"name": name, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(str(result)[:300])
        return result

    def read(self, path: str, offset: int = 1, limit: int = 2000) -> object:
        return self._tool("read_text_file", path=path, head=offset + limit - 1)

    def tail(self, path: str, n_lines: int) -> object:
        return self._tool("read_text_file", path=path, tail=n_lines)

    def edit(self, path: str, old: str, new: str, *, replace_all: bool = False) -> object:
        return self.edits(path, [(old, new)])

    def edits(self, path: str, pairs: Sequence[EditPair]) -> object:
        return self._tool("edit_file", path=path, edits=[{"oldText": old, "newText": new} for old, new in pairs])

    def close(self) -> None:
        self.rpc.close()


class McpTextEditor:
    """mcp-text-editor from PyPI. Its edits want line ranges and content hashes, so only reads are comparable."""

    name = "mcp-text-editor"

    def __init__(self, command: Sequence[str]) -> None:
        self.rpc = LinePipe(command)
        self.rpc.call(
            "initialize",
            {
                "protocolVersion": "2024-11-05",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        )
        self.rpc.notify("notifications/initialized", {})

    def read(self, path: str, offset: int = 1, limit: int = 2000) -> object:
        ranges = [{"start": offset, "end": offset + limit - 1}]
        arguments = {"files": [{"file_path": path, "ranges": ranges}]}
        result = self.rpc.call("tools/call", {"name": "get_text_file_contents", "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(str(result)[:300])
        return result

    def close(self) -> None:
        self.rpc.close()


@dataclass(frozen=True, kw_only=True)
class Peers:
    """Commands of the installed peers; None where one could not be installed (the report says so).

    earlier: a checkout of an earlier version of this project, for the scenarios that compare with it.
    """

    mcp_filesystem: tuple[str, ...] | None = None
    mcp_text_editor: tuple[str, ...] | None = None
    earlier: Path | None = None


def install_peers(folder: Path) -> Peers:
    """Install the peers by name into `folder` (kept between runs)."""
    folder.mkdir(parents=True, exist_ok=True)
    return Peers(mcp_filesystem=_npm_peer(folder), mcp_text_editor=_pip_peer(folder))


def _npm_peer(folder: Path) -> tuple[str, ...] | None:
    script = folder / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
    npm, node = shutil.which("npm"), shutil.which("node")
    if not (npm and node):
        return None
    if not script.exists():
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts",
                   "--prefix", str(folder), "@modelcontextprotocol/server-filesystem"]  # fmt: skip
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
    return (node, str(script))


def _pip_peer(folder: Path) -> tuple[str, ...] | None:
    script = folder / "venv/bin/mcp-text-editor"
    if not script.exists():
        for command in (
            [sys.executable, "-m", "venv", str(folder / "venv")],
            [str(folder / "venv/bin/pip"), "install", "-q", "mcp<2", "mcp-text-editor"],  # it breaks under mcp 2
        ):
            if subprocess.run(command, capture_output=True, check=False).returncode:
                return None
    return (str(script),)
