"""Every operation on text takes time linear in it (times a logarithm), for every text.

A row is an operation and a text made to be the worst for it. The processor time of the thread is compared with that of
a text sixteen times as long, as the best of several: a quadratic operation takes 256 times as long, a linear one 16, or
some three times that where the longer text no longer fits the cache and other work shares the memory.
"""

# ruff: noqa: E501 - tables are read by the line

import ast
import pathlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from fileops.core import plan as core_edit
from fileops.core.diff.lines import find_changed_ranges
from fileops.core.diff.unified import change_of
from fileops.core.globs import Glob
from fileops.core.matching import strategies
from fileops.core.matching.correction import correct
from fileops.core.matching.exact import find
from fileops.core.patch.hunks import plan_hunks
from fileops.core.patch.parser import parse_patch
from fileops.core.pausing import check_nothing
from fileops.core.suggestions.steps import examine
from fileops.core.suggestions.suggested_place import suggest_place
from fileops.core.text import detect_format
from fileops.core.whole_text import splices_to_text
from fileops.core.windows.numbered import WindowReader
from fileops.fs.overlay.text_document import TextDocument, encode_document
from fileops.fs.overlay.text_edits import document_edits
from fileops.model.edits import Edit, Splice
from fileops.model.errors import FileOpsError
from fileops.model.files import Text
from support.core_models import LIMITS, snapshot_of

assert strategies.STRATEGIES  # regex and block are registered by the import

FACTOR = 16
MAX_RATIO = 100.0  # between 48, linear and out of the cache, and 256, quadratic
N_TRIES = 25  # only a ratio that is too large takes more than one
LONG_ENOUGH_S = 0.01  # one try of the short text tells how long it takes

Work = Callable[[], object]
Case = Callable[[int], Work]  # of a size: what is to be timed; the texts are made before


def text_of(data: bytes) -> Text:
    return Text(data=data, format=detect_format(data))


def utf16(text: str) -> bytes:
    return ("\ufeff" + text).encode("utf-16-le")


def outcome_of(work: Work) -> object:
    try:
        return work()
    except FileOpsError as failure:
        return failure


# --- operations: each takes a text and an edit, or two texts ------------------------------------------------------


def looked_for(data: bytes, old: str) -> Work:
    text = text_of(data)
    return lambda: find(text, old)


def corrected(data: bytes, old: str, new: str = "new") -> Work:
    text, wish = text_of(data), Edit(old_string=old, new_string=new)
    return lambda: correct(text, wish)


def place_of(data: bytes, old: str) -> Work:
    text = text_of(data)
    return lambda: suggest_place(text, old)


def examined_of(data: bytes, old: str) -> Work:
    text, wish = text_of(data), Edit(old_string=old, new_string="something new")
    return lambda: examine(text, [wish], encoding=None, own_edits=list, check=check_nothing)


def planned(data: bytes, *wishes: Edit) -> Work:
    snapshot = snapshot_of(data)
    return lambda: core_edit.plan(snapshot, detect_format(data), wishes, limits=LIMITS)


def parsed(patch: str) -> Work:
    return lambda: parse_patch(patch)


def hunks_of(data: bytes, body: str) -> Work:
    snapshot, fmt = snapshot_of(data), detect_format(data)
    (file,) = parse_patch(f"*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n").files
    return lambda: plan_hunks(snapshot, fmt, file.hunks, limits=LIMITS)


def every(data: bytes, old: str, new: str, strategy: str = "exact") -> Work:
    return planned(data, Edit(old_string=old, new_string=new, replace_all=True, strategy=strategy))


def compared(old: list[str], new: list[str]) -> Work:
    return lambda: find_changed_ranges(old, new)


def decided(data: bytes, person_text: str) -> Work:
    text = text_of(data)
    return lambda: splices_to_text(text, person_text)


def shown(data: bytes, changes: list[Splice]) -> Work:
    return lambda: change_of(
        data, detect_format(data), changes, file_path="/f", operation="modify", limits=LIMITS, with_snippet=False
    )


def for_an_editor(text: str, changes: Callable[[bytes], list[Splice]]) -> Work:
    document, fmt = TextDocument(text), detect_format(b"")
    data = encode_document(text, fmt)
    wanted = changes(data)
    return lambda: document_edits(document, data, fmt, wanted, "utf-16")


def read(data: bytes, chunk_bytes: int) -> Work:
    def work() -> object:
        reader = WindowReader(limits=LIMITS)
        for at in range(0, len(data), chunk_bytes):
            if reader.feed(data[at : at + chunk_bytes]):
                break
        return reader.finish()

    return work


def matched(glob: str, path: str) -> Work:
    pattern = Glob(glob)
    return lambda: pattern.fullmatch(path)


