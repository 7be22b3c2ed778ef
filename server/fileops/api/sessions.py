"""Handlers of the requests about a session's files, and of its reset."""

from typing import TYPE_CHECKING

import msgspec

from fileops.core.presentation.failures import failure_message
from fileops.model.requests import ReadRequest
from fileops.wire import sessions as wire
from fileops.wire.types import ErrorInfo, Params, SessionParams

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps


async def record_read(service: "FileOps", params: wire.FileParams) -> wire.RecordReadResult:
    session = service.names.full(params.session_id)
    outcome = await service.record_read(ReadRequest(file_path=params.file_path, session_id=session))
    failure = outcome.error
    return wire.RecordReadResult(
        recorded=failure is None,
        error=None if failure is None else ErrorInfo(code=failure.code, message=failure_message(failure)),
        size_bytes=outcome.size_bytes,
        mtime=None if outcome.mtime_ns is None else outcome.mtime_ns / 1e9,
    )


async def forget(service: "FileOps", params: wire.FileParams) -> wire.ForgetResult:
    session = service.names.full(params.session_id)
    return wire.ForgetResult(forgotten=await service.files.forget(session, params.file_path))


async def conflicts(service: "FileOps", params: SessionParams) -> wire.ConflictsResult:
    conflicts = await service.files.conflicts(service.names.resolve(params.session_id))
    names = service.names
    return wire.ConflictsResult(
        conflicts=[msgspec.structs.replace(file, source=names.local_source(file.source)) for file in conflicts]
    )


async def session_files(service: "FileOps", params: wire.SessionFilesParams) -> wire.SessionFilesResult:
    files = await service.files.list_files(service.names.resolve(params.session_id), params.limit)
    return wire.SessionFilesResult(files=files)


async def list_sessions(service: "FileOps", params: Params) -> wire.SessionsResult:
    del params
    await service.resolve_folders()
    return sessions_result(service)


def sessions_result(service: "FileOps") -> wire.SessionsResult:
    """Return the sessions of a shared daemon, under the names that this client knows."""
    return wire.SessionsResult(
        sessions=[
            wire.Session(
                session_id=service.names.local(session.session_id),
                full_name=session.session_id,
                host=session.host,
                label=session.label,
                connected=session.is_connected,
                approval_mode=service.approval_mode(session.session_id),
                n_reads=session.n_reads,
                n_edits=session.n_edits,
                last_seen=session.last_seen,
                in_folders=service.is_of_project(session.folders),
            )
            for session in service.all_sessions()
        ]
    )


async def reset_session(service: "FileOps", params: SessionParams) -> None:
    service.files.reset(service.names.resolve(params.session_id))
