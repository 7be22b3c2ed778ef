"""A model on loopback that plays a script, for hosts that speak Responses, Chat Completions, Messages or Gemini's API.

The number of tool results in a request is the number of steps that were played; so the model holds no conversation, and
a host may repeat a request. Requests without tools (titles, routing) get a short text.

As an HTTP proxy the model refuses every connection, and remembers which were wanted.
"""

import contextlib
import json
import re
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OWN_NAMES = {"Read", "Edit", "MultiEdit", "Write", "Undo"}


def not_offered(n: int) -> str:
    """What the model says the n-th time that it is not offered the tool of its step."""
    return f"TOOL-NOT-OFFERED-{n}."


@dataclass(frozen=True)
class Call:
    """A call of a tool of fileops-server, by its own name."""

    tool: str
    arguments: dict[str, Any]
    before: Callable[[], None] = lambda: None  # runs once, when the model is asked for this step


@dataclass(frozen=True)
class CallOfHost:
    """A call of one of the host's own tools, offered or not."""

    tool: str
    arguments: dict[str, Any]
    before: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Patch:
    """A call of the freeform tool `apply_patch` of Codex."""

    patch: str
    before: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Say:
    text: str
    before: Callable[[], None] = lambda: None


Step = Call | CallOfHost | Patch | Say


@dataclass(frozen=True)
class Result:
    """What a model sees of one tool call."""

    text: str
    has_image: bool


@dataclass(frozen=True)
class Request:
    tools: list[str]
    results: list[Result]
    body: dict[str, Any]


@dataclass
class ScriptedModel:
    """A model. A function in its script takes the results so far, and returns what the model makes of them."""

    script: Sequence[Step | Callable[[Sequence[Result]], Step]]
    requests: list[Request] = field(default_factory=list[Request])
    wanted: set[str] = field(default_factory=set[str])  # HOST:PORT, or a URL of http
    port: int = 0
    n_not_offered: int = 0  # requests without the tool of their step
    _n_begun: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def results(self) -> list[Result]:
        """The results of all calls, in the order of the script."""
        return max((request.results for request in self.requests), key=len, default=list[Result]())

    @property
    def has_begun(self) -> bool:
        return self._n_begun > 0

    @property
    def tools_at_first(self) -> list[str]:
        return next((request.tools for request in self.requests if request.tools), list[str]())

    def next_step(self, request: Request) -> Step:
        with self._lock:
            self.requests.append(request)
            if not request.tools:
                return Say("A title")
            n = min(len(request.results), len(self.script) - 1)
            scripted = self.script[n]
            step = scripted(request.results) if callable(scripted) else scripted
            if isinstance(step, Call) and offered_name(request.tools, step.tool) is None:
                self.n_not_offered += 1
                # A host on a screen takes a prompt before its servers are connected.
                return Say(not_offered(self.n_not_offered))
            if n >= self._n_begun:
                self._n_begun = n + 1
                step.before()
            return step


