"""The edits that faults are put into: the content before, the request, the contents allowed afterwards."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OLD = b"".join(b"line %05d of the old file\n" % i for i in range(400))
OLD_MTIME_NS = 1_600_000_000_123_456_789
_MODE = 0o640


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """method, wishes: the request. new: the content it makes. is_linked: the file has a second name."""

    method: str
    wishes: dict[str, Any]
    new: bytes
    is_linked: bool = False
    creates: bool = False
    parents: tuple[str, ...] = field(default=())

    @property
    def change(self) -> str:
        """The call that puts the new content under the file's name."""
        return "pwrite" if self.is_linked else "rename"

    def path(self, folder: str) -> str:
        return "/".join((folder, *self.parents, "file.txt"))

    def prepare(self, folder: str) -> None:
        """The world before the edit."""
        for name in os.listdir(folder):
            place = f"{folder}/{name}"
            if os.path.isdir(place):
                shutil.rmtree(place)
            else:
                os.unlink(place)
        if self.creates:
            return
        path = self.path(folder)
        Path(path).write_bytes(OLD)
        os.chmod(path, _MODE)
        if self.is_linked:
            os.link(path, f"{folder}/twin")
        os.utime(path, ns=(OLD_MTIME_NS, OLD_MTIME_NS))

    def params(self, folder: str) -> dict[str, Any]:
        return {"file_path": self.path(folder), **self.wishes}

    def content(self, folder: str) -> bytes | None:
        try:
            return Path(self.path(folder)).read_bytes()
        except FileNotFoundError:
            return None

    def fault(self, folder: str, *, may_be_new: bool, may_be_old: bool = True, with_time: bool = True) -> str | None:
        """What is wrong with the folder now, temp files included. with_time: the old file has its old time, too."""
        content = self.content(folder)
        is_new = content == self.new
        if not ((is_new and may_be_new) or (self._is_old(folder, content, with_time=with_time) and may_be_old)):
            return f"neither of what may stand: {content!r:.300}"
        names = sorted(os.path.relpath(f"{at}/{n}", folder) for at, _, ns in os.walk(folder) for n in ns)
        wanted = [os.path.relpath(self.path(folder), folder)] if content is not None else []
        if self.is_linked:
            wanted.append("twin")
            if Path(f"{folder}/twin").read_bytes() != content:
                return "the hard links have parted"
        return None if names == sorted(wanted) else f"litter: {names}"

    def _is_old(self, folder: str, content: bytes | None, *, with_time: bool) -> bool:
        if self.creates:
            return content is None
        status = os.stat(self.path(folder))
        has_time = status.st_mtime_ns == OLD_MTIME_NS or not with_time
        return content == OLD and has_time and status.st_mode & 0o7777 == _MODE


def _replaced(*pairs: tuple[str, str]) -> bytes:
    data = OLD
    for old, new in pairs:
        assert data.count(old.encode()) == 1
        data = data.replace(old.encode(), new.encode())
    return data


_ONE = ("line 00007 of", "line 7, which is longer now " * 40)
_SEVERAL = (("line 00003 of the old file\n", ""), ("line 00100", "line C"), ("00399 of the old file", "end"))
_SAME_SIZE = ("line 00200", "LINE 00200")


def _edit(pair: tuple[str, str]) -> dict[str, Any]:
    return {"old_string": pair[0], "new_string": pair[1]}


def _multi(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"edits": [_edit(pair) for pair in pairs]}


_MADE = "made\nby the daemon\n" * 50

SCENES: dict[str, Scene] = {
    "edit-swap": Scene(method="fileops/edit", wishes=_edit(_ONE), new=_replaced(_ONE)),
    "multi-swap": Scene(method="fileops/multiEdit", wishes=_multi(*_SEVERAL), new=_replaced(*_SEVERAL)),
    "edit-in-place": Scene(method="fileops/edit", wishes=_edit(_ONE), new=_replaced(_ONE), is_linked=True),
    "multi-in-place": Scene(
        method="fileops/multiEdit", wishes=_multi(*_SEVERAL), new=_replaced(*_SEVERAL), is_linked=True
    ),
    "same-size-in-place": Scene(
        method="fileops/edit", wishes=_edit(_SAME_SIZE), new=_replaced(_SAME_SIZE), is_linked=True
    ),
    "create": Scene(method="fileops/edit", wishes=_edit(("", _MADE)), new=_MADE.encode(), creates=True),
    "multi-create-with-folders": Scene(
        method="fileops/multiEdit",
        wishes=_multi(("", _MADE), ("made\nby the daemon\nmade\nby the daemon\n" * 25, "short\n")),
        new=b"short\n",
        creates=True,
        parents=("a", "b"),
    ),
}  # fmt: skip
