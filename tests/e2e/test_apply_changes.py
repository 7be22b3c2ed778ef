"""Change sets over the wire: `fileops/applyChanges`, its review, and its undo (R-SET-1 to R-SET-7)."""

import os
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from fileops.fs.local.set_journal import SetJournal, SetRecord, SetStep
from fileops.model.digest import content_digest
from fileops_client import FileOpsClient, create_file, edit_file, rename_file
from support.editor_client import answer, editor_client
from support.mcp_client import mcp_client, texts_of
from support.rawclient import RawClient, raw_client
from support.shared_daemon import LspClient, Refused, SharedDaemon, shared_daemon

LISTS = {"experimental": {"fileops": {"reviews": True}}}
CHANGED = "fileops/didChangeReviews"
BEFORE = {"a": "text of a\n", "b": "text of b\n", "c": "text of c\n"}
AFTER = {"a": "TEXT of a\n", "inner/moved": "text of C\n", "made/new": "new\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "p"
    (folder / "inner").mkdir(parents=True)
    for name, content in BEFORE.items():
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def client(folder: Path) -> Iterator[RawClient]:
    with raw_client() as made:
        made.initialize(rootUri=folder.as_uri(), initializationOptions={"approval_mode": "yolo"})
        yield made


@pytest.fixture
async def daemon() -> AsyncGenerator[SharedDaemon]:
    async with shared_daemon() as running:
        yield running


def step(old: str, new: str) -> dict[str, str]:
    return {"old_string": old, "new_string": new}


def changes_in(folder: Path) -> list[dict[str, Any]]:
    """One change of each kind."""
    return [
        {"kind": "edit", "file_path": f"{folder}/a", "edits": [step("text", "TEXT")]},
        {"kind": "delete", "file_path": f"{folder}/b"},
        {
            "kind": "rename", "file_path": f"{folder}/c", "new_path": f"{folder}/inner/moved",
            "edits": [step("of c", "of C")],
        },
        {"kind": "create", "file_path": f"{folder}/made/new", "content": "new\n"},
    ]  # fmt: skip


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if not path.is_dir()}


def apply(client: RawClient, changes: list[dict[str, Any]], **more: object) -> Any:
    return client.result("fileops/applyChanges", {"changes": changes, **more})


def read_all(client: RawClient, folder: Path) -> None:
    for name in BEFORE:
        client.read(folder / name)


def code_of(result: Any) -> str | None:
    return None if result["error"] is None else result["error"]["code"]


def test_set_of_each_kind_is_applied(client: RawClient, folder: Path) -> None:
    read_all(client, folder)
    result = apply(client, changes_in(folder))
    assert contents(folder) == AFTER
    details = result["details"]
    assert [file["operation"] for file in details["files"]] == ["modify", "delete", "rename", "create"]
    assert details["files"][2]["new_path"] == f"{folder}/inner/moved"
    assert details["files"][0]["ui_extra"]["stats"] == {"added": 1, "removed": 1}
    assert result["output"] == (
        "Applied 4 changes together:\n"
        f"1. edited {folder}/a: 1 line added, 1 removed\n"
        f"2. deleted {folder}/b\n"
        f"3. renamed {folder}/c to {folder}/inner/moved: 1 line added, 1 removed\n"
        f"4. created {folder}/made/new: 1 line"
    )
    # The session knows all that it has written.
    again = apply(client, [{"kind": "edit", "file_path": f"{folder}/inner/moved", "edits": [step("of C", "of d")]}])
    assert code_of(again) is None
    assert details["set_id"] != again["details"]["set_id"]


def test_dry_run_writes_nothing(client: RawClient, folder: Path) -> None:
    read_all(client, folder)
    result = apply(client, changes_in(folder), dry_run=True)
    assert (result["details"]["dry_run"], result["details"]["set_id"]) == (True, None)
    assert contents(folder) == BEFORE


# R-ANS-10
def test_failing_changes_are_answered_with_what_to_send_instead(client: RawClient, folder: Path) -> None:
    for name in ("a", "c"):
        client.read(folder / name)
    changes = [
        {"kind": "edit", "file_path": f"{folder}/a", "edits": [step("  text of a", "x")]},
        {"kind": "edit", "file_path": f"{folder}/c", "edits": [step("  text of c", "x")]},
    ]
    details = apply(client, changes)["details"]
    (suggestion,) = details["suggestions"]
    assert (suggestion["kind"], suggestion["old_string"]) == ("similar", "text of a")
    assert [text.partition(":")[0] for text in details["suggestion_texts"]] == ["Change 1", "Change 2"]
    assert "shown" not in details
    changes[0]["edits"] = [step(suggestion["old_string"], "A")]
    changes[1]["edits"] = [step("text of c", "C")]
    assert apply(client, changes)["status"] == "success"