@contextmanager
def serving(model: ScriptedModel) -> Generator[ScriptedModel]:
    class Handler(_Handler):
        played = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, name="scripted-model")
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def offered_name(tools: Sequence[str], tool: str) -> str | None:
    """Return the name by which a host or a library offers a tool of fileops-server; None if it does not."""
    pattern = re.compile(rf".*fileops[^A-Za-z]*(?:fileops[^A-Za-z]*)?{tool}")
    if tool in tools and OWN_NAMES.issuperset(tools):
        return tool  # a library's agent has these tools alone; a host has its own `Read` beside ours
    return next((name for name in tools if pattern.fullmatch(name)), None)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    played: ScriptedModel

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass  # a test's output is its own

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        if self.command != "CONNECT" and "://" not in self.path:
            return True
        self.played.wanted.add(self.path)
        self.send_error(403)
        return False

    def do_HEAD(self) -> None:
        self._answer(b"", "text/plain")

    def do_GET(self) -> None:
        model = {
            "id": "fake",
            "object": "model",
            "type": "model",
            "display_name": "fake",
            "created_at": "2026-01-01T00:00:00Z",
        }
        self._answer_json({"object": "list", "data": [model], "models": []} if "models" in self.path else {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/responses"):
            self._play(body, _responses_request, _responses_answer)
        elif path.endswith("/chat/completions"):
            self._play(body, _chat_request, _chat_answer)
        elif path.endswith("/messages"):
            self._play(body, _messages_request, _messages_answer)
        elif path.endswith("enerateContent"):
            self._play(body, _gemini_request, _gemini_answer, streams="stream" in path)
        elif path.endswith(("/count_tokens", ":countTokens")):
            self._answer_json({"input_tokens": 1, "totalTokens": 1})
        else:
            self._answer_json({})

    def _play(
        self,
        body: dict[str, Any],
        parse: Callable[[dict[str, Any]], Request],
        answer: Callable[[Step, Request], tuple[dict[str, Any], list[tuple[str, Any]]]],
        *,
        streams: bool | None = None,
    ) -> None:
        request = parse(body)
        whole, events = answer(self.played.next_step(request), request)
        if not (body.get("stream") if streams is None else streams):
            self._answer_json(whole)
            return
        lines = [
            (f"event: {name}\n" if name else "") + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
            for name, data in events
        ]
        self._answer("".join(lines).encode(), "text/event-stream")

    def _answer_json(self, value: object) -> None:
        self._answer(json.dumps(value).encode(), "application/json")

    def _answer(self, data: bytes, content_type: str) -> None:
        with contextlib.suppress(ConnectionError):  # the host was killed
            self.send_response(200)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)


def _as_call(step: Step, request: Request) -> tuple[str, dict[str, Any]] | None:
    match step:
        case Call():
            name = offered_name(request.tools, step.tool)
            assert name is not None  # see next_step
            return name, step.arguments
        case CallOfHost():
            return step.tool, step.arguments
        case Patch():
            return "apply_patch", {"input": step.patch}
        case Say():
            return None


def _result_of(content: Any) -> Result:
    """Flatten the content of a tool result; a text stays what it is, items are joined by a line feed."""
    if isinstance(content, str):
        return Result(content, has_image=False)
    text = "\n".join(item["text"] for item in content if "text" in item)
    return Result(text, has_image=any("image" in item.get("type", "") for item in content))


# --- Responses (Codex) -----------------------------------------------------------------------------------------


def _responses_request(body: dict[str, Any]) -> Request:
    results = [
        _result_of(item["output"])
        for item in body.get("input", ())
        if item.get("type") in {"function_call_output", "custom_tool_call_output"}
    ]
    return Request([name for name, _, _ in _responses_tools(body)], results, body)


def _responses_tools(body: dict[str, Any]) -> Iterator[tuple[str, str | None, str]]:
    """Yield (name for a script, namespace, name in the namespace) of each tool that is offered at once."""
    for tool in body.get("tools") or ():
        if tool.get("type") == "namespace":
            for inner in tool["tools"]:
                yield f"{tool['name'].rstrip('_')}__{inner['name']}", tool["name"], inner["name"]
        else:
            yield tool.get("name", tool["type"]), None, tool.get("name", tool["type"])


def _responses_answer(step: Step, request: Request) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    n = len(request.results)
    call = _as_call(step, request)
    if isinstance(step, Patch):
        item = {"type": "custom_tool_call", "id": f"ct_{n}", "call_id": f"call_{n}", "name": "apply_patch"}
        item |= {"input": step.patch, "status": "completed"}
    elif call is not None:
        name, namespace = call[0], None
        for offered, space, inner in _responses_tools(request.body):
            if offered == call[0]:
                name, namespace = inner, space
        item = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": name}
        item |= {"arguments": json.dumps(call[1]), "status": "completed"}
        item |= {} if namespace is None else {"namespace": namespace}
    else:
        content = [{"type": "output_text", "text": step.text if isinstance(step, Say) else "", "annotations": ()}]
        item: dict[str, Any] = {
            "type": "message",
            "id": f"msg_{n}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
    response: dict[str, Any] = {
        "id": f"resp_{n}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": "fake",
    }
    response |= {"output": [item], "parallel_tool_calls": False, "tool_choice": "auto", "tools": [], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return response, [(str(event["type"]), event) for event in events]


# --- Chat Completions (opencode) -------------------------------------------------------------------------------


def _chat_request(body: dict[str, Any]) -> Request:
    tools = [tool["function"]["name"] for tool in body.get("tools") or ()]
    results: list[Result] = []
    for message in body.get("messages", ()):
        content = message.get("content") or ""
        if message.get("role") == "tool":
            results.append(_result_of(content))
        elif message.get("role") == "user" and results and _result_of(content).has_image:
            results[-1] = Result(results[-1].text, has_image=True)  # a tool message holds text only
    return Request(tools, results, body)


def _chat_answer(step: Step, request: Request) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    n = len(request.results)
    call = _as_call(step, request)
    message: dict[str, Any] = {"role": "assistant", "content": step.text if isinstance(step, Say) else None}
    if call is not None:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message["tool_calls"] = [{"index": 0, "id": f"call_{n}", "type": "function", "function": function}]
    end = "stop" if call is None else "tool_calls"
    base = {"id": f"chat_{n}", "created": 0, "model": "fake"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    chunk = {**base, "object": "chat.completion.chunk"}
    return (
        {
            **base,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": end}],
            "usage": usage,
        },
        [
            ("", {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
            ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage}),
            ("", "[DONE]"),
        ],
    )


# --- Messages (Claude Code) ------------------------------------------------------------------------------------


def _messages_request(body: dict[str, Any]) -> Request:
    contents = [m["content"] for m in body.get("messages", ()) if isinstance(m.get("content"), list)]
    results = [
        _result_of(part.get("content", ""))
        for content in contents
        for part in content
        if part.get("type") == "tool_result"
    ]
    return Request([tool["name"] for tool in body.get("tools") or ()], results, body)


def _messages_answer(step: Step, request: Request) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    n = len(request.results)
    call = _as_call(step, request)
    if call is None:
        text = step.text if isinstance(step, Say) else ""
        block, empty = {"type": "text", "text": text}, {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": text}
    else:
        block = {"type": "tool_use", "id": f"toolu_{n}", "name": call[0], "input": call[1]}
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    stop = "end_turn" if call is None else "tool_use"
    message = {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": "fake", "content": [block]}
    message |= {"stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    start = {**message, "content": [], "stop_reason": None}
    end = {"stop_reason": stop, "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return message, [(str(event["type"]), event) for event in events]


# --- Gemini ----------------------------------------------------------------------------------------------------


def _gemini_request(body: dict[str, Any]) -> Request:
    tools = [f["name"] for tool in body.get("tools") or () for f in tool.get("functionDeclarations") or ()]
    parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
    results: list[Result] = []
    for part in parts:
        if "functionResponse" in part:
            answer = part["functionResponse"]
            response = answer["response"]
            text = response.get("output", response.get("error", ""))
            has_image = any("inlineData" in inner for inner in answer.get("parts", ()))
            results.append(Result(text if isinstance(text, str) else json.dumps(text), has_image))
        elif "inlineData" in part and results:
            results[-1] = Result(results[-1].text, has_image=True)
    return Request(tools, results, body)


def _gemini_answer(step: Step, request: Request) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    call = _as_call(step, request)
    if call is None:
        part: dict[str, Any] = {"text": step.text if isinstance(step, Say) else ""}
    else:
        part = {"functionCall": {"name": call[0], "args": call[1]}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    response = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}
    return response, [("", response)]
