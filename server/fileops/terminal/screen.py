"""The full screen of `fileops-server review`: an editor of the current folder that shows the queue and decides.

Above the queue is, with a key or at once, the list of changes that are not kept: see `changes_screen`.

Everything runs in one event loop. The screen draws the board; the client changes the board and sends decisions. This is
one module because keys, decisions and drawing share the state of one screen.
"""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from fileops.core.presentation.phrases import format_count
from fileops.platform.page import command_of
from fileops.terminal.board import Board, BoardRow, files_of
from fileops.terminal.changes_screen import ChangesScreen
from fileops.terminal.connection import FAILED, HOST, UNREACHABLE
from fileops.terminal.decisions import Call, Outcome, accept, accept_set, end_of, fault_of, modify, reject
from fileops.terminal.lines import (
    LAST_MINUTE_S,
    diff_lines,
    operation_of,
    place,
    previous_lines,
    seconds,
    shorten_folder,
    size,
    visible,
)
from fileops.terminal.widgets import DiffLines, Page, Question, TextLines
from fileops_client import (
    DecidedFile,
    DecideReviewResult,
    DidChangeReviews,
    FileOpsClient,
    Review,
)

AGAIN_S = 5.0  # between two attempts to reach a daemon

HELP = """\
Up Down  j k   the edit above, below
n p            the next, the previous change
Space          leave this change out, or take it back in
d              leave this file of a change set out, or take it back in
a              accept the edit or change set (without the parts left out)
R              the same as a, with a reason for the agent why the rest is left out
r              reject the edit or change set, with a reason for the agent
e              edit the proposal in $EDITOR; what you save is written
E              the same, from what you had decided before the file changed
f F            accept, reject all edits of this file
A X            accept, reject all edits
s              accept, and accept what this session does from now on
PgUp PgDn, Left Right   scroll the diff
c              what agents changed and you have not kept, to keep or undo it
q              leave: what waits, waits for another editor

Esc closes this page."""

KEYS = " a accept  r reject  Space change  n/p next  e edit  f/F file  c changes  ? help"


