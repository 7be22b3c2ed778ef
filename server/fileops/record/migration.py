"""Moves the history of earlier versions into the record: append-only files, one for each daemon.

Nothing is lost if this ends in the middle. A file is one transaction, is removed only when the database is on the disk,
and an edit that the record has is not added again. The file is locked during that, so two daemons do not move the same
one, and one into which a daemon of an earlier version still writes is left for the next start.

The folder is not trusted: a file that this user's daemons cannot have written is renamed, and the client is notified.
What follows a damaged record cannot be read; such a file is renamed as well, after the rest was moved.
"""

import errno
import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Callable

from fileops.platform import descriptors
from fileops.platform.private_files import NotPrivate, open_private, require_private_folder
from fileops.record.content import is_secret
from fileops.record.edit_entries import link_undos, recorded
from fileops.record.edit_rows import EarlierFile, packed_edit, read_file
from fileops.record.store import MAX_AGE_S, RecordStore

log = logging.getLogger(__name__)

_SUFFIX = ".edits"
_ASIDE = ".damaged"


def default_folder() -> str:
    """`$XDG_STATE_HOME/fileops-server/history`, by default under `~/.local/state`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fileops-server", "history")


def migrate(folder: str, store: RecordStore, warn: Callable[[str], None]) -> None:
    """Move all files of a folder into the record. Args: warn: gets a sentence for the client about each problem."""
    try:
        require_private_folder(folder)
        names = sorted(os.listdir(folder))
    except OSError as error:
        if error.errno != errno.ENOENT:
            warn(f"The history of edits in {folder} is not read: {error.strerror}.")
        return
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(_ASIDE):
            _remove_if_old(path)
        elif name.endswith(_SUFFIX):
            _migrate_file(path, store, warn)


def _migrate_file(path: str, store: RecordStore, warn: Callable[[str], None]) -> None:
    try:
        fd = open_private(path)
    except FileNotFoundError:  # another daemon has moved it
        return
    except NotPrivate as refusal:
        _put_aside(path, refusal.reason, warn)
        return
    except OSError as error:
        log.warning("a part of the history cannot be read: %s", error)
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.fstat(fd).st_nlink:  # another daemon has moved it
            return
        with os.fdopen(os.dup(fd), "rb") as file:
            earlier = read_file(file)
        _add(earlier, store)
        if store.is_in_memory or not store.sync():
            log.info("%s stays until its edits are on the disk", path)
        elif earlier.is_whole:
            os.unlink(path)
        else:
            _put_aside(path, earlier.reason or "is damaged, or was cut off by a crash", warn)
    except BlockingIOError:
        log.info("%s is in use by another daemon", path)
    except (OSError, sqlite3.Error) as error:
        warn(f"The history in {path} could not be moved into the record: {error}. It is tried again at the next start.")
    finally:
        descriptors.close(fd)


def _add(earlier: EarlierFile, store: RecordStore) -> None:
    """Add the edits of a file that the record does not have, and are not too old. Raises: sqlite3.Error."""
    oldest = time.time() - MAX_AGE_S
    with store.transaction():
        fresh = [item for item in earlier.edits if item[0].timestamp >= oldest and not store.has_edit(item[0].edit_id)]
        for edit, _ in fresh:
            if not is_secret(edit.path, ""):
                store.put_edit(packed_edit(edit))
        unseen = [item for item in fresh if store.entry_of_edit(item[0].edit_id) is None]
        store.append_by_time([made for edit, content in unseen for made in recorded(edit, content)])
        link_undos(store, [edit for edit, _ in unseen])


def _put_aside(path: str, reason: str, warn: Callable[[str], None]) -> None:
    aside = path + _ASIDE
    try:
        os.rename(path, aside)
    except OSError as error:
        warn(f"The history file {path} is not read: it {reason}. It could not be renamed: {error.strerror}.")
    else:
        warn(f"The history file {path} is not read: it {reason}. It is now {aside}; remove it when you like.")


def _remove_if_old(path: str) -> None:
    try:
        if os.lstat(path).st_mtime < time.time() - MAX_AGE_S:
            os.unlink(path)
    except OSError as error:
        log.info("an old history file stays: %s", error)
