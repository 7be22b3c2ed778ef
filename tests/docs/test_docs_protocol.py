"""docs/protocol/, executed: its requests go to a real daemon, whose answers must be those of the pages.

Each `##` section with examples gets its own daemon, in a folder that represents /home/you/project.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from fileops.model.errors import FAILURES
from fileops.schema import json_schema
from support.rawclient import RawClient, raw_client

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "PROTOCOL.md"
NAMES = sorted(page.name for page in (ROOT / "docs" / "protocol").glob("*.md"))
SHOWN_FOLDER = "/home/you/project"
ANY = "…"
REQUIREMENT = re.compile(r"\bR-[A-Z]+-\d+\b")
BLOCK = re.compile(r"^```(?P<info>[^\n]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    info: str
    body: str


def text_of(name: str) -> str:
    return (ROOT / "docs" / "protocol" / name).read_text(encoding="utf-8")


def sections() -> Iterator[tuple[str, list[Block]]]:
    for section in re.split(r"^## ", "\n".join(map(text_of, NAMES)), flags=re.MULTILINE)[1:]:
        blocks = [Block(match["info"], match["body"]) for match in BLOCK.finditer(section)]
        if any(block.info.startswith("json ") for block in blocks):
            yield section.splitlines()[0], blocks


def matches(expected: object, actual: object) -> bool:
    """Equal, where "…" is equal to anything and as a key matches any further keys."""
    same_type = type(expected) is type(actual)
    if expected == ANY:
        return True
    if isinstance(expected, dict) and isinstance(actual, dict):
        wanted, given = cast("dict[str, Any]", expected), cast("dict[str, Any]", actual)
        keys = wanted.keys() - {ANY}
        complete = given.keys() >= keys if ANY in wanted else given.keys() == keys
        return complete and all(matches(wanted[key], given[key]) for key in keys)
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = list(zip(cast("list[Any]", expected), cast("list[Any]", actual), strict=False))
        return len(pairs) == len(cast("list[Any]", expected)) == len(cast("list[Any]", actual)) and all(
            matches(one, other) for one, other in pairs
        )
    return same_type and expected == actual


def play(blocks: list[Block], client: RawClient, folder: Path) -> None:
    given: dict[str, Any] | None = None
    for block in blocks:
        body = block.body.replace(SHOWN_FOLDER, str(folder))
        kind, _, name = block.info.partition(" ")
        if kind == "text" and name.startswith("file="):
            (folder / name.removeprefix("file=")).write_text(block.body, encoding="utf-8")
        elif block.info == "json request":
            request = json.loads(body)
            client.send(request)
            given = client.answer(request["id"])
        elif block.info == "json response":
            expected = json.loads(body)
            assert matches(expected, given), f"expected {json.dumps(expected)}\ngot      {json.dumps(given)}"
        elif block.info == "json notification":
            expected = json.loads(body)
            told = client.claim(lambda message, method=expected["method"]: message.get("method") == method)
            assert matches(expected, told), f"expected {json.dumps(expected)}\ngot      {json.dumps(told)}"


SECTIONS = list(sections())


@pytest.mark.parametrize("blocks", [blocks for _, blocks in SECTIONS], ids=[title for title, _ in SECTIONS])
def test_examples_match_the_daemons_messages(blocks: list[Block], tmp_path: Path) -> None:
    with raw_client([sys.executable, "-m", "fileops"]) as client:
        if not any('"method": "initialize"' in block.body for block in blocks):
            client.initialize(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "project"}])
        play(blocks, client, tmp_path)


def test_every_requirement_has_one_place_and_a_test() -> None:
    """Each id has one definition on the pages, and a test that cites it. No other id is cited."""
    pages = "".join(map(text_of, NAMES))
    defined = [name.strip("*") for name in re.findall(r"\*\*R-[A-Z]+-\d+\*\*", pages)]
    assert len(defined) == len(set(defined))
    cited: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        if path != Path(__file__):
            cited |= set(REQUIREMENT.findall(path.read_text(encoding="utf-8")))
    assert cited - set(defined) == set()
    assert set(defined) - cited == set()


def test_every_error_code_has_its_meaning() -> None:
    (section,) = re.findall(r"^### Error codes\n(.*?)^\*\*R-RESULT-2", text_of("core.md"), re.MULTILINE | re.DOTALL)
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE))
    assert set(rows) == {failure.code for failure in FAILURES}
    assert [code for code, meaning in rows.items() if len(meaning.split()) < 3] == []


def test_every_served_method_is_on_a_page() -> None:
    pages = "".join(map(text_of, NAMES))
    with raw_client([sys.executable, "-m", "fileops"]) as client:
        block = client.initialize()["result"]["capabilities"]["experimental"]["fileops"]
    assert [name for name in (*block["requests"], *block["notifications"]) if name not in pages] == []


def test_options_on_the_page_match_the_code() -> None:
    table = text_of("reference.md").split("\n## initializationOptions\n")[1].split("\n## ")[0]
    defaults = dict(re.findall(r"^\| `([a-z_]+)` \| `?(.+?)`? \|", table, flags=re.MULTILINE))
    schema = json.loads(json.dumps(json_schema.document()))["$defs"]["InitializationOptions"]["properties"]
    assert set(defaults) == set(schema)
    assert {key: json.loads(defaults[key]) for key, shape in schema.items() if "default" in shape} == {
        key: shape["default"] for key, shape in schema.items() if "default" in shape
    }


def schema_name(schema: Any) -> str:
    """A type as the table of messages shows it."""
    if schema is None or schema == {"type": "null"}:
        return "–"
    if schema.get("type") == "array":
        return f"{schema_name(schema['items'])}[]"
    if "anyOf" in schema:
        names = [schema_name(option) for option in schema["anyOf"]]
        return " or ".join("`null`" if name == "–" else name for name in names)
    return f"`{schema['$ref'].rpartition('/')[2]}`"


def table_of_messages() -> list[str]:
    """The rows as they have to be on the page."""

    rows = ["| message | sender | params | result | needs |", "|---|---|---|---|---|"]
    for message in json_schema.document()["messages"]:
        result = schema_name(message["result"]) if message["kind"] == "request" else "*notification*"
        params = schema_name(message["params"])
        rows.append(f"| `{message['method']}` | {message['sender']} | {params} | {result} | {message['needs']} |")
    return rows


def test_table_of_messages_matches_the_code() -> None:
    section = text_of("reference.md").split("\n## All messages\n")[1].split("\n## ")[0]
    assert [line for line in section.splitlines() if line.startswith("|")] == table_of_messages()


@pytest.mark.parametrize("name", NAMES)
def test_contents_are_in_the_order_of_the_page(name: str) -> None:
    headings = re.findall(r"^## (.+)$", text_of(name), re.MULTILINE)
    listed = re.findall(r"^- \[(.+?)\]\(#.+\)$", text_of(name), re.MULTILINE)
    assert listed == [heading for heading in headings if heading != "Contents"]


def test_index_lists_every_section_of_every_page() -> None:
    listed = re.findall(r"\[([^\]]+)\]\(protocol/([a-z]+\.md)#", INDEX.read_text(encoding="utf-8"))
    headings = [(title, name) for name in NAMES for title in re.findall(r"^## (.+)$", text_of(name), re.MULTILINE)]
    assert sorted(listed) == sorted((title, name) for title, name in headings if title != "Contents")


def test_core_can_be_read_in_an_hour() -> None:
    assert len(text_of("core.md").split()) <= 5000
