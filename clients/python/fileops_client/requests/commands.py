"""Shell commands."""

import itertools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from fileops_client.events import Notification
from fileops_client.requests.sender import FilePath, Sender, drop_none, path_or_none
from fileops_client.subscriptions import Listener
from fileops_client.tool_result import ToolResult

COMMAND_S = 120.0  # the daemon's default timeout of a command
CONSENT_S = 660.0  # the user may take 600 s to approve it

_tokens = itertools.count(1)


class CommandRequests(Sender):
    @abstractmethod
    def on(self, name: str, listener: Listener) -> Callable[[], None]: ...

    async def bash(
        self,
        command: str,
        *,
        timeout_s: float | None = None,
        cwd: FilePath | None = None,
        description: str | None = None,
        session_id: str | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> ToolResult:
        """Run a shell command. The server needs the option `bash`. Cancelling the call ends the command.

        Args:
            command: the command line, for the user's shell.
            timeout_s: seconds until the server ends the command, by default 120. The client waits longer for the
                answer, since a user may have to approve the command; the client's `timeout_s` does not apply.
            cwd: the absolute folder in which it runs; by default the first workspace folder.
            description: its purpose, shown to the user for approval.
            session_id: whose command it is; by default this client's session.
            on_output: called with new output, while the command runs.

        A command that ends with another status than 0 is a success of the call: see `details["exit_code"]`.
        Codes: `command_failed` (not started), `command_timeout`, `rejected`, `undecided`, `approval_timeout`,
        `consent_unavailable`.
        Raises: ResponseError if the server does not offer commands, and what `FileOpsClient.request` raises.
        """
        params = drop_none(
            command=command, timeout_s=timeout_s, cwd=path_or_none(cwd), description=description, session_id=session_id
        )
        if on_output is None:
            return await self._tool("fileops/bash", params, None)
        token = f"bash-{next(_tokens)}"

        def pass_on(event: Notification) -> None:
            value = event.params["value"]
            if event.params["token"] == token and value["kind"] == "report":
                on_output(value["message"])

        stop = self.on("$/progress", pass_on)
        try:
            return await self._tool("fileops/bash", {**params, "workDoneToken": token}, None)
        finally:
            stop()

    async def _tool(self, method: str, params: dict[str, Any], timeout_s: float | None) -> ToolResult:
        if method == "fileops/bash" and timeout_s is None:  # the command has its own timeout
            wanted = params.get("timeout_s")
            timeout_s = (wanted if isinstance(wanted, (int, float)) else COMMAND_S) + CONSENT_S
        return await super()._tool(method, params, timeout_s)
