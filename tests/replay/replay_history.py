"""Replays a git repository's real history through the core: each commit's hunks as edits, asserted byte for byte.

    python tests/replay/replay_history.py REPOSITORY [--commits N] [--encoding NAME]

For every text file that one of the last N commits changed, its hunks become the edits of one multi edit, with as
much context as makes each text unique, as an agent would send them (LF line ends). Their composed splices over the
parent's blob must give the commit's blob, and so must the unified diff where it is exact. An added file becomes a
creation. Exit status 1 names the first file that differs.

With an encoding, each blob is first put into it, frequent letters as characters of several bytes whose last looks like
ASCII where the encoding has such. The edits are planned on the text and made in the bytes.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from fileops.core.legacy_text import file_splices, to_utf8
from fileops.core.plan import execute, plan
from fileops.core.splices import apply
from fileops.core.text import detect_format, is_binary, newline_style
from fileops.model.edits import Edit, Plan
from fileops.model.files import Text, TextFormat
from fileops.model.settings import Limits
from support.core_models import missing_snapshot, patched, snapshot_of

_CONTEXT_LINES = 3
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_RAW = re.compile(r":\d+ (\d+) ([0-9a-f]+) ([0-9a-f]+) ([AM])")
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_LIMITS = Limits()


class ReplayFailedError(AssertionError):
    """A file came out different from its commit."""


@dataclass(slots=True)
class Report:
    n_commits: int = 0
    n_files: int = 0
    n_edits: int = 0
    n_diffs: int = 0
    skipped: Counter[str] = field(default_factory=Counter[str])

    def __str__(self) -> str:
        skipped = ", ".join(f"{count} {reason}" for reason, count in self.skipped.most_common())
        return (
            f"{self.n_commits} commits, {self.n_files} files, {self.n_edits} edits, {self.n_diffs} diffs: every "
            f"byte as committed (left out: {skipped or 'nothing'})"
        )


@dataclass(frozen=True, slots=True)
class _Change:
    """A file that a commit added (old is None) or modified."""

    commit: str
    path: str
    old: str | None
    new: str


# Frequent letters and what takes their place: 乗 and 表 end in the byte of a backslash, 亅 and ポ in that of `|`.
LETTERS = {
    "gbk": {"e": "乗", "t": "亅", "a": "中"},
    "shift_jis": {"e": "表", "t": "ポ", "a": "ｱ"},
    "latin-1": {"e": "é"},
}


def replay(repository: Path, n_commits: int, encoding: str | None = None) -> Report:
    """Raises: ReplayFailedError."""
    report = Report()
    with _Blobs(repository) as blobs:
        for commit in _git(repository, "log", "--format=%H", "-n", str(n_commits)).decode().split():
            report.n_commits += 1
            for change in _changes(repository, commit):
                _replay_file(repository, blobs, change, report, encoding)
    return report


def _replay_file(repository: Path, blobs: "_Blobs", change: _Change, report: Report, encoding: str | None) -> None:
    new = blobs.read(change.new)
    old = b"" if change.old is None else blobs.read(change.old)
    reason = _reason_to_skip(old, new, is_added=change.old is None)
    if reason:
        report.skipped[reason] += 1
        return
    if encoding is not None:
        _replay_encoded(old, new, _hunks(repository, change.old, change.new) if change.old else [], change, encoding)
        report.n_files += 1
        return
    fmt = detect_format(old)
    if change.old is None:
        edits = [Edit(old_string="", new_string=new.decode())]
        planned = plan(missing_snapshot(), fmt, edits, limits=_LIMITS)
    else:
        edits = _edits(old.decode(), new.decode(), _hunks(repository, change.old, change.new))
        planned = plan(snapshot_of(old), fmt, edits, limits=_LIMITS, is_multi=True)
        text = Text(data=old, format=fmt)
        for edit in edits:
            text = execute(text, edit.old_string, edit.new_string, False)
        _require(text.data == new, change, "the edits one by one")
    _require(apply(old, planned.splices) == new, change, "the composed splices")
    report.n_files += 1
    report.n_edits += len(edits)
    report.n_diffs += _check_diff(old, new, planned, change)


def _replay_encoded(
    old: bytes, new: bytes, hunks: list[tuple[int, int, int, int]], change: _Change, encoding: str
) -> None:
    old, new = (_in_encoding(data, encoding) for data in (old, new))
    shown, wanted = to_utf8(old, encoding), to_utf8(new, encoding)
    if change.old is None:
        edits = [Edit(old_string="", new_string=wanted.decode())]
        planned = plan(missing_snapshot(), TextFormat(), edits, limits=_LIMITS)
    else:
        edits = _edits(shown.decode(), wanted.decode(), hunks)
        planned = plan(snapshot_of(shown), detect_format(shown), edits, limits=_LIMITS, is_multi=True)
    made = apply(old, file_splices(old, shown, planned.splices, encoding))
    _require(made == new, change, f"the edits in {encoding}")


def _in_encoding(data: bytes, encoding: str) -> bytes:
    text = data.decode().removeprefix("\ufeff").translate(str.maketrans(LETTERS[encoding]))
    return text.encode(encoding, "replace")


def _reason_to_skip(old: bytes, new: bytes, *, is_added: bool) -> str | None:
    for data in (old, new):
        fmt = detect_format(data)
        if is_binary(data, fmt) or fmt.unit_bytes > 1:
            return "binary"
        try:
            data.decode()
        except UnicodeDecodeError:
            return "not UTF-8"
    if is_added:
        return None
    if not old:
        return "empty before (an edit cannot say that)"
    styles = newline_style(old, detect_format(old)), newline_style(new, detect_format(new))
    if "mixed" in styles or (None not in styles and styles[0] != styles[1]):
        return "line ends changed or mixed"
    if detect_format(old) != detect_format(new):
        return "BOM changed"
    return None


def _edits(old: str, new: str, hunks: list[tuple[int, int, int, int]]) -> list[Edit]:
    """Each hunk with the context that makes its old text unique in the content at its turn."""
    old = old.removeprefix("\ufeff").replace("\r\n", "\n")
    new = new.removeprefix("\ufeff").replace("\r\n", "\n")
    lines, new_lines = _lines(old), _lines(new)
    edits: list[Edit] = []
    shift = 0
    for old_start, n_old, new_start, n_new in hunks:
        at = old_start - (n_old > 0) + shift
        come = new_lines[new_start - (n_new > 0) :][:n_new]
        whole = "".join(lines)
        n_context = _CONTEXT_LINES
        while True:
            above, below = lines[max(0, at - n_context) : at], lines[at + n_old : at + n_old + n_context]
            wanted = "".join((*above, *lines[at : at + n_old], *below))
            if wanted and whole.find(wanted, whole.find(wanted) + 1) < 0:
                break
            n_context *= 2
        edits.append(Edit(old_string=wanted, new_string="".join((*above, *come, *below))))
        lines[at : at + n_old] = come
        shift += n_new - n_old
    return edits


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _check_diff(old: bytes, new: bytes, planned: Plan, change: _Change) -> bool:
    if planned.change.truncated or not planned.change.exact:
        return False
    if not planned.change.unified:
        _require(old == new, change, "an empty diff")
        return True
    _require(patched(old.decode(), planned.change.unified).encode() == new, change, "the diff")
    return True


def _require(holds: bool, change: _Change, what: str) -> None:
    if not holds:
        raise ReplayFailedError(f"{what} of {change.path!r} in {change.commit} gave other bytes")


def _changes(repository: Path, commit: str) -> Iterator[_Change]:
    """Against the first parent."""
    parents = _git(repository, "rev-list", "--parents", "-n", "1", commit).decode().split()[1:]
    raw = _git(
        repository,
        "diff-tree",
        "-r",
        "-z",
        "--no-renames",
        "--no-abbrev",
        "--diff-filter=AM",
        parents[0] if parents else _EMPTY_TREE,
        commit,
    )
    fields = raw.decode(errors="surrogateescape").split("\0")
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        found = _RAW.fullmatch(head)
        if found is not None and found.group(1).startswith("100"):
            is_added = found.group(4) == "A"
            yield _Change(commit, path, None if is_added else found.group(2), found.group(3))


def _hunks(repository: Path, old: str, new: str) -> list[tuple[int, int, int, int]]:
    """old_start, n_old, new_start, n_new, as in the head of a hunk."""
    diff = _git(repository, "diff", "--no-color", "--no-ext-diff", "--text", "--unified=0", old, new)
    return [
        (int(a), 1 if n is None else int(n), int(b), 1 if m is None else int(m))
        for a, n, b, m in (found.groups() for found in _HUNK.finditer(diff))
    ]


class _Blobs:
    """`git cat-file --batch`."""

    def __init__(self, repository: Path) -> None:
        self._process = subprocess.Popen(
            ["git", "-C", str(repository), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> "_Blobs":
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.communicate()

    def read(self, blob: str) -> bytes:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(blob.encode() + b"\n")
        stdin.flush()
        size = int(stdout.readline().split()[2])
        data = stdout.read(size)
        stdout.read(1)
        return data


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description="Replay a repository's history through the core.")
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=500)
    parser.add_argument("--encoding", choices=sorted(LETTERS))
    arguments = parser.parse_args()
    try:
        report = replay(arguments.repository, arguments.commits, arguments.encoding)
    except ReplayFailedError as failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    sys.stdout.write(f"{report}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
