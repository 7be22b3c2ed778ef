"""The first lines of both sides, as tables (R-ATT-1, R-ATT-2). When they arrive is tested with the listener."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from fileops import attach
from fileops.attach import handshake
from fileops.attach.handshake import AttachMismatch, AttachRequest, BadRequest, ControlRequest

FULL = AttachRequest(
    version="0.5.0",
    protocol="mcp",
    role="agent",
    host="claude-code",
    cwd="/p/sub",
    roots=("/p", "/q"),
    session="mine",
    hints={"session": "af9f", "project": "/p", "markers": ["CLAUDECODE"]},
    options={"approve": "ask"},
    pid=4711,
    umask=0o027,
)
LEAST: dict[str, Any] = {
    "fileops_attach": 1, "version": "0.5.0", "protocol": "lsp", "role": "editor", "host": "nvim", "cwd": "/p",
}  # fmt: skip


def line(**changes: Any) -> bytes:
    return json.dumps({**LEAST, **changes}).encode() + b"\n"


def test_attachment_arrives_as_it_was_sent() -> None:
    sent = handshake.attach_line(FULL)
    assert sent.count(b"\n") == 1
    assert handshake.parse_request(sent) == FULL


def test_folder_with_non_utf8_name_arrives_as_it_was_sent() -> None:
    attachment = FULL._replace(cwd="/p/\udce9")
    assert handshake.parse_request(handshake.attach_line(attachment)) == attachment


@pytest.mark.parametrize("umask", ["022", -1, 0o1000, True, 1.5])
def test_umask_that_is_none_is_refused(umask: object) -> None:
    with pytest.raises(BadRequest, match="umask"):
        handshake.parse_request(line(umask=umask))


def test_optional_keys_have_defaults_and_unknown_ones_are_ignored() -> None:
    expected = AttachRequest(version="0.5.0", protocol="lsp", role="editor", host="nvim", cwd="/p")
    assert handshake.parse_request(line(of_the_future={"a": 1})) == expected
    assert handshake.parse_request(line(roots=None, session=None, hints=None, options=None, pid=None)) == expected


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"", "not a request"),
        (b"GET / HTTP/1.1\n", "not a request"),
        (b"[1]\n", "not a request"),
        (b"[" * 60_000, "not a request"),
        (b"\xff\xfe\n", "not a request"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}\n', "not a request"),
        (line(protocol="http"), "protocol must be one of lsp, mcp"),
        (line(role="root"), "role must be one of editor, agent"),
        (line(role=None), "role"),
        (line(version=5), "version must be a text"),
        (line(version="banana"), "version must be a number, such as 1.0.0"),
        (line(host="x" * 5000), "host"),
        (line(cwd="p"), "cwd must be an absolute path"),
        (line(cwd="/p\0q"), "cwd"),
        (line(roots="/p"), "roots must be a list"),
        (line(roots=["/p", 3]), "roots must be an absolute path"),
        (line(hints=[]), "hints must be an object"),
        (line(session={}), "session"),
        (line(protocol="control", command="explode"), "command must be one of"),
    ],
)
def test_malformed_line_is_refused_with_the_reason(bad: bytes, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        handshake.parse_request(bad)


@pytest.mark.parametrize("attach_version", [0, 2, "1", None, True + 1])
def test_line_of_another_attach_version_is_a_mismatch(attach_version: object) -> None:
    with pytest.raises(AttachMismatch):
        handshake.parse_request(line(fileops_attach=attach_version, protocol="of the future"))


def test_control_request_is_understood_in_any_attach_version() -> None:
    sent = json.loads(handshake.control_line("stop", now=True))
    request = handshake.parse_request(json.dumps({**sent, "fileops_attach": 99}).encode())
    assert isinstance(request, ControlRequest)
    assert (request.command, request.params["now"]) == ("stop", True)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("claude-code", "claude-code"),
        ("Visual Studio Code", "visual-studio-code"),
        ("Code - OSS", "code-oss"),
        ("../../etc", "etc"),
        ("x" * 80, "x" * 18),
        ("a-very-long-program- name", "a-very-long-progra"),
        ("漢字", "client"),
        ("", "client"),
    ],
)
def test_name_of_a_host_is_reduced_to_plain_characters(program: str, name: str) -> None:
    assert handshake.host_of(program) == name


def test_only_the_hints_of_the_environment_are_sent() -> None:
    environ = {"CLAUDE_CODE_SESSION_ID": "s", "OPENCODE": "1", "GEMINI_CLI": "", "TOKEN": "secret", "PATH": "/bin"}
    assert handshake.hints_of(environ) == {"session": "s", "markers": ["OPENCODE"]}


def test_answer_and_refusal_are_distinguished() -> None:
    assert handshake.parse_answer(handshake.answer_line("nvim-1")).is_ok
    refused = handshake.parse_answer(handshake.refusal_line("full", "64 clients are connected."))
    assert (refused.is_ok, refused.reason, refused.message) == (False, "full", "64 clients are connected.")
    for bad in (b"", b"{}", b'{"ok": 1}', b"Content-Length: 3\r\n"):
        with pytest.raises(BadRequest):
            handshake.parse_answer(bad)


@pytest.mark.parametrize("path", sorted(Path(attach.__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_room_imports_only_the_standard_library_and_itself(path: Path) -> None:
    import sys

    roots = {"fileops", *sys.stdlib_module_names}
    heavy = {"asyncio", "dataclasses", "inspect", "logging", "pathlib", "subprocess", "tempfile", "threading"}
    named: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            named.add(node.module.split(".")[0])
    assert named <= roots
    assert named.isdisjoint(heavy)  # each of them costs milliseconds at every start of an agent
