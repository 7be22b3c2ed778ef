"""JSON with comments: what is parsed, and that a merge keeps every byte that it does not have to change."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.mcp.config import jsonc
from fileops.mcp.config.changes import Change, Remove, RemoveItems, apply, changes_to

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
    ("before", "removal", "after"),
    [
        ('{\n  "k": 1,\n  "a": 2\n}\n', Remove(("a",)), '{\n  "k": 1\n}\n'),
        ('{"k": 1, "a": 2}', Remove(("a",)), '{"k": 1}'),
        ('{\n  "k": 1,\n  "a": 2,\n}', Remove(("a",)), '{\n  "k": 1,\n}'),
        ('{\n  "a": 2,\n  "k": 1\n}', Remove(("a",)), '{\n  "k": 1\n}'),
        ('{"list": ["x", "y", "z"]}', RemoveItems(("list",), ["y", "z"]), '{"list": ["x"]}'),
        ('{"list": ["x", "y"]}', RemoveItems(("list",), ["x", "y"]), '{"list": []}'),
        (
            '{\n  "a": 2 /* why */,\n  "k": 1\n}',
            Remove(("a",)),
            '{\n   /* why */\n  "k": 1\n}',
        ),
        (
            '{\n  "k": 1, // one\n  "a": 2 // two\n}',
            Remove(("a",)),
            '{\n  "k": 1 // one\n   // two\n}',
        ),
    ],
)
def test_removal_keeps_comments_and_leaves_the_commas_between_the_others(
    before: str, removal: Change, after: str
) -> None:
    assert jsonc.apply(before, [removal]) == after


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


@given(st.dictionaries(st.sampled_from("abcd"), values, min_size=1), st.data(), st.sampled_from([None, 2, "\t"]))
def test_json_without_some_of_its_members_is_json(present: dict[str, Any], data: st.DataObject, indent: Any) -> None:
    """Its reader need not accept a comma before the end, as ours does."""
    gone = data.draw(st.lists(st.sampled_from(sorted(present)), unique=True))
    changes: list[Change] = [Remove((key,)) for key in gone]
    assert json.loads(jsonc.apply(json.dumps(present, indent=indent), changes)) == apply(present, changes)
