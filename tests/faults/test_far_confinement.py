"""A folder that changes places with a link does not lead out of a folder mapped over SSH.

SFTP opens by name, so what is open is looked at again. The server is the real one. Behind a proxy the two change places
before a chosen request; without it, all the time.
"""

import json
import os
import shutil
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract.recording import RecordingHooks
from faults.injection import IS_COMPLETE
from faults.swapping import swapping
from fileops.fs.remote.filesystem import RemoteFileSystem
from fileops.fs.remote.sftp import SftpBackend
from fileops.model.edits import Splice
from fileops.model.errors import FileOpsError
from fileops.model.files import Snapshot
from fileops.model.internal_errors import PathMoved, Stale
from support import sftp_proxy
from support.rawclient import raw_client
from support.sshd import Sshd, running

SECRET = b"what stands outside\n"
INSIDE = b"inside\n"
N_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Place:
    """base: the mapped folder; in it a folder `door` and a link to `outside` change places before chosen requests."""

    control: Path
    base: Path
    outside: Path
    fs: RemoteFileSystem

    @property
    def pair(self) -> list[str]:
        return [str(self.base / "door"), str(self.base / "link")]

    def exchange_at(self, *requests: int) -> None:
        """Requests count from 1 again."""
        (self.control / "log").write_text("")
        (self.control / "orders").write_text(json.dumps({"pair": self.pair, "at": requests}))

    def requests(self) -> list[str]:
        return (self.control / "log").read_text().split()

    def prepare(self) -> None:
        """The door is the folder, and inside and outside are as at the start."""
        self.exchange_at()
        if (self.base / "door").is_symlink():
            sftp_proxy.exchange(*self.pair)
        for folder, content in ((self.base / "door", INSIDE), (self.outside, SECRET)):
            shutil.rmtree(folder)
            folder.mkdir()
            (folder / "f").write_bytes(content)

    def litter(self) -> list[str]:
        """Files outside that were not there at the start. An empty temporary file is none, see GUARANTEES.md."""
        assert (self.outside / "f").read_bytes() == SECRET
        files = [path for path in self.outside.rglob("*") if path.is_file() and path != self.outside / "f"]
        return [str(path) for path in files if path.stat().st_size or not path.name.startswith(".fileops-")]

    @property
    def folder(self) -> Path:
        """The current path of the folder that was the door."""
        return self.base / ("link" if (self.base / "door").is_symlink() else "door")


SERVERS = {"swap": "", "in place": "posix-rename"}  # one can rename over a file, the other one refuses it


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    pytest.importorskip("asyncssh")
    folder = tmp_path_factory.mktemp("far")
    control, base, outside = folder / "control", folder / "base", folder / "outside"
    for made in (control, base, outside, base / "door"):
        made.mkdir()
    (base / "link").symlink_to(outside)
    (control / "orders").write_text(json.dumps({"pair": [], "at": []}))

    def proxied(server: str) -> str:
        if not os.path.exists(server):
            pytest.skip("OpenSSH's sftp-server is not a program of its own here")
        refused = f"-P {request.param}" if request.param else ""
        return f"{sys.executable} {sftp_proxy.__file__} {control} {server} {refused}"

    with running(tmp_path_factory.mktemp("sshd"), proxied) as sshd:
        mapped = _mapped(sshd, base)
        (base / "tried").write_bytes(INSIDE)
        tried = mapped.replace(mapped.read("/far/tried"), [Splice(0, 0, b"new ")], RecordingHooks())
        assert (tried.report.reason is not None) == bool(request.param), "the server renames, or cannot, as it should"
        yield Place(control, base, outside, mapped)  # is connected: the requests of a connection's start do not count


def _mapped(sshd: Sshd, base: Path) -> RemoteFileSystem:
    return RemoteFileSystem("/far", str(base), SftpBackend(sshd.url(str(base)), sshd.options))


class Reads:
    path = "/far/door/f"

    def run(self, fs: RemoteFileSystem) -> bytes:
        return fs.read(self.path).data


class Streams(Reads):
    def run(self, fs: RemoteFileSystem) -> bytes:
        with fs.open(self.path) as stream:
            return stream.read(1 << 20)


class Edits(Reads):
    def run(self, fs: RemoteFileSystem) -> bytes:
        return fs.replace(fs.read(self.path), [Splice(0, 0, b"new ")], RecordingHooks()).snapshot.data


class Creates(Reads):
    path = "/far/door/new"

    def run(self, fs: RemoteFileSystem) -> bytes:
        nothing = Snapshot(path=self.path, stamp=None, data=b"", taken_ns=0)
        return fs.replace(nothing, [Splice(0, 0, b"made")], RecordingHooks()).snapshot.data


class CreatesInFolders(Creates):
    path = "/far/door/a/new"


