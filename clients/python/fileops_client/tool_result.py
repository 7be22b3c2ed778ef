"""The result of a tool, with what a model and its API need."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from fileops_client._value import Value
from fileops_client.details import Details, Suggestion
from fileops_client.formats import ResultFormat, result_for
from fileops_client.values import Attachment, ErrorCode, ToolError, UiExtra


class ToolResult(Value):
    """The result of a tool. `output` is exactly the text for the model.

    tool_name: of the tool that the model called; None unless it was called by name.
    """

    status: Literal["success", "error"]
    output: str
    error: ToolError | None = None
    ui_extra: UiExtra | None = None
    details: Details = field(default_factory=Details)
    attachments: tuple[Attachment, ...] = ()
    tool_name: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the tool did what was requested."""
        return self.status == "success"

    @property
    def code(self) -> ErrorCode | None:
        """The error's code; None for a success."""
        return None if self.error is None else self.error.code

    @property
    def suggestions(self) -> list[Suggestion]:
        """What to send instead of the failed steps, best first; empty for a success."""
        return self.details.get("suggestions", [])

    @property
    def text_for_model(self) -> str:
        """`output`, plus the suggestions that it does not contain."""
        return "\n\n".join((self.output, *self.details.get("suggestion_texts", ())))

    def for_model(self, format: ResultFormat, call_id: str, *, name: str | None = None) -> Any:  # noqa: A002
        """Return the result as a model API expects the answer to its call `call_id`, as JSON, with suggestions.

        name: the tool's name, which "gemini" and "pydantic-ai" need; by default that of the call. Images are attached
        if the format can hold them (all except "openai"). Raises: ValueError.
        """
        return result_for(self, format, call_id, self.tool_name if name is None else name)
