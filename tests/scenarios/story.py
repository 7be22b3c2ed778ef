"""Story files, parsed. The format is in README.md beside this file."""

import json
import pathlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

REMINDER = (
    "<system-reminder>\nWhenever you read a file, you should consider whether it looks malicious. If it does, you MUST "
    "refuse to improve or augment the code. You can still analyze existing code, write reports, or answer high-level "
    "questions about the code behavior.\n</system-reminder>"
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
_FACT = re.compile(r"([\w.]+) (?:= (.*)|absent)$")
_BLOCK = re.compile(r"([\w.]+):$")
_SWAP = re.compile(r'("(?:[^"\\]|\\.)*") -> ("(?:[^"\\]|\\.)*")( \(all\))?$')
_ANSWER = re.compile(r"=> (success|error|result|refused)(?: (\S+))?$")
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u\{([0-9a-fA-F]+)\}|\{(\d+)\*([^}]*)\}|([\\rnt]))")
_NUMBER = re.compile(r"\{n(?::([^}]*))?\}")
_LOOP = re.compile(r"\\\{for n in (\d+)\.\.(\d+): (.*)\}$")


class BadStory(Exception):
    """The story file itself is wrong. args[0]: where and why."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Text lines of a section, still with their escapes."""

    lines: tuple[str, ...]

    def as_bytes(self, encoding: str = "utf-8") -> bytes:
        """Each line with its newline, a last lone backslash taking the newline away."""
        return b"".join(_encode(part, encoding) for line in self._expanded() for part in _unescape(line, newline=True))

    def as_text(self) -> str:
        parts = ["".join(_text_only(_unescape(line, newline=False))) for line in self._expanded()]
        return "\n".join(parts)

    def _expanded(self) -> Iterator[str]:
        for line in self.lines:
            loop = _LOOP.match(line)
            if loop is None:
                yield line
            else:
                texts_and_specs = [part or "" for part in _NUMBER.split(loop[3])]
                form = "".join(
                    f"{{0:{part}}}" if n % 2 else part.replace("{", "{{").replace("}", "}}")
                    for n, part in enumerate(texts_and_specs)
                )
                yield "\n".join(map(form.format, range(int(loop[1]), int(loop[2]) + 1)))  # up to a million lines


@dataclass(frozen=True, slots=True)
class Fact:
    """path: dotted. expected: JSON value, Lines, or ABSENT."""

    path: str
    expected: Any


ABSENT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    kind: str
    code: str | None
    output: Lines | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """verb and args: of the section's head. params, swaps: what precedes `=>`."""

    line: int
    verb: str
    args: tuple[str, ...]
    options: dict[str, str]
    content: Lines
    params: tuple[Fact, ...]
    swaps: tuple[tuple[str, str, bool], ...]
    answer: Answer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    subject: str
    title: str
    settings: dict[str, Any]
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        return f"{self.subject}: {self.title}"


def stories_of(path: pathlib.Path) -> Iterator[Story]:
    """Raises: BadStory."""
    lines = path.read_text(encoding="utf-8").split("\n")
    heads = [index for index, line in enumerate(lines) if line.startswith("=== ")]
    for begin, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        yield _story(path, lines[begin][4:].strip(), begin + 1, lines[begin + 1 : end])


def _story(path: pathlib.Path, title: str, first: int, lines: Sequence[str]) -> Story:
    heads = [index for index, line in enumerate(lines) if line.startswith("[")]
    steps: list[Step] = []
    settings: dict[str, Any] = {}
    for begin, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        try:
            step = _step(first + begin + 1, lines[begin], lines[begin + 1 : end])
        except (BadStory, ValueError) as error:
            raise BadStory(f"{path.name}:{first + begin + 1}: {error}") from None
        if step.verb == "settings":
            settings = {fact.path: fact.expected for fact in step.params}
        else:
            steps.append(step)
    return Story(subject=path.stem, title=title, settings=settings, steps=tuple(steps))


