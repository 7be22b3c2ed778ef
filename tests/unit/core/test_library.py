"""`fileops.valid` and `fileops.execute`: the sentences, the types, and that Edit and MultiEdit answer the same."""

from typing import Literal

import pytest

import fileops
from fileops.model.edits import Edit
from fileops.model.requests import EditRequest
from fileops.model.sessions import DEFAULT_SESSION
from support.in_process import Workbench

NOT_FOUND = "<tool_use_error>String to replace not found in file.\nString: {}</tool_use_error>"
SAME = "<tool_use_error>No changes to make: old_string and new_string are exactly the same.</tool_use_error>"
EXISTS = "<tool_use_error>Cannot create new file - file already exists.</tool_use_error>"
TWO = (
    "<tool_use_error>Found 2 matches of the string to replace, but replace_all is false. To replace all occurrences, "
    "set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the "
    "instance.\nString: a</tool_use_error>"
)
REFUSALS = [
    ("one\n", "two", "2", False, NOT_FOUND.format("two"), "no_match"),
    ("one\n", "one", "one", False, SAME, "no_change"),
    ("one\n", "", "two", False, EXISTS, "already_exists"),
    ("", "", "two", False, EXISTS, "already_exists"),
    ("a a", "a", "b", False, TWO, "multiple_matches"),
    ("one\r\n", "one\r\n", "one\n", False, SAME, "no_change"),
]
EDITS = [
    ("a a", "a", "b", True, "b b"),
    ("one\r\ntwo\r\n", "one\ntwo", "1\nx\n2", False, "1\r\nx\r\n2\r\n"),
    ("x = $1 \\1 &\n", "$1 \\1 &", "\\g<0>", False, "x = \\g<0>\n"),
    ("no newline", "newline", "", False, "no "),
    ("\ufeffone", "\ufeffone", "1", False, "1"),
    ("caf\udce9 \ud800 one", "one", "1", False, "caf\udce9 \ud800 1"),
    ("nul\0 one", "one", "1", False, "nul\0 1"),
]


@pytest.mark.parametrize(("content", "old", "new", "replace_all", "sentence", "code"), REFUSALS)
def test_edit_that_cannot_be_made_returns_the_specified_sentence(
    content: str, old: str, new: str, replace_all: bool, sentence: str, code: str
) -> None:
    for given in (content, content.encode()):
        assert fileops.valid(given, old, new, replace_all) == sentence
        with pytest.raises(fileops.EditError) as caught:
            fileops.execute(given, old, new, replace_all)
        assert (str(caught.value), caught.value.code) == (sentence, code)


@pytest.mark.parametrize(("content", "old", "new", "replace_all", "after"), EDITS)
def test_edit_of_a_string_returns_a_string(content: str, old: str, new: str, replace_all: bool, after: str) -> None:
    assert fileops.valid(content, old, new, replace_all) is None
    assert fileops.execute(content, old, new, replace_all) == after


@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        (b"\xff one\r\n\xfe", "one\n", "1\n", b"\xff 1\r\n\xfe"),
        (b"\xef\xbb\xbfone", "one", "1", b"\xef\xbb\xbf1"),
        ("\ufeffone".encode("utf-16-le"), "one", "1", "\ufeff1".encode("utf-16-le")),
    ],
)
def test_edit_of_bytes_keeps_all_other_bytes(content: bytes, old: str, new: str, after: bytes) -> None:
    assert fileops.execute(content, old, new) == after


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((bytearray(b"x"), "x", "y"), "content"),
        (("x", b"x", "y"), "old_string"),
        (("x", "x", None), "new_string"),
        (("x", "x", "y", "false"), "replace_all"),
    ],
)
def test_argument_of_another_type_is_a_type_error(arguments: tuple[object, ...], word: str) -> None:
    for call in (fileops.valid, fileops.execute):
        with pytest.raises(TypeError, match=word):
            call(*arguments)  # pyrefly: ignore[bad-argument-type, no-matching-overload]


@pytest.mark.parametrize(("content", "old", "new", "replace_all", "sentence", "code"), REFUSALS)
async def test_tools_refuse_the_edits_that_valid_refuses(
    content: str, old: str, new: str, replace_all: bool, sentence: str, code: str
) -> None:
    outcomes = await _edited(content, Edit(old_string=old, new_string=new, replace_all=replace_all))
    assert outcomes[0] == (sentence, code, content.encode())
    if code != "no_change" or old == new:  # else a multi edit, which may have no net effect, succeeds
        assert outcomes[1] == (sentence, code, content.encode())


@pytest.mark.parametrize(("content", "old", "new", "replace_all", "after"), EDITS[:4])
async def test_tools_write_the_result_of_execute(
    content: str, old: str, new: str, replace_all: bool, after: str
) -> None:
    outcomes = await _edited(content, Edit(old_string=old, new_string=new, replace_all=replace_all))
    assert [outcome[2] for outcome in outcomes] == [after.encode(), after.encode()]


async def _edited(content: str, edit: Edit) -> list[tuple[str, str | None, bytes | None]]:
    """The outcome of Edit and of MultiEdit: text, code, and the file afterwards."""
    bench = Workbench()
    outcomes: list[tuple[str, str | None, bytes | None]] = []
    tools: tuple[Literal["edit", "multi_edit"], ...] = ("edit", "multi_edit")
    for tool in tools:
        path = f"/w/{tool}.txt"
        bench.disk.put(path, content.encode())
        await bench.read(path)
        request = EditRequest(file_path=path, edits=(edit,), session_id=DEFAULT_SESSION, tool=tool)
        result = await bench.service.edit(request)
        outcomes.append((result.output, None if result.error is None else result.error.code, bench.on_disk(path)))
    bench.close()
    return outcomes
