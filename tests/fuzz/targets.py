"""What is fuzzed: functions of bytes that raise where a promise does not hold. They know no fuzzer.

Most inputs are not used as bytes but as what `Wish` makes of them, so that a fuzzer's small change is a small
change of a text, an edit or a chunk's size.
"""

import json
import math
from collections.abc import Callable
from typing import cast

from fileops.api.requests import REQUESTS
from fileops.core import splices as splicing
from fileops.core.plan import execute, plan, valid
from fileops.core.text import decode, detect_format, is_binary
from fileops.core.windows.numbered import WindowReader
from fileops.lsp.params import STANDARD_PARAMS
from fileops.model.edits import Edit
from fileops.model.errors import FileOpsError, MultipleMatches, NoMatch, TooManyChars
from fileops.model.files import Text, TextFormat
from fileops.model.sessions import DEFAULT_SESSION
from fileops.model.settings import Limits
from fileops.rpc.decode import InvalidParams
from fileops.rpc.decode import decode as decode_params
from fileops.rpc.json import MAX_DIGITS, dumps, loads
from fileops.rpc.messages import Malformed, Notification, Reply, RpcRequest, parse
from fileops.service.plugins.registry import register_plugins
from fileops.wire import convert
from fileops.wire import types as wire
from support.core_models import (
    FORMATS,
    missing_snapshot,
    model_edit,
    model_lines,
    model_shown,
    model_spans,
    patched,
    snapshot_of,
    text_of,
)
from support.frames import BROKEN, frames_of

PIECES = (
    "a", "b", "ab", " ", "  ", "\t", "\n", "\n", "\r", "\r\n", "\r\n", "\f", "\x85", "\u2028", "é", "e\u0301", "ਊ",
    "\u0a00", "\u0d0a", "𝄞", '"', "“", "\\n", "\\", "++ x", "--- a", "@@ -1 +1 @@", "}", "    return x\n", "\tif a:\n",
    "\ufffd", "\u00a0",
)  # fmt: skip
SMALL = Limits(max_lines=4, max_line_chars=5, max_chars=60)
register_plugins()


