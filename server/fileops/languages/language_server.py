"""One language server: the documents that are open in it, and their settled problems. Belongs to one event loop.

A server that offers `textDocument/diagnostic` is asked (pull); any other publishes (push), and its problems count once
it has been quiet for a moment. A server may register pull late, even while its pushes are awaited.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from fileops.core.diagnostics.positions import Positions
from fileops.core.formatting import LineRange, Replacement, indentation_of
from fileops.core.text import n_units
from fileops.core.uris import path_of, uri_of
from fileops.languages.connection import ServerConnection, ServerEnded
from fileops.model.diagnostics import SEVERITIES, LanguageServerSetting, Problem
from fileops.model.documents import PositionEncoding
from fileops.platform.programs import find_program

log = logging.getLogger(__name__)

INITIALIZE_S = 30.0
MAX_DOCUMENTS = 32  # open in one server
MAX_PROBLEMS = 10_000  # of one file; further ones are not compared
RETRY_S = 0.02  # before a request is repeated that the server could not answer yet
MAX_REPEATS = 3  # pulls repeated because the server asked for another
SILENCE_S = 2.0  # a server that publishes need not publish what has not changed
SILENCE_FACTOR = 4  # times the longest that one of its publications has taken
_TRY_AGAIN = (-32802, -32801, -32800)  # ServerCancelled, ContentModified, RequestCancelled
_WITHOUT_EFFECT = (
    types.CLIENT_UNREGISTER_CAPABILITY,
    types.WINDOW_WORK_DONE_PROGRESS_CREATE,
    types.WINDOW_LOG_MESSAGE,
    types.WINDOW_SHOW_MESSAGE,
    types.TELEMETRY_EVENT,
    types.LOG_TRACE,
)

_LANGUAGES = {  # extension: language id of LSP; another extension is its own id
    "c": "c", "cc": "cpp", "cpp": "cpp", "cs": "csharp", "h": "c", "hpp": "cpp", "js": "javascript",
    "jsx": "javascriptreact", "mjs": "javascript", "cjs": "javascript", "md": "markdown", "mts": "typescript",
    "cts": "typescript", "py": "python", "pyi": "python", "rb": "ruby", "rs": "rust", "sh": "shellscript",
    "ts": "typescript", "tsx": "typescriptreact", "yml": "yaml",
}  # fmt: skip


class _Document:
    def __init__(self, uri: str, path: str, text: str) -> None:
        self.uri, self.path, self.version = uri, path, 1
        self.stamp = _stamp(path)  # of the file when it was opened, or last saved by us
        self.published: tuple[Problem, ...] | None = None  # for this version; without a version, since it was sent
        self.problems: tuple[Problem, ...] | None = None  # settled, of this text
        self.previous: tuple[Problem, ...] | None = None  # settled, of the text before
        self.has_news = False  # `problems` may be outdated: the server said so, or another file changed
        self.is_asked_about = False
        self.set_text(text)

    def set_text(self, text: str) -> None:
        self.text, self.positions = text, Positions(text)
        self.previous, self.problems, self.published = self.problems, None, None
        self.sent_at = self.published_at = time.monotonic()


class LanguageServer:
    """A language server.

    on_end: see ServerConnection. on_correction: called with a path, its settled problems, and the new ones.
    """

    def __init__(
        self,
        setting: LanguageServerSetting,
        root: str,
        on_end: Callable[[str], None],
        on_correction: "Callable[[LanguageServer, str, tuple[Problem, ...], tuple[Problem, ...]], None]",
    ) -> None:
        self.setting, self.root = setting, root
        self.used_at = time.monotonic()
        self.start_s: float | None = None
        self._connection = ServerConnection(on_end)
        self._on_correction = on_correction
        self._documents: dict[str, _Document] = {}  # by URI, most recently used last
        self._pull: types.DiagnosticOptions | None = None
        self._encoding: PositionEncoding = "utf-16"
        self._formats_lines = False
        self._progress: set[object] = set()  # tokens of work that is under way
        self._n_refreshes = 0
        self._longest_push_s = 0.0
        self._early_changes: dict[str, types.FileChangeType] = {}  # of files, before it was initialized
        self._news = asyncio.Event()
        self._asking = asyncio.Lock()

    # --- life ----------------------------------------------------------------------------------------------------

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._connection.end_reason is None

    @property
    def pid(self) -> int | None:
        """Its process; None before the start."""
        return self._connection.pid

    async def start(self) -> None:
        """Raises: ServerEnded."""
        begun = time.monotonic()
        self._serve_requests()
        await self._connection.start(program_of(self.setting.command[0], self.root), self.setting.command[1:])
        try:
            result = await self._connection.ask(types.INITIALIZE, self._initialize_params(), INITIALIZE_S)
        except TimeoutError:
            raise ServerEnded(f"it did not initialize within {INITIALIZE_S:g} s") from None
        except JsonRpcException as error:
            raise ServerEnded(f"it did not initialize: {error}") from None
        capabilities = cast("types.InitializeResult", result).capabilities
        self._pull = cast("types.DiagnosticOptions | None", capabilities.diagnostic_provider)
        self._encoding = cast("PositionEncoding", capabilities.position_encoding)
        self._formats_lines = capabilities.document_range_formatting_provider is True
        client = self._connection.client
        client.initialized(types.InitializedParams())
        self._connection.is_initialized = True
        if self.setting.settings is not None:
            client.workspace_did_change_configuration(
                types.DidChangeConfigurationParams(settings=cast("Any", self.setting.settings))
            )
        self.start_s = time.monotonic() - begun
        if self._early_changes:
            self._send_changes(self._early_changes)
            self._early_changes.clear()

    async def stop(self) -> None:
        """End it, after a moment by force."""
        await self._connection.stop()

    def kill(self) -> None:
        """End it by force."""
        self._connection.kill()

    def kill_process(self) -> None:
        """End its processes, from any thread."""
        self._connection.kill_process()

    def _initialize_params(self) -> types.InitializeParams:
        return types.InitializeParams(
            process_id=os.getpid(),
            root_uri=uri_of(self.root),
            root_path=self.root,
            workspace_folders=[self._folder()],
            initialization_options=self.setting.initialization_options,
            capabilities=types.ClientCapabilities(
                text_document=types.TextDocumentClientCapabilities(
                    synchronization=types.TextDocumentSyncClientCapabilities(did_save=True),
                    range_formatting=types.DocumentRangeFormattingClientCapabilities(),
                    publish_diagnostics=types.PublishDiagnosticsClientCapabilities(version_support=True),
                    diagnostic=types.DiagnosticClientCapabilities(
                        dynamic_registration=True, related_document_support=True
                    ),
                ),
                workspace=types.WorkspaceClientCapabilities(
                    configuration=True,
                    workspace_folders=True,
                    did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
                    diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
                ),
                window=types.WindowClientCapabilities(work_done_progress=True),
                general=types.GeneralClientCapabilities(
                    position_encodings=[
                        types.PositionEncodingKind.Utf32,
                        types.PositionEncodingKind.Utf8,
                        types.PositionEncodingKind.Utf16,
                    ]
                ),
            ),
        )

    def _folders(self, *_params: object) -> list[types.WorkspaceFolder]:
        return [self._folder()]

    def _folder(self) -> types.WorkspaceFolder:
        return types.WorkspaceFolder(uri=uri_of(self.root), name=os.path.basename(self.root) or "/")

    # --- what the server sends -----------------------------------------------------------------------------------

    def _serve_requests(self) -> None:
        handlers: dict[str, Callable[..., object]] = {
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self._on_publish,
            types.WORKSPACE_CONFIGURATION: self._configuration,
            types.CLIENT_REGISTER_CAPABILITY: self._on_register,
            types.PROGRESS: self._on_progress,
            types.WORKSPACE_DIAGNOSTIC_REFRESH: self._refresh_wanted,
            types.WORKSPACE_WORKSPACE_FOLDERS: self._folders,
            types.WORKSPACE_APPLY_EDIT: _refuse_edit,
            **dict.fromkeys(_WITHOUT_EFFECT, _ignore),
        }
        for method, handler in handlers.items():
            self._connection.client.feature(method)(partial(handler))  # pygls sets attributes, a method takes none

    def _on_publish(self, params: types.PublishDiagnosticsParams) -> None:
        document = self._document_of(params.uri)
        if document is None or params.version not in {None, document.version}:
            return
        now = time.monotonic()
        if document.published is None:
            self._longest_push_s = max(self._longest_push_s, now - document.sent_at)
        document.published, document.published_at = self._problems_of(document, params.diagnostics), now
        document.has_news = True
        self._news.set()
        was = document.problems
        if was is not None and not document.is_asked_about and self._pull is None:
            document.problems, document.has_news = document.published, False
            if was != document.problems:
                self._on_correction(self, document.path, was, document.problems)

    def _configuration(self, params: types.ConfigurationParams) -> list[Any]:
        return [self._setting(item.section) for item in params.items]

    def _setting(self, section: str | None) -> Any:
        value: Any = self.setting.settings or {}
        for key in filter(None, (section or "").split(".")):
            value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
        return value

    def _on_register(self, params: types.RegistrationParams) -> None:
        for registration in params.registrations:
            if registration.method == types.TEXT_DOCUMENT_DIAGNOSTIC:
                self._pull = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False)
                self._news.set()

    def _on_progress(self, params: types.ProgressParams) -> None:
        value: Any = params.value
        kind = cast("dict[str, Any]", value).get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
        (self._progress.discard if kind == "end" else self._progress.add)(params.token)
        self._news.set()

    def _refresh_wanted(self, *_params: object) -> None:
        self._n_refreshes += 1
        for document in self._documents.values():
            document.has_news = True

    def _document_of(self, uri: str) -> _Document | None:
        """Return the document. Servers do not always spell a URI as it was sent to them."""
        found = self._documents.get(uri)
        if found is None and (path := path_of(uri)) is not None:
            found = self._documents.get(uri_of(path))
        return found

    # --- documents -----------------------------------------------------------------------------------------------

    def is_open(self, path: str) -> bool:
        """Return whether the file is open in the server."""
        return uri_of(path) in self._documents

    def open_paths(self) -> list[str]:
        """Return the open files, most recently used last."""
        return [document.path for document in self._documents.values()]

    def text_of(self, path: str) -> str | None:
        """Return the text that was sent last; None if the file is not open."""
        document = self._documents.get(uri_of(path))
        return None if document is None else document.text

    def is_overwritten(self, path: str) -> bool:
        """Return whether another program has written an open file since it was opened or saved here."""
        document = self._documents.get(uri_of(path))
        return document is not None and _stamp(path) != document.stamp

    async def send_text(self, path: str, text: str) -> None:
        """Open the file with this text, or change it to this text. Raises: ServerEnded."""
        async with self._asking:  # a question must be answered about the text it was asked for
            self._send_document(path, text)

    def _send_document(self, path: str, text: str) -> _Document:
        self._connection.require_alive()
        self.used_at = time.monotonic()
        client, uri = self._connection.client, uri_of(path)
        document = self._documents.pop(uri, None)
        if document is None:
            while len(self._documents) >= MAX_DOCUMENTS:
                self._close(next(iter(self._documents)))
            document = _Document(uri, path, text)
            language = self.setting.language_id or language_of(path)
            item = types.TextDocumentItem(uri=uri, language_id=language, version=1, text=text)
            client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            self._unsettle()
        elif document.text != text:
            document.version += 1
            document.set_text(text)
            client.text_document_did_change(
                types.DidChangeTextDocumentParams(
                    text_document=types.VersionedTextDocumentIdentifier(version=document.version, uri=uri),
                    content_changes=[types.TextDocumentContentChangeWholeDocument(text=text)],
                )
            )
            self._unsettle()
        self._documents[uri] = document
        return document

    def _unsettle(self) -> None:
        """Reconsider problems in other files, which may depend on a changed file.

        A server that publishes does so itself.
        """
        if self._pull is not None and self._pull.inter_file_dependencies:
            for document in self._documents.values():
                document.has_news = True

    def note_saved(self, path: str) -> None:
        """Take note that the text that was sent last is now in the file."""
        document = self._documents.get(uri_of(path))
        if document is not None and self.is_alive:
            document.stamp = _stamp(path)
            identifier = types.TextDocumentIdentifier(document.uri)
            self._connection.client.text_document_did_save(
                types.DidSaveTextDocumentParams(identifier, text=document.text)
            )

    async def note_files_changed(self, changes: Sequence[tuple[str, types.FileChangeType]]) -> None:
        """Close open files that were created, changed or deleted on disk, so that the server reads the disk.

        Nothing may be sent to a server that is not yet initialized, so it is notified as soon as it is.
        """
        if self.start_s is None:
            self._early_changes.update(changes)
            return
        async with self._asking:  # a file in question stays open until the answer has come
            if not self.is_alive:
                return
            for path, _ in changes:
                if self.is_open(path):
                    self._close(uri_of(path))
            self._send_changes(dict(changes))
            self._unsettle()

    def _send_changes(self, changes: Mapping[str, types.FileChangeType]) -> None:
        events = [types.FileEvent(uri=uri_of(path), type=kind) for path, kind in changes.items()]
        self._connection.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(events))

    def _close(self, uri: str) -> None:
        del self._documents[uri]
        self._connection.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        )

    # --- formatting ----------------------------------------------------------------------------------------------

    @property
    def formats_lines(self) -> bool:
        """Return whether it offers to format ranges."""
        return self._formats_lines

    async def format(
        self, path: str, text: str, ranges: Sequence[LineRange], timeout_s: float
    ) -> tuple[tuple[Replacement, ...], ...]:
        """Return what the server replaces in the text to format each of these ranges of lines.

        The server sees the text only for these questions. Raises: ServerEnded, TimeoutError.
        """
        async with self._asking:
            known = self._documents.get(uri_of(path))
            was = None if known is None else (known.text, known.problems)
            news = {uri: document.has_news for uri, document in self._documents.items()}
            document = self._send_document(path, text)
            try:
                return tuple([await self._ask_to_format(document, lines, timeout_s) for lines in ranges])
            finally:
                self._take_back(path, was)
                for uri, had_news in news.items():
                    if uri in self._documents:
                        self._documents[uri].has_news = had_news

    def _take_back(self, path: str, was: tuple[str, tuple[Problem, ...] | None] | None) -> None:
        """Make the server forget a text that was sent only for a question."""
        if not self.is_alive:
            return
        if was is None:
            self._close(uri_of(path))
            return
        text, problems = was
        document = self._send_document(path, text)
        if self._pull is not None:
            document.problems = problems
        else:  # late reports on the question may come, so nothing counts until it is quiet
            document.previous = problems

    async def _ask_to_format(self, document: _Document, lines: LineRange, timeout_s: float) -> tuple[Replacement, ...]:
        first, last = lines
        end = document.text.split("\n")[last - 1]
        width, insert_spaces = indentation_of(document.text)
        params = types.DocumentRangeFormattingParams(
            text_document=types.TextDocumentIdentifier(document.uri),
            range=types.Range(types.Position(first, 0), types.Position(last - 1, n_units(end, self._encoding))),
            options=types.FormattingOptions(tab_size=width, insert_spaces=insert_spaces),
        )
        try:
            answer = await self._connection.ask(types.TEXT_DOCUMENT_RANGE_FORMATTING, params, timeout_s)
        except JsonRpcException as error:
            raise ServerEnded(f"it answers {types.TEXT_DOCUMENT_RANGE_FORMATTING} with an error: {error}") from None
        return tuple(
            (*self._offsets(document, edit.range), edit.new_text)
            for edit in cast("Sequence[types.TextEdit]", answer or ())
        )

    def _offsets(self, document: _Document, place: types.Range) -> tuple[int, int]:
        start, end = (
            document.positions.offset(position.line, position.character, self._encoding)
            for position in (place.start, place.end)
        )
        return start, end

    # --- problems ------------------------------------------------------------------------------------------------

    async def problems(self, path: str, text: str, timeout_s: float) -> tuple[Problem, ...]:
        """Return the settled problems of the file with this text. Raises: TimeoutError, ServerEnded."""
        async with self._asking:  # of two pulls for one document, some servers answer the first with an empty list
            document = self._send_document(path, text)
            if document.problems is not None and not document.has_news:
                return document.problems
            return await self._wait_for_problems(document, time.monotonic() + timeout_s)

    async def refresh_problems(self, path: str, timeout_s: float) -> tuple[Problem, ...] | None:
        """Return the current problems of a file that may depend on a changed one.

        None if the file is not open, or its problems were never asked for.

        Raises: TimeoutError, ServerEnded.
        """
        async with self._asking:
            document = self._documents.get(uri_of(path))
            if document is None or not document.has_news:
                return None if document is None else document.problems
            if self._pull is None:  # it publishes them; nothing shows when it is done
                return document.problems if document.published is None else document.published
            if not self._pull.inter_file_dependencies:
                return document.problems
            return await self._wait_for_problems(document, time.monotonic() + timeout_s)

    async def _wait_for_problems(self, document: _Document, deadline: float) -> tuple[Problem, ...]:
        document.is_asked_about = True
        try:
            found = None if self._pull is not None else await self._wait_for_push(document, deadline)
            if found is None:
                found = await self._pull_problems(document, deadline)
            document.problems = found
            return found
        finally:
            document.is_asked_about = False

    async def _pull_problems(self, document: _Document, deadline: float) -> tuple[Problem, ...]:
        params = types.DocumentDiagnosticParams(
            types.TextDocumentIdentifier(document.uri), identifier=None if self._pull is None else self._pull.identifier
        )
        n_repeats = 0
        while True:
            n_refreshes, left_s = self._n_refreshes, deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            document.has_news = False
            try:
                answer = await self._connection.ask(types.TEXT_DOCUMENT_DIAGNOSTIC, params, left_s)
            except JsonRpcException as error:
                if error.code in _TRY_AGAIN:
                    await asyncio.sleep(RETRY_S)
                    continue
                raise ServerEnded(f"it answers textDocument/diagnostic with an error: {str(error)[:200]}") from None
            if self._n_refreshes != n_refreshes and n_repeats < MAX_REPEATS:
                n_repeats += 1
                continue
            report = cast("types.DocumentDiagnosticReport", answer)
            self._take_related(report)
            # A report "unchanged" has no items, and is not sent to a client that names no earlier result.
            return self._problems_of(document, getattr(report, "items", ()))

    def _take_related(self, report: types.DocumentDiagnosticReport) -> None:
        for uri, related in (report.related_documents or {}).items():
            document = self._document_of(uri)
            if document is not None and isinstance(related, types.FullDocumentDiagnosticReport):
                document.problems, document.has_news = self._problems_of(document, related.items), False

    async def _wait_for_push(self, document: _Document, deadline: float) -> tuple[Problem, ...] | None:
        """Return what was published once that has settled; None if the server wants to be asked after all."""
        while self._pull is None:
            self._connection.require_alive()
            now = time.monotonic()
            silence_s = max(SILENCE_S, SILENCE_FACTOR * self._longest_push_s)
            if self._progress:
                settles_at = deadline
            elif document.published is not None:
                settles_at = document.published_at + self.setting.settle_s
            elif document.previous == ():
                settles_at = document.sent_at + silence_s
            else:
                settles_at = deadline
            if now >= deadline:
                raise TimeoutError
            if now >= settles_at:
                document.has_news = False
                return document.published or ()
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(settles_at, deadline, now + 0.5) - now):  # 0.5: a server that ended
                    await self._news.wait()
        return None

    def _problems_of(self, document: _Document, items: Iterable[types.Diagnostic]) -> tuple[Problem, ...]:
        found: list[Problem] = []
        for item in items:
            if len(found) == MAX_PROBLEMS:
                log.warning("%s: only the first %d problems of a file are compared", self.setting.name, MAX_PROBLEMS)
                break
            start, end = self._offsets(document, item.range)
            level = 1 if item.severity is None else int(item.severity)
            found.append(
                Problem(
                    start,
                    max(start, end),
                    SEVERITIES[min(max(level, 1), 4) - 1],
                    "" if item.code is None else str(item.code)[:200],
                    (item.source or self.setting.name)[:100],
                    item.message[:2_000],
                )
            )
        return tuple(found)


def _refuse_edit(_params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
    return types.ApplyWorkspaceEditResult(applied=False)


def _ignore(_params: object) -> None:
    return None


def language_of(path: str) -> str:
    """Return LSP's language id of a file, by its extension."""
    extension = os.path.basename(path).rpartition(".")[2].lower()
    return _LANGUAGES.get(extension, extension)


def program_of(name: str, root: str) -> str:
    """Return the program that a command names, never one that may be in the folder `root`. Raises: ServerEnded."""
    program = name if "/" in name else find_program(name, outside=[root])
    if program is None:
        raise ServerEnded(f"there is no program {name} in the PATH outside of the project")
    return program


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
