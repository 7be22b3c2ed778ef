"""What a host's hook reports about its session, and what follows from it: docs/MCP.md, section Hooks."""

from typing import Annotated, Literal, assert_never

from msgspec import Meta, Struct

from fileops.service.session_work import SessionWork, WorkingSession

HostId = Annotated[str, Meta(max_length=200)]
Path = Annotated[str, Meta(max_length=4096, pattern=r"\A/[^\0]*\Z")]


class HookReport(Struct, frozen=True, kw_only=True):
    """A report, see attach.hook_record.Report. program: the command's label."""

    what: Literal["begin_command", "end_command", "begin_turn", "end_turn"]
    cwd: Path | None = None
    tool_use_id: HostId | None = None
    program: str = ""
    names_git: bool = False
    background: bool = False
    turn_id: HostId | None = None
    title: str | None = None


async def note_report(work: SessionWork, session: WorkingSession, report: HookReport) -> None:
    match report.what:
        case "begin_command":
            await work.begin_command(
                session,
                report.program,
                host_id=report.tool_use_id,
                is_background=report.background,
                names_git=report.names_git,
            )
        case "end_command":
            await work.end_command_of(session.session_id, report.tool_use_id, is_background=report.background)
        case "begin_turn":
            await work.end_commands(session.session_id)
            await work.begin_turn(session, report.turn_id, report.title)
        case "end_turn":
            await work.end_turn(session.session_id)
        case _:
            assert_never(report.what)