def inserted(data: bytes, every_bytes: int, new: bytes = b"x") -> list[Splice]:
    return [Splice(at, at, new) for at in range(0, len(data), every_bytes)]


def peeled(n: int, mark: str) -> list[str]:
    """Lines of which one at a time is unique in what is left when the text is divided at the one before."""
    lines = ["l0", f"{mark}0"]
    for at in range(1, n):
        lines += [f"l{at}", f"{mark}{at}", f"l{at - 1}"]
    return lines


CASES: dict[str, tuple[int, Case]] = {
    # a literal text
    "find: one character less than a run": (400_000, lambda n: looked_for(b"a" * n, "a" * (n // 2) + "b")),
    "find: nearly, all over the text": (400_000, lambda n: looked_for(b"ab" * (n // 2), "ab" * (n // 8) + "aab")),
    "find: overlapping itself": (100_000, lambda n: looked_for(b"a" * n, "a" * (n * 2 // 3))),
    "find: equal lines with CRLF": (200_000, lambda n: looked_for(b"a\r\n" * (n // 3), "a\n" * (n // 12) + "b")),
    "find: empty lines with CRLF": (200_000, lambda n: looked_for(b"\r\n" * (n // 2), "\n" * (n // 8) + "b")),
    "find: carriage returns": (200_000, lambda n: looked_for(b"\r" * n + b"\n", "\r" * (n // 4) + "b")),
    "find: line ends of both kinds": (200_000, lambda n: looked_for(b"a\r\na\n" * (n // 5), "a\n" * (n // 2))),
    "find: hits between two units": (200_000, lambda n: looked_for(utf16("\u4142" * (n // 2)), "\u4241" * (n // 4))),
    "find: newlines between two units": (200_000, lambda n: looked_for(utf16("\u0a0a" * (n // 2)), "\n" * (n // 8))),
    # corrections
    "correct: a run of blanks": (40_000, lambda n: corrected(b" " * n, "\nfoo")),
    "correct: a run of tabs in a line": (40_000, lambda n: corrected(b"x" + b"\t" * n + b"y", "x\ny")),
    "correct: blank lines of blanks": (40_000, lambda n: corrected(b"   \n" * (n // 4), "   \n" * (n // 16) + "z")),
    "correct: runs of blanks before no end": (40_000, lambda n: corrected((b" " * 500 + b"x") * (n // 501), "a \nb")),
    "correct: empty lines of both kinds": (40_000, lambda n: corrected(b"\r\n" * (n // 2), "\n" * (n // 8) + "b")),
    "correct: carriage returns": (40_000, lambda n: corrected(b"\r" * n, "\n" * (n // 4) + "b")),
    "correct: equal lines, nearly": (40_000, lambda n: corrected(b"  a\n" * (n // 4), "a\n" * (n // 16) + "b")),
    "correct: indented further and further": (
        40_000, lambda n: corrected(b"".join(b" " * (i % 50) + b"a\n" for i in range(n // 26)), "a\n" * (n // 64) + "b"),
    ),
    "correct: look-alikes, nearly": (40_000, lambda n: corrected("\u2019".encode() * n, "'" * (n // 2) + "x")),
    "correct: escapes, nearly": (40_000, lambda n: corrected(b"a\n" * (n // 2), "a\\n" * (n // 8) + "b", "c\\n")),
    "correct: the new text like the old": (40_000, lambda n: corrected(b"a\xc2\xa0" * n, "a " * n, "a " * n + "b")),
    # the suggested place of a text that is not found
    "suggested place: equal lines": (100_000, lambda n: place_of(b"some words\n" * (n // 11), "some words\n" * 150 + "other")),
    "suggested place: one huge line": (100_000, lambda n: place_of(b"some words " * (n // 11), "some words, other")),
    "suggested place: near matches": (
        100_000, lambda n: place_of(b"".join(b"value_%d = %d\n" % (i, i) for i in range(n // 20)), "value = 3\nvalues = 4"),
    ),
    "suggested place: shared words": (100_000, lambda n: place_of(b"the cat sat\n" * (n // 12), "a cat on the mat")),
    "suggested place: a huge wanted text": (100_000, lambda n: place_of(b"abc def\n" * (n // 8), "abc dex\n" * (n // 8))),
    "suggested place: blanks": (100_000, lambda n: place_of(b" " * n, "x" + " " * 5000 + "y")),
    # what to send after a failed edit
    "examine: many equal lines": (100_000, lambda n: examined_of(b"some words\n" * (n // 11), "some words\n" * 3 + "other")),
    "examine: one huge line": (100_000, lambda n: examined_of(b"some words " * (n // 11), "some words, other")),
    "examine: an ambiguous text": (100_000, lambda n: examined_of(b"a b\n" * (n // 4), "a b\n")),
    # plans
    "plan: a newline into each piece of one line with CRLF": (10_000, lambda n: every(b"ab;" * (n // 3) + b"\r\n", ";", ";\n")),
    "plan: a newline behind the last line's end": (10_000, lambda n: every(b"\r\n" + b"ab;" * (n // 3), ";", ";\n")),
    "plan: a newline into each piece, UTF-16": (10_000, lambda n: every(utf16("ab;" * (n // 6) + "\r\n"), ";", ";\n")),
    "plan: far apart in one line": (400_000, lambda n: every((b"x" * 1500 + b";") * (n // 1501), ";", ",,")),
    "plan: each line": (100_000, lambda n: every(b"abc\n" * (n // 4), "b", "xy")),
    "plan: each line with CRLF": (40_000, lambda n: every(b"abc\r\n" * (n // 5), "c\n", "\n\n")),
    "plan: lines of mixed ends": (10_000, lambda n: every(b"a\r\nb\n" * (n // 5), "a\nb\n", "a\nc\nb\n")),
    "plan: all of it anew": (
        25_000, lambda n: planned(b"abc\n" * (n // 4), Edit(old_string="abc\n" * (n // 4), new_string="abd\n" * (n // 4))),
    ),
    "plan: cut in what was put in before": (
        2_000_000,
        lambda n: planned(
            b"seed",
            Edit(old_string="seed", new_string=("x" * 2000 + ";") * (n // 2001)),
            Edit(old_string=";", new_string=",", replace_all=True),
        ),
    ),
    "regex: every character": (10_000, lambda n: every(b"ab\n" * (n // 3), "[a-z]", "x", "regex")),
    "regex: between all characters": (5_000, lambda n: every("é漢".encode() * (n // 5), "(?:)", "-", "regex")),
    "regex: a newline into each piece of one line": (10_000, lambda n: every(b"ab;" * (n // 3) + b"\r\n", ";", ";\n", "regex")),
    "regex: a line at a time in UTF-16": (10_000, lambda n: every(utf16("ab\r\n" * (n // 8)), "(?m)^a", "b", "regex")),
    "regex: group names that never end": (100_000, lambda n: every(b"a\n", "a", "\\g<" * (n // 3), "regex")),
    "regex: quotes that never end": (20_000, lambda n: every(b"a\n", "(?:\\Qb\\E)*a" + "\\Q" * (n // 2), "b", "regex")),
    "block: first lines without a last": (100_000, lambda n: every(b"begin\n" * (n // 6), "begin\nend", "x", "block")),
    "block: blanks around": (100_000, lambda n: every(b" " * (n // 2) + b"begin\n" + b"\t" * (n // 2), "begin", "x", "block")),
    # patches
    "patch: equal lines, nearly": (25_000, lambda n: hunks_of(b"a\n" * (n // 2), "@@\n" + "-a\n" * (n // 8) + "-b\n")),
    "patch: a hunk at every line": (100_000, lambda n: hunks_of(b"a\n" * (n // 2), "@@\n-a\n")),
    "patch: parts in parts": (
        25_000, lambda n: hunks_of(b"".join(b" " * (i % 40) + b"x\n" for i in range(n // 21)), "@@ x\n@@ x\n-y\n"),
    ),
    "patch: one hunk with all the lines": (100_000, lambda n: hunks_of(b"%d\n" % n * (n // 7), "@@\n" + f"-{n}\n" * (n // 7) + "+x\n")),
    "patch: headers without an end": (100_000, lambda n: parsed("diff --git " + '"' * n + " x\n")),
    "patch: a path of escapes": (100_000, lambda n: parsed('--- "a/' + "\\303\\244" * (n // 8) + '"\n+++ b/x\n')),
    "patch: empty lines": (100_000, lambda n: parsed("*** Begin Patch\n*** Update File: a\n@@\n-x\n" + "\n" * n)),
    # line against line
    "lines: unique ones, one behind the other": (3_000, lambda n: compared(peeled(n, "a"), peeled(n, "b"))),
    "lines: all equal": (20_000, lambda n: compared(["x"] * n, ["x", "y"] * (n // 2))),
    "lines: turned round": (20_000, lambda n: compared([str(i) for i in range(n)], [str(i) for i in range(n, 0, -1)])),
    "lines: shuffled": (20_000, lambda n: compared([str(i) for i in range(n)], [str(i * 7919 % n) for i in range(n)])),
    "diff: each line": (25_000, lambda n: shown(b"abc\n" * (n // 4), inserted(b"." * n, 4))),
    "diff: one huge line": (100_000, lambda n: shown(b"abc " * (n // 4), inserted(b"." * n, 4))),
    "diff: around huge lines": (
        400_000, lambda n: shown((b"x" * 1000 + b"\n") * (n // 1001), inserted(b"." * n, 8 * 1001)),
    ),
    # a person's answer
    "person: every second line": (
        40_000, lambda n: decided(b"a\nb\n" * (n // 4), "a\nc\n" * (n // 4)),
    ),
    "person: one block of other length": (
        20_000, lambda n: decided(b"a\r\nb\r\n" * (n // 6), "c\nd\ne\n" * (n // 6)),
    ),
    "person: lines with invalid bytes": (
        2_500, lambda n: decided(b"caf\xe9 x\n" * (n // 7), "  caf\ufffd y\n" * (n // 7)),
    ),
    "person: a line of invalid bytes": (10_000, lambda n: decided(b"\xff" * n, "a" + "\ufffd" * n)),
    # a glob
    "glob: many stars before what is missing": (2_000, lambda n: matched("*a" * 6 + "*b", "/" + "a" * n)),
    "glob: choices of stars before what is missing": (2_000, lambda n: matched("{*a,a*}{a*,**}{**/a*,*}b", "/a" * (n // 2))),
    "glob: folders and stars before what is missing": (2_000, lambda n: matched("**/a*a/**/a*a*b/**/c", "/aaaa" * (n // 5))),
    # an editor's edits
    "editor: one huge line": (
        50_000, lambda n: for_an_editor("abcdefgh" * (n // 8), lambda data: inserted(data, 8)),
    ),
    "editor: each line": (50_000, lambda n: for_an_editor("abcdefg\n" * (n // 8), lambda data: inserted(data, 8))),
    # a read
    "read: one huge line": (1_000_000, lambda n: read(b"x" * n, 1 << 16)),
    "read: empty lines": (400_000, lambda n: read(b"\n" * n, 1 << 16)),
}  # fmt: skip


def seconds_of(work: Work) -> float:
    began = time.thread_time()
    outcome_of(work)
    return time.thread_time() - began


def ratio_of(size: int, case: Case) -> float:
    """Of the best of several tries each: load of the machine makes a try slower and never faster."""
    short, long = case(size), case(FACTOR * size)
    ratio = float("inf")
    best_short = best_long = float("inf")
    for _ in range(N_TRIES):
        best_short = min(best_short, seconds_of(short))
        if best_short < LONG_ENOUGH_S:
            best_short = min(best_short, seconds_of(short), seconds_of(short))
        best_long = min(best_long, seconds_of(long))
        ratio = best_long / max(best_short, 1e-4)
        if ratio < MAX_RATIO:
            break
    return ratio


@pytest.mark.parametrize("name", CASES)
def test_operation_takes_linear_time(name: str) -> None:
    size, case = CASES[name]
    assert ratio_of(size, case) < MAX_RATIO


def test_quadratic_operation_is_detected() -> None:
    """The bound parts what it has to part."""

    def quadratic(n: int) -> Work:
        return lambda: sum(1 for _ in range(n) for _ in range(n))

    assert ratio_of(60, quadratic) > MAX_RATIO


# --- patterns -------------------------------------------------------------------------------------------------------

CORE = pathlib.Path(core_edit.__file__).parent
COMPILING = {"compile", "search", "match", "fullmatch", "split", "sub", "subn", "findall", "finditer"}


def is_constant(pattern: Any) -> bool:
    """A literal, or one that is put together of literals. `re.escape` makes a literal of any text."""
    match pattern:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="escape")):
            return True
        case _:
            return False


# They compile patterns in a form without repeated backtracking; test_ignore.py and the cases above hold that.
WITH_LINEAR_FORM = {"globs.py", "ignore.py"}


@pytest.mark.parametrize(
    "file",
    sorted(file for file in CORE.rglob("*.py") if file.name not in WITH_LINEAR_FORM),
    ids=lambda file: file.stem,
)
def test_core_compiles_no_pattern_of_a_callers_text(file: pathlib.Path) -> None:
    """Python's `re` tries again from every place, and holds the interpreter's lock: no other client is served."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[pattern, *_]) if (
                name in COMPILING
            ):
                assert is_constant(pattern), f"{file.name}:{node.lineno}"
            case _:
                pass


def test_deeply_divided_lines_are_compared() -> None:
    old, new = peeled(3_000, "a"), peeled(3_000, "b")
    ranges = find_changed_ranges(old, new)
    made = list(old)
    for i, i_stop, j, j_stop in reversed(ranges):
        made[i:i_stop] = new[j:j_stop]
    assert made == new
