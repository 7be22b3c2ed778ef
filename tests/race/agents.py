"""Agents of the race: over MCP, over the Python client at the shared daemon, and at their own private daemons.

Each reads, changes a word or some of what it has read, and says to the ledger what it was answered.
"""

import asyncio
import random
import re
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from fileops_client import FileOpsClient
from race.disk import MARK, Disk, File
from race.ledger import Event, Ledger, doubled, unknown_pieces, words_of
from support.mcp_client import McpClient

_LINE = re.compile(r"^\s*\d+→(.*)$", re.MULTILINE)
_MAX_WORDS = 40
_N_REMEMBERED = 3  # own edits of a file that each read is compared with
_REFUSALS = {"modified_externally", "apply_refused", "rejected", "not_read"}
_MERGED = "while this edit was reviewed; both changes are in it"
_READ_REFUSALS = {"apply_refused"}

Edits = Sequence[tuple[str, str]]


class Outcome(NamedTuple):
    """code: None if it went well. place: "disk" or "buffer", "" if the answer does not say.

    is_merged: a person's decision was merged with changes by others since. is_other: not all of the edit was
    written, because a person wanted it so.
    """

    code: str | None
    output: str = ""
    place: str = ""
    edit_id: str = ""
    is_merged: bool = False
    is_other: bool = False


class Hands(Protocol):
    """How an agent reaches its daemon."""

    async def read(self, path: str) -> Outcome: ...

    async def edit(self, path: str, edits: Edits) -> Outcome: ...

    async def undo(self, edit_id: str) -> Outcome: ...


class ClientHands:
    def __init__(self, client: FileOpsClient, session_id: str) -> None:
        self._client = client
        self._session_id = session_id

    async def read(self, path: str) -> Outcome:
        answer = await self._client.read(path, session_id=self._session_id)
        return Outcome(answer.code, answer.output, str(answer.details.get("source", "")))

    async def edit(self, path: str, edits: Edits) -> Outcome:
        answer = await self._client.multi_edit(path, list(edits), session_id=self._session_id)
        return _of(answer)

    async def undo(self, edit_id: str) -> Outcome:
        return _of(await self._client.undo(edit_id=edit_id, session_id=self._session_id))


class McpHands:
    """Without Undo: `Undo` names a file, not an edit."""

    def __init__(self, host: McpClient) -> None:
        self._host = host

    async def read(self, path: str) -> Outcome:
        return await self._call("Read", file_path=path)

    async def edit(self, path: str, edits: Edits) -> Outcome:
        steps = [{"old_string": old, "new_string": new} for old, new in edits]
        return await self._call("MultiEdit", file_path=path, edits=steps)

    async def undo(self, edit_id: str) -> Outcome:
        del edit_id
        return Outcome("no_match")

    async def _call(self, tool: str, **arguments: Any) -> Outcome:
        result = await asyncio.to_thread(lambda: self._host.tool(tool, **arguments))
        facts = result["_meta"]["fileops/result"]
        output = result["content"][0]["text"]
        return Outcome(
            facts.get("code"),
            output,
            str(facts.get("applied_to", "")),
            is_merged=_MERGED in output,
            is_other=facts.get("modified_by_user", False),
        )


class Seen(NamedTuple):
    """What a session knows of a file. at: what surely was written after it is not seen."""

    place: str
    at: float


