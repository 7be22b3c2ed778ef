"""The terminal's `diff` is the preview of an undo in the other direction: R-CLI-1."""

import re

from hypothesis import given
from hypothesis import strategies as st

from fileops.core import text
from fileops.core.diff.contents import splices_between
from fileops.core.diff.unified import change_of
from fileops.model.settings import Limits
from fileops.terminal.record_lines import reverse_diff

# What looks like a part of a diff once a sign is before it; a page break ends no line.
LINES = st.sampled_from(["x", "-- x", "++ y", "", "@@ -1 +1 @@", "\\ No newline at end of file", "a\fb", "old mode 1"])


@st.composite
def _texts(draw: st.DrawFn) -> str:
    lines = draw(st.lists(LINES, min_size=1, max_size=8))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


def _diff(before: str, after: str) -> str:
    old, new = before.encode(), after.encode()
    fmt = text.detect_format(old)
    change = change_of(
        old, fmt, splices_between(old, new, fmt),
        file_path="/p/a", operation="modify", limits=Limits(), with_snippet=False,
    )  # fmt: skip
    return change.unified


def _patched(before: str, diff: str) -> str:
    """Apply the hunks of a diff, each of which must fit, as `patch` does."""
    lines = re.split(r"(?<=\n)", before) if before else []
    result: list[str] = []
    at, body = 0, diff.split("\n")[2:]
    while body and body[0]:
        head = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*", body.pop(0))
        assert head is not None
        n_old, n_new = int(head[2] or 1), int(head[4] or 1)
        start = int(head[1]) - (n_old > 0)
        result, at = result + lines[at:start], start
        while n_old or n_new or body[0].startswith("\\"):
            sign, line = body[0][:1], body.pop(0)[1:] + "\n"
            if sign == "\\":
                continue
            if body[0].startswith("\\"):
                line = line.removesuffix("\n")
            if sign in {" ", "-"}:
                assert lines[at] == line
                at, n_old = at + 1, n_old - 1
            if sign in {" ", "+"}:
                result.append(line)
                n_new -= 1
    return "".join(result + lines[at:])


@given(_texts(), _texts())
def test_reversed_diff_leads_from_the_new_text_to_the_old_one(before: str, after: str) -> None:
    diff = _diff(before, after)
    assert not diff or _patched(before, diff) == after
    assert not diff or _patched(after, reverse_diff(diff)) == before


def test_reversed_diff_swaps_modes_and_names() -> None:
    diff = "old mode 100755\nnew mode 100644\n--- /p/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert reverse_diff(diff) == ("old mode 100644\nnew mode 100755\n--- /dev/null\n+++ /p/a\n@@ -0,0 +1 @@\n+x\n")
    assert reverse_diff("new file mode 100755\n") == "deleted file mode 100755\n"
