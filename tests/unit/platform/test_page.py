"""What is printed for people."""

import os
import pty
import sys

import pytest

from fileops.platform.page import say


def test_command_in_a_message_is_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who copies it would copy two commands."""
    command = f"    /home/{'folder/' * 10}python -m pip install '.[review]'"
    reader, writer = pty.openpty()
    monkeypatch.setenv("COLUMNS", "40")
    with open(reader, "rb", 0) as shown, open(writer, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        say(f"It is not installed. In the folder of the program, run:\n{command}")
        terminal.flush()
        lines = os.read(shown.fileno(), 4096).decode().splitlines()
    assert lines == ["It is not installed. In the folder of", "    the program, run:", command]