# R-SET-3
def test_first_failure_is_the_answer_and_all_others_are_named(client: RawClient, folder: Path) -> None:
    client.read(folder / "a")
    changes = changes_in(folder)
    changes[0]["edits"] = [step("nowhere", "x")]
    result = apply(client, changes)
    assert contents(folder) == BEFORE
    assert code_of(result) == "no_match"
    assert result["details"]["change_index"] == 0
    assert [(problem["change_index"], problem["code"]) for problem in result["details"]["problems"]] == [
        (1, "not_read"), (2, "not_read"),
    ]  # fmt: skip
    assert f"It was change 1, {folder}/a. No file was changed." in result["output"]


# R-SET-3
def test_changes_that_do_not_fit_together_are_named_beside_one_that_fails(client: RawClient, folder: Path) -> None:
    client.read(folder / "a")
    twice = {"kind": "edit", "file_path": f"{folder}/a", "edits": [step("text", "TEXT")]}
    result = apply(client, [twice, {"kind": "delete", "file_path": f"{folder}/b"}, twice])
    assert (code_of(result), result["details"]["change_index"]) == ("not_read", 1)
    (other,) = result["details"]["problems"]
    assert (other["change_index"], other["code"]) == (2, "set_unsupported")


# R-SET-1
def test_rename_of_a_large_file_is_no_new_content(client: RawClient, folder: Path) -> None:
    (folder / "large").write_bytes(b"first\n" + b"x\n" * (9 << 20))
    client.result("fileops/read", {"file_path": f"{folder}/large", "limit": 1})
    rename = {"kind": "rename", "file_path": f"{folder}/large", "new_path": f"{folder}/moved"}
    edited = apply(client, [{**rename, "edits": [step("first", "FIRST")]}])
    assert code_of(edited) == "set_unsupported"
    assert code_of(apply(client, [rename])) is None
    assert ((folder / "moved").stat().st_size, (folder / "large").exists()) == ((18 << 20) + 6, False)


# R-SET-1, R-SET-2
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"kind": "create", "file_path": "b", "content": "x"}, "already_exists"),
        ({"kind": "rename", "file_path": "c", "new_path": "b"}, "already_exists"),
        ({"kind": "delete", "file_path": "inner"}, "set_unsupported"),
        ({"kind": "delete", "file_path": "missing"}, "not_found"),
        ({"kind": "delete", "file_path": "a"}, "set_unsupported"),
        ({"kind": "delete", "file_path": "link to a"}, "set_unsupported"),
        ({"kind": "rename", "file_path": "c", "new_path": "a/below"}, "set_unsupported"),
        ({"kind": "delete", "file_path": "linked"}, "set_unsupported"),
        ({"kind": "create", "file_path": "../outside", "content": "x"}, "outside_roots"),
        ({"kind": "rename", "file_path": "c", "new_path": "../outside"}, "outside_roots"),
    ],
)
def test_change_that_cannot_be_made_refuses_the_set(
    client: RawClient, folder: Path, change: dict[str, str], code: str
) -> None:
    (folder / "link to a").symlink_to(folder / "a")
    (folder / "linked").write_text("x\n")
    os.link(folder / "linked", folder / "its other name")
    read_all(client, folder)
    client.read(folder / "linked")
    before = contents(folder)
    for key in ("file_path", "new_path"):
        if key in change:
            change = {**change, key: f"{folder}/{change[key]}"}
    result = apply(client, [changes_in(folder)[0], change])
    assert code_of(result) == code
    assert contents(folder) == before


def test_stale_file_refuses_the_set(client: RawClient, folder: Path) -> None:
    read_all(client, folder)
    (folder / "b").write_text("changed by another program\n")
    result = apply(client, changes_in(folder))
    assert (code_of(result), result["details"]["change_index"]) == ("modified_externally", 1)
    assert (folder / "a").read_text() == BEFORE["a"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"kind": "edit", "file_path": "/a"}, ".edits"),
        ({"kind": "create", "file_path": "/a"}, ".content"),
        ({"kind": "rename", "file_path": "/a"}, ".new_path"),
        ({"kind": "delete", "file_path": "/a", "content": ""}, ".content"),
    ],
)
def test_change_with_other_keys_is_refused(client: RawClient, change: dict[str, str], place: str) -> None:
    error = client.error("fileops/applyChanges", {"changes": [change]})
    assert error["code"] == -32602
    assert f"$.changes[0]{place}" in str(error)


