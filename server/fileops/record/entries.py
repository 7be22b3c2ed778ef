"""Makes entries of observed changes and of the daemon's own edits, and writes them to the store.

Belongs to the recorder's thread. The author of an entry may change for a second if an editor has the file open
(see `settle`), because editors report a save after they made it.
"""

import math
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import text
from fileops.core.diff.contents import may_be_one_file
from fileops.core.diff.entry_diffs import count_lines
from fileops.core.notebook.editor_cells import is_shown_as
from fileops.model.commits import Commit
from fileops.model.record import (
    OUTSIDE,
    By,
    ByCommand,
    ByOutside,
    ByPerson,
    BySession,
    ByUnsure,
    CommandRecord,
    ContentKind,
    Contents,
    Entry,
    EntryKind,
    FileVersion,
    Found,
    GapKind,
    Known,
    KnownBy,
    LogQuery,
    is_by_agent,
    unsure,
)
from fileops.record.attribution import FORMATTER_S, SETTLE_S, Author, Observation, Save, attribute, to_shown
from fileops.record.command_windows import CommandWindows
from fileops.record.other_daemons import Relation, join_authors, put_own, relation
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry

SAME_WRITER_S = 2.0  # two changes of an unknown writer within it are one
_BLOCK = 512  # bytes; editors and file systems write in multiples of it
MOVED_S = 60.0  # between the readings of both names of a renamed file: a folder of thousands of them is read in seconds
LEFT_S = 5.0  # an older unsettled entry belongs to no running daemon
CLAIMABLE = 4  # newest entries of a file: a formatter may write after the host's own tool
MAX_HALVES = 100_000  # of renames that wait for their other half


class Observed(Struct, frozen=True, kw_only=True):
    """A change that was read and is not written yet. A version is None if there was no file.

    before_data, after_data: the contents; None if they are not kept, or are in the store already. began, read,
    is_certain, n_writes, typed_by, loaded_by, known_at: see attribution.Observation; on the steady clock. time: when it
    was read, in seconds since the epoch. is_open: whether an editor has the file open. root: of the recorded folder.
    names: the other names of the file, if it has hard links. is_beside_git: see Entry.
    """

    path: str
    root: str
    before: Known | None
    after: Known | None
    before_data: bytes | None
    after_data: bytes | None
    began: float
    read: float
    time: float
    commands: tuple[CommandRecord, ...] = ()
    is_certain: bool = True
    n_writes: int | None = 1
    typed_by: ByPerson | None = None
    loaded_by: ByPerson | None = None
    is_open: bool = False
    found: Found = "event"
    gap: GapKind | None = None
    known_at: float = math.inf
    names: tuple[str, ...] = ()
    is_beside_git: bool = False

    @property
    def began_at(self) -> float:
        """Return when it began, in seconds since the epoch."""
        return self.time - (self.read - self.began)


class Identity(Struct, frozen=True):
    """What identifies a file across a rename.

    The inode number of a removed file is reused at once, and a copy may have the content and the time of its original;
    no other file has all three. root: of the recorded folder.
    """

    root: str
    inode: int
    mtime_ns: int
    size_bytes: int


class _Half(Struct, frozen=True):
    """An entry for a name that appeared or vanished, while the file's other name may still be read.

    version: of the file, when its name changed.
    """

    entry_id: str
    path: str
    kind: EntryKind
    time: float
    version: FileVersion | None


class _Unsettled(Struct):
    """An entry whose author may change. has_author: the author is certain already. by: its author until then.

    A different author in the store was recorded by another daemon. is_joint: another one made it, or may do so.
    """

    entry_id: str
    observed: Observed
    has_author: bool
    by: By
    is_joint: bool = False


class _Parts(Struct, frozen=True):
    """What this daemon knows of the changes in an entry: the author of all of them, and when it read the last one."""

    entry_id: str
    author: By
    read: float


