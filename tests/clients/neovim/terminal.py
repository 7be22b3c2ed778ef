"""Neovim in a terminal (tmux) that is typed into and looked at, and a picture of what it shows.

Waiting is done by asking Neovim over its socket, never by time. A picture is the terminal's own cells, set as HTML
and rendered by Chromium; a moving one is an SVG.
"""

import html
import itertools
import re
import subprocess
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from clients.neovim.world import NO_PYTHON, PLUGIN, Neovim
from clients.places import program
from support.patience import PATIENCE_S

CELL_WIDTH_PX, CELL_HEIGHT_PX = 9.03125, 19  # DejaVu Sans Mono at 15 px
MARGIN_PX = 12
FRAME_S = 4
TYPED = "&modified && mode() ==# 'n'"  # once all keys have arrived, of which Escape is the last
_numbers = itertools.count()


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """A running session. columns, rows: of the terminal."""

    nvim: Neovim
    server: str
    socket: str
    columns: int
    rows: int

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-L", self.server, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout

    def keys(self, *names: str) -> None:
        """Keys by tmux's names ("Enter", "Space", "C-w"), or text."""
        self._tmux("send-keys", *names)

    def command(self, line: str) -> None:
        """An Ex command, typed."""
        self._tmux("send-keys", "-l", ":" + line)
        self._tmux("send-keys", "Enter")

    def ask(self, expression: str) -> str:
        return self.nvim.ask(self.socket, expression)

    def until(self, expression: str) -> None:
        try:
            self.nvim.until(self.socket, expression)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()}") from error

    def record(self, target: Path) -> None:
        """Write all that Neovim sends to its terminal from now on, control sequences too."""
        self._tmux("pipe-pane", "-O", f"cat >> '{target}'")

    def text(self) -> str:
        """The text on the screen."""
        return self._tmux("capture-pane", "-p")

    def shows(self, *texts: str) -> None:
        """Wait until all texts are on the screen."""
        try:
            self.nvim.wait_for(lambda: all(text in self.text() for text in texts), f"{texts} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()}") from error

    def says(self, text: str) -> None:
        """Wait until it is a message, which the next redraw may take from the screen."""
        self.until(f"stridx(execute('messages'), '{text}') >= 0")

    def shows_no(self, text: str) -> None:
        self.nvim.wait_for(lambda: text not in self.text(), f"{text!r} to leave the screen")

    def ansi(self) -> str:
        """The whole screen, when everything that Neovim has drawn is there: a new title is sent last."""
        title = f"drawn-{next(_numbers)}"
        self.ask("luaeval('vim.cmd.redraw()')")
        self.ask(f"execute('set title titlestring={title}')")
        self.nvim.wait_for(lambda: self._tmux("display-message", "-p", "#{pane_title}").strip() == title, title)
        return self._tmux("capture-pane", "-peN")

    def clear_message(self) -> None:
        """Clear the last line, where a command was typed."""
        self.ask("luaeval('vim.cmd.mode()')")


@contextmanager
def terminal(
    nvim: Neovim, workspace: Path, *arguments: str, columns: int = 116, rows: int = 32, name: str = ""
) -> Generator[Terminal]:
    """Neovim with the plugin, in `workspace`; ended at the end. name: distinguishes two of one workspace."""
    program("tmux")
    socket = str(workspace.parent / f"{workspace.name}{name}.sock")
    server = f"fileops-{abs(hash(socket)):x}"
    command = [
        nvim.program, "--clean", "-n", "--listen", socket,
        "--cmd", NO_PYTHON,
        "--cmd", f"set rtp^={PLUGIN} termguicolors noruler noshowcmd laststatus=2 shortmess+=I",
        *arguments,
    ]  # fmt: skip
    size = ("-x", str(columns), "-y", str(rows))
    subprocess.run(
        [
            "tmux",
            "-L",
            server,
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            *size,
            "-e",
            "TERM=tmux-256color",
            *command,
            ";",
            "set-option",
            "remain-on-exit",
            "on",
        ],
        cwd=workspace,
        env=nvim.environment | {"LC_ALL": "C.UTF-8"},
        timeout=PATIENCE_S,
        check=True,
    )
    running = Terminal(nvim=nvim, server=server, socket=socket, columns=columns, rows=rows)
    try:
        running.until("v:vim_did_enter")
        yield running
    finally:
        subprocess.run(["tmux", "-L", server, "kill-server"], capture_output=True, timeout=PATIENCE_S, check=False)