def test_too_many_changes_are_refused(client: RawClient, folder: Path) -> None:
    changes = [{"kind": "create", "file_path": f"{folder}/new{n}", "content": "x"} for n in range(65)]
    assert code_of(apply(client, changes)) == "set_unsupported"
    assert contents(folder) == BEFORE
    assert code_of(apply(client, changes[:64])) is None
    assert len(contents(folder)) == 64 + len(BEFORE)


# --- R-SET-4: one review ------------------------------------------------------------------------------------------


async def asked(daemon: SharedDaemon, folder: Path) -> tuple[LspClient, Any, Any]:
    """An agent's set that waits in an editor: the view, the review, and the call."""
    view = await daemon.lsp("editor", "nvim")
    await view.initialize(folder, capabilities=LISTS, options={"review_grace_s": 0, "ask": "each_edit"})
    agent = await daemon.agent(folder, host="bot")
    for name in BEFORE:
        await agent.read(folder / name)
    call = agent.start("fileops/applyChanges", {"changes": changes_in(folder), "description": "Tidy up"})
    changed = await view.notification(CHANGED, lambda params: bool(params["opened"]))
    return view, changed["opened"][0], call


async def decide(view: LspClient, review: Any, outcome: str, **more: Any) -> Any:
    return await view.call("fileops/decideReview", {"review_id": review["review_id"], "outcome": outcome, **more})


async def test_set_is_one_review_that_is_accepted(daemon: SharedDaemon, folder: Path) -> None:
    view, review, call = await asked(daemon, folder)
    assert "file_path" not in review
    assert [(file["operation"], len(file["changes"])) for file in review["files"]] == [
        ("modify", 1), ("delete", 1), ("rename", 1), ("create", 1),
    ]  # fmt: skip
    assert review["files"][2]["new_path"] == f"{folder}/inner/moved"
    assert review["description"].startswith("Tidy up\n")
    decided = await decide(view, review, "accept")
    assert (decided["state"], decided["error"]) == ("decided", None)
    assert contents(folder) == AFTER
    assert code_of(await call) is None


async def test_set_is_rejected_as_a_whole(daemon: SharedDaemon, folder: Path) -> None:
    view, review, call = await asked(daemon, folder)
    await decide(view, review, "reject", reason="Not now.")
    result = await call
    assert code_of(result) == "rejected"
    assert "Not now." in result["output"]
    assert contents(folder) == BEFORE


async def test_user_leaves_one_file_out_and_writes_another_text(daemon: SharedDaemon, folder: Path) -> None:
    view, review, call = await asked(daemon, folder)
    files: list[dict[str, Any]] = [
        {"file_path": f"{folder}/a", "text": "typed\n"},
        {"file_path": f"{folder}/b", "change_ids": []},
    ]
    await decide(view, review, "modify", files=files, reason="Use b.")
    result = await call
    assert contents(folder) == {**AFTER, "a": "typed\n", "b": BEFORE["b"]}
    assert result["output"].endswith("\nThe user's reason: Use b.")
    assert result["details"]["dropped"] == [f"{folder}/b"]
    assert [file["modified_by_user"] for file in result["details"]["files"]] == [True, False, False]
    assert f"The user left {folder}/b out; it is as it was." in result["output"]


MALFORMED: list[dict[str, Any]] = [
    {"outcome": "modify", "text": "x"},
    {"outcome": "accept", "change_ids": ["1"]},
    {"outcome": "accept", "files": [{"file_path": "elsewhere"}]},
    {"outcome": "accept", "files": [{"file_path": "b", "change_ids": []}]},
    {"outcome": "accept", "files": [{"file_path": "a", "text": "x"}]},
    {"outcome": "modify", "files": [{"file_path": "b", "text": "x"}]},
    {"outcome": "modify", "files": [{"file_path": "a", "change_ids": ["unknown"]}]},
    {"outcome": "reject", "files": []},
]


