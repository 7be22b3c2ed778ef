"""When the user is asked, and what their answer makes of a proposal."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fileops.core.approval import needs_decision
from fileops.core.roots import Roots
from fileops.core.splices import apply
from fileops.core.text import decode, detect_format
from fileops.core.whole_text import splices_to_text
from fileops.model.errors import NotEncodable
from fileops.model.files import Snapshot, Stamp, Text
from fileops.model.settings import ApprovalMode

ROOTS = Roots(("/home/u/project",))


def standing(path: str, n_links: int = 1) -> Snapshot:
    stamp = Stamp(dev=1, ino=1, size_bytes=0, mtime_ns=0, ctime_ns=0, mode=0o100644, uid=0, gid=0, n_links=n_links)
    return Snapshot(path=path, stamp=stamp, data=b"", taken_ns=0)


@pytest.mark.parametrize(
    ("mode", "can_ask", "path", "expected"),
    [
        ("default", True, "/home/u/project/a.py", True),
        ("default", False, "/home/u/project/.env", False),
        ("auto_edit", True, "/home/u/project/a.py", False),
        ("auto_edit", True, "/home/u/project/.env.local", True),
        ("yolo", True, "/home/u/project/.git/hooks/pre-commit", False),
    ],
)
def test_mode_decides_whether_approval_is_required(mode: ApprovalMode, can_ask: bool, path: str, expected: bool):
    assert needs_decision(mode, standing(path), ROOTS, can_ask) is expected


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", "sub/.git/hooks/x", ".GIT/config", ".git", ".vscode/tasks.json", ".idea/a/b.xml",
        ".github/workflows/ci.yml", ".env", ".envrc", "deep/.env.production", ".bashrc", ".zshenv", ".vimrc",
        ".config/nvim/init.lua", ".config/fish/config.fish", ".profile",
        ".claude/settings.json", "sub/.claude/hooks/check.sh", ".Claude/Settings.JSON", ".claude.json", ".mcp.json",
        ".MCP.json", ".codex/config.toml", ".gemini/policies/a.toml", "opencode.json", "opencode.jsonc",
        ".opencode/plugin/a.ts", ".config/opencode/opencode.json", ".cursor/rules/a.mdc", ".zed/tasks.json",
        ".config/zed/settings.json", ".devcontainer/devcontainer.json", ".devcontainer.json", ".husky/pre-commit",
        ".claude/worktrees/a/.claude/settings.json", ".claude/worktrees/a/.git", ".git/.claude/worktrees/a/b",
    ],
)  # fmt: skip
def test_protected_paths_require_approval_in_auto_edit(path: str):
    assert needs_decision("auto_edit", standing(f"/home/u/project/{path}"), ROOTS, True)
    assert needs_decision("auto_edit", standing(f"/elsewhere/{path}"), None, True)


@pytest.mark.parametrize(
    "path",
    [
        ".github/dependabot.yml", "git/config", "my.env", ".gitignore", "workflows/ci.yml", "environment",
        "AGENTS.md", "CLAUDE.md", "sub/CLAUDE.md", "claude/a.py", "mcp.json", "hooks/use.ts", "src/hooks.json",
        ".claude/worktrees/fix/src/a.py", ".codex/worktrees/1/project/a.py", ".cursor/worktrees/p/1/a.py",
        ".gemini/worktrees/fix/a.py",
    ],
)  # fmt: skip
def test_other_paths_are_not_protected(path: str):
    assert not needs_decision("auto_edit", standing(f"/home/u/project/{path}"), ROOTS, True)


@pytest.mark.parametrize(("mode", "expected"), [("default", True), ("auto_edit", True), ("yolo", False)])
def test_hard_linked_file_requires_approval(mode: ApprovalMode, expected: bool):
    assert needs_decision(mode, standing("/home/u/project/a.py", n_links=2), ROOTS, True) is expected


def test_new_file_requires_no_approval_in_auto_edit():
    nothing = Snapshot(path="/home/u/project/a.py", stamp=None, data=b"", taken_ns=0)
    assert not needs_decision("auto_edit", nothing, ROOTS, True)


def test_workspace_below_a_protected_folder_is_not_protected_as_a_whole():
    roots = Roots(("/home/u/.vscode/extensions/mine",))
    assert not needs_decision("auto_edit", standing("/home/u/.vscode/extensions/mine/a.ts"), roots, True)
    assert needs_decision("auto_edit", standing("/home/u/.vscode/settings.json"), roots, True)


# --- a person's own text ---------------------------------------------------------------------------------


def modified(data: bytes, person_text: str) -> bytes:
    return apply(data, splices_to_text(Text(data=data, format=detect_format(data)), person_text))


@pytest.mark.parametrize(
    ("data", "person_text", "expected"),
    [
        pytest.param(b"a\nb\n", "a\nB\n", b"a\nB\n", id="one line"),
        pytest.param(b"a\r\nb\r\n", "a\nB\nc\n", b"a\r\nB\r\nc\r\n", id="line ends of the file"),
        pytest.param(b"a\r\nb\nc\r\n", "a\nb\nc\n", b"a\r\nb\nc\r\n", id="mixed line ends stay"),
        pytest.param(b"a\r\nb\nc", "x\na\nb\nc", b"x\r\na\r\nb\nc", id="new first line"),
        pytest.param(b"a\nb", "a\nb\n", b"a\nb\n", id="final newline added"),
        pytest.param(b"a\r\nb", "a\nb\n", b"a\r\nb\r\n", id="final newline as the file's"),
        pytest.param(b"a\nb\n", "a\nb", b"a\nb", id="final newline removed"),
        pytest.param(b"a\nb\nc\n", "a\nc\n", b"a\nc\n", id="line removed"),
        pytest.param(b"a\nb\n", "", b"", id="all removed"),
        pytest.param(b"", "x\r\ny\n", b"x\r\ny\n", id="nothing stood: as given"),
        pytest.param(b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n", id="BOM stays"),
        pytest.param(b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n", id="BOM is not doubled"),
        pytest.param(b"\xe9\nb\n", "\ufffd\nc\n", b"\xe9\nc\n", id="invalid bytes of another line"),
        pytest.param(b"x \xe9 y\n", "x \ufffd z\n", b"x \xe9 z\n", id="invalid bytes of the same line"),
        pytest.param(b"q\nx \xe9 y\n", "x \ufffd z\n", b"x \xe9 z\n", id="invalid bytes, fewer lines"),
        pytest.param(b"a\rb\nc\n", "a\rb\nd\n", b"a\rb\nd\n", id="lone carriage return is content"),
        pytest.param(
            b"\xff\xfe" + "a\r\n\u0a0a\r\n".encode("utf-16-le"), "a\n\u0a0a!\nb\n",
            b"\xff\xfe" + "a\r\n\u0a0a!\r\nb\r\n".encode("utf-16-le"), id="UTF-16",
        ),
    ],
)  # fmt: skip
def test_modified_text_keeps_other_bytes(data: bytes, person_text: str, expected: bytes):
    assert modified(data, person_text) == expected


def test_modified_text_that_cannot_be_encoded_is_refused():
    with pytest.raises(NotEncodable) as refusal:
        modified(b"a\n", "\ud800\n")
    assert refusal.value.characters == "\ud800"


LINES = st.lists(st.sampled_from([b"", b"a", b"b", b"x \xe9 y", "é😀".encode(), b"\r"]), min_size=1, max_size=6)
ENDS = st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=6, max_size=6)


@given(LINES, ENDS, st.text(alphabet="abxy \n\r\ufffdé", max_size=20))
@example([b"\r", b"a"], [b"\n"] * 6, "\r\r\n")
def test_modified_text_reads_back_as_written(lines: list[bytes], ends: list[bytes], person_text: str):
    data = b"".join(part for pair in zip(lines, ends, strict=False) for part in pair)
    result = modified(data, person_text)

    def lf(text: str) -> list[str]:
        return text.replace("\r\n", "\n").split("\n")

    assert lf(decode(result, detect_format(result))) == lf(person_text)


@given(LINES, ENDS)
def test_modified_text_equal_to_the_shown_one_changes_nothing(lines: list[bytes], ends: list[bytes]):
    data = b"".join(part for pair in zip(lines, ends, strict=False) for part in pair)
    assert splices_to_text(Text(data=data, format=detect_format(data)), decode(data, detect_format(data))) == ()