class EntryWriter:
    """See the module.

    on_entries: called with the entries that were added or changed. is_announced: whether a host's own tool is about to
    write a file.
    """

    def __init__(
        self,
        store: RecordStore,
        windows: CommandWindows,
        turns: TurnRegistry,
        on_entries: Callable[[Sequence[Entry]], None],
        is_announced: Callable[[str], bool] = lambda _path: False,
    ) -> None:
        self._on_entries, self._is_announced = on_entries, is_announced
        self._store, self._windows, self._turns = store, windows, turns
        self._saves: dict[str, list[Save]] = {}
        self._unsettled: deque[_Unsettled] = deque()
        self._closed: deque[_Unsettled] = deque()  # changes of files not known to be open, while a save may be reported
        self._parts: dict[str, _Parts] = {}  # of the newest entry of each file that changed a moment ago
        # Whether other daemons record the same changes. They may know the author of what is anybody's here, or have
        # noted half of what was taken back at once. So of neither is one entry made, or none.
        self._has_others = False
        self._halves: OrderedDict[Identity, _Half] = OrderedDict()
        self._left = [entry.entry_id for entry in store.entries(LogQuery())[0] if not entry.settled]
        self._left_until: float | None = None

    # --- observed changes --------------------------------------------------------------------------------------

    def write(self, change: Observed) -> None:
        """Make the entries of an observed change."""
        saves = self._saves_near(change)
        author = self._author_of(change, saves)
        is_settled = author.evidence == "save" or not (change.is_open or saves)
        with self._store.transaction():
            kept = self._write_entry(change, author, _identity(change), is_settled=is_settled)
        if kept is None:
            return
        is_joint = kept.by != author.by or self._has_others
        if not is_settled or change.is_open:
            self._unsettled.append(_Unsettled(kept.entry_id, change, is_settled, kept.by, is_joint))
        elif change.commands or author.evidence == "save":
            without_data = replace(change, before_data=None, after_data=None)  # the store has it
            self._closed.append(_Unsettled(kept.entry_id, without_data, True, kept.by, is_joint))
        self._on_entries([kept])
        if author.evidence == "save":  # if it was reported first, an earlier change may have been taken for it
            for each in (*self._closed, *self._unsettled):
                if each.has_author and each.observed.path == change.path and each.observed.read < change.read:
                    self._decide_again(each)

    def _write_entry(
        self, change: Observed, author: Author, identity: Identity | None, *, is_settled: bool
    ) -> Entry | None:
        """Write a change and return its entry; None if none remains, or an entry of another daemon contains it."""
        newest = self._store.newest(change.path)
        if newest is not None and newest.recorder != self._store.recorder:
            self._has_others = self._has_others or not self._store.is_earlier(newest)
            match self._relation(newest, change):
                case "same":
                    joint = self._join_author(newest, change, self._note_part(newest, change, author))
                    joint = replace(joint, settled=joint.settled and is_settled, recorder=self._store.recorder)
                    if identity is not None and joint.kind in {"create", "delete"}:
                        joint = self._with_other_half(joint, identity)
                    self._store.replace(joint)
                    return joint
                case "later":
                    self._note_part(newest, change, author)
                    return None
                case "before":
                    change = _continue_from(newest, change)
                case None:
                    pass
        kept = self._append(*self._entry_of(change, author, is_settled=is_settled), identity)
        if kept is not None:
            self._note_part(kept, change, author)
        return kept

    def _note_part(self, entry: Entry, change: Observed, author: Author) -> Author:
        """Note that an entry contains a change, and return the author of all that this daemon knows to be in it.

        Another daemon may have read several changes at once, or have made one entry of them: an agent's and one by an
        unknown writer before it, if that daemon does not know of the agent's command.
        """
        known = self._parts.get(change.path)
        is_in_it = known is not None and known.entry_id == entry.entry_id
        if known is not None and is_in_it and known.author != author.by and not self._is_end_of_save(change, author):
            both = unsure(*dict.fromkeys((*_candidates(known.author), *_candidates(author.by))))
            author = replace(author, by=both, evidence="command")
        self._parts[change.path] = _Parts(entry.entry_id, author.by, change.read)
        return author

    def _is_end_of_save(self, change: Observed, author: Author) -> bool:
        """Whether an editor saved the file, and its writing was read before, too: no file, or the first blocks."""
        is_emptied = change.before is not None and change.before.size_bytes == 0
        begun, saved = _digest(change.before), _digest(change.after)
        return author.evidence == "save" and (change.before is None or is_emptied or self._is_begun(begun, saved))

    def _relation(self, other: Entry, change: Observed) -> Relation | None:
        written = 0.0 if change.after is None else change.after.mtime_ns / 1e9
        after = _version(change.after, _content_kind(change.before, change.after))
        return relation(
            other,
            after,
            began=change.began_at,
            read=change.time,
            written=written,
            now=time.time(),
            is_earlier=self._store.is_earlier(other),
        )

    def _join_author(self, entry: Entry, change: Observed, author: Author) -> Entry:
        """Return an entry whose author combines what this daemon and another daemon know."""
        by, evidence = join_authors(entry.by, entry.evidence, author.by, author.evidence)
        during = tuple(turn.turn_id for turn in self._turns.open_during(entry.path, change.began_at, change.time))
        entry = replace(entry, evidence=evidence, during=tuple(dict.fromkeys((*entry.during, *during))))
        return entry if by == entry.by else self._set_author(entry, by)

    def save(self, path: str, save: Save) -> None:
        """Handle the report that an editor saved this text."""
        self._saves[path] = [*self._saves.get(path, []), save][-20:]
        for closed in self._closed:
            if path in {closed.observed.path, *closed.observed.names} or self._may_contain(closed.observed, save):
                self._decide_again(closed)
        for unsettled in self._unsettled:
            if path in {unsettled.observed.path, *unsettled.observed.names} and not unsettled.has_author:
                author = self._author_of(unsettled.observed, self._saves_near(unsettled.observed))
                if author.evidence == "save":
                    self._settle(unsettled, author)

    def note_rewritten(self, path: str, digest: bytes, n_writes: int | None) -> None:
        """Note that a file was written again with the content that it had, which is no change.

        A save of this text that is reported now may be one of these writes, and not a command's before them.
        Args: n_writes: how many; None if unknown.
        """
        changes = (
            each for each in (*self._closed, *self._unsettled) if path in {each.observed.path, *each.observed.names}
        )
        newest = max(changes, key=lambda each: each.observed.read, default=None)
        if newest is None or newest.observed.after is None or newest.observed.after.digest != digest:
            return
        n_before = newest.observed.n_writes
        n_all = None if n_before is None or n_writes is None else n_before + n_writes
        newest.observed = replace(newest.observed, n_writes=n_all)
        if newest.has_author and newest.observed.commands:
            self._decide_again(newest)

    def claim(self, path: str, by: KnownBy, digest: bytes, *, is_unsure: bool) -> None:
        """Give the newest entry of a file with this content to the author who says to have written it.

        is_unsure: whether another program has written the file at the same time.
        """
        newest, _ = self._store.entries(LogQuery(path=path, limit=CLAIMABLE), is_file=True)
        entry = next((each for each in newest if each.after is not None and each.after.digest == digest), None)
        if entry is None or entry.evidence in {"commit", "save"}:
            return
        for unsettled in self._unsettled:
            if unsettled.entry_id == entry.entry_id:
                unsettled.has_author = True
        author = unsure(*dict.fromkeys((by, *(_candidates(entry.by) or (OUTSIDE,))))) if is_unsure else by
        claimed = replace(self._set_author(entry, author), evidence="command", settled=True, is_beside_git=False)
        self._store.replace(claimed)
        self._on_entries([claimed])

    def _decide_again(self, decided: _Unsettled) -> None:
        """Decide again about a change when more is known of the saves near it.

        A daemon that was stopped, or is busy, reads the file before the editor's messages. If it reads the messages
        first, an earlier change to the text that was saved was taken for the save.
        """
        change = decided.observed
        author = self._author_of(change, self._saves_near(change))
        entry = self._store.entry(decided.entry_id)
        if entry is None or entry.undone_by is not None or author.by == decided.by:
            return
        content = _content_kind(change.before, change.after)
        if (entry.before, entry.after) == (_version(change.before, content), _version(change.after, content)):
            self._settle(decided, author)
        else:  # it was merged with other changes of its author
            by = unsure(*dict.fromkeys((*_candidates(entry.by), *_candidates(author.by))))
            entry = self._of_author(entry, by)
            self._store.replace(entry)
            self._on_entries([entry])

    def is_due(self, now: float) -> bool:
        """Whether `settle` has something to write."""
        if self._left and self._left_until is not None and self._left_until <= now:
            return True
        return bool(self._unsettled) and self._unsettled[0].observed.read + SETTLE_S <= now

    def settle(self, now: float) -> float | None:
        """Settle the entries that are due. Returns when the next one is due; None if none waits."""
        while self._unsettled and self._unsettled[0].observed.read + SETTLE_S <= now:
            unsettled = self._unsettled.popleft()
            if not unsettled.has_author:
                self._settle(unsettled, self._author_of(unsettled.observed, self._saves_near(unsettled.observed)))
        while self._closed and self._closed[0].observed.read + SETTLE_S <= now:
            self._closed.popleft()
        if self._left:
            self._left_until = self._left_until or now + LEFT_S
            if self._left_until <= now:
                self._settle_left()
        due = [self._left_until] if self._left and self._left_until is not None else []
        if self._unsettled:
            due.append(self._unsettled[0].observed.read + SETTLE_S)
        else:
            old = now - SETTLE_S - FORMATTER_S - 1
            self._saves = {path: saves for path, saves in self._saves.items() if saves[-1].time > old}
            self._parts = {path: parts for path, parts in self._parts.items() if parts.read > old}
        return min(due, default=None)

    def end(self, now: float) -> None:
        """Settle all entries, because no more reports of editors will arrive."""
        self.settle(now)
        self._left += [unsettled.entry_id for unsettled in self._unsettled if not unsettled.has_author]
        self._unsettled.clear()
        self._settle_left()

    def _settle_left(self) -> None:
        """Settle the entries of daemons that ended before they could: what editors would have reported is unknown."""
        entries = [entry for entry in map(self._store.entry, self._left) if entry is not None and not entry.settled]
        self._left = []
        settled: list[Entry] = []
        with self._store.transaction():
            for entry in entries:
                candidates = dict.fromkeys((*_candidates(entry.by), OUTSIDE))
                by = unsure(*candidates) if len(candidates) > 1 else OUTSIDE
                settled.append(replace(self._of_author(entry, by), settled=True))
                self._store.replace(settled[-1])
        self._on_entries(settled)

    @property
    def n_unsettled(self) -> int:
        return sum(not unsettled.has_author for unsettled in self._unsettled)

    def _saves_near(self, change: Observed) -> list[Save]:
        since = min(change.began - FORMATTER_S, change.known_at)
        names = {change.path, *change.names}
        near = [save for path in names for save in self._saves.get(path, []) if save.time >= since]
        for path, saves in self._saves.items():
            if path not in names:
                recent = (save for save in saves if save.time >= since and self._may_contain(change, save))
                near += (replace(save, text=None) for save in recent)
        return [replace(save, text=None) if self._is_of_later_change(save, change) else save for save in near]

    def _is_of_later_change(self, save: Save, change: Observed) -> bool:
        """Whether a later change led from another text to the one that was saved: one save explains one change.

        The other text was there before the save was reported. If it came after that, the saved text only returned.
        """
        return save.text is not None and any(
            other.read > change.read
            and change.path in {other.path, *other.names}
            and min(other.began, other.known_at) <= save.time <= other.read + SETTLE_S
            and is_shown_as(self._text(other.after, other.after_data) or "", save.text)
            for other in (each.observed for each in (*self._closed, *self._unsettled))
        )

    def _may_contain(self, change: Observed, save: Save) -> bool:
        """Whether a new file of a command may be one that was saved under another name, which was never observed."""
        if change.before is not None or not change.commands or save.text is None:
            return False
        made = self._text(change.after, change.after_data)
        if made is None or 4 * len(made) < len(save.text):  # not worth a comparison: a command may make many files
            return False
        return may_be_one_file(*((to_shown(each) or "").encode("utf-8", "surrogatepass") for each in (save.text, made)))

    def _author_of(self, change: Observed, saves: Sequence[Save]) -> Author:
        needs_text = bool(saves)
        observation = Observation(
            before_text=self._text(change.before, change.before_data) if needs_text else None,
            after_text=self._text(change.after, change.after_data) if needs_text else None,
            began=change.began,
            read=change.read,
            commands=change.commands,
            is_certain=change.is_certain,
            n_writes=change.n_writes,
            typed_by=change.typed_by,
            loaded_by=change.loaded_by,
            known_at=change.known_at,
        )
        has_later = any(
            other.observed.path == change.path and other.observed.read > change.read
            for other in (*self._unsettled, *self._closed)
        )
        lingering = self._windows.find_lingering(change.path, change.root, change.began, change.read)
        return attribute(observation, saves=saves, lingering=lingering, has_later=has_later)

    def _text(self, version: Known | None, data: bytes | None) -> str | None:
        if data is None and version is not None and version.digest is not None:
            data = self._store.content(version.digest)
        return None if data is None else text.decode(data, text.detect_format(data))

    def _settle(self, unsettled: _Unsettled, author: Author) -> None:
        unsettled.has_author = True
        entry = self._store.entry(unsettled.entry_id)
        if entry is None:  # it was merged, or forgotten
            return
        change = unsettled.observed
        changed: list[Entry] = []
        with self._store.transaction():
            was_accepted = entry.kept and is_by_agent(entry.by)  # by a person, before it was settled
            if entry.by == unsettled.by and entry.recorder == self._store.recorder and not unsettled.is_joint:
                entry = self._with_author(replace(entry, evidence=author.evidence), author.by, change)
            else:
                entry = self._join_author(entry, change, author)
            entry = replace(entry, settled=True, kept=entry.kept or was_accepted)
            unsettled.by = entry.by
            self._store.replace(entry)
            merged = self._merge_with_previous(entry)
            changed += [] if merged is None else [merged]
            if merged is not None:
                following = self._merge_following(merged)
                changed += [] if following is None else [following]
        self._on_entries(changed)

    def _entry_of(self, change: Observed, author: Author, *, is_settled: bool) -> tuple[Entry, Contents]:
        gap = change.gap
        content = _content_kind(change.before, change.after)
        if content == "kept" and change.before is not None and change.before.digest is None:
            gap = "baseline"
        before = None if gap == "baseline" else _version(change.before, content)
        entry = Entry(
            entry_id=_new_id(),
            time=change.time,
            path=change.path,
            kind=_kind(change.before, change.after, content),
            by=author.by,
            before=before,
            after=_version(change.after, content),
            content=content,
            gap=gap,
            found=change.found,
            evidence=author.evidence,
            settled=is_settled,
            mode=_mode_of_deleted(change.before, change.after),
            is_beside_git=change.is_beside_git,
        )
        contents = Contents(change.before_data, change.after_data)
        if content == "kept" and gap != "baseline":
            before_data = change.before_data
            if before_data is None and change.before is not None and change.before.digest is not None:
                before_data = self._store.content(change.before.digest)
            entry = self._with_line_counts(entry, before_data, change.after_data)
        return self._with_author(entry, author.by, change), contents

    def add_parents(self, blobs: Mapping[str, Sequence[tuple[bytes, int]]], since: Mapping[str, float]) -> None:
        """Add what git may have merged to the entries of files that git may have made.

        The newest entry of a file may be that of a person who has resolved a conflict already. Args: blobs, since: by
        path; `since` is the time of the first such entry.
        """
        with self._store.transaction():
            for path, found in blobs.items():
                entry = self._store.newest(path)
                while entry is not None and entry.time >= since[path] and not self._store.is_earlier(entry):
                    if entry.is_beside_git:
                        self._store.replace(replace(entry, parents=tuple(dict.fromkeys((*entry.parents, *found)))))
                    entry = self._store.previous(entry)

    def _with_author(self, entry: Entry, by: By, change: Observed) -> Entry:
        during = tuple(turn.turn_id for turn in self._turns.open_during(entry.path, change.began_at, change.time))
        return self._set_author(replace(entry, during=during), by)

    def _set_author(self, entry: Entry, by: By) -> Entry:
        turn_id: str | None = None
        command_id: str | None = None
        if isinstance(by, ByCommand):
            command = self._windows.get(by.command_id)
            turn_id = None if command is None else command.turn_id
            command_id = by.command_id
        if isinstance(by, BySession | ByCommand) and turn_id is None:
            turn_id = self._turns.of_entry(by.session_id, by.label.partition(" · ")[0]).turn_id
        return replace(entry, by=by, turn_id=turn_id, command_id=command_id, kept=not is_by_agent(by))

    # --- the daemon's own edits --------------------------------------------------------------------------------

    def own(self, edit: Commit, before: Known | None, after: Known | None) -> Entry | None:
        """Make the entry of an edit of the daemon; None if it changed and undid nothing. Writes nothing.

        Call it before the next turn begins, because the edit belongs to the current turn. Args: see Observed.
        """
        content = _content_kind(before, after)
        versions = _version(before, content), _version(after, content)
        if versions[0] == versions[1] and content == "kept" and not edit.is_undo:
            return None
        entry = Entry(
            entry_id=_new_id(),
            time=edit.time,
            path=edit.before.path,
            kind=_kind(before, after, content),
            by=edit.by,
            before=versions[0],
            after=versions[1],
            content=content,
            evidence="commit",
            edit_id=edit.edit_id,
            rewind_id=edit.rewind_id,
            set_id=edit.set_id,
            moved_from=edit.moved_from,
            moved_to=edit.moved_to,
            mode=_mode_of_deleted(before, after),
        )
        during = self._turns.open_during(entry.path, edit.time, edit.time)
        return self._set_author(replace(entry, during=tuple(turn.turn_id for turn in during)), edit.by)

    def write_own(self, entry: Entry, edit: Commit) -> Entry:
        """Write the entry of an edit of the daemon. Returns it as it was written."""
        contents = Contents(
            edit.before.data if edit.before.exists else None, edit.after.data if edit.after.exists else None
        )
        if entry.content == "kept":
            entry = self._with_line_counts(entry, contents.before, contents.after)
        with self._store.transaction():
            undone = [found for edit_id in edit.undoes for found in self._store.entries_of_edit(edit_id)]
            undone += [found for entry_id in edit.undone if (found := self._store.entry(entry_id)) is not None]
            entry = replace(entry, undoes=tuple(dict.fromkeys(found.entry_id for found in undone)))
            entry = replace(entry, kept=entry.kept or edit.is_kept or _is_withdrawal(undone))
            entry = put_own(self._store, entry, contents)
            self._store.undo(entry.undoes, entry.entry_id)
            self._store.undo(edit.restored, None)
        self._on_entries([entry])
        return entry

    def write_other_name(self, entry: Entry, edit: Commit, path: str) -> None:
        """Write the entry of an edit for another name of its file, whose text the edit changed as well.

        It has no edit_id, since the edit is undone under its own name. It undoes the entries of this name that were
        written for those that the edit undoes.
        """
        with self._store.transaction():
            undone = [found for edit_id in edit.undoes for found in self._store.entries_of_edit(edit_id)]
            undone += [found for entry_id in edit.undone if (found := self._store.entry(entry_id)) is not None]
            same = [
                found
                for other in undone
                for found in self._store.entries(LogQuery(path=path))[0]
                if _is_twin(found, other)
            ]
            entry = replace(
                entry, entry_id=_new_id(), path=path, edit_id=None, undoes=tuple(each.entry_id for each in same)
            )
            entry = replace(entry, kept=entry.kept or edit.is_kept or _is_withdrawal(undone))
            contents = Contents(edit.before.data, edit.after.data)
            if entry.content == "kept":
                entry = self._with_line_counts(entry, contents.before, contents.after)
            self._store.append(entry, contents)
            self._store.undo(entry.undoes, entry.entry_id)
        self._on_entries([entry])

    # --- one entry for several changes -------------------------------------------------------------------------

    def _append(self, entry: Entry, contents: Contents, identity: Identity | None) -> Entry | None:
        """Add an entry, or extend the one before. Returns what changed; None if nothing is left of both."""
        if identity is not None and entry.kind in {"create", "delete"}:
            entry = self._with_other_half(entry, identity)
        self._store.append(entry, contents)
        return self._merge_with_previous(entry, identity)

    def _merge_with_previous(self, entry: Entry, identity: Identity | None = None) -> Entry | None:
        """Make one entry of this one and the one before, if the same writer made both. None if nothing is left.

        An entry whose author is not certain yet waits until it is.

        Either both halves of a rename name each other or neither does: an undo that trusted one half alone would remove
        the last copy of a file. So nothing is merged across a rename to or from this name, and every other merge moves
        or removes the link. Args: identity: of the file whose name vanished.
        """
        if not entry.settled:
            return entry
        previous = self._store.previous(entry)
        if previous is not None and self._is_one_save(previous, entry):
            self._unlink(self._store.other_half(previous))
            if isinstance(previous.by, ByOutside):  # else a command may have written before the save, or after it
                previous = replace(previous, by=entry.by, kept=entry.kept, turn_id=entry.turn_id)
            previous = replace(previous, evidence=entry.evidence)
        elif (
            previous is None
            or not _is_same_writer(previous, entry)
            or previous.moved_to
            or entry.moved_from
            or self._is_announced(entry.path)  # a host's own tool may still claim one of them
        ):
            return entry
        if (
            self._has_others
            and entry.evidence != "save"
            and (isinstance(entry.by, ByOutside) or previous.before == entry.after)
        ):
            return entry
        if previous.is_beside_git != entry.is_beside_git and entry.evidence != "save":
            return entry  # git may have brought text that nobody has written, or may bring back what it takes away
        if previous.before == entry.after:
            departure, arrival = self._store.other_half(previous), self._store.other_half(entry)
            self._store.remove([previous.entry_id, entry.entry_id])
            self._relink(departure, arrival, identity)
            return None
        merged = replace(
            previous,
            after=entry.after,
            parents=tuple(dict.fromkeys((*previous.parents, *entry.parents))),
            time=entry.time,
            recorder=entry.recorder,  # it has read what is there now: see other_daemons
            moved_to=entry.moved_to,
            kind=_kind_of_versions(previous.before, entry.after, previous.gap),
        )
        contents = self._store.contents(merged)
        if merged.gap != "baseline":
            merged = self._with_line_counts(merged, contents.before, contents.after)
        self._store.remove([entry.entry_id])
        self._store.replace(merged)
        return merged

    def _is_one_save(self, previous: Entry, entry: Entry) -> bool:
        """Whether both are one save of an editor, which was read in the middle of it.

        The editor renames the file, or removes it, and writes it again; or it empties the file, and writes it in whole
        blocks. In between there is no file, or one with the first blocks of the saved text.
        """
        if not _can_be_part_of_save(previous, entry):
            return False
        if previous.after is None or previous.after.digest is None:
            return previous.kind == "delete" and entry.kind == "create"
        return self._is_begun(previous.after.digest, _digest(entry.after))

    def _is_begun(self, begun: bytes | None, saved: bytes | None) -> bool:
        """Whether the first of two contents is the beginning of the second, in whole blocks."""
        first = None if begun is None else self._store.content(begun)
        whole = None if saved is None else self._store.content(saved)
        return first is not None and whole is not None and len(first) % _BLOCK == 0 and whole.startswith(first)

    def _relink(self, departure: Entry | None, arrival: Entry | None, identity: Identity | None) -> None:
        """Join two renames, or remove both, once the name between them has no entries left."""
        if departure is not None and arrival is not None:
            self._store.replace(replace(departure, moved_to=arrival.path))
            self._store.replace(replace(arrival, moved_from=departure.path))
            return
        for half in (departure, arrival):
            self._unlink(half)
        if departure is not None and identity is not None:  # the file may be renamed again
            self._halves[identity] = _half_of(departure)

    def _merge_following(self, entry: Entry) -> Entry | None:
        """Merge the entry after this one, which may have waited for this one's author.

        Returns what is left of the two, the later one if they are not one change, or None.
        """
        following = self._store.next_entry(entry)
        return None if following is None else self._merge_with_previous(following)

    def _unlink(self, half: Entry | None) -> None:
        """Remove an entry's link to the other half, which no longer exists."""
        if half is None:
            return
        self._store.replace(replace(half, moved_to=None, moved_from=None))
        if half.after is None:
            self._merge_following(half)  # the rename was all that lay between the two

    def _with_other_half(self, entry: Entry, identity: Identity) -> Entry:
        """Return the entry as half of a rename, if the same file had another name a moment ago, or has one now.

        A rename is one operation, so both halves have one author, taken from the candidates of both. The other half is
        changed too.
        """
        half = self._halves.pop(identity, None)
        if entry.moved_from or entry.moved_to:  # another daemon has found it
            return entry
        stored = None
        if half is not None and half.kind != entry.kind:
            stored = self._store.entry(half.entry_id) or self._store.newest(half.path)  # it may have been merged
        by = None if stored is None else _author_of_both(stored, entry)
        if (
            half is not None
            and stored is not None
            and by is not None
            and half.path != entry.path
            and entry.time - half.time < MOVED_S
            and stored.kind == half.kind
            and half.version == (entry.after if half.kind == "delete" else entry.before)
            and stored.after == (None if half.kind == "delete" else half.version)
        ):
            stored, entry = self._of_author(stored, by), self._of_author(entry, by)
            if half.kind == "delete":
                self._store.replace(replace(stored, moved_to=entry.path))
                return replace(entry, moved_from=half.path)
            self._store.replace(replace(stored, moved_from=entry.path))
            return replace(entry, moved_to=half.path)
        self._halves[identity] = _half_of(entry)
        while len(self._halves) > MAX_HALVES:
            self._halves.popitem(last=False)
        return entry

    def _of_author(self, entry: Entry, by: By) -> Entry:
        if by == entry.by:
            return entry
        was_accepted = entry.kept and is_by_agent(entry.by)  # by a person
        entry = self._set_author(entry, by)
        return replace(entry, kept=entry.kept or was_accepted)

    def _with_line_counts(self, entry: Entry, before: bytes | None, after: bytes | None) -> Entry:
        added, removed = count_lines(before or b"", after or b"")
        return replace(entry, added=added, removed=removed)


