"""What each file may contain, and what a daemon may answer: plain dictionaries, str and bytes.

A content is the bytes of a file, the unsaved text of a document (str), or None where there is no file. The oracle
knows no strategy, no diff and no tracker of the server; it learns what others do, and judges what the daemons do.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from oracle.texts import codec_of, lf, text_of, words_of

Content = bytes | str | None


class Wrong(AssertionError):
    """A daemon did what the model does not allow."""


def require(holds: object, message: str) -> None:
    if not holds:
        raise Wrong(message)


@dataclass(slots=True)
class Document:
    """A document open in the editor.

    touched: changed by the person since it was opened or saved. base: the text when it last read as the file does;
    who types back to it has changed nothing.
    """

    path: str
    text: str
    version: int
    touched: bool
    base: str | None = None
    past: set[str] = field(default_factory=set[str])
    is_doubtful: bool = False  # opened while the daemon could not open files: it may refuse, but not guess


@dataclass(slots=True)
class Sight:
    """What a session saw last. text None: it may be the current content. is_sure: nothing happened to the file since.

    n_foreign: see Oracle.n_foreign; None if it is not known.
    """

    text: str | None
    is_sure: bool = True
    n_foreign: int | None = None


@dataclass(slots=True)
class Applied:
    """An edit, or an undo. Neither before nor after: it was one of many at once, or never acknowledged."""

    path: str
    daemon: int
    before: Content = None
    after: Content = None
    disk: bytes | None = None  # what the file held then, below an unsaved document
    is_undone: bool = False

    @property
    def is_known(self) -> bool:
        return self.before is not None or self.after is not None


@dataclass(slots=True)
class Oracle:
    disk: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])
    documents: dict[str, Document] = field(default_factory=dict[str, Document])  # of the editor, which is at daemon 0
    sights: dict[tuple[int, str, str], Sight] = field(
        default_factory=dict[tuple[int, str, str], Sight]
    )  # by daemon, session and path
    modes: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    applied: dict[str, Applied] = field(default_factory=dict[str, Applied])
    n_moves: Counter[tuple[int, str]] = field(default_factory=Counter[tuple[int, str]])  # by daemon and path
    n_own: Counter[tuple[int, str]] = field(default_factory=Counter[tuple[int, str]])  # of these, by its own sessions

    # --- the contents ---------------------------------------------------------------------------------------------

    def is_dirty(self, path: str) -> bool:
        document, data = self.documents.get(path), self.disk[path]
        if document is None or not document.touched:
            return False
        return data is None or lf(document.text) != lf(text_of(data))

    def present(self, daemon: int, path: str) -> Content:
        """The content that this daemon has to go by."""
        return self.documents[path].text if daemon == 0 and self.is_dirty(path) else self.disk[path]

    def moved(self, path: str, daemons: tuple[int, ...] = (0, 1)) -> None:
        """Something happened to the file, or to its document, that these daemons may take for a change."""
        self.n_moves.update((daemon, path) for daemon in daemons)
        for (daemon, _, seen), sight in self.sights.items():
            if seen == path and daemon in daemons:
                sight.is_sure = False

    def n_foreign(self, daemon: int, path: str) -> int:
        """How often something else than a session of this daemon has changed the file or its document."""
        return self.n_moves[daemon, path] - self.n_own[daemon, path]

    # --- what may be answered ------------------------------------------------------------------------------------

    def codes_of_edit(self, daemon: int, session: str, path: str, old: str, new: str, count: int) -> set[str]:
        """Codes that an edit may be answered with before anybody is asked; "ok" among them. count: of `old`."""
        content, sight = self.present(daemon, path), self.sights.get((daemon, session, path))
        if not old:
            return {"ok"} if content is None else {"already_exists"}
        if content is None:
            return {"not_found"}
        if sight is None:
            return {"not_read"}
        if sight.text is not None and sight.text != shown(content):
            return {"modified_externally", "not_read"}
        fits = "not_encodable" if mixes_encodings(content, old, new) else "ok"
        found = {"no_match" if not count else "multiple_matches" if count > 1 else fits}
        return found if sight.is_sure else {*found, "modified_externally", "not_read"}

    def judge_undo(self, edits: list[Applied], now: Content, result: Content) -> None:
        """edits: those that were undone, of one file, the newest first. result: the content afterwards."""
        newest, oldest = edits[0], edits[-1]
        is_chain = all(same(newer.before, older.after) for newer, older in pairwise(edits))
        if is_chain and same(now, newest.after):
            require(same(result, oldest.before), f"the undo of {edits} left {result!r}")
            return
        if len(edits) == 1 and same(now, newest.before):
            require(same(now, result), f"the undo of {edits} had nothing to do, and made {result!r}")
            return
        old, new = Counter(words_of(shown(now))), Counter(words_of(shown(result)))
        befores = [Counter(words_of(shown(edit.before))) for edit in edits]
        made = {
            word for edit in edits for word in words_of(shown(edit.after)) if word not in words_of(shown(edit.before))
        }
        change = f"{now!r} -> {result!r}, the undo of {edits}"
        for word, count in new.items():
            limit = max(old[word], *(before[word] for before in befores))
            require(count <= limit, f"{word!r} stands {count} times, of which nobody wrote more than {limit}: {change}")
        lost = [word for word in old if word not in new and word not in made]
        require(not lost, f"{lost} went, and was not the edit's: {change}")
        kept = {word for word, count in old.items() if new[word] == count}
        require(
            [word for word in words_of(shown(now)) if word in kept]
            == [word for word in words_of(shown(result)) if word in kept],
            f"words changed places: {change}",
        )


# --- contents ----------------------------------------------------------------------------------------------------


def shown(content: Content) -> str:
    """As an agent reads it, with LF line ends."""
    return lf(text_of(content) if isinstance(content, bytes) else content or "")


def same(first: Content, second: Content) -> bool:
    """Unsaved text and a file that read alike are the same; two files only byte for byte."""
    if first is None or second is None or (isinstance(first, bytes) and isinstance(second, bytes)):
        return first == second
    return shown(first) == shown(second)


def mixes_encodings(content: Content, old: str, new: str) -> bool:
    """Whether a file that is no text as a whole would get UTF-8 for characters that the replaced text has not."""
    if not isinstance(content, bytes) or not holds_junk(content):
        return False
    return any(not character.isascii() for character in set(new) - set(old))


def holds_junk(content: bytes) -> bool:
    """Whether the file has bytes that are no UTF-8, where no mark names another encoding."""
    return not _mark(content) and bool(re.search("[\udc80-\udcff]", raw(content)))


def n_matches(content: Content, old: str) -> int:
    """The number of occurrences of the text, overlapping ones too."""
    text = lf(raw(content))  # what is no text is matched by nothing
    return sum(text.startswith(old, at) for at in range(len(text))) if old else 0


def judge_splice(before: Content, old: str, new: str, after: Content) -> None:
    """`after` has to be `before` with every `old` replaced, and nothing else changed."""
    place = re.compile(r"(?:\r\n|(?<!\r)\n)".join(re.escape(part) for part in old.split("\n")))
    was, now = raw(before), raw(after)
    outside: list[str] = []
    at = 0
    for found in place.finditer(was):
        outside.append(re.escape(was[at : found.start()]))
        at = found.end()
    outside.append(re.escape(was[at:]))
    expected = r"\r?\n".join(re.escape(part) for part in new.split("\n")).join(outside)
    require(re.fullmatch(expected, now), f"{before!r}: {old!r} -> {new!r} gave {after!r}")
    require(_mark(before) == _mark(after), f"the byte order mark of {before!r} changed: {after!r}")


def judge_rewriting(before: Content, text: str, after: Content) -> None:
    """`after` has to read as `text`, and every line at both ends that reads as before to be the same bytes."""
    require(shown(after) == lf(text), f"{before!r}: {text!r} was wanted, {after!r} was written")
    require(_mark(before) == _mark(after), f"the byte order mark of {before!r} changed: {after!r}")
    was, now = raw(before).splitlines(keepends=True), raw(after).splitlines(keepends=True)
    for old_lines, new_lines in ((was, now), (was[::-1], now[::-1])):
        for old, new in zip(old_lines, new_lines, strict=False):
            if as_shown(old) != as_shown(new):
                break
            require(old == new, f"the line {old!r} was not to be changed: {new!r}")


def judge_merge(base: str, decided: str, present: str, result: str) -> None:
    """`result` has to have what the person decided and what others did: both started at `base`. All as shown."""
    was, wanted, theirs, now = (set(words_of(text)) for text in (base, decided, present, result))
    story = f"{base!r} -> {decided!r} was decided, and {present!r} stood: {result!r}"
    require(not (missing := ((wanted | theirs) - was) - now), f"{missing} went: {story}")
    require(not (risen := (was - (wanted & theirs)) & now), f"{risen} was taken out, and stands: {story}")
    require(not (lost := (was & wanted & theirs) - now), f"{lost} went, and nobody took it out: {story}")


def raw(content: Content) -> str:
    """The content behind its mark, one to one: also what is no text, and line ends as they are."""
    if not isinstance(content, bytes):
        return content or ""
    codec, bom = codec_of(content)
    return content[len(bom) :].decode(codec, "surrogateescape" if codec == "utf-8" else "surrogatepass")


def as_shown(line: str) -> str:
    """line: of `raw`."""
    return re.sub("[\udc80-\udcff]", "\ufffd", lf(line))


def _mark(content: Content) -> bytes:
    return codec_of(content)[1] if isinstance(content, bytes) else b""
