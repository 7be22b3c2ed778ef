"""The wire contract of shell commands, see docs/PROTOCOL.md, "fileops/bash"."""

from typing import Annotated

import msgspec
from msgspec import Meta

from fileops.wire.types import SessionParams


class BashParams(SessionParams, frozen=True, kw_only=True):
    command: Annotated[str, Meta(min_length=1)]
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    cwd: str | None = None
    description: str | None = None


class ConfirmCommandParams(msgspec.Struct, frozen=True, kw_only=True):
    """Of the request that puts a command before a person. description: as the agent gave it."""

    command: str
    cwd: str
    session_id: str
    description: str | None
