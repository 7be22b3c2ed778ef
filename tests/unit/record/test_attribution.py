"""Who wrote an observed change: the table of rules, row by row (R-BY-1), and processes left behind (R-BY-4)."""

import pytest
from msgspec.structs import replace

from fileops.model.record import OUTSIDE, ByCommand, ByPerson, BySession, CommandRecord, unsure
from fileops.model.sessions import SessionName
from fileops.record.attribution import Observation, Save, attribute

ANA = ByPerson(session_id="vscode-1", label="VS Code")


def command(
    name: str,
    session_id: str = "codex:1",
    ended: float | None = None,
    *,
    is_background: bool = False,
    is_lost: bool = False,
) -> CommandRecord:
    return CommandRecord(
        command_id=name, session_id=SessionName(session_id), label=f"{session_id[:-2]} · {name}", began=0.0,
        roots=("/p",), ended=ended, is_background=is_background, is_lost=is_lost,
    )  # fmt: skip


def by(of: CommandRecord) -> ByCommand:
    return ByCommand(session_id=of.session_id, command_id=of.command_id, label=of.label)


SED, MAKE, OTHER = command("sed"), command("make"), command("fix", "claude:2")


def change(
    *commands: CommandRecord, before: str | None = "b", after: str | None = "a", typed_by: ByPerson | None = None
) -> Observation:
    return Observation(
        before_text=before, after_text=after, began=10.0, read=11.0, commands=commands, typed_by=typed_by
    )


def twice(observed: Observation) -> Observation:
    return replace(observed, n_writes=2)


def save(time: float, text: str | None) -> Save:
    return Save(person=ANA, time=time, text=text)


@pytest.mark.parametrize(
    ("row", "observed", "saves", "wanted"),
    [
        ("2 typed before", change(SED, typed_by=ANA), [], [(ANA, "save")]),
        ("2 saved", change(SED, OTHER), [save(11.9, "a")], [(ANA, "save")]),
        ("2 saved with other line ends", change(SED, after="\ufeffa\r\nb"), [save(11, "a\nb")], [(ANA, "save")]),
        ("2 reported first", change(SED), [save(9.6, "a")], [(ANA, "save")]),
        ("2 saved too late", change(SED), [save(12.1, "a")], [(by(SED), "command")]),
        ("3 but a command", twice(change(SED)), [save(10.5, "m")], [(unsure(by(SED), ANA), "command")]),
        ("3 then a formatter", twice(change()), [save(10.5, "m")], [(ANA, "save")]),
        ("3 but written once", change(SED), [save(10.5, "m")], [(unsure(by(SED), ANA), "command")]),
        ("3 not of what was there", twice(change(SED)), [save(10.5, "b")], [(unsure(by(SED), ANA), "command")]),
        ("4", change(), [], [(OUTSIDE, "none")]),
        ("4 formatter without a command", change(), [save(9.4, "m")], [(OUTSIDE, "none")]),
        ("5 saved before", change(SED), [save(8.1, "b")], [(unsure(by(SED), ANA), "command")]),
        ("5 saved long before", change(SED), [save(7.9, "b")], [(by(SED), "command")]),
        ("5 left with unsaved text", twice(change(SED)), [save(11, None)], [(unsure(by(SED), ANA), "command")]),
        ("5 deleted as the editor left", change(SED, after=None), [save(11, None)], [(by(SED), "command")]),
        ("5 events lost", replace(change(SED), known_at=6.0), [save(7, "m")], [(unsure(by(SED), ANA), "command")]),
        ("6 saved before", replace(change(SED), known_at=6.0), [save(5.9, "m")], [(by(SED), "command")]),
        ("6", change(SED), [], [(by(SED), "command")]),
        ("6 deletion", change(SED, after=None), [], [(by(SED), "command")]),
        ("6 deletion after a save", change(SED, after=None), [save(9.0, "b")], [(by(SED), "command")]),
        ("7", change(SED, MAKE), [], [(BySession(session_id=SessionName("codex:1"), label="codex"), "command")]),
        ("8", change(SED, OTHER), [], [(unsure(by(SED), by(OTHER)), "command")]),
    ],
)
def test_first_row_that_holds_decides(row: str, observed: Observation, saves: list[Save], wanted: object) -> None:
    assert row
    author = attribute(observed, saves=saves)
    assert [(author.by, author.evidence)] == wanted


def test_change_that_was_saved_and_then_written_without_a_command_is_the_persons() -> None:
    assert attribute(twice(change()), saves=[save(10.2, "m")]).by == ANA


def test_process_that_a_command_left_makes_a_change_unsure() -> None:
    left = command("bg", ended=5.0, is_background=True)
    assert attribute(change(), lingering=[left]).by == unsure(by(left))
    assert attribute(change(SED), lingering=[left]).by == by(SED)


@pytest.mark.parametrize("n_writes", [2, 3, None])
def test_save_beside_other_writes_during_a_command_is_unsure(n_writes: int | None) -> None:
    """The editor may have loaded what the command wrote, and saved it."""
    saved = [save(10.5, "a")]
    assert attribute(replace(change(SED), n_writes=1), saves=saved).by == ANA
    assert attribute(replace(change(SED), n_writes=n_writes), saves=saved).by == unsure(by(SED), ANA)
    assert attribute(replace(change(), n_writes=n_writes), saves=saved).by == ANA


def test_command_that_was_open_for_a_part_of_the_time_only_is_unsure() -> None:
    observed = replace(change(SED), is_certain=False)
    assert attribute(observed).by == unsure(by(SED), OUTSIDE)
    assert attribute(replace(change(), is_certain=False)).by == OUTSIDE
