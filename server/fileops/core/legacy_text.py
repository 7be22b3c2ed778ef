"""Files in an encoding that a client has named: their text as UTF-8, and splices of that text as splices of the file.

Everything above the filesystem works on the text as UTF-8. A byte that the codec cannot decode becomes a lone surrogate
(U+DC00 plus the byte, three bytes that are not valid UTF-8). So each byte has its own form, which no caller can write.
Bytes outside a splice are copied, never encoded again. A change is refused unless the codec decodes the changed file to
exactly the intended text, so nothing depends on properties of a codec.
"""

import codecs
from collections.abc import Iterator, Sequence

from fileops.core import splices as splicing
from fileops.core.text import is_binary, is_utf8, n_shared
from fileops.model.edits import Splice
from fileops.model.errors import NotEncodable
from fileops.model.files import Text

UTF8 = "utf-8"
_KEEP = "fileops-keep-bytes"
_ESCAPE = 0xDC00  # plus the byte
_BLOCK_BYTES = 4096  # decoded at once to find an offset


def _keep_bytes(error: UnicodeError) -> tuple[str | bytes, int]:
    """The error handler of both directions: undecodable bytes are escaped, and escaped bytes are restored."""
    if isinstance(error, UnicodeDecodeError):
        return "".join(chr(_ESCAPE + byte) for byte in error.object[error.start : error.end]), error.end
    if isinstance(error, UnicodeEncodeError):
        code = ord(error.object[error.start]) - _ESCAPE
        if 0 <= code <= 0xFF:
            return bytes([code]), error.start + 1
    raise error


codecs.register_error(_KEEP, _keep_bytes)


def fault_of_encoding(name: str) -> str | None:
    """Return why the name is not an encoding of text files, as a clause; None if it is one."""
    try:
        "".encode(name)  # refuses codecs such as zip and rot13
        codecs.getincrementaldecoder(name)
    except LookupError:
        return "is not a text encoding that Python knows"
    except ValueError:
        return "is not a usable text encoding"
    return None


def is_plain_utf8(encoding: str) -> bool:
    """Return whether the encoding is UTF-8, in which files are read and written unchanged."""
    return codecs.lookup(encoding).name == UTF8


def decoder_of(encoding: str) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(encoding)(_KEEP)


def to_utf8(data: bytes, encoding: str) -> bytes:
    """Return the text of a whole file as UTF-8."""
    return data.decode(encoding, _KEEP).encode(UTF8, "surrogatepass")


def has_escapes(text: str) -> bool:
    """Return whether the text contains escaped bytes."""
    return any(map(_is_escape, text))


def require_encodable(text: Text, splices: Sequence[Splice], encoding: str | None) -> None:
    """Require that the file can hold the new text of the splices over `text`, as text and without mixing encodings.

    encoding: as the client named it, None if it did not. In that case, a file that is not valid UTF-8 accepts only
    those non-ASCII characters that it already has at the replaced place. Raises: NotEncodable.
    """
    if any(b"\0" in splice.new for splice in splices):
        _require_text(text, splices)
    foreign = [splice for splice in splices if not splice.new.isascii()]
    if not foreign:
        return
    if encoding is not None:
        for splice in foreign:
            _encode(_decode(splice.new, encoding), encoding)
    elif text.format.encoding == UTF8 and not text.format.bom and not is_utf8(text.data):
        for splice in foreign:
            _require_known(text.data[splice.start : splice.end], splice.new)


def _require_text(text: Text, splices: Sequence[Splice]) -> None:
    """Require that the splices do not turn a text into a binary file. Raises: NotEncodable.

    Nothing in that file could be read, edited or undone afterwards.
    """
    data = splicing.apply(text.data, splices)
    if is_binary(data, text.format) and not is_binary(text.data, text.format):
        at = data.find(b"\0")
        begin = data.rfind(b"\n", 0, at) + 1
        raise NotEncodable(
            encoding=text.format.encoding,
            characters="\0",
            fault="binary",
            line=data.count(b"\n", 0, at) + 1,
            column=len(data[begin:at].decode("utf-8", "replace")) + 1,
        )


def file_splices(data: bytes, shown: bytes, splices: Sequence[Splice], encoding: str) -> tuple[Splice, ...]:
    """Translate splices over `shown`, the file's text as UTF-8, to splices over the file. Raises: NotEncodable."""
    pieces = [_trim(shown, splice) for splice in _of_whole_characters(shown, splices)]
    borders = [border for splice in pieces for border in (splice.start, splice.end)]
    offsets = list(_offsets_in_file(data, list(_n_characters(shown, borders)), encoding))
    result: list[Splice] = []
    for splice, start, end in zip(pieces, offsets[::2], offsets[1::2], strict=True):
        new = _decode(splice.new, encoding)
        _require_reproducible(data[start:end], new, encoding)
        result.append(Splice(start, end, _encode(new, encoding)))
    try:
        is_as_wanted = to_utf8(splicing.apply(data, result), encoding) == splicing.apply(shown, splices)
    except UnicodeError:
        is_as_wanted = False
    if not is_as_wanted:
        raise NotEncodable(encoding=encoding, characters="", fault="state")
    return tuple(result)