def _half_of(entry: Entry) -> _Half:
    version = entry.before if entry.kind == "delete" else entry.after
    return _Half(entry.entry_id, entry.path, entry.kind, entry.time, version)


def _identity(change: Observed) -> Identity | None:
    """Return the identity of a file that appeared or vanished; None if its content is unknown or empty.

    It holds across a time in which no daemon recorded, since it has the file's time and the content as well.
    """
    known = change.after if change.before is None else change.before if change.after is None else None
    if known is None or known.digest is None or not known.inode or not known.size_bytes or change.gap == "baseline":
        return None
    return Identity(change.root, known.inode, known.mtime_ns, known.size_bytes)


def _is_twin(entry: Entry, other: Entry) -> bool:
    """Whether both are one change of a file, under two of its names."""
    return entry.path != other.path and (entry.before, entry.after) == (other.before, other.after)


def _author_of_both(one: Entry, other: Entry) -> By | None:
    """Return who may have made both changes; None if no author can have, or if it is not certain yet."""
    if one.by == other.by:
        return one.by
    if not (one.settled and other.settled):
        return None
    both = [by for by in _candidates(one.by) if by in _candidates(other.by)]
    return None if not both else both[0] if len(both) == 1 else unsure(*both)


def _candidates(by: By) -> tuple[KnownBy, ...]:
    return by.candidates if isinstance(by, ByUnsure) else (by,)


