"""The tools as a model is told of them: names, descriptions and schemas exactly as ordered (tool_definitions.json).

What stands around them, labels, snippets and guidelines, depends on which tools are enabled, so that a prompt never
speaks of a tool that is not there.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec

from fileops.wire.types import JsonObject, ToolDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class Guideline:
    """A line of the system prompt that holds where all tools in `needs` are enabled."""

    text: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    method: str
    label: str
    prompt_snippet: str
    guidelines: tuple[Guideline, ...]


class _Ordered(msgspec.Struct, frozen=True):
    name: str
    description: str
    input_schema: JsonObject


SURROUNDINGS: dict[str, Surroundings] = {
    "Read": Surroundings(
        method="fileops/read",
        label="read",
        prompt_snippet="Read file contents",
        guidelines=(
            Guideline(text="Use Read to examine files instead of cat or sed."),
            Guideline(
                text="Read a file before editing it, and again when an edit says it was modified.", needs=("Edit",)
            ),
        ),
    ),
    "Edit": Surroundings(
        method="fileops/edit",
        label="edit",
        prompt_snippet="Replace exact text in a file, or create one",
        guidelines=(
            Guideline(text="Copy old_string from the file exactly, without the line number prefix."),
            Guideline(
                text="For several changes in one file use MultiEdit rather than several Edits.", needs=("MultiEdit",)
            ),
        ),
    ),
    "MultiEdit": Surroundings(
        method="fileops/multiEdit",
        label="multi edit",
        prompt_snippet="Make several exact replacements in one file, all or none",
        guidelines=(Guideline(text="Each edit of a MultiEdit works on the result of the one before it."),),
    ),
}
ALL_TOOLS: tuple[str, ...] = tuple(SURROUNDINGS)


def tool_definitions(enabled: Collection[str] = ALL_TOOLS) -> list[ToolDefinition]:
    """In the ordered sequence. enabled: tool names."""
    return [
        _definition(ordered, SURROUNDINGS[ordered.name], enabled) for ordered in _ordered() if ordered.name in enabled
    ]


def _definition(ordered: _Ordered, around: Surroundings, enabled: Collection[str]) -> ToolDefinition:
    return ToolDefinition(
        name=ordered.name,
        method=around.method,
        label=around.label,
        description=ordered.description,
        input_schema=ordered.input_schema,
        prompt_snippet=around.prompt_snippet,
        prompt_guidelines=[line.text for line in around.guidelines if all(need in enabled for need in line.needs)],
    )


@cache
def _ordered() -> list[_Ordered]:
    text = (files("fileops.wire") / "tool_definitions.json").read_bytes()
    return msgspec.json.decode(text, type=list[_Ordered])
