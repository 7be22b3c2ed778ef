"""Widgets of the full screen: scrolling lines, diffs, and questions shown above them."""

from collections.abc import Collection, Sequence
from itertools import groupby, takewhile
from typing import ClassVar, cast

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.geometry import Region, Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from fileops.terminal.lines import DiffLine
from fileops.terminal.words import LinePart, divide_by_words


class TextLines(ScrollView, can_focus=False):
    """Lines of text. Only visible lines are drawn, and long lines can be scrolled sideways."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - of Textual
        super().__init__(id=id)
        self._lines: Sequence[Text] = ()

    def show(self, lines: Sequence[Text], *, revealed: int | None = None) -> None:
        """Show these lines. revealed: a line that must be on the screen."""
        self._lines = lines
        self.virtual_size = Size(max((line.cell_len for line in lines), default=0), len(lines))
        self.refresh()
        if revealed is not None:
            self.call_after_refresh(self._reveal, revealed)

    def _reveal(self, line: int) -> None:
        self.scroll_to_region(Region(0, max(0, line - 1), 1, 3), animate=False, x_axis=False)

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.size.width
        if top + y >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        app = cast("App[object]", self.app)
        strip = Strip(self._lines[top + y].render(app.console))
        return strip.crop_extend(left, left + width, self.rich_style)


class DiffLines(TextLines):
    """A diff with the numbers of its lines. The words in which two lines differ are marked."""

    def show_diff(self, lines: Sequence[DiffLine], *, at: str | None, dropped: Collection[str] = ()) -> None:
        """Args: at: the change under the cursor. dropped: changes that are crossed out."""
        rows: list[Text] = []
        revealed: int | None = None
        words = _find_changed_words(lines)
        width = len(str(max((line.number or 0 for line in lines), default=0)))
        for n, line in enumerate(lines):
            is_at = at is not None and line.change_id == at
            if is_at and revealed is None:
                revealed = len(rows)
            is_dropped = line.change_id in dropped
            style = "strike dim" if is_dropped else _STYLES[line.kind]
            row = Text()
            row.append(f"{'' if line.number is None else line.number:>{width}} ", style="dim")
            row.append(f"{'>' if is_at else ' '}{'x' if is_dropped else ' '}", style="bold")
            if line.kind == "@":
                row.append(line.text, style=style)
            else:
                row.append(line.kind, style=style)
                for text, is_changed in words.get(n, [LinePart(line.text, is_changed=False)]):
                    row.append(text, style=f"{style} reverse" if is_changed and not is_dropped else style)
            rows.append(row)
        self.show(rows, revealed=revealed)

    def scroll_pages(self, by: int) -> None:
        self.scroll_relative(y=by * max(1, self.size.height - 2), animate=False)


_STYLES: dict[str, str] = {"@": "cyan", " ": "", "-": "red", "+": "green"}


def _find_changed_words(lines: Sequence[DiffLine]) -> dict[int, list[LinePart]]:
    """The runs of each removed line and of the added one in its place, by their places in the diff."""
    found: dict[int, list[LinePart]] = {}
    at = 0
    for (kind, _), group in groupby(lines, lambda line: (line.kind, line.change_id)):
        n_lines = len(list(group))
        if kind == "+" and at and lines[at - 1].kind == "-":
            n_old = sum(1 for _ in takewhile(lambda line: line.kind == "-", reversed(lines[:at])))
            for n in range(min(n_old, n_lines)):
                old, new = at - n_old + n, at + n
                found[old], found[new] = divide_by_words(lines[old].text, lines[new].text)
        at += n_lines
    return found


class Question(ModalScreen[str | None]):
    """A line of input: Enter answers, Escape changes nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "back")]

    def __init__(self, question: str, typed: str = "") -> None:
        super().__init__()
        self._question = question
        self._typed = typed

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._question, markup=False)
            yield Input(self._typed, max_length=1000)
            yield Static("Enter: done   Esc: back", markup=False)

    def on_input_submitted(self, submitted: Input.Submitted) -> None:
        self.dismiss(submitted.value)


class Page(ModalScreen[str | None]):
    """A page of text. Any of `keys` closes it and is the answer. Escape closes it without an answer."""

    def __init__(self, text: str, keys: Sequence[str] = ("enter", "q", "question_mark")) -> None:
        super().__init__()
        self._text = text
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._text, markup=False)

    def on_key(self, event: Key) -> None:
        event.stop()  # the key is for this page alone, and not for the screen below it
        if event.key == "escape":
            self.dismiss(None)
        elif event.key in self._keys:
            self.dismiss(event.key)
