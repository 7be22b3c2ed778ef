"""The files of the race as programs write them that know nothing of the daemons: whole, in place or by a rename.

The first word of a file is the number of the last such write. No agent touches it. So what a daemon puts in place for
a moment and reverts, because it noticed such a write, can be distinguished from what remains.
"""

import fcntl
import os
import random
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from race.ledger import Event, Ledger, State, words_of

MARK = "z"
BACK_S = 10.0  # for a daemon to put back what it has taken


@dataclass(slots=True)
class File:
    """number: of the last write that is surely in the file. late: of later ones that may be. lock: of its writer."""

    path: str
    is_linked: bool
    number: int = 0
    late: set[int] = field(default_factory=set[int])
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def mark(self) -> str:
        return f"{MARK}{self.number:06d}"

    @property
    def next_number(self) -> int:
        return max((self.number, *self.late)) + 1

    def is_current(self, text: str) -> bool:
        """Whether the text is that of the last write, and not one that a daemon puts there for a moment."""
        found = int(text[1:7]) if text[:1] == MARK and text[1:7].isdigit() else -1
        if found in self.late:
            self.number = found
            self.late = {number for number in self.late if number > found}
        return found == self.number


@dataclass(frozen=True, slots=True)
class Loaded:
    """A text that was read, and when that began."""

    text: str
    begin: float


class Disk:
    def __init__(self, folder: str, ledger: Ledger, n_files: int, n_linked: int, dice: random.Random) -> None:
        self.folder = folder
        self.ledger = ledger
        self.files: list[File] = []
        self.n_writes = self.n_late = self.n_glimpses = 0
        for n in range(n_files + n_linked):
            file = File(f"{folder}/f{n}", is_linked=n >= n_files)
            lines = [" ".join(ledger.word("y") for _ in range(dice.randint(1, 3))) for _ in range(8)]
            text = "".join(f"{line}\n" for line in (file.mark, *lines))
            Path(file.path).write_text(text)
            ledger.end(ledger.begin(Event("the start", file.path, 0.0, whole=words_of(text))), "sure")
            if file.is_linked:
                os.link(file.path, f"{folder}/twin{n}")
            self.files.append(file)

    @property
    def free_files(self) -> list[File]:
        """Those that have one name, so that other programs may replace them."""
        return [file for file in self.files if not file.is_linked]

    @contextmanager
    def loaded(self, file: File) -> Generator[Loaded]:
        """The text of a file that only the daemons write in the meantime."""
        with file.lock:
            until = time.monotonic() + BACK_S
            while True:
                began = time.monotonic()
                text = _whole_text(file)
                if file.is_current(text):
                    break
                self.n_glimpses += 1
                if time.monotonic() > until:
                    self.ledger.fault(f"{file.path}: the write {file.mark} is gone: {text[:40]!r}")
                    break
                time.sleep(0.001)
            yield Loaded(text, began)

    def write(self, who: str, file: File, text: str, base: Loaded, *, in_place: bool) -> str | None:
        """Write the text with the next number; `file` is locked. None if it went into a file that was replaced.

        base: what the writer has read, long ago perhaps: what was written since is overwritten.
        """
        number = file.next_number
        _, newline, rest = text.partition("\n")
        text = f"{MARK}{number:06d}{newline}{rest}"
        event = Event(who, file.path, time.monotonic(), whole=words_of(text), base_begin=base.begin)
        event.removes = words_of(base.text) - words_of(text)
        self.ledger.begin(event)
        if in_place:
            state = self._write_in_place(file, text.encode())
        else:
            draft = f"{self.folder}/{who}.draft"
            Path(draft).write_text(text)
            os.rename(draft, file.path)
            state = "sure"
        self.ledger.end(event, state)
        if state != "sure":
            self.n_late += 1
            file.late.add(number)
            return None
        file.number = number
        file.late.clear()
        self.n_writes += 1
        return text

    def _write_in_place(self, file: File, data: bytes) -> State:
        """Of the size that it has. "maybe" if the file that was opened had been replaced (see GUARANTEES.md)."""
        with open(file.path, "r+b", buffering=0) as opened:
            if os.fstat(opened.fileno()).st_size != len(data):
                return "void"
            opened.write(data)
            until = time.monotonic() + BACK_S
            while (own := os.fstat(opened.fileno())).st_nlink:
                if os.path.samestat(own, os.stat(file.path)):
                    return "sure"
                if time.monotonic() > until:
                    self.ledger.fault(f"{file.path}: the file that was written into has another name")
                    return "sure"
                time.sleep(0.0005)  # it is being put back or taken away
        return "maybe"


def _whole_text(file: File) -> str:
    """A file with several names is written in place; it is read before or after that, not during it."""
    with open(file.path) as opened:
        if file.is_linked:
            fcntl.flock(opened, fcntl.LOCK_SH)
        return opened.read()


class Outsider(threading.Thread):
    """A program that now and then replaces a word of a file by another, without any coordination."""

    def __init__(self, who: str, disk: Disk, dice: random.Random, *, in_place: bool, pause_s: float) -> None:
        super().__init__(name=f"outside {who}", daemon=True)
        self._who = who
        self._disk = disk
        self._dice = dice
        self._in_place = in_place
        self._pause_s = pause_s
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(self._dice.random() * 2 * self._pause_s):
            file = self._dice.choice(self._disk.free_files)
            with self._disk.loaded(file) as base:
                mark, _, rest = base.text.partition("\n")
                if not (words := sorted(words_of(rest))):
                    continue
                new = rest.replace(self._dice.choice(words), self._disk.ledger.word(self._who))
                if self._dice.random() < 0.2:
                    time.sleep(0.002)  # agents go on in the meantime
                self._disk.write(self._who, file, f"{mark}\n{new}", base, in_place=self._in_place)
