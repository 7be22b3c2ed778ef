"""What is offered after a failed edit: it is in the file, and the same step with it succeeds there."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from fileops.core import plan, splices
from fileops.core.suggestions.steps import MAX_OLD_CHARS, MAX_OLD_LINES, Examination, examine
from fileops.core.text import to_lf
from fileops.model.edits import Edit
from fileops.model.files import Text, TextFormat
from support.core_models import formats, text_of

PIECES = ["", "}", "    return x", "\treturn x", "def f(a, b):", "“quoted” text", "x = 1  ", "```", "…"]
LINES = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20),
    min_size=1,
    max_size=20,
)


@st.composite
def sources(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(["\n", "\r\n"])).join([*draw(LINES), ""])


def changed(lines: list[str], data: st.DataObject) -> str:
    """A part of the lines, as a model would give it wrongly."""
    first = data.draw(st.integers(0, len(lines) - 1))
    part = lines[first : data.draw(st.integers(first + 1, len(lines)))]
    how = data.draw(st.sampled_from(["indent", "strip", "tail", "word", "lost", "escape"]))
    if how == "lost":
        part = ["a line that is not there", *part]
    changes: dict[str, Callable[[str], str]] = {
        "indent": lambda line: f"  {line}",
        "strip": str.strip,
        "tail": lambda line: f"{line} ",
        "word": lambda line: line.replace("x", "stale"),
        "lost": str,
        "escape": str,
    }
    text = "\n".join(map(changes[how], part))
    return text.replace("\n", "\\n") if how == "escape" else text


def examined(text: Text, edit: Edit) -> Examination:
    return examine(text, [edit], encoding=None, own_edits=lambda: (), check=lambda: None)


@given(sources(), st.text(max_size=20), formats, st.data())
def test_suggestion_that_is_offered_succeeds_at_its_place(
    source: str, new: str, fmt: TextFormat, data: st.DataObject
) -> None:
    """R-ANS-0."""
    text = text_of(source, fmt)
    old = changed(source.replace("\r\n", "\n").split("\n"), data)
    edit = Edit(old_string=old, new_string=new)
    lines = to_lf(source).split("\n")
    for offer in examined(text, edit).suggestions:
        assert 1 <= offer.start_line <= offer.end_line <= len(lines)
        if offer.old_string is None:
            continue
        assert offer.old_string in to_lf(source)
        assert offer.old_string.count("\n") < MAX_OLD_LINES
        assert len(offer.old_string) <= MAX_OLD_CHARS
        wanted = offer.old_string.replace(old, new) if offer.kind == "unique" else new
        step = plan.resolve(text, Edit(old_string=offer.old_string, new_string=wanted))
        assert step.n_replacements == 1
        assert offer.start_line <= step.match_lines[0] + 1
        assert step.match_lines[0] <= offer.end_line
        assert splices.apply(text.data, step.splices) != text.data


@given(sources(), st.text(max_size=20), st.data())
def test_only_texts_that_fail_are_answered(source: str, new: str, data: st.DataObject) -> None:
    lines = source.replace("\r\n", "\n").split("\n")
    part = lines[data.draw(st.integers(0, len(lines) - 1))]
    edit = Edit(old_string=part or "x", new_string=new)
    answer = examined(text_of(source), edit)
    assert bool(answer.failures) >= bool(answer.suggestions)
    assert len(answer.suggestions) <= 3
