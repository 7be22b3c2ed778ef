"""A folder that is only opened runs none of its programs and stops nothing, from any client and any command.

Each row of the table makes one kind of hostile folder. All programs and modules in it leave a mark where they run, and
the PATH begins with the current folder, as careless users have it. The editors' own searches for the daemon are tested
in the real editors: `clients/neovim/tests/spec/locate_spec.lua` and `clients/vscode/test/daemon.suite.ts`. What git
could be led to do is tested in `unit/record/test_hostile_repositories.py`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fileops_client.sync import FileOpsClient
from support.daemon_process import Place, place_of_test
from support.patience import PATIENCE_S, wait_until

SERVER = [str(Path(sys.executable).with_name("fileops-server"))]  # as clients start it
FORKED = [sys.executable, "-P", "-m", "fileops"]  # where the start itself can meet nothing: see support/warm_start.py
PROGRAMS = ("git", "sh", "bash", "env", "python3", "python", "less", "vi", "fileops-server", "ssh", "uname", "file")
MODULES = ("fileops", "msgspec", "pygls", "lsprotocol", "json", "asyncio", "sqlite3", "pathspec", "textual", "readline")
COMMANDS = (
    ("log",), ("log", "a.txt"), ("log", "--turns"), ("diff",), ("diff", "a.txt"), ("blame", "a.txt"), ("status",),
    ("undo", "--since", "1d", "--dry-run"), ("keep", "--all"), ("review", "--list"), ("undo", "e-1"), ("log", "e-1"),
    ("mcp", "config", "claude"), ("schema",), ("log", "--forget", "a.txt"),
)  # fmt: skip


class Folder:
    def __init__(self, above: Path) -> None:
        self.root = above / "project"
        self.mark = above / "it-ran"
        self.root.mkdir()
        self.git("init", "-q")
        self.write("a.txt", "one\ntwo\n")
        self.git("add", "a.txt")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True)

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def program(self, name: str) -> Path:
        return self.write(name, f"#!/bin/sh\necho \"$0\" >> '{self.mark}'\n", 0o755)

    def module(self, name: str) -> None:
        self.write(name, f"open({str(self.mark)!r}, 'a').write({name!r})\n")


def programs(folder: Folder) -> None:
    for name in PROGRAMS:
        for at in ("", "bin/", ".venv/bin/", "node_modules/.bin/"):
            folder.program(at + name)


def modules(folder: Folder) -> None:
    for name in MODULES:
        folder.module(f"{name}.py" if name != "fileops" else "fileops/__init__.py")
    folder.module("fileops/__main__.py")
    folder.module("fileops_client/__init__.py")


def plugins(folder: Folder) -> None:
    """As a package that is installed: its entry points are loaded by their group."""
    folder.module("evil.py")
    folder.write("evil-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    groups = ("strategies", "processors", "validators", "parsers")
    points = "".join(f"[fileops.{group}]\nevil = evil:run\n" for group in groups)
    folder.write("evil-1.0.dist-info/entry_points.txt", points)


def repository(folder: Folder) -> None:
    program = str(folder.program("evil"))
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "pre-auto-gc"):
        folder.program(f".git/hooks/{name}")
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.askPass", "diff.external", "core.editor"):
        folder.git("config", name, program)
    folder.git("config", "credential.helper", f"!{program}")
    folder.git("config", "filter.evil.clean", program)
    folder.git("config", "filter.evil.process", program)
    folder.git("config", "diff.evil.textconv", program)
    folder.write(".gitattributes", "* filter=evil diff=evil\n")


def settings(folder: Folder) -> None:
    """Of editors, hosts and tools, which name programs."""
    program = str(folder.program("evil"))
    folder.write(".vscode/settings.json", json.dumps({"fileops.path": program, "fileops.interpreter": program}))
    folder.write(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"command": program}]}}))
    folder.write(".mcp.json", json.dumps({"mcpServers": {"fileops": {"command": program}}}))
    folder.write(".env", f"PATH={folder.root}\nPAGER={program}\nEDITOR={program}\nFILEOPS_PAGER={program}\n")
    folder.write(".editorconfig", "root = true\n")
    folder.write("pyproject.toml", f"[tool.fileops]\ncommand = {program!r}\n")


def fifos(folder: Folder) -> None:
    for name in ("fifo", ".gitignore", "d/.gitignore", ".git/info/exclude", ".gitattributes"):
        (folder.root / name).parent.mkdir(exist_ok=True)
        (folder.root / name).unlink(missing_ok=True)
        os.mkfifo(folder.root / name)


def fifo_as_index(folder: Folder) -> None:
    (folder.root / ".git" / "index").unlink()
    os.mkfifo(folder.root / ".git" / "index")


def devices(folder: Folder) -> None:
    for name in ("zero", ".gitignore", ".gitattributes", "random", ".git/info/attributes"):
        (folder.root / name).symlink_to("/dev/urandom" if name == "random" else "/dev/zero")


def links(folder: Folder) -> None:
    """Cycles, a long chain, and one that leads above."""
    (folder.root / "loop").symlink_to("loop")
    (folder.root / "here").symlink_to(".")
    (folder.root / "above").symlink_to("..")
    (folder.root / ".gitignore").symlink_to("loop")
    for n in range(60):
        (folder.root / f"chain{n}").symlink_to(f"chain{n + 1}")


def names(folder: Folder) -> None:
    """Names with what a terminal, a shell, git or JSON gives a meaning."""
    for name in (
        b"\xff\xfe.txt",
        b"a\nb.txt",
        b"-rf",
        b"$(touch it-ran)",
        b"\x1b[31mred",
        b"'\"; touch it-ran;",
        b"x" * 255,
    ):
        (Path(os.fsdecode(os.fsencode(folder.root))) / os.fsdecode(name)).write_text("text\n")
    deep = folder.root.joinpath(*(["deep"] * 100))
    deep.mkdir(parents=True)
    (deep / "file.txt").write_text("text\n")


def huge(folder: Folder) -> None:
    with folder.write("huge.txt", "text\n").open("r+b") as file:
        file.truncate(1 << 36)
    folder.write(".gitignore", "".join(f"**/a{n}*b*c/**/d\n" for n in range(10_000)))  # git itself takes time for each
    os.utime(folder.write("late.txt", "text\n"), (99_999_999_999, 99_999_999_999))


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.mark.parametrize(
    "kinds",
    [
        [programs, modules, plugins, repository, settings, links],
        [names, huge],
        [fifos],
        [fifo_as_index],
        [devices],
    ],
    ids=lambda kinds: kinds[0].__name__,
)
def test_hostile_folder_is_opened_by_every_client_and_command(
    kinds: list[Callable[[Folder], None]], shared: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path)
    for make in kinds:
        make(folder)
    root = folder.root
    before = os.environ["PATH"]
    monkeypatch.setenv("PATH", f":.:bin:{root}/bin:{root}/.venv/bin:{root}/node_modules/.bin:{before}")
    monkeypatch.chdir(root)
    server = SERVER if programs in kinds else FORKED
    with_clients(root, server)
    with_mcp(root, server)
    with_hook(root, server)
    for command in COMMANDS:
        done = subprocess.run(
            [*server, *command], cwd=root, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S,
            check=False,
        )  # fmt: skip
        assert b"Traceback" not in done.stderr, (command, done.stderr.decode())
    assert not folder.mark.exists(), folder.mark.read_text()
    assert not (root / "it-ran").exists()


def with_clients(root: Path, server: list[str]) -> None:
    """A private daemon, then an editor and an agent of a shared one that records the folder."""
    with FileOpsClient.start(server, cwd=root, root=root) as client:
        edit(client, root, "one", "1")
    with FileOpsClient.attach(role="editor", command=server, root=root) as editor:
        wait_until(lambda: any(known.state != "starting" for known in editor.record_status()))
        with FileOpsClient.attach(command=server, root=root) as agent:
            edit(agent, root, "two", "2")
        assert editor.log(file_path=root / "a.txt").entries


def edit(client: FileOpsClient, root: Path, old: str, new: str) -> None:
    assert client.read(root / "a.txt").ok
    assert client.edit(root / "a.txt", old, new).ok
    for name in sorted(os.listdir(root)):
        client.read(root / name)  # it may be anything, and is refused or read


def with_mcp(root: Path, server: list[str]) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}]
    lines += [{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    done = subprocess.run(
        [*server, "mcp"], cwd=root, input=b"".join(json.dumps(line).encode() + b"\n" for line in lines),
        capture_output=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert b'"tools"' in done.stdout, done.stderr.decode()


def with_hook(root: Path, server: list[str]) -> None:
    event: dict[str, object] = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(root)}
    event |= {"tool_name": "Bash", "tool_input": {"command": "make"}}
    done = subprocess.run(
        [*server, "mcp", "hook", "claude"], cwd=root, input=json.dumps(event).encode(), capture_output=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr, done.stderr.decode()