class ReviewApp(App[int]):
    """The review screen of one person at one terminal."""

    TITLE = "fileops-server review"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; background: ansi_default; color: ansi_default; }
    #head, #keys { height: 1; background: ansi_default; text-wrap: nowrap; text-overflow: ellipsis; }
    #message { height: auto; max-height: 4; background: ansi_default; }
    #queue { height: auto; max-height: 40%; background: ansi_default; }
    #about { height: auto; max-height: 8; background: ansi_default; }
    #diff { height: 1fr; background: ansi_default; }
    TextLines { scrollbar-size: 0 0; }
    ChangesScreen { layout: vertical; background: ansi_default; }
    Question, Page { align: center middle; background: ansi_default; }
    Question Vertical, Page Vertical { width: 76; height: auto; border: ascii; background: ansi_default; padding: 0 1; }
    Question Static, Page Static { background: ansi_default; }
    Question Input { border: none; height: 1; background: ansi_default; color: ansi_default; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("down,j", "move(1)", "below"),
        ("up,k", "move(-1)", "above"),
        ("n", "move_change(1)", "next change"),
        ("p", "move_change(-1)", "previous change"),
        ("space", "leave_out", "leave out"),
        ("d", "leave_file_out", "leave file out"),
        ("a", "accept", "accept"),
        ("s", "always", "accept always"),
        ("R", "accept_rest", "accept the rest"),
        ("r", "reject", "reject"),
        ("e", "edit(False)", "edit"),
        ("E", "edit(True)", "edit what was decided"),
        ("f", "all_of_file(True)", "accept file"),
        ("F", "all_of_file(False)", "reject file"),
        ("A", "all(True)", "accept all"),
        ("X", "all(False)", "reject all"),
        ("pagedown", "page(1)", "scroll"),
        ("pageup", "page(-1)", "scroll"),
        ("right", "sideways(8)", "scroll"),
        ("left", "sideways(-8)", "scroll"),
        ("c", "changes", "changes that are not kept"),
        ("question_mark", "help", "keys"),
        ("q,ctrl+c,ctrl+q", "leave", "quit"),
    ]

    def __init__(self, socket: str | None, folder: str, *, begins_with_changes: bool = False) -> None:
        """Args: begins_with_changes: the list of changes that are not kept is above the queue."""
        super().__init__(ansi_color=True)  # the terminal's own colours; none if NO_COLOR is set
        self.board = Board()
        self.folder = folder
        self.fault: str | None = None
        self._socket = socket
        self._client: FileOpsClient | None = None
        self._message = "Attaching to the shared daemon..."
        self._is_lost = False
        self._is_ready = False
        self._own: set[str] = set()  # reviews that are being decided here
        self._typed_reason = ""  # from a decision that did not count
        self._changes = ChangesScreen(folder)
        self._begins_with_changes = begins_with_changes

    @property
    def is_attached(self) -> bool:
        """Whether edits wait for this screen."""
        return self._client is not None

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield TextLines(id="queue")
        yield Static(id="about", markup=False)
        yield DiffLines(id="diff")
        yield Static(id="message", markup=False)
        yield Static(KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self._is_ready = True
        # It stays as it is while the queue is shown.
        self.install_screen(self._changes, "changes")
        self.run_worker(self._stay_attached(), exit_on_error=True)
        self.set_interval(1.0, self._tick)
        self._show()
        if self._begins_with_changes:
            self.action_changes()

    # --- the daemon ------------------------------------------------------------------------------------------------

    async def _stay_attached(self) -> None:
        """Stay connected as long as the screen runs. When a daemon ends, connect to the next one."""
        has_been = False
        while True:
            try:
                client = await FileOpsClient.attach(
                    socket=self._socket,
                    role="editor",
                    host=HOST,
                    root=self.folder,
                    on_reviews=self._take,
                    capabilities={"experimental": {"fileops": {"unkept": True}}},
                )
            except (*UNREACHABLE, OSError) as fault:
                if not has_been:
                    self.fault = f"The shared daemon cannot be reached: {fault}"
                    self.exit(FAILED)
                    return
                self._say(f"No shared daemon: {fault}. Retrying every {AGAIN_S:g} s.", is_lost=True)
                await asyncio.sleep(AGAIN_S)
                continue
            try:
                await self._follow(client, is_again=has_been)
            finally:
                await client.close()
            has_been = True

    async def _follow(self, client: FileOpsClient, *, is_again: bool) -> None:
        """Returns when the daemon is lost."""
        try:
            with client.events(DidChangeReviews.METHOD) as changes:
                waiting = await client.reviews(include_texts=False)
                n_gone = self.board.keep_only(review.review_id for review in waiting)
                self._client = client
                self._changes.take_client(client)
                lost = f" {format_count(n_gone, 'edit')} ended with it, and the agents were told." if n_gone else ""
                self._say(f"The shared daemon had ended. Reconnected.{lost}" if is_again else "")
                async for _ in changes:  # `_take` has shown it
                    pass
        except UNREACHABLE as fault:
            self._client = None
            self._changes.take_client(None)
            self._say(f"The shared daemon has ended, so nothing can be decided here. {fault}", is_lost=True)

    def _take(self, change: DidChangeReviews) -> None:
        for review, end in self.board.take(change.opened, change.closed):
            if review.review_id not in self._own:
                self._message = f"{self._place(review)}: {end_of(end)}."
        self._show()

    # --- decisions -------------------------------------------------------------------------------------------------

    def action_accept(self) -> None:
        if (review := self._decidable()) is not None:
            self.run_worker(self._accept([review]))

    def action_always(self) -> None:
        if (review := self._decidable()) is not None:
            self.run_worker(self._accept([review], is_always=True))

    def action_accept_rest(self) -> None:
        if (review := self._decidable()) is None:
            return
        if self.board.is_whole(review):  # the person is about to type a reason, which must not act as keys
            self.action_reject()
            return
        question = f"Accept {self._place(review)} without the parts left out? Reason (optional):"
        acceptance = partial(self._acceptance, outcome="accept")
        self.run_worker(self._decide_because([review], question, acceptance, "Accepted the rest of"))

    def action_reject(self) -> None:
        if (review := self.board.chosen) is not None:
            what = "the changes of" if review.files else "the edit of"
            self.run_worker(self._reject([review], f"Reject {what} {self._place(review)}? Reason (optional):"))

    def action_all_of_file(self, is_accepted: bool) -> None:
        if (review := self.board.chosen) is None:
            return
        if review.files:
            self._say("This file is part of a change set: d leaves it out, a accepts the set, r rejects it.")
            return
        reviews = self.board.of_file(review.file_path)
        about = f"all {format_count(len(reviews), 'edit')} of {self._place(review)}"
        self.run_worker(self._decide_all(reviews, about, is_accepted=is_accepted))

    def action_all(self, is_accepted: bool) -> None:
        if reviews := self.board.sort():
            about = f"all {format_count(len(reviews), 'edit')}"
            self.run_worker(self._decide_all(reviews, about, is_accepted=is_accepted))

    async def _decide_all(self, reviews: Sequence[Review], about: str, *, is_accepted: bool) -> None:
        if not is_accepted:
            await self._reject(reviews, f"Reject {about}? Reason (optional):")
        elif await self.push_screen_wait(Page(f"Accept {about}?\n\ny: yes   Esc: back", ("y",))) == "y":
            await self._accept(reviews)

    def _decidable(self) -> Review | None:
        """Returns the chosen review if it has something to accept. If not, says why."""
        review = self.board.chosen
        if review is None:
            return None
        if not review.changes and not review.files:
            self._say("This edit can no longer be made. Reject it (r), or write your own text (e).")
            return None
        if not self.board.has_something(review):
            self._say("All changes are left out. Reject the edit (r), or take a change back in (Space).")
            return None
        return review

    async def _accept(self, reviews: Sequence[Review], *, is_always: bool = False) -> None:
        outcome: Outcome = "accept_always" if is_always else "accept"
        if is_always and any(review.files and not self.board.is_whole(review) for review in reviews):
            self._say("Part of the change set is left out: accept it (a), or take that back in first.")
            return
        able = [review for review in reviews if self.board.has_something(review)]
        calls = [self._acceptance(review, None, outcome) for review in able]
        n_left = len(reviews) - len(able)
        await self._decide(able, calls, "Accepted", also_left=n_left)

    def _acceptance(self, review: Review, reason: str | None, outcome: Outcome) -> Call:
        """Args: reason: why some changes are left out."""
        if review.files:
            return self._acceptance_of_set(review, outcome, reason=reason)
        entry = BoardRow(review, review)
        kept = self.board.find_kept(entry) if self.board.find_dropped(entry) else None
        return partial(accept, review, outcome, kept, reason)

    def _acceptance_of_set(
        self, review: Review, outcome: Outcome, typed: DecidedFile | None = None, reason: str | None = None
    ) -> Call:
        """Make the decision about all files of a change set.

        typed: the person's own text for one file. reason: why some of the set is left out.
        """
        decided = [] if typed is None else [typed]
        is_some_left_out = False
        for entry in (BoardRow(review, file) for file in review.files):
            if typed is not None and entry.file.file_path == typed.file_path:
                continue
            is_left_out = self.board.is_left_out(entry)
            is_some_left_out |= is_left_out
            if is_left_out or self.board.find_dropped(entry):
                kept = [] if is_left_out else self.board.find_kept(entry)
                decided.append(DecidedFile(file_path=entry.file.file_path, change_ids=kept))
        has_own = is_some_left_out or typed is not None
        return partial(accept_set, review, "modify" if has_own else outcome, decided, reason)

    async def _reject(self, reviews: Sequence[Review], question: str) -> None:
        await self._decide_because(
            reviews, question, lambda review, reason: partial(reject, review, reason), "Rejected"
        )

    async def _decide_because(
        self, reviews: Sequence[Review], question: str, call: Callable[[Review, str], Call], done: str
    ) -> None:
        """Ask for a reason, which may be empty, and decide. If the person goes back, do nothing.

        call: makes the decision about one review.
        """
        reason = await self.push_screen_wait(Question(question, self._typed_reason))
        if reason is None:
            return
        self._typed_reason = reason
        if await self._decide(reviews, [call(review, reason) for review in reviews], done):
            self._typed_reason = ""

    async def _decide(self, reviews: Sequence[Review], calls: Sequence[Call], done: str, *, also_left: int = 0) -> bool:
        """Send decisions in order. Returns whether all of them counted; if not, says why."""
        client = self._client
        if client is None:
            self._say("There is no daemon, so nothing was decided.", is_lost=True)
            return False
        ids = {review.review_id for review in reviews}
        self._own |= ids
        try:
            results: list[DecideReviewResult] = await asyncio.gather(*(call(client) for call in calls))
        except UNREACHABLE as fault:
            self._say(f"It is unknown whether that was decided: {fault}", is_lost=not client.is_open)
            return False
        finally:
            self._own -= ids
        faults = [fault_of(result) for result in results]
        told = [
            f"{self._place(review)}: {fault}"
            for review, fault in zip(reviews, faults, strict=True)
            if fault is not None
        ]
        told += [f"{format_count(also_left, 'edit')} left: nothing in it to accept"] if also_left else []
        n_done = faults.count(None)
        what = self._place(reviews[0]) if len(reviews) == 1 else format_count(n_done, "edit")
        self._say(". ".join([*([f"{done} {what}"] if n_done else []), *told]) + ".")
        return not told

    # --- the editor ------------------------------------------------------------------------------------------------

    def action_edit(self, is_previous: bool) -> None:
        if (entry := self.board.entry) is not None:
            self.run_worker(self._edit(entry, is_previous=is_previous))

    async def _edit(self, entry: BoardRow, *, is_previous: bool) -> None:
        review, file = entry
        text = None if file.operation == "delete" else file.proposed_text
        if is_previous:
            text = None if file.previous is None else file.previous.text
        if text is None:
            self._say("There is no text to edit here, or it is too long.")
            return
        folder = tempfile.mkdtemp(prefix="fileops-review-")
        path = os.path.join(folder, os.path.basename(file.file_path))
        _write(path, text)
        status = await self._run_editor(path)
        try:
            typed = _read(path)
        except (OSError, UnicodeDecodeError) as fault:
            self._say(f"What the editor saved cannot be read: {fault}. Nothing was decided.")
            return
        if status != 0 or (typed == text and not is_previous):
            shutil.rmtree(folder, ignore_errors=True)
            why = f"The editor ended with status {status}" if status else "The text is unchanged"
            self._say(f"{why}: nothing was decided.")
            return
        call: Call = partial(modify, review, typed)
        if review.files:
            decided = DecidedFile(file_path=file.file_path, text=typed)
            call = self._acceptance_of_set(review, "accept", decided)
        if await self._decide([review], [call], "Wrote your text of"):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            self._say(f"{self._message} Your text is kept in {path}.")

    async def _run_editor(self, path: str) -> int:
        """Give the terminal to the person's editor.

        Meanwhile, messages of the daemon are handled, but nothing is drawn.
        """
        setting = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with self.batch_update(), self.suspend():
            try:
                process = await asyncio.create_subprocess_exec(*command_of(setting), path)
            except (OSError, ValueError) as fault:
                sys.stderr.write(f"{setting}: {fault}\n")
                return 127
            return await process.wait()

    # --- moving ----------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        self.board.move(by)
        self._show()

    def action_move_change(self, by: int) -> None:
        self.board.move_change(by)
        self._show()

    def action_leave_out(self) -> None:
        self.board.toggle()
        self._show()

    def action_leave_file_out(self) -> None:
        if not self.board.toggle_file() and self.board.chosen is not None:
            self._say("This edit has no other file: Space leaves a change out, r rejects it.")
        self._show()

    def action_page(self, by: int) -> None:
        self.query_one("#diff", DiffLines).scroll_pages(by)

    def action_sideways(self, by: int) -> None:
        self.query_one("#diff", DiffLines).scroll_relative(x=by, animate=False)

    def action_changes(self) -> None:
        self.push_screen("changes")

    def action_help(self) -> None:
        self.push_screen(Page(HELP))

    def action_leave(self) -> None:
        self.exit(0)

    # --- what is shown ---------------------------------------------------------------------------------------------

    def _say(self, message: str, *, is_lost: bool = False) -> None:
        self._message = message
        self._is_lost = is_lost
        self._show()

    def _place(self, review: Review) -> str:
        return place(review, self.folder)

    def _tick(self) -> None:
        if any(review.expires_at - time.time() < LAST_MINUTE_S + 1 for review in self.board.sort()):
            self._show(is_tick=True)

    def _show(self, *, is_tick: bool = False) -> None:
        if not self._is_ready:
            return
        main = self.screen_stack[0]
        n_sessions = len(list(self.board.sessions()))
        head = Text(f" {format_count(len(self.board), 'edit')} of {format_count(n_sessions, 'session')}", style="bold")
        if self._is_lost:
            head = Text(" NOT CONNECTED: no edit waits for this screen", style="bold reverse")
        head.append(f"   {visible(shorten_folder(self.folder))}", style="dim")
        main.query_one("#head", Static).update(head)
        rows, chosen = self._queue_rows()
        main.query_one("#queue", TextLines).show(rows, revealed=chosen)
        main.query_one("#about", Static).update(self._about())
        main.query_one("#message", Static).update(Text(" " + visible(self._message), style="bold"))
        if not is_tick:
            self._show_diff(main.query_one("#diff", DiffLines))
        self._changes.show_n_waiting(len(self.board))

    def _queue_rows(self) -> tuple[list[Text], int | None]:
        rows: list[Text] = []
        chosen: int | None = None
        now = time.time()
        for label, reviews in self.board.sessions():
            n_files = len({file.file_path for review in reviews for file in files_of(review)})
            rows.append(
                Text(
                    f" {visible(label)}: {format_count(len(reviews), 'edit')} in {format_count(n_files, 'file')}",
                    style="bold",
                )
            )
            for review in reviews:
                if review.files:
                    rows.append(
                        Text(f"   {format_count(len(review.files), 'file')} together  {size(review)}", style="bold")
                    )
                for file in files_of(review):
                    entry = BoardRow(review, file)
                    is_chosen = self.board.entry is not None and entry.key == self.board.entry.key
                    chosen = len(rows) if is_chosen else chosen
                    rows.append(self._queue_row(entry, reviews, is_chosen=is_chosen, left=review.expires_at - now))
        if not rows and self.is_attached:
            rows.append(
                Text(
                    " Nothing waits. Edits wait here if agents must ask: by default only about protected files.",
                    style="dim",
                )
            )
        return rows, chosen

    def _queue_row(self, entry: BoardRow, reviews: Sequence[Review], *, is_chosen: bool, left: float) -> Text:
        """Draw the row of one file. reviews: those of its session. left: seconds until the review ends."""
        review, file = entry
        is_left_out = bool(review.files) and self.board.is_left_out(entry)
        indent = f"{'>' if is_chosen else ' '}{'x' if is_left_out else ' '}{'  ' if review.files else ''}"
        row = Text(f" {indent}{place(file, self.folder)}  ", style="reverse" if is_chosen else "")
        same = [] if review.files else [one.review_id for one in self.board.of_file(file.file_path) if one in reviews]
        if len(same) > 1:
            row.append(f"{same.index(review.review_id) + 1}/{len(same)}  ")
        row.append(size(file))
        if operation := operation_of(file, self.folder) if review.files else "":
            row.append(f"  {operation}", style="cyan")
        if file.is_protected:
            row.append("  protected", style="yellow")
        if file.previous is not None:
            row.append("  again", style="yellow")
        if left < LAST_MINUTE_S:
            row.append(f"  {seconds(left)} left", style="bold red")
        return row

    def _about(self) -> Text:
        entry = self.board.entry
        about = Text()
        if entry is None:
            return about
        review, file = entry
        n_left_out = len(self.board.find_dropped(entry))
        no_change = "its text stays" if review.files else "no change left"
        where = f"change {self.board.change_number} of {len(file.changes)}" if file.changes else no_change
        left_out = f", {n_left_out} left out" if n_left_out else ""
        about.append(f"--- {visible(review.title)} ({where}{left_out})", style="bold")
        for line in previous_lines(file):
            about.append("\n " + line)
        return about

    def _show_diff(self, diff: DiffLines) -> None:
        if (entry := self.board.entry) is None:
            diff.show([])
            return
        at = None if self.board.change is None else self.board.change.id
        diff.show_diff(list(diff_lines(entry.file)), at=at, dropped=self.board.find_dropped(entry))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(text)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogatepass", newline="") as file:
        return file.read()


def run(socket: str | None, folder: str, *, begins_with_changes: bool = False) -> int:
    """Show the screen until the person leaves it. Returns the exit status."""
    app = ReviewApp(socket, folder, begins_with_changes=begins_with_changes)
    status = app.run(mouse=False)
    if app.fault is not None:
        sys.stderr.write(f"fileops-server: {app.fault}\n")
    elif n_waiting := len(app.board):
        with suppress(BrokenPipeError):
            sys.stdout.write(f"{format_count(n_waiting, 'edit')} left undecided, for another editor to decide.\n")
    return FAILED if status is None else status
