"""The commands about the record at a terminal: colours, the pager, questions and their answers."""

import asyncio
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from clients.neovim.terminal import DARK, LIGHT, still_picture
from fileops_client import DidChangeReviews, FileOpsClient
from support.daemon_process import FILEOPS, Place, place_of_test
from support.patience import PATIENCE_S

OLD = "one\ntwo\nthree\n"
ROWS, COLUMNS = 12, 80
QUESTION = "Undo this? [y/N] "
IMAGES = Path(__file__).parents[2] / "docs" / "images"
PICTURE_COLUMNS = 100


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name in ("NO_COLOR", "PAGER", "FILEOPS_PAGER", "LINES", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=made, check=True)
    (made / "a.txt").write_text(OLD)
    return made


@dataclass
class Terminal:
    """A command at its own terminal. shown: what it has printed so far."""

    process: "subprocess.Popen[bytes]"
    screen: int
    shown: str = ""

    def until(self, text: str) -> None:
        """Read until the text is shown."""
        while text not in self.shown:
            assert self._read(), f"ended without {text!r}: {self.shown!r}"

    def answer(self, keys: bytes) -> None:
        os.write(self.screen, keys)

    def end(self) -> int:
        """Read to the end. Returns the exit status."""
        while self._read():
            pass
        os.close(self.screen)
        return self.process.wait(PATIENCE_S)

    def _read(self) -> bool:
        readable, _, _ = select.select([self.screen], [], [], PATIENCE_S)
        assert readable, f"nothing more is shown: {self.shown!r}"
        try:
            data = os.read(self.screen, 4096)
        except OSError:  # EIO: the command has closed the terminal
            return False
        self.shown += data.decode().replace("\r\n", "\n")
        return bool(data)


def at_terminal(shared: Place, folder: Path, *arguments: str, columns: int = COLUMNS, **environment: str) -> Terminal:
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    process = subprocess.Popen(
        ("setsid", "--ctty", *FILEOPS, *arguments), cwd=folder, env={**shared.process_env, **environment},
        stdin=terminal, stdout=terminal, stderr=terminal,
    )  # fmt: skip
    os.close(terminal)
    return Terminal(process, screen)


async def edited(folder: Path, n_files: int = 0) -> None:
    """An agent edits one file and creates some."""
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await agent.read(folder / "a.txt")
        assert (await agent.edit(folder / "a.txt", "two", "2")).ok
        for n in range(n_files):
            assert (await agent.write(folder / f"n{n}.txt", "made\n")).ok


async def shown(shared: Place, folder: Path, *arguments: str, columns: int = COLUMNS, **environment: str) -> str:
    terminal = at_terminal(shared, folder, *arguments, columns=columns, **environment)
    assert await asyncio.to_thread(terminal.end) == 0, terminal.shown
    return terminal.shown


async def test_command_that_looks_says_since_when_there_is_a_record(shared: Place, folder: Path) -> None:
    """R-CLI-1."""
    await edited(folder)
    for command in (["log"], ["diff"], ["blame", "a.txt"], ["changes"]):
        said = await shown(shared, folder, *command, columns=200, NO_COLOR="1")
        assert said.startswith(f"{folder} has been recorded since ")
    for command in (["log", "--json"], ["keep", "a.txt"]):
        assert "has been recorded since" not in await shown(shared, folder, *command)


async def test_log_has_colours_at_a_terminal_only_if_they_are_wanted(shared: Place, folder: Path) -> None:
    await edited(folder)
    assert "\x1b[33mt-" in await shown(shared, folder, "log")
    assert "\x1b" not in await shown(shared, folder, "log", NO_COLOR="1")
    assert "\x1b" not in await shown(shared, folder, "log", TERM="dumb")
    assert b"\x1b" not in (await asyncio.to_thread(shared.run, "log", cwd=folder)).stdout


async def test_long_log_is_shown_in_the_pager(shared: Place, folder: Path, tmp_path: Path) -> None:
    await edited(folder, ROWS)
    paged = tmp_path / "paged"
    pager = f"tee {paged}"
    assert "n11.txt" in await shown(shared, folder, "log", PAGER=pager)
    assert len(paged.read_text().splitlines()) == ROWS + 2  # the turn, and its files
    paged.unlink()
    assert "n11.txt" in await shown(shared, folder, "log", PAGER="false", FILEOPS_PAGER=pager)
    assert paged.exists()
    assert "n11.txt" in await shown(shared, folder, "log", PAGER=str(tmp_path / "no program"))


async def test_pager_is_left_out_of_what_fits_and_of_pipes(shared: Place, folder: Path, tmp_path: Path) -> None:
    await edited(folder, 2)
    paged = tmp_path / "paged"
    pager = {"PAGER": f"tee {paged}"}
    assert "n1.txt" in await shown(shared, folder, "log", PAGER=pager["PAGER"])
    await asyncio.to_thread(shared.run, "log", "-n", "50", cwd=folder, env=pager)
    assert not paged.exists()


