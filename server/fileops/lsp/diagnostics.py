"""Asks an editor which problems it shows in a document, by `fileops/diagnostics`. A malformed answer counts as none."""

import logging
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from fileops.core.uris import uri_of
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.diagnostics import SEVERITIES
from fileops.model.documents import DocumentPosition
from fileops.service.diagnosis import EditorAnswer, EditorDiagnostic

log = logging.getLogger(__name__)

DIAGNOSTICS = "fileops/diagnostics"
ANSWER_S = 1.0  # for the transport of an answer, beyond the editor's own wait
Natural = Annotated[int, Meta(ge=0)]


class DiagnosticsParams(Struct, frozen=True, kw_only=True):
    """Asks which problems the editor shows in a document."""

    file_path: str
    """Canonical path of the file."""
    uri: str
    """The document's URI."""
    sha256: str | None
    """SHA-256 of the text to answer for, as UTF-8, without BOM, with LF line ends. Null: the current text."""
    wait_s: float
    """How many seconds the editor may wait for its language servers."""


class DiagnosticPosition(Struct, frozen=True):
    """A position of LSP."""

    line: Natural
    """0-based line."""
    character: Natural
    """0-based character, in the negotiated encoding of positions."""


class DiagnosticRange(Struct, frozen=True):
    """A range of LSP."""

    start: DiagnosticPosition
    """Where it begins."""
    end: DiagnosticPosition
    """The position after its last character."""


class EditorDiagnosticItem(Struct, frozen=True, kw_only=True):
    """LSP's `Diagnostic`, as far as it is used."""

    range: DiagnosticRange
    """The place of the problem."""
    message: str
    """The text of the problem."""
    severity: Literal[1, 2, 3, 4] = 1
    """LSP's severity: 1 is an error."""
    code: str | int | None = None
    """The kind of problem."""
    source: str | None = None
    """The program that found it."""


class DiagnosticsAnswer(Struct, frozen=True, kw_only=True):
    """What the editor knows about a document."""

    state: Literal["settled", "pending", "unavailable"]
    """`settled`: the problems are those of the text. `pending`: not yet known. `unavailable`: no language server."""
    sha256: str = ""
    """SHA-256 of the text with these problems, as in the question."""
    diagnostics: Annotated[list[EditorDiagnosticItem], Meta(max_length=10_000)] = []
    """All problems of the document."""


class LspEditorProblems:
    """See service.diagnosis.EditorProblems."""

    def __init__(self, client: Client, name: str, is_open: Callable[[str], bool]) -> None:
        self._client = client
        self.name = name
        self.is_open = is_open

    async def ask(self, path: str, sha256: str | None, wait_s: float) -> EditorAnswer | None:
        """See service.diagnosis.EditorProblems."""
        params = DiagnosticsParams(file_path=path, uri=uri_of(path), sha256=sha256, wait_s=wait_s)
        try:
            raw = await self._client.ask(DIAGNOSTICS, params, timeout_s=wait_s + ANSWER_S)
            answer = msgspec.convert(raw, DiagnosticsAnswer)
        except (TimeoutError, ClientGone):
            return None
        except ClientRefused as refusal:
            log.warning("%s refused a question about problems: %s %s", self.name, refusal.code, refusal)
            return None
        except msgspec.ValidationError as fault:
            log.warning("%s gave an invalid answer to a question about problems: %s", self.name, fault)
            return None
        return EditorAnswer(
            state=answer.state,
            sha256=answer.sha256,
            diagnostics=tuple(map(_diagnostic, answer.diagnostics)),
            encoding=self._client.position_encoding,
        )


def _diagnostic(sent: EditorDiagnosticItem) -> EditorDiagnostic:
    start, end = sent.range.start, sent.range.end
    return EditorDiagnostic(
        DocumentPosition(start.line, start.character),
        DocumentPosition(end.line, end.character),
        SEVERITIES[sent.severity - 1],
        "" if sent.code is None else str(sent.code)[:200],
        (sent.source or "")[:100],
        sent.message[:2_000],
    )
