"""Law 11 of the story of a file (ADR 36): a keep is a mark of text, and stays whatever happens to the file."""

import random
import re
from collections.abc import Generator

import pytest

from fileops.model.record import By
from fileops.model.rewind import KeepRequest, UnkeptChange
from fileops.service.rewind.unkept import UnkeptPlaces
from support.recording import AGENT, OTHER, PERSON, Recording

PATHS = ("/w/a", "/w/b")
WORD = re.compile(r"[a-z]+\d+")
N_STEPS = 25


class MarkGame:
    """One file, in which agents write words that are new. Some of their changes are kept.

    kept: words of kept changes, also those that these removed.
    """

    def __init__(self, recording: Recording, seed: int) -> None:
        self.recording, self.random = recording, random.Random(seed)
        self.path = PATHS[0]
        self.n_words = 0
        self.kept, self.of_agents = set[str](), set[str]()
        self.contents: list[bytes] = []
        self._write("".join(f"base{n} line{n}\nquiet{n}\n" for n in range(8)), PERSON)

    def play(self) -> None:
        """Take one step."""
        draw = self.random
        match draw.randrange(10):
            case 0 | 1 | 2:
                self._change_line(draw.choice((AGENT, OTHER)), "agent")
            case 3 | 4:
                self._keep()
            case 5 | 6:
                self._change_line(PERSON, "person")
            case 7:  # git switches to another branch, or an editor takes something back; and back again
                is_beside_git = draw.random() < 0.5
                for content in (draw.choice(self.contents), self.contents[-1]):
                    self.recording.write(self.path, content, PERSON, is_beside_git=is_beside_git)
                    self.check()
            case 8:
                new_path = PATHS[self.path == PATHS[0]]
                self.recording.rename(self.path, new_path, PERSON)
                self.path = new_path
            case _:
                self._empty_and_restore()
        self.check()

    def check(self) -> None:
        content = (self.recording.bench.on_disk(self.path) or b"").decode()
        shown, removed = set[str](), set[str]()
        for change in self._listed():
            shown.update(self._words_of(change))
            removed.update(WORD.findall(change.removed_text))
        assert not (shown | removed) & self.kept
        assert (set(WORD.findall(content)) & self.of_agents) - self.kept <= shown

    def _listed(self) -> list[UnkeptChange]:
        self.recording.settle()
        files = UnkeptPlaces(self.recording.store, self.recording.bench.disk).find().files
        return [change for file in files for change in file.changes if file.file_path == self.path]

    def _words_of(self, change: UnkeptChange) -> list[str]:
        lines = (self.recording.bench.on_disk(self.path) or b"").decode().splitlines()
        return WORD.findall("\n".join(lines[change.start_line - 1 : change.end_line]))

    def _keep(self) -> None:
        listed = self._listed()
        for change in self.random.sample(listed, min(len(listed), 2)):
            self.kept.update(self._words_of(change))
            self.kept.update(WORD.findall(change.removed_text))
            UnkeptPlaces(self.recording.store, self.recording.bench.disk).keep(
                KeepRequest(change_ids=(change.change_id,))
            )

    def _change_line(self, by: By, author: str) -> None:
        """Write a line in a gap between quiet lines, or in place of a line that is there."""
        draw = self.random
        lines = self.contents[-1].decode().splitlines()
        self.n_words += 1
        word = f"{author}{self.n_words}"
        at = draw.choice([n for n, line in enumerate(lines) if line.startswith("quiet")])
        is_base = at > 0 and lines[at - 1].startswith("base")
        lines[at - 1 if is_base and draw.random() < 0.5 else at : at] = [word]
        if author == "agent":
            self.of_agents.add(word)
        self._write("\n".join(lines) + "\n", by)

    def _empty_and_restore(self) -> None:
        """The file is emptied by a person, and has its text again."""
        for content in (b"", self.contents[-1]):
            self.recording.write(self.path, content, PERSON)
            self.check()

    def _write(self, text: str, by: By) -> None:
        self.recording.write(self.path, text.encode(), by)
        self.contents.append(text.encode())


@pytest.fixture
def recording() -> Generator[Recording]:
    recording = Recording()
    yield recording
    recording.bench.close()


@pytest.mark.parametrize("seed", range(12))
def test_kept_text_is_not_listed_again_and_what_is_not_kept_stays_listed(recording: Recording, seed: int) -> None:
    game = MarkGame(recording, seed)
    for _ in range(N_STEPS):
        game.play()
