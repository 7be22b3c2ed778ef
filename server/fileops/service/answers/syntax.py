"""Checks whether an edit broke a file's syntax. It refuses nothing, and no edit waits long for it.

A child process parses the new text while the edit is committed; a thread would compete with the commit for the
interpreter's lock. The old text is parsed only if the new one has an error, because an error that existed before is not
this edit's fault.

In a notebook whose kernel is Python, each changed cell is compared with what it was before. Files larger than
MAX_BYTES are not checked, and a result later than TIMEOUT_S after the commit is dropped. Thread-safe;
called in worker threads.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fileops.core import splices, text
from fileops.core.notebook.cells import parse
from fileops.core.notebook.python_cells import ChangedCode, find_changed_code, is_python
from fileops.model.edits import Plan
from fileops.model.internal_errors import PluginFailed
from fileops.model.suggestions import SyntaxFault, SyntaxReport

if TYPE_CHECKING:
    from types import TracebackType

    from fileops.service.plugins.process import PluginCall, PluginProcesses

TIMEOUT_S = 0.2
MAX_BYTES = 100_000  # Python of this size takes 60 ms
MEMORY_MB = 512
MAX_PROCESSES = 2

MAX_NOTEBOOK_BYTES = 4 << 20  # as in a search for suggestions; of changed cells, MAX_BYTES in all

_PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
LANGUAGES = {"python": _PYTHON, "python_cells": _PYTHON, "json": "JSON", "toml": "TOML"}
_BY_SUFFIX = {"py": "python", "pyi": "python", "ipynb": "python_cells", "json": "json", "toml": "toml"}


class SyntaxChecker:
    """Checks syntax. Nothing is started or imported until a file that can be parsed is read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: PluginProcesses | None = None
        self._starter: threading.Thread | None = None
        self._is_closed = False

    @property
    def is_begun(self) -> bool:
        """Whether a process has been started, or is starting."""
        return self._starter is not None

    def prepare(self, path: str) -> None:
        """Start a process in a separate thread if the file can be parsed, since its first edit waits only TIMEOUT_S."""
        if self._processes is not None or _language_of(path) is None:
            return

        def start() -> None:
            if (processes := self._present_processes()) is not None:
                with suppress(PluginFailed):
                    processes.start()

        with self._lock:
            if self._starter is None and not self._is_closed:
                self._starter = threading.Thread(target=start, name="fileops-syntax", daemon=True)
                self._starter.start()

    def begin(self, plan: Plan) -> "Check":
        """Begin to parse the text after the plan."""
        checked = _check_cells(plan) if plan.cells else _check_text(plan)
        if checked is not None:
            self.prepare(plan.snapshot.path)
        return Check(self, checked)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            processes, starter = self._processes, self._starter
        if processes is not None:
            processes.close()
        if starter is not None:
            starter.join()

    def call(self, language: str, content: str) -> "PluginCall | None":
        """Begin to parse a text. If no process is idle, start one for later and return None. Raises: PluginFailed."""
        request: dict[str, object] = {
            "value": "fileops.service.plugins.syntax_parsers:faults_of",
            "arguments": [language, content.removeprefix("\ufeff")],
        }
        processes = self._present_processes()
        call = None if processes is None else processes.begin(request)
        if processes is not None and call is None:
            self._start(processes)
        return call

    def wait_until_started(self, timeout_s: float) -> None:
        """Wait for a process that is starting."""
        with self._lock:
            starter = self._starter
        if starter is not None:
            starter.join(timeout_s)

    def faults(self, call: "PluginCall", timeout_s: float) -> list[SyntaxFault]:
        """Return the syntax errors that the call found. Raises: PluginFailed."""
        answer = call.answer(timeout_s)
        if "text" not in answer:
            raise PluginFailed(reason=str(answer.get("failed")))
        faults = msgspec.json.decode(str(answer["text"]), type=list[tuple[int, int, str]])
        return [SyntaxFault(line=line, column=column, message=message) for line, column, message in faults]

    def _present_processes(self) -> "PluginProcesses | None":
        from fileops.service.plugins.process import PluginProcesses

        with self._lock:
            if self._processes is None and not self._is_closed:
                self._processes = PluginProcesses(TIMEOUT_S, MEMORY_MB)
            return None if self._is_closed else self._processes

    def _start(self, processes: "PluginProcesses") -> None:
        """Start a process in a separate thread, unless one is already starting or there are enough."""

        def start() -> None:
            with suppress(PluginFailed):
                processes.start()

        with self._lock:
            is_starting = self._starter is not None and self._starter.is_alive()
            if not is_starting and not self._is_closed and processes.n_processes < MAX_PROCESSES:
                self._starter = threading.Thread(target=start, name="fileops-syntax", daemon=True)
                self._starter.start()


