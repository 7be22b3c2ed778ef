"""Commits files that cannot be part of a change set together with one: all or none, while the process lives.

Files with hard links or ACLs, and files on mapped hosts, can only be written one by one. They are rehearsed first,
written right before the first name of the set changes, and restored if anything fails afterwards. If the process is
killed in between, those already written stay written (GUARANTEES.md, "Not promised").
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.splices import apply
from fileops.fs.os_errors import at_path
from fileops.model.changes import FilePlan, Permissions
from fileops.model.edits import Splice
from fileops.model.errors import FileOpsError, SetConflict, SetUnsupported
from fileops.model.files import Committed
from fileops.model.internal_errors import PathMoved, Stale
from fileops.ports import CommitHooks, FileSystem, SetHooks

CommitSet = Callable[[Sequence[FilePlan], SetHooks], tuple[Committed, ...]]


def commit_with_singles(
    fs: FileSystem,
    set_id: str,
    files: Sequence[FilePlan],
    singles: Iterable[str],
    commit_set: CommitSet,
    hooks: SetHooks,
) -> tuple[Committed, ...]:
    """See `replace_set` of ports.FileSystem, with `is_strict=False`.

    Args: fs: writes single files. singles: canonical paths of files that cannot be in a set, as far as known.
    commit_set: commits the others.
    """
    known, begun = set(singles), _BegunOnce(hooks)
    while True:
        try:
            return _commit(fs, set_id, files, known, commit_set, begun)
        except SetUnsupported as refusal:
            if refusal.failed_path is None or refusal.failed_path in known:
                raise
            # After the start, the filesystem refused to change a name, as it would for all others.
            known |= {file.snapshot.path for file in files} if begun.has_begun else {refusal.failed_path}


def _commit(
    fs: FileSystem,
    set_id: str,
    files: Sequence[FilePlan],
    singles: set[str],
    commit_set: CommitSet,
    hooks: "_BegunOnce",
) -> tuple[Committed, ...]:
    alone = _in_writing_order([file for file in files if file.snapshot.path in singles])
    together = [file for file in files if file.snapshot.path not in singles]
    if not alone:
        return commit_set(together, hooks)
    made: list[tuple[FilePlan, Committed]] = []

    def before() -> None:
        hooks.before()
        for file in alone:
            with at_path(file.snapshot.path):
                made.append((file, _match_other_name(fs, file, made) or _write(fs, file, _NoHooks())))

    def in_order(committed: Sequence[Committed]) -> tuple[Committed, ...]:
        outcomes = {file.snapshot.path: outcome for file, outcome in zip(together, committed, strict=True)}
        outcomes |= {file.snapshot.path: outcome for file, outcome in made}
        return tuple(outcomes[file.snapshot.path] for file in files)

    def after(committed: tuple[Committed, ...]) -> None:
        hooks.after(in_order(committed))

    for file in alone:
        with at_path(file.snapshot.path):
            _rehearse(fs, file, hooks)
    try:
        if together:
            return in_order(commit_set(together, _WithSingles(before, after, hooks)))
        before()
    except BaseException as error:
        left = [file.snapshot.path for file, outcome in reversed(made) if not _is_restored(fs, set_id, file, outcome)]
        if left:
            raise SetConflict(files=tuple(left), reason="another program has written to them since") from error
        raise
    after(())
    return in_order(())


def _in_writing_order(files: Sequence[FilePlan]) -> list[FilePlan]:
    """Removals come last, because a removed file gets another inode if it has to be made again.

    A removal of one of several names of a file that is written comes before that: the name's text would change with it.
    """
    written = {_inode_of(file) for file in files if not file.removes} - {None}
    return sorted(files, key=lambda file: (file.removes and _inode_of(file) not in written, not file.removes))


def _inode_of(file: FilePlan) -> tuple[int, int] | None:
    stamp = file.snapshot.stamp
    return None if stamp is None or stamp.n_links < 2 else (stamp.dev, stamp.ino)


def _match_other_name(fs: FileSystem, file: FilePlan, made: Sequence[tuple[FilePlan, Committed]]) -> Committed | None:
    """Return the outcome for a further name of a file that was just written with this text; None for another file."""
    inode = _inode_of(file)
    if inode is None or file.removes or file.new_path is not None:
        return None
    for other, committed in made:
        if _inode_of(other) == inode and not other.removes:
            now = fs.read(file.snapshot.path)
            if now.data == apply(file.snapshot.data, file.splices):
                return replace(committed, snapshot=now)
    return None


def _write(fs: FileSystem, file: FilePlan, hooks: CommitHooks) -> Committed:
    if file.new_path is not None or (file.permissions is not None and file.snapshot.exists and not file.removes):
        raise SetUnsupported(reason=f"{file.snapshot.path} can only be written in place")
    if file.removes:
        return fs.remove(file.snapshot, hooks)
    return fs.replace(file.snapshot, file.splices, hooks)


def _rehearse(fs: FileSystem, file: FilePlan, hooks: SetHooks) -> None:
    """Write the file up to the last moment before its commit, so that most refusals come before anything is written."""
    with suppress(_RehearsedError):
        _write(fs, file, _Rehearsal(hooks.prepare))  # pyrefly: ignore[bad-argument-type] - its `prepare` is a field


def _is_restored(fs: FileSystem, set_id: str, file: FilePlan, committed: Committed) -> bool:
    """Restore the file as it was before the set, and return whether that was possible."""
    before, after, hooks = file.snapshot, committed.snapshot, _NoHooks()
    splices = (Splice(0, len(after.data), before.data),)
    try:
        if before.stamp is None:
            fs.remove(after, hooks)
        elif after.stamp is not None:
            fs.replace(after, splices, hooks)
        else:
            permissions = Permissions(before.stamp.mode & 0o7777)
            restored = FilePlan(snapshot=after, splices=splices, permissions=permissions)
            try:
                fs.replace_set(set_id, [restored], hooks)
            except SetUnsupported:
                fs.replace(after, splices, hooks)
    except (FileOpsError, Stale, PathMoved):
        return False
    return True


class _BegunOnce:
    """The caller's hooks. `before` is called once, even if several ways to commit are tried."""

    def __init__(self, hooks: SetHooks) -> None:
        self._hooks = hooks
        self.has_begun = False
        self.prepare, self.on_cancel, self.after = hooks.prepare, hooks.on_cancel, hooks.after

    def before(self) -> None:
        if not self.has_begun:
            self._hooks.before()
            self.has_begun = True


class _WithSingles:
    """The hooks of a set together with which single files are written."""

    def __init__(
        self, before: Callable[[], None], after: Callable[[tuple[Committed, ...]], None], hooks: SetHooks
    ) -> None:
        self.before, self.after = before, after
        self.prepare, self.on_cancel = hooks.prepare, hooks.on_cancel


class _NoHooks:
    """CommitHooks of a file that is written with a set, whose hooks cover all of its files."""

    def prepare(self) -> None: ...

    def before(self) -> None: ...

    def on_cancel(self, withdraw: Callable[[], None]) -> None: ...

    def after(self, committed: object) -> None: ...


class _RehearsedError(Exception):
    """The rehearsal has reached the commit."""


class _Rehearsal(Struct, frozen=True):
    """CommitHooks that stop at the last moment before the commit."""

    prepare: Callable[[], None]

    def before(self) -> None:
        raise _RehearsedError

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        """Do nothing: no commit follows."""

    def after(self, committed: Committed) -> None:
        """Reached only if there was nothing to write."""
