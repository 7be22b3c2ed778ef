"""What git knows of a work tree, read without any effect on it.

git is started only to read, in such a way that it takes no lock, writes nothing, and runs no program that a repository
names (`_environment`, `_OPTIONS`). The index is read by this module: it takes 94 ms for 50,000 files, where
`git ls-files --stage --debug` takes 388.
"""

import os
import struct
import subprocess
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

_OPTIONS = (
    "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "core.untrackedCache=false", "-c", "protocol.allow=never",
)  # fmt: skip
_TIMEOUT_S = 120.0
_CONVERTING = ("filter", "working-tree-encoding", "eol", "ident")
_CONVERSIONS = tuple(map(str.encode, _CONVERTING))
_ENTRY = struct.Struct(">10I")
_FLAGS = struct.Struct(">H")
_EXTENDED, _NAME_MASK = 0x4000, 0xFFF
_REGULAR = 0o10  # of the index: the upper bits of the mode of a file that is no link


class GitFailed(Exception):
    """git could not be asked, or its index not be read. The message is its last line."""


class Repository(Struct, frozen=True, kw_only=True):
    """A work tree. root: its top folder, canonical. index: path of its index. n_oid_bytes: of an object id."""

    root: str
    git_folder: str
    index: str
    n_oid_bytes: int


class IndexEntry(Struct, frozen=True, gc=False):
    """A file in the index, with the stamp that it had when git last read it. oid: of its blob."""

    oid: bytes
    mtime_ns: int
    inode: int
    size_bytes: int


class Index(Struct, frozen=True, kw_only=True):
    """The index of a work tree: paths relative to its top. mtime_ns: of the index itself.

    entries: of regular files. is_partial: git keeps a part of it elsewhere (a split index), so that nothing follows
    from the absence of a path.
    """

    entries: Mapping[str, IndexEntry]
    mtime_ns: int
    is_partial: bool = False


def top_of(folder: str) -> str | None:
    """The top of the work tree that contains a canonical folder; None outside of git. Starts no program."""
    at = folder
    while True:
        if is_top(at):
            return at
        parent = os.path.dirname(at)
        if parent == at:
            return None
        at = parent


def is_top(folder: str) -> bool:
    """Whether a folder is the top of a work tree. Starts no program.

    As git does, a folder `.git` without HEAD is passed over: the sandbox of an agent's shell command makes an empty one
    for a moment in each folder that the command may write to, /tmp among them.
    """
    entry = os.path.join(folder, ".git")
    return os.path.isfile(entry) or os.path.lexists(os.path.join(entry, "HEAD"))


def find_repository(root: str) -> Repository | None:
    """The repository of a work tree; None if git does not know it, or cannot be run."""
    try:
        lines = _run(
            root, "rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-path", "index", "--show-object-format"
        )
    except GitFailed:
        return None
    top, git_folder, index, object_format = os.fsdecode(lines).split("\n")[:4]
    if not _is_same_folder(top, root):
        return None
    n_oid_bytes = 32 if object_format == "sha256" else 20
    return Repository(root=root, git_folder=git_folder, index=os.path.join(root, index), n_oid_bytes=n_oid_bytes)


def listed_files(repository: Repository) -> tuple[list[str], set[str]]:
    """The files that are tracked, and all that are tracked or not ignored, as canonical paths. Raises: GitFailed."""
    tracked = _run(repository.root, "ls-files", "-z", "--cached")
    others = _run(repository.root, "ls-files", "-z", "--others", "--exclude-standard")
    head = os.fsencode(repository.root) + b"/"
    is_tracked = {os.fsdecode(head + path) for path in tracked.split(b"\0") if path}
    # An untracked repository inside is listed as a folder. That is another recorded folder.
    other = {os.fsdecode(head + path) for path in others.split(b"\0") if path and not path.endswith(b"/")}
    return list(is_tracked), is_tracked | other


def converted_files(repository: Repository, tracked: Iterable[str]) -> set[str]:
    """Those of the tracked files that git may convert between the disk and its blobs. Raises: GitFailed.

    The stamp of such a file says nothing about its blob, and a filter may keep the size. git is asked for the
    attributes only if a file of attributes names one of these.
    """
    paths = list(tracked)
    if _is_set(repository, "core.autocrlf"):
        return set(paths)
    if not any(word in content for content in _attribute_files(repository, paths) for word in _CONVERSIONS):
        return set()
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    answer = _run(repository.root, "check-attr", "-z", "--stdin", *_CONVERTING, stdin=given).split(b"\0")
    return {
        os.fsdecode(path)
        for path, _, value in zip(answer[0::3], answer[1::3], answer[2::3], strict=False)
        if value not in {b"unspecified", b"unset", b"lf"}
    }


