"""What a session knows of its files, through the daemon. Requirements: R-FILES-* of docs/PROTOCOL.md."""

import asyncio
import os
from pathlib import Path

import pytest

from fileops_client import DidConflict, DidEdit, EventContext, FileOpsClient
from support.patience import PATIENCE_S


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    return path


# --- recordRead -----------------------------------------------------------------------------------------------------


# R-FILES-1
async def test_file_recorded_as_read_can_be_edited(file: Path) -> None:
    async with FileOpsClient.start(root=file.parent) as client:
        assert (await client.edit(file, "one", "1")).code == "not_read"
        with client.events("fileops/didRead") as reads:
            recorded = await client.record_read(file)
            assert (await reads.next(timeout_s=PATIENCE_S)).size == 8
        assert (recorded.recorded, recorded.size_bytes) == (True, 8)
        assert recorded.mtime == pytest.approx(file.stat().st_mtime)
        assert (await client.edit(file, "one", "1")).ok
        assert (await client.edit(file, "two", "2", session_id="other")).code == "not_read"


async def test_recorded_file_becomes_stale_and_the_change_is_described(file: Path) -> None:
    async with FileOpsClient.start(root=file.parent) as client:
        await client.record_read(file)
        file.write_text("one\ntwo\nthree\n")
        refused = await client.edit(file, "one", "1")
        assert refused.code == "modified_externally"
        assert "+three" in (refused.details.get("diff_since_read") or "")