# --- pictures -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Style:
    foreground: str = ""
    background: str = ""
    bold: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False

    def colours(self, page: "Page") -> tuple[str, str]:
        """Return the colours of the text and of what is behind it."""
        front, back = page.foreground_of(self.foreground), self.background or page.background
        return (back, front) if self.reverse else (front, back)

    def css(self, page: "Page") -> str:
        front, back = self.colours(page)
        rules = [f"color:{front}", f"background:{back}"]
        rules += ["font-weight:bold"] * self.bold + ["font-style:italic"] * self.italic
        rules += ["text-decoration:underline"] * self.underline
        return ";".join(rules)


@dataclass(frozen=True, kw_only=True)
class Page:
    """The colours of a cell that names none.

    shades: what a light theme of a terminal shows in place of the basic colours, which are hard to read on it.
    """

    foreground: str
    background: str
    shades: Mapping[str, str] = field(default_factory=dict[str, str])

    def foreground_of(self, colour: str) -> str:
        return self.shades.get(colour, colour) or self.foreground


DARK = Page(foreground="#e0e2ea", background="#14161b")
SHADES = {"#cdcd00": "#7a5c00", "#00cd00": "#116329", "#cd0000": "#a40e26", "#00cdcd": "#0b5a73"}
LIGHT = Page(foreground="#14161b", background="#e0e2ea", shades=SHADES)

_BASIC = ("000000", "cd0000", "00cd00", "cdcd00", "0000ee", "cd00cd", "00cdcd", "e5e5e5",
          "7f7f7f", "ff0000", "00ff00", "ffff00", "5c5cff", "ff00ff", "00ffff", "ffffff")  # fmt: skip


