"""Which folders are roots, in which order they are looked for, and what sessions are called."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from fileops.mcp.host_sessions import HostSessions
from fileops.mcp.roots import ClientRoots, find_fixed_roots, is_usable, roots_of_answer
from fileops.model.sessions import SessionName
from fileops.rpc.outgoing import OutgoingRequests


@pytest.mark.parametrize(
    ("given", "project", "roots"),
    [
        (["/a", "/b"], "/c", ["/a", "/b"]),
        ([], "/c", ["/c"]),
        ([], "c", None),
        ([], None, None),
    ],
)
def test_roots_come_from_the_options_or_claudes_project(
    given: list[str], project: str | None, roots: list[str] | None
) -> None:
    assert find_fixed_roots(given, {} if project is None else {"CLAUDE_PROJECT_DIR": project}) == roots


ANSWERS: list[tuple[object, list[str] | None]] = [
    ({"roots": [{"uri": "file:///w/a%20b", "name": "a"}, {"uri": "file:///w/c"}]}, ["/w/a b", "/w/c"]),
    ({"roots": [{"uri": "https://host/w"}, {"uri": "file:///w"}]}, ["/w"]),
    ({"roots": [{"uri": "https://host/w"}]}, []),
    ({"roots": []}, []),
    ({"roots": [{}]}, None),
    ({}, None),
    (None, None),
]


@pytest.mark.parametrize(("answer", "roots"), ANSWERS)
def test_roots_of_the_client_are_local_folders(answer: object, roots: list[str] | None) -> None:
    assert roots_of_answer(answer) == roots


async def turns_of_the_loop() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_roots_that_were_named_last_count_however_long_the_disk_takes_for_those_before() -> None:
    answers: list[list[str]] = [["/first"], ["/slow"], []]
    is_asked, goes_on = asyncio.Event(), asyncio.Event()

    def answer(message: dict[str, object]) -> None:
        reply: dict[str, object] = {"result": {"roots": [{"uri": f"file://{path}"} for path in answers.pop(0)]}}
        asyncio.get_running_loop().call_soon(outgoing.handle_reply, message["id"], reply)

    async def on_disk(work: Callable[[], list[str]]) -> list[str]:
        found = work()
        if "/slow" in found:
            is_asked.set()
            await goes_on.wait()
        return found

    outgoing = OutgoingRequests(answer, lambda: None, lambda _msg_id: {})
    named: list[list[str]] = []
    roots = ClientRoots(None, {}, None, lambda: outgoing, lambda found: named.append(list(found)), on_disk)
    await roots.wait_until_known(asks=True)
    roots.find_again()
    await is_asked.wait()
    roots.find_again()
    await turns_of_the_loop()
    assert not answers
    goes_on.set()
    await turns_of_the_loop()
    await roots.wait_until_known(asks=True)
    assert (roots.folders, named[-1]) == ([], [])


def test_home_its_parents_and_links_to_it_are_not_usable_as_roots(tmp_path: Path) -> None:
    home = tmp_path / "home" / "ada"
    (home / "project").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    environ = {"HOME": str(home)}
    usable = [str(home / "project"), str(tmp_path / "link" / "project"), str(tmp_path / "home" / "adalbert")]
    unusable = ["/", str(home), str(home.parent), str(tmp_path / "link"), f"{home}/project/.."]
    assert [is_usable(folder, environ) for folder in usable] == [True] * 3
    assert [is_usable(folder, environ) for folder in unusable] == [False] * 5


@pytest.mark.parametrize(
    ("given", "environ", "host", "meta", "name"),
    [
        (None, {}, None, {}, "mcp-1"),
        (None, {}, "Claude Code!", {}, "claude-code-1"),
        (None, {}, "x" * 100, {}, "x" * 24 + "-1"),
        (None, {}, "???", {}, "mcp-1"),
        (None, {"CLAUDE_CODE_SESSION_ID": "af9f"}, "claude-code", {}, "claude-code:af9f"),
        ("mine", {"CLAUDE_CODE_SESSION_ID": "af9f"}, "claude-code", {}, "claude-code:mine"),
        (
            None,
            {"CLAUDE_CODE_SESSION_ID": "inherited", "COPILOT_AGENT_SESSION_ID": "c1"},
            "copilot-cli",
            {},
            "copilot-cli:c1",
        ),
        (
            None,
            {"CLAUDE_CODE_SESSION_ID": "af9f", "COPILOT_AGENT_SESSION_ID": "inherited"},
            "claude-code",
            {},
            "claude-code:af9f",
        ),
        ("mine", {}, "codex", {"threadId": "t1"}, "codex:t1"),
        (None, {}, "codex", {"threadId": 3}, "codex-1"),
    ],
)
def test_session_is_named_after_its_host_and_its_id(
    given: str | None, environ: dict[str, str], host: str | None, meta: dict[str, object], name: str
) -> None:
    names = HostSessions(given, environ)
    names.note_host(host)
    assert names.session_of(meta) == name
    names.note_host("another")
    assert names.session_of(meta) == name


def test_sessions_of_a_host_are_those_of_its_calls() -> None:
    """R-HUB-1: an agent sees and undoes only its own sessions' edits, over MCP too."""
    names = HostSessions(None, {})
    names.note_host("codex")
    threads = [names.session_of({"threadId": thread}) for thread in ("A", "B/x")]
    others = [SessionName(name) for name in ("codex:B", "codex:AA", "codex-1")]
    assert all(names.is_own(name) for name in (*threads, SessionName("codex:A/x")))
    assert not any(names.is_own(name) for name in others)
    assert names.is_own(names.session_of({}))
