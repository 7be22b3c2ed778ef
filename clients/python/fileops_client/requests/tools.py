"""Tools for an agent: definitions, agent tools, lists for model APIs, and calls by name.

There are two layers. A `Tool` has everything: schema, prompt snippet and guidelines, execution, rendering. `AgentTool`,
derived from it, has what an agent's loop needs: a name, a description, a schema and a function.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from fileops_client._arguments import BadArguments, arguments_of, read_leniently
from fileops_client._signatures import signature_of
from fileops_client.details import CoercedArgument, Details
from fileops_client.errors import INVALID_PARAMS, ResponseError
from fileops_client.formats import ToolFormat, tool_list
from fileops_client.requests.sender import Arguments, drop_none
from fileops_client.requests.views import ViewRequests
from fileops_client.tool_result import ToolResult
from fileops_client.values import ToolDefinition, ToolError, View


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """A tool for an agent's loop.

    execute: takes the model's arguments, a mapping or JSON text. Invalid arguments return a result, and raise nothing.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    execute: Callable[[Arguments | str], Awaitable[ToolResult]]

    def as_function(self) -> Callable[..., Awaitable[str]]:
        """Return a function that takes the arguments as keywords and returns `text_for_model` of the result.

        Tool runners of SDKs and frameworks take such functions, for example anthropic's and pydantic-ai's. It has the
        tool's name, the description as docstring, and a signature from the schema. Images are left out.
        """

        async def call(**arguments: Any) -> str:
            return (await self.execute(arguments)).text_for_model

        call.__name__ = call.__qualname__ = self.name
        call.__doc__ = self.description
        shown = signature_of(self.input_schema)
        call.__signature__ = shown  # pyrefly: ignore[missing-attribute] - PEP 362
        annotations = {parameter.name: parameter.annotation for parameter in shown.parameters.values()}
        call.__annotations__ = {**annotations, "return": str}  # pydantic takes the types from here
        return call


