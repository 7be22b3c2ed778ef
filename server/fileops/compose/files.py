"""Files, trackers and history, as the composition root puts them together. Remote filesystems are imported late."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fileops.core.ignore import FILE_NAME
from fileops.fs.encoded.filesystem import EncodedFileSystem
from fileops.fs.local.rule_files import LocalRuleFiles
from fileops.fs.rule_files import KEPT_NS, RoutedRuleFiles, StatRuleFiles
from fileops.record.lost_lines import Losses, default_folder
from fileops.rpc.decode import InvalidParams
from fileops.service.client.unreadable import RuleBook
from fileops.service.diagnosis import Diagnosis
from fileops.service.plugins.registry import register_plugins
from fileops.service.workspace import Workspace
from fileops.tracking.freshness import Freshness
from fileops.watch import stat_scan
from fileops.watch.factory import FolderStreams

if TYPE_CHECKING:
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.fs.remote.router import RouterFileSystem
    from fileops.languages.service import LanguageServers
    from fileops.model.diagnostics import DiagnosticsReport
    from fileops.model.files import Stamp
    from fileops.model.sessions import SessionName
    from fileops.model.settings import EncodingRule, FreshnessRule, MappedFolder
    from fileops.ports import EventSink, FileSystem, RuleFiles, TextOf
    from fileops.record.history import History
    from fileops.record.recorder import Recorder
    from fileops.telemetry.calls import Sink


def build_workspace(
    files: "OverlayFileSystem",
    events: "EventSink",
    history: "History",
    *,
    freshness_mode: "FreshnessRule",
    remote: "RouterFileSystem | None" = None,
    is_on_disk: bool = True,
    has_stamp_at_once: "Callable[[str, Stamp], bool]" = lambda path, stamp: False,
    saved: "FileSystem",
    streams: FolderStreams | None = None,
    has_many_clients: bool = False,
    recorder: "Recorder | None" = None,
) -> "Workspace":
    """Build what clients share, over the files as their users see them.

    Args: events: receives what happens to files. is_on_disk: whether paths are on this machine's disk; the files of
    another filesystem are not watched, but checked by its `stat`. has_stamp_at_once: see Freshness. saved: the files
    without open documents. streams: changes in folders, shared with the recorder. recorder: see Workspace.
    """
    changed_paths = stat_scan.find_changed_paths if is_on_disk else None
    if remote is not None and changed_paths is not None:
        from fileops.fs.remote.router import scan_with_poll
        from fileops.watch.polling import Poller

        poller = Poller(remote.stat, lambda path: freshness.hint(path))  # noqa: PLW0108  # it is made below
        changed_paths = scan_with_poll(remote.is_remote, changed_paths, poller.watch)
    rules = RuleBook(saved, rule_files(saved, remote, is_on_disk=is_on_disk))
    freshness = Freshness(
        files,
        events,
        SystemClock(),
        mode=freshness_mode,
        open_watch=(streams or FolderStreams()).watch if is_on_disk else None,
        changed_paths=changed_paths,
        has_stamp_at_once=has_stamp_at_once,
        is_open=files.is_open,
        before_stale=rules.refresh,
    )
    files.on_change = freshness.hint
    files.on_typed = freshness.known_changes.note_typed
    return Workspace(
        fs=files,
        saved=saved,
        freshness=freshness,
        history=history,
        clock=SystemClock(),
        plugins=register_plugins(),
        rules=rules,
        has_many_clients=has_many_clients,
        recorder=recorder,
        diagnosis=Diagnosis(_language_servers),
        losses=None if recorder is None else Losses(default_folder()),
    )


def _language_servers(on_correction: "Callable[[SessionName, DiagnosticsReport], None]") -> "LanguageServers":
    from fileops.languages.service import LanguageServers  # imports lsprotocol: only for sessions that use them

    return LanguageServers(on_correction)


def rule_files(saved: "FileSystem", remote: "RouterFileSystem | None", *, is_on_disk: bool) -> "RuleFiles":
    """Find the files that say what agents must not read."""
    if not is_on_disk:
        return StatRuleFiles(saved, FILE_NAME, SystemClock())

    local = LocalRuleFiles(FILE_NAME)
    if remote is None:
        return local

    mapped = StatRuleFiles(saved, FILE_NAME, SystemClock(), kept_ns=KEPT_NS)
    return RoutedRuleFiles(local, mapped, remote.is_remote, FILE_NAME)


def apply_encodings(files: "FileSystem", rules: "Sequence[EncodingRule]") -> "FileSystem":
    """Show files in the encodings that the client has named, if any."""
    if not rules:
        return files

    return EncodedFileSystem(files, rules)


def text_of(files: "FileSystem") -> "TextOf":
    """How the content of a file becomes text, where the filesystem is one of `apply_encodings`."""
    return files.text_of if isinstance(files, EncodedFileSystem) else lambda _path, data: data


def map_filesystems(filesystems: "Sequence[MappedFolder]", disk: "FileSystem") -> "RouterFileSystem":
    """Map remote filesystems into the disk. Raises: InvalidParams, if one of them is not supported."""
    from fileops.fs.remote.mounts import Mount, find_unsupported_reason, mount_all

    for index, entry in enumerate(filesystems):
        if (reason := find_unsupported_reason(entry.url)) is not None:
            raise InvalidParams(reason, f".initializationOptions.filesystems[{index}].url")
    mounts = [Mount(prefix=entry.prefix, url=entry.url, options=entry.options or {}) for entry in filesystems]
    return mount_all(disk, mounts)


def recover_in_background(recover: "Callable[[Sequence[str]], None]", folders: "Sequence[str]") -> None:
    """Settle what dead processes left in these folders."""
    threading.Thread(target=recover, args=(folders,), name="fileops-recovery", daemon=True).start()


class SystemClock:
    """See ports.Clock."""

    def time_ns(self) -> int:
        return time.time_ns()


def telemetry() -> "tuple[Sink, ...]":
    """Return the sinks that OpenTelemetry's environment variables ask for, usually none."""
    if not any(name.startswith("OTEL_") for name in os.environ):
        return ()
    from fileops.telemetry.otel import telemetry_from

    exporter = telemetry_from(os.environ)
    return () if exporter is None else (exporter,)
