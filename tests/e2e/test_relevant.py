"""Edits of files that others changed since the session read them, under `freshness: "relevant"`."""

import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from fileops_client import Answer, FileOpsClient, Options, Question, ToolResult
from support.editor_client import EditorClient, editor_client
from support.mcp_client import McpClient, mcp_client, texts_of

LINES = "".join(f"line {number}\n" for number in range(1, 31))
ORDERED = "File has been modified externally. Either by user or a linter. Read it first before writing to it."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text(LINES)
    return path


@asynccontextmanager
async def client_of(root: Path, **options: Any) -> AsyncGenerator[FileOpsClient]:
    chosen = cast("Options", {"freshness": "relevant", **options})
    async with FileOpsClient.start(root=root, initialization_options=chosen) as client:
        yield client


def details_of(result: ToolResult) -> dict[str, Any]:
    return {**result.details}


def replaced(path: Path, old: str, new: str) -> None:
    """As a formatter does it: another file under the same name."""
    beside = path.with_suffix(".new")
    beside.write_text(path.read_text().replace(old, new))
    beside.rename(path)


# R-REL-1, R-REL-2, R-REL-4
async def test_edit_is_applied_to_a_file_that_a_formatter_changed_in_other_lines(file: Path) -> None:
    async with client_of(file.parent) as client:
        await client.read(file)
        replaced(file, "line 2\n", "line  2\nand more\n")
        edited = await client.edit(file, "line 20", "mine")
        assert edited.ok
        assert "    21→mine" in edited.output  # where it is now
        assert details_of(edited)["rebased"] == {
            "changed_by": "external",
            "n_foreign_hunks": 1,
            "ranges": [{"start_line": 2, "end_line": 3}],
            "diff": f"--- {file}\n+++ {file}\n@@ -1,5 +1,6 @@\n line 1\n-line 2\n+line  2\n+and more\n line 3\n"
            " line 4\n line 5\n",
        }
        assert file.read_text() == LINES.replace("line 2\n", "line  2\nand more\n").replace("line 20", "mine")
        again = await client.edit(file, "mine", "mine 2")
        assert again.ok


# R-REL-3
async def test_edit_near_a_change_is_refused_with_the_reason(file: Path) -> None:
    async with client_of(file.parent) as client:
        await client.read(file)
        replaced(file, "line 19\n", "theirs\n")
        refused = await client.edit(file, "line 20", "mine")
        assert (refused.code, refused.output) == ("modified_externally", ORDERED)
        assert details_of(refused)["relevance"] == {"reason": "near", "ranges": [{"start_line": 19, "end_line": 19}]}
        assert "+theirs" in (details_of(refused)["diff_since_read"] or "")
        assert "theirs" in file.read_text() and "mine" not in file.read_text()
        await client.read(file)
        assert (await client.edit(file, "line 20", "mine")).ok


@pytest.mark.parametrize("freshness", ["mtime", "content"])
async def test_other_freshness_rules_refuse_any_change(file: Path, freshness: str) -> None:
    async with client_of(file.parent, freshness=freshness) as client:
        await client.read(file)
        replaced(file, "line 2\n", "line  2\n")
        refused = await client.edit(file, "line 20", "mine")
        assert (refused.code, refused.output) == ("modified_externally", ORDERED)
        assert "relevance" not in refused.details


# R-REL-1
async def test_touched_file_with_the_same_bytes_is_unchanged(file: Path) -> None:
    async with client_of(file.parent) as client:
        await client.read(file)
        os.utime(file, ns=(1, 1))
        edited = await client.edit(file, "line 20", "mine")
        assert edited.ok
        assert "rebased" not in edited.details


