"""Tools for an agent: definitions, agent tools, lists for model APIs, and calls by name.

There are two layers. A `Tool` has everything: schema, prompt snippet and guidelines, execution, rendering. `AgentTool`,
derived from it, has what an agent's loop needs: a name, a description, a schema and a function.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, overload

import msgspec

from fileops_client.errors import INVALID_PARAMS, ResponseError
from fileops_client.models import ToolDefinition, ToolError, ToolResult
from fileops_client.requests.sender import Arguments, given
from fileops_client.requests.views import View, ViewRequests

ToolFormat = Literal["openai", "openai-responses", "anthropic", "gemini", "bedrock", "mcp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """A tool for an agent's loop.

    execute: takes the model's arguments, a mapping or JSON text. Invalid arguments give a result and no exception.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    execute: Callable[[Arguments | str], Awaitable[ToolResult]]


class ToolRequests(ViewRequests):
    @overload
    async def tools(self, *, enabled: Collection[str] | None = None) -> tuple[ToolDefinition, ...]: ...

    @overload
    async def tools(self, format: ToolFormat, *, enabled: Collection[str] | None = None) -> list[dict[str, Any]]: ...

    async def tools(
        self,
        format: ToolFormat | None = None,  # noqa: A002 - the natural keyword for callers
        *,
        enabled: Collection[str] | None = None,
    ) -> tuple[ToolDefinition, ...] | list[dict[str, Any]]:
        """Return the definitions, or with `format` the list for a model API. `enabled`: names, by default all."""
        answer = await self.request("fileops/tools", given(enabled=None if enabled is None else list(enabled)))
        definitions = msgspec.convert(answer["tools"], tuple[ToolDefinition, ...])
        return definitions if format is None else tool_list(definitions, format)

    async def toolbox(
        self, *, enabled: Collection[str] | None = None, session_id: str | None = None
    ) -> "tuple[Tool, ...]":
        """Return the tools bound to this client and session."""
        return tuple(Tool(self, definition, session_id) for definition in await self.tools(enabled=enabled))

    async def call(
        self,
        name: str,
        arguments: Arguments | str,
        *,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Execute a model's call by the tool's name.

        An unknown name, or invalid arguments, give a result with code invalid_params for the model to
        read. Raises: the errors of `request`.
        """
        definitions = {definition.name: definition for definition in await self.tools()}
        if name not in definitions:
            return _no_such_tool(name, definitions)
        return await self.execute(definitions[name], arguments, session_id=session_id, timeout_s=timeout_s)

    async def execute(
        self,
        definition: ToolDefinition,
        arguments: Arguments | str,
        *,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        try:
            params = _arguments_of(definition, arguments)
            return await self._tool(definition.method, params | given(session_id=session_id), timeout_s)
        except _BadArguments as fault:
            return _invalid_params(str(fault))
        except ResponseError as error:
            if error.code != INVALID_PARAMS:
                raise
            return _invalid_params(error.message.removeprefix("Invalid params: "))


class Tool:
    """One tool with its definition for models and prompts, its execution and its rendering."""

    def __init__(self, requests: ToolRequests, definition: ToolDefinition, session_id: str | None = None) -> None:
        self.definition = definition
        self._requests = requests
        self._session_id = session_id

    async def execute(self, arguments: Arguments | str) -> ToolResult:
        return await self._requests.execute(self.definition, arguments, session_id=self._session_id)

    async def render_call(self, arguments: Arguments, *, is_partial: bool = False) -> str:
        """Return one line for the call, also while the arguments stream in."""
        view = await self._requests.render(self.definition.method, arguments, is_partial=is_partial)
        return view.call

    async def render_result(self, arguments: Arguments, result: ToolResult, *, expanded: bool = False) -> View:
        return await self._requests.render(self.definition.method, arguments, result=result, expanded=expanded)

    def agent_tool(self) -> AgentTool:
        """Return the tool without the parts for prompts and users."""
        return AgentTool(
            name=self.definition.name,
            description=self.definition.description,
            input_schema=self.definition.input_schema,
            execute=self.execute,
        )


# --- lists for model APIs ------------------------------------------------------------------------------------


def tool_list(definitions: Iterable[ToolDefinition], format: ToolFormat) -> list[dict[str, Any]]:  # noqa: A002
    """Return the tools in the format of a model API. Raises: ValueError, if the format is unknown."""
    if format not in _FUNCTIONS:
        raise ValueError(f"no format {format}; there are {', '.join(_FUNCTIONS)}")
    functions = [_FUNCTIONS[format](tool) for tool in definitions]
    return [{"functionDeclarations": functions}] if format == "gemini" else functions


def _named(tool: ToolDefinition, **more: Any) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, **more}


_FUNCTIONS: dict[str, Callable[[ToolDefinition], dict[str, Any]]] = {
    "openai": lambda tool: {"type": "function", "function": _named(tool, parameters=tool.input_schema)},
    "openai-responses": lambda tool: {
        "type": "function", **_named(tool, parameters=tool.input_schema), "strict": False
    },
    "anthropic": lambda tool: _named(tool, input_schema=tool.input_schema),
    "gemini": lambda tool: _named(tool, parameters=_for_gemini(tool.input_schema)),
    "bedrock": lambda tool: {"toolSpec": _named(tool, inputSchema={"json": tool.input_schema})},
    "mcp": lambda tool: _named(tool, title=tool.label or tool.name, inputSchema=tool.input_schema),
}  # fmt: skip


def _for_gemini(schema: Any) -> Any:
    """Return the schema without the keys that Gemini's subset of OpenAPI lacks."""
    if isinstance(schema, dict):
        known = cast("dict[str, Any]", schema)
        return {
            key: _for_gemini(value) for key, value in known.items() if key not in {"additionalProperties", "default"}
        }
    return [_for_gemini(one) for one in cast("list[Any]", schema)] if isinstance(schema, list) else schema


def system_prompt(definitions: Iterable[ToolDefinition]) -> str:
    """Return the lines of a system prompt about the tools. Guidelines mention only tools in the list."""
    tools = tuple(definitions)
    lines = ["Available tools:", *(f"- {tool.name}: {tool.prompt_snippet}" for tool in tools)]
    guidelines = [f"- {line}" for tool in tools for line in tool.prompt_guidelines]
    return "\n".join([*lines, "", "Guidelines:", *guidelines] if guidelines else lines)


# --- arguments -----------------------------------------------------------------------------------------------


class _BadArguments(Exception):
    pass


def _arguments_of(definition: ToolDefinition, arguments: Arguments | str) -> dict[str, Any]:
    """Return the arguments, limited to the schema: a model must not set other parameters. Raises: _BadArguments."""
    given_arguments: Any = arguments
    if isinstance(arguments, str):
        try:
            given_arguments = json.loads(arguments or "{}")
        except ValueError as fault:
            raise _BadArguments(f"the arguments are no JSON: {fault}") from None
    if not isinstance(given_arguments, Mapping):
        raise _BadArguments("the arguments must be an object")
    known = cast("Mapping[str, Any]", definition.input_schema.get("properties", {}))
    unknown = [key for key in cast("Mapping[str, Any]", given_arguments) if key not in known]
    if unknown:
        raise _BadArguments(f"$.{unknown[0]} unknown key; there are: {', '.join(known)}")
    return dict(cast("Mapping[str, Any]", given_arguments))


def _no_such_tool(name: str, there: Iterable[str]) -> ToolResult:
    return ToolResult(
        status="error",
        output=f"<tool_use_error>No such tool: {name}. Available tools: {', '.join(there)}</tool_use_error>",
        error=ToolError(code="invalid_params", message=f"There is no tool {name}."),
    )


def _invalid_params(reason: str) -> ToolResult:
    return ToolResult(
        status="error",
        output=f"<tool_use_error>Invalid parameters. Reason: {reason}</tool_use_error>",
        error=ToolError(code="invalid_params", message=f"The call's arguments do not fit the tool: {reason}."),
    )
