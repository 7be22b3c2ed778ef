"""Reads what git knows about a work tree, without any effect on it.

Only `git_process` runs git. This module parses the index itself: that takes 94 ms for 50,000 files, while
`git ls-files --stage --debug` takes 388 ms.
"""

import hashlib
import os
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from fileops.core.roots import is_inside
from fileops.platform.regular_files import NotReadable, read_regular
from fileops.record.content import MAX_BYTES
from fileops.record.git_process import GitFailed, answering, ask

MAX_WORK_TREES = 50  # linked ones that are looked at
MAX_INDEX_BYTES = 128 << 20  # enough for a million files
MAX_ATTRIBUTE_BYTES = 1 << 20
_MAX_ANSWER_LINE = 5000  # an answer may repeat a path
_CONVERTING = ("filter", "working-tree-encoding", "eol", "ident")
_CONVERSIONS = tuple(map(str.encode, _CONVERTING))
_EXTENDED, _NAME_MASK = 0x4000, 0xFFF
_REGULAR, _FOLDER = 0o10, 0o4  # in the index, the upper bits of the mode: of a file that is not a link, and of a folder
_PATHS_AT_ONCE = 100  # as arguments
_SETTINGS_S = 10.0  # to read a few small files
# The commits from which git may just have brought a file. Of a merge that is committed, its parents.
_PARENTS = (
    "HEAD", "HEAD^1", "HEAD^2", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD",
    "refs/stash",
)  # fmt: skip
# What git reads first in a work tree. If one of these is a FIFO, git waits forever.
_OWN_FILES = (
    ".gitignore", ".gitattributes", ".git/HEAD", ".git/config", ".git/config.worktree", ".git/commondir", ".git/index",
    ".git/packed-refs", ".git/info/exclude", ".git/info/attributes", ".git/objects/info/alternates",
)  # fmt: skip


class Repository(Struct, frozen=True, kw_only=True):
    """A work tree. root: its top folder, canonical. index: path of its index. n_oid_bytes: of an object id.

    excludes_file, attributes_file: of the user. converts_all: git converts the ends of lines in all files.
    has_all_blobs: it stores every blob in its index itself, so the record need not copy these contents.
    """

    root: str
    git_folder: str
    index: str
    n_oid_bytes: int
    excludes_file: str
    attributes_file: str
    converts_all: bool
    has_all_blobs: bool


class IndexEntry(Struct, frozen=True, gc=False):
    """A file in the index, with its stamp when git last read it. oid: of its blob."""

    oid: bytes
    mtime_ns: int
    ctime_ns: int
    inode: int
    size_bytes: int


class CommittedBlobs(Struct, frozen=True, kw_only=True):
    """The blobs of a path in HEAD and in the index, as (object id, bytes); None where it has none."""

    head: tuple[bytes, int] | None
    index: tuple[bytes, int] | None


class Index(Struct, frozen=True, kw_only=True):
    """The index of a work tree: paths relative to its top. mtime_ns: of the index itself.

    entries: of regular files whose stamp can be trusted. names: of everything that is tracked. is_partial: git keeps a
    part of it elsewhere (a split or sparse index), so the absence of a path means nothing.
    """

    entries: Mapping[str, IndexEntry]
    names: frozenset[str]
    mtime_ns: int
    is_partial: bool = False


def top_of(folder: str) -> str | None:
    """Return the top of the work tree that contains a canonical folder; None outside of git. Starts no program."""
    at = folder
    while True:
        if is_top(at):
            return at
        parent = os.path.dirname(at)
        if parent == at:
            return None
        at = parent


def project_of(folder: str) -> str | None:
    """Return the top of a folder's (canonical) work tree; None outside git, and for the home folder and those above."""
    top = top_of(folder)
    home = os.path.realpath(os.path.expanduser("~"))
    return None if top is None or is_inside(top, home) else top


def is_top(folder: str) -> bool:
    """Whether a folder is the top of a work tree. Starts no program.

    A folder `.git` without HEAD is ignored, as git does. The sandbox of an agent's shell command creates an empty one
    for a moment in each folder that the command may write to, including /tmp.
    """
    entry = os.path.join(folder, ".git")
    return os.path.isfile(entry) or os.path.lexists(os.path.join(entry, "HEAD"))


def find_linked_work_trees(repository: Repository) -> list[str]:
    """Return the top folders of linked work trees inside this one, also ignored ones: gitrepository-layout(5)."""
    folder = os.path.join(repository.git_folder, "worktrees")
    try:
        names = os.listdir(folder)
    except OSError:  # there are none
        return []
    found: list[str] = []
    for name in names[:MAX_WORK_TREES]:
        with suppress(OSError, NotReadable):
            top = os.path.dirname(os.fsdecode(read_regular(os.path.join(folder, name, "gitdir"), 8192).rstrip(b"\n")))
            if is_inside(repository.root, top) and os.path.realpath(top) == top and is_top(top):
                found.append(top)
    return found


