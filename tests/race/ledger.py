"""What was written by whom and when, and whether a text is explained by it. Imports nothing of the server.

Every word of the race is written once by one writer, so a text is judged word by word. A word that was surely written
remains, unless something that was written or taken out later, or at the same time, explains that it does not. A word
that is there was written, and nothing that surely came later has taken it out.
"""

import math
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

WORD = re.compile(r"[a-z][0-9]{6}")

# open: on its way, it may have happened. sure: it has happened. maybe: it is not known. void: it has not happened.
State = Literal["open", "sure", "maybe", "void"]


@dataclass(slots=True, eq=False)
class Event:
    """One write. begin, end: on the monotonic clock; it happened in between.

    whole: all words of the file afterwards, of a writer that replaces everything; it knew the content at `base_begin`.
    """

    who: str
    path: str
    begin: float
    adds: frozenset[str] = frozenset()
    removes: frozenset[str] = frozenset()
    whole: frozenset[str] | None = None
    base_begin: float = 0.0
    end: float = math.inf
    state: State = "open"
    changes_back: bool = False  # the new words may have been there before: an undo

    def brings(self, word: str) -> bool:
        return word in self.adds or (self.whole is not None and word in self.whole)

    def takes(self, word: str) -> bool:
        return word in self.removes or (self.whole is not None and word not in self.whole)


@dataclass(slots=True)
class _Word:
    brought: list[Event] = field(default_factory=list["Event"])  # by name
    taken: list[Event] = field(default_factory=list["Event"])


