"""Widgets of the full screen: scrolling lines, and questions shown above them."""

from collections.abc import Sequence
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
        app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType] - of Textual
        strip = Strip(self._lines[top + y].render(app.console))
        return strip.crop_extend(left, left + width, self.rich_style)


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
        if event.key == "escape":
            self.dismiss(None)
        elif event.key in self._keys:
            self.dismiss(event.key)
