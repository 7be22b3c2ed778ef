"""A connection to the daemon that all agents and editors of the user share: its address, its start, the first lines.

docs/PROTOCOL.md, "Attaching to a shared daemon", describes them. The server's rules for the address are in
`attach/address.py`; tests/clients/python/test_attach.py compares the two.
"""

import asyncio
import json
import os
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any, Literal

import msgspec

from fileops_client._process import DEFAULT_COMMAND, STREAM_LIMIT_BYTES, cannot_start
from fileops_client.errors import AttachRefused, ServerMissing

ATTACH = 1  # the version of the handshake
ATTEMPTS = 5  # a daemon may end while a client connects; several in a row do not
ANSWER_S = 60.0  # a daemon on a busy machine is slow to start
ENDING_S = 20.0  # for a daemon that is ending, and finishes commits
PAUSE_S = 0.05
_DARWIN_USER_TEMP_DIR = 65537  # _CS_DARWIN_USER_TEMP_DIR of <unistd.h>, which Python has no name for

Role = Literal["agent", "editor"]


class AttachedDaemon:
    """See Transport. It ends with the connection; the daemon keeps serving others."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pid: int) -> None:
        self.reader = reader
        self.writer = writer
        self.pid = pid
        self.stderr_tail = ""

    async def wait(self, timeout_s: float) -> int | None:
        """Return None: the daemon has no exit code for its clients."""
        del timeout_s
        return None

    async def end(self, grace_s: float) -> int | None:
        self.writer.close()
        with suppress(OSError, TimeoutError):  # the daemon has already closed it
            async with asyncio.timeout(grace_s):
                await self.writer.wait_closed()
        return None

    def kill(self) -> None:
        self.writer.close()


class _Gone(Exception):
    """The daemon closed the connection before it answered."""


async def launch(
    *,
    socket: str | None,
    role: Role,
    host: str,
    session: str | None,
    roots: Sequence[str],
    command: Sequence[str] | None,
) -> AttachedDaemon:
    """Attach, and start a daemon if none runs. Raises: ServerMissing, AttachRefused."""
    path = socket_path(socket)
    line = json.dumps(  # which escapes what is not UTF-8 in a path
        {
            "fileops_attach": ATTACH,
            "version": _version(),
            "protocol": "lsp",
            "role": role,
            "host": host,
            "cwd": _working_folder(),
            "roots": roots,
            "session": session,
            "hints": {},
            "options": {},
            "pid": os.getpid(),
            "umask": _umask(),
        }
    ).encode("ascii")
    ending_until = time.monotonic() + ENDING_S
    n_attempts = 0
    while n_attempts < ATTEMPTS:
        require_private_folder(os.path.dirname(path))
        try:
            return await _attach(path, line)
        except AttachRefused as refused:
            if not refused.ends_soon or time.monotonic() > ending_until:
                raise
            await asyncio.sleep(PAUSE_S)
        except (FileNotFoundError, ConnectionRefusedError):
            n_attempts += 1
            await _start_daemon(path, command)
        except OSError as error:
            raise ServerMissing(error.errno, f"{path} cannot be connected: {error.strerror or error}") from error
        except _Gone:
            n_attempts += 1
            await asyncio.sleep(PAUSE_S)
    raise ServerMissing(f"the shared daemon at {path} ended {ATTEMPTS} times before it answered")


async def _attach(path: str, line: bytes) -> AttachedDaemon:
    """Raises: AttachRefused, OSError, _Gone."""
    reader, writer = await asyncio.open_unix_connection(path, limit=STREAM_LIMIT_BYTES)
    try:
        answer = await _answer(reader, writer, line)
    except BaseException:
        writer.close()
        raise
    pid = answer.get("pid")
    return AttachedDaemon(reader, writer, pid if isinstance(pid, int) else 0)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: bytes) -> dict[str, Any]:
    """Raises: AttachRefused, _Gone."""
    writer.write(line + b"\n")
    try:
        async with asyncio.timeout(ANSWER_S):
            fields = msgspec.json.decode(await reader.readuntil(b"\n"), type=dict[str, Any])
    except TimeoutError:
        raise AttachRefused("silent", f"the shared daemon did not answer within {ANSWER_S:g} s") from None
    except (asyncio.IncompleteReadError, OSError):  # OSError also if its queue of clients was full: ENOTCONN
        raise _Gone from None
    except (asyncio.LimitOverrunError, msgspec.MsgspecError):
        raise AttachRefused("bad", "what listens at the socket is not a fileops daemon") from None
    if fields.get("ok") is not True:
        reason, message = str(fields.get("reason")), str(fields.get("message"))
        raise AttachRefused(reason, message, ends_soon=fields.get("ends_soon") is True)
    return fields


async def _start_daemon(path: str, command: Sequence[str] | None) -> None:
    """Start a daemon, and return when one answers. Raises: ServerMissing."""
    program = [*(DEFAULT_COMMAND if command is None else command), "daemon", "--detach", "--socket", path]
    try:
        process = await asyncio.create_subprocess_exec(
            *program,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise cannot_start(program[0], error) from error
    try:
        async with asyncio.timeout(ANSWER_S):
            _, said = await process.communicate()
    except TimeoutError:
        raise ServerMissing(f"the shared daemon did not start within {ANSWER_S:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ServerMissing(f"the shared daemon did not start: {said.decode('utf-8', 'replace').strip()}")


def _version() -> str:
    """Return this version. A daemon that is older than one of its clients ends with its last connection."""
    try:
        return metadata.version("fileops-server")
    except metadata.PackageNotFoundError:  # only the client is on the path
        return "0"


def _umask() -> int | None:
    """Return the umask of this process, None if it cannot be read without setting it, which other threads would see."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return next((int(line.split()[1], 8) for line in status if line.startswith("Umask:")), None)
    except OSError:
        return None


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed
        return "/"


# --- the address -------------------------------------------------------------------------------------------------


def socket_path(given: str | None) -> str:
    """Return the path of the daemon's socket. XDG_RUNTIME_DIR and TMPDIR are ignored, because hosts change them."""
    return os.path.abspath(given or os.environ.get("FILEOPS_SOCKET") or os.path.join(_default_folder(), "arbiter.sock"))


def require_private_folder(folder: str) -> None:
    """Refuse a folder that another user could have created or could write to. Raises: ServerMissing."""
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return  # the daemon creates it
    except OSError as error:
        raise ServerMissing(error.errno, f"the folder {folder} cannot be used: {error.strerror}") from error
    if not _is_private(status):
        raise ServerMissing(
            f"the folder {folder} is not a folder of this user alone, so a socket in it could be another user's: "
            "name a socket in a folder that only you can enter (mode 0700)"
        )


def _is_private(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _default_folder() -> str:
    uid = os.geteuid()
    if sys.platform == "darwin":
        return os.path.join(os.confstr(_DARWIN_USER_TEMP_DIR) or "/tmp", f"fileops-{uid}")
    runtime = f"/run/user/{uid}"
    try:
        is_ours = _is_private(os.lstat(runtime))
    except OSError:
        is_ours = False
    return os.path.join(runtime, "fileops") if is_ours else f"/tmp/fileops-{uid}"
