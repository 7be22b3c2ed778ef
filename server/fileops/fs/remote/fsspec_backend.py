"""Backend for fsspec's filesystems. The report of a commit says what they do not guarantee.

fsspec is imported when it is first used, because that takes a tenth of a second. Foreign filesystems raise many kinds
of errors, which become OSErrors here without their text, since it may contain secrets.
"""

import errno
import hashlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal, TypeVar, cast

from fileops.fs.remote.backend import InPlace, RemoteEntry
from fileops.fs.remote.paths import label_of
from fileops.model.files import CommitReport

T = TypeVar("T")

_ERRNO = {
    FileNotFoundError: errno.ENOENT, FileExistsError: errno.EEXIST, IsADirectoryError: errno.EISDIR,
    NotADirectoryError: errno.ENOTDIR, PermissionError: errno.EACCES, TimeoutError: errno.ETIMEDOUT,
}  # fmt: skip
_PROTOCOLS_WITH_LINKS = {"file", "local"}
_MTIME_KEYS = ("mtime", "LastModified", "last_modified", "updated", "modified")
_ETAG_KEYS = ("ETag", "etag", "version_id", "generation", "md5", "md5Hash", "checksum", "sha256")


class FsspecBackend:
    """A filesystem by its fsspec URL. `options` are for the constructor of that filesystem."""

    was_reached = True  # links are never learned from a connection

    def __init__(self, url: str, options: Mapping[str, object]) -> None:
        self.has_links = url.partition("://")[0] in _PROTOCOLS_WITH_LINKS
        self._url = url
        self._options = dict(options)
        self._opening = threading.Lock()
        self._opened: Any = None

    @property
    def label(self) -> str:
        return label_of(self._url)

    def ssh_command(self) -> list[str] | None:
        return None

    def stat_many(self, paths: Sequence[str]) -> list[RemoteEntry | None]:
        """Stat all paths, or only the last one: object stores have no folders, and few filesystems report links."""
        if self.has_links:
            return [self._stat(path) for path in paths]
        folder = RemoteEntry(kind="folder")
        return [*(folder for _ in paths[:-1]), *(self._stat(path) for path in paths[-1:])]

    def _stat(self, path: str) -> RemoteEntry | None:
        def stat(fs: Any) -> RemoteEntry | None:
            info = cast("dict[str, Any]", fs.info(path))
            kind = {"file": "file", "directory": "folder"}.get(info["type"], "other")
            if info.get("islink"):
                kind = "link"
            return RemoteEntry(
                kind=cast("Literal['file', 'folder', 'link', 'other']", kind),
                size_bytes=int(info.get("size") or 0),
                mtime_ns=_mtime_ns(info, fs, path) if kind == "file" else 0,
                etag=_etag(info),
            )

        with suppress(FileNotFoundError, NotADirectoryError):
            return self._call(stat)
        return None

    def link_target(self, path: str) -> str:
        def read(fs: Any) -> str:
            target = fs.info(path).get("destination")
            if target is None:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            return os.fsdecode(target)

        return self._call(read)

    def open(self, path: str) -> "RangeReader":
        entry = self._stat(path)
        if entry is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return RangeReader(entry, lambda start, end: self._call(lambda fs: fs.cat_file(path, start=start, end=end)))

    def read(self, path: str) -> tuple[bytes, RemoteEntry]:
        opened = self._stat(path) if self.has_links else None
        data = self._call(lambda fs: bytes(fs.cat_file(path)))
        return data, opened or RemoteEntry(kind="file", size_bytes=len(data))

    def stage(self, path: str, data: bytes, like: RemoteEntry | None, require_in_place: InPlace) -> "_Put":
        mode = "create" if like is None else "overwrite"
        return _Put(self, path, data, mode)

    def put(self, path: str, data: bytes, mode: str) -> CommitReport:
        write = _create if mode == "create" else _overwrite
        self._call(lambda fs: write(fs, path, data))
        reason = f"{self.label}: that filesystem may neither replace a file atomically nor keep it through a crash"
        return CommitReport(method="create" if mode == "create" else "remote", durability="not_synced", reason=reason)

    def make_folder(self, path: str) -> None:
        self._call(lambda fs: fs.mkdir(path, create_parents=False))

    def remove_folder(self, path: str) -> None:
        self._call(lambda fs: fs.rmdir(path))

    def remove(self, path: str) -> None:
        self._call(lambda fs: fs.rm_file(path))

    def _call(self, work: Callable[[Any], T]) -> T:
        try:
            return work(self._filesystem())
        except NotImplementedError as error:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP)) from error
        except OSError as error:
            number = error.errno or next((n for kind, n in _ERRNO.items() if isinstance(error, kind)), errno.EIO)
            raise OSError(number, os.strerror(number)) from error
        except Exception as error:  # foreign code of a filesystem
            raise OSError(errno.EIO, f"{self.label} failed with {type(error).__name__}") from error

    def _filesystem(self) -> Any:
        with self._opening:
            if self._opened is None:
                import fsspec

                protocol = self._url.partition("://")[0]
                kind: Any = fsspec.get_filesystem_class(protocol)
                from_url = cast("dict[str, Any]", kind._get_kwargs_from_urls(self._url))  # noqa: SLF001
                from_url.pop("path", None)
                fixed = {"use_listings_cache": False, "skip_instance_cache": True}
                self._opened = kind(**{**from_url, **self._options, **fixed})
            return self._opened


