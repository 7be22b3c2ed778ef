"""Editors of the race: their person opens, types, saves, reloads and closes, and reviews what agents propose."""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from fileops_client import FileOpsClient, uri_of
from race.disk import Disk, File, Loaded
from race.ledger import WORD, words_of
from support.editor_client import edited

CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "experimental": {"fileops": {"confirm_edit": True}},
}


@dataclass(slots=True)
class Document:
    """base: what was last loaded or saved. texts: all that it has shown."""

    file: File
    text: str
    base: Loaded
    version: int = 1
    texts: set[str] = field(default_factory=set[str])

    @property
    def is_dirty(self) -> bool:
        return self.text != self.base.text


class Editor:
    """who: one letter, with which the words begin that its person types. Call `connect` first."""

    def __init__(self, who: str, disk: Disk, *, seed: int) -> None:
        self._who = who
        self._disk = disk
        self._ledger = disk.ledger
        self._dice = random.Random(f"{seed} {who}")
        self._client: FileOpsClient
        self._documents: dict[str, Document] = {}
        self.outcomes: Counter[str] = Counter()

    def handlers(self) -> dict[str, Any]:
        return {"workspace/applyEdit": self._apply, "fileops/confirmEdit": self._confirm}

    def connect(self, client: FileOpsClient) -> None:
        self._client = client

    async def run(self, ends_at: float) -> None:
        while time.monotonic() < ends_at:
            await asyncio.sleep(self._dice.random() * 0.1)
            file = self._dice.choice(self._disk.files)
            document = self._documents.get(uri_of(file.path))
            if document is None:
                self._open(file)
            else:
                step = self._dice.choices((self._type, self._save, self._reload, self._close), (6, 4, 3, 3))[0]
                step(document)
            if self._dice.random() < 0.3:
                await self._client.stats()  # so the daemon has handled what was sent
        for document in list(self._documents.values()):
            if document.is_dirty:
                self._save(document)
            self._close(document)
        await self._client.stats()

    # --- the person --------------------------------------------------------------------------------------------

    def _open(self, file: File) -> None:
        with self._disk.loaded(file) as loaded:
            document = Document(file, loaded.text, loaded)
        document.texts.add(document.text)
        self._documents[uri_of(file.path)] = document
        self._client.did_open(file.path, loaded.text)
        self.outcomes["opened"] += 1

    def _type(self, document: Document) -> None:
        """Replace a word, or write one beside it."""
        places = list(WORD.finditer(document.text))[1:]
        if not places:
            return
        place, fresh = self._dice.choice(places), self._ledger.word(self._who)
        new = fresh if len(places) > 10 and self._dice.random() < 0.7 else f"{place[0]} {fresh}"
        self._note_typed(document, fresh)
        self._show(document, document.text[: place.start()] + new + document.text[place.end() :])
        self.outcomes["typed"] += 1

    def _save(self, document: Document) -> None:
        """As editors do: if the file has changed since it was loaded, the person decides what is lost."""
        if document.file.is_linked or not document.is_dirty:
            self._reload(document)
            return
        with self._disk.loaded(document.file) as now:
            if now.text != document.base.text and self._dice.random() < 0.8:
                self.outcomes["dropped what was typed"] += 1
                self._load(document, now)
                return
            self.outcomes["saved over a change" if now.text != document.base.text else "saved"] += 1
            in_place = len(now.text) == len(document.text) and self._dice.random() < 0.5
            written = self._disk.write(self._who, document.file, document.text, document.base, in_place=in_place)
        if written is None:
            return
        document.base = Loaded(written, time.monotonic())
        self._show(document, written)
        self._client.did_save(document.file.path)

    def _reload(self, document: Document) -> None:
        if document.is_dirty and self._dice.random() < 0.7:
            return
        with self._disk.loaded(document.file) as now:
            self._load(document, now)
        self.outcomes["reloaded"] += 1

    def _close(self, document: Document) -> None:
        del self._documents[uri_of(document.file.path)]
        self._client.did_close(document.file.path)
        self.outcomes["closed"] += 1

    def _load(self, document: Document, now: Loaded) -> None:
        document.base = now
        self._show(document, now.text)

    def _show(self, document: Document, text: str) -> None:
        if text == document.text:
            return
        document.text = text
        document.version += 1
        document.texts.add(text)
        self._client.did_change(document.file.path, text, version=document.version)

    def _note_typed(self, document: Document, word: str) -> None:
        """It is not on the disk until it is saved, but agents may read it."""
        self._ledger.type(document.file.path, word)

    # --- what the daemon asks ----------------------------------------------------------------------------------

    async def _apply(self, params: Any) -> Any:
        if self._dice.random() < 0.05:
            await asyncio.sleep(0.1)  # the person types on meanwhile
        (change,) = params["edit"]["documentChanges"]
        document = self._documents.get(change["textDocument"]["uri"])
        if document is None or document.version != change["textDocument"]["version"]:
            self.outcomes["edit of another version"] += 1
            return {"applied": False, "failureReason": "the document has changed in the meantime"}
        before = document.text
        self._show(document, edited(before, change["edits"]))
        lost = words_of(before) - words_of(document.text)
        self._ledger.note_buffer_edit(document.file.path, words_of(document.text) - words_of(before), lost)
        self.outcomes["edit of an agent applied"] += 1
        return {"applied": True}

    async def _confirm(self, params: Any) -> Any:
        if self._dice.random() < 0.1:
            await asyncio.sleep(self._dice.random() * 0.3)
        is_left = bool(params["hunks"])  # of an edit that was asked about before; else there is nothing to approve
        outcome = "cancel" if self._dice.random() < 0.08 or not is_left else "proceed_once"
        self.outcomes[f"decision {outcome}"] += 1
        return {"outcome": outcome}
