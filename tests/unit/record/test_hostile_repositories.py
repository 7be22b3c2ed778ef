"""A repository that is only recorded runs nothing, hangs no thread and takes little memory.

Each row is a repository in which one thing is hostile. All are recorded, changed and asked for contents, with the git
that is installed; where git could fetch, also with an older one, which does not know `GIT_NO_LAZY_FETCH`.
"""

import contextlib
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from fileops.platform.programs import find_program
from fileops.record import git, git_process
from fileops.record.folder import Edge, FolderRecording, ask_git
from fileops.record.ignore_rules import IgnoreRules

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
OLD_S = 1_700_000_000
MEMORY_BYTES = 300 << 20  # for a whole recording of a hostile repository, beside what was used before


class Hostile:
    """A repository with a committed file `a.txt`, and a program that leaves a mark where it runs."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "p"
        self.root.mkdir()
        self.mark = folder / "it-ran"
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\ntouch '{self.mark}'\nexit 1\n")
        self.program.chmod(0o755)
        self.git("init", "-q", "-b", "main")
        (self.root / "a.txt").write_text("one\n")
        os.utime(self.root / "a.txt", (OLD_S, OLD_S))
        self.git("add", "a.txt")
        self.git("commit", "-q", "-m", "one")

    def git(self, *arguments: str) -> str:
        return subprocess.run([*GIT, *arguments], cwd=self.root, check=True, capture_output=True, text=True).stdout

    def config(self, **values: str) -> None:
        for name, value in values.items():
            self.git("config", name.replace("__", "."), value)

    def attributes(self, line: str) -> None:
        (self.root / ".gitattributes").write_text(line + "\n")
        self.git("add", ".gitattributes")

    def without_objects(self) -> None:
        """As a partial clone whose objects are fetched when they are needed."""
        objects = self.root / ".git" / "objects"
        for folder in objects.iterdir():
            if len(folder.name) == 2:
                shutil.rmtree(folder)
        self.config(extensions__partialClone="origin", core__repositoryFormatVersion="1")
        self.config(remote__origin__promisor="true", remote__origin__url=f"ext::{self.program}")
        self.config(protocol__ext__allow="always", protocol__allow="always")


def monitor(it: Hostile) -> None:
    it.config(core__fsmonitor=str(it.program))


def hooks(it: Hostile) -> None:
    for name in ("post-index-change", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction", "post-checkout"):
        shutil.copy(it.program, it.root / ".git" / "hooks" / name)


def moved_hooks(it: Hostile) -> None:
    (it.root / "hooks").mkdir()
    shutil.copy(it.program, it.root / "hooks" / "post-index-change")
    it.config(core__hooksPath="hooks")


def filters(it: Hostile) -> None:
    it.attributes("*.txt filter=evil diff=evil merge=evil")
    it.config(filter__evil__clean=str(it.program), filter__evil__smudge=str(it.program), filter__evil__required="true")
    it.config(filter__evil__process=str(it.program), diff__evil__textconv=str(it.program))
    it.config(diff__evil__command=str(it.program), diff__external=str(it.program))


def helpers(it: Hostile) -> None:
    program = str(it.program)
    it.config(core__pager=program, core__editor=program, core__askPass=program, core__sshCommand=program)
    it.config(credential__helper=f"!{program}", core__gitProxy=program, core__alternateRefsCommand=program)
    it.config(gpg__program=program, uploadpack__packObjectsHook=program, **{"pager.ls-files": program})


def aliases(it: Hostile) -> None:
    names = ("rev-parse", "ls-files", "ls-tree", "cat-file", "config", "check-attr", "diff-index")
    it.config(**{f"alias.{name}": f"!{it.program}" for name in names})


def fetched_blobs(it: Hostile) -> None:
    it.without_objects()


def fetched_by_ssh(it: Hostile) -> None:
    it.without_objects()
    it.config(remote__origin__url="host:repository", core__sshCommand=str(it.program))


def fetched_from_a_folder(it: Hostile) -> None:
    it.without_objects()
    it.config(remote__origin__url=str(it.root), remote__origin__uploadpack=str(it.program))


def fetched_by_a_helper(it: Hostile) -> None:
    it.without_objects()
    shutil.copy(it.program, it.root / "git-remote-evil")
    it.config(remote__origin__vcs="evil")


def sparse_index(it: Hostile) -> None:
    (it.root / "d").mkdir()
    (it.root / "d" / "b.txt").write_text("two\n")
    it.git("add", "d")
    it.git("commit", "-q", "-m", "two")
    it.git("sparse-checkout", "init", "--cone", "--sparse-index")
    it.without_objects()


def git_in_the_folder(it: Hostile) -> None:
    (it.root / "bin").mkdir()
    for name in ("git", "sh", "git-ls-files"):
        shutil.copy(it.program, it.root / "bin" / name)
        shutil.copy(it.program, it.root / name)


def link_to_git_in_the_folder(it: Hostile) -> None:
    git_in_the_folder(it)
    (it.root / "bin" / "git").unlink()
    (it.root / "bin" / "git").symlink_to("../git")


def included_fifo(it: Hostile) -> None:
    os.mkfifo(it.root / "fifo")
    it.config(include__path="../fifo")


def included_zeros(it: Hostile) -> None:
    it.config(include__path="/dev/zero")


def zeros_as_attributes(it: Hostile) -> None:
    (it.root / ".gitattributes").symlink_to("/dev/zero")
    it.git("add", ".gitattributes")


def zeros_as_attributes_of_the_user(it: Hostile) -> None:
    it.config(core__attributesFile="/dev/zero", core__excludesFile="/dev/zero")


def fifos(it: Hostile) -> None:
    for name in (".gitignore", ".git/info/exclude", ".git/info/attributes", "d/.gitignore"):
        (it.root / name).parent.mkdir(exist_ok=True)
        (it.root / name).unlink(missing_ok=True)
        os.mkfifo(it.root / name)


def fifo_as_deeper_rules(it: Hostile) -> None:
    (it.root / "d").mkdir()
    (it.root / "d" / "new.txt").write_text("new\n")
    os.mkfifo(it.root / "d" / ".gitignore")


def fifo_as_index(it: Hostile) -> None:
    (it.root / ".git" / "index").unlink()
    os.mkfifo(it.root / ".git" / "index")


def zeros_as_index(it: Hostile) -> None:
    (it.root / ".git" / "index").unlink()
    (it.root / ".git" / "index").symlink_to("/dev/zero")


def fifo_as_head(it: Hostile) -> None:
    (it.root / ".git" / "HEAD").unlink()
    os.mkfifo(it.root / ".git" / "HEAD")


def zeros_as_rules(it: Hostile) -> None:
    (it.root / ".gitignore").symlink_to("/dev/zero")


def long_rules(it: Hostile) -> None:
    (it.root / ".gitignore").write_text("".join(f"**/a{n}*b*c/**/d\n" for n in range(200_000)))


def large_blobs(it: Hostile) -> None:
    for n in range(12):
        (it.root / f"{n}.txt").write_bytes(b"%d\n" % n + b"x" * (25 << 20))
    it.git("add", "-A")
    it.git("-c", "core.compression=1", "commit", "-q", "-m", "large")


def blob_larger_than_its_entry(it: Hostile) -> None:
    """The index says four bytes, and names a blob of 100 MB."""
    (it.root / "large").write_bytes(b"x" * (100 << 20))
    large = it.git("-c", "core.compression=1", "hash-object", "-w", "large").strip()
    index = it.root / ".git" / "index"
    data = index.read_bytes().replace(bytes.fromhex(it.git("rev-parse", "HEAD:a.txt").strip()), bytes.fromhex(large))
    index.write_bytes(data)
    (it.root / "large").unlink()


HOSTILE: list[Callable[[Hostile], None]] = [
    monitor, hooks, moved_hooks, filters, helpers, aliases, fetched_blobs, fetched_by_ssh, fetched_from_a_folder,
    fetched_by_a_helper, sparse_index, git_in_the_folder, link_to_git_in_the_folder, included_fifo, included_zeros,
    zeros_as_attributes, zeros_as_attributes_of_the_user, fifos, fifo_as_deeper_rules, fifo_as_index, zeros_as_index,
    fifo_as_head, zeros_as_rules, long_rules, large_blobs, blob_larger_than_its_entry,
]  # fmt: skip


FETCHING = [fetched_blobs, fetched_by_ssh, fetched_from_a_folder, fetched_by_a_helper, sparse_index]


@pytest.fixture
def path_of_git(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The PATH, on which the current folder and the project's programs come first."""
    before = os.environ["PATH"]
    if request.param == "an older git":
        older = tmp_path / "older"
        older.mkdir()
        (older / "git").write_text(f"#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec '{shutil.which('git')}' \"$@\"\n")
        (older / "git").chmod(0o755)
        before = f"{older}:{before}"
    monkeypatch.setenv("PATH", f":.:{tmp_path}/p/bin:{before}")