@pytest.mark.parametrize("decision", MALFORMED)
async def test_malformed_decision_decides_nothing(daemon: SharedDaemon, folder: Path, decision: dict[str, Any]) -> None:
    view, review, call = await asked(daemon, folder)
    for file in decision.get("files", ()):
        file["file_path"] = f"{folder}/{file['file_path']}"
    with pytest.raises(Refused) as refused:
        await view.call("fileops/decideReview", {"review_id": review["review_id"], **decision})
    assert refused.value.args[0] == -32602
    assert contents(folder) == BEFORE
    await decide(view, review, "reject")
    assert code_of(await call) == "rejected"


async def test_file_that_changed_elsewhere_is_merged(daemon: SharedDaemon, folder: Path) -> None:
    """R-REV-8: a decision holds for what was shown."""
    (folder / "a").write_text("text of a\n" + "line\n" * 10 + "end\n")
    view, review, call = await asked(daemon, folder)
    (folder / "a").write_text("text of a\n" + "line\n" * 10 + "another end\n")
    await decide(view, review, "accept")
    assert code_of(await call) is None
    assert (folder / "a").read_text() == "TEXT of a\n" + "line\n" * 10 + "another end\n"


async def test_deleted_file_that_changed_is_asked_about_again(daemon: SharedDaemon, folder: Path) -> None:
    view, review, call = await asked(daemon, folder)
    (folder / "b").write_text("changed by another program\n")
    decided = await decide(view, review, "accept")
    assert decided["reason"] == "reopened"
    assert contents(folder) == {**BEFORE, "b": "changed by another program\n"}
    again = (await view.call("fileops/reviews"))["reviews"][0]
    assert (again["review_id"], again["revision"]) == (review["review_id"], 2)
    assert again["files"][1]["previous"]["reason"] == "near"
    await decide(view, again, "accept")
    assert code_of(await call) is None
    assert contents(folder) == AFTER


async def test_rename_that_is_asked_about_again_is_still_a_rename(daemon: SharedDaemon, folder: Path) -> None:
    """Of its two changes the user has dropped one, which stays dropped."""
    text = "first\n" + "line\n" * 10 + "last\n"
    (folder / "a").write_text(text)
    view = await daemon.lsp("editor", "nvim")
    await view.initialize(folder, capabilities=LISTS, options={"review_grace_s": 0, "ask": "each_edit"})
    agent = await daemon.agent(folder, host="bot")
    await agent.read(folder / "a")
    steps = [{"old_string": word, "new_string": word.upper()} for word in ("first", "last")]
    change = {"kind": "rename", "file_path": f"{folder}/a", "new_path": f"{folder}/moved", "edits": steps}
    call = agent.start("fileops/applyChanges", {"changes": [change]})
    review = (await view.notification(CHANGED, lambda params: bool(params["opened"])))["opened"][0]
    (file,) = review["files"]
    (folder / "a").write_text(text.replace("last\n", "last\ntheirs\n"))
    chosen = {"file_path": file["file_path"], "change_ids": [file["changes"][1]["id"]]}
    assert (await decide(view, review, "accept", files=[chosen]))["reason"] == "reopened"
    (again,) = (await view.call("fileops/reviews"))["reviews"]
    (asked_again,) = again["files"]
    assert asked_again["operation"] == "rename"
    assert asked_again["new_path"] == f"{folder}/moved"
    assert asked_again["proposed_text"] == text.replace("last\n", "LAST\ntheirs\n")
    await decide(view, again, "accept")
    assert code_of(await call) is None
    assert (folder / "moved").read_text() == text.replace("last\n", "LAST\ntheirs\n")
    assert not (folder / "a").exists()


# --- R-SET-6: history and undo ------------------------------------------------------------------------------------


def undo(client: RawClient, **params: object) -> Any:
    return client.result("fileops/undo", params)


def test_undo_of_a_set_brings_everything_back(client: RawClient, folder: Path) -> None:
    (folder / "b").chmod(0o755)
    read_all(client, folder)
    set_id = apply(client, changes_in(folder))["details"]["set_id"]
    entries = client.result("fileops/history", {})["edits"]
    assert {entry["set_id"] for entry in entries} == {set_id}
    assert {entry["operation"] for entry in entries} == {"modify", "delete", "rename", "create"}
    result = undo(client, set_id=set_id)
    assert code_of(result) is None, result
    assert contents(folder) == BEFORE
    assert result["output"] == (
        "Undid 4 changes together:\n"
        f"1. removed {folder}/made/new\n"
        f"2. renamed {folder}/inner/moved to {folder}/c: 1 line added, 1 removed\n"
        f"3. restored {folder}/b\n"
        f"4. edited {folder}/a: 1 line added, 1 removed"
    )
    assert (folder / "b").stat().st_mode & 0o777 == 0o755
    again = undo(client, set_id=set_id)
    assert (code_of(again), again["details"]["reason"]) == ("undo_conflict", "already_undone")


