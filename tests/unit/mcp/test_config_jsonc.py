"""JSON with comments: what is parsed, and that a merge keeps every byte that it does not have to change."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.mcp.config import jsonc
from fileops.mcp.config.changes import apply, changes_to

WANTED = {"a": {"b": [1]}, "list": ["x", "y"]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "a": {"b": [1]},\n  "list": ["x", "y"]\n}'),
        (
            '{\n    // mine\n    "k": 1 // one\n}\n',
            '{\n    // mine\n    "k": 1, // one\n    "a": {"b": [1]},\n    "list": ["x", "y"]\n}\n',
        ),
        (
            '{\n\t"k": {"l": [], },\n}',
            '{\n\t"k": {"l": [], },\n\t"a": {"b": [1]},\n\t"list": ["x", "y"],\n}',
        ),
        (
            '{"k": 1}',
            '{"k": 1, "a": {"b": [1]}, "list": ["x", "y"]}',
        ),
        (
            '{\r\n  "k": 1\r\n}\r\n',
            '{\r\n  "k": 1,\r\n  "a": {"b": [1]},\r\n  "list": ["x", "y"]\r\n}\r\n',
        ),
        (
            '{\n  "list": [\n    "y" /* why */,\n  ],\n  "a": {\n    // none yet\n  }\n}',
            '{\n  "list": [\n    "y" /* why */,\n    "x",\n  ],\n  "a": {\n    // none yet\n    "b": [1]\n  }\n}',
        ),
        (
            '{ /* c */ "list": ["x"], "a": {"c": 2} }',
            '{ /* c */ "list": ["x", "y"], "a": {"c": 2, "b": [1]} }',
        ),
    ],
)
def test_merge_keeps_comments_and_layout(before: str, after: str) -> None:
    present: dict[str, Any] = jsonc.parse(before).value
    merged = jsonc.apply(before, list(changes_to(present, WANTED)))
    assert merged == after
    assert list(changes_to(jsonc.parse(merged).value, WANTED)) == []


@pytest.mark.parametrize(
    "text",
    ["{", "{]", '{"a" 1}', '{"a": }', '{"a": 1 "b": 2}', '{"a": 1,, }', "{,}", '{"a": 1} x', '{"a": 1, "a": 2}',
     '{"a": \'x\'}', '{"a": "x\n"}', "{a: 1}", '{"a": 01}', '{"a": NaN}', "/* open", "[" * 200],
)  # fmt: skip
def test_text_that_is_not_json_is_an_error_and_never_guessed(text: str) -> None:
    with pytest.raises(jsonc.JsonError, match=r"in line [12]$"):
        jsonc.parse(text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


@given(objects, objects, st.sampled_from([None, 2, "\t"]))
def test_merge_of_any_objects_contains_both(present: dict[str, Any], wanted: dict[str, Any], indent: Any) -> None:
    text = json.dumps(present, indent=indent)
    assert jsonc.parse(text).value == present
    changes = list(changes_to(present, wanted))
    merged = jsonc.apply(text, changes)
    assert json.loads(merged) == apply(present, changes)
    assert list(changes_to(json.loads(merged), wanted)) == []
