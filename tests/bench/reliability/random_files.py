"""Random repetitive files whose lines have hidden identities: does an edit land on the lines that were meant?

Others insert, delete, change and move lines and functions, and bring the same words in elsewhere, also directly beside
the lines that are meant. An edit that lands on lines with other identities is silently wrong, unless the text around
it is the same: then the two files do not differ for any reader.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.reliability.contenders import Contender
from bench.reliability.scenario import EditCall

SEED, N_FILES = 5, 1_000  # of the published table
_STATEMENTS = (
    "log()", "i += 1", "x = get()", "return x", "if x:", "    drop(x)", "else:", "    keep(x)", "close()", "send(x)",
    "wait()", "y = x",
)  # fmt: skip
_SETTINGS = ("retries = 2", "timeout = 5", "hosts = 2", "on = true", "level = 3", "name = a", "size = 10", "ttl = 60")
_LETTERS = "abcdefghijkl"
OPERATIONS = "iiiccddmMFXsrbB"
Shape = Literal["python", "braces", "sections"]
_SHAPES: tuple[Shape, ...] = ("python", "python", "braces", "sections")
Outcome = Literal["right", "wrong", "same surroundings", "needless", "refused"]


@dataclass(eq=False)
class Line:
    """A line of a file; the object is its identity."""

    text: str


Function = list[Line]


@dataclass(frozen=True)
class RandomFile:
    """before, now: the lines when the model read and when it edits.

    history: the lines after each change by others, the first one as in `before`, the last one as in `now`. meant: lines
    of `before` that the call quotes. changed: which of them it changes, or adds a line to.
    """

    shape: Shape
    before: tuple[str, ...]
    now: tuple[Line, ...]
    history: tuple[tuple[Line, ...], ...]
    now_text: str
    meant: tuple[Line, ...]
    changed: int
    call: EditCall

    @property
    def before_text(self) -> str:
        return _joined(self.before)

    @property
    def right(self) -> str | None:
        """The right end; None if what the call quotes is not there once, or its line is another one."""
        if self.now_text.count(self.call.old) != 1:
            return None
        at = self.now_text.count("\n", 0, self.now_text.index(self.call.old)) + self.changed
        is_meant = self.now[at] is self.meant[self.changed]
        return self.now_text.replace(self.call.old, self.call.new) if is_meant else None

    @property
    def carried(self) -> str | None:
        """The right end for a tool that knows each change, even if the text is there more than once; None if none."""
        at = [index for index, line in enumerate(self.now) if any(line is each for each in self.meant)]
        if len(at) != len(self.meant) or at[-1] - at[0] != len(at) - 1:
            return None
        start = len(_joined([line.text for line in self.now[: at[0]]]))
        start += _joined([line.text for line in self.meant]).index(self.call.old)
        return self.now_text[:start] + self.call.new + self.now_text[start + len(self.call.old) :]

    def outcome(self, result: str | None) -> Outcome:
        """result: the file after the edit, None where it was refused."""
        right = self.right
        if result is None:
            return "refused" if right is None else "needless"
        if result == right:
            return "right"
        is_at_text = self.now_text.count(self.call.old) == 1
        is_at_text = is_at_text and result == self.now_text.replace(self.call.old, self.call.new)
        if is_at_text and self._has_same_surroundings():
            return "same surroundings"
        return "wrong"

    def _has_same_surroundings(self) -> bool:
        at = self.before_text.count("\n", 0, self.before_text.index(self.call.old)) + self.changed
        at_now = self.now_text.count("\n", 0, self.now_text.index(self.call.old)) + self.changed
        return _surroundings(self.before, at) == _surroundings([line.text for line in self.now], at_now)


def _surroundings(lines: Sequence[str], at: int) -> tuple[str | None, str | None, str | None]:
    """Return the next line above and below that is not blank, and the head of the function or section."""
    above = next((line for line in reversed(lines[:at]) if line.strip()), None)
    below = next((line for line in lines[at + 1 :] if line.strip()), None)
    head = next((line for line in reversed(lines[:at]) if line.startswith(("def ", "function ", "["))), None)
    return above, below, head


def random_files(n: int, seed: int = SEED, operations: str = OPERATIONS) -> Iterator[RandomFile]:
    """operations: what others do, see `_disturb`."""
    rng = random.Random(seed)
    return itertools.islice(filter(None, (_random_file(rng, operations) for _ in itertools.count())), n)


class _Writer:
    """Writes functions, or sections, of one shape."""

    def __init__(self, rng: random.Random, shape: Shape) -> None:
        self.rng = rng
        self.shape: Shape = shape

    def line(self) -> Line:
        if self.shape == "sections":
            return Line(self.rng.choice(_SETTINGS))
        return Line("    " + self.rng.choice(_STATEMENTS))

    def head(self, suffix: str) -> Line:
        name = self.rng.choice(_LETTERS) + suffix
        forms = {"python": f"def {name}():", "braces": f"function {name}() {{", "sections": f"[{name}]"}
        return Line(forms[self.shape])

    def function(self, suffix: str) -> Function:
        body = [self.line() for _ in range(self.rng.randint(2, 6))]
        end = [Line("}")] if self.shape == "braces" else []
        return [self.head(suffix), *body, *end, Line("")]


def _random_file(rng: random.Random, operations: str) -> RandomFile | None:
    shape = _SHAPES[rng.randrange(len(_SHAPES))]
    writer = _Writer(rng, shape)
    functions = [writer.function(rng.choice("abc")) for _ in range(rng.randint(1, 6))]
    before = [line for function in functions for line in function]
    texts = tuple(line.text for line in before)
    chosen = _chosen(rng, before)
    if chosen is None:
        return None
    meant, changed, call = chosen
    now = [list(function) for function in functions]
    history = [tuple(before)]
    for _ in range(rng.randint(1, 5)):
        _disturb(rng, writer, now, meant[changed], operations)
        history.append(tuple(line for function in now for line in function))
    lines = history[-1]
    now_text = _joined([line.text for line in lines])
    if now_text == _joined(texts):
        return None
    return RandomFile(writer.shape, texts, lines, tuple(history), now_text, tuple(meant), changed, call)


def _chosen(rng: random.Random, before: Sequence[Line]) -> tuple[Sequence[Line], int, EditCall] | None:
    """Return some lines whose text is there once, which one a call changes or adds one below, and the call."""
    text = _joined([line.text for line in before])
    n_lines = rng.choice((1, 1, 1, 2, 3))
    firsts = [index for index in range(len(before) - n_lines + 1) if before[index].text.strip()]
    rng.shuffle(firsts)
    for first in firsts:
        meant = before[first : first + n_lines]
        old = _joined([line.text for line in meant])
        if n_lines == 1 and rng.random() < 0.5:
            old = old.strip()
        if text.count(old) != 1:
            continue
        changed = rng.randrange(n_lines)
        parts = [line.text for line in meant]
        indentation = parts[changed][: len(parts[changed]) - len(parts[changed].lstrip())]
        if not old.endswith("\n"):
            return meant, changed, EditCall(old, "done()")
        if rng.random() < 0.3:
            parts.insert(changed + 1, f"{indentation}added()")
        else:
            parts[changed] = f"{indentation}done()"
        return meant, changed, EditCall(old, _joined(parts))
    return None


def _disturb(rng: random.Random, writer: _Writer, functions: list[Function], meant: Line, operations: str) -> None:
    """Make one change by others. Some do nothing to some files."""
    if not functions:
        return
    operation = rng.choice(operations)
    function = rng.choice(functions)
    of_meant = next((each for each in functions if meant in each), None)
    others = [each for each in functions if each is not of_meant]
    match operation:
        case "i":
            function.insert(rng.randint(1, len(function)), writer.line())
        case "c":
            at = rng.randrange(len(function))
            _replace(function, at, writer.line() if at else writer.head("z"))
        case "d" if len(function) > 1:
            function.pop(rng.randrange(1, len(function)))
        case "m" if len(functions) > 1:
            functions.insert(rng.randrange(len(functions)), functions.pop(rng.randrange(len(functions))))
        case "M" if len(function) > 3:
            line = function.pop(rng.randrange(1, len(function)))
            function.insert(rng.randint(1, len(function)), line)
        case "F":
            functions.insert(rng.randint(0, len(functions)), writer.function("q"))
        case "X" if len(functions) > 1:
            functions.pop(rng.randrange(len(functions)))
        case "s" if others:  # the same words elsewhere
            rng.choice(others).insert(1, Line(meant.text))
        case "r" if of_meant is not None and others:  # replaced, and the same words in another function
            _replace(of_meant, of_meant.index(meant), writer.line())
            rng.choice(others).insert(1, Line(meant.text))
        case "b" if of_meant is not None:  # replaced, and the same words directly below
            at = of_meant.index(meant)
            of_meant[at : at + 1] = [writer.line(), Line(meant.text)]
        case "B" if of_meant is not None:  # and directly above
            at = of_meant.index(meant)
            of_meant[at : at + 1] = [Line(meant.text), writer.line()]
        case _:
            pass


def _replace(function: Function, at: int, line: Line) -> None:
    """Replace a line, unless by the same words: then it is still the same line."""
    if function[at].text != line.text:
        function[at] = line


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def play_random(tool: Contender, files: Sequence[RandomFile], folder: Path) -> "Counter[Outcome]":
    """Play each file against the tool, and count what happened."""
    found: Counter[Outcome] = Counter()
    for number, file in enumerate(files):
        path, agent = folder / f"{number}.txt", f"f{number % 50}"
        path.write_text(file.before_text, encoding="utf-8")
        tool.read(agent, str(path))
        path.write_text(file.now_text, encoding="utf-8")
        said = tool.call(agent, str(path), file.call)
        result = path.read_text(encoding="utf-8")
        found[file.outcome(result if said.is_ok or result != file.now_text else None)] += 1
        path.unlink()
    return found