def _language_of(path: str) -> str | None:
    return _BY_SUFFIX.get(path.rpartition(".")[2].lower())


class _Checked(Struct, frozen=True, kw_only=True):
    """What is parsed. before: returns the old text; None if the parser itself compares. cells: of a notebook."""

    language: str
    after: str
    before: Callable[[], str] | None = None
    cells: Sequence[ChangedCode] = ()


def _check_text(plan: Plan) -> _Checked | None:
    """Return None if the file is not checked."""
    language, data = _language_of(plan.snapshot.path), plan.snapshot.data
    if language is None or language == "python_cells" or plan.creates:
        return None
    if len(data) + splices.growth(plan.splices) > MAX_BYTES:
        return None
    return _Checked(
        language=language,
        after=text.decode(splices.apply(data, plan.splices), plan.format),
        before=lambda: text.decode(data, plan.format),
    )


def _check_cells(plan: Plan) -> _Checked | None:
    if len(plan.snapshot.data) > MAX_NOTEBOOK_BYTES:
        return None
    notebook = parse(splices.apply(plan.snapshot.data, plan.splices))
    cells = find_changed_code(notebook, plan.cells) if is_python(notebook) else []
    if not cells or sum(len(cell.after) + len(cell.before) for cell in cells) > MAX_BYTES:
        return None
    sources = [(cell.first_line, cell.before, cell.after) for cell in cells]
    return _Checked(language="python_cells", after=json.dumps(sources), cells=cells)


class Check:
    """A check in progress: a context manager that drops the check at the end unless `result` was called."""

    def __init__(self, checker: SyntaxChecker, checked: _Checked | None) -> None:
        self._checker, self._checked = checker, checked
        self._call = None if checked is None else self._begin(checked.language, checked.after)

    def __enter__(self) -> "Check":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: "TracebackType | None"
    ) -> None:
        if self._call is not None:
            self._call.drop()

    def result(self) -> SyntaxReport | None:
        """Return the report; None if the file still parses, did not parse before, or the result is late."""
        checked = self._checked
        if checked is None:
            return None
        deadline = time.monotonic() + TIMEOUT_S
        begun, self._call = self._call, None
        if begun is None:  # all processes were in use, or none had started
            self._checker.wait_until_started(TIMEOUT_S)
            begun = self._begin(checked.language, checked.after)
        faults = self._faults(begun, deadline)
        if not faults:
            return None
        if checked.before is not None:
            before = self._begin(checked.language, checked.before())
            if self._faults(before, deadline) != []:
                return None
        errors = tuple(_in_cell(fault, checked.cells) for fault in faults)
        return SyntaxReport(language=LANGUAGES[checked.language], errors=errors)

    def _begin(self, language: str, content: str) -> "PluginCall | None":
        """Return None if a check cannot start now."""
        try:
            return self._checker.call(language, content)
        except PluginFailed:
            return None

    def _faults(self, call: "PluginCall | None", deadline: float) -> list[SyntaxFault] | None:
        """Return None if the errors are not known in time."""
        if call is None:
            return None
        try:
            return self._checker.faults(call, max(0.0, deadline - time.monotonic()))
        except PluginFailed:
            return None


def _in_cell(fault: SyntaxFault, cells: Sequence[ChangedCode]) -> SyntaxFault:
    """Return the fault with the cell that it is in."""
    for cell in cells:
        if cell.first_line <= fault.line <= cell.first_line + cell.after.count("\n"):
            return replace(fault, cell_id=cell.cell_id)
    return fault