@pytest.mark.parametrize("by", ["edit_id", "session_id"])
def test_undo_of_a_deletion_restores_the_permission_bits(client: RawClient, folder: Path, by: str) -> None:
    (folder / "b").chmod(0o750)
    client.read(folder / "b")
    details = apply(client, [{"kind": "delete", "file_path": f"{folder}/b"}])["details"]
    target = details["files"][0]["edit_id"] if by == "edit_id" else "default"
    assert code_of(undo(client, **{by: target})) is None
    assert (contents(folder), (folder / "b").stat().st_mode & 0o777) == (BEFORE, 0o750)
    undone = client.result("fileops/history", {"limit": 1})["edits"][0]["edit_id"]
    assert code_of(undo(client, edit_id=undone)) is None
    assert not (folder / "b").exists()


def test_undo_of_a_session_leaves_no_file_that_it_created_and_deleted(client: RawClient, folder: Path) -> None:
    apply(client, [{"kind": "create", "file_path": f"{folder}/made/new", "content": "new\n"}])
    apply(client, [{"kind": "delete", "file_path": f"{folder}/made/new"}])
    assert code_of(undo(client, session_id="default")) is None
    assert contents(folder) == BEFORE


def test_undo_of_a_set_keeps_what_others_wrote_since(client: RawClient, folder: Path) -> None:
    (folder / "c").write_text("text of c\n" + "line\n" * 5)
    read_all(client, folder)
    set_id = apply(client, changes_in(folder))["details"]["set_id"]
    (folder / "inner/moved").write_text("text of C\n" + "line\n" * 5 + "added\n")
    assert code_of(undo(client, set_id=set_id)) is None
    assert contents(folder) == {**BEFORE, "c": "text of c\n" + "line\n" * 5 + "added\n"}


@pytest.mark.parametrize("taken", ["b", "c", "made/new"])
def test_undo_of_a_set_that_conflicts_changes_nothing(client: RawClient, folder: Path, taken: str) -> None:
    read_all(client, folder)
    set_id = apply(client, changes_in(folder))["details"]["set_id"]
    (folder / taken).write_text("of another program\n")
    assert code_of(undo(client, set_id=set_id)) == "undo_conflict"
    assert contents(folder) == {**AFTER, taken: "of another program\n"}


def test_undo_of_an_unknown_set_is_a_conflict(client: RawClient) -> None:
    result = undo(client, set_id="unknown")
    assert (code_of(result), result["details"]["reason"]) == ("undo_conflict", "unknown_edit")


# R-SET-6, R-UNDO-5
async def test_agent_does_not_undo_the_set_of_another_one(daemon: SharedDaemon, folder: Path) -> None:
    agent, other = [await daemon.agent(folder, host=host) for host in ("bot", "other")]
    for name in BEFORE:
        await agent.read(folder / name)
    applied = await agent.call("fileops/applyChanges", {"changes": changes_in(folder)})
    set_id = applied["details"]["set_id"]
    for more in ({}, {"session_id": "bot-1:default"}, {"approved": True}):
        refused = await other.call("fileops/undo", {"set_id": set_id, **more})
        assert (code_of(refused), refused["details"]["reason"]) == ("undo_conflict", "unknown_edit")
    assert contents(folder) == AFTER
    assert code_of(await agent.call("fileops/undo", {"set_id": set_id})) is None
    assert contents(folder) == BEFORE


def test_undo_of_a_set_can_be_undone(client: RawClient, folder: Path) -> None:
    read_all(client, folder)
    undone = undo(client, set_id=apply(client, changes_in(folder))["details"]["set_id"])
    edit_id = undone["details"]["files"][0]["edit_id"]
    (entry,) = [entry for entry in client.result("fileops/history", {})["edits"] if entry["edit_id"] == edit_id]
    assert code_of(undo(client, set_id=entry["set_id"])) is None
    assert contents(folder) == AFTER