def _indexed(index: int) -> str:
    """A colour of the 256 that terminals know."""
    if index < 16:
        return "#" + _BASIC[index]
    if index >= 232:
        return "#" + f"{8 + 10 * (index - 232):02x}" * 3
    index -= 16
    levels = (0, 95, 135, 175, 215, 255)
    return "#" + "".join(f"{levels[part]:02x}" for part in (index // 36, index // 6 % 6, index % 6))


@dataclass(kw_only=True)
class _Codes:
    """The numbers of one SGR sequence, taken from the front."""

    numbers: list[int] = field(default_factory=list[int])

    def colour(self) -> str:
        if self.numbers.pop(0) == 5:
            return _indexed(self.numbers.pop(0))
        red, green, blue = (self.numbers.pop(0) for _ in range(3))
        return f"#{red:02x}{green:02x}{blue:02x}"

    def applied_to(self, style: Style) -> Style:
        flags = {1: "bold", 3: "italic", 4: "underline", 7: "reverse", 22: "bold", 23: "italic", 24: "underline",
                 27: "reverse"}  # fmt: skip
        while self.numbers:
            code = self.numbers.pop(0)
            if code == 0:
                style = Style()
            elif code in flags:
                style = replace(style, **{flags[code]: code < 10})  # pyrefly: ignore[bad-argument-type]
            elif code in {38, 48}:
                style = replace(style, **{"foreground" if code == 38 else "background": self.colour()})  # pyrefly: ignore[bad-argument-type]
            elif code == 58:
                self.colour()  # of the underline alone
            elif code in {39, 49}:
                style = replace(style, **{"foreground" if code == 39 else "background": ""})  # pyrefly: ignore[bad-argument-type]
            elif 30 <= code <= 37 or 90 <= code <= 97:
                style = replace(style, foreground=_indexed(code - 30 if code < 40 else code - 82))
            elif 40 <= code <= 47 or 100 <= code <= 107:
                style = replace(style, background=_indexed(code - 40 if code < 50 else code - 92))
        return style


def runs(ansi: str) -> list[list[tuple[str, Style]]]:
    """Return the lines of a screen, each as runs of equally styled cells."""
    style, lines = Style(), list[list[tuple[str, Style]]]()
    for line in ansi.rstrip("\n").split("\n"):
        cells = list[tuple[str, Style]]()
        for text, codes in re.findall(r"([^\x1b]+)|\x1b\[([0-9;:]*)m", line):
            if text:
                cells.append((text, style))
            else:
                numbers = [int(part or 0) for part in re.split("[;:]", re.sub(r"4:\d", "4", codes))]
                style = _Codes(numbers=numbers).applied_to(style)
        lines.append(cells)
    return lines


def as_html(ansi: str, page: Page) -> str:
    """Each run as wide as its cells, in any font."""

    def spans(line: list[tuple[str, Style]]) -> Iterator[str]:
        for text, style in line:
            yield f'<span style="width:{len(text)}ch;{style.css(page)}">{html.escape(text)}</span>'

    lines = [f"<div>{''.join(spans(line))}</div>" for line in runs(ansi)]
    return (
        "<!doctype html><meta charset=utf-8><style>"
        f"body{{margin:{MARGIN_PX}px;background:{page.background};color:{page.foreground};"
        "font:15px/19px 'DejaVu Sans Mono',monospace;white-space:pre}"
        f"span{{display:inline-block;overflow:hidden;height:{CELL_HEIGHT_PX}px;vertical-align:top}}"
        f"div{{height:{CELL_HEIGHT_PX}px}}</style>{''.join(lines)}"
    )


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One screen of a moving picture. caption: below it."""

    ansi: str
    caption: str


def moving_picture(frames: Sequence[Frame], page: Page, target: Path, *, columns: int, rows: int) -> None:
    """Write an SVG that shows the frames one after the other, each for FRAME_S seconds, again and again.

    A reader who asks for less motion sees the first frame only.
    """
    width = round(columns * CELL_WIDTH_PX) + 2 * MARGIN_PX
    height = (rows + 2) * CELL_HEIGHT_PX + 2 * MARGIN_PX
    share = 100 / len(frames)
    drawn = [
        f'<g style="animation-delay:{at * FRAME_S}s">{"".join(_drawn_frame(frame, page, rows))}</g>'
        for at, frame in enumerate(frames)
    ]
    target.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
        f"<style>text{{font:15px 'DejaVu Sans Mono',monospace;white-space:pre}}"
        f"g{{visibility:hidden;animation:frame {FRAME_S * len(frames)}s step-end infinite}}"
        f"@keyframes frame{{0%{{visibility:visible}}{share:.2f}%{{visibility:hidden}}}}"
        "@media(prefers-reduced-motion){g{animation:none}g:first-of-type{visibility:visible}}</style>"
        f'<rect width="{width}" height="{height}" rx="8" fill="{page.background}"/>\n' + "\n".join(drawn) + "</svg>\n",
        encoding="utf-8",
    )


def still_picture(ansi: str, page: Page, target: Path, *, columns: int) -> None:
    """Write lines of a terminal as an SVG."""
    lines = runs(ansi)
    width = round(columns * CELL_WIDTH_PX) + 2 * MARGIN_PX
    height = len(lines) * CELL_HEIGHT_PX + 2 * MARGIN_PX
    target.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
        f"<style>text{{font:15px 'DejaVu Sans Mono',monospace;white-space:pre}}</style>"
        f'<rect width="{width}" height="{height}" rx="8" fill="{page.background}"/>\n'
        + "".join(_drawn(lines, page))
        + "</svg>\n",
        encoding="utf-8",
    )


def _drawn_frame(frame: Frame, page: Page, rows: int) -> Iterator[str]:
    return _drawn([*runs(frame.ansi)[:rows], [], [(frame.caption, Style(bold=True))]], page)


def _drawn(lines: Sequence[list[tuple[str, Style]]], page: Page) -> Iterator[str]:
    for row, line in enumerate(lines):
        column, top = 0, MARGIN_PX + row * CELL_HEIGHT_PX
        for text, style in line:
            left, wide = MARGIN_PX + column * CELL_WIDTH_PX, len(text) * CELL_WIDTH_PX
            front, back = style.colours(page)
            if back != page.background:
                yield f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{CELL_HEIGHT_PX}" fill="{back}"/>'
            if text.strip():
                bold = ' font-weight="bold"' if style.bold else ""
                yield (
                    f'<text x="{left:.1f}" y="{top + 14}" textLength="{wide:.1f}" fill="{front}"{bold}>'
                    f"{html.escape(text)}</text>"
                )
            column += len(text)


def picture(shown: Terminal, page: Page, target: Path) -> None:
    """Write the screen as a PNG, without the command that was typed last."""
    shown.clear_message()
    source = target.with_suffix(".html")
    target.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(as_html(shown.ansi(), page), encoding="utf-8")
    width = round(shown.columns * CELL_WIDTH_PX) + 2 * MARGIN_PX
    height = shown.rows * CELL_HEIGHT_PX + 2 * MARGIN_PX
    subprocess.run(
        [
            program("chromium"),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={width},{height}",
            f"--screenshot={target}",
            f"file://{source}",
        ],
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    source.unlink()
