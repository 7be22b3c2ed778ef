"""Output of the demonstration on a terminal or into a file."""

from rich.console import Console
from rich.text import Text

from fileops import __version__
from fileops.demo.checks import require
from fileops_client import FileOpsClient, ToolResult

MAX_LINES_SHOWN = 20
MAX_QUOTED = 48  # two of them fit in a line


class Stage:
    """Prints the steps, in colours if the terminal and NO_COLOR allow them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._n_steps = 0

    def say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=not self._console.is_terminal)

    def open(self, what: str) -> None:
        self.say(f"fileops-server {__version__}: a demonstration", style="bold")
        self.say("The daemon runs as a child process. This program sends it requests as an AI agent does.")
        self.say(f"It works on {what}; your files are not changed.")

    def step(self, title: str) -> None:
        self._n_steps += 1
        self.say(f"\n{self._n_steps}. {title}", style="bold")

    def fail(self, reason: str) -> None:
        what = f"Step {self._n_steps} failed" if self._n_steps else "The daemon could not be started"
        self.say(f"\n{what}: {reason}", style="bold red")

    def asks(self, tool: str, name: str, *edits: tuple[str, str]) -> None:
        for old, new in edits:
            self.say(f"   {tool} {name}: {_shorten(old)!r} becomes {_shorten(new)!r}", style="cyan")

    def answer(self, text: str) -> None:
        self.say(f"   {text}", style="yellow")

    async def show(self, agent: FileOpsClient, method: str, path: str, result: ToolResult) -> None:
        """Show a result as an editor does: the first lines of a read, a change as a diff."""
        is_change = result.ui_extra is not None
        view = await agent.render(method, {"file_path": path}, result=result, expanded=is_change)
        if view.diff is None:
            self.say(f"   {view.call}", style="cyan")
            lines = [Text(f"{line.number or '':>6}→{line.text}") for line in view.lines]
            self._show_lines([*lines, *([Text(view.more)] if view.more else [])])
            return
        require(bool(view.diff.rows), "the result has no diff")
        styles = {"hunk": "cyan", "+": "green", "-": "red", " ": ""}
        counts = f"{view.diff.title}: {view.diff.added} added, {view.diff.removed} removed"
        rows = [
            Text(("" if row.kind == "hunk" else row.kind) + row.text.rstrip("\r"), style=styles[row.kind])
            for row in view.diff.rows
        ]
        self._show_lines([Text(counts, style="bold"), *rows])

    def _show_lines(self, lines: list[Text]) -> None:
        for line in lines[:MAX_LINES_SHOWN]:
            if self._console.is_terminal:
                self._console.print(Text("   ") + line, no_wrap=True, overflow="ellipsis")
            else:
                self._console.print(Text("   ") + line, soft_wrap=True)
        if len(lines) > MAX_LINES_SHOWN:
            self.say(f"   ... ({len(lines) - MAX_LINES_SHOWN} more lines)")


def _shorten(text: str) -> str:
    """Shorten a text. Its end is kept, because there the old and the new text differ."""
    return text if len(text) <= MAX_QUOTED else f"...{text[-MAX_QUOTED:]}"