class Agent:
    """who: one letter, with which its words begin. freshness: the rule that its daemon follows for it."""

    def __init__(self, who: str, hands: Hands, disk: Disk, *, freshness: str, seed: int) -> None:
        self._who = who
        self._hands = hands
        self._disk = disk
        self._freshness = freshness
        self._ledger: Ledger = disk.ledger
        self._dice = random.Random(f"{seed} {who}")
        self._seen: dict[str, Seen] = {}
        self._own: dict[str, deque[str]] = {file.path: deque(maxlen=_N_REMEMBERED) for file in disk.files}
        self._last_edit: dict[str, tuple[str, Event]] = {}
        self.outcomes: Counter[str] = Counter()

    async def run(self, ends_at: float) -> None:
        while time.monotonic() < ends_at:
            file = self._dice.choice(self._disk.files)
            if self._dice.random() < 0.08 and file.path in self._last_edit:
                await self._undo(file)
                continue
            text = await self._read(file)
            if text is None:
                continue
            for _ in range(self._dice.randint(1, 3)):
                if self._dice.random() < 0.3:
                    await asyncio.sleep(self._dice.random() * 0.03)
                text = await self._edit(file, text)
                if text is None:
                    break

    # --- reads -------------------------------------------------------------------------------------------------

    async def _read(self, file: File) -> str | None:
        floor, own, began = file.number, list(self._own[file.path]), time.monotonic()
        answer = await self._hands.read(file.path)
        self.outcomes[f"read {answer.code or 'ok'} {answer.place}"] += 1
        if answer.code is not None:
            if answer.code not in _READ_REFUSALS:
                self._ledger.fault(f"{self._who}: read of {file.path}: {answer.code}: {answer.output}")
            return None
        text = "".join(f"{line}\n" for line in _LINE.findall(answer.output))
        self._seen[file.path] = Seen(answer.place, time.monotonic())
        if unknown_pieces(text) and not file.is_linked:
            self.outcomes["read while another program wrote in place"] += 1
            return None
        if pieces := [*unknown_pieces(text), *doubled(sorted_words(text))]:
            self._ledger.fault(f"{self._who}: read of {file.path}: {pieces} in {text!r}")
        self._judge_read(file, text, answer.place, floor, own, began)
        return text

    def _judge_read(self, file: File, text: str, place: str, floor: int, own: list[str], began: float) -> None:
        words, what = words_of(text), f"{self._who} reads"
        for word in words:
            self._ledger.judge_written(file.path, word, what, is_disk=place == "disk")
        if place != "disk":
            return
        if text[:1] == MARK and int(text[1:7]) < floor:
            self._ledger.fault(f"{what} {file.path}: the write {floor} is gone, {text[:7]} stands")
        for word in own:
            if word not in words:
                self._ledger.judge_absent(file.path, word, what, read_began=began)
                self._own[file.path].remove(word)

    # --- edits -------------------------------------------------------------------------------------------------

    async def _edit(self, file: File, text: str) -> str | None:
        """Returns the text as the agent has to expect it afterwards, None if it is to be read again."""
        edits, new = self._changes(text)
        if words_of(new) == words_of(text):  # one step has undone the other
            return None
        event = self._ledger.begin(
            Event(
                self._who,
                file.path,
                time.monotonic(),
                adds=words_of(new) - words_of(text),
                removes=words_of(text) - words_of(new),
            )
        )
        seen = self._seen[file.path]
        answer = await self._hands.edit(file.path, edits)
        self.outcomes[f"edit {answer.code or 'ok'} {answer.place}"] += 1
        if answer.code is not None:
            self._ledger.end(event, "void")
            self._ledger.judge_refused(event, answer.code)
            if answer.code not in _REFUSALS:
                self._ledger.fault(f"{self._who}: edit of {file.path}: {answer.code}: {answer.output} {edits}")
            return None
        self._ledger.end(event, "void" if answer.place == "buffer" else "maybe" if answer.is_other else "sure")
        if answer.is_other:
            self.outcomes["edit of which a part was written"] += 1
            self._last_edit.pop(file.path, None)
            return None
        if answer.place == "disk":
            self._own[file.path].extend(event.adds)
            if not answer.is_merged:
                self._judge_unseen(event, seen)
        else:
            self._ledger.judge_buffer_edit(event)
        self._last_edit[file.path] = (answer.edit_id, event)
        self._seen[file.path] = Seen(answer.place, event.begin)
        return new

    def _judge_unseen(self, event: Event, seen: Seen) -> None:
        """An edit that was not merged is one of what the session has seen, unless its rule allows more."""
        if seen.place != "disk" or self._freshness == "relevant":
            return
        other = self._ledger.unseen(event, seen.at)
        if other is not None:
            story = self._ledger.story(event.path, seen.at, event.end)
            self._ledger.fault(f"{self._who}: {event.path}: an edit was taken after a write of {other.who}\n{story}")

    def _changes(self, text: str) -> tuple[list[tuple[str, str]], str]:
        mark, _, rest = text.partition("\n")
        edits: list[tuple[str, str]] = []
        for _ in range(self._dice.choice((1, 1, 1, 2, 3))):
            words = sorted_words(rest)
            if not words:
                break
            old, new = self._change(rest, words)
            edits.append((old, new))
            rest = rest.replace(old, new, 1)
        return edits, f"{mark}\n{rest}"

    def _change(self, rest: str, words: list[str]) -> tuple[str, str]:
        word, fresh = self._dice.choice(words), self._ledger.word(self._who)
        line = next(line for line in rest.splitlines(keepends=True) if word in line)
        match self._dice.randrange(5):
            case 0 if len(words) < _MAX_WORDS:
                return word, f"{word} {fresh}"
            case 1 if len(words) < _MAX_WORDS:
                return word, f"{word}\n{fresh}"
            case 2 if len(words) > _MAX_WORDS // 4:
                return line, ""
            case _:
                return word, fresh

    async def _undo(self, file: File) -> None:
        edit_id, undone = self._last_edit.pop(file.path)
        if not edit_id:
            return
        event = Event(self._who, file.path, time.monotonic(), undone.removes, undone.adds, changes_back=True)
        self._ledger.begin(event)
        answer = await self._hands.undo(edit_id)
        self.outcomes[f"undo {answer.code or 'ok'} {answer.place}"] += 1
        # What others changed in its place in the meantime stays, so no single word is certain.
        self._ledger.end(event, "void" if answer.code is not None or answer.place == "buffer" else "maybe")
        self._own[file.path].clear()


def sorted_words(text: str) -> list[str]:
    """All words in the text, each as often as it occurs."""
    return [word for line in text.splitlines()[1:] for word in line.split()] if text else []


def _of(answer: Any) -> Outcome:
    return Outcome(
        answer.code,
        answer.output,
        str(answer.details.get("applied_to", "")),
        str(answer.details.get("edit_id", "")),
        is_merged=_MERGED in answer.output,
        is_other=answer.details.get("modified_by_user", False),
    )
