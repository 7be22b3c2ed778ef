"""Sessions that read, edit, create and cancel, others who write, move and delete, the watcher's looks: in any order.

The whole service over a real disk, against a model of a few lines: what each session last saw of each file. From it
follows, for every request, its code and the bytes of the file afterwards.
"""

import asyncio
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from fileops.core import text
from fileops.core.plan import execute, valid
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.edits import Edit
from fileops.model.files import Text
from fileops.model.requests import EditRequest, ReadRequest
from fileops.model.results import EditResult
from fileops.model.sessions import SessionName
from fileops.model.settings import Settings
from fileops.record.history import History
from fileops.service.client.adapters import ClientAdapters
from fileops.service.fileops import FileOps
from fileops.service.workspace import Workspace
from fileops.tracking.freshness import Freshness
from fileops.watch import stat_scan
from support.events import EventRecorder
from support.in_memory import IN_MEMORY
from support.in_process import Person, SystemClock, asker_of, rules_in

NEVER_S = 3600.0
FILES = {"f": "f", "link": "f", "g": "g", "h": "h", "twin": "twin"}  # h and twin are one file under two names
names = st.sampled_from(sorted(FILES))
sessions = st.sampled_from(["a", "b"])
contents = st.sampled_from([b"", b"one\n", b"one\r\ntwo\n", b"aa a\n", b"\xff one two\none\r\n", b"\xef\xbb\xbfone"])
olds = st.sampled_from(["one", "a", "aa", "two", "\n", "one\n", "nothing"])
news = st.sampled_from(["two", "one", "a\nb", "", "\n", "\ud800"])


@dataclass(frozen=True)
class Sight:
    data: bytes
    mtime_ns: int
    ino: int


def made_of(data: bytes, edits: tuple[Edit, ...]) -> bytes | str:
    """The bytes that the edits make of a file, or the code of the first that fails."""
    content = Text(data=data, format=text.detect_format(data))
    for one in edits:
        if not one.old_string:
            return "already_exists"
        error = valid(content, one.old_string, one.new_string, one.replace_all)
        if error is not None:
            return error.code
        content = execute(content, one.old_string, one.new_string, one.replace_all)
    return content.data


class ServiceMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=IN_MEMORY)
        self.root = Path(self.folder.name).resolve() / "w"
        self.root.mkdir()
        fs = LocalFileSystem(state_folder=str(self.root.parent / "state"))
        events, clock = EventRecorder(), SystemClock()
        self.freshness = Freshness(
            fs, events, clock, changed_paths=stat_scan.find_changed_paths, debounce_s=NEVER_S, sweep_s=NEVER_S
        )
        workspace = Workspace(fs=fs, freshness=self.freshness, history=History(), clock=clock, rules=rules_in(fs))
        client = ClientAdapters(asker=asker_of(Person()), events=events, on_closed=workspace.close)
        self.service = FileOps(workspace, client, Settings(), [str(self.root)])
        self.runner = asyncio.Runner()
        self.seen: dict[tuple[str, str], Sight] = {}
        self.wanted: bytes | str = ""
        for name in ("f", "g", "h"):
            (self.root / name).write_bytes(b"one\n")
        (self.root / "link").symlink_to("f")
        (self.root / "twin").hardlink_to(self.root / "h")

    def teardown(self) -> None:
        self.service.close()
        self.runner.close()
        self.folder.cleanup()

    # --- the model -------------------------------------------------------------------------------------------

    def sight(self, name: str) -> Sight | None:
        path = self.root / name
        if not path.exists():
            return None
        status = path.stat()
        return Sight(path.read_bytes(), status.st_mtime_ns, status.st_ino)

    def expected(self, session: str, name: str, edits: tuple[Edit, ...]) -> bytes | str:
        """The expected bytes, or a code."""
        key, now = (session, FILES[name]), self.sight(name)
        if not edits[0].old_string:
            return "already_exists" if now is not None else edits[0].new_string.encode("utf-8", "surrogatepass")
        if now is None:
            return "not_found"
        if key not in self.seen:
            return "not_read"
        return made_of(now.data, edits) if self.seen[key] == now else "modified_externally"

    def judge(self, session: str, name: str, outcome: EditResult, before: Sight | None) -> None:
        key, now = (session, FILES[name]), self.sight(name)
        wanted = self.wanted
        if isinstance(wanted, str) or outcome.dry_run:
            assert now == before, "a refused edit, or a dry run, changed the file"
        if isinstance(wanted, str):
            assert outcome.error is not None, f"{wanted} expected"
            assert outcome.error.code == wanted, outcome.output
            if wanted == "not_found" and not outcome.dry_run:
                self.seen.pop(key, None)
            return
        assert outcome.error is None, outcome.output
        if outcome.dry_run:
            return
        assert now is not None
        assert now.data == wanted
        self.seen[key] = now

    # --- other hands -----------------------------------------------------------------------------------------

    @rule(name=names, data=contents)
    def rewrite(self, name: str, data: bytes) -> None:
        (self.root / name).write_bytes(data)

    @rule(name=names, data=contents)
    def swap(self, name: str, data: bytes) -> None:
        path = self.root / FILES[name]
        other = path.with_name("temporary")
        other.write_bytes(data)
        other.replace(path)

    @rule(name=names)
    def delete(self, name: str) -> None:
        (self.root / FILES[name]).unlink(missing_ok=True)

    @rule(name=names, mtime=st.sampled_from([1, 10**9]))
    def touch(self, name: str, mtime: int) -> None:
        if (self.root / name).exists():
            os.utime(self.root / name, (mtime, mtime))

    @rule(name=names, mode=st.sampled_from([0o600, 0o644]))
    def chmod(self, name: str, mode: int) -> None:
        if (self.root / name).exists():
            (self.root / name).chmod(mode)

    @rule()
    def look(self) -> None:
        self.freshness.sweep()

    @rule(name=names)
    def hint(self, name: str) -> None:
        self.freshness.check(str(self.root / FILES[name]))

    # --- sessions --------------------------------------------------------------------------------------------

    @rule(session=sessions, name=names)
    def read(self, session: str, name: str) -> None:
        request = ReadRequest(file_path=str(self.root / name), session_id=SessionName(session))
        outcome = self.runner.run(self.service.read(request))
        now = self.sight(name)
        assert (outcome.error is None) is (now is not None)
        self.seen.pop((session, FILES[name]), None)
        if now is not None:
            self.seen[session, FILES[name]] = now

    @rule(session=sessions)
    def close_session(self, session: str) -> None:
        self.service.close_session(SessionName(session))
        self.seen = {key: seen for key, seen in self.seen.items() if key[0] != session}

    @rule(session=sessions, name=names, old=olds, new=news, replace_all=st.booleans(), dry_run=st.booleans())
    def edit(self, session: str, name: str, old: str, new: str, replace_all: bool, dry_run: bool) -> None:
        self.ask(session, name, (Edit(old_string=old, new_string=new, replace_all=replace_all),), dry_run=dry_run)

    @rule(session=sessions, name=names, text=st.sampled_from(["", "one\n", "two"]), dry_run=st.booleans())
    def create(self, session: str, name: str, text: str, dry_run: bool) -> None:
        if name != "link":  # where it leads to nothing, the file it leads to is made
            self.ask(session, name, (Edit(old_string="", new_string=text),), dry_run=dry_run)

    @rule(session=sessions, name=names, pairs=st.lists(st.tuples(olds, news), min_size=1, max_size=3))
    def multi_edit(self, session: str, name: str, pairs: list[tuple[str, str]]) -> None:
        edits = tuple(Edit(old_string=old, new_string=new, replace_all=True) for old, new in pairs)
        self.ask(session, name, edits, is_multi=True)

    @rule(session=sessions, name=names, old=olds, new=news, n_turns=st.integers(0, 4))
    def cancel(self, session: str, name: str, old: str, new: str, n_turns: int) -> None:
        edits = (Edit(old_string=old, new_string=new, replace_all=True),)
        before = self.sight(name)
        self.wanted = self.expected(session, name, edits)
        request = EditRequest(file_path=str(self.root / name), edits=edits, session_id=SessionName(session))

        async def ask() -> EditResult | None:
            asking = asyncio.ensure_future(self.service.edit(request))
            for _ in range(n_turns):
                await asyncio.sleep(0)
            asking.cancel()
            with suppress(asyncio.CancelledError):
                return await asking
            return None

        outcome = self.runner.run(ask())
        if outcome is not None:
            self.judge(session, name, outcome, before)
        else:
            # Its thread may still be running; the next request for the file comes after it.
            self.runner.run(
                self.service.read(ReadRequest(file_path=str(self.root / name), session_id=SessionName("c")))
            )
            assert self.sight(name) == before
            if self.wanted == "not_found":  # it may have forgotten the file: ask again
                self.ask(session, name, edits)

    def ask(
        self, session: str, name: str, edits: tuple[Edit, ...], *, dry_run: bool = False, is_multi: bool = False
    ) -> None:
        before = self.sight(name)
        self.wanted = self.expected(session, name, edits)
        request = EditRequest(
            file_path=str(self.root / name),
            edits=edits,
            session_id=SessionName(session),
            dry_run=dry_run,
            tool="multi_edit" if is_multi else "edit",
        )
        self.judge(session, name, self.runner.run(self.service.edit(request)), before)

    @invariant()
    def nothing_else_stands_there(self) -> None:
        assert set(os.listdir(self.root)) <= set(FILES)
        assert (self.root / "link").is_symlink()


def test_every_outcome_matches_the_model() -> None:
    run_state_machine_as_test(
        ServiceMachine,
        settings=settings(
            max_examples=15,
            stateful_step_count=30,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
