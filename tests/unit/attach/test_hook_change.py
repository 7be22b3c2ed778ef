"""What a hook shows the person of a lean answer."""

import pytest

from fileops.attach.hook_change import message_of

EDIT = {"file_path": "/p/src/a.js", "old_string": "two", "new_string": "2\n2b"}
STEPS = [{"old_string": "a\n", "new_string": ""}, {"old_string": "x\nb\n", "new_string": "x\nB\n"}]


@pytest.mark.parametrize(
    ("arguments", "answer", "message"),
    [
        (EDIT, "The file has been updated: lines 2-3.", "src/a.js +2 −1\n@@ line 2\n-two\n+2\n+2b"),
        (
            EDIT,
            "The file has been updated: line 2. Others have changed line 9 since you read it; that is kept.",
            "src/a.js +2 −1\n@@ line 2\n-two\n+2\n+2b",
        ),
        (
            {"file_path": "/p/b.js", "edits": STEPS},
            "Applied 2 edits: lines 3 and 8.",
            "b.js +1 −2\n@@ line 3\n-a\n@@ line 8\n-b\n+B",
        ),
        (EDIT, "The file /p/src/a.js has been updated. Here's the result", None),
        (EDIT, "File has not been read yet. Read it first before writing to it.", None),
        ("odd", "The file has been updated: line 2.", None),
        ({"file_path": "/p/a", "edits": "odd"}, "Applied 2 edits: lines 3 and 8.", None),
    ],
)
def test_person_is_shown_the_lines_of_the_call(arguments: object, answer: str, message: str | None) -> None:
    assert message_of(arguments, answer, "/p") == message


def test_long_change_is_cut_and_a_file_elsewhere_has_its_whole_path() -> None:
    edit = {"file_path": "/q/a", "old_string": "x", "new_string": "\n".join(map(str, range(30)))}
    message = message_of(edit, "The file has been updated: lines 1-30.", "/p") or ""
    assert message.split("\n")[0] == "/q/a +30 −1"
    assert message.split("\n")[-1] == "… 23 more"
