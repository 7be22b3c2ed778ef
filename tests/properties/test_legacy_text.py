"""Texts in named encodings: splices of the text as UTF-8 become splices of the file, or are refused."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fileops.core import legacy_text
from fileops.core.legacy_text import file_splices, to_utf8
from fileops.core.plan import plan
from fileops.core.splices import apply
from fileops.core.text import detect_format
from fileops.model.edits import Edit, Splice
from fileops.model.errors import NotEncodable
from support.core_models import LIMITS, snapshot_of

# What each can hold, with trail bytes that are ASCII: 0x5C (a backslash) in Shift-JIS and GBK, 0x7C in Big5.
LETTERS = {
    "gbk": "a\\|é中文乗国\r\n",
    "shift_jis": "a\\|表ソ能ｱ\r\n",
    "latin-1": "a\\|éßÿ\x85\r\n",
    "cp1252": "a€œé\r\n",
    "big5": "a\\|功許中\r\n",
    "euc-kr": "a한글\r\n",
    "gb18030": "a中€😀\r\n",
    "utf-16-le": "aé中😀\n",
    "cp037": "aé~\n",
    "koi8-r": "aъЖ\n",
}
encodings = st.sampled_from(sorted(LETTERS))


@given(encodings, st.data())
def test_edit_in_a_named_encoding_matches_that_of_its_text(encoding: str, draw: st.DataObject) -> None:
    """Pieces are cut and put together as bytes; outside of the replaced pieces each byte is the same one."""
    texts = st.text(alphabet=LETTERS[encoding], max_size=6)
    before, old, after, new = (draw.draw(texts) for _ in range(4))
    data = (before + old + after).encode(encoding)
    shown = to_utf8(data, encoding)
    start = len(before.encode())
    wanted = Splice(start, start + len(old.encode()), new.encode())
    result = apply(data, file_splices(data, shown, [wanted], encoding))
    assert result == (before + new + after).encode(encoding)


@given(encodings, st.binary(max_size=30), st.data())
def test_edit_of_arbitrary_bytes_keeps_bytes_outside_the_change(
    encoding: str, data: bytes, draw: st.DataObject
) -> None:
    """Of any bytes, most of them invalid: the edit is made exactly or refused."""
    shown = to_utf8(data, encoding)
    characters = shown.decode("utf-8", "surrogatepass")
    start = draw.draw(st.integers(0, len(characters)))
    end = draw.draw(st.integers(start, len(characters)))
    head, tail = (part.encode("utf-8", "surrogatepass") for part in (characters[:start], characters[end:]))
    wanted = Splice(len(head), len(shown) - len(tail), b"new")
    try:
        (made,) = file_splices(data, shown, [wanted], encoding)
    except NotEncodable:
        return
    result = apply(data, [made])
    assert result.startswith(data[: made.start])
    assert result.endswith(data[made.end :])
    assert to_utf8(result, encoding) == head + b"new" + tail


@pytest.mark.parametrize("encoding", ["gbk", "shift_jis"])
def test_search_in_a_named_encoding_matches_characters(encoding: str) -> None:
    r"""The byte of a backslash is half of 表 (Shift-JIS) and of 乗 (GBK): a search for one finds the character only."""
    letter = {"gbk": "乗", "shift_jis": "表"}[encoding]
    data = f"{letter}\r\n\\\r\n{letter}\r\n".encode(encoding)
    assert data.count(b"\\") == 3
    shown = to_utf8(data, encoding)
    planned = plan(
        snapshot_of(shown), detect_format(shown), [Edit(old_string="\\\n", new_string=f"{letter}\n")], limits=LIMITS
    )
    assert apply(data, file_splices(data, shown, planned.splices, encoding)) == f"{letter}\r\n".encode(encoding) * 3


def change(data: bytes, old: str, new: str, encoding: str) -> bytes:
    shown = to_utf8(data, encoding)
    at = shown.index(old.encode())
    return apply(data, file_splices(data, shown, [Splice(at, at + len(old.encode()), new.encode())], encoding))


def test_bytes_that_decode_like_others_are_kept_outside_and_refused_inside() -> None:
    """0xFA4A and 0x8754 are both Ⅰ in CP932; encoding makes 0x8754 of it."""
    data = b"\xfa\x4a x \xfa\x4a y"
    assert change(data, " x ", " z ", "cp932") == b"\xfa\x4a z \xfa\x4a y"
    assert change(data, "Ⅰ x Ⅰ", "Ⅰ z", "cp932") == b"\xfa\x4a z y"
    assert change(data, "Ⅰ x", "gone", "cp932") == b"gone \xfa\x4a y"
    with pytest.raises(NotEncodable) as failure:
        change(data, "x Ⅰ y", "1 Ⅰ 2", "cp932")
    assert (failure.value.fault, failure.value.characters) == ("bytes", "Ⅰ")


@pytest.mark.parametrize(
    ("encoding", "new"), [("shift_jis", "¥"), ("gbk", "😀"), ("latin-1", "€"), ("cp1252", "中"), ("ascii", "é")]
)
def test_character_that_the_encoding_would_lose_is_refused(encoding: str, new: str) -> None:
    with pytest.raises(NotEncodable) as failure:
        change(b"a b", "b", new, encoding)
    assert failure.value.characters == new


@pytest.mark.parametrize("encoding", ["iso2022_jp", "utf-7", "hz"])
def test_edit_in_a_stateful_encoding_is_exact_or_refused(encoding: str) -> None:
    text = "head\n国国国\ntail\n" if encoding != "hz" else "head\n中中中\ntail\n"
    data = text.encode(encoding)
    assert change(data, "tail", "end", encoding) == text.replace("tail", "end").encode(encoding)
    shown = to_utf8(data, encoding)
    letters = shown.index(text[5].encode())
    middle = Splice(letters + 3, letters + 6, b"x")
    try:
        made = apply(data, file_splices(data, shown, [middle], encoding))
    except NotEncodable as failure:
        assert failure.fault == "state"
    else:
        assert to_utf8(made, encoding) == apply(shown, [middle])


@pytest.mark.parametrize("name", ["gbk", "latin-1", "Shift_JIS", "cp037", "iso2022_jp", "utf-16-le", "utf-8"])
def test_encoding_of_text_is_accepted(name: str) -> None:
    assert legacy_text.fault_of_encoding(name) is None


@pytest.mark.parametrize("name", ["", "zip", "rot13", "hex", "base64", "nonsense", "a\0b", "undefined", "../gbk"])
def test_name_other_than_a_text_encoding_is_refused(name: str) -> None:
    assert legacy_text.fault_of_encoding(name) is not None


@given(st.text(alphabet="aé\n", max_size=5), st.text(alphabet="aéü", max_size=4), st.booleans())
def test_file_with_invalid_utf8_accepts_no_new_non_ascii_characters(content: str, new: str, is_utf8: bool) -> None:
    assume(new)
    data = b"key\n" + content.encode() + (b"" if is_utf8 else b"\xe9\n")
    edit = Edit(old_string="key", new_string=f"k{new}")
    try:
        plan(snapshot_of(data), detect_format(data), [edit], limits=LIMITS)
    except NotEncodable as failure:
        assert (is_utf8, new.isascii(), failure.fault) == (False, False, "mixed")
        assert set(failure.characters) == set(new) - set("a")
    else:
        assert is_utf8 or new.isascii()