def find_repository(root: str) -> Repository | None:
    """Return the repository of a work tree; None if git does not know it, or cannot be run."""
    if _has_strange_files(root):
        return None
    try:
        with answering(root, "config", "--null", "--list", deadline_s=_SETTINGS_S) as answer:
            lines = ask(  # while git reads the settings
                root,
                "rev-parse",
                "--show-toplevel",
                "--absolute-git-dir",
                "--git-path",
                "index",
                "--git-common-dir",
                "--show-object-format",
                deadline_s=_SETTINGS_S,
            )
            settings = _settings_in(answer.read_all())
    except GitFailed:
        return None
    top, git_folder, index, common, object_format = os.fsdecode(lines).split("\n")[:5]
    if not _is_same_folder(top, root):
        return None
    of_user = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git")
    return Repository(
        root=root,
        git_folder=git_folder,
        index=os.path.join(root, index),
        n_oid_bytes=32 if object_format == "sha256" else 20,
        excludes_file=os.path.expanduser(settings.get("core.excludesfile") or os.path.join(of_user, "ignore")),
        attributes_file=os.path.expanduser(settings.get("core.attributesfile") or os.path.join(of_user, "attributes")),
        converts_all=settings.get("core.autocrlf", "false") not in {"", "false"},
        has_all_blobs=not _borrows(os.path.join(root, common)) and not any(map(_names_promisor, settings)),
    )


def _has_strange_files(root: str) -> bool:
    return any(_is_strange(os.path.join(root, name)) for name in _OWN_FILES)


