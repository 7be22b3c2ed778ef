"""Whether an edit left a file that no longer parses. It refuses nothing, and an edit never waits long for it.

The new text is parsed in a child process while the edit is committed, so that a successful edit does not wait for
both. Only if it has an error, the old text is parsed as well: an error that was there before is not of this edit.
What takes longer than TIMEOUT_S, or is larger than MAX_BYTES, is left out. Thread-safe; `begin` and `Check.result` are
called in worker threads.
"""

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from fileops.core import splices, text
from fileops.model.edits import Plan
from fileops.model.internal_errors import PluginFailed
from fileops.model.suggestions import SyntaxFault, SyntaxReport

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from fileops.service.plugins.process import PluginProcesses

TIMEOUT_S = 0.2
MAX_BYTES = 1 << 20
MEMORY_MB = 512
N_THREADS = 2  # each with its process

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


class Check:
    """A check that has begun."""

    def __init__(self, report: "Future[SyntaxReport | None] | None") -> None:
        self._report = report

    def result(self) -> SyntaxReport | None:
        """The report; None if the file still parses, did not parse before, or that is not known in time."""
        if self._report is None:
            return None
        try:
            return self._report.result(TIMEOUT_S)
        except (TimeoutError, PluginFailed):
            self._report.cancel()
            return None


class SyntaxChecker:
    """Nothing is started, or even imported, before a file is edited that can be parsed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: PluginProcesses | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._is_closed = False
        self._without_parser: set[str] = set()

    def begin(self, plan: Plan) -> Check:
        """Begin to parse what the plan makes of its file."""
        language = _BY_SUFFIX.get(plan.snapshot.path.rpartition(".")[2].lower())
        if language is None or language in self._without_parser or plan.creates:
            return Check(None)
        if len(plan.snapshot.data) + splices.growth(plan.splices) > MAX_BYTES:
            return Check(None)
        with self._lock:
            if self._is_closed:
                return Check(None)
            if self._threads is None:
                from concurrent.futures import ThreadPoolExecutor

                self._threads = ThreadPoolExecutor(N_THREADS, thread_name_prefix="fileops-syntax")
            return Check(self._threads.submit(self._report, language, plan))

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            processes, threads = self._processes, self._threads
        if processes is not None:
            processes.close()
        if threads is not None:
            threads.shutdown(cancel_futures=True)

    def _report(self, language: str, plan: Plan) -> SyntaxReport | None:
        """Raises: PluginFailed."""
        after = splices.apply(plan.snapshot.data, plan.splices)
        faults = self._faults(language, lambda: text.decode(after, plan.format))
        if not faults or self._faults(language, lambda: text.decode(plan.snapshot.data, plan.format)):
            return None
        return SyntaxReport(language=LANGUAGES[language], errors=tuple(faults))

    def _faults(self, language: str, read: Callable[[], str]) -> list[SyntaxFault]:
        """Raises: PluginFailed."""
        request: dict[str, object] = {
            "name": "syntax",
            "value": "fileops.service.plugins.syntax_parsers:faults_of",
            "group": "fileops",
            "arguments": [language, read().removeprefix("\ufeff")],
        }
        answer = self._started().call(request)
        if "text" not in answer:
            raise PluginFailed(reason=str(answer.get("failed")))
        faults = msgspec.json.decode(str(answer["text"]), type=list[tuple[int, int, str]] | None)
        if faults is None:
            self._without_parser.add(language)
            return []
        return [SyntaxFault(line=line, column=column, message=message) for line, column, message in faults]

    def _started(self) -> "PluginProcesses":
        from fileops.service.plugins.process import PluginProcesses

        with self._lock:
            if self._is_closed:
                raise PluginFailed(reason="the daemon is about to end")
            if self._processes is None:
                self._processes = PluginProcesses(TIMEOUT_S, MEMORY_MB)
            return self._processes
