r"""Unified diffs, as `diff -u` and `git diff` write them.

Git's extended headers are either applied (renames, new and deleted files, the executable bit) or refused (copies,
binary files, links, submodules). Text before the first file is skipped, as by `git apply`: it is the mail of `git
format-patch` or the message of `git show`. Within a file, nothing is skipped.
Sources: the manual of GNU diffutils ("Detailed Description of Unified Format"), git-diff(1) ("Generating patch text").
"""

import re
from typing import Literal

from fileops.core.patch.source import Source, quote
from fileops.model.changes import FilePatch
from fileops.model.edits import HunkLine, PatchHunk
from fileops.model.errors import InvalidPatch

_GIT = "diff --git "
_NOTHING = "/dev/null"
_RANGES = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_MODES = {"100644": False, "100755": True}
_ODD_MODES = {"120000": "a symbolic link", "160000": "a submodule", "040000": "a folder"}
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPED = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"(?=\t|$)')
_PREFIX = re.compile(r"[abciow]/")


def parse(source: Source, first: int) -> tuple[FilePatch, ...]:
    """Parse the diffs from the line `first` on. Raises: InvalidPatch."""
    return _Parser(source, first).files()


class _Headers:
    """What the lines between `diff --git` and the first hunk say about one file."""

    def __init__(self) -> None:
        self.old_path: str | None = None
        self.new_path: str | None = None
        self.renamed_from: str | None = None
        self.renamed_to: str | None = None
        self.old_mode: bool | None = None
        self.new_mode: bool | None = None
        self.created_mode: bool | None = None
        self.is_created = False
        self.is_deleted = False


