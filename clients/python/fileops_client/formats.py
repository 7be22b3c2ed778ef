"""Tool lists and results in the formats of model APIs: plain JSON types, no SDK is imported.

The return types are `Any`, because each SDK has its own closed TypedDicts, which no type of another package fits.
`tests/clients/python/test_sdks.py` passes the values to the SDKs and to a strict type checker.
"""

import base64
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from fileops_client.tool_result import ToolResult
    from fileops_client.values import ToolDefinition

ToolFormat = Literal["openai", "openai-responses", "anthropic", "gemini", "bedrock", "mcp"]
ResultFormat = Literal["openai", "openai-responses", "anthropic", "gemini", "bedrock", "mcp", "pydantic-ai"]


def tool_list(definitions: "Iterable[ToolDefinition]", format: ToolFormat) -> list[Any]:  # noqa: A002
    """Return the tools in the format of a model API. Raises: ValueError, if the format is unknown."""
    if format not in _FUNCTIONS:
        raise ValueError(f"no format {format}; there are {', '.join(_FUNCTIONS)}")
    functions = [_FUNCTIONS[format](tool) for tool in definitions]
    return [{"functionDeclarations": functions}] if format == "gemini" else functions


def result_for(result: "ToolResult", format: ResultFormat, call_id: str, name: str | None) -> Any:  # noqa: A002
    """See ToolResult.for_model."""
    if format not in _RESULTS:
        raise ValueError(f"no format {format}; there are {', '.join(_RESULTS)}")
    if name is None and format in {"gemini", "pydantic-ai"}:
        raise ValueError(f"the format {format} contains the tool's name: give `name`, or call the tool by its name")
    return _RESULTS[format](result, call_id, name)


# --- tools ---------------------------------------------------------------------------------------------------


def _describe(tool: "ToolDefinition", **more: Any) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, **more}


_FUNCTIONS: dict[str, "Callable[[ToolDefinition], dict[str, Any]]"] = {
    "openai": lambda tool: {"type": "function", "function": _describe(tool, parameters=tool.input_schema)},
    "openai-responses": lambda tool: {
        "type": "function", **_describe(tool, parameters=tool.input_schema), "strict": False
    },
    "anthropic": lambda tool: _describe(tool, input_schema=tool.input_schema),
    "gemini": lambda tool: _describe(tool, parameters=_for_gemini(tool.input_schema)),
    "bedrock": lambda tool: {"toolSpec": _describe(tool, inputSchema={"json": tool.input_schema})},
    "mcp": lambda tool: _describe(tool, title=tool.label or tool.name, inputSchema=tool.input_schema),
}  # fmt: skip


def _for_gemini(schema: Any) -> Any:
    """Return the schema without the keys that Gemini's subset of OpenAPI lacks."""
    if isinstance(schema, dict):
        known = cast("dict[str, Any]", schema)
        return {
            key: _for_gemini(value) for key, value in known.items() if key not in {"additionalProperties", "default"}
        }
    return [_for_gemini(one) for one in cast("list[Any]", schema)] if isinstance(schema, list) else schema


# --- results -------------------------------------------------------------------------------------------------


def _anthropic(result: "ToolResult", call_id: str, name: str | None) -> dict[str, Any]:
    images = [
        {"type": "image", "source": {"type": "base64", "media_type": image.mime_type, "data": image.data}}
        for image in result.attachments
    ]
    content = [{"type": "text", "text": result.text_for_model}, *images]
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": not result.ok}


def _openai(result: "ToolResult", call_id: str, name: str | None) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": result.text_for_model}


def _openai_responses(result: "ToolResult", call_id: str, name: str | None) -> dict[str, Any]:
    images = [
        {"type": "input_image", "image_url": f"data:{image.mime_type};base64,{image.data}", "detail": "auto"}
        for image in result.attachments
    ]
    output = [{"type": "input_text", "text": result.text_for_model}, *images] if images else result.text_for_model
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _gemini(result: "ToolResult", call_id: str, name: str | None) -> dict[str, Any]:
    response = {
        "id": call_id,
        "name": name,
        "response": {"output" if result.ok else "error": result.text_for_model},
        "parts": [{"inlineData": {"mimeType": image.mime_type, "data": image.data}} for image in result.attachments],
    }
    return {"functionResponse": response if response["parts"] else {**response, "parts": None}}


def _bedrock(result: "ToolResult", call_id: str, name: str | None) -> dict[str, Any]:
    images = [
        {"image": {"format": image.mime_type.removeprefix("image/"), "source": {"bytes": base64.b64decode(image.data)}}}
        for image in result.attachments
    ]
    content = [{"text": result.text_for_model}, *images]
    return {"toolResult": {"toolUseId": call_id, "content": content, "status": "success" if result.ok else "error"}}


def _mcp(result: "ToolResult", call_id: str, name: str | None) -> dict[str, Any]:
    images = [{"type": "image", "data": image.data, "mimeType": image.mime_type} for image in result.attachments]
    return {"content": [{"type": "text", "text": result.text_for_model}, *images], "isError": not result.ok}


def _pydantic_ai(result: "ToolResult", call_id: str, name: str | None) -> dict[str, Any]:
    images = [{"kind": "binary", "media_type": image.mime_type, "data": image.data} for image in result.attachments]
    content = [result.text_for_model, *images] if images else result.text_for_model
    return {"part_kind": "tool-return", "tool_name": name, "tool_call_id": call_id, "content": content}


_RESULTS: dict[str, "Callable[[ToolResult, str, str | None], dict[str, Any]]"] = {
    "anthropic": _anthropic, "openai": _openai, "openai-responses": _openai_responses, "gemini": _gemini,
    "bedrock": _bedrock, "mcp": _mcp, "pydantic-ai": _pydantic_ai,
}  # fmt: skip