class Wish:
    """Values read off the front of some bytes; behind their end everything is zero."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, below: int) -> int:
        value = self._data[self._at] if self._at < len(self._data) else 0
        self._at += 1
        return value % below

    def text(self, max_pieces: int) -> str:
        return "".join(PIECES[self.number(len(PIECES))] for _ in range(self.number(max_pieces + 1)))

    def part_of(self, text: str) -> str:
        start = self.number(len(text) + 1)
        return text[start : start + self.number(12)]

    def rest(self) -> bytes:
        return self._data[self._at :]


# --- frames ----------------------------------------------------------------------------------------------------------


def frames(data: bytes) -> None:
    """The way a stream is split does not matter, and nothing but the two known ends comes out."""
    wish = Wish(data)
    size, stream = 1 + wish.number(40), wish.rest()
    whole = frames_of([stream])
    split = frames_of(stream[at : at + size] for at in range(0, len(stream), size))
    assert whole == split, (whole, split)
    assert BROKEN not in whole[:-1]
    at = 0
    for body in whole:
        if isinstance(body, bytes):
            at = stream.index(body, at) + len(body)
    resumed = frames_of([stream, b"\n\n", *[b"Content-Length: 2\r\n\r\n{}"] * 2])
    assert resumed[-1] in {BROKEN, b"{}"} or whole[-1:] == [BROKEN], resumed


# --- messages --------------------------------------------------------------------------------------------------------

REQUEST_OF = {request.method: request for request in REQUESTS}


def messages(data: bytes) -> None:
    """Any body is classified; JSON is what JSON is; params are taken as they are or refused at a place."""
    message = parse(data)
    value = _as_json(data)
    if value is _OUT_OF_RANGE:
        assert not isinstance(message, Malformed) or message.error.code in {-32700, -32600, -32602}, message
        return
    match message:
        case Malformed(msg_id, error):
            dumps({"id": msg_id, "error": error.to_json()})
        case Reply(_, members):
            assert value is not _NOT_JSON
            assert "method" not in members
        case RpcRequest(msg_id, method, params):
            dumps({"id": msg_id, "method": method})
            assert _same(cast("dict[str, object]", value).get("params"), params)
            for wanted in (method, *REQUEST_OF):
                _take_params(wanted, params)
        case Notification(method, params):
            _take_params(method, params)
    if value is _NOT_JSON:
        assert isinstance(message, Malformed), message
        assert (message.msg_id, message.error.code) == (None, -32700)
    else:
        assert not isinstance(message, Malformed) or message.error.code == -32600, message
        again = loads(dumps(loads(data)))
        assert _same(value, again), (value, again)


def _take_params(method: str, params: object) -> None:
    given: object = {} if params is None else params
    try:
        if method in STANDARD_PARAMS:
            decode_params(given, STANDARD_PARAMS[method])
        elif method in REQUEST_OF:
            _convert(decode_params(given, REQUEST_OF[method].params))
    except InvalidParams as fault:
        assert fault.path.startswith("$")
        dumps({"path": fault.path, "reason": fault.reason})


def _convert(params: object) -> None:
    match params:
        case wire.ReadParams():
            convert.read_request(params, DEFAULT_SESSION)
        case wire.EditParams():
            convert.edit_request(params, DEFAULT_SESSION)
        case wire.MultiEditParams():
            convert.multi_edit_request(params, DEFAULT_SESSION)
        case _:
            pass


_NOT_JSON, _OUT_OF_RANGE = object(), object()


def _as_json(data: bytes) -> object:
    """As the standard library has it, less what it takes and RFC 8259 does not."""

    def refuse(name: str) -> float:
        raise ValueError(name)

    numbers: list[float] = []

    def finite(text: str) -> float:
        numbers.append(float(text))
        return numbers[-1]

    def bounded(text: str) -> int:
        numbers.append(math.inf if len(text) > MAX_DIGITS else 0)
        return 0 if len(text) > MAX_DIGITS else int(text)

    try:
        value = json.loads(data.decode("utf-8"), parse_constant=refuse, parse_float=finite, parse_int=bounded)
        return _OUT_OF_RANGE if any(map(math.isinf, numbers)) else value
    except (ValueError, RecursionError):
        return _NOT_JSON


def _same(one: object, other: object) -> bool:
    """Equal, and no boolean for a number."""
    if isinstance(one, dict) and isinstance(other, dict):
        these, those = cast("dict[str, object]", one), cast("dict[str, object]", other)
        return these.keys() == those.keys() and all(_same(value, those[key]) for key, value in these.items())
    if isinstance(one, list) and isinstance(other, list):
        items, others = cast("list[object]", one), cast("list[object]", other)
        return len(items) == len(others) and all(map(_same, items, others))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


# --- the byte core ---------------------------------------------------------------------------------------------------


def edits(data: bytes) -> None:
    """Splices on bytes are the edit of the decoded text; the diff leads from one to the other, and back."""
    wish = Wish(data)
    fmt, content = FORMATS[wish.number(len(FORMATS))], wish.text(30)
    text, applied = text_of(content, fmt), list[Edit]()
    for _ in range(1 + wish.number(4)):
        now = text.data[len(fmt.bom) :].decode(fmt.encoding)
        old = wish.part_of(now) if wish.number(4) else wish.text(3)
        edit = Edit(old_string=old, new_string=wish.text(4), replace_all=bool(wish.number(3)))
        if (after := _edited(text, now, edit)) is not None:
            applied.append(edit)
            text = after
    if applied:
        _check_plan(text_of(content, fmt), applied, text)


def _edited(text: Text, now: str, edit: Edit) -> Text | None:
    """The text after one edit, checked against the model; None where the edit is refused, and rightly so."""
    old, new, replace_all = edit.old_string, edit.new_string, edit.replace_all
    failure = valid(text, old, new, replace_all)
    spans, n_positions = model_spans(now, old, text.format) if old and "\r" not in old else ([], 0)
    if isinstance(failure, NoMatch):
        assert not spans, (now, old)
    elif isinstance(failure, MultipleMatches):
        assert not replace_all
        assert n_positions > 1 or "\r" in old
    elif failure is None:
        after = execute(text, old, new, replace_all)
        expected = model_edit(now, old, new, text.format) if spans else None
        assert expected is None or after.data == text.format.bom + expected.encode(text.format.encoding), (now, edit)
        assert replace_all or n_positions <= 1
        return after
    return None


def _check_plan(before: Text, applied: list[Edit], after: Text) -> None:
    planned = plan(snapshot_of(before.data), before.format, applied, limits=Limits(), is_multi=True)
    splicing.validate(planned.splices, len(before.data))
    assert splicing.apply(before.data, planned.splices) == after.data
    back = splicing.invert(before.data, planned.splices)
    assert splicing.apply(after.data, back) == before.data
    change = planned.change
    assert (change.unified == "") == (before.data == after.data)
    shown = tuple(text.data.decode(text.format.encoding) for text in (before, after))  # a BOM is kept in line 1
    if not change.truncated:
        assert patched(shown[0], change.unified) == shown[1], (shown, change.unified)
    assert (change.n_added - change.n_removed) == len(model_lines(shown[1])) - len(model_lines(shown[0]))


def windows(data: bytes) -> None:
    """For any chunks, a window is that of the ten-line model; bytes that are not text do no harm."""
    wish = Wish(data)
    fmt: TextFormat = FORMATS[wish.number(len(FORMATS))]
    offset, limit, size = wish.number(9) or None, wish.number(7) or None, 1 + wish.number(9)
    content = fmt.bom + wish.text(40).encode(fmt.encoding) + wish.rest()[:20]
    reader = WindowReader(offset=offset, limit=limit, limits=SMALL)
    for at in range(0, len(content), size):
        if reader.feed(content[at : at + size]):
            break
    lines = model_lines(decode(content, detect_format(content)))
    first = offset or 1
    selected = lines[first - 1 :] if limit is None else lines[first - 1 : first - 1 + limit]
    n_chars = sum(len(model_shown(line, SMALL)) + 1 for line in selected)
    try:
        window = reader.finish()
    except TooManyChars as failure:
        assert failure.n_chars == n_chars > SMALL.max_chars
        return
    shown = selected[: SMALL.max_lines]
    expected = [f"{n:>6}→{model_shown(line, SMALL)}" for n, line in enumerate(shown, first)]
    if len(selected) > len(shown):
        expected.append(f"... (more {len(selected) - len(shown)} lines are truncated)")
    assert window.text == "\n".join(expected), (content, window.text)
    assert (window.n_chars, window.past_end) == (n_chars, first > len(lines))


def guesses(data: bytes) -> None:
    """Corrections, strategies and suggestions on any bytes: a known failure or splices inside the text, never else."""
    wish = Wish(data)
    strategy = ("exact", "exact", "regex", "block")[wish.number(4)]
    old, new, replace_all = wish.text(8), wish.text(4), not wish.number(3)
    content = wish.text(24).encode() + wish.rest()
    fmt = detect_format(content)
    if is_binary(content, fmt):
        return
    snapshot = missing_snapshot() if not content and not old else snapshot_of(content)
    edit = Edit(old_string=old, new_string=new, replace_all=replace_all, strategy=strategy)
    try:
        planned = plan(snapshot, fmt, [edit], limits=Limits(), correction=True)
    except FileOpsError as failure:
        assert getattr(failure, "edit_index", None) in {0, None}
        if isinstance(failure, NoMatch) and failure.suggested_place is not None:
            assert 0 <= failure.suggested_place.similarity <= 1
            assert 1 <= failure.suggested_place.start_line <= failure.suggested_place.end_line
        return
    splicing.validate(planned.splices, len(content))
    after = splicing.apply(content, planned.splices)
    assert after != content or planned.creates
    planned.change.unified.encode()
    if planned.change.exact and not planned.change.truncated:
        before, now = (each.decode(errors="surrogateescape") for each in (content, after))
        assert patched(before, planned.change.unified) == now


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (frames, messages, edits, windows, guesses)
}
