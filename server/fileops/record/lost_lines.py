"""Fresh lines of others that a write has removed, because it was made on an older content.

They are kept for a day, each in a private file, so that a daemon that was started again can bring them back, too. What
must not be stored, such as a protected file, is kept in memory. Thread-safe. Blocks for the disk.
"""

import logging
import os
import re
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress

import msgspec

from fileops.core.notebook.cell_page import lines_with_names
from fileops.core.notebook.cells import parse
from fileops.core.text import decode_for_display
from fileops.model.errors import NotebookInvalid
from fileops.model.losses import LOSS_PREFIX, Loss
from fileops.platform.private_files import NotPrivate, open_private, require_private_folder

log = logging.getLogger(__name__)

KEPT_S = 86400.0
MAX_LOSSES = 200
_ID = re.compile(rf"{LOSS_PREFIX}[0-9a-f]{{12}}")


def default_folder() -> str:
    """Return `$XDG_STATE_HOME/fileops-server/losses`, by default under `~/.local/state`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fileops-server", "losses")


class Losses:
    """See the module. Args: folder: of the files; None keeps all in memory."""

    def __init__(self, folder: str | None = None, now: Callable[[], float] = time.time) -> None:
        self._folder, self._now = folder, now
        self._lock = threading.Lock()
        self._losses: dict[str, Loss] = {}

    def note(
        self, path: str, *, base: bytes, theirs: bytes, written: bytes, merged: bytes | None, may_store: bool
    ) -> Loss | None:
        """Keep the lines of `theirs` that `written`, which was made on `base`, does not have. None without any."""
        old, fresh, new = lines_of(base, theirs, written)
        lines = tuple(shown for line, shown in fresh.items() if line not in old and line not in new)
        if not lines:
            return None
        loss_id = f"{LOSS_PREFIX}{uuid.uuid4().hex[:12]}"
        loss = Loss(loss_id=loss_id, path=path, lines=lines, merged=merged, written=written, at=self._now())
        with self._lock:
            kept = [old for old in self._losses.values() if not self._is_old(old.at)]
            self._losses = {each.loss_id: each for each in [*kept[-MAX_LOSSES + 1 :], loss]}
            if may_store and self._folder is not None:
                try:
                    _store(self._folder, loss)
                    self._remove_old(self._folder)
                except (OSError, NotPrivate, UnicodeEncodeError) as fault:
                    log.warning("%s is not stored, and ends with the daemon: %s", loss_id, fault)
        return loss

    def get(self, loss_id: str) -> Loss | None:
        with self._lock:
            found = self._losses.get(loss_id) or self._load(loss_id)
        return None if found is None or self._is_old(found.at) else found

    def _load(self, loss_id: str) -> Loss | None:
        if self._folder is None or not _ID.fullmatch(loss_id):
            return None
        try:
            with open(open_private(os.path.join(self._folder, loss_id)), "rb") as file:
                return msgspec.msgpack.decode(file.read(), type=Loss)
        except FileNotFoundError:
            return None
        except (OSError, NotPrivate, msgspec.DecodeError) as fault:
            log.warning("the lost lines %s cannot be read: %s", loss_id, fault)
            return None

    def _is_old(self, at: float) -> bool:
        return self._now() - at >= KEPT_S

    def _remove_old(self, folder: str) -> None:
        """Raises: OSError."""
        names = [name for name in os.listdir(folder) if _ID.fullmatch(name)]
        times: dict[str, float] = {}
        for name in names:
            with suppress(FileNotFoundError):  # another daemon removed it
                times[name] = os.stat(os.path.join(folder, name)).st_mtime
        newest = sorted(times, key=lambda name: times[name], reverse=True)
        for n, name in enumerate(newest):
            if n >= MAX_LOSSES or self._is_old(times[name]):
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, name))


def lines_of(*contents: bytes) -> list[dict[str, str]]:
    """Return the lines of each content that are not blank, with the form in which they are shown.

    If all are notebooks, these are the lines of the cells, with their names, in whatever form the files are written.
    """
    if all(b'"nbformat"' in content for content in contents):
        with suppress(NotebookInvalid):
            return [lines_with_names(parse(content)) for content in contents]
    texts = map(decode_for_display, contents)
    return [{line: line for line in map(_without_cr, text.split("\n")) if line.strip()} for text in texts]


def _without_cr(line: str) -> str:
    return line.rstrip("\r")


def _store(folder: str, loss: Loss) -> None:
    """Raises: OSError, NotPrivate, UnicodeEncodeError."""
    data = msgspec.msgpack.encode(loss)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    require_private_folder(folder)
    name = os.path.join(folder, loss.loss_id)
    temporary = f"{name}.{os.getpid()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as written:
        written.write(data)
    os.replace(temporary, name)
