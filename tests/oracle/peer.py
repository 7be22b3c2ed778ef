"""One end of a connection to a real daemon: every request gets exactly one answer, and no fault of the daemon's own."""

import os
import resource
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from oracle.contents import require
from support.patience import PATIENCE_S
from support.rawclient import DAEMON, HASTY_DAEMON, Message, RawClient

INTERNAL_ERROR, REQUEST_CANCELLED = -32603, -32800


class Peer:
    """on_question: answers a request of the daemon, at once or later (`reply`)."""

    def __init__(
        self,
        root: str,
        state: str,
        on_question: Callable[["Peer", Message], None],
        capabilities: object,
        options: dict[str, object],
        *,
        is_hasty: bool,
    ) -> None:
        command = HASTY_DAEMON if is_hasty else DAEMON
        self._client = RawClient(command, env={"XDG_STATE_HOME": state}, cwd=root)
        self._on_question = on_question
        self._unanswered: set[int] = set()
        self._answers: dict[int, Message] = {}
        self.withdrawn: set[Any] = set()
        self.is_starved = False
        folder = {"uri": f"file://{root}", "name": "root"}
        params = {
            "processId": None, "capabilities": capabilities, "workspaceFolders": [folder],
            "initializationOptions": options,
        }  # fmt: skip
        self.encoding: str = self.result("initialize", params)["capabilities"]["positionEncoding"]
        self.notify("initialized", {})

    # --- requests ------------------------------------------------------------------------------------------------

    def begin(self, method: str, params: object) -> int:
        msg_id: int = self._client.request(method, params)
        self._unanswered.add(msg_id)
        return msg_id

    def answer(self, msg_id: int) -> Message:
        """Serves the daemon's own questions in the meantime."""
        while msg_id not in self._answers:
            self._take(self._client.claim(lambda _: True, PATIENCE_S))
        return self._answers.pop(msg_id)

    def result(self, method: str, params: object) -> Any:
        answer = self.answer(self.begin(method, params))
        require("result" in answer, f"{method} {params} was answered with {answer}; {self._client.stderr}")
        return answer["result"]

    def outcome(self, msg_id: int) -> tuple[str, dict[str, Any]]:
        """("ok", an error code of the tool, "cancelled" or "fault"; the ToolResult)."""
        answer = self.answer(msg_id)
        if "error" in answer:
            code = answer["error"]["code"]
            if code == REQUEST_CANCELLED:
                return "cancelled", {}
            require(
                code == INTERNAL_ERROR and self.is_starved, f"answered with {answer['error']}; {self._client.stderr}"
            )
            return "fault", {}
        tool_result: dict[str, Any] = answer["result"]
        error = tool_result["error"]
        return ("ok" if error is None else error["code"]), tool_result

    def cancel(self, msg_id: int) -> None:
        self._client.notify("$/cancelRequest", {"id": msg_id})

    def notify(self, method: str, params: object) -> None:
        self._client.notify(method, params)

    def reply(self, msg_id: object, **outcome: object) -> None:
        """outcome: result=... or error=..."""
        self._client.send({"jsonrpc": "2.0", "id": msg_id, **outcome})

    def _take(self, message: Message) -> None:
        method, msg_id = message.get("method"), message.get("id")
        if method is None:
            require(msg_id in self._unanswered, f"{msg_id} was answered twice, or never asked: {message}")
            assert isinstance(msg_id, int)
            self._unanswered.remove(msg_id)
            self._answers[msg_id] = message
        elif msg_id is not None:
            self._on_question(self, message)
        elif method == "$/cancelRequest":
            self.withdrawn.add(message["params"]["id"])

    # --- the process ---------------------------------------------------------------------------------------------

    @contextmanager
    def starved(self) -> Generator[None]:
        """The daemon cannot open another file in the meantime."""
        assert sys.platform == "linux"  # which alone has limits of another process
        pid = self._client.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, before[1]))
        self.is_starved = True
        try:
            yield
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)

    def shut_down(self) -> None:
        self.result("shutdown", None)
        self.notify("exit", None)
        status = self._client.wait(PATIENCE_S)
        require(status == 0, f"the daemon ended with {status}: {self._client.stderr}")
        for message in self._client.received:
            self._take(message)
        require(not self._unanswered, f"never answered: {self._unanswered}")
        self._client.close()

    def kill(self) -> None:
        """SIGKILL. What had been answered is kept for `outcome_if_any`."""
        self._client.process.kill()
        self._client.wait(PATIENCE_S)
        for message in self._client.received:
            if "method" not in message:
                self._take(message)
        self._client.close()

    def close(self) -> None:
        self._client.close()

    def answered(self, msg_id: int) -> bool:
        return msg_id in self._answers


def file_names(root: str) -> set[str]:
    return {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}