async def test_undo_of_a_set_can_be_undone_in_a_daemon_with_a_record(daemon: SharedDaemon, folder: Path) -> None:
    agent = await daemon.agent(folder, host="bot")
    for name in BEFORE:
        await agent.read(folder / name)
    applied = await agent.call("fileops/applyChanges", {"changes": changes_in(folder)})
    undone = await agent.call("fileops/undo", {"set_id": applied["details"]["set_id"]})
    assert (code_of(undone), contents(folder)) == (None, BEFORE)
    edit_id = undone["details"]["files"][0]["edit_id"]
    history = await agent.call("fileops/history", {})
    (entry,) = [entry for entry in history["edits"] if entry["edit_id"] == edit_id]
    assert code_of(await agent.call("fileops/undo", {"set_id": entry["set_id"]})) is None
    assert contents(folder) == AFTER


async def applied_before_a_view(daemon: SharedDaemon, folder: Path) -> tuple[LspClient, LspClient, str]:
    """An agent's set that was applied without a question; then an editor attaches. Returns the set's id too."""
    agent = await daemon.agent(folder, host="bot", options={"approval_mode": "yolo"})
    for name in BEFORE:
        await agent.read(folder / name)
    applied = await agent.call("fileops/applyChanges", {"changes": changes_in(folder)})
    await agent.call("fileops/setApprovalMode", {"mode": "default"})
    view = await daemon.lsp("editor", "nvim")
    await view.initialize(folder, capabilities=LISTS, options={"review_grace_s": 0, "ask": "each_edit"})
    return view, agent, applied["details"]["set_id"]


# R-SET-6
async def test_undo_of_a_set_is_one_review(daemon: SharedDaemon, folder: Path) -> None:
    view, agent, set_id = await applied_before_a_view(daemon, folder)
    call = agent.start("fileops/undo", {"set_id": set_id})
    changed = await view.notification(CHANGED, lambda params: bool(params["opened"]))
    (review,) = changed["opened"]
    assert review["title"].startswith("Undo 4 changes: ")
    assert [(file["operation"], file.get("new_path")) for file in review["files"]] == [
        ("delete", None), ("rename", f"{folder}/c"), ("create", None), ("modify", None),
    ]  # fmt: skip
    await decide(view, review, "accept")
    assert code_of(await call) is None
    assert contents(folder) == BEFORE


async def test_undo_of_a_set_is_rejected_as_a_whole(daemon: SharedDaemon, folder: Path) -> None:
    view, agent, set_id = await applied_before_a_view(daemon, folder)
    call = agent.start("fileops/undo", {"set_id": set_id})
    changed = await view.notification(CHANGED, lambda params: bool(params["opened"]))
    await decide(view, changed["opened"][0], "reject", reason="Not now.")
    result = await call
    assert (code_of(result), contents(folder)) == ("rejected", AFTER)
    assert "Not now." in result["output"]


async def test_user_leaves_a_file_out_of_the_undo_of_a_set(daemon: SharedDaemon, folder: Path) -> None:
    view, agent, set_id = await applied_before_a_view(daemon, folder)
    call = agent.start("fileops/undo", {"set_id": set_id})
    changed = await view.notification(CHANGED, lambda params: bool(params["opened"]))
    files: list[dict[str, Any]] = [
        {"file_path": f"{folder}/made/new", "change_ids": []},
        {"file_path": f"{folder}/a", "text": "typed\n"},
    ]
    await decide(view, changed["opened"][0], "modify", files=files, reason="Keep the new one.")
    result = await call
    assert code_of(result) is None, result
    assert result["output"].endswith("\nThe user's reason: Keep the new one.")
    assert contents(folder) == {**BEFORE, "a": "typed\n", "made/new": "new\n"}
    assert [file["file_path"] for file in result["details"]["files"]] == [
        f"{folder}/inner/moved", f"{folder}/b", f"{folder}/a",
    ]  # fmt: skip
    assert f"The user left {folder}/made/new out; it is as it was." in result["output"]


# --- R-SET-4: clients that keep no list of reviews --------------------------------------------------------------------