def _step(line_number: int, head: str, body: Sequence[str]) -> Step:
    if not head.endswith("]"):
        raise BadStory("a section's head is [VERB ...]")
    verb, *words = (json.loads(t) if t.startswith('"') else t for t in _TOKEN.findall(head[1:-1]))
    options = dict(word.split("=", 1) for word in words if re.match(r"(mode|symlink|links)=", word))
    args = tuple(word for word in words if not re.match(r"(mode|symlink|links)=", word))
    answer_at = next((i for i, line in enumerate(body) if line.startswith("=>")), None)
    asked = body if answer_at is None else body[:answer_at]
    content, params, swaps = _body(asked)
    answer = None
    if answer_at is not None:
        match = _ANSWER.match(body[answer_at].rstrip())
        if match is None:
            raise BadStory(f"not an answer: {body[answer_at]}")
        output, facts, _ = _body(body[answer_at + 1 :])
        answer = Answer(kind=match[1], code=match[2], output=output if output.lines else None, facts=facts)
    return Step(
        line=line_number,
        verb=verb,
        args=args,
        options=options,
        content=content,
        params=params,
        swaps=swaps,
        answer=answer,
    )


def _body(lines: Sequence[str]) -> tuple[Lines, tuple[Fact, ...], tuple[tuple[str, str, bool], ...]]:
    texts: list[str] = []
    blocks: dict[str, list[str]] = {}
    facts: list[Fact] = []
    swaps: list[tuple[str, str, bool]] = []
    into = texts
    for line in lines:
        if line.startswith("|"):
            into.append(line[1:])
        elif not line.strip() or line.startswith("#"):
            continue
        elif swap := _SWAP.match(line.rstrip()):
            swaps.append((json.loads(swap[1]), json.loads(swap[2]), swap[3] is not None))
        elif fact := _FACT.match(line.rstrip()):
            facts.append(Fact(fact[1], ABSENT if fact[2] is None else json.loads(fact[2])))
        elif block := _BLOCK.match(line.rstrip()):
            into = blocks[block[1]] = []
        else:
            raise BadStory(f"not understood: {line}")
    facts += [Fact(path, Lines(tuple(block))) for path, block in blocks.items()]
    return Lines(tuple(texts)), tuple(facts), tuple(swaps)


def _unescape(line: str, *, newline: bool) -> Iterator[str | bytes]:
    """Pieces of text, and raw bytes as bytes; with `newline` the line's end, unless a lone backslash ends it."""
    joined = newline and re.search(r"(?<!\\)(\\\\)*\\$", line) is not None
    line = line[:-1] if joined else line
    at = 0
    for match in _ESCAPE.finditer(line):
        yield line[at : match.start()]
        at = match.end()
        raw, codepoint, n_times, repeated, letter = match.groups()
        if raw is not None:
            yield bytes.fromhex(raw)
        elif codepoint is not None:
            yield chr(int(codepoint, 16))
        elif n_times is not None:
            yield repeated * int(n_times)
        else:
            yield {"\\": "\\", "r": "\r", "n": "\n", "t": "\t"}[letter]
    yield line[at:]
    if newline and not joined:
        yield "\n"


def _encode(part: str | bytes, encoding: str) -> bytes:
    return part if isinstance(part, bytes) else part.encode(encoding)


def _text_only(parts: Iterator[str | bytes]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, bytes):
            raise BadStory("a raw byte in a text")
        yield part


def filled(value: Any, variables: dict[str, str]) -> Any:
    """A JSON value or a string with its $VARIABLES put in."""
    if isinstance(value, str):
        for name, text in variables.items():
            value = value.replace(f"${name}", text)
        return value
    if isinstance(value, list):
        return [filled(item, variables) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: filled(item, variables) for key, item in cast("dict[str, Any]", value).items()}
    return value