@pytest.mark.parametrize(
    ("keys", "status"), [(b"y\n", 0), (b"YES\n", 0), (b"n\n", 1), (b"\n", 1), (b"\x04", 1), (b"\x03", 1)],
    ids=["y", "yes", "n", "enter", "end of input", "interrupt"],
)  # fmt: skip
async def test_question_is_answered_with_yes_or_nothing_is_undone(
    shared: Place, folder: Path, keys: bytes, status: int
) -> None:
    await edited(folder)
    terminal = at_terminal(shared, folder, "undo", "--agent", "codex", NO_COLOR="1")
    await asyncio.to_thread(terminal.until, QUESTION)
    assert "1 change in 1 file would be undone." in terminal.shown
    assert "-2\n+two\n" in terminal.shown
    assert (folder / "a.txt").read_text() == OLD.replace("two", "2")
    terminal.answer(keys)
    assert await asyncio.to_thread(terminal.end) == status
    assert (folder / "a.txt").read_text() == (OLD if status == 0 else OLD.replace("two", "2"))
    assert ("Nothing was undone." in terminal.shown) == bool(status)
    assert "Traceback" not in terminal.shown


@pytest.mark.parametrize("command", ["undo", "redo", "keep"])
async def test_question_about_many_files_is_below_a_short_list_and_before_any_pager(
    shared: Place, folder: Path, tmp_path: Path, command: str
) -> None:
    """R-CLI-7."""
    await edited(folder, 30)
    if command == "redo":
        await asyncio.to_thread(shared.run, "undo", "--all", "--yes", cwd=folder)
    paged = tmp_path / "paged"
    arguments = [command] if command == "redo" else [command, "--all"]
    terminal = at_terminal(shared, folder, *arguments, NO_COLOR="1", PAGER=f"tee {paged}")
    await asyncio.to_thread(terminal.until, "? [y/N")
    assert terminal.shown.count(".txt") == 20
    assert "  ... and 11 more files" in terminal.shown
    assert "+made" not in terminal.shown
    assert not paged.exists()
    if command != "keep":
        terminal.answer(b"d\n")
        terminal.shown = ""
        await asyncio.to_thread(terminal.until, "? [y/N, d: show the differences] ")
        assert paged.read_text().count("made") == 30
    terminal.shown = ""
    terminal.answer(b"y\n")
    assert await asyncio.to_thread(terminal.end) == 0
    assert ".txt" not in terminal.shown
    assert "31 changes in 31 files were" in terminal.shown or "31 changes in 31 files are kept." in terminal.shown


async def test_log_and_changes_are_folded_and_aligned_for_a_person_only(shared: Place, folder: Path) -> None:
    """R-CLI-7."""
    await edited(folder, 30)
    for command in ("log", "changes"):
        listed = (await shown(shared, folder, command, NO_COLOR="1", PAGER="cat")).splitlines()
        assert "  A n0.txt   +1 -0" in listed
        assert "  A n10.txt  +1 -0" in listed
        assert any(line.startswith("  ... and 11 more files: `log ") for line in listed)
        piped = (await asyncio.to_thread(shared.run, command, cwd=folder)).stdout.decode()
        assert (piped.count(".txt"), "  A n0.txt  +1 -0\n" in piped) == (31, True)


@pytest.mark.parametrize("columns", [40, 80, 200])
async def test_lines_are_broken_at_words_and_indented(shared: Place, folder: Path, columns: int) -> None:
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await agent.begin_turn(title="please do what was asked for in the issue about the letters")
        assert (await agent.write(folder / "with a rather long name 宽宽宽 of a file.txt", "made\n")).ok
    for command in ("log", "changes", "diff"):
        lines = (await shown(shared, folder, command, columns=columns, NO_COLOR="1")).splitlines()
        about = next(n for n, line in enumerate(lines) if "Codex" in line or line.startswith("+++"))
        assert max(len(line) + line.count("宽") for line in lines[about:]) <= columns
        continued = [line for line in lines[about:] if line.startswith("    ")]
        assert bool(continued) == (columns == 40 or (columns == 80 and command != "diff"))
        words = " ".join(line.strip() for line in lines)
        assert "with a rather long name 宽宽宽 of a file.txt" in words
        assert command == "diff" or "please do what was asked for in the issue about the letters" in words