def ask(folder: Path, capabilities: dict[str, Any], answers: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The result of a set in a private daemon, and the questions, which are answered by their method and path."""
    with raw_client() as client:
        client.initialize(capabilities={"experimental": {"fileops": capabilities}}, rootUri=folder.as_uri())
        read_all(client, folder)
        msg_id = client.request("fileops/applyChanges", {"changes": changes_in(folder)})
        asked: list[Any] = []
        while True:
            message = client.claim(lambda message: message.get("id") == msg_id or "method" in message)
            if "method" not in message:
                return message["result"], asked
            if message["method"] == "fileops/confirmEdit":
                asked.append(message)
                path = message["params"].get("file_path", "")
                answer = answers.get(path.rpartition("/")[2], {"outcome": "proceed_once"})
                client.reply(message["id"], answer)


def test_client_that_knows_single_edits_is_asked_about_each_before_anything_is_written(folder: Path) -> None:
    result, asked = ask(folder, {"confirm_edit": True}, {"new": {"outcome": "cancel"}})
    assert [question["params"]["file_path"] for question in asked] == [
        f"{folder}/{name}" for name in ("a", "b", "c", "made/new")
    ]
    assert code_of(result) == "rejected"
    assert contents(folder) == BEFORE
    result, asked = ask(folder, {"confirm_edit": True}, {})
    assert (code_of(result), len(asked)) == (None, 4)
    assert contents(folder) == AFTER


def test_deletion_for_which_the_user_sends_another_text_rejects_the_set(folder: Path) -> None:
    result, _ = ask(folder, {"confirm_edit": True}, {"b": {"outcome": "modify", "text": "kept\n"}})
    assert code_of(result) == "rejected"
    assert contents(folder) == BEFORE


# R-SET-5
async def test_unsaved_documents_of_a_set_are_changed_by_one_request(folder: Path) -> None:
    async with editor_client(folder, "workspace/applyEdit") as editor:
        for name in ("a", "b"):
            editor.open(folder / name)
            editor.type(folder / name, "text", "typed text")
        for name in BEFORE:
            await editor.client.read(folder / name)
        steps = [edit_file(folder / name, ("text", "TEXT")) for name in BEFORE]
        applied = await editor.client.apply_changes(steps)
        assert applied.ok, applied.output
        (request,) = editor.applied
        changed = [change["textDocument"]["uri"] for change in request["edit"]["documentChanges"]]
        assert changed == [(folder / name).as_uri() for name in ("a", "b")]
        assert [editor.text(folder / name) for name in ("a", "b")] == ["typed TEXT of a\n", "typed TEXT of b\n"]
        assert contents(folder) == {**BEFORE, "c": "TEXT of c\n"}
        assert [file["applied_to"] for file in applied.details.get("files", ())] == ["buffer", "buffer", "disk"]
        set_id = applied.details.get("set_id")
        undone = await editor.client.undo(set_id=set_id)
        assert undone.ok, undone.output
        assert len(editor.applied) == 2
        assert [editor.text(folder / name) for name in ("a", "b")] == ["typed text of a\n", "typed text of b\n"]
        assert contents(folder) == BEFORE


# R-SET-5
async def test_editor_that_refuses_its_part_of_a_set_leaves_the_files_alone(folder: Path) -> None:
    async with editor_client(folder, "workspace/applyEdit") as editor:
        editor.apply = answer({"applied": False, "failureReason": "read-only window"})
        editor.open(folder / "a")
        editor.type(folder / "a", "text", "typed text")
        for name in BEFORE:
            await editor.client.read(folder / name)
        applied = await editor.client.apply_changes([edit_file(folder / name, ("text", "TEXT")) for name in BEFORE])
        assert applied.code == "apply_refused"
        assert editor.text(folder / "a") == "typed text of a\n"
        assert contents(folder) == BEFORE


# R-SET-5
def test_unsaved_document_is_not_deleted_by_a_set(client: RawClient, folder: Path) -> None:
    read_all(client, folder)
    document = {"uri": (folder / "b").as_uri(), "languageId": "text", "version": 1, "text": "typed\n"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.read(folder / "b")
    assert code_of(apply(client, changes_in(folder))) == "apply_refused"
    assert contents(folder) == BEFORE


# R-SET-8
def test_set_of_a_dead_daemon_is_undone_at_the_start_and_reported(folder: Path, tmp_path: Path) -> None:
    """One file was replaced, and another program has written the second one since."""
    names = {"a": ".fileops-1-0-00000000000a.set", "b": ".fileops-1-0-00000000000b.set"}
    steps: list[SetStep] = []
    for name, old_name in names.items():
        (folder / name).rename(folder / old_name)
        (folder / name).write_text("new\n")
        old, new = (folder / old_name).stat(), (folder / name).stat()
        steps.append(
            SetStep(
                kind="swap",
                path=f"{folder}/{name}",
                kept=".fileops-1-0-00000000000c.tmp",
                temp=old_name,
                backup=".fileops-1-0-00000000000d.set",
                ino=old.st_ino,
                uid=old.st_uid,
                mode=old.st_mode & 0o7777,
                digest=content_digest(BEFORE[name].encode()).hex(),
                new_ino=new.st_ino,
                new_digest=content_digest(b"new\n").hex(),
            )
        )
    (folder / "b").write_text("of another program\n")
    with SetJournal(f"{tmp_path}/state/fileops-server/sets", "5e7") as journal:
        journal.prepare(SetRecord(set_id="5e7", prepared_at=time.time(), steps=tuple(steps)))
    with raw_client(env={"XDG_STATE_HOME": f"{tmp_path}/state"}) as client:
        client.initialize(workspaceFolders=[{"uri": folder.as_uri(), "name": "p"}])
        recovered = client.notification("fileops/didRecover")
        message = client.notification("window/showMessage")
    kept = f"{folder}/b.fileops-before-5e7"
    assert recovered == {
        "set_id": "5e7",
        "files": [
            {"file_path": f"{folder}/a", "outcome": "restored", "kept_as": None},
            {"file_path": f"{folder}/b", "outcome": "left", "kept_as": kept},
        ],
        "waits_for": [],
    }
    assert kept in message["message"]
    assert contents(folder) == {**BEFORE, "b": "of another program\n", "b.fileops-before-5e7": BEFORE["b"]}


# R-APPROVE-7
def test_rename_to_a_protected_name_is_asked_about_in_every_but_the_freest_mode(folder: Path) -> None:
    """A rename gives a file a name that other programs obey."""
    with raw_client() as client:
        options = {"approval_mode": "auto_edit"}
        capabilities = {"experimental": {"fileops": {"confirm_edit": True}}}
        client.initialize(capabilities=capabilities, rootUri=folder.as_uri(), initializationOptions=options)
        read_all(client, folder)
        change = {"kind": "rename", "file_path": f"{folder}/a", "new_path": f"{folder}/.env"}
        msg_id = client.request("fileops/applyChanges", {"changes": [change]})
        question = client.question("fileops/confirmEdit")
        client.reply(question["id"], {"outcome": "cancel"})
        assert code_of(client.answer(msg_id)["result"]) == "rejected"
        assert contents(folder) == BEFORE
        unasked = {"kind": "rename", "file_path": f"{folder}/a", "new_path": f"{folder}/plain"}
        assert code_of(apply(client, [unasked])) is None


def test_tool_of_mcp_applies_a_set(folder: Path) -> None:
    with mcp_client(folder, "--tools", "+changes", "--approve", "never") as client:
        client.begin()
        tools = {tool["name"]: tool for tool in client.call("tools/list", {})["result"]["tools"]}
        items = tools["ApplyChanges"]["inputSchema"]["properties"]["changes"]["items"]
        assert items["required"] == ["kind", "file_path"]
        unread = client.tool("ApplyChanges", changes=changes_in(folder))
        assert unread["isError"] is True
        mixed = client.tool("ApplyChanges", changes=[{"kind": "delete", "file_path": f"{folder}/a", "content": ""}])
        assert mixed["isError"] is True
        assert "$.changes[0].content does not go with the kind delete" in texts_of(mixed)[0]
        for name in BEFORE:
            client.tool("Read", file_path=f"{folder}/{name}")
        result = client.tool("ApplyChanges", changes=changes_in(folder))
        assert result["isError"] is False
        assert texts_of(result)[0].startswith("Applied 4 changes together:\n")
    assert contents(folder) == AFTER


async def test_client_in_python_applies_and_undoes_a_set(folder: Path) -> None:
    async with FileOpsClient.start(root=folder, initialization_options={"approval_mode": "yolo"}) as client:
        await client.read(folder / "a")
        await client.read(folder / "c")
        done = await client.apply_changes(
            [
                edit_file(folder / "a", ("text", "TEXT")),
                rename_file(folder / "c", folder / "moved"),
                create_file(folder / "new", "new\n"),
            ]
        )
        assert done.ok, done
        assert set(contents(folder)) == {"a", "b", "moved", "new"}
        assert (await client.undo(set_id=done.details.get("set_id"))).ok
    assert contents(folder) == BEFORE
