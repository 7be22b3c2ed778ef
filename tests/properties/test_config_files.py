"""`mcp config --write`, then `--remove`, leaves every file and folder byte for byte as it was, whatever was there."""

import contextlib
import io
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fileops import cli
from support.in_memory import IN_MEMORY

# By host: its files that are parsed, below the home (`h/`) or the project (`p/`).
FILES = {
    "claude": ["h/.claude.json", "p/.claude/settings.local.json"],
    "codex": ["h/.codex/config.toml", "h/.codex/hooks.json"],
    "gemini": ["h/.gemini/settings.json", "h/.gemini/policies/fileops.toml"],
    "opencode": ["h/.config/opencode/opencode.json"],
    "vscode": ["p/.vscode/mcp.json"],
    "cursor": ["p/.cursor/mcp.json"],
    "zed": ["h/.config/zed/settings.json"],
}
EXCLUDE = "p/.git/info/exclude"
# Keys that the hosts' own settings have, so that a document has some of what is added, all of it, or something else.
KEYS = st.sampled_from([
    "mcpServers", "servers", "context_servers", "mcp", "fileops", "other", "hooks", "PreToolUse", "Stop", "permissions",
    "allow", "tools", "projects", "BeforeTool", "a b", "é", "",
])  # fmt: skip
LEAVES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 1, -2.5e3, "x", "mcp__fileops__Edit", "// no comment", 'a "b" \\', "é\u2028", {}, []]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)
BLANKS = st.sampled_from(["", "", "", " ", "\n", "\n  ", "\t", "\r\n", "\n\n"])
COMMENTS = st.sampled_from(["", "", "", "", "// mine\n", "/* mine */", " // {\n  ", "/* \n , } */", "//\r\n"])


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """Draw JSON with comments, trailing commas and any layout; or a text of nothing but these."""
    has_comments = draw(st.booleans())

    def trivia() -> str:
        return draw(BLANKS) + (draw(COMMENTS) + draw(BLANKS) if has_comments else "")

    def parts(texts: list[str], opening: str, closing: str) -> str:
        end = "," if texts and has_comments and draw(st.booleans()) else ""
        return opening + trivia() + f"{trivia()},{trivia()}".join(texts) + trivia() + end + trivia() + closing

    def text_of(value: Any) -> str:
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            return parts(
                [f"{text_of(key)}{trivia()}:{trivia()}{text_of(part)}" for key, part in members.items()], "{", "}"
            )
        if isinstance(value, list):
            return parts([text_of(part) for part in cast("list[Any]", value)], "[", "]")
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    if draw(st.integers(0, 9)) == 0:
        return trivia()
    if draw(st.integers(0, 3)) == 0:
        return json.dumps(
            draw(st.dictionaries(KEYS, VALUES, max_size=5)), indent=draw(st.sampled_from([None, 2, "\t"]))
        )
    return trivia() + text_of(draw(st.dictionaries(KEYS, VALUES, max_size=5))) + trivia()


TOML_LINES = st.sampled_from([
    "", "# mine", "a = 1", 'b = "x"  # why', "c = [1, 2,\n  # in a list\n  3]", "d = nan", "e = 1979-05-27T07:32:00Z",
    'f = """\n[mcp_servers.fileops]\n"""', "g.h = 1", 'sandbox_mode = "read-only"', "t = { x = 1 }",
])  # fmt: skip
TOML_TABLES = st.sampled_from([
    "[features]", "[features.code_mode]", "[mcp_servers]", "[mcp_servers.other]", "[ mcp_servers . fileops ] # mine",
    "[features.code_mode.deep]", "[[rule]]", '["a b"]', "[z]  # last",
])  # fmt: skip


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    lines = draw(st.lists(TOML_LINES, max_size=4, unique=True))
    for table in draw(st.lists(TOML_TABLES, max_size=4, unique=True)):
        lines += [table, *draw(st.lists(TOML_LINES, max_size=3, unique=True))]
    return newline.join(lines).replace("\r\n", "\n").replace("\n", newline) + draw(st.sampled_from(["", newline]))


IGNORE_LINES = st.sampled_from(
    ["", "*.log", "**/.claude/settings.local.json", "# mine", " **/.claude/settings.local.json"]
)
IGNORE_TEXTS = st.tuples(st.lists(IGNORE_LINES, max_size=4), st.sampled_from(["\n", "\r\n"])).map(
    lambda drawn: drawn[1].join(drawn[0])
)


@st.composite
def documents(draw: st.DrawFn, host: str) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name in FILES[host]:
        if draw(st.integers(0, 4)):
            mark = draw(st.sampled_from(["", "", "", "\ufeff"]))
            files[name] = (mark + draw(toml_texts() if name.endswith(".toml") else json_texts())).encode()
    if host == "claude" and draw(st.booleans()):
        files[EXCLUDE] = draw(IGNORE_TEXTS).encode()
    return files


def everything(folder: Path) -> dict[str, bytes | None]:
    """Return the bytes of each file and, as None, the folders, except those of the state."""
    found: dict[str, bytes | None] = {}
    for path in sorted(folder.rglob("*")):
        if "state" not in path.parts:
            found[str(path)] = path.read_bytes() if path.is_file() else None
    return found


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    for variable in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")  # no language servers are offered
    yield monkeypatch


class Machine:
    """A home, a project and a state folder of their own."""

    def __init__(self, environment: pytest.MonkeyPatch) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=IN_MEMORY))
        self.home, self.project = self.folder / "h", self.folder / "p"
        for folder in (self.home, self.project, self.folder / "state"):
            folder.mkdir(mode=0o700)
        environment.setenv("HOME", str(self.home))
        environment.setenv("XDG_STATE_HOME", str(self.folder / "state"))
        environment.setenv("FILEOPS_SOCKET", str(self.folder / "state" / "a.sock"))

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder)

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def run(self, host: str, *options: str, folder: Path | None = None) -> int:
        where = ["--directory", str(folder or self.project)]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
            status = cli.main(["mcp", "config", host, *options, "--yes", *where])
        assert (status == 0) == (errors.getvalue() == "")
        return status


@pytest.mark.parametrize("host", FILES)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data(), replaces=st.booleans())
def test_removal_restores_every_byte(
    environment: pytest.MonkeyPatch, host: str, data: st.DataObject, replaces: bool
) -> None:
    files = data.draw(documents(host))
    with Machine(environment) as machine:
        machine.put(files)
        before = everything(machine.folder)
        written = machine.run(host, "--write", *(["--replace"] if replaces else []))
        assert written in {0, 1}
        if written == 0:
            assert machine.run(host, "--write") == 0
            assert machine.run(host, "--remove") == 0
        assert everything(machine.folder) == before


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=json_texts(), order=st.permutations(["a", "b", "c"]))
def test_projects_that_share_a_file_are_removed_in_any_order(
    environment: pytest.MonkeyPatch, text: str, order: list[str]
) -> None:
    with Machine(environment) as machine:
        projects = {name: machine.folder / name for name in order}
        for project in projects.values():
            project.mkdir()
        machine.put({"h/.claude.json": text.encode()})
        before = everything(machine.folder)
        written = {name for name in sorted(order) if machine.run("claude", "--write", folder=projects[name]) == 0}
        for n, name in enumerate(order, 1):
            assert machine.run("claude", "--remove", folder=projects[name]) in ({0} if name in written else {0, 1})
            left = (machine.home / ".claude.json").read_text()
            assert all(f'"{projects[other]}"' in left for other in order[n:] if other in written)
        assert everything(machine.folder) == before
