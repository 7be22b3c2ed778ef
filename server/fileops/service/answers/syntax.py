"""Whether an edit left a file that no longer parses. It refuses nothing, and an edit never waits long for it.

Where the changed lines, or the part around them, show that it still parses, as after nearly every edit of Python, JSON
and TOML, that is all (python_syntax.py, json_syntax.py, toml_syntax.py). Their yes means that nothing has to be said;
their no proves nothing, so no error is invented there. They take a fraction of a millisecond.

Otherwise the new text is parsed in a child process while the edit is committed. Only if it has an error, the old text
is parsed as well: an error that was there before is not of this edit. No thread is used for it, because that would
compete with the commit for the interpreter's lock.

What takes longer than TIMEOUT_S after the commit, or is larger than MAX_BYTES, is left out. Thread-safe; called in
worker threads.
"""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from fileops.core import splices, text
from fileops.model.edits import Plan, Splice
from fileops.model.files import TextFormat
from fileops.model.internal_errors import PluginFailed
from fileops.model.suggestions import SyntaxFault, SyntaxReport

if TYPE_CHECKING:
    from types import TracebackType

    from fileops.service.plugins.process import PluginCall, PluginProcesses

TIMEOUT_S = 0.2
MAX_BYTES = 1 << 20
MEMORY_MB = 512
MAX_PROCESSES = 2
MAX_CHANGES = 1_000  # places of an edit; looking at more takes longer than the child's parse of the whole text

_PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
LANGUAGES = {
    "python": _PYTHON, "json": "JSON", "toml": "TOML", "javascript": "JavaScript", "typescript": "TypeScript",
    "tsx": "TSX", "go": "Go", "rust": "Rust", "c": "C", "cpp": "C++", "java": "Java", "ruby": "Ruby", "php": "PHP",
    "bash": "Bash", "lua": "Lua", "css": "CSS", "yaml": "YAML", "csharp": "C#", "kotlin": "Kotlin", "swift": "Swift",
}  # fmt: skip
_BY_SUFFIX = {
    "py": "python", "pyi": "python", "json": "json", "toml": "toml", "js": "javascript", "mjs": "javascript",
    "cjs": "javascript", "jsx": "javascript", "ts": "typescript", "tsx": "tsx", "go": "go", "rs": "rust", "c": "c",
    "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "java": "java", "rb": "ruby", "php": "php", "sh": "bash",
    "lua": "lua", "css": "css", "yaml": "yaml", "yml": "yaml", "cs": "csharp", "kt": "kotlin", "swift": "swift",
}  # fmt: skip


