"""The README's first command: it shows what it says, and says so when something does not happen."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from fileops.demo.story import run_demo

TOY_DAEMON = pathlib.Path(__file__).parent.parent / "clients" / "python" / "toy_daemon.py"


def snapshot(folder: pathlib.Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_demo_plays_its_steps(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert run_demo() == 0
    told = capsys.readouterr().out
    assert re.findall(r"^(\d+)\. ", told, re.MULTILINE) == [str(number) for number in range(1, 14)]
    assert "     4→cheese = 1" in told
    assert "-cheese = 1\n" in told
    assert "+cheese = 3\n" in told
    assert re.search(r"fileops/didBecomeStale: modified, \d+\.\d ms after the change", told)
    assert "2 changes in 2 files have been undone." in told
    assert "cart.py, line 5, not kept yet" in told
    assert "File has been modified externally. Either by user or a linter." in told
    assert told.endswith("Each step did what it says.\n")
    assert "\x1b" not in told
    assert "/fileops-demo-" not in told


def test_terminal_gets_colours(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert run_demo() == 0
    assert "\x1b[32m+cheese = 3" in capsys.readouterr().out


def test_demo_on_a_folder_works_on_copies(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "poem.txt").write_text("\r\n".join(f"line number {n} of ours" for n in range(9)))
    (tmp_path / "notes.md").write_text("".join(f"some words, {n}\n" for n in range(9)))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 noir\n" * 9)
    (tmp_path / ".hidden.txt").write_text("hidden words\n" * 9)
    before = snapshot(tmp_path)
    assert run_demo(str(tmp_path)) == 0
    assert snapshot(tmp_path) == before
    told = capsys.readouterr().out
    assert "copies of 2 files" in told
    assert "The agent reads notes.md" in told
    assert "+some words, 0 (edited by the demo)\n" in told
    assert "several places of sub/poem.txt" in told


def test_demo_with_a_single_suitable_file_plays_both_parts(tmp_path: pathlib.Path) -> None:
    (tmp_path / "notes.md").write_text("".join(f"some words, {n}\n" for n in range(9)))
    assert run_demo(str(tmp_path)) == 0


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing fit", "it contains no text file with five different lines"),
        ("missing", "there is no such folder"),
        ("nothing fit/short.txt", "that is not a folder"),
    ],
)
def test_folder_without_text_files_is_reported(
    name: str, why: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nothing fit").mkdir()
    (tmp_path / "nothing fit" / "short.txt").write_text("one line\n")
    assert run_demo(str(tmp_path / name)) == 1
    assert f"{name}: {why}" in capsys.readouterr().out.replace("\n", "")


def test_terminal_without_arrows_and_colours_gets_the_whole_story() -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "latin-1", "FORCE_COLOR": "1", "TERM": "xterm-256color", "NO_COLOR": "1"}
    played = subprocess.run([sys.executable, "-m", "fileops", "demo"], env=plain, capture_output=True, check=True)
    assert b"     4?cheese = 1" in played.stdout
    assert b"\x1b" not in played.stdout
    assert played.stdout.endswith(b"Each step did what it says.\n")


def test_daemon_that_does_not_start_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    dying = [sys.executable, "-c", "raise SystemExit('broken installation')"]
    assert run_demo(command=dying) == 1
    told = capsys.readouterr().out
    assert "not be started: the daemon has ended (exit code 1); it last wrote:\nbroken installation" in told
    assert "Each step did what it says" not in told


def test_step_that_fails_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_demo(command=[sys.executable, str(TOY_DAEMON)]) == 1
    told = capsys.readouterr().out
    assert "Step 1 failed: no fileops here" in told
    assert "Each step did what it says" not in told