class _Put:
    """See backend.Staged. Nothing is sent before it is published."""

    def __init__(self, backend: FsspecBackend, path: str, data: bytes, mode: str) -> None:
        self._backend = backend
        self._path = path
        self._data = data
        self._mode = mode

    def publish(self) -> CommitReport:
        return self._backend.put(self._path, self._data, self._mode)

    def __enter__(self) -> "_Put":
        return self

    def __exit__(self, *exc: object) -> None:
        return None


class RangeReader:
    """See backend.Reader. `fetch(start, end)` returns bytes of the file; it may ignore the range."""

    def __init__(self, entry: RemoteEntry, fetch: Callable[[int, int], bytes]) -> None:
        self.entry = entry
        self._fetch = fetch
        self._at = 0

    def read(self, max_bytes: int) -> bytes:
        end = min(self._at + max_bytes, self.entry.size_bytes)
        if end <= self._at:
            return b""
        chunk = bytes(self._fetch(self._at, end))
        if len(chunk) > end - self._at:
            chunk = chunk[self._at : end]
        self._at += len(chunk)
        return chunk

    def seek(self, offset_bytes: int) -> None:
        self._at = offset_bytes

    def close(self) -> None:
        return None


def _overwrite(fs: Any, path: str, data: bytes) -> None:
    fs.pipe_file(path, data)


def _create(fs: Any, path: str, data: bytes) -> None:
    """Create a file, exclusively if the filesystem can, and its folders if it has any."""
    parent = path.rpartition("/")[0]
    if parent and not fs.exists(parent):
        fs.makedirs(parent, exist_ok=True)
    try:
        fs.pipe_file(path, data, mode="create")
    except FileExistsError:
        if fs.exists(path):
            raise
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
    except TypeError:  # it does not support modes
        if fs.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        fs.pipe_file(path, data)


def _mtime_ns(info: Mapping[str, Any], fs: Any, path: str) -> int:
    """Return the modification time; 0 if unknown."""
    value = next((info[key] for key in _MTIME_KEYS if info.get(key) is not None), None)
    if value is None:
        with suppress(NotImplementedError):
            value = fs.modified(path)
    if isinstance(value, datetime):
        value = value.timestamp()
    return int(value * 1e9) if isinstance(value, (int, float)) else 0


def _etag(info: Mapping[str, Any]) -> int:
    """Return a hash of the fields that change with the content; 0 if the filesystem has none."""
    values = [str(info[key]) for key in _ETAG_KEYS if info.get(key) is not None]
    return int.from_bytes(hashlib.blake2b("\n".join(values).encode(), digest_size=7).digest()) if values else 0