@pytest.fixture
def quick_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for a FIFO waits as long as it may, which is a minute otherwise."""
    monkeypatch.setattr(git_process, "DEADLINE_S", 3.0)
    monkeypatch.setattr(git, "_SETTINGS_S", 3.0)


@pytest.mark.usefixtures("path_of_git", "quick_deadline")
@pytest.mark.parametrize(
    ("path_of_git", "make"),
    [("this git", make) for make in HOSTILE] + [("an older git", make) for make in FETCHING],
    ids=lambda given: given if isinstance(given, str) else given.__name__,
    indirect=["path_of_git"],
)
def test_hostile_repository_is_recorded_without_running_anything(
    make: Callable[[Hostile], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as own:
        own.setenv("PATH", os.defpath)
        it = Hostile(tmp_path)
        make(it)
    monkeypatch.chdir(it.root)
    with little_memory():
        record_and_change(it)
    assert not it.mark.exists()


QUESTIONS: list[Callable[[git.Repository, list[str]], object]] = [
    git.read_committed_blobs,
    git.parent_blobs,
    git.read_committed_bits,
    lambda repository, _paths: git.read_staged_blobs(repository),
]


def test_repository_that_turns_hostile_is_not_asked_what_is_committed(tmp_path: Path) -> None:
    it = Hostile(tmp_path)
    repository, path = git.find_repository(str(it.root)), f"{it.root}/a.txt"
    assert repository is not None
    assert git.read_committed_blobs(repository, [path])[path].index is not None
    assert git.read_committed_bits(repository, [path]) == {path: False}
    os.mkfifo(it.root / ".gitignore")  # which git reads for none of these questions, so it would answer
    for ask in QUESTIONS:
        with pytest.raises(git_process.GitFailed, match="not a file"):
            ask(repository, [path])


def record_and_change(it: Hostile) -> None:
    """All that the recorder asks git, and reads of the rules, for a folder that changes."""
    root = str(it.root)
    folder = FolderRecording(root, ask_git(root), None)
    for _ in folder.start({}, lambda _path: None, is_resumed=False):
        pass
    while folder.copy_next() is not None:
        pass
    (it.root / "a.txt").write_text("changed\n")
    if folder.repository is not None:
        sizes = {known.oid: known.size_bytes for known in folder.files.values() if known.oid is not None}
        assert sum(map(len, git.read_blobs(folder.repository, sizes).values())) <= sum(sizes.values())
        with contextlib.suppress(git_process.GitFailed, OSError):
            folder.update_index(git.read_index(folder.repository), lambda _path: False)
        with contextlib.suppress(git_process.GitFailed):
            git.read_committed_blobs(folder.repository, list(folder.files))
    for name in ("new.txt", "d/new.txt"):
        IgnoreRules(root, folder.repository).is_ignored(f"{root}/{name}")
    for _ in folder.scan(Edge(0, 0.0)):
        pass


@contextlib.contextmanager
def little_memory() -> Generator[None]:
    """Fail an allocation beyond the bound, and so what makes it; where /proc says how much is in use."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[5]) * resource.getpagesize()
    except FileNotFoundError:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def test_program_is_found_in_absolute_folders_outside_of_the_project_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project / "bin", other):
        folder.mkdir(parents=True)
        (folder / "tool").write_text("#!/bin/sh\n")
        (folder / "tool").chmod(0o755)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "tool").symlink_to(project / "bin" / "tool")
    monkeypatch.chdir(project / "bin")
    monkeypatch.setenv("PATH", f":.:../bin:{project}/bin:{linked}:{tmp_path}/none:{other}")
    assert find_program("tool", outside=[str(project)]) == str(other / "tool")
    assert find_program("no-such-tool", outside=[str(project)]) is None


def test_answer_of_git_is_bounded(tmp_path: Path) -> None:
    it = Hostile(tmp_path)
    with git_process.answering(str(it.root), "log") as answer, pytest.raises(git_process.GitFailed):
        answer.read_all(max_bytes=10)