class Ledger:
    """Of all files' disks. Any thread."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._lock = threading.Lock()
        self._words: dict[tuple[str, str], _Word] = defaultdict(_Word)
        self._wholes: dict[str, list[Event]] = defaultdict(list)
        self._all: dict[str, list[Event]] = defaultdict(list)
        self._buffer_edits: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = defaultdict(list)
        self._last_number: dict[str, int] = defaultdict(int)

    def fault(self, text: str) -> None:
        with self._lock:
            self.faults.append(text)

    # --- writes ------------------------------------------------------------------------------------------------

    def word(self, who: str) -> str:
        """A word that was never used before."""
        with self._lock:
            self._last_number[who] += 1
            return f"{who}{self._last_number[who]:06d}"

    def begin(self, event: Event) -> Event:
        with self._lock:
            self._all[event.path].append(event)
            if event.whole is not None:
                self._wholes[event.path].append(event)
            for word in (event.whole or frozenset()) | event.adds:
                self._words[event.path, word].brought.append(event)
            for word in event.removes:
                self._words[event.path, word].taken.append(event)
        return event

    def type(self, path: str, word: str) -> None:
        """A word in an editor, which a read may show; on the disk it is written by a save."""
        with self._lock:
            self._words[path, word].brought.append(Event("typing", path, time.monotonic(), state="void"))

    def note_buffer_edit(self, path: str, adds: frozenset[str], removes: frozenset[str]) -> None:
        """An editor has made an edit of an agent."""
        with self._lock:
            self._buffer_edits[path].append((adds, removes))

    def judge_buffer_edit(self, event: Event) -> None:
        """An edit of an unsaved document that was acknowledged: an editor has made exactly it."""
        with self._lock:
            made = (event.adds, event.removes) in self._buffer_edits[event.path]
        if not made:
            self.fault(f"{event.who}: {event.path}: no editor has made {sorted(event.adds)} of {sorted(event.removes)}")

    def judge_refused(self, event: Event, code: str) -> None:
        """An edit that was refused: no editor has made it."""
        with self._lock:
            made = bool(event.adds) and (event.adds, event.removes) in self._buffer_edits[event.path]
        if made:
            self.fault(f"{event.who}: {event.path}: an editor has made {sorted(event.adds)}, which was answered {code}")

    def end(self, event: Event, state: State) -> None:
        with self._lock:
            event.end = time.monotonic()
            event.state = state

    # --- judgements --------------------------------------------------------------------------------------------

    def judge_text(self, path: str, text: str, what: str) -> None:
        """At the end, when nothing is on its way: every word that is there, and every one that is not."""
        words = WORD.findall(text)
        for word in {word for word in words if words.count(word) > 1}:
            self.fault(f"{what}: {path}: {word} stands twice")
        standing = set(words)
        with self._lock:
            known = {word for known_path, word in self._words if known_path == path}
        for word in standing:
            self.judge_present(path, word, what)
        for word in known - standing:
            self.judge_absent(path, word, what)

    def judge_present(self, path: str, word: str, what: str) -> None:
        with self._lock:
            entry = self._words.get((path, word))
            brought = [event for event in entry.brought if event.state != "void"] if entry else []
            if not brought:
                self.faults.append(f"{what}: {path}: nobody wrote {word}")
                return
            assert entry is not None
            last = max(event.end for event in brought)
            taking = (*entry.taken, *(event for event in self._wholes[path] if event.takes(word)))
            thief = next((event for event in taking if event.state == "sure" and event.begin > last), None)
        if thief is not None:
            self.fault(f"{what}: {path}: {word} stands, which {thief.who} has taken out")

    def judge_written(self, path: str, word: str, what: str, *, is_disk: bool) -> None:
        """A word that was read was written; on the disk, by a write that was not refused."""
        with self._lock:
            entry = self._words.get((path, word))
            brought = [event for event in entry.brought if event.state != "void" or not is_disk] if entry else []
        if not brought:
            self.fault(f"{what} {path}: nobody wrote {word}" + (" to the disk" if entry else ""))

    def judge_absent(self, path: str, word: str, what: str, *, read_began: float = math.inf) -> None:
        """Args: read_began: of the read that did not show the word; what ended later may not have been there yet."""
        with self._lock:
            entry = self._words[path, word]
            sure = [event for event in entry.brought if event.state == "sure" and event.end < read_began]
            if not sure:
                return
            last = max(sure, key=lambda event: event.begin)
            taken = any(event.state != "void" and event.end >= last.begin for event in entry.taken)
            if taken or any(
                event.state != "void" and event.end >= last.begin and last.end >= event.base_begin
                for event in reversed(self._wholes[path])
                if event.takes(word)
            ):
                return
        self.fault(f"{what}: {path}: {word} of {last.who} is gone, and nobody has taken it out")

    def unseen(self, own: Event, seen: float) -> Event | None:
        """What surely changed the file after `seen` and before this write began; None if nothing did.

        None also if there may have been an undo since, also while this write was on its way: after it the file may be
        what it was.
        """
        with self._lock:
            others = [event for event in self._all[own.path] if event.who != own.who and event.state != "void"]
        if any(event.changes_back and event.end > seen and event.begin < own.end for event in others):
            return None
        surely = (event for event in others if event.state == "sure")
        return next((event for event in surely if event.begin > seen and event.end < own.begin), None)

    def story(self, path: str, since: float, until: float) -> str:
        """What was written between these times, in the order in which it ended. Times: ms after `since`."""
        with self._lock:
            events = [event for event in self._all[path] if event.end >= since and event.begin <= until]
        lines: list[str] = []
        for event in sorted(events, key=lambda event: event.end):
            begin, end = (f"{(at - since) * 1000:.1f}" for at in (event.begin, event.end))
            words = sorted(event.whole if event.whole is not None else event.adds), sorted(event.removes)
            lines.append(f"  {event.who} {begin} to {end} ms {event.state}: brings {words[0]}, takes {words[1]}")
        return "\n".join(lines)


def words_of(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text))


def unknown_pieces(text: str) -> list[str]:
    """What is neither a word nor white space."""
    return WORD.sub(" ", text).split()


def doubled(words: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [word for word in words if word in seen or seen.add(word)]
