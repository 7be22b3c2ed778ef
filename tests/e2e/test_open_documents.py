"""Open documents, through the daemon: what is read, where edits go, who is notified. With a hostile editor."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fileops_client import FileOpsClient
from support.editor_client import EditorClient, Held, answer, edited, editor_client, within
from support.patience import PATIENCE_S

APPLY = "workspace/applyEdit"


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncGenerator[EditorClient]:
    async with editor_client(tmp_path, APPLY) as editor:
        yield editor


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\n")
    return path


async def test_read_returns_the_unsaved_text(editor: EditorClient, file: Path):
    """R-DOC-1."""
    editor.open(file)
    clean = await editor.client.read(file)
    editor.type(file, "one", "ONE")
    dirty = await editor.client.read(file)
    assert "ONE" in dirty.output
    assert "one" in clean.output
    assert (clean.details.get("source"), clean.details.get("document_version")) == ("buffer", 1)
    assert (dirty.details.get("source"), dirty.details.get("document_version")) == ("buffer", 2)


async def test_edit_of_a_clean_document_is_written_to_disk(editor: EditorClient, file: Path):
    """R-DOC-3."""
    editor.open(file)
    await editor.client.read(file)
    first = await editor.client.edit(file, "one", "ONE")
    second = await editor.client.edit(file, "ONE\ntwo", "1\n2")
    assert first.details.get("applied_to") == second.details.get("applied_to") == "disk"
    assert file.read_text() == "1\n2\n"
    editor.set_text(file, "1\n2\n")
    third = await editor.client.edit(file, "1", "I")
    assert third.ok
    assert (file.read_text(), editor.applied) == ("I\n2\n", [])


async def test_edit_of_a_dirty_document_stays_unsaved(editor: EditorClient, file: Path):
    """R-DOC-2, R-DOC-4."""
    editor.open(file)
    editor.type(file, "one", "un")
    await editor.client.read(file)
    result = await editor.client.edit(file, "two", "deux")
    assert (result.ok, result.details.get("applied_to")) == (True, "buffer")
    note = f"\nNote: {file} is open with unsaved changes; the change is in the editor, not on the disk."
    assert result.output.endswith(note)
    assert editor.text(file) == "un\ndeux\n"
    assert file.read_text() == "one\ntwo\n"
    again = await editor.client.edit(file, "deux", "2")
    assert again.ok
    assert editor.text(file) == "un\n2\n"


async def test_regex_with_empty_matches_in_a_dirty_document_splits_no_character(editor: EditorClient, file: Path):
    """R-STRAT-1, R-DOC-4."""
    editor.open(file)
    editor.set_text(file, "é漢💥\n")
    await editor.client.read(file)
    result = await editor.client.edit(file, "x*", "-", strategy="regex", replace_all=True)
    assert result.ok, result.output
    assert editor.text(file) == "-é-漢-💥-\n-"


async def test_unsaved_text_in_a_named_encoding_accepts_its_characters_only(tmp_path: Path, file: Path):
    """R-ENC-5"""
    file.write_bytes("\u524d key\r\n".encode("gbk"))
    options = {"encodings": [{"glob": "*.txt", "encoding": "gbk"}]}
    async with editor_client(tmp_path, APPLY, options=options) as editor:
        editor.open(file, "\u524d key\r\n")
        editor.type(file, "key", "typed key")
        assert "\u524d typed key" in (await editor.client.read(file)).output
        edit = await editor.client.edit(file, "typed key", "\u4e57")
        assert (edit.code, edit.details.get("applied_to")) == (None, "buffer")
        assert editor.text(file) == "\u524d \u4e57\r\n"
        assert file.read_bytes() == "\u524d key\r\n".encode("gbk")
        editor.save(file, "gbk")
        saved = await editor.client.edit(file, "\u524d", "\u540e")
        assert (saved.code, saved.details.get("applied_to")) == (None, "disk")
        assert file.read_bytes() == "\u540e \u4e57\r\n".encode("gbk")
        editor.set_text(file, "\u540e \u4e57 typed\r\n")
        refused = await editor.client.edit(file, "\u4e57", "\u0e01")
        assert refused.code == "modified_externally"
        await editor.client.read(file)
        refused = await editor.client.edit(file, "\u4e57", "\u0e01")  # Thai, which GBK has not
        assert refused.code == "not_encodable"
        assert editor.text(file) == "\u540e \u4e57 typed\r\n"


async def test_edit_request_is_minimal_and_versioned(editor: EditorClient, file: Path):
    editor.open(file)
    editor.type(file, "one", "😀 un")
    await editor.client.read(file)
    await editor.client.edit(file, "un", "1")
    ((change,),) = (asked["edit"]["documentChanges"] for asked in editor.applied)
    assert editor.applied[0]["label"]
    assert change["textDocument"] == {"uri": file.as_uri(), "version": 2}
    assert change["edits"] == [
        {"range": {"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 5}}, "newText": "1"}
    ]


async def test_edit_request_has_a_change_annotation_if_supported(tmp_path: Path, file: Path):
    support: Any = {"workspace": {"workspaceEdit": {"changeAnnotationSupport": {}}}}
    async with editor_client(tmp_path, APPLY, capabilities=support) as editor:
        editor.open(file)
        editor.type(file, "one", "un")
        await editor.client.read(file)
        assert (await editor.client.edit(file, "two", "2")).ok
        edit = editor.applied[0]["edit"]
        assert edit["documentChanges"][0]["edits"][0]["annotationId"] in edit["changeAnnotations"]


# --- a hostile editor -------------------------------------------------------------------------------------------


async def raises(params: Any) -> Any:
    raise RuntimeError("the editor has a bad day")


def typing_first(editor: EditorClient, file: Path) -> Callable[[Any], Awaitable[Any]]:
    async def reply(params: Any) -> Any:
        editor.type(file, "un", "uno")
        return await editor.oblige(params)

    return reply


def heedless(reply: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """An editor that carries out its request, though it was cancelled."""

    async def finish(params: Any) -> Any:
        work = asyncio.ensure_future(reply(params))
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(work)
        return work.result()

    return finish


HOSTILE: dict[str, Callable[[EditorClient, Path], Callable[[Any], Awaitable[Any]]]] = {
    "refuses": lambda editor, file: answer({"applied": False, "failureReason": "no"}),
    "answers null": lambda editor, file: answer(None),
    "answers nonsense": lambda editor, file: answer({"applied": "yes"}),
    "answers with an error": lambda editor, file: raises,
    "types meanwhile": typing_first,
}


@pytest.mark.parametrize("how", HOSTILE)
async def test_edit_that_the_editor_does_not_apply_is_an_error_and_changes_nothing(
    editor: EditorClient, file: Path, how: str
):
    """R-DOC-5."""
    editor.open(file)
    editor.type(file, "one", "un")
    await editor.client.read(file)
    editor.apply = HOSTILE[how](editor, file)
    result = await editor.client.edit(file, "two", "deux")
    assert result.error is not None
    assert result.error.code == "apply_refused"
    assert editor.text(file) == ("uno\ntwo\n" if how == "types meanwhile" else "un\ntwo\n")
    assert file.read_text() == "one\ntwo\n"
    (tracked,) = await editor.client.tracked()
    assert tracked.state == ("stale" if how == "types meanwhile" else "fresh")
    editor.apply = editor.oblige
    await editor.client.read(file)
    assert (await editor.client.edit(file, "two", "deux")).ok


async def test_client_that_cannot_apply_edits_is_not_asked(tmp_path: Path, file: Path):
    async with editor_client(tmp_path, APPLY, capabilities={"workspace": {"applyEdit": False}}) as editor:
        editor.open(file)
        editor.type(file, "one", "un")
        await editor.client.read(file)
        result = await editor.client.edit(file, "two", "deux")
        assert result.error is not None
        assert (result.error.code, editor.applied) == ("apply_refused", [])
        assert file.read_text() == "one\ntwo\n"


async def test_change_notified_after_the_editors_answer_is_awaited(editor: EditorClient, file: Path):
    """As Neovim does, which collects changes for some 150 ms."""
    editor.open(file)
    editor.type(file, "one", "un")
    await editor.client.read(file)
    told = asyncio.Event()

    async def late(params: Any) -> Any:
        async def tell() -> None:
            await editor.client.tools()  # by then the daemon has the answer
            await editor.oblige(params)
            told.set()

        asyncio.get_running_loop().create_task(tell())
        return {"applied": True}

    editor.apply = late
    result = await editor.client.edit(file, "two", "deux")
    assert (result.ok, told.is_set()) == (True, True)
    assert editor.text(file) == "un\ndeux\n"


async def test_slow_editor_is_waited_for_and_others_are_served(editor: EditorClient, file: Path):
    editor.open(file)
    editor.type(file, "one", "un")
    await editor.client.read(file)
    held = editor.apply = Held(editor.oblige)
    call = editor.client.begin("fileops/edit", {"file_path": str(file), "old_string": "two", "new_string": "deux"})
    await within(held.asked.wait())
    assert (await editor.client.read(file.parent / "other")).code == "not_found"
    held.unlock_and_close_later.set()
    assert (await within(call))["status"] == "success"
    assert editor.text(file) == "un\ndeux\n"


async def test_cancel_while_the_editor_applies_returns_the_true_result(editor: EditorClient, file: Path):
    editor.open(file)
    editor.type(file, "one", "un")
    await editor.client.read(file)
    held = Held(editor.oblige)
    editor.apply = heedless(held)
    call = editor.client.begin("fileops/edit", {"file_path": str(file), "old_string": "two", "new_string": "deux"})
    await within(held.asked.wait())
    call.cancel()
    held.unlock_and_close_later.set()
    result = await within(call)
    assert result["status"] == "success"
    assert editor.text(file) == "un\ndeux\n"


PLAIN = {"workspace": {"workspaceEdit": {"documentChanges": False}}}  # as stock Neovim announces it


async def apply_plain(editor: EditorClient, file: Path, params: Any) -> Any:
    ((uri, edits),) = params["edit"]["changes"].items()
    assert uri == file.as_uri()
    editor.set_text(file, edited(editor.text(file), edits))
    return {"applied": True}


async def test_editor_without_versioned_edits_gets_plain_ones(tmp_path: Path, file: Path):
    """R-DOC-13."""
    async with editor_client(tmp_path, APPLY, capabilities=PLAIN) as editor:
        editor.apply = partial(apply_plain, editor, file)
        editor.open(file)
        editor.type(file, "one", "un")
        await editor.client.read(file)
        result = await editor.client.edit(file, "two", "deux")
        assert (result.ok, result.details.get("applied_to")) == (True, "buffer")
        assert (editor.text(file), file.read_text()) == ("un\ndeux\n", "one\ntwo\n")


async def test_plain_edit_applied_to_another_text_is_an_error(tmp_path: Path, file: Path):
    """R-DOC-13. Nothing keeps the person from typing before it arrives."""
    async with editor_client(tmp_path, APPLY, capabilities=PLAIN) as editor:

        async def type_first(params: Any) -> Any:
            editor.type(file, "un", "uno")
            return await apply_plain(editor, file, params)

        editor.apply = type_first
        editor.open(file)
        editor.type(file, "one", "un")
        await editor.client.read(file)
        result = await editor.client.edit(file, "two", "deux")
        assert (result.code, file.read_text()) == ("apply_refused", "one\ntwo\n")
        assert "uno\n     2→deux" in (await editor.client.read(file)).output


async def test_late_change_notification_of_an_idle_editor_is_accepted(editor: EditorClient, file: Path):
    """R-DOC-13. As eglot does while its own request waits for the answer."""
    editor.open(file)
    editor.type(file, "one", "un")
    await editor.client.read(file)
    editor.apply = answer({"applied": True})
    result = await editor.client.edit(file, "two", "deux")
    assert (result.ok, result.details.get("applied_to")) == (True, "buffer")
    assert "did not send the new text" in str((result.details.get("commit") or {}).get("reason"))
    assert (await editor.client.read(file)).code == "apply_refused"
    assert (await editor.client.edit(file, "deux", "2")).code == "apply_refused"
    editor.type(file, "two", "deux")
    editor.apply = editor.oblige
    assert (await editor.client.edit(file, "un", "1")).ok  # the document has what was reported
    assert (editor.text(file), file.read_text()) == ("1\ndeux\n", "one\ntwo\n")


async def test_daemon_that_ends_during_an_edit_request_leaves_the_file_unchanged(tmp_path: Path, file: Path):
    async with editor_client(tmp_path, APPLY) as editor:
        editor.open(file)
        editor.type(file, "one", "un")
        await editor.client.read(file)
        held = editor.apply = Held(editor.oblige)
        call = editor.client.begin("fileops/edit", {"file_path": str(file), "old_string": "two", "new_string": "2"})
        await within(held.asked.wait())
        pid = editor.client.pid
        await within(editor.client.close())
        call.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert file.read_text() == "one\ntwo\n"


# --- who is stale -----------------------------------------------------------------------------------------------


async def test_typing_makes_a_read_stale_with_source_buffer(editor: EditorClient, file: Path):
    editor.open(file)
    await editor.client.read(file)
    with editor.client.events("fileops/didBecomeStale") as events:
        editor.type(file, "one", "un")
        event = await events.next(timeout_s=PATIENCE_S)
        assert (event.source, event.file_path) == ("buffer", str(file))
    result = await editor.client.edit(file, "two", "2")
    assert result.error is not None
    assert result.error.code == "modified_externally"
    assert result.details.get("changed_by") == "buffer"
    await editor.client.read(file)
    assert (await editor.client.edit(file, "two", "2")).ok


async def test_change_on_disk_and_in_buffer_names_both_sources(editor: EditorClient, file: Path):
    """R-DOC-6."""
    editor.open(file)
    await editor.client.read(file)
    with editor.client.events("fileops/didBecomeStale") as events:
        file.write_text("moved\n")
        assert (await events.next(timeout_s=PATIENCE_S)).source == "external"
    editor.type(file, "one", "un")
    result = await editor.client.edit(file, "two", "2")
    assert result.error is not None
    assert result.error.code == "modified_externally"
    assert {result.details.get("changed_by"), result.details.get("also_changed_by")} == {"buffer", "external"}
    assert (file.read_text(), editor.text(file)) == ("moved\n", "un\ntwo\n")


async def test_saving_text_that_was_read_unsaved_keeps_it_fresh(editor: EditorClient, file: Path):
    editor.open(file)
    editor.type(file, "one", "un")
    await editor.client.read(file)
    editor.save(file)
    result = await editor.client.edit(file, "two", "2")
    assert (result.ok, result.details.get("applied_to")) == (True, "disk")
    assert file.read_text() == "un\n2\n"


async def test_touch_of_the_file_of_an_open_document_keeps_it_fresh(editor: EditorClient, file: Path):
    """R-DOC-7."""
    editor.open(file)
    await editor.client.read(file)
    os.utime(file, (1, 1))
    assert (await editor.client.edit(file, "two", "2")).ok


async def test_opening_and_closing_a_clean_document_keeps_it_fresh(editor: EditorClient, file: Path):
    await editor.client.read(file)
    editor.open(file)
    assert (await editor.client.edit(file, "two", "2")).ok
    editor.close(file)
    assert (await editor.client.edit(file, "one", "1")).ok
    assert file.read_text() == "1\n2\n"


async def test_closing_without_saving_makes_the_read_stale(editor: EditorClient, file: Path):
    editor.open(file)
    editor.type(file, "one", "un")
    await editor.client.read(file)
    editor.close(file)
    result = await editor.client.edit(file, "two", "2")
    assert result.error is not None
    assert result.error.code == "modified_externally"
    assert file.read_text() == "one\ntwo\n"


async def test_clean_document_of_a_changed_file_is_modified_externally(editor: EditorClient, file: Path):
    """R-DOC-8."""
    editor.open(file)
    await editor.client.read(file)
    file.write_text("moved\ntwo\n")
    result = await editor.client.edit(file, "two", "2")
    assert result.error is not None
    assert (result.error.code, result.details.get("changed_by")) == ("modified_externally", "external")
    await editor.client.read(file)
    assert (await editor.client.edit(file, "two", "2")).ok
    assert file.read_text() == "moved\n2\n"


async def test_change_reloaded_by_the_editor_is_attributed_to_its_writer(editor: EditorClient, file: Path):
    """R-DOC-8. An edit of another session, then a change of another program; the document shows each."""
    editor.open(file)
    await editor.client.read(file, session_id="reader")
    await editor.client.read(file, session_id="writer")
    assert (await editor.client.edit(file, "one", "1", session_id="writer")).ok
    editor.set_text(file, file.read_text())
    result = await editor.client.edit(file, "two", "2", session_id="reader")
    assert (result.error and result.error.code, result.details.get("changed_by")) == ("modified_externally", "writer")
    file.write_text("moved\ntwo\n")
    editor.set_text(file, file.read_text())
    result = await editor.client.edit(file, "two", "2", session_id="writer")
    assert (result.error and result.error.code, result.details.get("changed_by")) == ("modified_externally", "external")


async def test_own_edit_of_a_buffer_keeps_it_fresh(editor: EditorClient, file: Path):
    editor.open(file)
    editor.type(file, "one", "un")
    await editor.client.read(file)
    with editor.client.events("fileops/didBecomeStale") as events:
        await editor.client.edit(file, "two", "2")
        editor.type(file, "un", "I")
        assert (await events.next(timeout_s=PATIENCE_S)).source == "buffer"
        assert events.arrived() == []


async def test_edit_of_a_buffer_by_one_session_makes_the_other_stale(editor: EditorClient, file: Path):
    editor.open(file)
    editor.type(file, "one", "un")
    await editor.client.read(file, session_id="a")
    await editor.client.read(file, session_id="b")
    with editor.client.events("fileops/didBecomeStale") as events:
        await editor.client.edit(file, "two", "2", session_id="a")
        event = await events.next(timeout_s=PATIENCE_S)
        assert (event.session_id, event.source) == ("b", "session:a")


# --- files that are not there yet, other names, other encodings -------------------------------------------------


async def test_unsaved_document_without_a_file_exists(editor: EditorClient, tmp_path: Path):
    """R-DOC-9."""
    path = tmp_path / "new.txt"
    editor.open(path, "typed\n")
    created = await editor.client.edit(path, "", "mine\n")
    assert created.error is not None
    assert (created.error.code, path.exists()) == ("already_exists", False)
    await editor.client.read(path)
    assert (await editor.client.edit(path, "typed", "both")).details.get("applied_to") == "buffer"
    assert (editor.text(path), path.exists()) == ("both\n", False)


async def test_document_opened_through_a_link_is_the_file(editor: EditorClient, file: Path, tmp_path: Path):
    """R-DOC-10."""
    link = tmp_path / "link.txt"
    link.symlink_to(file)
    editor.open(link)
    editor.type(link, "one", "un")
    assert "un" in (await editor.client.read(file)).output
    assert (await editor.client.edit(file, "two", "2")).details.get("applied_to") == "buffer"
    assert editor.text(link) == "un\n2\n"


async def test_percent_encoded_uri_names_the_file(editor: EditorClient, tmp_path: Path):
    path = tmp_path / "a b#ü.txt"
    path.write_text("one\n")
    uri = "file://" + "".join(
        f"%{byte:02x}" if byte > 127 or chr(byte) in " #" else chr(byte) for byte in os.fsencode(path)
    )
    document = {"uri": uri, "languageId": "x", "version": 1, "text": "unsaved\n"}
    editor.client.notify("textDocument/didOpen", {"textDocument": document})
    assert "unsaved" in (await editor.client.read(path)).output


async def test_bytes_that_the_editor_does_not_show_survive_an_edit(editor: EditorClient, tmp_path: Path):
    path = tmp_path / "odd.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\nx\xff\n")
    editor.open(path, "one\ntwo\nx\ufffd\n")
    await editor.client.read(path)
    assert (await editor.client.edit(path, "two", "2")).ok
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\n2\nx\xff\n"


async def test_changes_of_documents_that_were_never_opened_are_ignored(editor: EditorClient, file: Path):
    editor.client.did_change(file, "typed\n", version=3)
    editor.client.did_save(file)
    editor.client.did_close(file)
    assert (await editor.client.read(file)).details.get("source") == "disk"


async def test_drive_letter_is_an_ordinary_name(editor: EditorClient, file: Path, tmp_path: Path):
    """R-DOC-10. A client on Windows writes `C%3A`, or `c:`; where there are no drives they are two folders."""
    upper, lower = tmp_path / "C:" / "a.txt", tmp_path / "c:" / "a.txt"
    for path in (upper, lower):
        path.parent.mkdir()
        path.write_text("disk\n")
    uri = f"file://{tmp_path}/C%3A/a.txt"
    document = {"uri": uri, "languageId": "x", "version": 1, "text": "disk\n"}
    editor.client.notify("textDocument/didOpen", {"textDocument": document})
    change = {"textDocument": {"uri": uri.replace("%3A", ":"), "version": 2}, "contentChanges": [{"text": "typed\n"}]}
    editor.client.notify("textDocument/didChange", change)
    assert "typed" in (await editor.client.read(upper)).output
    assert "disk" in (await editor.client.read(lower)).output
    for foreign in (
        "file:///C%3A/x/a.txt",
        "file:///c:/x/a.txt",
        "file://C:/x/a.txt",
        "file:C:/x",
        "file://host/share/a",
    ):
        editor.client.notify("textDocument/didOpen", {"textDocument": {**document, "uri": foreign}})
    for path in ("/x/a.txt", "/share/a"):
        assert (await editor.client.read(path)).code == "not_found"
    assert (await editor.client.edit("C:\\x\\a.txt", "", "x")).code == "not_absolute"
    assert (await editor.client.read(file)).ok


async def test_documents_other_than_files_are_ignored(editor: EditorClient, file: Path):
    document = {"uri": "untitled:Untitled-1", "languageId": "x", "version": 1, "text": "x"}
    editor.client.notify("textDocument/didOpen", {"textDocument": document})
    assert (await editor.client.read(file)).ok


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_typing_is_mirrored_in_each_position_encoding(tmp_path: Path, encoding: str):
    """R-DOC-11."""
    path = tmp_path / "f.txt"
    text = "é😀\u2028x\x0cy\r\nz\rw\n"
    path.write_bytes(text.encode())
    units = {"utf-8": 2 + 4, "utf-16": 1 + 2, "utf-32": 2}[encoding]
    capabilities = {"general": {"positionEncodings": [encoding]}}
    async with editor_client(tmp_path, APPLY, capabilities=capabilities) as editor:
        assert editor.client.capabilities["positionEncoding"] == encoding
        editor.client.did_open(path, text)
        for version, (line, character, new) in enumerate([(0, units, "A"), (2, 1, "B"), (1, 0, "C")], start=2):
            place = {"line": line, "character": character}
            editor.client.did_change(path, [{"range": {"start": place, "end": place}, "text": new}], version=version)
        read = await editor.client.read(path)
        assert "     1→é😀A\u2028x\x0cy\n     2→Cz\rwB\n" in read.output


async def test_edit_for_a_client_without_open_documents_is_written_to_disk(tmp_path: Path, file: Path):
    async with FileOpsClient.start(root=tmp_path) as client:
        await client.read(file)
        result = await client.edit(file, "one", "1")
        assert (result.details.get("applied_to"), file.read_text()) == ("disk", "1\ntwo\n")
