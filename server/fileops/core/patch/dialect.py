"""The dialect of `apply_patch`, which OpenAI's models are trained to write.

    *** Begin Patch
    *** Add File: PATH            every line begins with "+"
    *** Delete File: PATH
    *** Update File: PATH
    *** Move to: NEW_PATH         optional
    @@ LINE                       a line above the hunk; may be repeated, the outermost first
     kept, -removed, +added
    *** End of File               optional: the hunk is at the end of the file
    *** End Patch

As in the original, blanks around the `***` lines do not count, an empty line in a hunk is one of the file, and the
first hunk of a file needs no `@@`. Unlike the original, nothing that cannot be understood is skipped.
"""

from fileops.core.patch.source import Source, quote
from fileops.model.changes import FilePatch
from fileops.model.edits import HunkLine, PatchHunk

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File:", "*** Delete File:", "*** Update File:"
_MOVE, _END_OF_FILE = "*** Move to:", "*** End of File"
_OPERATIONS = (_ADD, _DELETE, _UPDATE)


def parse(source: Source, first: int) -> tuple[FilePatch, ...]:
    """Parse the files between the first line and the last. Raises: InvalidPatch. Args: first: index of BEGIN."""
    last = next(index for index in range(len(source.lines) - 1, first - 1, -1) if source.lines[index].strip())
    if source.lines[last].strip() == END:
        source.lines[last] = END  # otherwise an indented one would be a line of the last hunk
    return _DialectParser(source, first + 1).files()


class _DialectParser:
    """Reads the lines of one patch from top to bottom. `_at` is the index of the next one."""

    def __init__(self, source: Source, at: int) -> None:
        self._source = source
        self._lines = source.lines
        self._at = at

    def files(self) -> tuple[FilePatch, ...]:
        files: list[FilePatch] = []
        while (marker := self._marker()) != END:
            if self._at == len(self._lines):
                raise self._source.refusal(self._at, f"the last line must be '{END}'")
            if not marker and not self._lines[self._at].strip():
                self._at += 1
                continue
            if marker == BEGIN:
                raise self._source.refusal(self._at, f"'{BEGIN}' is here a second time; send one patch")
            operation = next((operation for operation in _OPERATIONS if marker.startswith(operation)), None)
            if operation is None:
                wanted = ", ".join(f"'{operation} PATH'" for operation in _OPERATIONS)
                raise self._source.refusal(self._at, f"{self._show()} is none of {wanted}")
            files.append(self._file(operation, self._path(marker, operation)))
        end = self._at
        rest = next((index for index in range(end + 1, len(self._lines)) if self._lines[index].strip()), None)
        if rest is not None:
            raise self._source.refusal(rest, f"there is text after '{END}'")
        if not files:
            raise self._source.refusal(end, "it changes no file")
        return tuple(files)

    def _file(self, operation: str, path: str) -> FilePatch:
        at = self._at + 1
        self._at += 1
        if operation == _ADD:
            return FilePatch(operation="create", path=path, at=at, content=self._content())
        if operation == _DELETE:
            return FilePatch(operation="delete", path=path, at=at)
        new_path = None
        if self._is_at_file() and (marker := self._marker()).startswith(_MOVE):
            new_path = self._path(marker, _MOVE)
            self._at += 1
        hunks: list[PatchHunk] = []
        while not self._is_at_file():
            if not self._lines[self._at].strip():
                self._at += 1
                continue
            hunks.append(self._hunk(is_first=not hunks))
        if not hunks and new_path is None:
            raise self._source.refusal(at - 1, f"there is no hunk for {path}")
        return FilePatch(
            operation="modify" if new_path is None else "rename",
            path=path,
            new_path=new_path,
            at=at,
            hunks=tuple(hunks),
        )

    def _content(self) -> str:
        begin = self._at
        while self._at < len(self._lines) and self._lines[self._at].startswith("+"):
            self._at += 1
        if not self._is_at_file() and self._lines[self._at].strip():
            raise self._source.refusal(
                self._at, f"{self._show()} has no '+', which every line of a new file begins with"
            )
        return "".join(f"{line[1:]}\n" for line in self._lines[begin : self._at])

    def _hunk(self, *, is_first: bool) -> PatchHunk:
        begin = self._at
        anchors = self._anchors()
        if self._at == begin and not is_first:
            raise self._source.refusal(begin, f"{self._show()} begins with none of '@@', ' ', '-' and '+'")
        lines: list[HunkLine] = []
        is_at_end = False
        while not self._is_at_file():
            line = self._lines[self._at]
            if line.rstrip() == _END_OF_FILE:
                is_at_end = True
                self._at += 1
                break
            if line.startswith("@@"):
                break
            if line[:1] not in {" ", "-", "+"} and line.strip("\r"):
                raise self._source.refusal(self._at, f"{self._show()} begins with none of '@@', ' ', '-' and '+'")
            # Models omit the space of an empty line that is kept, and so did the original's tests.
            kind = "-" if line[:1] == "-" else "+" if line[:1] == "+" else " "
            lines.append(HunkLine(kind=kind, text=line[1:] if line[:1] in {" ", "-", "+"} else line))
            self._at += 1
        if not is_at_end:  # empty lines before the next hunk or file only separate
            while lines and lines[-1] == HunkLine(kind=" ", text="") and not self._lines[self._at - 1]:
                lines.pop()
                self._at -= 1
        if all(line.kind == " " for line in lines):
            raise self._source.refusal(begin, "the hunk has no line that begins with '-' or '+'")
        if anchors and all(line.kind == "+" for line in lines):
            raise self._source.refusal(
                begin, "the hunk only adds lines and does not say where: give the lines above or below, with a ' '"
            )
        return PatchHunk(lines=tuple(lines), at=begin + 1, anchors=anchors, is_at_end=is_at_end)

    def _anchors(self) -> tuple[str, ...]:
        """Return the consecutive lines after "@@". An "@@" alone says nothing."""
        anchors: list[str] = []
        while not self._is_at_file() and (line := self._lines[self._at]).startswith("@@"):
            anchor = line[2:]
            if anchor.strip() and not anchor.startswith((" ", "\t")):
                raise self._source.refusal(self._at, f"{self._show()} has no blank after '@@'")
            if anchor.strip():
                anchors.append(anchor.strip())
            self._at += 1
        return tuple(anchors)

    def _marker(self) -> str:
        """Return the next line if it is one of the patch's own, without spaces around it; otherwise an empty text."""
        line = self._lines[self._at].strip() if self._at < len(self._lines) else ""
        return line if line.startswith("*** ") else ""

    def _is_at_file(self) -> bool:
        """Return whether the next line belongs to no hunk: it is missing, begins another file, or ends the patch."""
        if self._at == len(self._lines):
            return True
        line = self._lines[self._at]
        return line.startswith("*** ") and line.strip() != _END_OF_FILE

    def _path(self, marker: str, operation: str) -> str:
        path = marker.removeprefix(operation).strip()
        if not path:
            raise self._source.refusal(self._at, f"there is no path after '{operation}'")
        if "\0" in path:
            raise self._source.refusal(self._at, "a path has no NUL character")
        return path

    def _show(self) -> str:
        return quote(self._lines[self._at])