def _is_strange(path: str) -> bool:
    """Whether there is something that git would read and that is neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _settings_in(answer: bytes) -> Mapping[str, str]:
    """Return the last value of each setting, by its lower-case name."""
    pairs = (setting.partition("\n") for setting in os.fsdecode(answer).split("\0") if setting)
    return {name.lower(): value if separator else "true" for name, separator, value in pairs}


def _borrows(git_folder: str) -> bool:
    """Whether objects are in another repository, which may disappear."""
    objects = os.path.join(git_folder, "objects")
    return os.path.islink(objects) or os.path.lexists(os.path.join(objects, "info", "alternates"))


def _names_promisor(setting: str) -> bool:
    """Whether a setting is one of a partial clone, which fetches blobs when they are needed."""
    return setting == "extensions.partialclone" or (setting.startswith("remote.") and setting.endswith(".promisor"))


def read_files(repository: Repository) -> tuple[Index | None, set[str], set[str]]:
    """Return the index, the tracked files, and all that are tracked or not ignored, as canonical paths.

    There is no index before the first `git add`. Raises: GitFailed, OSError.
    """
    head = os.fsencode(repository.root) + b"/"
    with answering(repository.root, "ls-files", "-z", "--others", "--exclude-standard") as others:
        try:  # while git looks for the others, the index is read here
            index = read_index(repository)
        except FileNotFoundError:
            index = None
        if index is not None and not index.is_partial:
            tracked = {f"{repository.root}/{name}" for name in index.names}
        else:
            listed = ask(repository.root, "ls-files", "-z", "--cached")
            tracked = {os.fsdecode(head + path) for path in listed.split(b"\0") if path}
        # A nested untracked repository is listed as a folder. It is a recorded folder of its own.
        names = (path for path in others.read_all().split(b"\0") if path and not path.endswith(b"/"))
        return index, tracked, tracked.union(os.fsdecode(head + path) for path in names)


def find_converted_files(repository: Repository, tracked: Iterable[str]) -> set[str]:
    """Return the tracked files that git may convert between the disk and its blobs. Raises: GitFailed.

    The stamp of such a file says nothing about its blob, and a filter may preserve the size. git is asked for the
    attributes only if an attributes file may set one of these. If such a file cannot be read here, git cannot either.
    """
    paths = list(tracked)
    if repository.converts_all:
        return set(paths)
    try:
        if not any(word in content for content in _attribute_files(repository, paths) for word in _CONVERSIONS):
            return set()
    except NotReadable:
        return set(paths)
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    answer = ask(repository.root, "check-attr", "-z", "--stdin", *_CONVERTING, stdin=given).split(b"\0")
    return {
        os.fsdecode(path)
        for path, _, value in zip(answer[0::3], answer[1::3], answer[2::3], strict=False)
        if value not in {b"unspecified", b"unset", b"lf"}
    }


def _attribute_files(repository: Repository, tracked: Iterable[str]) -> Iterator[bytes]:
    """Raises: NotReadable."""
    own = [path for path in tracked if path.endswith("/.gitattributes")]
    of_git = os.path.join(repository.git_folder, "info", "attributes")
    for path in (*own, of_git, repository.attributes_file, "/etc/gitattributes"):
        try:
            yield read_regular(path, MAX_ATTRIBUTE_BYTES)
        except OSError:
            continue


def _is_same_folder(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)  # git may spell it differently, e.g. in case
    except OSError:
        return False


def read_index(repository: Repository) -> Index:
    """Raises: GitFailed, OSError."""
    mtime_ns = os.stat(repository.index).st_mtime_ns  # before reading, so that a later change is noticed
    try:
        return _parse_index(read_regular(repository.index, MAX_INDEX_BYTES), repository.n_oid_bytes, mtime_ns)
    except (NotReadable, struct.error, ValueError, IndexError) as error:
        raise GitFailed(f"the index cannot be read: {error}") from error


def read_committed_blobs(repository: Repository, paths: Iterable[str]) -> dict[str, CommittedBlobs]:
    """Return the blobs of canonical paths in HEAD and in the index, by one process. Raises: GitFailed."""
    found: dict[str, CommittedBlobs] = {}
    wanted = [path for path in paths if "\n" not in path]  # as it ends a question
    names = [os.fsencode(path[len(repository.root.rstrip("/")) + 1 :]) for path in wanted]
    questions = b"".join(b"HEAD:%b\n:0:%b\n" % (name, name) for name in names)
    if not wanted:
        return found
    if _has_strange_files(repository.root):  # by now
        raise GitFailed("what git would read is not a file")
    with answering(repository.root, "cat-file", "--batch-check", stdin=questions, deadline_s=_SETTINGS_S) as answer:
        for path in wanted:
            head, index = (_blob_in(answer.read_line(_MAX_ANSWER_LINE)) for _ in range(2))
            found[path] = CommittedBlobs(head=head, index=index)
    return found


def parent_blobs(repository: Repository, paths: Iterable[str]) -> dict[str, tuple[tuple[bytes, int], ...]]:
    """Return the blobs of canonical paths in the commits from which git may have brought them, by one process.

    Raises: GitFailed.
    """
    found: dict[str, tuple[tuple[bytes, int], ...]] = {}
    wanted = [path for path in paths if "\n" not in path]  # as it ends a question
    names = [os.fsencode(path[len(repository.root.rstrip("/")) + 1 :]) for path in wanted]
    questions = b"".join(b"%b:%b\n" % (parent.encode(), name) for name in names for parent in _PARENTS)
    if not wanted:
        return found
    if _has_strange_files(repository.root):  # by now
        raise GitFailed("what git would read is not a file")
    with answering(repository.root, "cat-file", "--batch-check", stdin=questions, deadline_s=_SETTINGS_S) as answer:
        for path in wanted:
            blobs = [_blob_in(answer.read_line(_MAX_ANSWER_LINE)) for _ in _PARENTS]
            found[path] = tuple(dict.fromkeys(blob for blob in blobs if blob is not None))
    return found


def read_committed_bits(repository: Repository, paths: Sequence[str]) -> dict[str, bool]:
    """Return whether canonical paths are executable in HEAD. Those that are no files there are left out.

    Raises: GitFailed, also if there is no commit.
    """
    found: dict[str, bool] = {}
    root = repository.root.rstrip("/") + "/"
    if paths and _has_strange_files(repository.root):  # by now
        raise GitFailed("what git would read is not a file")
    for first in range(0, len(paths), _PATHS_AT_ONCE):
        names = [path.removeprefix(root) for path in paths[first : first + _PATHS_AT_ONCE]]
        answer = ask(repository.root, "ls-tree", "-z", "--full-tree", "HEAD", "--", *names, deadline_s=_SETTINGS_S)
        for line in answer.split(b"\0")[:-1]:  # "100755 blob OID", a tab, and the name
            facts, _, name = line.partition(b"\t")
            mode = facts.partition(b" ")[0]
            if mode in {b"100755", b"100644"}:
                found[root + os.fsdecode(name)] = mode == b"100755"
    return found


def read_staged_blobs(repository: Repository) -> dict[str, bytes | None]:
    """The blobs of the paths in which the index differs from HEAD, None where it has none. Raises: GitFailed.

    Without a commit there is no HEAD, and nothing is known.
    """
    if _has_strange_files(repository.root):  # by now
        raise GitFailed("what git would read is not a file")
    asked = ("diff-index", "--cached", "--raw", "--no-renames", "--no-abbrev", "-z", "HEAD")
    fields = ask(repository.root, *asked, deadline_s=_SETTINGS_S).split(b"\0")
    head = os.fsencode(repository.root.rstrip("/")) + b"/"
    staged: dict[str, bytes | None] = {}
    for facts, name in zip(fields[0::2], fields[1::2], strict=False):  # ":100644 100644 OID OID M", and the name
        words = facts.split()
        if len(words) != 5:
            raise GitFailed("its answer has another form")
        staged[os.fsdecode(head + name)] = None if words[4] == b"D" else bytes.fromhex(words[3].decode("ascii"))
    return staged


def _blob_in(line: bytes) -> tuple[bytes, int] | None:
    """Raises: GitFailed."""
    if not line:
        raise GitFailed("its answer ended early")
    words = line.split()
    if len(words) != 3 or words[1] != b"blob" or not words[2].isdigit():  # "NAME missing"
        return None
    return bytes.fromhex(words[0].decode()), int(words[2])


def blob_id(repository: Repository, data: bytes) -> bytes:
    """Return the id of a blob with this content."""
    digest = hashlib.sha256 if repository.n_oid_bytes == 32 else hashlib.sha1
    return digest(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest()


def read_blobs(repository: Repository, sizes: Mapping[bytes, int]) -> dict[bytes, bytes]:
    """Return the contents of those blobs that the repository has, by one process. Args: sizes: in bytes, by object id.

    Blobs that are larger than any kept content are not requested. A blob of an unexpected size is not the wanted
    content. It is not read, nor is the rest of that answer.
    """
    blobs: dict[bytes, bytes] = {}
    wanted = {oid: size for oid, size in sizes.items() if size <= MAX_BYTES}
    if not wanted:
        return blobs
    questions = b"".join(oid.hex().encode() + b"\n" for oid in wanted)
    try:
        with answering(repository.root, "cat-file", "--batch", stdin=questions) as answer:
            for oid, size in wanted.items():
                head = answer.read_line().split()
                if len(head) != 3:  # "OID missing"
                    continue
                if head[1] != b"blob" or int(head[2]) != size:
                    break
                blobs[oid] = answer.read(size + 1)[:-1]
    except (GitFailed, ValueError):
        return blobs
    return blobs


def _parse_index(data: bytes, n_oid_bytes: int, mtime_ns: int) -> Index:
    """The format is gitformat-index(5), versions 2 to 4."""
    signature, version, n_entries = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in {2, 3, 4}:
        raise ValueError(f"version {version}")
    found: list[IndexEntry | None] = []
    names: list[bytes] = []
    is_sparse = False
    at, name = 12, b""
    fixed = struct.Struct(f">10I{n_oid_bytes}sH")
    for _ in range(n_entries):
        fields = fixed.unpack_from(data, at)
        changed_s, changed_ns, seconds, nanoseconds, _, inode, mode, _, _, n_bytes, oid, flags = fields
        start = at + fixed.size + (2 if flags & _EXTENDED else 0)
        if version == 4:  # a name shares a prefix with the previous one
            n_dropped, start = _varint(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - n_dropped] + data[start:end]
            following = end + 1
        else:
            end = data.index(b"\0", start)
            name = data[start:end]
            following = at + ((end - at) // 8 + 1) * 8
        mtime = seconds * 1_000_000_000 + nanoseconds
        is_sparse = is_sparse or mode >> 12 == _FOLDER
        names.append(name)
        # "Racily clean": a file of the age of the index may have changed after git read it. Conflicts have stages.
        if mode >> 12 == _REGULAR and mtime < mtime_ns and not flags & 0x3000:
            ctime = changed_s * 1_000_000_000 + changed_ns
            found.append(IndexEntry(oid=oid, mtime_ns=mtime, ctime_ns=ctime, inode=inode, size_bytes=n_bytes))
        else:
            found.append(None)
        at = following
    paths = os.fsdecode(b"\0".join(names)).split("\0") if names else []  # much faster than one by one
    entries = {path: entry for path, entry in zip(paths, found, strict=True) if entry is not None}
    is_partial = is_sparse or not {b"link", b"sdir"}.isdisjoint(_extensions(data, at, n_oid_bytes))
    return Index(entries=entries, names=frozenset(paths), mtime_ns=mtime_ns, is_partial=is_partial)


def _extensions(data: bytes, at: int, n_oid_bytes: int) -> Iterator[bytes]:
    while at + 8 <= len(data) - n_oid_bytes:
        yield data[at : at + 4]
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode the offset encoding of pack files. Returns the value and its end."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
