"""The changes that are not kept, in the full screen: by turn and file, with their differences, to keep and undo them.

It is above the queue of `review`, whose program owns the connection. Everything runs in that program's event loop.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import ClassVar, NamedTuple, cast

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

from fileops.core.presentation.phrases import format_count
from fileops.platform.page import cells
from fileops.terminal.connection import UNREACHABLE, reason_of
from fileops.terminal.lines import DiffLine, cell_heading, number_lines, relative, shorten_folder, visible
from fileops.terminal.record_lines import reverse_cells, reverse_diff, rewind_lines, unshown_lines, when
from fileops.terminal.renames import to_shown_files
from fileops.terminal.unkept_board import BoardTurn, UnkeptBoard, UnkeptRow, count_changes, find_change, name_cells
from fileops.terminal.widgets import DiffLines, Page, TextLines
from fileops_client import FileOpsClient
from fileops_client.errors import ResponseError
from fileops_client.rewind import Rewind
from fileops_client.values import DidChangeUnkeptParams

REWIND_S = 120.0
MAX_NAME_CELLS = 50  # of the names, at which the numbers of lines are aligned

HELP = """\
Up Down  j k   the file above, below
] [            the next, the previous turn
n p            the next, the previous change; after the last one, the next file
a u            keep, undo this change
f F            keep, undo this file's changes of the turn
t T            keep, undo the turn
A X            keep, undo everything here
z              take back the last keep or undo of this screen
PgUp PgDn, Left Right   scroll the differences
c  Esc         the edits that wait for you
q              leave

Esc closes this page."""

KEYS = " a/u keep/undo change  f/F file  t/T turn  A/X all  z back  n/p next  ? help"

Step = Callable[[FileOpsClient], Awaitable[str]]  # changes something, and returns what to say


class Chosen(NamedTuple):
    """What a decision is about."""

    name: str
    rows: Sequence[UnkeptRow]
    change_ids: Sequence[str]


class ChangesScreen(ModalScreen[None]):
    """The list. It is modal, because the keys of the queue below must decide nothing here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("down,j", "move(1)", "below"),
        ("up,k", "move(-1)", "above"),
        ("right_square_bracket", "move_turn(1)", "next turn"),
        ("left_square_bracket", "move_turn(-1)", "previous turn"),
        ("n", "move_change(1)", "next change"),
        ("p", "move_change(-1)", "previous change"),
        ("a", "keep('change')", "keep change"),
        ("u", "undo('change')", "undo change"),
        ("f", "keep('file')", "keep file"),
        ("F", "undo('file')", "undo file"),
        ("t", "keep('turn')", "keep turn"),
        ("T", "undo('turn')", "undo turn"),
        ("A", "keep('all')", "keep all"),
        ("X", "undo('all')", "undo all"),
        ("z", "take_back", "take back"),
        ("pagedown", "page(1)", "scroll"),
        ("pageup", "page(-1)", "scroll"),
        ("right", "sideways(8)", "scroll"),
        ("left", "sideways(-8)", "scroll"),
        ("c,escape", "close", "edits that wait"),
        ("question_mark", "help", "keys"),
        ("q,ctrl+c,ctrl+q", "leave", "quit"),
    ]

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.board = UnkeptBoard()
        self._folder = folder
        self._client: FileOpsClient | None = None
        self._otherwise = ""  # in place of an empty list
        self._message = ""
        self._n_waiting = 0
        self._is_ready = False
        self._is_stale = asyncio.Event()
        self._is_moved = asyncio.Event()
        self._steps: asyncio.Queue[Step] = asyncio.Queue()
        self._done: list[Step] = []  # what takes the decisions of this screen back, the newest last

    @property
    def _program(self) -> App[int]:
        return cast("App[int]", self.app)

    # --- of the program --------------------------------------------------------------------------------------------

    def take_client(self, client: FileOpsClient | None) -> None:
        """Use this connection from now on; None: the daemon has ended."""
        self._client = client
        self._message = ""
        if client is None:
            self._say("The shared daemon has ended, so nothing can be decided here. It is looked for again.")
        else:
            client.on(DidChangeUnkeptParams.METHOD, lambda _: self._is_stale.set())
        self._is_stale.set()

    def show_n_waiting(self, n_waiting: int) -> None:
        """Say how many edits wait in the queue."""
        self._n_waiting = n_waiting
        self._show()

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield TextLines(id="queue")
        yield Static(id="about", markup=False)
        yield DiffLines(id="diff")
        yield Static(id="message", markup=False)
        yield Static(KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self._is_ready = True
        self._is_stale.set()
        self._is_moved.set()
        self.run_worker(self._follow_list())
        self.run_worker(self._follow_cursor())
        self.run_worker(self._carry_out())
        self._show()

    async def _follow_list(self) -> None:
        """List the changes again whenever they may have changed."""
        while True:
            await self._is_stale.wait()
            self._is_stale.clear()
            await self._list()

    async def _list(self) -> None:
        if (client := self._client) is None:
            return
        try:
            self.board.take(await client.unkept(root=self._folder))
            self._otherwise = "" if self.board.turns else await self._explain_empty(client)
        except UNREACHABLE as fault:
            self._say(f"The changes cannot be listed: {_explain(fault)}")
            return
        self._is_moved.set()
        self._show()

    async def _explain_empty(self, client: FileOpsClient) -> str:
        status = await client.record_status(self._folder)
        if not status:
            return "Nothing is recorded in this folder."
        if any(recorded.state == "starting" for recorded in status):
            return "The recording of this folder has just begun: wait a moment."
        return "All changes by agents are kept or undone."

    async def _follow_cursor(self) -> None:
        """Show the differences of the row under the cursor whenever they may have changed."""
        while True:
            await self._is_moved.wait()
            self._is_moved.clear()
            client, row = self._client, self.board.row
            lines: list[DiffLine] = []
            if client is not None and row is not None:
                try:
                    preview = await client.rewind(
                        change_ids=row.change_ids, dry_run=True, approved=True, timeout_s=REWIND_S
                    )
                except UNREACHABLE as fault:
                    lines = [DiffLine(" ", f"The differences cannot be shown: {_explain(fault)}", None)]
                else:
                    lines = _list_lines(preview, row, self._folder)
            if not self._is_moved.is_set():
                at = None if (change := self.board.change) is None else change.change_id
                self.query_one("#diff", DiffLines).show_diff(lines, at=at)

    # --- decisions -------------------------------------------------------------------------------------------------

    def action_keep(self, what: str) -> None:
        if (chosen := self._choose(what)) is not None:
            self.run_worker(self._confirm("Keep", "keep", what, chosen, partial(self._keep, chosen)))

    def action_undo(self, what: str) -> None:
        if (chosen := self._choose(what)) is not None:
            self.run_worker(self._confirm("Undo", "undo", what, chosen, partial(self._undo, chosen)))

    def action_take_back(self) -> None:
        if not self._done:
            self._say("Nothing was decided here yet. Earlier: fileops-server redo, fileops-server keep --undo last.")
            return
        self._steps.put_nowait(self._done.pop())

    def _choose(self, what: str) -> Chosen | None:
        chosen, change = self.board.chosen, self.board.change
        if chosen is None:
            self._say("There is nothing to keep or undo.")
            return None
        turn, row = chosen
        name = relative(row.path, self._folder)
        if what == "change" and change is not None and row.moved_from is None:
            number = f"change {self.board.change_number} of {name}"
            return Chosen(number, [row._replace(changes=(change,))], [change.change_id])
        if what in {"change", "file"}:
            return Chosen(name, [row], row.change_ids)
        turns = [turn] if what == "turn" else self.board.turns
        rows = [row for one in turns for row in one.rows]
        title = f"  {visible(turn.turn.title)}" if turn.turn.title else ""
        name = f"{_name_turn(turn)}{title}" if what == "turn" else shorten_folder(self._folder)
        return Chosen(name, rows, list(dict.fromkeys(each for row in rows for each in row.change_ids)))

    async def _confirm(self, verb: str, key: str, what: str, chosen: Chosen, step: Step) -> None:
        """Decide. For more than one file, the person has to confirm."""
        if what in {"turn", "all"}:
            n_files = len({row.path for row in chosen.rows})
            counts = f"{format_count(count_changes(chosen.rows), 'change')} in {format_count(n_files, 'file')}"
            question = f"{verb} {counts} of {visible(chosen.name)}?\n\ny: {key}   Esc: back"
            if await self._program.push_screen_wait(Page(question, ("y",))) != "y":
                return
        self._steps.put_nowait(step)

    async def _carry_out(self) -> None:
        """Carry out the decisions, one after the other, each followed by the list that it leaves."""
        while True:
            step = await self._steps.get()
            if (client := self._client) is None:
                self._say("There is no daemon, so nothing was decided.")
                continue
            try:
                said = await step(client)
            except UNREACHABLE as fault:
                said = f"That was not done: {_explain(fault)}"
            self._say(said)
            await self._list()

    async def _keep(self, chosen: Chosen, client: FileOpsClient) -> str:
        kept = await client.keep(change_ids=chosen.change_ids)
        if (keep_id := kept.keep_id) is None:
            return "There was nothing to keep: it is kept or undone already."

        async def take_back(client: FileOpsClient) -> str:
            await client.undo_keep(keep_id)
            return f"To keep or undo again: {visible(chosen.name)}."

        self._done.append(take_back)
        return f"Kept {visible(chosen.name)}. z takes it back."

    async def _undo(self, chosen: Chosen, client: FileOpsClient) -> str:
        done = await client.rewind(change_ids=chosen.change_ids, approved=True, timeout_s=REWIND_S)
        if done.error is not None:
            return visible(done.error.message)
        if (rewind_id := done.rewind_id) is not None:

            async def take_back(client: FileOpsClient) -> str:
                redone = await client.rewind(rewind_id=rewind_id, approved=True, timeout_s=REWIND_S)
                if redone.error is not None:
                    return visible(redone.error.message)
                return self._describe(redone, "redone")

            self._done.append(take_back)
        back = " z takes it back." if rewind_id is not None else ""
        return f"{self._describe(done, 'undone')}{back}"

    def _describe(self, rewind: Rewind, done: str) -> str:
        """What a rewind did, and what it left."""
        sentence, *rest = rewind_lines(rewind, self._folder, done, 0)
        left = [line for line in rest if line[0][1] == "warning"]
        return " ".join("".join(text for text, _ in line).strip() for line in (sentence, *left))

    # --- moving ----------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        self.board.move(by)
        self._show_moved()

    def action_move_turn(self, by: int) -> None:
        self.board.move_turn(by)
        self._show_moved()

    def action_move_change(self, by: int) -> None:
        self.board.move_change(by)
        self._show_moved()

    def _show_moved(self) -> None:
        self._is_moved.set()
        self._show()

    def action_page(self, by: int) -> None:
        self.query_one("#diff", DiffLines).scroll_pages(by)

    def action_sideways(self, by: int) -> None:
        self.query_one("#diff", DiffLines).scroll_relative(x=by, animate=False)

    def action_help(self) -> None:
        self._program.push_screen(Page(HELP))

    def action_close(self) -> None:
        self.dismiss()

    def action_leave(self) -> None:
        self._program.exit(0)

    # --- what is shown ---------------------------------------------------------------------------------------------

    def _say(self, message: str) -> None:
        self._message = message
        self._show()

    def _show(self) -> None:
        if not self._is_ready:
            return
        head = Text(f" {_format_counts(self.board)} not kept", style="bold")
        if self._n_waiting:
            head.append("   ")
            verb = "waits" if self._n_waiting == 1 else "wait"
            head.append(f" {format_count(self._n_waiting, 'edit')} {verb} for you: c ", style="reverse")
        head.append(f"   {visible(shorten_folder(self._folder))}", style="dim")
        self.query_one("#head", Static).update(head)
        rows, chosen = self._draw_rows()
        self.query_one("#queue", TextLines).show(rows, revealed=chosen)
        self.query_one("#about", Static).update(self._describe_row())
        self.query_one("#message", Static).update(Text(f" {self._message}", style="bold"))

    def _draw_rows(self) -> tuple[list[Text], int | None]:
        rows: list[Text] = []
        revealed: int | None = None
        chosen = self.board.row
        names = {id(row): self._name_row(row) for turn in self.board.turns for row in turn.rows}
        width = max((size for name in names.values() if (size := cells(name)) <= MAX_NAME_CELLS), default=0)
        for turn in self.board.turns:
            size = f"{format_count(count_changes(turn.rows), 'change')} in {format_count(len(turn.rows), 'file')}"
            drawn = Text(f" {_name_turn(turn)}", style="bold").append(f"  {size}", style="dim")
            rows.append(drawn.append(f"  {visible(turn.turn.title)}" if turn.turn.title else "", style="bold"))
            for row in turn.rows:
                is_chosen = row is chosen
                revealed = len(rows) if is_chosen else revealed
                name = names[id(row)]
                drawn = Text(f" {'>' if is_chosen else ' '} {name}", style="reverse" if is_chosen else "")
                drawn.append(" " * max(0, width - cells(name)))
                if row.without_lines is None and not row.is_rename_only:
                    drawn.append(f"  +{row.added}", style="green").append(f" -{row.removed}", style="red")
                elif row.moved_from is None:
                    drawn.append(f"  ({row.without_lines})", style="dim")
                notes = [row.cells] if row.cells else []
                notes += row.other_authors(turn.session.label)
                drawn.append("".join(f"  ({visible(note)})" for note in notes))
                rows.append(drawn)
        if self.board.is_cut:
            rows.append(Text(" ... and more files, listed after these are kept or undone", style="dim"))
        if not rows:
            rows.append(Text(f" {self._otherwise}", style="dim"))
        return rows, revealed

    def _name_row(self, row: UnkeptRow) -> str:
        old = "" if row.moved_from is None else f"{relative(row.moved_from, self._folder)} to "
        return f"{row.letter} {old}{relative(row.path, self._folder)}"

    def _describe_row(self) -> Text:
        row, change = self.board.row, self.board.change
        if row is None:
            return Text()
        about = Text(f"--- {relative(row.path, self._folder)}", style="bold")
        if change is not None and row.moved_from is None:
            cells = f", {name_cells(change.cell_ids)}" if change.cell_ids else ""
            where = f"change {self.board.change_number} of {len(row.changes)}{cells}"
            by = f"{visible(change.label)}, {when(change.time)}"
            fixed = "" if change.undoable else "; it cannot be undone: others changed the same text, or it is not kept"
            about.append(f" ({where}, by {by}{fixed})")
        elif row.moved_from is not None:
            about.append(f" (renamed from {relative(row.moved_from, self._folder)}, kept and undone as a whole)")
        return about


def _format_counts(board: UnkeptBoard) -> str:
    return f"{format_count(board.n_changes, 'change')} in {format_count(board.n_files, 'file')}"


def _name_turn(turn: BoardTurn) -> str:
    began = "" if turn.turn.began is None else f"  {when(turn.turn.began)}"
    return f"{visible(turn.session.label)}{began}"


def _list_lines(preview: Rewind, row: UnkeptRow, folder: str) -> list[DiffLine]:
    """The lines of the changes that a rewind would undo. Those of a notebook are below the names of its cells."""
    if preview.error is not None and not preview.conflicts:
        return [DiffLine(" ", visible(preview.error.message), None)]
    lines: list[DiffLine] = []
    for file in to_shown_files(preview.files):
        for cell in reverse_cells(file.cells):
            lines.append(DiffLine("@", cell_heading(cell), None))
            lines += _number_diff(cell.diff, None)
        if not file.cells:
            lines += _number_diff(reverse_diff(file.diff), row)
    left = ("".join(text for text, _ in line).strip() for line in unshown_lines(preview.conflicts, folder))
    return lines + [DiffLine(" ", sentence, None) for sentence in left]


def _number_diff(diff: str, row: UnkeptRow | None) -> list[DiffLine]:
    """Args: row: None for the diff of a cell, whose lines are not those of the file."""
    lines: list[DiffLine] = []
    for kind, text, old_line, new_line in number_lines(diff):
        change_id = None
        if kind in {"-", "+"} and new_line is not None and row is not None:
            change_id = find_change(row.changes, "-" if kind == "-" else "+", new_line)
        lines.append(DiffLine(kind, text, change_id, old_line if kind == "-" else new_line))
    return lines


def _explain(fault: Exception) -> str:
    return visible(reason_of(fault) if isinstance(fault, ResponseError) else str(fault))
