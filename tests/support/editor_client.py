"""A person's editor and an agent behind one connection to a real daemon, as obliging or as hostile as a test wants.

`editor.apply`, `editor.confirm` and `editor.message` are what the editor does when it is asked; a test replaces them.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from fileops.model.documents import DocumentPosition
from fileops_client import FileOpsClient, Options, uri_of
from support.fake_editor import line_starts, offset_of, position_of
from support.patience import PATIENCE_S

Reply = Callable[[Any], Awaitable[Any]]


class Document:
    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.version = 1


class EditorClient:
    def __init__(self) -> None:
        self.client: FileOpsClient
        self.documents: dict[str, Document] = {}
        self.applied: list[Any] = []
        self.questions: list[Any] = []
        self.messages: list[Any] = []
        self.apply: Reply = self.oblige
        self.confirm: Reply = answer({"outcome": "proceed_once"})
        self.message: Reply = answer(None)

    # --- the person ----------------------------------------------------------------------------------------

    def open(self, path: Path, text: str | None = None) -> str:
        shown = path.read_bytes().decode("utf-8-sig", "replace") if text is None else text
        self.documents[uri_of(path)] = Document(path, shown)
        self.client.did_open(path, shown)
        return uri_of(path)

    def type(self, path: Path, old: str, new: str) -> None:
        document = self.documents[uri_of(path)]
        at = document.text.index(old)
        start, end = position_of(document.text, at), position_of(document.text, at + len(old))
        document.text = document.text[:at] + new + document.text[at + len(old) :]
        document.version += 1
        change = {"range": {"start": as_json(start), "end": as_json(end)}, "text": new}
        self.client.did_change(path, [change], version=document.version)

    def set_text(self, path: Path, text: str) -> None:
        document = self.documents[uri_of(path)]
        document.text = text
        document.version += 1
        self.client.did_change(path, text, version=document.version)

    def save(self, path: Path, encoding: str = "utf-8") -> None:
        path.write_bytes(self.documents[uri_of(path)].text.encode(encoding))
        self.client.did_save(path)

    def close(self, path: Path) -> None:
        del self.documents[uri_of(path)]
        self.client.did_close(path)

    def text(self, path: Path) -> str:
        return self.documents[uri_of(path)].text

    # --- the editor, asked ----------------------------------------------------------------------------------

    async def oblige(self, params: Any) -> Any:
        """As VS Code does: all or nothing, only for the version it has; the change is reported before the answer."""
        for change in params["edit"]["documentChanges"]:
            document = self.documents.get(change["textDocument"]["uri"])
            if document is None or document.version != change["textDocument"]["version"]:
                return {"applied": False, "failureReason": "the document has changed in the meantime"}
        for change in params["edit"]["documentChanges"]:
            document = self.documents[change["textDocument"]["uri"]]
            self.set_text(document.path, edited(document.text, change["edits"]))
        return {"applied": True}

    def handlers(self) -> dict[str, Reply]:
        async def apply(params: Any) -> Any:
            self.applied.append(params)
            return await self.apply(params)

        async def confirm(params: Any) -> Any:
            self.questions.append(params)
            return await self.confirm(params)

        async def message(params: Any) -> Any:
            self.messages.append(params)
            return await self.message(params)

        return {
            "workspace/applyEdit": apply,
            "fileops/confirmEdit": confirm,
            "window/showMessageRequest": message,
        }


@asynccontextmanager
async def editor_client(
    root: Path, *asked: str, options: Mapping[str, Any] | None = None, capabilities: Mapping[str, Any] | None = None
) -> AsyncGenerator[EditorClient]:
    """asked: the requests that the editor announces and answers."""
    editor = EditorClient()
    handlers = {method: reply for method, reply in editor.handlers().items() if method in asked}
    merged = {"general": {"positionEncodings": ["utf-16"]}, **(capabilities or {})}
    async with FileOpsClient.start(
        root=root,
        initialization_options=cast("Options | None", options),
        handlers=handlers,
        capabilities=merged,
        timeout_s=PATIENCE_S,
    ) as client:
        editor.client = client
        yield editor


def answer(value: Any) -> Reply:
    async def reply(params: Any) -> Any:
        del params
        return value

    return reply


class Held:
    """A reply that waits until the test lets it go."""

    def __init__(self, reply: Reply) -> None:
        self.asked = asyncio.Event()
        self.unlock_and_close_later = asyncio.Event()
        self.withdrawn = asyncio.Event()
        self._reply = reply

    async def __call__(self, params: Any) -> Any:
        self.asked.set()
        try:
            await self.unlock_and_close_later.wait()
        except asyncio.CancelledError:
            self.withdrawn.set()
            raise
        return await self._reply(params)


async def within(work: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(work, PATIENCE_S)


def edited(text: str, edits: Any) -> str:
    """edits: LSP TextEdits over the text as it is, in any order."""
    starts = line_starts(text)

    def span(edit: Any) -> tuple[int, int]:
        start, end = edit["range"]["start"], edit["range"]["end"]
        return (
            offset_of(text, starts, DocumentPosition(start["line"], start["character"])),
            offset_of(text, starts, DocumentPosition(end["line"], end["character"])),
        )

    for edit in sorted(edits, key=span, reverse=True):
        start, end = span(edit)
        text = text[:start] + edit["newText"] + text[end:]
    return text


def as_json(position: DocumentPosition) -> dict[str, int]:
    return {"line": position.line, "character": position.character}
