"""Undos and a rewind of one session agree: the same bytes, or the same refusal, also over renames.

Each game plays the same acts in two benches: of two agents, of a person, renames by all of them, undos and redos.
"""

import asyncio
import random
from collections.abc import Callable

import pytest

from fileops.model.changes import ChangeSetRequest, RenameFile
from fileops.model.edits import Edit
from fileops.model.errors import UndoConflict
from fileops.model.requests import EditRequest, HistoryRequest, ReadRequest, UndoRequest
from fileops.model.results import UndoResult
from fileops.model.rewind import RewindResult
from fileops.model.sessions import SessionName
from support.in_process import Workbench
from support.recording import PERSON, Recording

AGENT, OTHER = SessionName("agent"), SessionName("other")
ACTS = ("agent", "agent", "agent", "other", "other", "person", "person", "rename", "agent renames", "undo", "redo")
N_GAMES = 40


class Player:
    """One bench, with the file that everyone changes. recording: None in a private daemon."""

    def __init__(self, start: bytes, recording: Recording | None) -> None:
        self.recording = recording
        self.bench = Workbench() if recording is None else recording.bench
        self.path = "/w/f"
        self.bench.disk.put(self.path, start)

    @property
    def data(self) -> bytes:
        return self.bench.on_disk(self.path) or b""

    def save(self, new: bytes) -> None:
        if self.recording is None:
            self.bench.disk.put(self.path, new)
        else:
            self.recording.write(self.path, new, PERSON)

    async def edit(self, session: SessionName, new: bytes) -> None:
        await self.bench.service.read(ReadRequest(file_path=self.path, session_id=session))
        edit = Edit(old_string=self.data.decode(), new_string=new.decode())
        result = await self.bench.service.edit(EditRequest(file_path=self.path, edits=(edit,), session_id=session))
        assert result.error is None, result.output
        self.settle()

    async def rename(self, new_path: str, session: SessionName | None) -> None:
        if session is not None:
            await self.bench.service.read(ReadRequest(file_path=self.path, session_id=session))
            change = RenameFile(file_path=self.path, new_path=new_path)
            result = await self.bench.service.apply_changes(ChangeSetRequest(changes=(change,), session_id=session))
            assert result.error is None, result.output
        elif self.recording is not None:
            self.recording.rename(self.path, new_path, PERSON)
        self.settle()

    async def undo_one(self, number: int, *, is_redo: bool) -> None:
        """Undo an edit of the agent, or (is_redo) one of the undos; nothing if there is none, or it is in conflict."""
        edits = await self.bench.service.history.edits(HistoryRequest())
        in_force = [edit for edit in edits if edit.undone_by is None and edit.is_undo is is_redo]
        known = [edit for edit in in_force if edit.renamed_from is None and edit.session_id in {AGENT, ""}]
        if known:
            await self.undo(UndoRequest(edit_id=known[number % len(known)].edit_id, is_approved=True))

    async def undo(self, request: UndoRequest) -> UndoResult:
        result = await self.bench.service.history.undo(request)
        self.settle()
        return result

    def settle(self) -> None:
        if self.recording is not None:
            self.recording.settle()

    def find(self) -> None:
        """Follow what an undo of a rename did."""
        self.path = next(
            path for path in ("/w/f", "/w/fr", "/w/frr", "/w/frrr") if self.bench.on_disk(path) is not None
        )

    def files(self) -> dict[str, bytes | None]:
        return {path: self.bench.on_disk(path) for path in ("/w/f", "/w/fr", "/w/frr", "/w/frrr")}


def changed(data: bytes, dice: random.Random, word: bytes) -> bytes:
    """The text with a changed, a new or without a line."""
    lines = data.splitlines(keepends=True)
    at, how = dice.randrange(len(lines) + 1), dice.random()
    if how < 0.5 and at < len(lines):
        lines[at] = b" ".join(word if dice.random() < 0.4 else old for old in lines[at].split()) + b"\n"
    elif how < 0.8 or at == len(lines) or len(lines) == 1:
        lines.insert(at, b"new %s\n" % word)
    else:
        del lines[at]
    return b"".join(lines)