def at_servers(*works: Reads) -> pytest.MarkDecorator:
    """Work that writes is done at both servers; one that reads knows no difference."""
    rows = [
        pytest.param(request, work, id=f"{server}-{type(work).__name__}")
        for server, request in SERVERS.items()
        for work in works
        if server == "swap" or type(work) not in {Reads, Streams}
    ]
    return pytest.mark.parametrize(("place", "work"), rows, indirect=["place"], scope="module")


def _moments(requests: list[str]) -> list[int]:
    """Counters of requests, from 1. Of many looks in a row only the first and the last."""
    around = zip([None, *requests], requests, [*requests[1:], None], strict=False)
    return [n for n, kinds in enumerate(around, 1) if set(kinds) != {"lstat"}]


def _runs_to_the_end(work: Reads, place: Place) -> bool:
    try:
        assert SECRET not in work.run(place.fs)
    except (FileOpsError, PathMoved, Stale):
        return False
    return True


@at_servers(Reads(), Streams(), Edits(), Creates(), CreatesInFolders())
def test_remote_folder_replaced_by_a_link_between_requests_is_not_followed(place: Place, work: Reads) -> None:
    """For good, or for one request or a few; without FILEOPS_FAULTS=all, for good or for one by turns."""
    place.prepare()
    assert _runs_to_the_end(work, place)
    requests = place.requests()
    for n, first in enumerate(_moments(requests)):
        for length in (1, 2, 3, len(requests)) if IS_COMPLETE else ((1, len(requests))[n % 2],):
            place.prepare()
            place.exchange_at(first, first + length)
            is_done = _runs_to_the_end(work, place)
            at = f"exchanged before request {first} ({requests[first - 1]}) and after {length} again"
            assert place.litter() == [], at
            if is_done and isinstance(work, Creates):
                assert (place.folder / work.path.removeprefix("/far/door/")).read_bytes() == b"made", at


@at_servers(Reads(), Streams())
def test_another_file_of_the_same_size_and_time_is_recognized_by_its_mode(place: Place, work: Reads) -> None:
    place.prepare()
    assert _runs_to_the_end(work, place)
    opening = place.requests().index("open") + 1
    place.prepare()
    (place.outside / "f").write_bytes(SECRET[: len(INSIDE)])
    (place.outside / "f").chmod(0o600)
    for folder in (place.folder, place.outside):
        os.utime(folder / "f", (1, 1))
    place.exchange_at(opening, opening + 1)
    with pytest.raises(PathMoved):
        work.run(place.fs)


@at_servers(Reads(), Streams(), Edits())
def test_younger_file_inside_does_not_pass_for_the_older_one_outside(place: Place, work: Reads) -> None:
    """The link is there from one of the looks before an opening, or from the opening, to the looks after it."""
    place.prepare()
    assert _runs_to_the_end(work, place)
    requests = place.requests()
    openings = [n for n, kind in enumerate(requests, 1) if kind == "open"]
    for opening in openings:
        checks = requests.index("lstat", opening) + 1
        for first in [*range(1, openings[0]), opening]:
            place.prepare()
            os.utime(place.outside / "f", (1, 1))
            place.exchange_at(first, checks)
            _runs_to_the_end(work, place)
            assert place.litter() == [], f"exchanged before requests {first} and {checks}"


def test_remote_folder_repeatedly_exchanged_with_a_link_is_not_followed(sshd: Sshd, tmp_path: Path) -> None:
    base, outside = tmp_path / "base", tmp_path / "outside"
    door, link = base / "door", base / "link"
    for folder, content in ((door, INSIDE), (outside, SECRET)):
        folder.mkdir(parents=True)
        (folder / "f").write_bytes(content)
    link.symlink_to(outside)
    filesystem = {"prefix": "/far", "url": sshd.url(str(base)), "options": sshd.options}
    told: list[str] = []
    with raw_client() as client:
        client.initialize(initializationOptions={"filesystems": [filesystem], "roots": ["/far"], "confine": "all"})
        with swapping(f"exchange({str(door)!r}, {str(link)!r})"):
            for i in range(N_ROUNDS):
                for method, params in (
                    ("fileops/read", {"file_path": "/far/door/f"}),
                    ("fileops/edit", {"file_path": "/far/door/f", "old_string": "inside", "new_string": "INSIDE"}),
                    ("fileops/edit", {"file_path": "/far/door/f", "old_string": "INSIDE", "new_string": "inside"}),
                    ("fileops/edit", {"file_path": f"/far/door/new{i}", "old_string": "", "new_string": "made"}),
                    ("fileops/edit", {"file_path": f"/far/door/d{i}/new", "old_string": "", "new_string": "made"}),
                ):
                    told.append(json.dumps(client.call(method, params)))
        if door.is_symlink():
            sftp_proxy.exchange(str(door), str(link))
        assert client.result("fileops/read", {"file_path": "/far/door/f"})["status"] == "success"
    assert SECRET.decode().strip() not in "".join(told)
    assert (outside / "f").read_bytes() == SECRET
    assert [path for path in outside.rglob("*") if path.is_file() and path.stat().st_size] == [outside / "f"]
