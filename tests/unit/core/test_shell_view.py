"""What the output of a command proves that its reader was shown of a file (R-ANS-6)."""

import pytest

from fileops.core.windows.shell_view import View, view_of

LINES = [f"line number {n}" for n in range(1, 21)]
TEXT = "\n".join(LINES) + "\n"


def part(first: int, last: int) -> list[str]:
    return LINES[first - 1 : last]


@pytest.mark.parametrize(
    ("output", "view"),
    [
        (TEXT, "whole"),
        (TEXT.replace("\n", "\r\n"), "whole"),
        (f"$ cat a.txt b.txt\n{TEXT}other\n", "whole"),
        ("\n".join(f"{n:6}\t{line}" for n, line in enumerate(LINES, 1)), "whole"),
        ("\n".join(f"{n}:{line}" for n, line in enumerate(LINES, 1)), "whole"),
        ("\n".join(f"   {n} │ {line}" for n, line in enumerate(LINES, 1)), "whole"),
        ("\n".join(part(4, 6)), "part"),
        ("\n".join(f"{n}:{line}" for n, line in enumerate(LINES, 1) if 7 <= n <= 9), "part"),
        ("\n".join(f"{n}:{line}" for n, line in enumerate(LINES, 1) if n % 2), None),
        ("\n".join(f"{n + 1}:{line}" for n, line in enumerate(LINES, 1)), None),
        ("\n".join(part(4, 5)), None),
        ("\n".join((LINES[3], LINES[5], LINES[7])), None),
        ("\n".join(line[:10] for line in LINES), None),
        (TEXT.replace("line", "lime"), None),
        ("", None),
    ],
)
def test_output_proves_what_it_has_and_no_more(output: str, view: View | None) -> None:
    assert view_of(TEXT, output) == view


@pytest.mark.parametrize("text", ["", "\n\n\n", "}\n}\n}\n" * 4])
def test_text_without_words_is_not_proved_by_its_parts(text: str) -> None:
    assert view_of(text, "}\n}\n}\n\n\n\n") is None


def test_short_text_is_proved_by_itself_alone() -> None:
    assert view_of("one\n", "one\n") == "whole"
    assert view_of("one\n", "zero\none\ntwo\n") is None


def test_run_that_is_at_two_places_proves_neither() -> None:
    twice = "\n".join([*part(1, 4), "between", *part(1, 4), "after"])
    assert view_of(twice, "\n".join(part(1, 3))) is None