async def play(seed: int, *players: Player, is_private: bool = False) -> None:
    """Let all players do the same."""
    dice = random.Random(seed)
    acts = [act for act in ACTS if not is_private or act not in {"person", "rename"}]
    for number in range(dice.randrange(2, 14)):
        act = dice.choice(acts)
        if act == "agent renames":  # once: a rewind leaves two renames of a file that others changed
            acts.remove(act)
        new = changed(players[0].data, dice, b"w%d" % number)
        chosen = dice.randrange(100)
        for player in players:
            match act:
                case "agent" | "other" if new != player.data:
                    await player.edit(AGENT if act == "agent" else OTHER, new)
                case "person" if new != player.data:
                    player.save(new)
                case "rename" | "agent renames" if len(player.path) < len("/w/frrr"):
                    await player.rename(f"{player.path}r", AGENT if act == "agent renames" else None)
                case "undo" | "redo":
                    await player.undo_one(chosen, is_redo=act == "redo")
                case _:
                    pass
        for player in players:
            player.find()
        assert len({str(player.files()) for player in players}) == 1, "the players differ before the end"


def has_undone_all(result: UndoResult | RewindResult) -> bool:
    if isinstance(result, RewindResult):
        return result.error is None and result.n_left == 0
    return result.error is None


async def session_undone(player: Player) -> UndoResult:
    return await player.undo(UndoRequest(session_id=AGENT, is_approved=True))


async def session_rewound(player: Player) -> RewindResult:
    assert player.recording is not None
    return await player.recording.rewind("session_id", AGENT)


async def agreed(seed: int) -> None:
    """An undo of a session, and a rewind of it."""
    undoing, rewinding = (Player(START, Recording()) for _ in range(2))
    try:
        await play(seed, undoing, rewinding)
        undone, rewound = await session_undone(undoing), await session_rewound(rewinding)
        is_nothing = isinstance(undone.error, UndoConflict) and undone.error.reason == "nothing_to_undo"
        if is_nothing:
            assert rewound.error is not None, (seed, rewound.output)
        else:
            assert has_undone_all(undone) is has_undone_all(rewound), (seed, undone.output, rewound.output)
        if has_undone_all(undone):
            assert undoing.files() == rewinding.files(), seed
    finally:
        undoing.bench.close()
        rewinding.bench.close()


async def agreed_one_by_one(seed: int) -> None:
    """Undos of each edit of a session in any order, as far as they succeed, and a rewind of it."""
    undoing, rewinding = (Player(START, Recording()) for _ in range(2))
    try:
        await play(seed, undoing, rewinding)
        edits = await undoing.bench.service.history.edits(HistoryRequest(session_id=AGENT))
        left = [edit.edit_id for edit in edits if edit.undone_by is None and not edit.is_undo]
        random.Random(seed).shuffle(left)
        n_left = len(left) + 1
        while left and len(left) < n_left:  # an older one may depend on a newer one
            n_left = len(left)
            results = [
                (await undoing.undo(UndoRequest(edit_id=edit_id, is_approved=True)), edit_id) for edit_id in left
            ]
            left = [edit_id for result, edit_id in results if result.error is not None]
        rewound = await session_rewound(rewinding)
        if not left and edits and has_undone_all(rewound):
            assert undoing.files() == rewinding.files(), seed
    finally:
        undoing.bench.close()
        rewinding.bench.close()


async def agreed_in_private(seed: int) -> None:
    """An undo of a session in a daemon that records, and in one that does not."""
    shared, private = Player(START, Recording()), Player(START, None)
    try:
        await play(seed, shared, private, is_private=True)
        results = await session_undone(shared), await session_undone(private)
        assert results[0].output == results[1].output, seed
        assert shared.files() == private.files(), seed
    finally:
        shared.bench.close()
        private.bench.close()


START = b"".join(b"line %d %d\n" % (number, number) for number in range(6))


@pytest.mark.parametrize("first_seed", range(0, N_GAMES, 10))
@pytest.mark.parametrize("game", [agreed, agreed_one_by_one, agreed_in_private])
def test_undo_and_rewind_of_a_session_agree(game: Callable[[int], object], first_seed: int) -> None:
    for seed in range(first_seed, first_seed + 10):
        asyncio.run(game(seed))  # pyrefly: ignore[bad-argument-type]
