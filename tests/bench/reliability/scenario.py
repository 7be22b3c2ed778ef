"""The scenarios and the shared tree, as frozen values, and how they are read from JSON.

Bytes that are not UTF-8 are lone surrogates in every text, so `json` reads and writes them.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

HERE = Path(__file__).parent
TABLE, HELD_OUT, TREE = HERE / "table.json", HERE / "held_out.json", HERE / "tree.json"

Pair = tuple[str, str]
Kind = Literal["land", "either", "refuse"]
How = Literal["write", "rename", "touch", "revert", "delete"]
Verdict = Literal["right", "wrong", "refused", "not landed"]


class EditCall(Struct, frozen=True, tag_field="tool", tag="edit", omit_defaults=True):
    old: str
    new: str
    all: bool = False


class MultiCall(Struct, frozen=True, tag_field="tool", tag="multi"):
    edits: tuple[Pair, ...]


class WriteCall(Struct, frozen=True, tag_field="tool", tag="write"):
    text: str


class PatchHunk(Struct, frozen=True):
    """header: what is behind @@; "" for the dialect of apply_patch. lines: with their signs."""

    header: str
    lines: tuple[str, ...]


class PatchCall(Struct, frozen=True, tag_field="tool", tag="patch"):
    hunks: tuple[PatchHunk, ...]


Call = EditCall | MultiCall | WriteCall | PatchCall


class Scenario(Struct, frozen=True, kw_only=True):
    """What the model read (`before`), what is there when it edits (`now`, None: no file), and its call.

    kind: decided before anything is run. "land": one right end exists and the present file shows it, so a refusal is
    needless. "either": landing right and refusing are both fine. "refuse": nothing that lands is right without a
    decision. right: what may stand after the first call, if it lands. goal: what is right once the model knows what is
    there, None if nothing is left to do. same: whether the same call is right then. read: all, [offset, limit] or
    nothing. by: another program, or a second session of the same tool (`agent`).
    """

    id: str
    group: str
    kind: Kind
    path: str
    read: Literal["whole", "none"] | tuple[int, int]
    by: Literal["program", "agent"]
    how: How
    before: str
    now: str | None
    call: Call
    right: tuple[str, ...]
    goal: str | None
    same: bool
    why: str


class Task(Struct, frozen=True, kw_only=True):
    """An edit of the shared tree. mark: what proves that it is there. gone: later tasks that may rewrite it."""

    task: int
    barrier: int
    agent: int
    file: str
    old: str
    new: str
    mark: str
    gone: tuple[int, ...]


class Tree(Struct, frozen=True, kw_only=True):
    """widths: how many agents edit at once, by barrier."""

    files: dict[str, str]
    tasks: tuple[Task, ...]
    widths: tuple[int, ...]


def load_table(path: Path = TABLE) -> list[Scenario]:
    return msgspec.convert(json.loads(path.read_text(encoding="utf-8")), list[Scenario])


def load_tree(path: Path = TREE) -> Tree:
    return msgspec.convert(json.loads(path.read_text(encoding="utf-8")), Tree)


def to_json(value: Sequence[Scenario] | Tree) -> str:
    return json.dumps(msgspec.to_builtins(value), indent=1, ensure_ascii=True) + "\n"


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def to_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def as_lf(text: str) -> str:
    return text.lstrip("\ufeff").replace("\r\n", "\n")


def as_pairs(call: EditCall | MultiCall | PatchCall) -> list[Pair]:
    """Return (old, new) for each edit; a patch as a host without a patch tool has to send it."""
    match call:
        case EditCall(old=old, new=new):
            return [(old, new)]
        case MultiCall(edits=edits):
            return list(edits)
        case PatchCall(hunks=hunks):
            return [(_side(hunk, " -"), _side(hunk, " +")) for hunk in hunks]


def _side(hunk: PatchHunk, signs: str) -> str:
    lines = (line or " " for line in hunk.lines)  # models write an empty line without its blank
    return "".join(f"{line[1:]}\n" for line in lines if line[0] in signs)