def _is_same_writer(previous: Entry, entry: Entry) -> bool:
    """Whether both are one change: by one command, or by an unknown writer within a moment."""
    if previous.by != entry.by or not isinstance(entry.by, ByCommand | ByOutside):
        return False
    if isinstance(entry.by, ByOutside) and entry.time - previous.time > SAME_WRITER_S:
        return False
    follows = previous.after == entry.before and previous.gap != "away"
    return follows and previous.kept == entry.kept and _can_be_one(previous, entry)


def _can_be_one(previous: Entry, entry: Entry) -> bool:
    """Whether an entry can extend the one before it, if one writer made both."""
    has_texts = previous.content == entry.content == "kept" and entry.gap is None
    is_undo_or_undone = previous.undone_by is not None or previous.undoes
    return has_texts and previous.settled and not is_undo_or_undone


def _continue_from(other: Entry, change: Observed) -> Observed:
    """Return the change, starting from the content that another daemon recorded last. R-REC-2: no entry is missing."""
    version = other.after
    before = (
        None if version is None else Known(content="kept", digest=version.digest, is_executable=version.is_executable)
    )
    return replace(change, before=before, before_data=None, gap=None if change.gap == "baseline" else change.gap)


def _can_be_part_of_save(previous: Entry, entry: Entry) -> bool:
    """Whether an entry is a save of an editor, and the one before it may have been made by that save, too."""
    is_save = entry.evidence == "save" and isinstance(entry.by, ByPerson) and entry.settled
    is_by_editor = isinstance(previous.by, ByOutside) or (
        previous.by != entry.by and entry.by in _candidates(previous.by)
    )
    is_soon = entry.time - previous.time <= SAME_WRITER_S
    return is_save and is_by_editor and is_soon and previous.gap is None and _can_be_one(previous, entry)