class SyntaxChecker:
    """Nothing is started, or even imported, before a file is edited that can be parsed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: PluginProcesses | None = None
        self._starter: threading.Thread | None = None
        self._is_closed = False
        self._without_parser: set[str] = set()

    def begin(self, plan: Plan) -> "Check":
        """Begin to parse what the plan makes of its file."""
        language = self._language_of(plan)
        if language is not None and self._processes is None and (processes := self._present_processes()) is not None:
            self._start(processes)  # for an edit that needs it; that one waits TIMEOUT_S at most
        return Check(self, language, plan)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            processes, starter = self._processes, self._starter
        if processes is not None:
            processes.close()
        if starter is not None:
            starter.join()

    def call(self, language: str, content: str) -> "PluginCall | None":
        """Begin to parse a text. None if no process is idle: then one is started, for later. Raises: PluginFailed."""
        request: dict[str, object] = {
            "name": "syntax",
            "value": "fileops.service.plugins.syntax_parsers:faults_of",
            "group": "fileops",
            "arguments": [language, content.removeprefix("\ufeff")],
        }
        processes = self._present_processes()
        call = None if processes is None else processes.begin(request)
        if processes is not None and call is None:
            self._start(processes)
        return call

    def wait_until_started(self, timeout_s: float) -> None:
        """Wait for a process that is being started."""
        with self._lock:
            starter = self._starter
        if starter is not None:
            starter.join(timeout_s)

    def faults(self, language: str, call: "PluginCall", timeout_s: float) -> list[SyntaxFault]:
        """The syntax errors that the call has found. Raises: PluginFailed."""
        answer = call.answer(timeout_s)
        if "text" not in answer:
            raise PluginFailed(reason=str(answer.get("failed")))
        faults = msgspec.json.decode(str(answer["text"]), type=list[tuple[int, int, str]] | None)
        if faults is None:
            self._without_parser.add(language)
            return []
        return [SyntaxFault(line=line, column=column, message=message) for line, column, message in faults]

    def _language_of(self, plan: Plan) -> str | None:
        """None if the file is not checked."""
        language = _BY_SUFFIX.get(plan.snapshot.path.rpartition(".")[2].lower())
        if language in self._without_parser or plan.creates:
            return None
        return None if len(plan.snapshot.data) + splices.growth(plan.splices) > MAX_BYTES else language

    def _present_processes(self) -> "PluginProcesses | None":
        from fileops.service.plugins.process import PluginProcesses

        with self._lock:
            if self._processes is None and not self._is_closed:
                self._processes = PluginProcesses(TIMEOUT_S, MEMORY_MB)
            return None if self._is_closed else self._processes

    def _start(self, processes: "PluginProcesses") -> None:
        """Start a process in a separate thread, unless one is being started or there are enough."""

        def start() -> None:
            with suppress(PluginFailed):
                processes.start()

        with self._lock:
            is_starting = self._starter is not None and self._starter.is_alive()
            if not is_starting and not self._is_closed and processes.n_processes < MAX_PROCESSES:
                self._starter = threading.Thread(target=start, name="fileops-syntax", daemon=True)
                self._starter.start()


class Check:
    """A check that has begun: a context manager, at whose end it is dropped unless `result` was called."""

    def __init__(self, checker: SyntaxChecker, language: str | None, plan: Plan) -> None:
        if language is not None and still_parses(language, plan.snapshot.data, plan.splices, plan.format):
            language = None
        self._checker, self._language, self._plan = checker, language, plan
        self._after = "" if language is None else self._new_text()
        self._call = self._begin(self._after)

    def __enter__(self) -> "Check":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: "TracebackType | None"
    ) -> None:
        if self._call is not None:
            self._call.drop()

    def result(self) -> SyntaxReport | None:
        """The report; None if the file still parses, did not parse before, or that is not known in time."""
        if self._language is None:
            return None
        deadline = time.monotonic() + TIMEOUT_S
        begun, self._call = self._call, None
        if begun is None:  # all processes were in use, or none had started
            self._checker.wait_until_started(TIMEOUT_S)
            begun = self._begin(self._after)
        faults = self._faults(begun, deadline)
        if not faults:
            return None
        before = text.decode(self._plan.snapshot.data, self._plan.format)
        if self._faults(self._begin(before), deadline) != []:
            return None
        return SyntaxReport(language=LANGUAGES[self._language], errors=tuple(faults))

    def _new_text(self) -> str:
        return text.decode(splices.apply(self._plan.snapshot.data, self._plan.splices), self._plan.format)

    def _begin(self, content: str) -> "PluginCall | None":
        """None if that is not possible now."""
        if self._language is None:
            return None
        try:
            return self._checker.call(self._language, content)
        except PluginFailed:
            return None

    def _faults(self, call: "PluginCall | None", deadline: float) -> list[SyntaxFault] | None:
        """None if they are not known in time."""
        if self._language is None or call is None:
            return None
        try:
            return self._checker.faults(self._language, call, max(0.0, deadline - time.monotonic()))
        except PluginFailed:
            return None


def still_parses(language: str, data: bytes, splices: Sequence[Splice], fmt: TextFormat) -> bool:
    """Whether splicing the file surely leaves it as parsable as it was.

    data: the old content. splices: at least one.
    """
    check = _quick_check(language)
    return check is not None and fmt.unit_bytes == 1 and len(splices) <= MAX_CHANGES and check(data, splices, fmt)


@cache
def _quick_check(language: str) -> Callable[[bytes, Sequence[Splice], TextFormat], bool] | None:
    """The `still_parses` of a language. Its module is imported at the first edit of such a file."""
    match language:
        case "python":
            from fileops.service.answers import python_syntax

            return python_syntax.still_parses
        case "json":
            from fileops.service.answers import json_syntax

            return json_syntax.still_parses
        case "toml":
            from fileops.service.answers import toml_syntax

            return toml_syntax.still_parses
        case _:
            return None
