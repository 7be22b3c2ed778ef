"""Settings that hold for every test, and what is started once for all of them."""

import fcntl
import gc
import itertools
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import engine
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

from support import sshd as ssh_server
from support.daemon_process import Place, place
from support.huge_pages import collapse
from support.in_memory import IN_MEMORY
from support.late_imports import defer_iris
from support.patience import FULL_S, MANY, shrink_patience
from support.warm_start import POOL, install

# Daemons start as they do for a user, from compiled modules: to compile them doubles the processor time of a start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
for name in ("PYTHONUNBUFFERED", "LANGUAGE"):  # shared daemons do not inherit them: the fork server could start none
    os.environ.pop(name, None)
sys.dont_write_bytecode = False  # also of tests, whose assertions pytest would rewrite in each run
for number in (signal.SIGINT, signal.SIGQUIT):  # which a shell lets its background jobs ignore, and what they start
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# Shared daemons keep a record of changes: that of a test is not the user's, nor that of another process of tests.
_STATE = tempfile.TemporaryDirectory(prefix="fileops-state-", dir=IN_MEMORY, ignore_cleanup_errors=True)
_states = itertools.count()
os.environ["XDG_STATE_HOME"] = _STATE.name

# Parts of the suite by the beginning of their tests' names, those that take longest first, with the mark of each.
PARTS = {
    "tests/clients/test_vscode.py": "editors",
    "tests/clients/neovim/": "editors",
    "tests/hosts/": "hosts",
    "tests/packaging/": "packaging",
    "tests/examples/": "tools",
    "tests/peers/": "peers",
    "tests/faults/": "crashes",
    "tests/unit/fs/local/test_killed.py": "crashes",
    "tests/unit/record/test_hostile_repositories.py": "crashes",
    "tests/properties/": "laws",
    "tests/unit/core/test_linear.py": "laws",
    "tests/unit/service/test_answers.py": "laws",
    "tests/unit/service/test_undo_cost.py": "laws",
    "tests/unit/core/merge/test_authorship.py": "laws",
    "tests/unit/core/review/test_decision_merge.py": "laws",
    "tests/unit/service/review/test_queue.py::test_review_ends_by_a_decision": "laws",
    "tests/unit/service/test_withdrawn_plans.py::test_plan_of_many_replacements": "laws",
    "tests/unit/tracking/test_schedule.py::test_turn_reads_no_more_items": "laws",
    "tests/unit/core/matching/test_strategies.py::test_edits_that_replace_very_many_places": "laws",
    "tests/unit/core/matching/test_strategies.py::test_several_edits_that_together_make": "laws",
    "tests/race/": "games",
    "tests/oracle/": "games",
    "tests/replay/": "games",
    "tests/e2e/": "processes",
    "tests/docs/": "processes",
    "tests/clients/": "processes",
}

YOUNG = 20_000  # objects that are made until they are searched for garbage; with 700 it takes half as long again
N_VAIN = pytest.StashKey[int]()  # tests of this process that failed by waiting

install()  # most processes of the program are forked from a warm one
defer_iris()

# No timed assertions. In CI the same examples each time: a red run is the commit's. Fresh ones are tried by hand.
settings.register_profile("fileops", deadline=None, derandomize=bool(os.environ.get("FILEOPS_FIXED_EXAMPLES")))
settings.load_profile("fileops")
# Hypothesis takes pytest's limit for another failure of the test and goes on, so it has to be done before. By default,
# it looks for a shorter example for five minutes, which is the limit.
engine.MAX_SHRINKING_SECONDS = 60


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups, and before marks are chosen
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the mark of its part, and begin with what takes longest (`--no-loadscope-reorder`)."""
    places = {id(item): place_in_parts(item.nodeid) for item in items}
    names = list(PARTS.values())
    for item in items:
        place = places[id(item)]
        item.add_marker(names[place] if place < len(names) else "quick")
    items.sort(key=lambda item: places[id(item)])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Search for no garbage among the tests: they stay. Nor does any later search look at their million objects.

    What they take is a quarter of a gigabyte, which a test that forks would copy the page table of.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
        gc.enable()
        collapse()


def place_in_parts(name: str) -> int:
    """The number of the part that a test is in; the number of all parts if it is quick."""
    return next((place for place, beginning in enumerate(PARTS) if name.startswith(beginning)), len(PARTS))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where only quick tests are asked for, do not even import the others."""
    if not is_for_quick_tests(config):
        return None
    name = collection_path.relative_to(config.rootpath).as_posix() + ("/" if collection_path.is_dir() else "")
    return True if place_in_parts(name) < len(PARTS) else None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """All workers import the same files in the same order: the first one compiles, and the others read what it wrote.

    Without the lock of each file they compile side by side, in a fresh clone all of the tests and the program.
    """
    if not isinstance(collector, pytest.Module):
        return (yield)
    with collector.path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return (yield)


class Scheduling(LoadGroupScheduling):
    """Gives a worker the quick tests of a file together, others one by one or by their group.

    The scheduler looks at all that it has given for every test that ends, so thousands of single ones are dear.
    """

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        is_quick_alone = scope == nodeid and place_in_parts(nodeid) == len(PARTS)
        return nodeid.partition("::")[0] if is_quick_alone else scope


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling | None:
    return Scheduling(config, log) if config.getoption("dist") == "loadgroup" else None


def is_for_quick_tests(config: pytest.Config) -> bool:
    return config.getoption("markexpr") == "quick"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """After many tests in this process that failed by waiting, the others wait less, and say so where they fail.

    Editors do not count: their tests take long, and have their own patience.
    """
    report = yield
    if report.failed and item.get_closest_marker("editors") is None:
        n_before = item.config.stash.get(N_VAIN, 0)
        if n_before >= MANY:
            report.sections.append(("patience", f"{n_before} tests waited in vain before, so this one waited less"))
        elif call.duration >= FULL_S:
            item.config.stash[N_VAIN] = n_before + 1
            if n_before + 1 == MANY:
                shrink_patience()
    return report


def pytest_unconfigure() -> None:
    """A worker of pytest-xdist ends without the functions of `atexit`."""
    POOL.end()
    _STATE.cleanup()


@pytest.fixture(autouse=True)
def state_of_this_test(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """The record of a shared daemon outlives it, with its history of edits: the next test's daemon begins without.

    A recorder that is slow to end may write into the folder of its test afterwards. Most tests write none.
    """
    folder = f"{_STATE.name}/{next(_states)}"
    monkeypatch.setenv("XDG_STATE_HOME", folder)
    yield
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def start_of_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of the start itself begins its processes as a user does."""
    if cast("pytest.Item", request.node).get_closest_marker("real_start") is not None:
        monkeypatch.setattr(POOL, "is_off", True)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """More than there are cores, since much of the time is waiting.

    On two quiet cores the quick tests take 85 s with two workers, 65 with three or four, and 60 with five. In a run of
    all parts four leave the cores idle for a sixth of the time.
    """
    return (os.cpu_count() or 1) + (3 if is_for_quick_tests(config) else 4)


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Generator[ssh_server.Sshd]:
    pytest.importorskip("asyncssh")
    with ssh_server.running(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
def here() -> Generator[Place]:
    """A place of the test's own for a shared daemon; daemons that are left at the end of the test are killed."""
    with place() as made:
        yield made
