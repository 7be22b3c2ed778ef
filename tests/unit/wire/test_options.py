"""initializationOptions. R-INIT-* of docs/PROTOCOL.md."""

import pytest

from fileops.model.settings import Limits, Settings
from fileops.rpc.decode import InvalidParams
from fileops.wire.options import decode_options

REFUSED: list[tuple[object, str]] = [
    ([1], "$.initializationOptions"),
    ([[]], "$.initializationOptions"),
    (False, "$.initializationOptions"),
    ("x", "$.initializationOptions"),
    ({"freshness": "ctime"}, "$.initializationOptions.freshness"),
    ({"confine": True}, "$.initializationOptions.confine"),
    ({"roots": "/a"}, "$.initializationOptions.roots"),
    ({"roots": ["/a", "b"]}, "$.initializationOptions.roots[1]"),
    ({"roots": ["/a\0"]}, "$.initializationOptions.roots[0]"),
    ({"approval_timeout_s": 0}, "$.initializationOptions.approval_timeout_s"),
    ({"approval_timeout_s": "600"}, "$.initializationOptions.approval_timeout_s"),
    ({"fill_empty_files": "false"}, "$.initializationOptions.fill_empty_files"),
    ({"limits": []}, "$.initializationOptions.limits"),
    ({"limits": {"max_lines": 0}}, "$.initializationOptions.limits.max_lines"),
    ({"limits": {"max_chars": 1.5}}, "$.initializationOptions.limits.max_chars"),
]


@pytest.mark.parametrize("given", [None, {}, {"freshness": None, "limits": None}, {"limits": {}}])
def test_empty_options_are_the_defaults(given: object) -> None:
    decoded = decode_options(given)
    assert decoded.settings == Settings()
    assert decoded.ignored == ()


def test_every_key_is_accepted() -> None:
    decoded = decode_options(
        {
            "freshness": "content",
            "confine": "all",
            "roots": ["/a"],
            "approval_mode": "yolo",
            "fill_empty_files": True,
            "notebooks": "text",
            "approval_timeout_s": 5,
            "limits": {"max_lines": 10.0},
        }
    )
    assert decoded.settings == Settings(
        freshness="content", confine="all", roots=("/a",), approval_mode="yolo", fill_empty_files=True,
        notebooks="text", approval_timeout_s=5.0, limits=Limits(max_lines=10),
    )  # fmt: skip


# R-INIT-1
@pytest.mark.parametrize(("given", "path"), REFUSED)
def test_bad_value_is_refused_naming_its_key(given: object, path: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        decode_options(given)
    assert caught.value.path == path


# R-INIT-2
def test_unknown_keys_are_named_and_ignored() -> None:
    decoded = decode_options({"colour": 1, "limits": {"max_lines": 5, "max_words": 1}})
    colour, max_words = decoded.ignored
    assert colour.startswith("unknown initializationOptions key ignored: colour; there are: freshness, confine, ")
    assert max_words == (
        "unknown initializationOptions key ignored: limits.max_words; "
        "there are: limits.max_lines, limits.max_line_chars, limits.max_file_kb, limits.max_chars"
    )
    assert decoded.settings.limits.max_lines == 5


@pytest.mark.parametrize("empty", [None, {}, []])
def test_empty_options_of_any_type_are_the_defaults(empty: object) -> None:
    """Lua writes an empty table as an array."""
    decoded = decode_options(empty)
    assert (decoded.settings, decoded.ignored) == (Settings(), ())