class _Parser:
    """Reads the diffs from top to bottom. `_at` is the index of the next line."""

    def __init__(self, source: Source, at: int) -> None:
        self._source = source
        self._lines = source.lines
        self._at = at

    def files(self) -> tuple[FilePatch, ...]:
        files: list[FilePatch] = []
        while self._at < len(self._lines):
            if self._is_at_file():
                files.append(self._file())
            elif not files or self._is_signature():
                self._at += 1
            elif self._lines[self._at].strip():
                raise self._source.refusal(self._at, f"{quote(self._lines[self._at])} begins neither a hunk nor a file")
            else:
                self._at += 1
        if not files:
            raise self._source.refusal(
                0, "it begins neither with '*** Begin Patch' nor with 'diff --git' or '---', so it changes no file"
            )
        return tuple(files)

    def _is_at_file(self) -> bool:
        line = self._lines[self._at]
        return line.startswith(_GIT) or (
            line.startswith("--- ") and self._at + 1 < len(self._lines) and self._lines[self._at + 1].startswith("+++ ")
        )

    def _is_signature(self) -> bool:
        """Return whether the line, or the one before, is the one with which `git format-patch` ends a mail."""
        return "-- " in {self._lines[self._at], self._lines[self._at - 1]}

    # --- a file ------------------------------------------------------------------------------------------------

    def _file(self) -> FilePatch:
        begin, headers = self._at, _Headers()
        if (line := self._lines[self._at]).startswith(_GIT):
            headers.old_path, headers.new_path = self._git_paths(line.removeprefix(_GIT))
            self._at += 1
            while self._at < len(self._lines) and self._takes_extended(self._lines[self._at], headers):
                self._at += 1
        if self._at < len(self._lines) and self._is_at_file() and not self._lines[self._at].startswith(_GIT):
            self._take_names(headers)
        hunks: list[PatchHunk] = []
        while self._at < len(self._lines) and self._lines[self._at].startswith("@@"):
            hunks.append(self._hunk(hunks))
        return self._to_patch(begin, headers, tuple(hunks))

    def _takes_extended(self, line: str, headers: _Headers) -> bool:
        """Take what an extended header of git says. Return whether the line is one. Raises: InvalidPatch."""
        name, _, value = line.partition(" ")
        match name, value.split(" ", 1)[0]:
            case "old", "mode":
                headers.old_mode = self._mode(value)
            case "new", "mode":
                headers.new_mode = self._mode(value)
            case "new", "file":
                headers.is_created, headers.created_mode = True, self._mode(value)
            case "deleted", "file":
                headers.is_deleted = True
                self._mode(value)
            case "rename", "from":
                headers.renamed_from = self._path(value.removeprefix("from "))
            case "rename", "to":
                headers.renamed_to = self._path(value.removeprefix("to "))
            case "copy", _:
                raise self._source.refusal(self._at, "copies are not supported; create the file with its whole text")
            case ("GIT", "binary") | ("Binary", "files"):
                raise self._source.refusal(self._at, "binary files are not supported")
            case "index", _ if (mode := value.rpartition(" ")[2]) in _ODD_MODES:
                self._mode(mode)
            case ("index", _) | ("similarity", "index") | ("dissimilarity", "index"):
                pass
            case _:
                return False
        return True

    def _take_names(self, headers: _Headers) -> None:
        """Take the lines `---` and `+++`. After git's own line, they only repeat it or say /dev/null."""
        old, new = (self._name(self._lines[self._at + line]) for line in (0, 1))
        headers.is_created = headers.is_created or old == _NOTHING
        headers.is_deleted = headers.is_deleted or new == _NOTHING
        if old == new == _NOTHING:
            raise self._source.refusal(self._at, f"both sides are {_NOTHING}")
        if headers.old_path is None:
            headers.old_path, headers.new_path = self._plain_paths(old, new)
        self._at += 2

    def _plain_paths(self, old: str, new: str) -> tuple[str, str]:
        """Return the paths if there is no line of git. Raises: InvalidPatch, if they differ."""
        if old == _NOTHING:
            return new.removeprefix("b/"), new.removeprefix("b/")
        if new == _NOTHING:
            return old.removeprefix("a/"), old.removeprefix("a/")
        old, new = _without_prefixes(old, new)
        if old != new:
            raise self._source.refusal(
                self._at, f"{quote(old)} and {quote(new)} differ; a rename needs 'diff --git' and 'rename from'"
            )
        return old, new

    def _to_patch(self, begin: int, headers: _Headers, hunks: tuple[PatchHunk, ...]) -> FilePatch:
        old_path, new_path, at = headers.old_path or "", headers.new_path or "", begin + 1
        if headers.renamed_from is not None or headers.renamed_to is not None:
            if headers.renamed_from is None or headers.renamed_to is None:
                raise self._source.refusal(begin, "a rename needs both 'rename from' and 'rename to'")
            old_path, new_path = headers.renamed_from, headers.renamed_to
        is_executable = headers.new_mode if headers.new_mode != headers.old_mode else None
        if headers.is_created and headers.is_deleted:
            raise self._source.refusal(begin, "the file is both created and deleted")
        if headers.is_created:
            return FilePatch(
                operation="create",
                path=new_path,
                at=at,
                content=self._content(begin, hunks),
                is_executable=headers.created_mode or None,
            )
        if headers.is_deleted:
            if any(line.kind != "-" for hunk in hunks for line in hunk.lines):
                raise self._source.refusal(begin, f"{old_path} is deleted, but the hunks keep or add lines")
            return FilePatch(operation="delete", path=old_path, at=at, hunks=hunks)
        if old_path != new_path:
            if headers.renamed_from is None:
                raise self._source.refusal(
                    begin, f"{quote(old_path)} and {quote(new_path)} differ, without 'rename from'"
                )
            return FilePatch(
                operation="rename", path=old_path, new_path=new_path, at=at, hunks=hunks, is_executable=is_executable
            )
        if not hunks and is_executable is None:
            raise self._source.refusal(begin, f"there is no hunk for {new_path}")
        return FilePatch(operation="modify", path=new_path, at=at, hunks=hunks, is_executable=is_executable)

    def _content(self, begin: int, hunks: tuple[PatchHunk, ...]) -> str:
        if len(hunks) > 1 or any(line.kind != "+" for hunk in hunks for line in hunk.lines):
            raise self._source.refusal(begin, "a new file has one hunk, and only lines that begin with '+'")
        lines = [line for hunk in hunks for line in hunk.lines]
        return "".join(line.text if line.no_newline else f"{line.text}\n" for line in lines)

    # --- a hunk ------------------------------------------------------------------------------------------------

    def _hunk(self, before: list[PatchHunk]) -> PatchHunk:
        begin = self._at
        try:
            return self._read_counted_hunk(begin, before)
        except InvalidPatch:  # models often miscount; the lines say where the hunk ends, if only headers follow it
            n_lines = self._n_lines_of(begin)
            if n_lines is None:
                raise
        self._at = begin
        return self._read_counted_hunk(begin, before, n_lines)

    def _n_lines_of(self, begin: int) -> tuple[int, int] | None:
        """Return how many old and new lines a hunk has up to the next header, None if that is uncertain."""
        lines: list[str] = []
        for line in self._lines[begin + 1 :]:
            if line.startswith(("@@ ", "diff --git ", "--- ", "+++ ")):
                break
            lines.append(line)
        while lines and not lines[-1]:
            lines.pop()
        kinds = [_kind_of(line) for line in lines if not line.startswith("\\")]
        if None in kinds or not {"-", "+"}.intersection(kinds) or _RANGES.match(self._lines[begin]) is None:
            return None
        return sum(kind in {" ", "-"} for kind in kinds), sum(kind in {" ", "+"} for kind in kinds)

    def _read_counted_hunk(
        self, begin: int, before: list[PatchHunk], n_lines: tuple[int, int] | None = None
    ) -> PatchHunk:
        """Read a hunk. n_lines: how many old and new lines it has, if that is not what its header says."""
        found = _RANGES.match(self._lines[begin])
        if found is None:
            raise self._source.refusal(begin, f"{quote(self._lines[begin])} is not of the form '@@ -1,2 +1,3 @@'")
        start, n_old, _, n_new = (1 if number is None else int(number) for number in found.groups())
        if n_lines is not None:
            n_old, n_new = n_lines
        left: dict[str, int] = {"-": n_old, "+": n_new}
        self._at += 1
        lines: list[HunkLine] = []
        while any(left.values()):
            if self._at == len(self._lines):
                raise self._source.refusal(self._at, self._wrong_count(begin, left, "the patch ends"))
            line = self._lines[self._at]
            if line.startswith("\\"):
                self._end_without_newline(lines)
                self._at += 1
                continue
            kind = _kind_of(line)
            if kind is None:
                raise self._source.refusal(
                    self._at, self._wrong_count(begin, left, f"{quote(line)} is not a line of it")
                )
            for side in "-+":
                if kind in {side, " "}:
                    left[side] -= 1
            if min(left.values()) < 0:
                raise self._source.refusal(self._at, f"the hunk has more lines than {quote(found.group())} says")
            lines.append(HunkLine(kind=kind, text=line[1:] if line[:1] == kind else line))
            self._at += 1
        if self._at < len(self._lines) and self._lines[self._at].startswith("\\"):
            self._end_without_newline(lines)
            self._at += 1
        if all(line.kind == " " for line in lines):
            raise self._source.refusal(begin, "the hunk has no line that begins with '-' or '+'")
        for index, line in enumerate(lines):
            if line.no_newline and any(
                later.kind in {" ", line.kind} or line.kind == " " for later in lines[index + 1 :]
            ):
                raise self._source.refusal(
                    begin + 1 + index, "a line without a newline is not the last one of its file"
                )
        if before and start < (before[-1].old_start or 0):
            raise self._source.refusal(begin, "the hunks of a file must be in the order of its lines")
        return PatchHunk(
            lines=tuple(lines), at=begin + 1, old_start=start, is_at_end=any(line.no_newline for line in lines)
        )

    def _end_without_newline(self, lines: list[HunkLine]) -> None:
        """Mark the line before `No newline at end of file`."""
        if not lines or lines[-1].no_newline:
            raise self._source.refusal(self._at, "there is no line before it that could have no newline")
        last = lines[-1]
        lines[-1] = HunkLine(kind=last.kind, text=last.text, no_newline=True)

    def _wrong_count(self, begin: int, left: dict[str, int], found: str) -> str:
        return (
            f"{found}, but by line {begin + 1} the hunk has {left['-']} more old and {left['+']} more new lines; "
            "correct the numbers after '@@'"
        )

    # --- names and modes -----------------------------------------------------------------------------------------

    def _mode(self, value: str) -> bool:
        """Return whether a file with this mode is executable. Raises: InvalidPatch. Args: value: ends in the mode."""
        mode = value.rpartition(" ")[2]
        if mode in _ODD_MODES:
            raise self._source.refusal(self._at, f"it is {_ODD_MODES[mode]}; only regular files are supported")
        if mode not in _MODES:
            raise self._source.refusal(self._at, f"the mode {quote(mode)} is neither 100644 nor 100755")
        return _MODES[mode]

    def _name(self, line: str) -> str:
        """Return the path of a line `---` or `+++`. After a tab GNU diff writes the time, and git nothing."""
        name = line[4:].removesuffix("\r")
        quoted_name = _QUOTED.match(name)
        return self._path(name.partition("\t")[0] if quoted_name is None else quoted_name[0])

    def _path(self, written: str) -> str:
        """Return the unquoted path: git quotes one with unusual characters like a C string. Raises: InvalidPatch."""
        path = written
        if written.startswith('"'):
            if len(written) < 2 or not written.endswith('"'):
                raise self._source.refusal(self._at, "the quoted path has no end")
            path = self._unquote(written[1:-1])
        if not path or "\0" in path:
            raise self._source.refusal(self._at, "there is no path")
        return path

    def _unquote(self, body: str) -> str:
        def replace_escape(found: "re.Match[bytes]") -> bytes:
            escaped = found[1].decode("latin-1")
            if len(escaped) == 3:
                return bytes([int(escaped, 8)])
            if escaped not in _ESCAPES:
                raise self._source.refusal(self._at, "the quoted path has an unknown escape")
            return bytes([_ESCAPES[escaped]])

        try:
            return _ESCAPED.sub(replace_escape, body.encode()).decode()
        except UnicodeError:
            raise self._source.refusal(self._at, "the path is not UTF-8") from None

    def _git_paths(self, names: str) -> tuple[str, str]:
        """Return the two paths of `diff --git`, which are separated by a space and may contain spaces themselves.

        Without quotes the line is ambiguous, but both are the same file unless `rename` lines follow, which then name
        them: so the line is cut in the middle. Raises: InvalidPatch.
        """
        if '"' in names:
            found = re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S.*)', names)
            if found is None:
                raise self._source.refusal(self._at, "the paths after 'diff --git' cannot be separated")
            return _without_prefixes(self._path(found[1]), self._path(found[2]))
        middle = len(names) // 2
        old, new = names[:middle], names[middle + 1 :]
        if names[middle : middle + 1] == " " and _without_prefixes(old, new)[0] == _without_prefixes(old, new)[1]:
            return _without_prefixes(old, new)
        old, _, new = names.partition(" ")
        return _without_prefixes(old, new)


def _kind_of(line: str) -> Literal[" ", "-", "+"] | None:
    """Return what the line is in a hunk. Editors and models strip the space of an empty line that is kept."""
    if line[:1] == "-":
        return "-"
    if line[:1] == "+":
        return "+"
    return " " if line[:1] in {" ", "", "\r"} else None


def _without_prefixes(old: str, new: str) -> tuple[str, str]:
    """Return the paths without git's prefixes: `a/`, `b/`, or those of `diff.mnemonicPrefix`, never the same twice."""
    if _PREFIX.match(old) and _PREFIX.match(new) and old[0] != new[0]:
        return old[2:], new[2:]
    return old, new
