"""An MCP server over one connection, in both eras: handles each message.

`initialize` begins the legacy era for the connection. A request with its version in `_meta` is modern, and is served on
its own. Handlers translate and delegate. Belongs to the event loop.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops.api.additions import Additions, additions_to
from fileops.api.tools import ToolAnswer
from fileops.core.presentation import lean, outputs
from fileops.mcp import answers, protocol, results, texts
from fileops.mcp.elicitation import (
    Dialogue,
    InputRequired,
    LegacyDialogue,
    McpApprover,
    modern_dialogue,
)
from fileops.mcp.forms import input_required
from fileops.mcp.host_limits import HostLimits
from fileops.mcp.host_sessions import HostSessions, turn_of
from fileops.mcp.options import McpOptions
from fileops.mcp.progress import Progress, report
from fileops.mcp.protocol import CallParams, JsonObject, Peer
from fileops.mcp.request_state import StateSeal, digest_of_call
from fileops.mcp.roots import ClientRoots, find_fixed_roots
from fileops.mcp.tools import (
    FURTHER_TOOLS,
    TOOLS,
    Arguments,
    ReadArguments,
    Tool,
    ToolCall,
    answer_failure,
    path_of,
    tool_list,
)
from fileops.model.errors import FileOpsError, NotebookFile, OutsideRoots
from fileops.model.internal_errors import Cancelled
from fileops.model.requests import ReadRequest
from fileops.model.results import EditResult, ReadResult
from fileops.model.sessions import SessionName
from fileops.model.suggestions import ShownLines
from fileops.rpc import errors
from fileops.rpc.connection import Connection
from fileops.rpc.decode import InvalidParams, decode
from fileops.rpc.errors import MessageId, RequestRefused

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps

log = logging.getLogger(__name__)

MIN_REPEATED_CHARS = 400  # a shorter read costs less than a second call


Build = Callable[[McpApprover, HostSessions], "FileOps"]


class McpServer:
    """See rpc.session.Server and rpc.connection.Dialect.

    recover: called when the roots are known. cwd: of the client; None for that of this process. unnamed_session: see
    HostSessions. notice: a sentence about this session, added to the instructions for the model.
    """

    def __init__(
        self,
        build: Build,
        options: McpOptions,
        environ: Mapping[str, str] = os.environ,
        recover: Callable[[], None] = lambda: None,
        cwd: str | None = None,
        unnamed_session: Callable[[str], str] = lambda host: f"{host}-1",
        notice: str | None = None,
    ) -> None:
        self.connection = Connection(self, answers.withdrawal)
        self.names = HostSessions(options.session, environ, unnamed_session)
        self._approver = McpApprover(lambda: self.names.host, allows_unasked=options.allows_unasked)
        self.service = build(self._approver, self.names)
        self._options = options
        self._notice = notice
        self._recover = recover
        self._tools = TOOLS | {name: FURTHER_TOOLS[name] for name in options.further_tools}
        self._limits = HostLimits(options.max_read_bytes)
        self._seal = StateSeal()
        self._client: Peer | None = None  # of the legacy era, since `initialize`
        self._roots = ClientRoots(
            find_fixed_roots(options.roots, environ),
            environ,
            cwd,
            lambda: self.connection.outgoing,
            self._on_roots,
            self.service.run_on_disk,
        )
        self._asking = asyncio.Lock()  # hosts show one form at a time
        self.service.when_work_waits(lambda: self.connection.on_request_done())  # noqa: PLW0108  # it is set later

    # --- the connection's dialect ------------------------------------------------------------------------------

    def handle_request(self, msg_id: MessageId, method: str, params: object) -> None:
        """Accept any request: what is allowed depends on its `_meta`, so the handlers decide."""
        handle = self._call_tool if method == protocol.TOOLS_CALL else partial(self._answer, method)
        self.connection.serve(msg_id, handle, params)

    def handle_notification(self, method: str, params: object) -> None:
        match method:
            case protocol.CANCELLED:
                self._cancel(params)
            case protocol.INITIALIZED:
                self._roots.find(asks=self._asks_roots)
            case protocol.ROOTS_CHANGED if self._asks_roots:
                self._roots.find_again()
            case _:
                log.debug("notification %.100s ignored", method)

    def is_cancellation(self, fault: BaseException) -> bool:
        return isinstance(fault, Cancelled)

    @property
    def _asks_roots(self) -> bool:
        return self._client is not None and self._client.has_roots

    def _on_roots(self, folders: Sequence[str]) -> None:
        self.service.set_folders(folders)
        self._recover()

    @property
    def host(self) -> str | None:
        """The client's name, as in the names of its sessions; None until it is known."""
        return self.names.named_host

    # --- the session's server ----------------------------------------------------------------------------------

    @property
    def n_waiting_for_others(self) -> int:
        return self.service.n_waiting_for_others

    def flush(self) -> None:
        """Do nothing: a client is notified only of progress."""

    def close_service(self) -> None:
        self.service.close()

    # --- requests ----------------------------------------------------------------------------------------------

    def _answer(self, method: str, params: object) -> JsonObject:
        """Return the answer. Raises: RequestRefused, InvalidParams."""
        peer = self._peer(method, params)
        if peer.is_modern:
            return self._modern_answer(method)
        match method:
            case protocol.INITIALIZE:
                return self._initialize(params)
            case protocol.PING:
                return {}
            case protocol.TOOLS_LIST:
                return {"tools": self._tool_list()}
            case _:
                raise RequestRefused(errors.method_not_found(method))

    def _peer(self, method: str, params: object) -> Peer:
        """Return who made a request. Raises: RequestRefused if it must not be made now; InvalidParams."""
        if (peer := protocol.modern_peer(params)) is not None:
            self.names.note_host(peer.host)
            return peer
        if self._client is not None:
            return self._client
        if method in {protocol.INITIALIZE, protocol.PING}:
            return Peer(is_modern=False, capabilities={}, host=None)
        raise RequestRefused(errors.invalid_request("initialize comes first, or `_meta` names the protocol version"))

    def _initialize(self, params: object) -> JsonObject:
        if self._client is not None:
            raise RequestRefused(errors.invalid_request("already initialized"))
        checked = decode({} if params is None else params, protocol.McpInitializeParams)
        host = None if checked.client_info is None else checked.client_info.name
        self.names.note_host(host)
        self._client = Peer(is_modern=False, capabilities=checked.capabilities, host=host)
        return answers.answer_initialize(checked.protocol_version, self._notice, has_undo="Undo" in self._tools)

    def _modern_answer(self, method: str) -> JsonObject:
        if method == protocol.TOOLS_LIST:
            return {**answers.CACHEABLE, "tools": self._tool_list()}
        if method == protocol.DISCOVER:
            return answers.answer_discover(self._notice, has_undo="Undo" in self._tools)
        raise RequestRefused(errors.method_not_found(method))

    def _tool_list(self) -> list[JsonObject]:
        return tool_list(tuple(self._tools))

    # --- a tool's call -----------------------------------------------------------------------------------------

    async def _call_tool(self, raw: object) -> JsonObject:
        """Raises: RequestRefused, InvalidParams."""
        peer = self._peer(protocol.TOOLS_CALL, raw)
        params = decode({} if raw is None else raw, CallParams)
        tool = self._tools.get(params.name)
        if tool is None:
            raise InvalidParams(f"no such tool; there are {', '.join(self._tools)}", ".name")
        meta = params.meta or {}
        self._limits.check_model(meta)
        session = self.names.session_of(meta)
        if (turn_id := turn_of(meta)) is not None:
            await self.service.work.begin_turn(session, turn_id)
        async with report(self.connection.notify, meta.get("progressToken")) as progress:
            self._approver.begin(self._dialogue(peer, params, session, progress), progress)
            result = await self._result(tool, params, session)
        return {**result, "resultType": "complete"} if peer.is_modern and "resultType" not in result else result

    async def _result(self, tool: Tool, params: CallParams, session: SessionName) -> JsonObject:
        try:
            arguments = tool.parse(params.arguments)
            with self.service.calls.measure(tool.method, session, InvalidParams):
                return await self._run_or_ask(tool, arguments, params, session)
        except InvalidParams as fault:  # the request itself checks that keys fit together
            return results.failed_result(errors.invalid_params(fault).message, "invalid_params")

    async def _run_or_ask(
        self, tool: Tool, arguments: Arguments, params: CallParams, session: SessionName
    ) -> JsonObject:
        try:
            return await self._run(tool, arguments, session)
        except InputRequired as question:
            call = _digest_of(session, params)
            state = self._seal.seal(call, question.asked)
            log.info("a person is asked about the tool use %r", (params.meta or {}).get("claudecode/toolUseId"))
            return input_required(question.question, self.names.host, state)

    async def _run(self, tool: Tool, arguments: Arguments, session: SessionName) -> JsonObject:
        path = path_of(arguments)
        if not tool.is_read or self._options.chosen.confine == "all":
            await self._roots.wait_until_known(asks=self._asks_roots)
            if not self._roots.folders:
                refused = answer_failure(arguments, OutsideRoots(path=path or ""), session)
                return results.tool_result(refused.result, None, path, [texts.outside_roots(())])
        max_output_bytes = self._limits.max_read_bytes(self.names.host)
        call = ToolCall(arguments=arguments, session=session, max_output_bytes=max_output_bytes)
        try:
            answer = await tool.run(self.service, call)
        except FileOpsError as error:  # of the approver: the file has changed since the question
            answer = answer_failure(arguments, error, session)
        has_notices = self._options.notices == "on"
        output = self._lean_output(answer, tells_others=has_notices) if self._options.is_lean else None
        output = self._answer_repeated_read(answer, arguments) or output
        is_brief = output is not None and (answer.is_rebased or _find_shown(answer) is not None)
        additions = await additions_to(self.service, answer, has_notices=has_notices, is_brief=is_brief)
        rewound = self.service.history.take_notices(answer.session) if has_notices else []
        more = self._more(answer, additions, rewound)
        result = answer.result if output is None else replace(answer.result, output=output)
        return results.tool_result(result, additions.diagnostics, path, more)

    def _answer_repeated_read(self, answer: ToolAnswer, arguments: Arguments) -> str | None:
        """Return the sentence that answers a read of what the session still has; None for any other answer."""
        outcome = answer.outcome
        if self._options.repeated_reads == "full" or not isinstance(arguments, ReadArguments):
            return None
        if not isinstance(outcome, ReadResult) or outcome.window is None or outcome.read_proof is None:
            return None
        digest, repeated = outcome.read_proof.digest, self.service.files.repeated
        if digest is None or len(outcome.output) < MIN_REPEATED_CHARS:
            return None
        request = ReadRequest(
            file_path=arguments.file_path, offset=arguments.offset, limit=arguments.limit, session_id=answer.session
        )
        return outputs.repeated_read_text(arguments.file_path) if repeated.is_repeated(request, digest) else None

    def _lean_output(self, answer: ToolAnswer, *, tells_others: bool) -> str | None:
        """Return the first text of a lean answer; None if the specified one stays."""
        if answer.error is not None:
            return lean.failed_text(answer.result.output, answer.error)
        outcome = answer.outcome
        if not isinstance(outcome, EditResult) or answer.edited is None:
            return None
        return lean.edited_text(outcome, answer.edited, tells_others=tells_others)

    def _more(self, answer: ToolAnswer, additions: Additions, rewound: Sequence[str]) -> list[str]:
        """Return the texts beside the output."""
        result, error = answer.result, answer.error
        shows = self._options.shows_diff and results.has_unseen_diff(result)
        more = [results.format_change(result, self._roots.folders)] if shows else []
        more += [texts.applied_after_cancel(file) for file in self.service.files.take_unanswered(answer.session)]
        problems, reported = additions.problems, additions.reported
        shown, about = _find_shown(answer), additions.notices.about
        if additions.is_brief and shown is not None and about is not None:
            reported.insert(0, lean.changed_text(about, shown.ranges))
        more += additions.suggestions.texts([*problems, *reported])
        if isinstance(error, OutsideRoots):
            more.append(texts.outside_roots(self._roots.folders))
        elif isinstance(error, NotebookFile) and self.names.host != "claude-code" and "NotebookEdit" not in self._tools:
            more.append(texts.NO_NOTEBOOK_TOOL)
        return [*more, *problems, *rewound, *reported]

    def _dialogue(
        self, peer: Peer, params: CallParams, session: SessionName, progress: Progress | None
    ) -> Dialogue | None:
        """Return how to reach this call's user; None if the client has none."""
        if not peer.can_elicit:
            return None
        if peer.is_modern:
            call = _digest_of(session, params)
            return modern_dialogue(self._seal, call, params.request_state, params.input_responses, self.names.host)
        on_wait = (lambda: None) if progress is None else progress.wait_for_person
        return LegacyDialogue(self._ask_person, self.names.host, on_wait)

    async def _ask_person(self, method: str, params: object, timeout_s: float) -> object:
        async with self._asking:  # the time limit starts when the host is asked, not in the queue
            return await self.connection.outgoing.ask(method, params, timeout_s)

    def _cancel(self, params: object) -> None:
        """Cancel a request, which then is not answered. One that is not in flight has been answered already."""
        try:
            msg_id = decode(params, protocol.CancelledParams).request_id
        except InvalidParams as fault:
            log.warning("a cancel was ignored: %s %s", fault.path, fault.reason)
            return
        self.connection.cancel(msg_id, is_answered=False)


def _find_shown(answer: ToolAnswer) -> ShownLines | None:
    """Return the lines that the answer to a refused edit shows."""
    outcome = answer.outcome
    if not isinstance(outcome, EditResult) or not answer.is_outdated or outcome.suggestions is None:
        return None
    return outcome.suggestions.shown


def _digest_of(session: SessionName, params: CallParams) -> str:
    return digest_of_call(session, params.name, params.arguments)