async def test_recorded_content_of_any_size_counts_as_read(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    large.write_text("".join(f"line {n}\n" for n in range(100_000)))
    async with FileOpsClient.start(root=tmp_path, initialization_options={"freshness": "content"}) as client:
        assert (await client.read(large)).code == "too_large"
        assert (await client.record_read(large)).recorded
        os.utime(large, ns=(1, 1))  # the same bytes under another time: only a digest of them all can show it
        assert (await client.edit(large, "line 99999\n", "last\n")).ok


async def test_unreadable_file_is_not_recorded(tmp_path: Path, file: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    async with FileOpsClient.start(root=tmp_path, initialization_options={"confine": "all"}) as client:
        for path, code in (
            (tmp_path / "none", "not_found"), (tmp_path, "is_directory"), (fifo, "not_regular_file"),
            ("/etc/hosts", "outside_roots"), ("a.txt", "not_absolute"), ("/\0", "not_found"),
        ):  # fmt: skip
            recorded = await client.record_read(path)
            assert recorded.error is not None
            assert (recorded.recorded, recorded.error.code) == (False, code)
        await client.read(file)
        file.unlink()
        assert not (await client.record_read(file)).recorded
        assert await client.tracked() == ()


# --- forget, conflicts, reset ------------------------------------------------------------------------------------


# R-FILES-2
async def test_forgotten_file_must_be_read_again(tmp_path: Path, file: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(file)
    async with FileOpsClient.start(root=tmp_path) as client:
        for read_as, forget_as in ((file, file), (link, file), (file, link), (link, link)):
            await client.read(read_as)
            assert await client.forget(forget_as)
            assert (await client.edit(file, "one", "1")).code == "not_read"
            assert not await client.forget(file)
        assert await client.session_files() == ()
        await client.read(link)
        link.unlink()
        assert await client.forget(link)  # its name leads nowhere now, and still is its name
        assert not await client.forget("not absolute")


# R-FILES-3
async def test_conflicts_are_the_files_changed_since_their_read(tmp_path: Path, file: Path) -> None:
    gone, same = tmp_path / "gone.txt", tmp_path / "same.txt"
    for path in (gone, same):
        path.write_text("text\n")
    async with FileOpsClient.start(root=tmp_path) as client:
        for path in (file, gone, same):
            await client.read(path)
        assert await client.conflicts() == ()
        file.write_text("one\ntwo\nthree\n")
        gone.unlink()
        changed, deleted = await client.conflicts()
        assert (changed.file_path, changed.reason, changed.source) == (str(file), "modified", "external")
        assert changed.size_diff == 6
        assert changed.current_modified == pytest.approx(file.stat().st_mtime)
        assert (deleted.file_path, deleted.reason, deleted.current_modified) == (str(gone), "deleted", None)
        assert await client.conflicts(session_id="other") == ()
        await client.read(file)
        assert [conflict.file_path for conflict in await client.conflicts()] == [str(gone)]


async def test_edit_by_another_session_is_a_conflict_that_names_it(file: Path) -> None:
    async with FileOpsClient.start(root=file.parent) as client:
        await client.read(file, session_id="a")
        await client.read(file, session_id="b")
        assert (await client.edit(file, "one", "1", session_id="b")).ok
        (conflict,) = await client.conflicts(session_id="a")
        assert conflict.source == "session:b"
        assert await client.conflicts(session_id="b") == ()


# R-FILES-5
async def test_reset_forgets_everything_but_the_approval_mode(file: Path) -> None:
    async with FileOpsClient.start(root=file.parent) as client:
        await client.set_approval_mode("yolo")
        await client.read(file)
        await client.read(file, session_id="other")
        await client.reset_session()
        assert await client.tracked() == ()
        assert await client.session_files() == ()
        assert (await client.edit(file, "one", "1")).code == "not_read"
        assert await client.approval_mode() == "yolo"
        assert len(await client.session_files(session_id="other")) == 1
        await client.close_session("other")
        assert await client.session_files(session_id="other") == ()


# --- sessionFiles ------------------------------------------------------------------------------------------------


# R-FILES-4
async def test_most_important_files_are_listed_first(tmp_path: Path) -> None:
    names = ("read early", "edited early", "edited, changed since", "read, changed since", "read late")
    paths = {name: tmp_path / name for name in names}
    async with FileOpsClient.start(root=tmp_path) as client:
        for name, path in paths.items():
            path.write_text("text\n")
            await client.read(path)
            if name.startswith("edited"):
                assert (await client.edit(path, "text", "other")).ok
        for name in ("edited, changed since", "read, changed since"):
            paths[name].write_text("foreign\n")
        files = await client.session_files()
        assert [os.path.basename(file.file_path) for file in files] == [
            "edited, changed since", "edited early", "read, changed since", "read late", "read early",
        ]  # fmt: skip
        first = files[0]
        assert (first.state, first.reason, first.n_reads, first.n_edits) == ("stale", "modified", 1, 1)
        assert first.edited_at is not None
        assert first.read_at is not None
        assert first.edited_at >= first.read_at
        assert [file.file_path for file in await client.session_files(limit=2)] == [
            file.file_path for file in files[:2]
        ]


async def test_refused_edits_and_all_names_of_a_file_are_counted_together(tmp_path: Path, file: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(file)
    async with FileOpsClient.start(root=tmp_path) as client:
        await client.read(file)
        await client.read(link)
        file.write_text("three\n")
        assert not (await client.edit(file, "one", "1", dry_run=True)).ok
        assert not (await client.edit(file, "one", "1")).ok
        (known,) = await client.session_files()
        assert (known.n_reads, known.n_edits, known.n_conflicts, known.state) == (2, 0, 1, "stale")
        file.unlink()
        assert not (await client.read(file)).ok
        (known,) = await client.session_files()
        assert known.state == "untracked"


# --- listeners under the documented names ------------------------------------------------------------------------


async def test_listeners_receive_events_under_the_documented_names(file: Path) -> None:
    heard: list[EventContext] = []
    all_heard = asyncio.Event()

    async def listener(context: EventContext) -> None:
        heard.append(context)
        if context.name == "file:conflict":
            all_heard.set()

    async with FileOpsClient.start(root=file.parent) as client:
        for name in ("file:read", "file:edited", "file:conflict"):
            client.add_event_listener(name, listener)
        await client.read(file)
        assert (await client.edit(file, "one", "1")).ok
        file.write_text("foreign text\n")
        with client.events(DidConflict.METHOD) as ours:
            assert not (await client.edit(file, "two", "2")).ok
            assert (await ours.next(timeout_s=PATIENCE_S)).size_diff == 7
        await asyncio.wait_for(all_heard.wait(), PATIENCE_S)
        assert [context.name for context in heard] == ["file:read", "file:edited", "file:conflict"]
        assert {context.data["file_path"] for context in heard} == {str(file)}
        assert (heard[1].data["content_length"], heard[1].data["source"]) == (6, "agent")
        client.remove_event_listener("file:edited", listener)
        await client.read(file)
        with client.events(DidEdit.METHOD) as edits:
            assert (await client.edit(file, "text", "words")).ok
            await edits.next(timeout_s=PATIENCE_S)
        assert [context.name for context in heard[3:]] == ["file:read"]
        with pytest.raises(ValueError, match="no event"):
            client.add_event_listener("file:deleted", listener)
        for misspelt in ("didEdit", "file:deleted"):
            with pytest.raises(ValueError, match=f"no event {misspelt}; names are methods"):
                client.on(misspelt, listener)
            with pytest.raises(ValueError, match="no event"):
                client.events(DidEdit.METHOD, misspelt)