def _attribute_files(repository: Repository, tracked: Iterable[str]) -> Iterator[bytes]:
    own = [path for path in tracked if path.endswith("/.gitattributes")]
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    try:
        of_user = os.fsdecode(_run(repository.root, "config", "--type=path", "--get", "core.attributesFile")).strip()
    except GitFailed:
        of_user = os.path.join(base, "git", "attributes")
    for path in (*own, os.path.join(repository.git_folder, "info", "attributes"), of_user, "/etc/gitattributes"):
        try:
            with open(path, "rb") as file:
                yield file.read()
        except OSError:
            continue


def _is_same_folder(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)  # git may spell it otherwise, where that is no difference
    except OSError:
        return False


def _is_set(repository: Repository, name: str) -> bool:
    try:
        return _run(repository.root, "config", "--get", name).strip() not in {b"", b"false"}
    except GitFailed:
        return False


def read_index(repository: Repository) -> Index:
    """Raises: GitFailed, OSError."""
    with open(repository.index, "rb") as file:
        mtime_ns = os.fstat(file.fileno()).st_mtime_ns
        data = file.read()
    try:
        return _parsed(data, repository.n_oid_bytes, mtime_ns)
    except (struct.error, ValueError, IndexError) as error:
        raise GitFailed(f"the index cannot be read: {error}") from error


def read_blobs(repository: Repository, oids: Iterable[bytes]) -> dict[bytes, bytes]:
    """The contents of blobs, as far as the repository has them, by one process."""
    wanted = list(oids)
    try:
        answer = _run(
            repository.root, "cat-file", "--batch", stdin=b"".join(oid.hex().encode() + b"\n" for oid in wanted)
        )
    except GitFailed:
        return {}
    blobs: dict[bytes, bytes] = {}
    at = 0
    for oid in wanted:
        end = answer.find(b"\n", at)
        head = answer[at:end].split()
        at = end + 1
        if len(head) == 3 and head[1] == b"blob":  # else: "OID missing"
            size = int(head[2])
            blobs[oid] = answer[at : at + size]
            at += size + 1
    return blobs


def excludes_file(root: str) -> str:
    """The path of the user's own file of ignore rules (`core.excludesFile`)."""
    try:
        configured = os.fsdecode(_run(root, "config", "--type=path", "--get", "core.excludesFile")).strip()
    except GitFailed:
        configured = ""
    home = os.path.expanduser("~")
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return configured or os.path.join(base, "git", "ignore")


def _parsed(data: bytes, n_oid_bytes: int, mtime_ns: int) -> Index:
    """The format is gitformat-index(5), versions 2 to 4."""
    signature, version, n_entries = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in {2, 3, 4}:
        raise ValueError(f"version {version}")
    entries: dict[str, IndexEntry] = {}
    at, name = 12, b""
    n_fixed = _ENTRY.size + n_oid_bytes
    for _ in range(n_entries):
        _, _, seconds, nanoseconds, _, inode, mode, _, _, n_bytes = _ENTRY.unpack_from(data, at)
        oid = data[at + _ENTRY.size : at + n_fixed]
        (flags,) = _FLAGS.unpack_from(data, at + n_fixed)
        start = at + n_fixed + (4 if flags & _EXTENDED else 2)
        if version == 4:  # names share a beginning with the one before
            n_dropped, start = _varint(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - n_dropped] + data[start:end]
            following = end + 1
        else:
            end = data.index(b"\0", start)
            name = data[start:end]
            following = at + ((end - at) // 8 + 1) * 8
        mtime = seconds * 1_000_000_000 + nanoseconds
        # "Racily clean": a file of the age of the index may have changed after git read it. Conflicts have stages.
        if mode >> 12 == _REGULAR and mtime < mtime_ns and not flags & 0x3000:
            entries[os.fsdecode(name)] = IndexEntry(oid=oid, mtime_ns=mtime, inode=inode, size_bytes=n_bytes)
        at = following
    is_partial = b"link" in _extensions(data, at, n_oid_bytes)
    return Index(entries=entries, mtime_ns=mtime_ns, is_partial=is_partial)


def _extensions(data: bytes, at: int, n_oid_bytes: int) -> Iterator[bytes]:
    while at + 8 <= len(data) - n_oid_bytes:
        yield data[at : at + 4]
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The offset encoding of pack files. Returns the value and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _run(root: str, *arguments: str, stdin: bytes = b"") -> bytes:
    """Raises: GitFailed."""
    done = _started(root, *arguments, stdin=stdin)
    if done.returncode != 0:
        raise GitFailed(_last_line(done.stderr))
    return done.stdout


def _started(root: str, *arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(
            ["git", *_OPTIONS, "-C", root, *arguments],
            env=_environment(),
            input=stdin,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitFailed(str(error)) from error


def _environment() -> dict[str, str]:
    """Without what would lead git to another repository, and with what keeps it from fetching and from asking."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **inherited,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C",
    }


def _last_line(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "git failed"
