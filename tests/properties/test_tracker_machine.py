"""Sessions, foreign hands and looks in any order, against a model that remembers what each session saw."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.errors import FileMissing, ModifiedExternally, NotRead
from fileops.model.sessions import SessionName
from fileops.tracking.freshness import Freshness
from fileops.watch import stat_scan
from support.events import EventRecorder
from support.session import AgentSession, WallClock

NEVER_S = 3600.0
names = st.sampled_from(["f", "g"])
sessions = st.sampled_from(["a", "b"])
contents = st.sampled_from([b"", b"one", b"two", b"longer than both"])


@dataclass
class Sight:
    """What a session saw: enough to compute whether it is still current."""

    data: bytes
    mtime_ns: int
    ino: int
    is_told: bool = False


class TrackerMachine(RuleBasedStateMachine):
    """Whole reads only; the table of test_tracker.py has the partial ones."""

    mode: Literal["mtime", "content"] = "mtime"

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name).resolve()
        self.fs = LocalFileSystem(state_folder=str(root / "state"))
        self.notices = EventRecorder()
        self.freshness = Freshness(
            self.fs,
            self.notices,
            WallClock(),
            mode=self.mode,
            changed_paths=stat_scan.find_changed_paths,
            debounce_s=NEVER_S,
            sweep_s=NEVER_S,
        )
        self.agents = {name: AgentSession(self.freshness, self.fs, name) for name in "ab"}
        self.paths = {name: root / name for name in "fg"}
        self.model: dict[tuple[str, str], Sight] = {}
        for path in self.paths.values():
            path.write_bytes(b"one")

    def teardown(self) -> None:
        self.freshness.close()
        self.folder.cleanup()

    # --- the model -------------------------------------------------------------------------------------------

    def sight(self, name: str) -> Sight:
        status = self.paths[name].stat()
        return Sight(self.paths[name].read_bytes(), status.st_mtime_ns, status.st_ino)

    def stands(self, session: str, name: str) -> bool:
        seen, path = self.model[session, name], self.paths[name]
        if not path.exists():
            return False
        now = self.sight(name)
        same_time = (seen.mtime_ns, seen.ino) == (now.mtime_ns, now.ino)
        return seen.data == now.data and (same_time or self.mode == "content")

    def expect_told(self, *, only: str | None = None) -> None:
        """Since the last check every stale session was notified once, and no other session."""
        expected: list[tuple[str, str]] = []
        for (session, name), seen in self.model.items():
            if not self.stands(session, name) and not seen.is_told and only in {None, session}:
                seen.is_told = True
                expected.append((session, str(self.paths[name])))
        told = [(session, path) for session, path, _, _ in self.notices.stale()]
        self.notices.events.clear()
        assert sorted(told) == sorted(expected)

    # --- foreign hands ---------------------------------------------------------------------------------------

    @rule(name=names, data=contents)
    def rewrite(self, name: str, data: bytes) -> None:
        self.paths[name].write_bytes(data)

    @rule(name=names, data=contents)
    def swap(self, name: str, data: bytes) -> None:
        other = self.paths[name].with_name("temporary")
        other.write_bytes(data)
        other.replace(self.paths[name])

    @rule(name=names, data=contents)
    def rewrite_and_restore_the_time(self, name: str, data: bytes) -> None:
        path = self.paths[name]
        if path.exists():
            status = path.stat()
            path.write_bytes(data)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    @rule(name=names, mtime=st.sampled_from([1, 10**9, 2**31]))
    def touch(self, name: str, mtime: int) -> None:
        if self.paths[name].exists():
            os.utime(self.paths[name], (mtime, mtime))

    @rule(name=names, mode=st.sampled_from([0o600, 0o644]))
    def chmod(self, name: str, mode: int) -> None:
        if self.paths[name].exists():
            self.paths[name].chmod(mode)

    @rule(name=names)
    def delete(self, name: str) -> None:
        self.paths[name].unlink(missing_ok=True)

    # --- sessions --------------------------------------------------------------------------------------------

    @rule(session=sessions, name=names)
    def read(self, session: str, name: str) -> None:
        path = str(self.paths[name])
        if self.paths[name].exists():
            self.agents[session].read(path)
            self.model[session, name] = self.sight(name)
        else:
            self.look(name)
            with pytest.raises(FileMissing):
                self.agents[session].read(path)
            self.model.pop((session, name), None)

    @rule(session=sessions, name=names, data=contents)
    def write(self, session: str, name: str, data: bytes) -> None:
        path = str(self.paths[name])
        self.look(name)
        if self.paths[name].exists():
            if (session, name) not in self.model:
                with pytest.raises(NotRead):
                    self.agents[session].write(path, data)
                return
            if not self.stands(session, name):
                with pytest.raises(ModifiedExternally):
                    self.agents[session].write(path, data)
                self.notices.events.clear()  # the conflict; the check has reported that the file is stale
                return
        self.agents[session].write(path, data)
        self.model[session, name] = self.sight(name)
        self.expect_told()

    @rule(session=sessions, name=names)
    def edit_unlooked(self, session: str, name: str) -> None:
        """The question before an edit needs no earlier check, and informs the asking session itself."""
        if (session, name) not in self.model or not self.paths[name].exists():
            return
        self.expect_told(only="nobody")
        try:
            self.agents[session].require_fresh(str(self.paths[name]))
        except ModifiedExternally:
            assert not self.stands(session, name)
        else:
            assert self.stands(session, name)
            self.model[session, name].is_told = False
        seen = self.model[session, name]
        if not self.stands(session, name) and not seen.is_told:
            seen.is_told = True
            assert len(self.notices.stale()) == 1
        else:
            assert self.notices.stale() == []
        self.notices.events.clear()

    @rule(session=sessions)
    def close_session(self, session: str) -> None:
        self.freshness.close_session(SessionName(session))
        self.model = {key: seen for key, seen in self.model.items() if key[0] != session}

    # --- looks -----------------------------------------------------------------------------------------------

    @rule(name=names)
    def look(self, name: str) -> None:
        self.freshness.sweep()
        self.freshness.check(str(self.paths[name]))
        self.expect_told()

    @invariant()
    def knows_what_the_model_knows(self) -> None:
        for session, agent in self.agents.items():
            known = {name for key, name in self.model if key == session}
            assert {
                name for name in self.paths if agent.freshness.is_tracked(SessionName(session), str(self.paths[name]))
            } == known


@pytest.mark.parametrize("mode", ["mtime", "content"])
def test_notifications_of_sessions_match_the_model(mode: Literal["mtime", "content"]) -> None:
    machine = type("Machine", (TrackerMachine,), {"mode": mode})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