def _is_withdrawal(undone: Sequence[Entry]) -> bool:
    """Whether an undo reverts only changes that no person has kept. Then its own change needs no keep either."""
    return bool(undone) and not any(entry.kept for entry in undone)


def _content_kind(before: Known | None, after: Known | None) -> ContentKind:
    for version in (after, before):
        if version is not None and version.content != "kept":
            return version.content
    return "kept"


def _digest(of: Known | FileVersion | None) -> bytes | None:
    return None if of is None else of.digest


def _version(known: Known | None, content: ContentKind) -> FileVersion | None:
    """Args: content: of the change. The text that became binary or too large is kept: it can be restored."""
    if known is None:
        return None
    is_kept = content == "kept" or (known.content == "kept" and content in {"binary", "too_large"})
    return FileVersion(known.digest if is_kept else None, known.is_executable)


def _mode_of_deleted(before: Known | None, after: Known | None) -> int | None:
    return before.mode if before is not None and after is None else None


def _kind(before: Known | None, after: Known | None, content: ContentKind) -> EntryKind:
    if before is None or after is None:
        return "create" if before is None else "delete"
    is_mode = content == "kept" and before.digest is not None and before.digest == after.digest
    return "mode" if is_mode and before.is_executable != after.is_executable else "modify"


def _kind_of_versions(before: FileVersion | None, after: FileVersion | None, gap: GapKind | None) -> EntryKind:
    if after is None:
        return "delete"
    if before is None:
        return "create" if gap is None else "modify"
    return "mode" if before.digest == after.digest else "modify"


def _new_id() -> str:
    return f"e-{uuid.uuid4().hex[:12]}"