async def test_all_steps_of_a_multi_edit_are_applied_or_none(file: Path) -> None:
    async with client_of(file.parent) as client:
        await client.read(file)
        replaced(file, "line 2\n", "theirs\n")
        far = {"old_string": "line 20", "new_string": "mine"}
        refused = await client.multi_edit(file, [far, {"old_string": "line 3\n", "new_string": "near\n"}])
        assert details_of(refused)["relevance"]["reason"] == "near"
        assert "mine" not in file.read_text()
        assert (await client.multi_edit(file, [far, {"old_string": "line 25", "new_string": "too"}])).ok


async def test_partial_read_is_enough_for_a_rebase(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    large.write_text("".join(f"line {number} of many\n" for number in range(1, 40_001)))  # 800 kB
    async with client_of(tmp_path) as client:
        await client.read(large, offset=100, limit=5)
        replaced(large, "line 39000 of many", "theirs")
        assert details_of(await client.edit(large, "line 102 of many", "mine"))["rebased"]["n_foreign_hunks"] == 1
        huge = tmp_path / "huge.txt"
        huge.write_text("x" * 99 + "\n" + "line\n" * 300_000)
        await client.read(huge, limit=5)
        replaced(huge, "x\n", "y\n")
        assert details_of(await client.edit(huge, "x" * 99, "mine"))["relevance"] == {"reason": "no_base", "ranges": []}


async def test_dry_run_reports_the_rebase_and_changes_nothing(file: Path) -> None:
    async with client_of(file.parent) as client:
        await client.read(file)
        replaced(file, "line 2\n", "theirs\n")
        before = file.read_text()
        assert details_of(await client.edit(file, "line 20", "mine", dry_run=True))["rebased"]["n_foreign_hunks"] == 1
        assert file.read_text() == before
        assert (await client.tracked())[0].state == "stale"


async def test_write_of_the_whole_text_keeps_others_changes_in_other_lines(file: Path) -> None:
    async with client_of(file.parent) as client:
        await client.read(file)
        replaced(file, "line 19\n", "theirs\n")
        written = await client.write(file, LINES.replace("line 20\n", "mine\n"))
        assert written.ok
        assert details_of(written)["rebased"]["ranges"] == [{"start_line": 19, "end_line": 19}]
        assert file.read_text() == LINES.replace("line 19\nline 20\n", "theirs\nmine\n")
        again = await client.write(file, LINES.replace("line 20\n", "mine\n").replace("line 2\n", "more\n"))
        assert again.ok  # it does not know of the other line, and does not take it back
        assert file.read_text().splitlines()[18] == "theirs"
        refused = await client.write(file, LINES.replace("line 19\n", "clash\n"))
        assert details_of(refused)["relevance"]["reason"] == "near"


# R-REL-5
async def test_unseen_change_is_relevant_until_it_has_been_shown(file: Path) -> None:
    async with client_of(file.parent) as client:
        await client.read(file)
        replaced(file, "line 2\n", "theirs\n")
        assert (await client.edit(file, "line 20", "mine")).ok
        for words, reason in (("theirs", "no_match_then"), ("line 3\n", "near")):
            refused = await client.edit(file, words, "x\n")
            assert (refused.code, details_of(refused)["relevance"]["reason"]) == ("modified_externally", reason)
        assert (await client.edit(file, "line 25", "mine too")).ok
    async with client_of(file.parent, notices="details") as client:
        await client.read(file)
        replaced(file, "line 5\n", "theirs too\n")
        assert details_of(await client.edit(file, "mine too", "line 25"))["rebased"]["changed_by"] == "external"
        assert (await client.edit(file, "theirs too", "line 5")).ok


# R-NOTE-1, R-NOTE-2
async def test_notices_report_changes_of_other_files_once(file: Path) -> None:
    other = file.with_name("b.txt")
    other.write_text("one\ntwo\n")
    async with client_of(file.parent, freshness="mtime", notices="details") as client:
        await client.read(file)
        await client.read(other)
        assert "notices" not in (await client.read(other)).details
        other.write_text("one\nTWO\n")
        result = await client.read(file)
        assert details_of(result)["notices"] == [
            {
                "file_path": str(other), "changed_by": "external", "kind": "modified",
                "diff": "@@ -1,2 +1,2 @@\n one\n-two\n+TWO", "truncated": False,
            }
        ]  # fmt: skip
        assert "TWO" not in result.output
        assert "notices" not in (await client.read(file)).details
        assert (await client.edit(other, "one", "1")).code == "modified_externally"  # it has to be read, as ever
        other.unlink()
        assert [notice["kind"] for notice in details_of(await client.read(file))["notices"]] == ["gone"]


async def test_notices_in_the_output_follow_it(file: Path) -> None:
    async with client_of(file.parent, notices="output") as client:
        await client.read(file)
        replaced(file, "line 2\n", "theirs\n")
        edited = await client.edit(file, "line 20", "mine")
        assert (
            f"\n\nOther lines of {file} changed since you last read it; your edit was applied to the file as it is "
            "now. What else changed:\n@@ -1,5 +1,5 @@\n line 1\n-line 2\n+theirs\n line 3"
        ) in edited.output
        assert (await client.edit(file, "theirs", "ours")).output.count("changed since") == 0  # it was shown
        replaced(file, "line 5\n", "theirs\n")
        refused = await client.edit(file, "line 6\n", "mine\n")
        assert refused.output.startswith(
            f"{ORDERED}\n\n{file} changed on disk since you last read it (by another program or a command of yours)."
        )
        assert (await client.edit(file, "line 6\n", "mine\n")).ok  # it was shown too


# R-NOTE-3
async def test_change_of_a_file_that_may_not_be_read_is_not_reported(tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "b.txt"
    outside.parent.mkdir()
    outside.write_text("one\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    for confine, n_told in (("edits", 1), ("all", 0)):
        async with client_of(inside, notices="details", confine=confine) as client:
            (inside / "a.txt").write_text("one\n")
            await client.read(inside / "a.txt")
            await client.read(outside)
            outside.write_text(f"{confine}\n")
            told = (await client.read(inside / "a.txt")).details.get("notices", [])
            assert len(told) == n_told


async def test_question_and_history_show_that_the_edit_was_rebased(file: Path) -> None:
    asked: list[Question] = []

    async def confirm(question: Question) -> Answer:
        asked.append(question)
        replaced(file, "line 30\n", "theirs too\n")  # while the person thinks
        return Answer(outcome="proceed_once")

    options: Options = {"freshness": "relevant"}
    async with FileOpsClient.start(root=file.parent, initialization_options=options, confirm_edit=confirm) as client:
        await client.read(file)
        replaced(file, "line 2\n", "theirs\n")
        assert (await client.edit(file, "line 20", "mine")).ok
        assert len(asked) == 1
        assert asked[0].description.endswith("; rebased over 1 change by another program")
        assert asked[0].rebased is not None and asked[0].rebased["ranges"] == [{"start_line": 2, "end_line": 2}]
        (entry,) = await client.history(file_path=file)
        assert entry.rebased is not None and (entry.rebased.changed_by, entry.rebased.n_foreign_hunks) == (
            "external",
            2,
        )
        assert file.read_text().count("theirs") == 2


# --- MCP ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def relevant(tmp_path: Path) -> Iterator[McpClient]:
    with mcp_client(tmp_path, "--freshness", "relevant") as client:
        client.begin()
        yield client


def test_agent_needs_no_second_read_after_a_formatter(relevant: McpClient, file: Path) -> None:
    relevant.tool("Read", file_path=str(file))
    replaced(file, "line 2\n", "line  2\n")
    edited = relevant.tool("Edit", file_path=str(file), old_string="line 20", new_string="mine")
    (output,) = texts_of(edited)
    assert output == (
        "The file has been updated: line 20. Others have changed line 2 since you read it; that is kept.\n"
        "    17→line 17\n    18→line 18\n    19→line 19\n    20→mine\n    21→line 21\n    22→line 22\n    23→line 23"
    )
    again = relevant.tool("Edit", file_path=str(file), old_string="line 25", new_string="mine too")
    assert "Others have changed line 2 since you read it" in texts_of(again)[0]  # it has still not been shown
    assert again["isError"] is False
    refused = relevant.tool("Edit", file_path=str(file), old_string="line  2", new_string="line two")
    assert refused["isError"] is True
    assert "     2→line  2" in texts_of(refused)[1]
    assert not relevant.tool("Edit", file_path=str(file), old_string="line  2", new_string="line two")["isError"]


def test_refusal_that_shows_the_whole_change_says_that_the_same_call_may_be_sent(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("".join(f"note {number} {'x' * 200}\n" for number in range(30)))
    with mcp_client(tmp_path, "--freshness", "relevant") as client:
        client.begin()
        client.tool("Read", file_path=str(path))
        path.write_text(path.read_text() + "note more\n")
        call: dict[str, Any] = {
            "file_path": str(path),
            "old_string": "note",
            "new_string": "log",
            "replace_all": True,
        }
        refused = client.tool("Edit", **call)
        assert "you can send the same call again if it is still right" in texts_of(refused)[1]
        assert client.tool("Edit", **call)["isError"] is False
    assert "note" not in path.read_text()


def test_full_answer_shows_what_others_changed_and_it_counts_as_read(tmp_path: Path, file: Path) -> None:
    with mcp_client(tmp_path, "--freshness", "relevant", "--answers", "full") as client:
        client.begin()
        client.tool("Read", file_path=str(file))
        replaced(file, "line 2\n", "line  2\n")
        edited = client.tool("Edit", file_path=str(file), old_string="line 20", new_string="mine")
        output, _diff, notice = texts_of(edited)
        assert output.startswith(f"The file {file} has been updated.")
        assert notice == (
            f"Other lines of {file} changed since you last read it; your edit was applied to the file as it is now. "
            "What else changed:\n@@ -1,5 +1,5 @@\n line 1\n-line 2\n+line  2\n line 3\n line 4\n line 5"
        )
        again = client.tool("Edit", file_path=str(file), old_string="line  2", new_string="line two")
        assert len(texts_of(again)) == 2  # what was done, and its diff: no notice
        assert again["isError"] is False


def test_refused_edit_shows_the_change_and_can_be_repeated(relevant: McpClient, file: Path) -> None:
    relevant.tool("Read", file_path=str(file))
    replaced(file, "line 19\n", "theirs\n")
    refused = relevant.tool("Edit", file_path=str(file), old_string="line 20", new_string="mine")
    sentence, seen, change = texts_of(refused)
    assert sentence == ORDERED
    assert "    19→theirs\n    20→line 20\n" in seen
    assert change == "Changed by another program or a command of yours."
    assert relevant.tool("Edit", file_path=str(file), old_string="line 20", new_string="mine")["isError"] is False


def test_change_that_was_shown_in_part_stays_relevant(relevant: McpClient, file: Path) -> None:
    relevant.tool("Read", file_path=str(file))
    replaced(file, "line 2\n", "theirs\n" * 60)
    edited = relevant.tool("Edit", file_path=str(file), old_string="line 20", new_string="mine")
    assert "Others have changed lines 2-61 since you read it; that is kept." in texts_of(edited)[0]
    refused = relevant.tool("Edit", file_path=str(file), old_string="line 3\n", new_string="mine\n")
    assert texts_of(refused)[0] == ORDERED
    relevant.tool("Read", file_path=str(file))
    assert relevant.tool("Edit", file_path=str(file), old_string="line 3\n", new_string="mine\n")["isError"] is False


@pytest.mark.parametrize("name", ["buffer", "external", "session:buffer", "reviewer"])
async def test_session_named_buffer_or_external_is_not_taken_for_one(file: Path, name: str) -> None:
    """R-SESSION-3: `buffer` is the editor and `external` another program, in each place that names an author."""
    told = name if name == "reviewer" else f"session:{name}"
    asked: list[Question] = []

    async def confirm(question: Question) -> Answer:
        asked.append(question)
        return Answer(outcome="proceed_once")

    options: Options = {"freshness": "relevant"}
    async with FileOpsClient.start(root=file.parent, initialization_options=options, confirm_edit=confirm) as client:
        await client.read(file)
        await client.read(file, session_id=name)
        assert (await client.edit(file, "line 2\n", "theirs\n", session_id=name)).ok
        rebased = await client.edit(file, "line 20", "mine")
        assert details_of(rebased)["rebased"]["changed_by"] == told
        question = asked[-1].rebased
        assert question is not None and question["changed_by"] == told
        entry, *_ = await client.history()
        assert entry.rebased is not None and entry.rebased.changed_by == told
        assert (await client.edit(file, "line 9\n", "theirs\n", session_id=name)).ok
        refused = await client.edit(file, "line 9", "mine")
        assert details_of(refused)["changed_by"] == told
        (conflict,) = await client.conflicts()
        assert conflict.source == f"session:{name}"
    async with client_of(file.parent, notices="details") as client:
        await client.read(file)
        await client.read(file, session_id=name)
        assert (await client.edit(file, "line 2", "theirs", session_id=name, replace_all=True)).ok
        (notice,) = details_of(await client.read(file.parent / "missing"))["notices"]
        assert (notice["changed_by"], notice["kind"]) == (told, "edited")


async def test_sessions_edit_neighbouring_lines_without_reading_again(file: Path) -> None:
    """A change by another session is known exactly: it may touch the edit, but not overlap it."""
    async with client_of(file.parent) as client:
        for session in ("one", "two"):
            await client.read(file, session_id=session)
        assert (await client.edit(file, "line 19\n", "line 19\ntheirs\n", session_id="one")).ok
        assert (await client.edit(file, "line 20", "mine", session_id="two")).ok
        assert (await client.edit(file, "line 21", "mine too", session_id="two")).ok
        assert (await client.edit(file, "theirs", "theirs still", session_id="one")).ok
        assert file.read_text() == LINES.replace(
            "line 19\nline 20\nline 21\n", "line 19\ntheirs still\nmine\nmine too\n"
        )


async def test_session_edits_beside_what_another_has_undone(file: Path) -> None:
    async with client_of(file.parent) as client:
        for session in ("one", "two"):
            await client.read(file, session_id=session)
        assert (await client.edit(file, "line 19\n", "line 19\ntheirs\n", session_id="one")).ok
        await client.undo(session_id="one")
        assert (await client.edit(file, "line 12\n", "theirs\n", session_id="one")).ok
        assert (await client.edit(file, "line 13\n", "mine\n", session_id="two")).ok
        assert file.read_text() == LINES.replace("line 12\nline 13\n", "theirs\nmine\n")


async def test_same_line_is_not_added_twice_by_two_sessions(file: Path) -> None:
    async with client_of(file.parent) as client:
        for session in ("one", "two"):
            await client.read(file, session_id=session)
        added = ("line 19\n", "line 19\nimport json\n")
        assert (await client.edit(file, *added, session_id="one")).ok
        refused = await client.edit(file, *added, session_id="two")
        assert details_of(refused)["relevance"]["reason"] == "near"
        assert file.read_text().count("import json") == 1


# --- what is known of changes by a person and by programs -----------------------------------------------------------


@asynccontextmanager
async def person_and_agent(root: Path) -> AsyncGenerator[tuple[EditorClient, FileOpsClient]]:
    async with editor_client(root, "workspace/applyEdit", options={"freshness": "relevant"}) as editor:
        yield editor, editor.client


async def test_edit_lands_directly_beside_lines_that_a_person_has_typed(file: Path) -> None:
    """What an editor reports as typed is known exactly, saved or not."""
    async with person_and_agent(file.parent) as (editor, client):
        editor.open(file)
        await client.read(file)
        editor.type(file, "line 19", "line 19\ntyped")
        editor.type(file, "typed", "typed at length")
        assert (await client.edit(file, "line 20", "mine")).ok
        assert "line 19\ntyped at length\nmine\nline 21\n" in editor.text(file)
        editor.type(file, "line 21", "line 21, and more")
        editor.save(file)
        assert (await client.edit(file, "line 22\n", "mine too\n")).ok
        assert "mine\nline 21, and more\nmine too\n" in file.read_text()


async def test_what_was_typed_is_known_although_the_report_of_its_save_comes_late(file: Path) -> None:
    """A request looks at the file between the save and its report."""
    async with person_and_agent(file.parent) as (editor, client):
        editor.open(file)
        await client.read(file)
        editor.type(file, "line 21", "line 21, and more")
        file.write_text(editor.text(file))
        await client.read(file, session_id="other")
        editor.client.did_save(file)
        assert (await client.edit(file, "line 22\n", "mine\n")).ok
        assert "line 21, and more\nmine\n" in file.read_text()


async def test_reloaded_text_is_not_taken_as_typed(file: Path) -> None:
    async with person_and_agent(file.parent) as (editor, client):
        editor.open(file)
        await client.read(file)
        file.write_text(file.read_text().replace("line 21\n", "line 21, and more\n"))
        editor.type(file, "line 21", "line 21, and more")
        await client.read(file, session_id="other")
        editor.type(file, "line 1\n", "line 1, typed\n")
        refused = await client.edit(file, "line 22\n", "mine\n")
        assert details_of(refused)["relevance"]["reason"] == "near"


async def test_edit_of_text_that_a_person_has_typed_over_is_refused(file: Path) -> None:
    async with person_and_agent(file.parent) as (editor, client):
        editor.open(file)
        await client.read(file)
        editor.type(file, "line 20", "line 20, which counts")
        refused = await client.edit(file, "line 20", "mine")
        assert details_of(refused)["relevance"]["reason"] == "near"


@pytest.mark.parametrize("is_whole", [True, False])
async def test_reload_of_a_file_is_compared_like_the_program_that_changed_it(file: Path, is_whole: bool) -> None:
    """An editor reports a reload as if it were typed, but the places are those of its own comparison."""
    async with person_and_agent(file.parent) as (editor, client):
        editor.open(file)
        await client.read(file)
        if is_whole:
            editor.set_text(file, LINES.replace("line 19\n", "theirs\n"))
        else:
            editor.type(file, "line 18\nline 19\n", "line 18\ntheirs\n")
        refused = await client.edit(file, "line 20", "mine")
        assert details_of(refused)["relevance"]["reason"] == "near"
        assert (await client.edit(file, "line 25", "mine")).ok


async def test_known_changes_stay_known_when_a_program_changes_other_lines(file: Path) -> None:
    """Each change by a program is compared by itself, with the content right before it."""
    async with client_of(file.parent) as client:
        for session in ("one", "two"):
            await client.read(file, session_id=session)
        assert (await client.edit(file, "line 19\n", "line 19\ntheirs\n", session_id="one")).ok
        replaced(file, "line 2\n", "by a program\n")
        assert (await client.edit(file, "line 20", "mine", session_id="two")).ok
        await client.read(file, session_id="one")
        assert (await client.edit(file, "line 22\n", "line 22\ntheirs\n", session_id="one")).ok
        replaced(file, "line 3\n", "by another\n")
        assert (await client.edit(file, "line 23", "mine too", session_id="two")).ok
        assert "theirs\nmine\nline 21\nline 22\ntheirs\nmine too\n" in file.read_text()
        replaced(file, "line 24\n", "by a third\n")
        refused = await client.edit(file, "line 25", "mine", session_id="two")
        assert details_of(refused)["relevance"]["reason"] == "near"