def _require_known(old: bytes, new: bytes) -> None:
    inserted = set(new.decode(UTF8, "surrogateescape")) - set(old.decode(UTF8, "surrogateescape"))
    characters = "".join(sorted(character for character in inserted if not character.isascii()))
    if characters:
        raise NotEncodable(encoding=UTF8, characters=characters, fault="mixed")


def _decode(new: bytes, encoding: str) -> str:
    try:
        return new.decode(UTF8, "surrogatepass")
    except UnicodeDecodeError as error:
        cut = error.object[error.start : error.end].decode("latin-1")
        raise NotEncodable(encoding=encoding, characters=cut) from error


def _encode(new: str, encoding: str) -> bytes:
    """Encode a new text. Raises: NotEncodable, even if only the codec would decode the bytes differently."""
    try:
        data = new.encode(encoding, _KEEP)
    except UnicodeEncodeError as error:
        raise NotEncodable(encoding=encoding, characters=error.object[error.start : error.end]) from error
    except UnicodeError as error:
        raise NotEncodable(encoding=encoding, characters="", fault="state") from error
    for character in set(new):  # some codecs replace missing characters with similar ones
        is_free = not character.isascii() and not _is_escape(character)
        if is_free and character.encode(encoding).decode(encoding) != character:
            raise NotEncodable(encoding=encoding, characters=character)
    return data


def _file_bytes(text: str, encoding: str) -> bytes | None:
    """Encode a text of the file.

    Returns None if the codec cannot restore an escaped byte, such as half of a UTF-16 unit.
    """
    try:
        return text.encode(encoding, _KEEP)
    except UnicodeError:
        return None


def _is_escape(character: str) -> bool:
    return _ESCAPE <= ord(character) <= _ESCAPE + 0xFF


def _require_reproducible(old: bytes, new: str, encoding: str) -> None:
    """Refuse to write a character of the old text with different bytes: some characters have two encodings."""
    if _file_bytes(old.decode(encoding, _KEEP), encoding) == old:
        return
    decoder, begin = decoder_of(encoding), 0
    changed = set[str]()
    for at in range(1, len(old) + 1):
        part = decoder.decode(old[at - 1 : at], at == len(old))
        if part:
            if _file_bytes(part, encoding) != old[begin:at]:
                changed |= set(part)
            begin = at
    if characters := "".join(sorted(changed.intersection(new))):
        raise NotEncodable(encoding=encoding, characters=characters, fault="bytes")


# --- offsets ------------------------------------------------------------------------------------------------------


def _of_whole_characters(shown: bytes, splices: Sequence[Splice]) -> list[Splice]:
    """Return equivalent splices that split no character. Those that share one are combined."""
    result: list[Splice] = []
    for splice in splices:
        start, end = splice.start, splice.end
        while _is_continuation(shown, start):
            start -= 1
        while _is_continuation(shown, end):
            end += 1
        if result and start < result[-1].end:
            before = result.pop()
            between = shown[before.end : splice.start] if splice.start > before.end else b""
            kept = before.new[: len(before.new) - max(0, before.end - splice.start)]
            result.append(Splice(before.start, end, kept + between + splice.new + shown[splice.end : end]))
        else:
            result.append(Splice(start, end, shown[start : splice.start] + splice.new + shown[splice.end : end]))
    return result


def _is_continuation(shown: bytes, at: int) -> bool:
    return 0 < at < len(shown) and shown[at] & 0xC0 == 0x80


def _trim(shown: bytes, splice: Splice) -> Splice:
    """Return the splice without the whole characters that both sides share at their ends."""
    old, new = shown[splice.start : splice.end], splice.new
    head = n_shared(old, new)
    while _is_continuation(old, head) or _is_continuation(new, head):
        head -= 1
    tail = n_shared(old[: head - 1 if head else None : -1], new[: head - 1 if head else None : -1])
    while tail and (_is_continuation(old, len(old) - tail) or _is_continuation(new, len(new) - tail)):
        tail -= 1
    return Splice(splice.start + head, splice.end - tail, new[head : len(new) - tail])


def _n_characters(shown: bytes, offsets: Sequence[int]) -> Iterator[int]:
    """Yield how many characters precede each offset. Offsets ascend and split no character."""
    at = n = 0
    for offset in offsets:
        n += len(shown[at:offset].decode(UTF8, "surrogatepass"))
        at = offset
        yield n


def _offsets_in_file(data: bytes, borders: Sequence[int], encoding: str) -> Iterator[int]:
    """Yield the offset in the file of each number of characters. The numbers ascend."""
    decoder = decoder_of(encoding)
    at = n = 0
    last = ""  # what the last byte completed
    for border in borders:
        while n < border:
            state, end = decoder.getstate(), min(at + _BLOCK_BYTES, len(data))
            part = decoder.decode(data[at:end], end == len(data))
            if n + len(part) < border:
                at, n = end, n + len(part)
                continue
            decoder.setstate(state)
            while n < border:
                last = decoder.decode(data[at : at + 1], at + 1 == len(data))
                at, n = at + 1, n + len(last)
        too_far = last[len(last) - (n - border) :] if n > border else ""
        n_back = len(decoder.getstate()[0]) + len(_file_bytes(too_far, encoding) or b"")
        yield at - n_back  # a wrong offset is noticed when the changed file is read
