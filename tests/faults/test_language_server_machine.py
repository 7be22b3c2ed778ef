"""A language server that is started, changed under, edited, hung, flooded and ended in any order.

The server itself judges: it ends, and says so, at any message that LSP does not allow in its state.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Generator
from concurrent.futures import Future
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from fileops.core.diagnostics.places import places_of
from fileops.core.diagnostics.report import Edits
from fileops.languages import comparison, pool
from fileops.languages.service import LanguageServers
from fileops.model.diagnostics import CommittedFile, DiagnosticsReport, Formatted, LanguageServerSetting
from fileops.model.edits import Splice
from fileops.model.sessions import SessionName
from support import scripted_language_server
from support.patience import PATIENCE_S, wait_until

NAMES = st.sampled_from(["a.txt", "b.txt", "c.txt"])
TEXTS = st.sampled_from(["ok", "BAD", "BAD BAD", "CRASH", "GARBAGE", "FLOOD", "HANG"])


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    monkeypatch.setattr(comparison, "GIVE_UP_S", 1.0)
    monkeypatch.setattr(pool, "RESTARTS_AFTER_S", (0.0,) * 100)
    yield


class Servers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp()).resolve()
        self.root = self.folder / "project"
        self.root.mkdir()
        self.gate, self.breaches, self.pids = (self.folder / name for name in ("gate", "breaches", "pids"))
        self.gate.touch()
        self.texts = {"a.txt": "ok", "b.txt": "ok", "c.txt": "ok"}
        self.n_edits = 0
        self.reports: list[tuple[str, str, Future[DiagnosticsReport]]] = []
        self.formatted: list[Future[Formatted]] = []
        self.servers = LanguageServers(lambda _session, _report: None)

    def setting(self, *, is_pulled: bool) -> LanguageServerSetting:
        behaviour = {"breaches": str(self.breaches), "pids": str(self.pids), "gate": str(self.gate), "formats": True}
        program = str(scripted_language_server.__file__)
        command = (sys.executable, "-I", "-S", program, json.dumps({**behaviour, "pull": is_pulled}))
        return LanguageServerSetting(name="scripted", command=command, globs=("*.txt",), settle_s=0.05)

    @rule(name=NAMES, is_pulled=st.booleans())
    def start(self, name: str, is_pulled: bool) -> None:
        text = self.texts[name].encode()
        self.servers.prepare(
            f"{self.root}/{name}", (str(self.root),), (self.setting(is_pulled=is_pulled),), lambda: text
        )

    @rule(name=NAMES, n_files=st.sampled_from([1, 3, pool.MAX_FILES_AT_ONCE + 1]))
    def change(self, name: str, n_files: int) -> None:
        (self.root / name).write_text("changed")
        paths = [name, *(f"{n}.txt" for n in range(n_files - 1))]
        self.servers.note_changed([(f"{self.root}/{path}", "modify") for path in paths])

    @rule(name=NAMES, after=TEXTS, is_pulled=st.booleans())
    def edit(self, name: str, after: str, is_pulled: bool) -> None:
        before, path = self.texts[name], f"{self.root}/{name}"
        Path(path).write_text(after)
        self.texts[name] = after
        self.n_edits += 1
        change = CommittedFile(
            path=path, given_path=path, before=before.encode(), after=after.encode(),
            splices=(Splice(0, len(before), after.encode()),),
        )  # fmt: skip
        edits = Edits(changes=(change,), edit_ids=(str(self.n_edits),), session_id=SessionName("s"), severity="warning")
        setting = self.setting(is_pulled=is_pulled)
        report = self.servers.compare(edits, (str(self.root),), (setting,), lambda _: True)
        assert report is not None
        self.reports.append((before, after, report))

    @rule(name=NAMES, is_pulled=st.booleans(), timeout_s=st.sampled_from([0.05, 2.0]))
    def format(self, name: str, is_pulled: bool, timeout_s: float) -> None:
        path = f"{self.root}/{name}"
        places = places_of(path, (str(self.root),), (self.setting(is_pulled=is_pulled),))
        self.formatted.append(self.servers.format(places, path, "a  b\n", [(0, 1)], timeout_s))

    @rule()
    def hold_starts(self) -> None:
        self.gate.unlink(missing_ok=True)

    @rule()
    def let_them_start(self) -> None:
        self.gate.touch()

    @rule()
    def settle(self) -> None:
        self.gate.touch()
        for before, after, report in self.reports:
            found = report.result(PATIENCE_S)
            assert found.state in {"settled", "pending", "unavailable"}
            if found.state == "settled" and "BAD" not in before and len(found.edit_ids) == 1:
                assert found.n_introduced == after.count("BAD")
        for formatted in self.formatted:
            made = formatted.result(PATIENCE_S)
            assert made.made is not None or made.not_formatted
        self.reports.clear()
        self.formatted.clear()

    @rule()
    def end(self) -> None:
        self.servers.close()
        self.require_nothing_left()
        self.reports.clear()
        self.formatted.clear()
        self.servers = LanguageServers(lambda _session, _report: None)

    def require_nothing_left(self) -> None:
        pids = self.pids.read_text().split() if self.pids.exists() else []
        wait_until(lambda: not any(is_running(pid) for pid in pids))
        assert not self.breaches.exists(), self.breaches.read_text()

    def teardown(self) -> None:
        self.settle()
        self.servers.close()
        self.require_nothing_left()
        shutil.rmtree(self.folder)


def is_running(pid: str) -> bool:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_server_gets_only_what_its_state_allows_and_never_outlives_the_daemon() -> None:
    run_state_machine_as_test(
        Servers,
        settings=settings(
            max_examples=12,
            stateful_step_count=12,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )
