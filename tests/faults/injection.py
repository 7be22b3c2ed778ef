"""The daemon with a shim between it and libc: killed, failed or held at a call on the watched folders.

`shim.c` is compiled at test time; where there is no C compiler, the tests say so and are skipped.
"""

import contextlib
import mmap
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from support.patience import PATIENCE_S
from support.rawclient import RawClient, raw_client

_SHIM = Path(__file__).with_name("shim.c")
_MAX_NAMES, _NAME_BYTES, _FOLDERS_BYTES = 512, 16, 4096
# armed, n_calls, at, action, number, fired, released, n_met, is_outdated, round, name, behind
_ORDERS = struct.Struct(f"10i{_NAME_BYTES}s{_NAME_BYTES}s")
_FOLDERS_AT = _ORDERS.size + _MAX_NAMES * _NAME_BYTES
_CONTROL_BYTES = _FOLDERS_AT + _FOLDERS_BYTES

IS_COMPLETE = os.environ.get("FILEOPS_FAULTS") == "all"  # every point; else a sample that differs from table to table


class Action(IntEnum):
    """KILL_HALF: of this write half is done. FAIL_ON: this call and all that follow. WAIT: until released."""

    COUNT = 0
    KILL = 1
    KILL_HALF = 2
    FAIL = 3
    FAIL_ON = 4
    WAIT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """The at-th call whose name begins with `name`, of those that come behind one that begins with `behind`.

    How many calls an edit makes differs from one to the next (other threads look, another way is taken): where a
    certain moment is meant, it is named.
    """

    at: int = 1
    name: str = ""
    behind: str = ""


def reason_for_none() -> str | None:
    """Why the shim is not available here; None if it is."""
    if not sys.platform.startswith("linux"):
        return "the shim speaks to Linux alone"
    if shutil.which("cc") is None:
        return "no C compiler (cc) to build the shim with"
    has_headers = subprocess.run(["cc", "-E", "-"], input=b"#include <stdio.h>", capture_output=True, check=False)
    return None if has_headers.returncode == 0 else "the C library's headers are missing (libc6-dev)"


def build(folder: Path) -> Path:
    library = folder / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, _SHIM, "-ldl"], check=True)
    _control_file(library).write_bytes(bytes(_CONTROL_BYTES))
    return library


def _control_file(library: Path) -> Path:
    return library.with_name("control")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shim:
    """One library and one mapped file; daemons are started one after another under it.

    Both are the same for all tests of a process, and so are the variables: most daemons are forked from one server.
    """

    library: Path
    folders: tuple[str, ...]
    control: mmap.mmap

    @classmethod
    def over(cls, library: Path, *folders: str) -> "Shim":
        """Instead of the shim before it. library: of `build`."""
        with open(_control_file(library), "r+b") as file:
            control = mmap.mmap(file.fileno(), _CONTROL_BYTES)
        control[:] = bytes(_CONTROL_BYTES)
        return cls(library=library, folders=folders, control=control)

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.library), "FAULTS_CONTROL": str(_control_file(self.library))}

    def arm(self, action: Action, spot: Spot | None = None, number: int = 0) -> None:
        """From here calls are counted, from 1. number: what a failing call says (errno)."""
        spot = spot or Spot()
        round_number = _ORDERS.unpack_from(self.control)[9] + 1
        folders = ":".join(self.folders).encode()
        assert len(folders) < _FOLDERS_BYTES
        self.control[:] = bytes(_FOLDERS_AT) + folders.ljust(_FOLDERS_BYTES, b"\0")
        orders = (1, 0, spot.at, action, number, 0, 0, 0, 0, round_number, spot.name.encode(), spot.behind.encode())
        self.control[: _ORDERS.size] = _ORDERS.pack(*orders)

    def disarm(self) -> None:
        self.control[0:4] = bytes(4)

    def release(self) -> None:
        self.control[24:28] = struct.pack("i", 1)

    def wait_until_held(self, client: RawClient, msg_id: int, patience_s: float | None = None) -> bool:
        """For WAIT: True when the call is being held; False when the request was answered without reaching it."""
        until = time.monotonic() + (PATIENCE_S if patience_s is None else patience_s)
        while not self.has_fired:
            if any(message.get("id") == msg_id for message in client.received):
                return self.has_fired
            assert time.monotonic() < until, "neither held nor over"
            time.sleep(0.001)
        return True

    @property
    def n_calls(self) -> int:
        return _ORDERS.unpack_from(self.control)[1]

    @property
    def has_fired(self) -> bool:
        return _ORDERS.unpack_from(self.control)[5] > 0

    @property
    def fired_at(self) -> str:
        """The call that was hit, for messages."""
        n_call = _ORDERS.unpack_from(self.control)[5]
        return f"call {n_call} ({self.calls[n_call - 1] if 0 < n_call <= _MAX_NAMES else 'none'})"

    @property
    def calls(self) -> list[str]:
        """Names of the calls counted so far."""
        n_known = min(self.n_calls, _MAX_NAMES)
        raw = self.control[_ORDERS.size : _ORDERS.size + n_known * _NAME_BYTES]
        return [raw[at : at + _NAME_BYTES].rstrip(b"\0").decode() for at in range(0, len(raw), _NAME_BYTES)]


@contextlib.contextmanager
def daemon(*folders: str, env: dict[str, str] | None = None, **options: Any) -> Generator[RawClient]:
    """Initialised, with these workspace folders. options: initializationOptions."""
    with raw_client(env=env) as client:
        named = [{"uri": Path(folder).as_uri(), "name": "w"} for folder in folders]
        client.initialize(workspaceFolders=named, initializationOptions=options)
        yield client
