r"""Strategies that find a place other than by its literal text: `regex`, `block`, and those of plugins.

A strategy sees the text with LF line ends and returns places and new texts. This module checks them and makes the
splices. `regex` runs on RE2, whose time is linear in the text for every pattern; it is registered if that library, the
extra `fileops-server[regex]`, is installed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import PathFinder  # importlib.util would cost a millisecond at the start
from itertools import islice
from typing import Protocol

from msgspec import Struct

from fileops.core.matching.exact import BLOCK, REGEX, STRATEGIES, Step
from fileops.core.matching.normalized import NormalizedText, body_of
from fileops.core.matching.replacement import LineEnds, combine_adjacent, replacement_at, require_bounded_growth
from fileops.core.pausing import Check, check_between, check_nothing
from fileops.core.text import count_newlines, encode, is_inside_character
from fileops.model.edits import Edit, Splice
from fileops.model.errors import CountMismatch, FileOpsError, InvalidPattern, MultipleMatches, NoMatch, StrategyFailed
from fileops.model.files import Text
from fileops.model.internal_errors import PluginFailed

MAX_PLACES = 100_000  # per edit: each costs about 6 µs and 300 bytes until the answer
MAX_PATTERN_MEMORY_BYTES = 64 << 20  # of RE2's automaton
_TOO_MANY = f"it finds {MAX_PLACES:,} places or more"
_ESCAPED = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)  # text quoted by \Q has no escapes


class MatchPlace(Struct, frozen=True):
    """Bytes [start, end) of the body, and the text that replaces them."""

    start: int
    end: int
    new: str


Finder = Callable[[NormalizedText, Edit], Iterable[MatchPlace]]


class FinderStrategy(Struct, frozen=True):
    """A strategy made of a function that finds places. This class applies the rules of uniqueness and line ends."""

    name: str
    find: Finder

    def resolve(self, text: Text, edit: Edit, check: Check = check_nothing) -> Step:
        """Resolve the edit on the text. Raises: as Strategy; InvalidPattern, StrategyFailed."""
        encode(edit.new_string, text.format)
        body = body_of(text)
        found = check_between(self._find_bounded(body, edit), check) if body else ()
        places = sorted(found, key=lambda place: (place.start, place.end))
        if body is None or not places:
            raise NoMatch(old_string=edit.old_string)
        spans = body.spans_in_source((place.start, place.end) for place in places)
        self._require_apart(spans, len(text.data))
        lines = _lines_at(text, [start for start, _ in spans])
        if len(places) > 1 and not edit.replace_all and edit.expected_replacements is None:
            raise MultipleMatches(old_string=edit.old_string, n_matches=len(places), lines=lines)
        if edit.expected_replacements not in {None, len(places)}:
            raise CountMismatch(n_expected=edit.expected_replacements or 0, n_found=len(places), lines=lines)
        line_ends = LineEnds(text)
        splices = [
            Splice(start, end, replacement_at(line_ends, start, end, place.new))
            for (start, end), place in check_between(zip(spans, places, strict=True), check)
        ]
        together = combine_adjacent(text.data, splices, check)
        return Step(splices=together, n_replacements=len(places), match=self.name, match_lines=lines)

    def _find_bounded(self, body: NormalizedText, edit: Edit) -> Iterator[MatchPlace]:
        """Yield the places. Raises: StrategyFailed if they are too many or too long, and the errors of the finder."""
        n_grown = 0
        for number, place in enumerate(self.find(body, edit), 1):
            if number == MAX_PLACES:
                raise StrategyFailed(strategy=self.name, reason=_TOO_MANY)
            n_grown += len(place.new) - place.end + place.start
            require_bounded_growth(self.name, n_grown)
            yield place

    def _require_apart(self, spans: Sequence[tuple[int, int]], size: int) -> None:
        at = 0
        for start, end in spans:
            if not at <= start <= end <= size:
                raise StrategyFailed(strategy=self.name, reason="its places overlap or lie outside the text")
            at = end


def _lines_at(text: Text, offsets: Sequence[int]) -> tuple[int, ...]:
    lines: list[int] = []
    line, at = 1, 0
    for offset in offsets:
        line += count_newlines(text.data, text.format, at, offset)
        at = offset
        lines.append(line)
    return tuple(lines)


# --- regex ------------------------------------------------------------------------------------------------------


def find_regex(body: NormalizedText, edit: Edit) -> Iterable[MatchPlace]:
    r"""Find an RE2 pattern. `new_string` may refer to groups: `\1`, `\g<name>`; `\\` is a backslash."""
    import re2  # a compiled extension, loaded when first used

    options = re2.Options()
    options.max_mem = MAX_PATTERN_MEMORY_BYTES
    options.log_errors = False
    try:
        pattern = re2.compile(edit.old_string.replace("\r\n", "\n").encode(), options)
    except UnicodeEncodeError:  # lone surrogates, which occur in no file
        return
    except re2.error as error:
        raise InvalidPattern(reason=_text_of(error.args[0] if error.args else error)) from error
    if any(found[1] == "C" for found in _ESCAPED.finditer(edit.old_string)):
        raise InvalidPattern(reason=r"\C matches bytes, and would cut characters. Use . instead")
    template = _template(
        edit.new_string, {_text_of(name): number for name, number in pattern.groupindex.items()}, pattern.groups
    )
    n_literal = sum(len(part) for part in template if isinstance(part, str))
    referred = [part for part in template if isinstance(part, int)]
    last_end = -1
    for found in pattern.finditer(body.data):
        start, end = found.span()
        if start == end == last_end:  # an empty match at a match's end is part of it
            continue
        if start == end and is_inside_character(body.data, start):  # RE2 steps byte by byte
            continue
        last_end = end
        n_referred = sum(stop - begin for begin, stop in map(found.span, referred))
        require_bounded_growth(REGEX, n_literal + n_referred - end + start)  # before it is made
        groups = {number: _decode_group(found.group(number)) for number in set(referred)}
        yield MatchPlace(start, end, "".join(groups[part] if isinstance(part, int) else part for part in template))


def _decode_group(group: bytes | None) -> str:
    """Return what a group matched as a caller would give it: a line end as CR LF, so that a CR before it stays."""
    return (group or b"").decode("utf-8", "surrogateescape").replace("\n", "\r\n")


def _template(new: str, names: dict[str, int], n_groups: int) -> list[str | int]:
    """Split the new text into literal pieces and group numbers. Raises: InvalidPattern."""
    parts: list[str | int] = []
    for piece in re.split(r"(\\g<[^>\\]*>|\\\d{1,2}|\\\\)", new):
        reference = re.fullmatch(r"\\g<([^>]*)>|\\(\d{1,2})", piece)
        if piece == "\\\\":
            parts.append("\\")
        elif reference is None:
            parts.append(piece)
        else:
            name: str = reference[1] or reference[2]
            number = int(name) if name.isdecimal() else names.get(name, -1)
            if not 0 <= number <= n_groups:
                raise InvalidPattern(reason=f"new_string refers to a group that the pattern does not have: {piece}")
            parts.append(number)
    return parts


def _text_of(words: object) -> str:
    return words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)


# --- block ------------------------------------------------------------------------------------------------------


def find_block(body: NormalizedText, edit: Edit) -> Iterable[MatchPlace]:
    """Find blocks: from a line equal to the first of `old_string` to the next one equal to its last, both included.

    Blanks around a line do not count. The other lines of `old_string` are ignored. The newline of the last line
    belongs to the block if `old_string` ends with one.
    """
    given = edit.old_string.replace("\r\n", "\n")
    wanted, has_newline = given.strip("\n").split("\n"), given.endswith("\n")
    try:
        first, last = wanted[0].strip(" \t").encode(), wanted[-1].strip(" \t").encode()
    except UnicodeEncodeError:
        return
    opened: int | None = None
    at, block_end = 0, 0
    for line in body.data.split(b"\n"):
        read = line.strip(b" \t")
        if opened is None and read == first and first and at >= block_end:
            opened = at
            if len(wanted) > 1:
                at += len(line) + 1
                continue
        if opened is not None and read == last:
            block_end = min(at + len(line) + has_newline, len(body.data))
            yield MatchPlace(opened, block_end, edit.new_string)
            opened = None
        at += len(line) + 1


# --- plugins ----------------------------------------------------------------------------------------------------


class StrategyPlugin(Protocol):
    """A function that a package registers in the entry point group `fileops.strategies`."""

    def __call__(self, text: str, old_string: str, new_string: str, /) -> Iterable[tuple[int, int, str]]:
        """Return places as (start, end, new text), in characters of `text`, whose line ends are LF."""
        ...


def plugin_strategy(name: str, load: Callable[[], StrategyPlugin]) -> FinderStrategy:
    """Return the strategy of a plugin. `load` is called when it is first used; any error becomes StrategyFailed."""

    def find(body: NormalizedText, edit: Edit) -> Iterable[MatchPlace]:
        errors = "surrogateescape" if body.source.format.encoding == "utf-8" else "surrogatepass"
        text = body.data.decode("utf-8", errors)
        try:
            given = islice(_call(load, text, edit), MAX_PLACES)
            found = sorted((int(start), int(end), str(new)) for start, end, new in given)
        except PluginFailed as failure:
            raise StrategyFailed(strategy=name, reason=failure.reason) from failure
        except FileOpsError:
            raise
        except (Exception, SystemExit) as error:  # foreign code of a plugin
            raise StrategyFailed(strategy=name, reason=f"{type(error).__name__}: {error}") from error
        if len(found) == MAX_PLACES:
            raise StrategyFailed(strategy=name, reason=_TOO_MANY)
        at_char, at_byte = 0, 0
        for start, end, new in found:
            if not at_char <= start <= end <= len(text):
                raise StrategyFailed(strategy=name, reason="its places overlap or lie outside the text")
            start_byte = at_byte + len(text[at_char:start].encode("utf-8", errors))
            at_char, at_byte = end, start_byte + len(text[start:end].encode("utf-8", errors))
            yield MatchPlace(start_byte, at_byte, new)

    return FinderStrategy(name, find)


def _call(load: Callable[[], StrategyPlugin], text: str, edit: Edit) -> Iterable[tuple[int, int, str]]:
    return load()(text, edit.old_string, edit.new_string)


def register(strategy: FinderStrategy) -> None:
    STRATEGIES[strategy.name] = strategy


if PathFinder.find_spec("re2") is not None:
    register(FinderStrategy(REGEX, find_regex))
register(FinderStrategy(BLOCK, find_block))