@pytest.mark.parametrize("columns", [80, 200])
async def test_every_command_fits_long_names_to_the_terminal(shared: Place, tmp_path: Path, columns: int) -> None:
    """R-CLI-7: each row fits, and a path that fits no row is broken behind a slash."""
    folder = tmp_path / "a-project" / "with-a-rather-long-name" / "and-a-folder"
    deep = "packages/integration/source/components/notifications/generated/templates/for/people"
    (folder / deep).mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / deep / "message.txt").write_text(OLD)
    async with (
        FileOpsClient.attach(
            root=folder, role="editor", initialization_options={"ask": "protected"}, on_reviews=lambda _: None
        ) as board,
        FileOpsClient.attach(root=folder, host="the-agent-of-the-machine-in-the-basement") as agent,
    ):
        await agent.begin_turn(title="please do what was asked for in the issue about the letters")
        await agent.read(folder / deep / "message.txt")
        assert (await agent.edit(folder / deep / "message.txt", "two", "2")).ok
        with board.events(DidChangeReviews.METHOD) as changes:
            asked = asyncio.create_task(agent.write(folder / deep / ".env", "A=1\n"))
            (review,) = (await changes.next(timeout_s=PATIENCE_S)).opened
        for command in (
            ["status"], ["review", "--list"], ["changes"], ["changes", "--diff"], ["log"], ["log", "--all"],
            ["log", "--turns"], ["diff"], ["undo", "--all", "--dry-run"], ["review", "reject", review.review_id],
        ):  # fmt: skip
            said = await shown(shared, folder, *command, columns=columns, NO_COLOR="1", PAGER="cat")
            assert max(len(line) for line in said.splitlines()) <= columns, said
            assert command == ["log", "--turns"] or deep in "".join(line.strip() for line in said.splitlines()), said
        await asked


async def test_changed_words_are_marked_and_long_lines_shortened_to_them(shared: Place, folder: Path) -> None:
    (folder / "a.txt").write_text(f"{'x, ' * 100}two{', z' * 100}\nkeep this word\n")
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await agent.read(folder / "a.txt")
        assert (await agent.edit(folder / "a.txt", "two", "three")).ok
        assert (await agent.edit(folder / "a.txt", "this", "that")).ok
    for command in (["diff"], ["changes", "--diff"]):
        text = await shown(shared, folder, *command)
        assert "\x1b[31;7mthis\x1b[0m" in text
        assert "\x1b[32;7mthree\x1b[0m" in text
        plain = await shown(shared, folder, *command, NO_COLOR="1")
        line = f"-…{('x, ' * 100)[-40:]}two{(', z' * 100)[:40]}…"
        assert f"{line[:80]}\n {line[80:]}\n" in plain
    piped = (await asyncio.to_thread(shared.run, "diff", cwd=folder)).stdout.decode()
    assert f"+{'x, ' * 100}three{', z' * 100}\n" in piped


async def test_reader_that_ends_early_is_no_error(shared: Place, folder: Path) -> None:
    await edited(folder, 40)
    line = f"{' '.join(FILEOPS)} log -n 100 | head -n 1"
    done = await asyncio.to_thread(
        subprocess.run, ["bash", "-o", "pipefail", "-c", line], cwd=folder, env=shared.process_env,
        capture_output=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert (done.stderr, done.stdout.count(b"\n")) == (b"", 1)
    assert done.returncode in {0, 128 + signal.SIGPIPE}


async def test_guide_shows_the_commands_as_they_are(shared: Place, folder: Path) -> None:
    """`FILEOPS_WRITE_IMAGES=1` writes the pictures of the guide again."""
    (folder / "prices.py").write_text("VAT = 0.19\n\n\ndef gross(amount):\n    return amount * (1 + VAT)\n")
    async with FileOpsClient.attach(root=folder, host="claude-code") as agent:
        await agent.begin_turn(title="Use Decimal for prices")
        await agent.read(folder / "prices.py")
        assert (await agent.edit(folder / "prices.py", "VAT = 0.19", 'VAT = Decimal("0.19")')).ok
        assert (await agent.write(folder / "money.py", "from decimal import Decimal\n\nCENT = Decimal('0.01')\n")).ok
    async with FileOpsClient.attach(root=folder, host="codex") as other:
        await other.begin_turn(title="Count from one")
        await other.read(folder / "a.txt")
        assert (await other.edit(folder / "a.txt", "one", "1")).ok
    lines: list[str] = []
    for command in (
        ["changes"],
        ["changes", "--diff", "prices.py"],
        ["undo", "last-turn", "--yes"],
        ["blame", "prices.py"],
    ):
        said = await shown(shared, folder, *command, columns=PICTURE_COLUMNS)
        lines += [f"\x1b[1m$ fileops-server {' '.join(command)}\x1b[0m", *_without_notes(said, folder), ""]
    drawn = "\n".join(lines[:-1])
    assert "recorded since" not in drawn
    assert lines[1].startswith("\x1b[33mt-"), lines[:4]
    for text in (
        "Use Decimal for prices",
        "3 changes in 3 files",
        "Count from one",
        "1 change in 1 file was undone.",
        "Claude Code",
    ):
        assert text in drawn
    assert "\x1b[32" in drawn
    if os.environ.get("FILEOPS_WRITE_IMAGES"):
        for theme, page in (("dark", DARK), ("light", LIGHT)):
            still_picture(drawn, page, IMAGES / f"terminal-record-{theme}.svg", columns=PICTURE_COLUMNS)


def _without_notes(said: str, folder: Path) -> list[str]:
    """The lines without the sentence that says since when the folder has been recorded, which may be broken."""
    return re.sub(rf"{re.escape(str(folder))}\s[^.]*\.\n", "", said).rstrip("\n").split("\n")