class ToolRequests(ViewRequests):
    @overload
    async def tools(
        self, *, enabled: Collection[str] | None = None, extended: bool = False
    ) -> tuple[ToolDefinition, ...]: ...

    @overload
    async def tools(
        self, format: ToolFormat, *, enabled: Collection[str] | None = None, extended: bool = False
    ) -> list[Any]: ...

    @overload
    async def tools(
        self, format: ToolFormat | None, *, enabled: Collection[str] | None = None, extended: bool = False
    ) -> tuple[ToolDefinition, ...] | list[Any]: ...

    async def tools(
        self,
        format: ToolFormat | None = None,  # noqa: A002 - the natural keyword for callers
        *,
        enabled: Collection[str] | None = None,
        extended: bool = False,
    ) -> tuple[ToolDefinition, ...] | list[Any]:
        """Return the definitions of the tools, or the list that a model API takes. The server is asked once.

        Args:
            format: the model API, as "anthropic" or "openai"; without it ToolDefinition values are returned.
            enabled: the tools' names; by default all.
            extended: with the parameters `strategy` and `expected_replacements`.

        Raises: ResponseError for an unknown name in `enabled`.
        """
        definitions = await self._definitions(enabled)
        if extended:
            definitions = tuple(extend_definition(tool, self._strategies()) for tool in definitions)
        return definitions if format is None else tool_list(definitions, format)

    async def system_prompt(
        self, *, enabled: Collection[str] | None = None, other_tools: Collection[str] | None = None
    ) -> str:
        """Return the lines about the tools for a system prompt, with the guidelines that belong to no single tool.

        Args:
            enabled: the tools' names; by default all.
            other_tools: names of the agent's own tools, which the guidelines may then mention.
        """
        answer = await self.request(
            "fileops/tools",
            drop_none(
                enabled=None if enabled is None else list(enabled),
                other_tools=None if other_tools is None else list(other_tools),
            ),
        )
        return system_prompt(await self._definitions(enabled), answer["guidelines"])

    async def toolbox(
        self,
        *,
        enabled: Collection[str] | None = None,
        extended: bool = False,
        lenient: bool = False,
        session_id: str | None = None,
    ) -> "tuple[Tool, ...]":
        """Return the tools bound to this client and session.

        Args:
            enabled: the tools' names; by default all.
            extended: with the parameters `strategy` and `expected_replacements`.
            lenient: the tools accept the wrong types that models often write, as `call` does.
            session_id: whose calls they execute; by default this client's session.
        """
        definitions = await self.tools(enabled=enabled, extended=extended)
        return tuple(Tool(self, definition, session_id, lenient=lenient) for definition in definitions)

    async def call(
        self,
        name: str,
        arguments: Arguments | str,
        *,
        extended: bool = False,
        lenient: bool = False,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Execute a model's call by the tool's name. Give the model `text_for_model` of the result.

        An unknown name or invalid arguments return a result with the code `invalid_params` for the model to read.

        Args:
            name: the tool's, as the model wrote it.
            arguments: the model's, a mapping or JSON text.
            extended: accept the arguments of extended tools.
            lenient: accept the wrong types that models often write (`"true"`, `"1"`, an array as JSON text);
                `details["coerced"]` lists what was converted.
            session_id: whose call it is; by default this client's session.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Raises: the errors of `request`.
        """
        definitions = {definition.name: definition for definition in await self.tools(extended=extended)}
        if name not in definitions:
            return _no_such_tool(name, definitions)
        return await self.execute(
            definitions[name], arguments, lenient=lenient, session_id=session_id, timeout_s=timeout_s
        )

    async def execute(
        self,
        definition: ToolDefinition,
        arguments: Arguments | str,
        *,
        lenient: bool = False,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Execute a model's call of the tool with this `definition`, otherwise as `call`."""
        coerced: list[CoercedArgument] = []
        try:
            if lenient:
                params, coerced = read_leniently(definition, arguments)
            else:
                params = arguments_of(definition, arguments)
            result = await self._tool(definition.method, params | drop_none(session_id=session_id), timeout_s)
        except BadArguments as fault:
            result = _invalid_params(str(fault))
        except ResponseError as error:
            if error.code != INVALID_PARAMS:
                raise
            result = _invalid_params(error.message.removeprefix("Invalid params: "))
        details: Details = {**result.details, "coerced": coerced} if coerced else result.details
        return replace(result, details=details, tool_name=definition.name)

    @abstractmethod
    async def _definitions(self, enabled: Collection[str] | None) -> tuple[ToolDefinition, ...]:
        """Return the server's definitions; from the second time on without asking it."""
        ...

    @abstractmethod
    def _strategies(self) -> list[str]:
        """Return the names of the server's strategies."""
        ...


class Tool:
    """One tool with its definition for models and prompts, its execution and its rendering."""

    def __init__(
        self,
        requests: ToolRequests,
        definition: ToolDefinition,
        session_id: str | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        self.definition = definition
        self._requests = requests
        self._session_id = session_id
        self._lenient = lenient

    @property
    def name(self) -> str:
        """The name by which a model calls it."""
        return self.definition.name

    async def execute(self, arguments: Arguments | str) -> ToolResult:
        """Execute a call with a model's arguments, a mapping or JSON text. Invalid ones return a result."""
        return await self._requests.execute(
            self.definition, arguments, lenient=self._lenient, session_id=self._session_id
        )

    async def render_call(self, arguments: Arguments, *, is_partial: bool = False) -> str:
        """Return one line for the call, even while the arguments stream in."""
        view = await self._requests.render(self.definition.method, arguments, is_partial=is_partial)
        return view.call

    async def render_result(self, arguments: Arguments, result: ToolResult, *, expanded: bool = False) -> View:
        """Return the view of a result for a person, with the call in one line."""
        return await self._requests.render(self.definition.method, arguments, result=result, expanded=expanded)

    def agent_tool(self) -> AgentTool:
        """Return the tool without the parts for prompts and users."""
        return AgentTool(
            name=self.definition.name,
            description=self.definition.description,
            input_schema=self.definition.input_schema,
            execute=self.execute,
        )


def system_prompt(definitions: Iterable[ToolDefinition], general_guidelines: Iterable[str] = ()) -> str:
    """Return the lines about the tools for a system prompt. The tools' own guidelines mention only listed tools."""
    tools = tuple(definitions)
    lines = ["Available tools:", *(f"- {tool.name}: {tool.prompt_snippet}" for tool in tools)]
    guidelines = [f"- {line}" for tool in tools for line in tool.prompt_guidelines]
    guidelines += [f"- {line}" for line in general_guidelines]
    return "\n".join([*lines, "", "Guidelines:", *guidelines] if guidelines else lines)


def extend_definition(tool: ToolDefinition, strategies: Sequence[str]) -> ToolDefinition:
    """Return the tool with the parameters that the plain tool set leaves out, if it has them."""
    schema = dict(tool.input_schema)
    properties = dict(schema.get("properties", {}))
    strategy = {
        "type": "string",
        "enum": list(strategies),
        "description": "How old_string is matched (default: exact). regex: RE2 syntax; new_string has groups as \\1.",
    }
    if "old_string" in properties:
        properties["strategy"] = strategy
        properties["expected_replacements"] = {
            "type": "integer",
            "minimum": 1,
            "description": "The number of places that must match; all of them are replaced",
        }
    elif "edits" in properties:
        edits = dict(properties["edits"])
        items = dict(edits["items"])
        edits["items"] = {**items, "properties": {**items["properties"], "strategy": strategy}}
        properties["edits"] = edits
    return replace(tool, input_schema={**schema, "properties": properties})


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
